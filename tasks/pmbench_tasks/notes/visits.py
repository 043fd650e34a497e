"""Visits as the notes tasks read them: what was said, the note that was written, and its divisions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pmbench import Column, DataError, DatasetSpec, Row, UnknownName
from pmbench_tasks.notes.sections import SECTIONS, Headers, is_empty, known_section, sections_of

LONGER = 512
"""Words of a conversation above which it is `longer`, as ACI-bench's own evaluation has it."""

BANDS = ((18, "0-17"), (40, "18-39"), (65, "40-64"), (80, "65-79"))
"""Age bands: the age in years below which a patient is in the band; everybody else is `80+`."""

OLDEST_BAND, OLDEST = "80+", 125
_UNITS = {"day": 1 / 365.25, "week": 7 / 365.25, "month": 1 / 12}

SLICES = ("dataset", "specialty", "sex", "age_band")

COLUMNS = (
    Column(
        "id", "which visit it is", required=False, guesses=("encounter_id", "visit_id", "uid"), kind="label"
    ),
    Column(
        "transcript",
        "what was said at the visit, one turn a line",
        guesses=("dialogue", "dialog", "src", "conversation"),
    ),
    Column(
        "note",
        "the note that a clinician wrote or agreed to",
        required=False,
        guesses=("tgt", "reference", "reference_note", "clinical_note"),
    ),
    Column("section", "the division that the note is, where a row has only one", required=False),
    Column(
        "sections", "the note's divisions by name, where they are not to be found", required=False, kind="any"
    ),
    Column("draft", "a note to score, for `--model replay:@draft`", required=False, guesses=("draft_note",)),
    Column("split", "which split of ACI-bench", required=False, kind="label"),
    Column("dataset", "which part of the data it is of", required=False, kind="label"),
    Column("specialty", "specialty of the clinic", required=False, guesses=("department", "clinic")),
    Column("sex", "sex of the patient", required=False, guesses=("gender", "patient_gender")),
    Column("age_band", "age band of the patient", required=False, guesses=("age_group", "age_range")),
)

LICENCE = "ACI-bench is published under CC BY 4.0 (Yim et al. 2023): whoever passes it on says whose it is"

EXAMPLE = """\
{"id": "1", "transcript": "[doctor] What brings you in?\\n[patient] My knee.", "note": "HPI: Knee pain.\\nPLAN: Ice."}
{"id": "2", "transcript": "[doctor] Better?\\n[patient] Yes.", "note": "Ice.", "section": "assessment_and_plan"}"""

DATASET = DatasetSpec(
    columns=COLUMNS,
    demo="pmbench_tasks.notes:demo/visits.jsonl",
    sensitivity="public",
    slices=(*SLICES, "length"),
    private="give a folder or file of ACI-bench (github.com/wyim/aci-bench, CC BY 4.0), or visits of your own",
    credentialed=LICENCE,
    split="test1",
    example=EXAMPLE,
)
"""ACI-bench where a file has its shape (see `aci.read_aci`): then public. Any other file is read by its columns."""


@dataclass(frozen=True, slots=True)
class Visit:
    """One visit.

    Attributes:
        id: of the row.
        transcript: what was said, one turn a line, mostly `[doctor] …` and `[patient] …`.
        note: as it was written; `""` where there is none.
        sections: the text of each division, `""` where the note has none: a fact to score.
        only: the division that `note` is, where the row has only one; `""`: the note is whole.
        slices: subgroup labels.
        referenced: whether there is a note at all; that it lacks a division then means something.
        row: where it came from.
    """

    id: str
    transcript: str
    note: str
    sections: Mapping[str, str]
    only: str = ""
    slices: Mapping[str, str] = field(default_factory=dict)
    referenced: bool = True
    row: Row | None = None

    def holds(self, section: str) -> bool:
        """Whether something is known of a division: what it says, or that the note has none."""
        return self.referenced and self.only in ("", section)


