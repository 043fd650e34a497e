"""Lists of questions as people write them: Markdown, plain text, and tables."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pmbench import DataError, Row
from pmbench_tasks.notes.checklist import Checklist, Item
from pmbench_tasks.notes.shapes import item_of, one_scale, section_of, text_of

_HEADING = re.compile(r"^(#{1,6})\s+(.*?)\s*#*$")
_ITEM = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)])\s+(?:\[[ xX]?\]\s+)?(.*)$")
_SECTION = re.compile(r"^section:\s*(.+)$", re.IGNORECASE)

_COLUMNS: Mapping[str, str] = {
    "question": "question",
    "questions": "question",
    "criterion": "criterion",
    "criteria": "criterion",
    "attribute": "attribute",
    "item": "question",
    "id": "id",
    "weight": "weight",
    "category": "category",
    "dimension": "category",
    "group": "category",
    "points": "points",
    "description": "description",
    "section": "section",
    "sourcefeedback": "source_feedback",
}
"""The key of an item by the name of a column, in small letters and without signs."""

_WORDING = ("question", "criterion", "attribute")


def listed_text(text: str, path: Path, *, plain: bool = False) -> Checklist:
    """Questions from Markdown or, with `plain`, from lines of text.

    In Markdown a list item is a question (`- …`, `1. …`, `- [ ] …`), with its indented lines; the first
    heading of the first level is the name, every other one the category of the items under it; a line
    `Section: …` says the section. Other lines are passed over. In plain text every line that is not empty is
    a question, with or without such a sign.

    Raises:
        DataError: there is no question.
    """
    listed = _listed(text, plain=plain)
    if not listed.items:
        raise DataError("has no list of questions", where=str(path), remedy="Write one to a line: - Is …?")
    items = tuple(
        Item(id=f"q{number}", question=" ".join(" ".join(lines).split()), category=its)
        for number, (lines, its) in enumerate(listed.items, 1)
    )
    return Checklist(
        name=listed.name or path.stem,
        items=items,
        section=section_of(listed.section),
        source=str(path),
    )


def passed_over(text: str) -> list[int]:
    """Numbers of the lines of Markdown that have a question mark and are no question of the checklist."""
    return _listed(text, plain=False).passed_over


@dataclass(slots=True)
class _Listed:
    """What a list says: its items as lines with their category, and the lines that may have been meant as such."""

    name: str = ""
    section: str = ""
    items: list[tuple[list[str], str]] = field(default_factory=list)
    passed_over: list[int] = field(default_factory=list)


def _listed(text: str, *, plain: bool) -> _Listed:
    listed, category, open_item = _Listed(), "", False
    for number, line in enumerate(text.splitlines(), 1):
        heading, item, told = _HEADING.match(line), _ITEM.match(line), _SECTION.match(line)
        if told and not listed.items:
            listed.section, open_item = told[1].strip(), False
        elif heading and not plain:
            if len(heading[1]) == 1 and not listed.name:
                listed.name = heading[2]
            else:
                category = heading[2]
            open_item = False
        elif item or (plain and line.strip()):
            listed.items.append(([item[1] if item else line], category))
            open_item = not plain
        elif open_item and line[:1].isspace() and line.strip():
            listed.items[-1][0].append(line)
        else:
            if "?" in line:
                listed.passed_over.append(number)
            if not line.strip() or not line[:1].isspace():
                open_item = False
    return listed


def listed_rows(rows: Sequence[Row], path: Path) -> Checklist:
    """Questions from the rows of a table, a row each.

    The wording is in a column `question` (yes/no), or `criterion` or `attribute` (points where there is a
    column of them, else grades from 1 to 5, as the nine attributes of a PDQI-9). Further columns: `id`,
    `weight`, `category`, `description`, and `section`, the same in every row. Other columns are passed over.

    Raises:
        DataError: no column of questions or two, a row without one, or sections that differ.
    """
    columns = _columns(rows, path)
    entries: list[dict[str, Any]] = []
    for row in rows:
        entry = {key: row.values.get(column) for key, column in columns.items()}
        entry["source_feedback"] = _split(entry.get("source_feedback"))
        entries.append({key: value for key, value in entry.items() if value not in (None, "")})
    items = tuple(
        item_of(entry, number, row.where(), strict=False)
        for number, (entry, row) in enumerate(zip(entries, rows, strict=True), 1)
    )
    lacking = [row for entry, row in zip(entries, rows, strict=True) if "weight" not in entry]
    if lacking and len(lacking) < len(rows):
        raise DataError(
            "has no weight, and others have", where=lacking[0].where(), remedy="Give one to all or none"
        )
    sections = {text_of(entry, "section", row.where()) for entry, row in zip(entries, rows, strict=True)}
    if len(sections) > 1:
        raise DataError(
            "the rows name different sections", where=str(path), remedy="Make a file for each section"
        )
    return Checklist(
        name=path.stem,
        items=items,
        section=section_of(sections.pop()),
        scale=one_scale(items, str(path), graded="question" not in columns),
        source=str(path),
    )


def _columns(rows: Sequence[Row], path: Path) -> dict[str, str]:
    """The column of each key of an item."""
    columns: dict[str, str] = {}
    for column in dict.fromkeys(name for row in rows for name in row.values):
        key = _COLUMNS.get(re.sub(r"[^a-z]", "", column.lower()))
        if key in columns:
            raise DataError(f"two columns could be the {key}", where=str(path), remedy="Rename one of them")
        if key is not None:
            columns[key] = column
    wording = [key for key in _WORDING if key in columns]
    if len(wording) != 1:
        what = f"has columns {' and '.join(wording)}" if wording else "has no column called question"
        raise DataError(
            what, where=str(path), remedy="Give it one header: question, or criterion for a rubric"
        )
    return columns


def _split(value: Any) -> Any:
    """Ids of feedback, of which CSV has several in a field, between semicolons."""
    return [one.strip() for one in value.split(";") if one.strip()] if isinstance(value, str) else value
