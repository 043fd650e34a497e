"""Reference notes for unit tests: ACI-bench, the demo visits, or a file with transcripts and notes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from importlib.resources import as_file, files
from pathlib import Path

from pmbench import DataError, Row, id_shown, read_table
from pmbench_tasks.notes.aci import read_aci
from pmbench_tasks.notes.pipeline.enforcing import Reference
from pmbench_tasks.notes.sections import Headers, body_of, is_empty
from pmbench_tasks.notes.visits import COLUMNS, Visit, visits_of

DEMO = "demo"


def read_references(notes: str, section: str, *, headers: Headers = "aci-bench") -> list[Reference]:
    """The notes that have the section, in the order of the file.

    Args:
        notes: `demo`, or a file or folder.
        section: a section, or `""` for whole notes.
        headers: the published list of headers by which notes are divided.

    Raises:
        DataError: it cannot be read, or no note in it has the section.
    """
    found = list(_references(read_visits(notes, headers=headers), section, headers))
    if not found:
        raise DataError(
            f"no note has {'a text' if not section else f'the section {section}'}",
            where=notes,
            remedy="Give reference notes that have it, or leave --notes out: questions are then not tested",
        )
    return found


def read_visits(notes: str, *, headers: Headers = "aci-bench") -> list[Visit]:
    """All visits of the demo, of ACI-bench in its published shapes, or of a table with transcripts and notes.

    Raises:
        DataError: it cannot be read, has no transcripts, or a visit stands twice.
    """
    if notes == DEMO:
        with as_file(files("pmbench_tasks.notes") / "demo" / "visits.jsonl") as path:
            rows: Sequence[Row] = [_named(row) for row in read_table(path, shown="demo/visits.jsonl")]
    else:
        path = Path(notes)
        rows = read_aci(path) or [_named(row) for row in read_table(path)]
        _check(rows, path)
    return list(visits_of(rows, headers=headers))


def _check(rows: Sequence[Row], path: Path) -> None:
    if not any("transcript" in row.values for row in rows):
        raise DataError(
            "has no column 'transcript'",
            where=str(path),
            remedy="Give the columns id, transcript and note, or ACI-bench as published",
        )
    seen: set[str] = set()
    for row in rows:
        ident = str(row.values.get("id"))
        if ident in seen:
            raise DataError(
                f"the id {id_shown(ident)} stands twice",
                where=row.where("id"),
                remedy="Give each visit its own",
            )
        seen.add(ident)


def _references(visits: Sequence[Visit], section: str, headers: Headers) -> Iterator[Reference]:
    for visit in visits:
        text = visit.sections.get(section, "") if section else visit.note
        if (not section or visit.holds(section)) and not is_empty(text, headers=headers):
            # As a run of notes-checklist shows it to its judge: without the header, unless the data has it alone.
            if section and not visit.only:
                text = body_of(text, headers=headers)
            yield Reference(visit.id, visit.transcript, text.strip())


def _named(row: Row) -> Row:
    """The row under the names that visits have."""
    there = {_plain(name): name for name in row.values}
    values, origin = dict(row.values), dict(row.origin)
    for column in COLUMNS:
        found = next(
            (there[_plain(name)] for name in (column.name, *column.guesses) if _plain(name) in there), ""
        )
        if found and found != column.name and column.name not in row.values:
            values[column.name], origin[column.name] = values.pop(found), found
    values["id"] = str(values.get("id") or row.number)
    return Row(values, row.file, row.number, origin)


def _plain(name: str) -> str:
    return re.sub(r"[\s_-]+", "", name.casefold())
