"""Submissions as recorded responses: of the kind that a task takes only, with what they name that is not there."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from pmbench import DataError, Response
from pmbench_tasks.archehr.cases import Case, shown_some
from pmbench_tasks.archehr.submissions import HELD, Answered, Kind, read_submission

TAKEN_BY: Mapping[str, Kind] = {
    "archehr-qa": "answer",
    "archehr-2026-questions": "text",
    "archehr-2026-evidence": "evidence",
    "archehr-2026-answers": "text",
    "archehr-2026-alignment": "links",
}
"""The kind of submission that each task takes."""


class Responses(dict[str, Response | None]):
    """Responses by case id.

    Attributes:
        notes: lines for the user.
    """

    notes: tuple[str, ...] = ()


def responses_in(path: Path, task: str, cases: Mapping[str, Case]) -> Responses | None:
    """The responses in a submission to a task.

    Args:
        path: of the submission.
        task: the name of the task.
        cases: by id, those whose notes are known; empty: none is.

    Returns:
        None where it is no such file.

    Raises:
        DataError: it is broken, or holds something else than the task takes: that would be scored as nothing.
    """
    found = read_submission(path)
    if found is None:
        return None
    taken = TAKEN_BY[task]
    if found.kind != taken and not (found.kind == "none" and taken in ("evidence", "links")):
        others = [f"--task {name}" for name, kind in TAKEN_BY.items() if kind == found.kind]
        remedy = f"Score it with {' or '.join(others)}" if others else "Give the submission to this task"
        raise DataError(
            f"holds {HELD[found.kind]}, and {task} takes {HELD[taken]}", where=str(path), remedy=remedy
        )
    made = Responses({ident: Response(one.text or "", one.data or {}) for ident, one in found.items()})
    made.notes = (*found.notes, *_strangers(found, taken, cases))
    return made


def _strangers(found: Mapping[str, Answered], taken: Kind, cases: Mapping[str, Case]) -> Iterator[str]:
    """The cases whose ids or links the official scorers would stop at, and which have no score here."""
    if taken not in ("evidence", "links"):
        return
    names = [
        ident
        for ident, one in found.items()
        if ident in cases and unknown_ids(cases[ident], one.data or {}, taken)
    ]
    if names:
        yield (
            f"the submission names a sentence that is not there in {len(names)} case{'s' * (len(names) != 1)}"
            f" ({shown_some(names)}): no score, and the official scorer would stop; mend the submission"
        )


def unknown_ids(
    case: Case, data: Mapping[str, Collection[str] | Mapping[str, Collection[str]]], kind: Kind
) -> bool:
    """Whether a response names a sentence that the case has not: of the note, or of the clinician's answer."""
    note = {one.id for one in case.sentences}
    if kind == "evidence":
        return not set(data.get("evidence", ())) <= note
    links = data.get("links", {})
    assert isinstance(links, Mapping)
    answers = {one.id for one in case.answer_sentences}
    return not set(links) <= answers or any(not set(ids) <= note for ids in links.values())
