"""What the ArchEHR-QA tasks have in common: their data, and how its cases become instances."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pmbench import Column, DataError, DatasetSpec, Instance, Response, Row, Task, id_shown
from pmbench_tasks.archehr.cases import Case

CITATION = "Soni and Demner-Fushman, ArchEHR-QA, Scientific Data 2026, doi 10.1038/s41597-026-06639-z"

CREDENTIALED = (
    "ArchEHR-QA is credentialed data of PhysioNet: whoever has it has agreed not to pass it on. Nothing of it goes to"
    " a remote model without --allow-remote; notes of patients of your own need --sensitivity phi"
)

DATASET = DatasetSpec(
    columns=(
        Column("case", "a case of archehr-qa.xml with its key", kind="any"),
        Column("split", "development or test", required=False, kind="label"),
        Column("notes", "how the files were read", required=False, kind="any"),
    ),
    demo="pmbench_tasks.archehr:demo",
    sensitivity="deidentified",
    private="it is credentialed data of PhysioNet (doi 10.13026/zzax-sy62): give the folder with archehr-qa.xml and "
    "archehr-qa_key.json",
    credentialed=CREDENTIALED,
    split="test",
)


def inputs_of(case: Case) -> dict[str, Any]:
    """What a strategy may see of a case: both questions and the note's sentences, no label."""
    return {
        "narrative": case.narrative,
        "clinician_question": case.clinician_question,
        "sentences": [{"id": one.id, "text": one.text, "paragraph": one.paragraph} for one in case.sentences],
    }


def needed(case: Case, row: Row, there: object, what: str) -> None:
    """Raises DataError where a case lacks what a task needs."""
    if not there:
        raise DataError(
            f"case {id_shown(case.id)} has no {what}",
            where=row.file,
            remedy="Put the XML and the key archehr-qa_key.json of one release that has it side by side",
        )


def needed_questions(case: Case, row: Row) -> None:
    """Raises DataError where a case asks nothing. Where one of the two questions is absent, that is remarked on."""
    if not (case.narrative or case.clinician_question):
        raise DataError(
            f"case {id_shown(case.id)} has neither a patient_narrative nor a clinician_question with text",
            where=row.file,
            remedy="Fill one in, and check how the elements are spelt",
        )


class Archehr(Task):
    """A task on the cases of ArchEHR-QA; subclasses say what of a case is asked for and how it is scored."""

    citation = CITATION
    dataset = DATASET
    _told: Sequence[str] = ()
    _cases: Mapping[str, Case] = {}

    def read(self, path: Path) -> Iterable[Row] | None:
        """Read a folder with the official files, or the XML file itself.

        Raises:
            DataError: the files are broken or do not fit together.
        """
        from pmbench_tasks.archehr.reading import read_folder

        return read_folder(path)

    def read_responses(self, path: Path) -> Mapping[str, Response | None] | None:
        """Read a submission as the shared tasks take it, a zip of one too.

        Raises:
            DataError: it is no submission or a broken one, or holds what another of the tasks takes.
        """
        from pmbench_tasks.archehr.responses import responses_in

        return responses_in(path, self.name, self._cases)

    def instances(self, rows: Iterable[Row]) -> Iterator[Instance]:
        """One instance for each case.

        Raises:
            DataError: a row that is no case, or a case without what the task needs.
        """
        from pmbench_tasks.archehr.reading import notes_of

        rows = list(rows)
        self._told = notes_of(rows)
        self._cases = {case.id: case for row in rows if isinstance(case := row.values["case"], Case)}
        for row in rows:
            case = row.values["case"]
            if not isinstance(case, Case):
                raise DataError(
                    f"{self.name} reads the official files, not a table",
                    where=row.where("case"),
                    remedy="Give the folder with archehr-qa.xml and archehr-qa_key.json",
                )
            yield self.instance_of(case, row)

    def remarks(self, instances: Sequence[Instance]) -> Iterable[str]:
        """How the files were read, where that is worth telling."""
        return self._told

    def instance_of(self, case: Case, row: Row) -> Instance:
        """What of a case is asked for."""
        raise NotImplementedError

    def made(self, case: Case, inputs: Mapping[str, Any]) -> Instance:
        """An instance of a case with its slices."""
        slices = {"setting": case.setting, "specialty": case.specialty}
        kept = replace(case, split="")  # decides which cases are taken, and nothing of what they are
        return Instance(case.id, inputs, {"case": kept}, slices={k: v for k, v in slices.items() if v})
