"""The notes that checklists are evaluated on: reference notes and drafts by id, preferences and labels about them.

A note's id is `visit/draft`: `visit-01/note` is the reference note, `visit-01/draft_good` what stands in the column
`draft_good` of that visit's row. `visit-01` alone is the reference note, too, as in labels without drafts.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pmbench import DataError, id_shown
from pmbench_tasks.notes.evaluation.human import Labels
from pmbench_tasks.notes.evaluation.preferences import Pair
from pmbench_tasks.notes.pipeline.enforcing import Reference
from pmbench_tasks.notes.sections import Headers, body_of, is_empty, sections_of
from pmbench_tasks.notes.visits import COLUMNS, Visit

REFERENCE = "note"
"""What the reference note of a visit is called."""

_NO_DRAFT = frozenset(column.name for column in COLUMNS) - {"draft"} | {"dialogue", "planted"}


class Written(NamedTuple):
    """A text that a judge can be asked about.

    Attributes:
        visit: id of the visit.
        transcript: what was said.
        text: the section, or the whole note; `""`: it was not written, which the judge is told.
    """

    visit: str
    transcript: str
    text: str


@dataclass(frozen=True)
class Notes:
    """The visits of a file, seen from one section.

    Attributes:
        visits: all of them.
        section: a section, or `""` for whole notes.
        headers: the published list of headers by which notes are divided.
        limit: reference notes, and what hangs on their visits, are of the first so many visits; None: of all.
    """

    visits: Sequence[Visit]
    section: str
    headers: Headers = "aci-bench"
    limit: int | None = None

    @functools.cached_property
    def by_id(self) -> Mapping[str, Visit]:
        """The visits by their ids."""
        return {one.id: one for one in self.visits}

    @functools.cached_property
    def referenced(self) -> list[Visit]:
        """The visits of which something is known of the section: what it says, or that the note has none."""
        there = [one for one in self.visits if (one.holds(self.section) if self.section else one.referenced)]
        return there[: self.limit]

    def references(self) -> dict[str, Written]:
        """The reference notes by their ids."""
        return {note_id(one.id): self._reference(one) for one in self.referenced}

    def testable(self) -> list[Reference]:
        """The reference notes in which the section says something: those that unit tests are made of."""
        return [
            Reference(one.visit, one.transcript, one.text) for one in self.references().values() if one.text
        ]

    def within(self, visit: str) -> bool:
        """Whether a visit is among the first `limit`."""
        return self.limit is None or visit in self._near

    @functools.cached_property
    def _near(self) -> frozenset[str]:
        return frozenset(one.id for one in self.referenced)

    def find(self, ident: str) -> Written | None:
        """The note of that id; None where there is none, or nothing is known of its section."""
        visits = self.by_id
        if ident in visits:
            visit, column = visits[ident], REFERENCE
        else:
            name, sign, column = ident.rpartition("/")
            if not sign or name not in visits:
                return None
            visit = visits[name]
        if column == REFERENCE:
            known = visit.holds(self.section) if self.section else visit.referenced
            return self._reference(visit) if known else None
        return self._draft(visit, column)

    def whole(self, visit: Visit) -> str | dict[str, str]:
        """The reference note as perturbations take it: its text, or its divisions where only they are known."""
        if visit.only:
            return {visit.only: visit.note}
        divided = sections_of(visit.note, headers=self.headers)
        return visit.note if divided == dict(visit.sections) else dict(visit.sections)

    def said(self, text: str, *, alone: bool = False) -> str:
        """What a judge is shown of a text, as a run of notes-checklist shows it; `""` where it says nothing.

        Args:
            text: a section, its header included, or a whole note.
            alone: whether the data has the section alone: then its words are taken as they are.
        """
        if self.section and not alone:
            return body_of(text, headers=self.headers).strip()
        return "" if is_empty(text, headers=self.headers) else text.strip()

    def _reference(self, visit: Visit) -> Written:
        text = visit.sections.get(self.section, "") if self.section else visit.note
        return Written(visit.id, visit.transcript, self.said(text, alone=bool(visit.only)))

    def _draft(self, visit: Visit, column: str) -> Written | None:
        text = visit.row.values.get(column) if visit.row is not None and column not in _NO_DRAFT else None
        if not isinstance(text, str) or not text.strip() or (visit.only and visit.only != self.section):
            return None
        if self.section and not visit.only:
            text = sections_of(text, headers=self.headers)[self.section]
        return Written(visit.id, visit.transcript, self.said(text, alone=bool(visit.only)))


def note_id(visit: str) -> str:
    """The id of a visit's reference note."""
    return f"{visit}/{REFERENCE}"


def check_notes(notes: Notes, where: str) -> None:
    """That there is something to score.

    Raises:
        DataError: no visit, an id twice, or no reference note with the section.
    """
    seen: set[str] = set()
    for one in notes.visits:
        if one.id in seen:
            raise DataError(
                f"the id {id_shown(one.id)} stands twice", where=where, remedy="Give each its own"
            )
        seen.add(one.id)
    if not any(one.text for one in notes.references().values()):
        raise DataError(
            f"no note has {'the section ' + notes.section if notes.section else 'a text'}",
            where=where,
            remedy="Give reference notes that have it, or name another --section",
        )


def check_ids(idents: Iterable[str], notes: Notes, where: str) -> None:
    """That every note that a file names is there.

    Raises:
        DataError: with the number of those that are not, and the first of them.
    """
    named = list(dict.fromkeys(idents))
    lost = [ident for ident in named if notes.find(ident) is None]
    if lost:
        raise DataError(
            f"{len(lost)} of {len(named)} notes that it names are not among --notes, the first "
            f"{id_shown(lost[0])}",
            where=where,
            remedy="Name a note by the id of its visit and the column that it stands in",
        )


def within_limit(
    notes: Notes, pairs: Sequence[Pair], labels: Labels | None
) -> tuple[list[Pair], list[str], Mapping[str, int]]:
    """The pairs and the labelled notes of the first visits, and how many of each were left out."""
    visits = {ident: found.visit for ident in _named(pairs, labels) if (found := notes.find(ident))}
    kept = [pair for pair in pairs if notes.within(visits[pair.a]) and notes.within(visits[pair.b])]
    labelled = [] if labels is None else list(labels.notes)
    near = [note for note in labelled if notes.within(visits[note])]
    return kept, near, {"pair": len(pairs) - len(kept), "labelled note": len(labelled) - len(near)}


def _named(pairs: Sequence[Pair], labels: Labels | None) -> list[str]:
    return [*(note for pair in pairs for note in (pair.a, pair.b)), *(labels.notes if labels else ())]
