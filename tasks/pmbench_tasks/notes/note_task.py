"""notes-checklist: the note of a visit, written from its transcript or replayed, judged by a checklist."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from pmbench import DataError, Instance, Options, Response, Row, Score, UserError
from pmbench_tasks.notes.aci import read_aci
from pmbench_tasks.notes.answers import Answered
from pmbench_tasks.notes.checklist_judge import ChecklistJudge
from pmbench_tasks.notes.checklist_options import NoteOptions
from pmbench_tasks.notes.checklist_task import ChecklistTask
from pmbench_tasks.notes.checklist_views import note_view
from pmbench_tasks.notes.note_strategies import STRATEGIES, strategies_for
from pmbench_tasks.notes.scoring import score_of
from pmbench_tasks.notes.sections import SECTIONS, body_of, is_empty, sections_of
from pmbench_tasks.notes.visits import DATASET, Visit, inputs_of, remarks_of, target_of, visits_of


class NotesChecklist(ChecklistTask):
    """Notes of visits by a checklist for one section, or for the whole note."""

    name = "notes-checklist"
    title = "Notes of visits by a checklist"
    dataset = DATASET
    strategies = STRATEGIES
    options = NoteOptions
    option: NoteOptions
    views: ClassVar = {"checklist": note_view}
    card = "pmbench_tasks.notes:CARD-notes-checklist.md"
    _visits: Sequence[Visit] = ()

    def __init__(self, options: Options | None = None) -> None:
        super().__init__(options)
        with contextlib.suppress(UserError):  # as of its metrics: `instances` says what is wrong
            section = self.checklist.section
            vars(self).update(strategies=strategies_for((section,) if section else SECTIONS))

    def read(self, path: Path) -> Iterable[Row] | None:
        """Read ACI-bench as it is published.

        Raises:
            DataError: it is in that shape, but broken.
        """
        return read_aci(path)

    def instances(self, rows: Iterable[Row]) -> Iterator[Instance]:
        """One instance for each visit.

        Raises:
            UserError: the checklist cannot be read; a row is no visit, or holds another section than is judged.
        """
        section = self.checklist.section
        self._visits = list(visits_of(rows, headers=self.option.headers))
        for visit in self._visits:
            if visit.only and visit.only != section:
                raise DataError(
                    f"holds the section {visit.only} alone, and judged is {section or 'the whole note'}",
                    where=visit.row.where("section") if visit.row else "",
                    remedy=f"Give whole notes, or -o section={visit.only}",
                )
            yield Instance(
                id=visit.id,
                inputs=inputs_of(visit),
                target=target_of(visit),
                slices=visit.slices,
            )

    def remarks(self, instances: Sequence[Instance]) -> Iterator[str]:
        """What is asked, and which sections the data's own notes lack."""
        yield from self.told_of_checklist()
        yield from remarks_of(self._visits, headers=self.option.headers)

    def judged(self, instance: Instance, response: Response) -> str:
        """What of a response is judged; `""` where it says nothing, or has no such section."""
        section = self.checklist.section
        if not section or instance.target.get("only") == section:
            text = response.text.strip()
            return "" if is_empty(text, headers=self.option.headers) else text
        given = response.data.get("sections")
        if isinstance(given, Mapping) and isinstance(given.get(section), str):
            found = str(given[section])
        else:
            found = sections_of(response.text, headers=self.option.headers)[section]
        return body_of(found, headers=self.option.headers).strip()

    def shown_to_judge(self, instance: Instance, response: Response) -> tuple[str, str]:
        """The transcript, and the section that is judged or the whole note."""
        return str(instance.inputs["transcript"]), self.judged(instance, response)

    async def score(self, instance: Instance, response: Response, judges: Mapping[str, Any]) -> Score:
        """Have every question answered about the section that is judged, or the whole note.

        Raises:
            RequestFailed: `too-long`, transcript and section are longer than the judge's context; or nothing at all
                could be asked.
            Unscored: no question was answered.
        """
        judge: ChecklistJudge = judges["checklist"]
        source, text = self.shown_to_judge(instance, response)
        answers: list[Answered] = await judge.ask(self.checklist, source, text)
        return score_of(self.checklist, answers, source=source, text=text)
