"""Passages of a draft that the embedded content judge may answer with."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from pmbench import sentence_spans

Kind = Literal["sentence", "clause", "pair"]

MIN_CLAUSE_WORDS = 4
"""Words that a clause must have to be a candidate."""
MAX_PARTS = 4
"""Most adjacent parts of a sentence that are joined to one clause."""
MANY_PARTS = 12
"""Up to so many parts, a clause may also go on to the end of its sentence."""

# Each run of marks or blanks is tried once, from its start, and never given back: a draft may be one long run.
_CUT = re.compile(
    r"(?:(?<![,;:)])[,;:)]++\**+\s++|(?<!\s)\s++[-–—(]++\s*+|[–—]\s*+)(?:(?:and|but|so|or|then)\s++)*+"
    r"|(?<!\s)\s++(?:(?:and|but|so|or|then)\s++)++"
    r"|(?<!\s)\s++(?=(?:because|since|although|though|while|which|if|unless)\s)",
    re.IGNORECASE,
)
_REQUEST = re.compile(
    r"\W*+(?:(?:can|could|will|would) you\b(?! (?:like|prefer|rather|say|describe))"
    r"|(?:please )?+(?:tell (?:me|us)|let (?:me|us) know) (?:about|how|what|whether|when|which|where|who)\b"
    r"|it would (?:be helpful|help) to know\b|(?:i|we) (?:would|'d) like to know\b|i(?: am|'m) wondering\b)",
    re.IGNORECASE,
)
_GREETING = re.compile(
    r"(?:(?:hi|hello|hey|dear|greetings|good (?:morning|afternoon|evening))\b(?:[ \t]++[\w.'’]++){0,4}+"
    r"(?:[ \t]*+[,!.:–—]++\s++|\s*+\n\s*+))",
    re.IGNORECASE,
)
_MARKER = re.compile(r"(?:[-*•–—]|\(?(?:\d{1,2}|[A-Za-z])[.)])\s++")


@dataclass(frozen=True, slots=True)
class Candidate:
    """One passage of a draft.

    Attributes:
        start, end: where it is.
        text: as it is compared.
        asks: whether its sentence is a question; None for a request put as one (see `asks`).
        sentences: what it is of: the sentence that a clause is cut from, or those of a pair.
        at: where a clause begins in its sentence.
        heading: whether it only announces what follows (`Here is what I suggest:`).
    """

    start: int
    end: int
    kind: Kind
    text: str
    asks: bool | None
    sentences: tuple[str, ...]
    at: int = 0
    heading: bool = False


def candidates(draft: str) -> list[Candidate]:
    """Sentences of the draft, clauses of sentences, and pairs of adjacent sentences, in the draft's order.

    A list marker or a greeting before a sentence belongs to no passage. Sentences of a pair stand in one
    paragraph, both ask or neither does, and none is a heading.
    """
    spans = [(_opening(draft, start, end), end) for start, end in sentence_spans(draft)]
    found = []
    for number, (start, end) in enumerate(spans):
        sentence = draft[start:end]
        asked = asks(sentence)
        found.append(
            Candidate(start, end, "sentence", sentence, asked, (sentence,), heading=is_heading(sentence))
        )
        if is_heading(sentence):
            continue
        found.extend(
            Candidate(a, b, "clause", draft[a:b], asked, (sentence,), a - start)
            for a, b in _clauses(draft, start, end)
        )
        if number + 1 < len(spans):
            following, last = spans[number + 1]
            second = draft[following:last]
            joined = (
                draft.count("\n", end, following) < 2 and asks(second) == asked and not is_heading(second)
            )
            if joined:
                found.append(
                    Candidate(start, last, "pair", f"{sentence} {second}", asked, (sentence, second))
                )
    return found


def asks(sentence: str) -> bool | None:
    """Whether a sentence is a question. None for `Could you …?`, which may ask or tell: both may match it."""
    return None if _REQUEST.match(sentence) else "?" in sentence


def without_opening(sentence: str) -> str:
    """A sentence without a list marker and a greeting before it; unchanged if nothing else is there."""
    return sentence[_opening(sentence, 0, len(sentence)) :]


def is_heading(sentence: str) -> bool:
    """Whether a sentence only announces what follows: ends in a colon, or is a heading of Markdown."""
    bare = sentence.rstrip("*_ ")
    marked = sentence.startswith("#") or (sentence.startswith("**") and sentence.endswith("**"))
    return bare.endswith((":", ":</b>", ":</strong>")) or (marked and not bare.endswith((".", "!", "?")))


def _opening(draft: str, start: int, end: int) -> int:
    """Where a sentence begins to say something: after a list marker, then after a greeting."""
    for pattern in (_MARKER, _GREETING):
        found = pattern.match(draft, start, end)
        if found and found.end() < end:
            start = found.end()
    return start


def _clauses(draft: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Runs of adjacent parts of one sentence, each shorter than the sentence."""
    # Of the sentence alone: what is before its beginning must not be looked at.
    cuts = [(start + m.start(), start + m.end()) for m in _CUT.finditer(draft[start:end])]
    starts, ends = [start, *(b for _, b in cuts)], [*(a for a, _ in cuts), end]
    seen = {(start, end)}
    for first in range(len(starts)):
        lasts = list(range(first, min(first + MAX_PARTS, len(ends))))
        if len(ends) <= MANY_PARTS:
            lasts.append(len(ends) - 1)
        for last in lasts:
            a, b = starts[first], ends[last]
            if (a, b) not in seen and len(draft[a:b].split()) >= MIN_CLAUSE_WORDS:
                seen.add((a, b))
                yield a, b
