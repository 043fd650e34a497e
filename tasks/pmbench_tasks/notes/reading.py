"""Checklists from files: which of the known forms a file has."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pmbench import DataError, Row, read_table
from pmbench_tasks.notes.checklist import Checklist
from pmbench_tasks.notes.documents import json_value, read_text, yaml_value
from pmbench_tasks.notes.healthbench import has_rubrics, rubric_of
from pmbench_tasks.notes.lists import listed_rows, listed_text
from pmbench_tasks.notes.medhelm import is_medhelm, jury_of
from pmbench_tasks.notes.shapes import checklist_of

ENDINGS = (".json", ".yaml", ".yml", ".jsonl", ".ndjson", ".csv", ".tsv", ".md", ".markdown", ".txt")
"""Endings of the files that can be read."""


def parse_checklist(path: Path, *, row: str = "") -> Checklist:
    """Read a checklist without asking whether its questions are any good (`validation.findings` does).

    Args:
        path: the file, in any form that `checklist.read_checklist` names.
        row: the `prompt_id` of the rubric wanted, where a HealthBench file has several.

    Raises:
        DataError: it cannot be read, or has no known form.
        UnknownName: there is no rubric with that `prompt_id`.
    """
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        raise DataError(
            f"checklists ending in {ending!r} cannot be read" if ending else "the file's name has no ending",
            where=str(path),
            remedy=f"Save it as one of {', '.join(ENDINGS)}",
        )
    if ending in (".md", ".markdown", ".txt"):
        return listed_text(read_text(path), path, plain=ending == ".txt")
    if ending in (".json", ".yaml", ".yml"):
        return _from_value(path, ending, row)
    return _from_rows(read_table(path), path, row)


def _from_value(path: Path, ending: str, row: str) -> Checklist:
    text = read_text(path)
    value = json_value(text, str(path)) if ending == ".json" else yaml_value(text, str(path))
    entries = value if isinstance(value, list) else [value]
    if entries and all(map(has_rubrics, entries)):
        return rubric_of(
            [(entry, f"{path}, entry {number}") for number, entry in enumerate(entries, 1)], path, row
        )
    _no_row_wanted(row, path)
    if is_medhelm(value):
        return jury_of(value, path)
    return checklist_of(value, path)


def _from_rows(rows: Sequence[Row], path: Path, row: str) -> Checklist:
    values: list[Any] = [one.values for one in rows]
    if path.suffix.lower() not in (".csv", ".tsv") and all(map(has_rubrics, values)):
        return rubric_of([(one.values, one.where()) for one in rows], path, row)
    _no_row_wanted(row, path)
    return listed_rows(rows, path)


def _no_row_wanted(row: str, path: Path) -> None:
    if row:
        raise DataError(
            "holds one checklist, not several by prompt_id", where=str(path), remedy="Leave the prompt_id out"
        )
