"""What goes through the pipeline: feedback items, candidate questions, and what was left behind and why."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Generic, TypeVar

import msgspec

Kept = TypeVar("Kept")

WHOLE = "whole_note"
"""What a feedback item is about where it is about the note and no one section of it."""


class FeedbackItem(msgspec.Struct, frozen=True):
    """What one clinician wrote about one note.

    Attributes:
        id: unique in its file.
        text: as it was written.
        stars: 1 (worst) to 5, None where none were given.
        sections: the sections that it is about; `(WHOLE,)` for the note as a whole; empty: nobody has said.
        visit: the encounter it came from, `""` where the file does not say.
    """

    id: str
    text: str
    stars: int | None = None
    sections: tuple[str, ...] = ()
    visit: str = ""


class Candidate(msgspec.Struct, frozen=True):
    """A question on its way into a checklist.

    Attributes:
        id: unique in its pipeline: `p` for proposed, `m` for merged, `x` for one that a checklist has already.
        question: its wording.
        sources: ids of the feedback items that led to it; empty without feedback.
        parents: ids of the candidates that it was merged from.
        worded: how it read before it was turned around so that yes is good; `""`: it was not.
    """

    id: str
    question: str
    sources: tuple[str, ...] = ()
    parents: tuple[str, ...] = ()
    worded: str = ""


class Dropped(msgspec.Struct, frozen=True):
    """A question that went no further.

    Attributes:
        stage: the stage that dropped it.
        why: in words.
        id, question, sources: of the candidate.
    """

    stage: str
    why: str
    id: str
    question: str
    sources: tuple[str, ...] = ()


class Failure(msgspec.Struct, frozen=True):
    """Something that a model was asked and gave no usable answer to, after all attempts.

    Attributes:
        stage: where it was asked.
        about: ids of what it was asked about; of a question and a note together `question/note`.
        kind: `unreadable`, `cut-off`, `refused`, or the kind of the request's failure.
    """

    stage: str
    about: tuple[str, ...]
    kind: str


class Stage(msgspec.Struct, Generic[Kept], frozen=True):
    """What a stage came to.

    Attributes:
        kept: goes on.
        dropped: went no further, with reasons.
        failures: questions to the model without a usable answer.
    """

    kept: tuple[Kept, ...]
    dropped: tuple[Dropped, ...] = ()
    failures: tuple[Failure, ...] = ()


def dropped(stage: str, why: str, one: Candidate) -> Dropped:
    """The record of a candidate that goes no further."""
    return Dropped(stage, why, one.id, one.question, one.sources)


def all_sources(candidates: Iterable[Candidate]) -> tuple[str, ...]:
    """The feedback behind several candidates, each id once, in order of appearance."""
    return tuple(dict.fromkeys(source for one in candidates for source in one.sources))


def counted(number: int, what: str, plural: str = "") -> str:
    """`1 question`, `3 questions`."""
    return f"{number:,} {what if number == 1 else plural or what + 's'}"


def by_kind(failures: Sequence[Failure]) -> dict[str, int]:
    """How many things asked about have no usable answer, by kind of failure; one that is about nothing is one."""
    kinds: dict[str, int] = {}
    for one in failures:
        kinds[one.kind] = kinds.get(one.kind, 0) + max(1, len(one.about))
    return dict(sorted(kinds.items()))
