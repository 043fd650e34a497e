"""What a perturbation leaves: the note that it made, and a record of every change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from pmbench_tasks.notes.sections import SECTIONS


class Change(msgspec.Struct, frozen=True, omit_defaults=True):
    """One change of a note.

    Attributes:
        kind: the perturbation.
        section: the division that was changed.
        place: number of the sentence in its division before the change, from 1; 0: the division as a whole.
        what: `deleted`, `repeated`, `moved`, `inserted` (behind the sentence `place`; 0: before the first) or
            `rewritten`.
        text: the words that were deleted, repeated, moved or inserted by rule; what a model took away.
        to_section, to_place: where a sentence was moved to: the place that another had.
        source: id of the visit from whose note a sentence was taken.
        written: the words that a model put there.
    """

    kind: str
    section: str
    place: int
    what: str
    text: str = ""
    to_section: str = ""
    to_place: int = 0
    source: str = ""
    written: str = ""


class Perturbed(msgspec.Struct, frozen=True):
    """A note after a perturbation.

    Attributes:
        kind: the perturbation.
        note: the whole note.
        sections: each division's text, its header included; `""` where it has none. Score these: a sentence that
            was moved may look like a header, so dividing `note` once more need not give the same.
        changes: every change, in the order of the note; empty: the note could not be perturbed.
        untouched: divisions with text in which nothing could be changed, and why.
    """

    kind: str
    note: str
    sections: dict[str, str]
    changes: tuple[Change, ...] = ()
    untouched: dict[str, str] = {}

    @property
    def changed(self) -> bool:
        """Whether anything is another way. A note that is not changed must be counted, and not be scored as one."""
        return bool(self.changes)

    def changed_in(self, section: str) -> bool:
        """Whether a division is another way."""
        # A sentence that left a division left its place to another one, which may say the same.
        return any(section == (change.to_section or change.section) for change in self.changes)

    def record(self) -> dict[str, Any]:
        """As it is kept in a file: kind, changes, and what was not touched, without the note."""
        return {
            "kind": self.kind,
            "changes": msgspec.to_builtins(self.changes),
            "untouched": self.untouched,
        }


def perturbed(
    kind: str,
    note: str | Mapping[str, str],
    texts: Mapping[str, str],
    changes: Iterable[Change],
    untouched: Mapping[str, str],
) -> Perturbed:
    """Put a note together again.

    Args:
        kind: the perturbation.
        note: what was perturbed: a note, whose divisions follow each other as they stood, or its divisions.
        texts: each division's text now, in the order of the note.
        changes, untouched: the record.
    """
    joint = "" if isinstance(note, str) else "\n\n"
    sections = {name: texts.get(name, "") for name in SECTIONS}
    whole = joint.join(filter(None, texts.values()))
    return Perturbed(kind, whole, sections, tuple(changes), dict(untouched))


def counts(notes: Mapping[str, Perturbed], section: str = "") -> dict[str, int]:
    """How many notes were perturbed and how many could not be.

    Args:
        notes: by id of the visit.
        section: the division that matters; `""`: any.
    """
    changed = sum(one.changed_in(section) if section else one.changed for one in notes.values())
    return {"changed": changed, "unchanged": len(notes) - changed}
