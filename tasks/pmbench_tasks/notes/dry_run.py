"""What `--dry-run` of a command of checklists prints: what was read, who would be asked, and how often."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from pmbench_tasks.notes.pipeline.records import counted
from pmbench_tasks.notes.stage_requests import Stage


class Lent(Protocol):
    """What of borrowed models is told (see `pmbench.open_models`)."""

    @property
    def identities(self) -> Mapping[str, Mapping[str, str]]:
        """What each role's model is."""
        ...

    @property
    def local(self) -> Mapping[str, bool]:
        """Whether each role's model is on this machine."""
        ...

    @property
    def remote(self) -> Sequence[str]:
        """Who sends text where."""
        ...


def lines_of(read: Sequence[str], borrowed: Lent, stages: Sequence[Stage]) -> Iterator[str]:
    """Lines for the user: counts and names, nothing of the data.

    Args:
        read: what was read, in words.
        borrowed: the models that would be asked.
        stages: what would be asked of them.
    """
    yield from (f"{'read':15} {line}" for line in read)
    for role, about in borrowed.identities.items():
        where = "on this machine" if borrowed.local.get(role, False) else "elsewhere"
        yield f"{role:15} {about['name']}, {where}"
    yield from (f"{'note':15} {line}" for line in borrowed.remote)
    yield from map(str, stages)
    known = [one for one in stages if not one.each]
    low, high = sum(one.fewest for one in known), sum(one.most for one in known)
    more = " and what depends on how many questions there will be" if len(known) < len(stages) else ""
    yield f"{'in all':15} {low:,} to {high:,} requests{more}; what the store has is not taken off"
    yield "nothing was asked: this was a dry run"


def notes_told(name: str, notes: int, section: str) -> str:
    """How many reference notes there are, in words."""
    return f"{name}: {counted(notes, 'reference note')} with {section or 'a text'}"


def feedback_told(name: str, items: Sequence[Any], without: int, rows: int = 0) -> str:
    """How much feedback there is, in words; also of how many rows, where some have no text or are beyond a limit."""
    stars = f", {without:,} of them without stars" if without else ""
    many = f"{len(items):,} of {rows:,} rows of feedback" if rows > len(items) else ""
    return f"{name}: {many or counted(len(items), 'feedback item')}{stars}"
