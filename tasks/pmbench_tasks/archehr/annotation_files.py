"""Files that annotators hand in: labels in the format of the official key, and answers by id."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pmbench import DataError, Row, read_table
from pmbench_tasks.archehr.agreement import Item
from pmbench_tasks.archehr.cases import Case
from pmbench_tasks.archehr.entries import checked_text, json_value, read_bytes
from pmbench_tasks.archehr.key import read_key, with_key
from pmbench_tasks.archehr.submissions import HELD, read_submission

ID_COLUMNS = ("id", "case_id")
TEXT_COLUMNS = ("text", "answer", "clinician_answer_without_citations", "clinician_answer")
"""Names that the columns may have, the first that is there."""


def read_labels(path: Path) -> dict[Item, str]:
    """The relevance of every sentence in a file in the format of the official key.

    Raises:
        DataError: it is not in that format, or holds no label.
    """
    found = {
        (name, sentence): label
        for name, entry in read_key(path).items()
        for sentence, label in with_key(Case(name, "", ""), entry)[0].relevance.items()
    }
    if not found:
        raise DataError("holds no labels", where=str(path), remedy="Give a key whose cases have `answers`")
    return found


def read_answers(path: Path) -> dict[str, str]:
    """Answers by id, from a table with the columns `id` and `text`, or from an official key or submission.

    Raises:
        DataError: it cannot be read, lacks a column, has an id twice, or something else where a text belongs.
    """
    if _is_submission(path):
        return _submitted(path)
    rows = read_table(path)
    name, text = _column(rows[0], ID_COLUMNS), _column(rows[0], TEXT_COLUMNS)
    found: dict[str, str] = {}
    for row in rows:
        ident = row.text(name).strip()
        if not ident:
            raise DataError("an answer without an id", where=row.where(name))
        if ident in found:
            raise DataError("an id that another answer has", where=row.where(name))
        found[ident] = checked_text(row.values.get(text), row.where(text))
    return found


def _is_submission(path: Path) -> bool:
    """Whether a file is a zip, or JSON whose first entry has what those of submissions have and others have not."""
    ending = path.suffix.lower()
    if ending != ".json" or not path.is_file():
        return ending == ".zip"
    value = json_value(read_bytes(path), str(path))
    first = value[0] if isinstance(value, list) and value else None
    return isinstance(first, dict) and "case_id" in first and ("answer" in first or "prediction" in first)


def _submitted(path: Path) -> dict[str, str]:
    found = read_submission(path)
    if found is None:
        raise DataError("is no regular file", where=str(path), remedy="Check the path")
    if found.kind not in ("answer", "text"):
        raise DataError(
            f"holds {HELD[found.kind]}, no texts", where=str(path), remedy="Give one with answers"
        )
    return {ident: one.text or "" for ident, one in found.items()}


def _column(row: Row, names: tuple[str, ...]) -> str:
    there: Mapping[str, str] = {name.casefold(): name for name in row.values}
    for name in names:
        if name in there:
            return there[name]
    raise DataError(
        f"has no column {names[0]!r}", where=row.file, remedy=f"Name a column {' or '.join(names)}"
    )
