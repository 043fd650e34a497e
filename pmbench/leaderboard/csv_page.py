"""A leaderboard as CSV: a line for each system, numbers in full precision, reported rows below the measured ones."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence

from pmbench.leaderboard.columns import Column, Value, columns
from pmbench.leaderboard.reported import Reported
from pmbench.leaderboard.table import Leaderboard, SystemRow, Table
from pmbench.pages.visible import visible

LEADING = ("kind", "task", "table", "row", "system", "strategy", "settings")
TRAILING = ("status", "data", "fingerprint", "task_version", "instances", "pmbench")

_FORMULA = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""What a spreadsheet takes for the beginning of a formula, wide forms of the signs too."""

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def render_csv(board: Leaderboard, found: Reported, names: Sequence[str] | None = None) -> str:
    """All tables of a board in one file; `table` tells them apart, and only systems of one table may be compared.

    A cell of text that a spreadsheet would take for a formula has an apostrophe before it (`guarded`).

    Args:
        board: the leaderboard.
        found: what the task's paper reports: rows of the kind `reported`, with the numbers as they are printed there.
        names: of the columns, as `columns.parse` returns them; None: all.

    Raises:
        ConfigError: a column is of a metric that no system here has.
    """
    columns(board, names)  # also where there is no table that could have them
    lines = [
        _line(board, table, number, row, columns(board, names, table.correction))
        for number, table in enumerate(board.tables, 1)
        for row in table.rows
    ]
    named = dict.fromkeys(name for line in lines for name in line)
    heads = [*LEADING, *(name for name in named if name not in (*LEADING, *TRAILING)), *TRAILING]
    lines += _reported(board, found, set(heads) - {*LEADING, *TRAILING})
    text = io.StringIO()
    writer = csv.DictWriter(text, heads, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: guarded(value) for name, value in line.items()} for line in lines)
    return text.getvalue()


def guarded(value: Value) -> Value:
    r"""A cell that no spreadsheet takes for a formula, in one line.

    Text that begins like a formula, blanks before it or not, gets an apostrophe before it; control characters and
    line breaks become blanks; what is not seen and turns the direction of writing becomes its escape, as `\u202e`.
    Numbers stay.
    """
    if not isinstance(value, str):
        return value
    text = visible(_CONTROL.sub(" ", value))
    return f"'{text}" if text.lstrip().startswith(_FORMULA) else text


def _line(
    board: Leaderboard, table: Table, number: int, row: SystemRow, chosen: Sequence[Column]
) -> dict[str, Value]:
    line: dict[str, Value] = {
        "kind": "measured",
        "task": board.task,
        "table": number,
        "row": row.number,
        "system": row.model,
        "strategy": row.strategy,
        "settings": row.settings,
    }
    for column in chosen:
        line |= column.values(row)
    return line | {
        "status": row.status,
        "data": table.data,
        "fingerprint": table.fingerprint,
        "task_version": table.version,
        "instances": table.instances,
        "pmbench": row.made_with,
    }


def _reported(board: Leaderboard, found: Reported, heads: set[str]) -> Iterator[dict[str, Value]]:
    """Rows of the task's paper, below the measured ones: never tested against, and so without row, table and p."""
    for one in found.row:
        values: dict[str, Value] = {name: str(value) for name, value in one.values.items() if name in heads}
        if values:
            yield {
                "kind": "reported",
                "task": board.task,
                "system": one.system,
                "strategy": one.strategy,
                "settings": str(one.table),
                **values,
                "data": found.source,
            }
