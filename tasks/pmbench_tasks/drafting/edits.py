"""Counting the edits that a draft would need: Algorithm 1, appendix C of arXiv 2601.11344."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pmbench import find_span, remove_spans, split_sentences

Split = Callable[[str], Sequence[str]]


@dataclass(frozen=True, slots=True)
class Answer:
    """What the content judge answered for one sentence of the reply.

    Attributes:
        matched: whether it named a passage of the draft.
        span: where that passage is in the draft; None for no match, or where it is not there word for word.
    """

    matched: bool
    span: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class EditCounts:
    """Expected edits of one draft.

    Attributes:
        matches: sentences of the reply that the draft has (true positives).
        additions: sentences of the reply to be added (false negatives); matches + additions is their number.
        deletions: sentences left in the draft once what matched is removed (false positives).
        nonverbatim: matches whose passage is not in the draft word for word, so that nothing was removed.
        answers: how each answer was read, in the order of the reply's sentences.
        leftover: the sentences counted as deletions.
        rest: the draft without what matched.
    """

    matches: int
    additions: int
    deletions: int
    nonverbatim: int
    answers: tuple[Answer, ...] = field(default=(), repr=False, compare=False)
    leftover: tuple[str, ...] = field(default=(), repr=False, compare=False)
    rest: str = field(default="", repr=False, compare=False)


def count_edits(
    expert_sentences: Sequence[str], draft: str, answers: Sequence[str], split: Split | None = None
) -> EditCounts:
    """Count expected matches, additions and deletions.

    Args:
        expert_sentences: the clinician's reply, split.
        draft: the drafted reply.
        answers: what the judge answered for each sentence: a passage of the draft, or `NO MATCH` or nothing.
        split: how what is left of the draft is split; `pmbench.split_sentences` if not given. Sentences
            without a letter or digit are not counted.

    Raises:
        ValueError: not one answer per sentence.
    """
    if len(expert_sentences) != len(answers):
        raise ValueError(f"{len(expert_sentences)} sentences and {len(answers)} answers")
    once = {answer: _read(answer, draft) for answer in dict.fromkeys(answers)}
    read = tuple(once[answer] for answer in answers)
    rest = remove_spans(draft, (answer.span for answer in read if answer.span))
    leftover = tuple(s for s in (split or split_sentences)(rest) if any(letter.isalnum() for letter in s))
    matches = sum(answer.matched for answer in read)
    return EditCounts(
        matches=matches,
        additions=len(read) - matches,
        deletions=len(leftover),
        nonverbatim=sum(answer.matched and answer.span is None for answer in read),
        answers=read,
        leftover=leftover,
        rest=rest,
    )


def _read(answer: str, draft: str) -> Answer:
    """`NO MATCH` in any case, with quotes or a full stop or without, and an empty answer are no match."""
    bare = " ".join(answer.strip(" \t\r\n\"'“”‘’.").split()).casefold()
    if bare in ("", "no match"):
        return Answer(matched=False)
    return Answer(matched=True, span=find_span(draft, answer))
