"""Numbers that a paper reports: the `reported.toml` of a task."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import msgspec

from pmbench.core.errors import ConfigError
from pmbench.core.registry import resource
from pmbench.core.task import Task
from pmbench.leaderboard.table import GroupHead, Table
from pmbench.leaderboard.wording import DASH

OWN = ("file", "folder", "datasets")
"""Kinds of data that are a user's own files."""

Number = int | str
"""A number as it is written in the file: `0.50` is not `0.5`."""


class ReportedRow(msgspec.Struct, frozen=True):
    """One row of a paper's table.

    Attributes:
        system, strategy: as the paper calls them.
        table: where it stands (`Table 4`).
        values: by metric, or by another name where the paper has one that this task has not; digits are shown as
            they are written.
        spread: of each value, as the paper gives it.
        note: what is odd about it.
    """

    system: str
    strategy: str = ""
    table: str | int = ""
    values: dict[str, Number] = {}
    spread: dict[str, Number] = {}
    note: str = ""


class Reported(msgspec.Struct, frozen=True):
    """A task's `reported.toml`: rows, where they are from, and what is to be known of the paper's tables, by name."""

    row: list[ReportedRow] = []
    source: str = ""
    note: str = ""
    tables: dict[str, str] = {}

    def sections(self, groups: Sequence[GroupHead]) -> Iterator[ReportedTable]:
        """Its rows as tables: the main one first, then one for each group of metrics of which it has values.

        A row stands in every table that it has values of; where it has those of a group's reference, it is a
        row of the reference. Names that are of no group stand in the main table.
        """
        grouped = {name for one in groups for name in (*one.metrics, *one.references.values())}
        names = dict.fromkeys(name for one in self.row for name in one.values if name not in grouped)
        yield from self._section("", [{name: name for name in names}])
        for group in groups:
            own = {name: name for name in group.metrics}
            yield from self._section(group.title, [own, group.references])

    def _section(self, title: str, columns: Sequence[Mapping[str, str]]) -> Iterator[ReportedTable]:
        """The table of the rows that have values, if any have.

        Args:
            title: of the group; empty for the main table.
            columns: for each kind of row, the name of the value in each column.
        """
        rows = [
            (one, kind) for one in self.row for kind in columns if any(kind[n] in one.values for n in kind)
        ]
        there = {name for one, kind in rows for name, key in kind.items() if key in one.values}
        names = [name for name in columns[0] if name in there]
        if rows:
            lines = [(one, tuple(_cell(one, kind.get(name, "")) for name in names)) for one, kind in rows]
            yield ReportedTable(title, names, lines)

    def notes(self, rows: Iterable[ReportedRow]) -> dict[str, str]:
        """What is to be known of the paper's tables that the rows are from, by table."""
        used = {str(one.table) for one in rows}
        return {table: note for table, note in self.tables.items() if table in used}


def line_above(table: Table) -> str:
    """What stands over the paper's rows where they are below measured ones: whose data they are of."""
    if table.kind == "demo":
        return (
            "Numbers of the paper, of the paper's data and not of these demo data, by other judges: not comparable,"
            " never tested; no system above is better or worse than these"
        )
    if table.kind in OWN:
        return (
            "Numbers of the paper, of the paper's data and not of these (unless these are the paper's), by other"
            " judges: not comparable, never tested"
        )
    return (
        "Numbers of the paper, by other judges and perhaps of another version of the data: not comparable, never"
        " tested"
    )


def whose_data(
    tables: Sequence[Table], *, private: bool, quoted: Callable[[str], str] = str
) -> Iterator[str]:
    """Whether the paper's data are those of a board's tables, as far as it is known; a sentence for each kind.

    Args:
        tables: of the board; private: whether the paper's data are given to few.
        quoted: how the name of a file is set.
    """
    if any(one.kind == "demo" for one in tables):
        yield (
            "These numbers are of the paper's data, not of the demo data: no system above is better or worse than"
            " these."
        )
    own = list(dict.fromkeys(one.data for one in tables if one.kind in OWN))
    if own:
        # Only who holds the paper's data knows whether this file is it.
        unless = ", unless yours are the paper's" if private else ""
        names = ", ".join(map(quoted, own))
        yield f"These numbers are of the paper's data, not of yours ({names}){unless}."


def introduction(tables: Sequence[Table]) -> str:
    """What the numbers of the paper are, after `Not comparable with the tables above`."""
    known = tables and all(one.kind == "demo" or one.kind in OWN for one in tables)
    data = "and for its own data" if known else "and perhaps for another version of the data"
    return f": these are the numbers that the paper reports, by another judge, {data}."


def told_once(
    rows: Iterable[tuple[ReportedRow, tuple[str, ...]]],
) -> list[tuple[ReportedRow, str, tuple[str, ...]]]:
    """Rows with their cells, each with the paper's tables that it is from: what several tables repeat stands once."""
    found: dict[tuple[str, str, tuple[str, ...]], tuple[ReportedRow, list[str]]] = {}
    for one, cells in rows:
        _, tables = found.setdefault((one.system, one.strategy, cells), (one, []))
        if one.table not in ("", *tables):
            tables.append(str(one.table))
    return [(one, ", ".join(tables), cells) for (_, _, cells), (one, tables) in found.items()]


class ReportedTable(msgspec.Struct, frozen=True):
    """Reported rows that have values of one group of metrics.

    Attributes:
        group: title of the group; empty for the main metrics.
        names: of the columns.
        rows: each with its cells as text, an en dash where it has no value.
    """

    group: str
    names: list[str]
    rows: list[tuple[ReportedRow, tuple[str, ...]]]


def reported(task: Task | type[Task]) -> Reported:
    """What the task's paper reports; no rows where the task has no such file.

    Raises:
        ConfigError: the file of the task's package cannot be read.
    """
    if not task.reported:
        return Reported()
    try:
        text = resource(task.reported).read_text(encoding="utf-8")
        return msgspec.convert(tomllib.loads(text, parse_float=str), Reported)
    except (OSError, ImportError, ValueError, msgspec.ValidationError) as error:
        raise ConfigError(
            f"the numbers reported for {task.name} cannot be read: {error}", where=task.reported
        ) from None


def humanised(name: str) -> str:
    """A metric's name that the task has no title for, as words: `theme_precision` as `Theme precision`."""
    words = name.replace("_", " ").strip()
    return words[:1].upper() + words[1:]


def _cell(one: ReportedRow, name: str) -> str:
    if name not in one.values:
        return DASH
    return f"{one.values[name]} ± {one.spread[name]}" if name in one.spread else str(one.values[name])