def visits_of(rows: Iterable[Row], *, headers: Headers = "aci-bench") -> Iterator[Visit]:
    """The visit of each row.

    Args:
        rows: under the names of `COLUMNS`.
        headers: the published list of headers by which notes are divided.

    Raises:
        DataError: a transcript in which nothing is said, a division of an unknown name, divisions that are no texts.
    """
    for row in rows:
        transcript = row.text("transcript")
        if not any(letter.isalnum() for letter in transcript):
            raise DataError(
                "nothing is said in the transcript",
                where=row.where("transcript"),
                remedy="Fill it in or leave the row out",
            )
        note, only, sections = _note_of(row, headers)
        referenced = bool(note.strip() or row.text("note").strip())  # a marker for `none` is a note, too
        slices = _slices(row, transcript)
        yield Visit(row.text("id"), transcript, note, sections, only, slices, referenced, row)


def inputs_of(visit: Visit) -> dict[str, Any]:
    """What a strategy may see of a visit: the transcript, and not which division of the note is judged."""
    return {"transcript": visit.transcript}


def target_of(visit: Visit) -> dict[str, Any]:
    """What only scoring may see of a visit: its note and the divisions."""
    return {"note": visit.note, "sections": dict(visit.sections), "only": visit.only}


def remarks_of(visits: Sequence[Visit], *, headers: Headers = "aci-bench") -> Iterator[str]:
    """What somebody should know of visits before anything is asked: which divisions their notes lack; counts only."""
    if missing := sum(not visit.referenced for visit in visits):
        yield f"{missing} of {len(visits)} visits have no reference note"
    for name in SECTIONS:
        there = [visit for visit in visits if visit.holds(name)]
        if empty := sum(is_empty(visit.sections[name], headers=headers) for visit in there):
            yield f"{empty} of {len(there)} notes have no {name}"


def band_of(age: str) -> str:
    """The age band of an age as ACI-bench writes it (`62`, `45.0`, `9-month`), `""` for none that can be read."""
    number, _, unit = age.strip().partition("-")
    try:
        years = float(number) * next((part for name, part in _UNITS.items() if unit.startswith(name)), 1.0)
    except ValueError:
        return ""
    if not 0 <= years <= OLDEST:
        return ""
    return next((name for below, name in BANDS if years < below), OLDEST_BAND)


def _note_of(row: Row, headers: Headers) -> tuple[str, str, dict[str, str]]:
    """The note as it stands there, which division it is if it is one alone, and its divisions."""
    note, only = row.text("note"), row.text("section").strip()
    given = row.values.get("sections")
    if only:
        only = _known(only, row, "section")
        text = "" if is_empty(note, headers=headers) else note
        return text, only, {**dict.fromkeys(SECTIONS, ""), only: text}
    if given is None:
        return note, "", sections_of(note, headers=headers)
    sections = _given_sections(given, row, headers)
    return note or "\n\n".join(filter(None, sections.values())), "", sections


def _given_sections(given: Any, row: Row, headers: Headers) -> dict[str, str]:
    """Divisions that the data give as such; those without a word are `""`."""
    if not isinstance(given, Mapping) or not all(isinstance(text, str) for text in given.values()):
        raise DataError(
            "the divisions are not an object of texts",
            where=row.where("sections"),
            remedy=f'Write {{"{SECTIONS[-1]}": "…"}}, with the names {", ".join(SECTIONS)}',
        )
    named = {_known(str(name), row, "sections"): text for name, text in given.items()}
    return {name: "" if is_empty(named.get(name, ""), headers=headers) else named[name] for name in SECTIONS}


def _known(name: str, row: Row, column: str) -> str:
    try:
        return known_section(name)
    except UnknownName:
        # The name itself is not shown: in a column that was guessed it may be a patient's words.
        raise DataError(
            "no division of a note has this name",
            where=row.where(column),
            remedy=f"They are {', '.join(SECTIONS)}",
        ) from None


def _slices(row: Row, transcript: str) -> dict[str, str]:
    found = {name: row.text(name).strip() for name in SLICES}
    length = "longer" if len(transcript.split()) > LONGER else "shorter"
    return {name: label for name, label in found.items() if label} | {"length": length}
