"""Rows of a file made into rows of a task: renamed, validated, with an id each."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, time
from decimal import Decimal
from typing import Any

from pmbench.core.dataset import Column, Row
from pmbench.core.errors import DataError


def columns_of(rows: Iterable[Row]) -> list[str]:
    """Every column that any row has, in order of first appearance."""
    return list(dict.fromkeys(name for row in rows for name in row.values))


def rename(rows: Iterable[Row], columns: Mapping[str, str]) -> list[Row]:
    """Put each mapped column under the task's name; the others keep their own."""
    renamed = {task: file for task, file in columns.items() if task != file}
    if not renamed:
        return list(rows)
    moved = set(renamed.values()) - {file for task, file in columns.items() if task == file}
    made = []
    for row in rows:
        kept = {name: value for name, value in row.values.items() if name not in moved}
        values = kept | {task: row.values.get(file) for task, file in renamed.items()}
        origin = {**row.origin, **{task: row.origin.get(file, file) for task, file in renamed.items()}}
        made.append(Row(values, row.file, row.number, origin))
    return made


def validate(rows: Sequence[Row], wanted: Sequence[Column], labels: Iterable[str]) -> list[Row]:
    """Check every value that the task reads and turn labels into text.

    Args:
        rows: under the task's names.
        wanted: the task's columns.
        labels: columns whose numbers become text, whatever their kind (slices).

    Raises:
        DataError: names the first bad value and counts the other bad rows.
    """
    labelled = {column.name for column in wanted if column.kind == "label"} | set(labels)
    first, bad, made = None, 0, []
    for row in rows:
        values, problem = _checked(row, wanted, labelled)
        if problem is not None:
            bad += 1
            first = first or problem
        made.append(row if values == row.values else Row(values, row.file, row.number, row.origin))
    if first is not None:
        raise _with_count(first, bad - 1)
    return made


def identify(rows: Sequence[Row], *, numbered: bool) -> list[Row]:
    """Give each row its id as text: its own, or its number from 1 where the file has no ids.

    Raises:
        DataError: an id is missing or stands twice; ids themselves are not shown, they may be anything.
    """
    if numbered:
        return [_with_id(row, str(number)) for number, row in enumerate(rows, 1)]
    first: dict[str, Row] = {}
    repeated: list[tuple[Row, Row]] = []
    for row in rows:
        ident = row.values.get("id")
        if not isinstance(ident, str) or not ident.strip():
            raise DataError(
                "no id",
                where=row.where("id"),
                remedy="Give every row an id, or let rows be numbered with --columns id=",
            )
        if ident in first:
            repeated.append((first[ident], row))
        first.setdefault(ident, row)
    if repeated:
        earlier, later = repeated[0]
        raise DataError(
            f"the same id as {_other_place(earlier, later)}{_more(len(repeated) - 1)}",
            where=later.where("id"),
            remedy="Make ids unique, or choose: --columns id=COLUMN; --columns id= numbers the rows",
        )
    return list(rows)


def label_text(value: Any) -> str | None:
    """A label as text: text as it is, finite numbers and dates written out; else None."""
    if isinstance(value, str):
        return value
    if isinstance(value, (date, time)):
        return value.isoformat()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return str(value) if isinstance(value, (bool, int, float, Decimal)) else None


def _checked(
    row: Row, wanted: Sequence[Column], labelled: set[str]
) -> tuple[dict[str, Any], DataError | None]:
    values, problem = dict(row.values), None
    for column in wanted:
        value = values.get(column.name)
        if value is not None and column.name in labelled:
            text = label_text(value)
            problem = problem or (_not_text(row, column.name, value) if text is None else None)
            values[column.name] = value = text
        problem = problem or _problem(row, column, value)
    return values, problem


def _problem(row: Row, column: Column, value: Any) -> DataError | None:
    if value is None or (isinstance(value, str) and not value.strip()):
        if not column.required:
            return None
        what = (
            "a value is required and there is none"
            if value is None
            else "a value is required and it is blank"
        )
        return DataError(what, where=row.where(column.name), remedy="Fill it in or leave the row out")
    if column.kind == "text" and not isinstance(value, str):
        return _not_text(row, column.name, value)
    return None


def _not_text(row: Row, column: str, value: Any) -> DataError:
    return DataError(
        f"text is expected, and it is {_called(value)}", where=row.where(column), remedy="Write it as text"
    )


def _called(value: Any) -> str:
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN or an infinity"
    if isinstance(value, (int, float, Decimal)):
        return "a number"
    if isinstance(value, list):
        return "a list"
    return "an object" if isinstance(value, Mapping) else f"of type {type(value).__name__}"


def _with_count(first: DataError, more: int) -> DataError:
    return DataError(first.what + _more(more), where=first.where, remedy=first.remedy)


def _more(more: int) -> str:
    return f" (and {more} more {'row' if more == 1 else 'rows'})" if more else ""


def _other_place(earlier: Row, later: Row) -> str:
    return f"row {earlier.number}" if earlier.file == later.file else earlier.where()


def _with_id(row: Row, ident: str) -> Row:
    return Row({**row.values, "id": ident}, row.file, row.number, row.origin)
