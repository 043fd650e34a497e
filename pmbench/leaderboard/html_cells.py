"""The tables of a leaderboard's page of HTML as cells: what each shows, and by what its column is sorted."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pmbench.core.metric import Metric
from pmbench.leaderboard.columns import FIXED, TESTS, Column, columns
from pmbench.leaderboard.groups import by_presence
from pmbench.leaderboard.no_interval import reasons
from pmbench.leaderboard.reported import Reported, told_once
from pmbench.leaderboard.several_table import SeveralTasks
from pmbench.leaderboard.table import GroupHead, Leaderboard, MetricHead, SliceMeasure, SystemRow, Table
from pmbench.leaderboard.took import cost_columns, cost_notes
from pmbench.leaderboard.wording import DASH
from pmbench.pages.bars import Bar, bar, narrow_scale

SHADES = 7
"""Colours of a heat map."""


@dataclass(frozen=True, slots=True)
class Cell:
    """What stands in a cell.

    Attributes:
        text: in the first line; small: below it.
        key: what the column is sorted by, as text; empty: it comes last.
        bar: drawn in place of text.
        shade: of a heat map, 0 to `SHADES` − 1; None: no colour.
        strong: whether it is marked.
    """

    text: str
    small: str = ""
    key: str = ""
    bar: Bar | None = None
    shade: int | None = None
    strong: bool = False


@dataclass(frozen=True, slots=True)
class Head:
    """What stands over a column.

    Attributes:
        title: its words; small: below them.
        right: whether its cells are numbers, set to the right.
        sorted: `ascending` or `descending` where the rows are in its order, else empty.
        fixed: whether it cannot be sorted by, as a column of drawings.
    """

    title: str
    right: bool = True
    sorted: str = ""
    fixed: bool = False
    small: str = ""

    @property
    def text(self) -> str:
        """The title, its arrow in one piece with the last word."""
        return re.sub(" (?=[↑↓])", "\N{NO-BREAK SPACE}", self.title)


@dataclass(frozen=True, slots=True)
class Line:
    """A row: a system with its cells."""

    number: str
    model: str
    strategy: str
    settings: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Grid:
    """A table of systems.

    Attributes:
        title, about: above it.
        heads: of the columns beside row, system and strategy; lines: the systems.
        notes: below it.
        above: of a table with two rows of headings, the first: words and how many columns they are over.
    """

    title: str
    about: str
    heads: tuple[Head, ...]
    lines: tuple[Line, ...]
    notes: tuple[str, ...] = ()
    above: tuple[tuple[str, int], ...] = ()


def systems(
    board: Leaderboard, table: Table, primary: Metric, names: Sequence[str] | None
) -> tuple[Grid, list[tuple[str, Column]]]:
    """The main table, and its columns with what they are asked for by.

    Args:
        board: of the table; primary: its first metric as the task has it.
        names: columns that were asked for, as `columns.parse` returns them; None: those of the main table.
    """
    if names is None:
        first, headlines = ([column_name(head.name) for head in heads] for heads in board.beside)
        names = [*first, *TESTS, *headlines, "scored", "lost"]
    chosen = columns(board, names, table.correction)
    measures = [row.measures[primary.name] for row in table.rows]
    scale, rule = narrow_scale(measures), measures[0].value if measures else None
    down = _sorted(primary, [one.value for one in measures])
    heads: list[Head] = []
    drawn: list[bool] = []
    for name, column in zip(names, chosen, strict=True):
        drawn.append(name == column_name(primary.name))
        heads.append(Head(column.title, not column.is_words, down if drawn[-1] else ""))
        if drawn[-1]:
            heads.append(Head(f"{100 * board.statistics.level:g}% interval on one scale", False, fixed=True))
    lines = []
    for row, measure in zip(table.rows, measures, strict=True):
        cells: list[Cell] = []
        for name, column, is_drawn in zip(names, chosen, drawn, strict=True):
            cells.append(_cell(name, column, row))
            if is_drawn:
                cells.append(Cell("", bar=bar(primary, measure, scale, rule)))
        lines.append(_line(row, cells))
    return Grid("", "", tuple(heads), tuple(lines)), list(zip(names, chosen, strict=True))


def _sorted(primary: Metric, values: Sequence[float | None]) -> str:
    """In which order rows are by their values; none where incomplete ones stand below others that are worse."""
    down = primary.higher_is_better is not False
    there = [(value if down else -value) for value in values if value is not None]
    if there != sorted(there, reverse=True):
        return ""
    return "descending" if down else "ascending"


def column_name(metric: str) -> str:
    """What the column of a metric is asked for by."""
    return f"metric:{metric}" if metric in FIXED else metric


def reported_lines(found: Reported, chosen: Sequence[tuple[str, Column]], primary: Metric) -> list[Line]:
    """Rows of the paper that have a number in one of the columns, each once; never compared."""
    rows = []
    for one in found.row:
        texts: list[str] = []
        for name, column in chosen:
            there = None if name in FIXED else one.values.get(column.name)
            texts.append("" if there is None else str(there))
            if name == column_name(primary.name):
                texts.append("")  # the drawing's column
        if any(texts):
            rows.append((one, tuple(texts)))
    return [
        Line("", one.system, one.strategy, tables, tuple(map(Cell, texts)))
        for one, tables, texts in told_once(rows)
    ]


def heat_map(table: Table, primary: Metric) -> Grid | None:
    """The primary metric in every subgroup that some system has; None where there is none."""
    by_slice: dict[str, dict[str, int]] = {}
    for row in table.rows:
        for name, labels in row.slices.items():
            for label, one in labels.items():
                known = by_slice.setdefault(name, {})
                known[label] = max(one.instances, known.get(label, 0))
    found = [
        [row.slices.get(name, {}).get(label) for name, labels in by_slice.items() for label in labels]
        for row in table.rows
    ]
    values = [one.value for line in found for one in line if one is not None and one.value is not None]
    if not values:
        return None
    ends = min(values), max(values)
    lines = tuple(
        _line(row, [_shaded(one, ends, primary.higher_is_better is not False) for one in line])
        for row, line in zip(table.rows, found, strict=True)
    )
    heads = tuple(
        Head(label, small=f"n = {n}") for labels in by_slice.values() for label, n in labels.items()
    )
    above = tuple((name, len(labels)) for name, labels in by_slice.items())
    return Grid("", "", heads, lines, above=above)


def _shaded(one: SliceMeasure | None, ends: tuple[float, float], higher: bool) -> Cell:
    """A cell of the heat map: the better the darker; the middle shade where all are alike."""
    if one is None or one.value is None:
        return Cell(DASH)
    low, high = ends
    share = (one.value - low) / (high - low) if high > low else 0.5
    shade = min(SHADES - 1, int((share if higher else 1 - share) * SHADES))
    return Cell(one.number, key=_key(one.value), shade=shade)


def others(board: Leaderboard, table: Table) -> Iterator[Grid]:
    """The other metrics, the groups of metrics, strategies over models, and what it took."""
    if table.strategies:
        yield _strategies(board, table)
    if board.others:
        yield Grid("Other metrics", "", *_measured(board.others, table))
    there, absent = by_presence(board.groups, table)
    for group in there:
        yield _group(board, group, table)
    if absent:
        titles = "; ".join(group.title for group in absent)
        yield Grid("", f"No system here has the numbers of these tables: {titles}.", (), ())
    took = cost_columns(table.rows)
    if took:
        heads = tuple(Head(title) for title, _ in took)
        lines = tuple(
            _line(row, [Cell(cells[place], key=_plain(cells[place])) for _, cells in took])
            for place, row in enumerate(table.rows)
        )
        yield Grid("Cost and time", "", heads, lines, tuple(cost_notes(table.rows)))


def of_several(found: SeveralTasks, headings: Sequence[str]) -> Grid:
    """The table of several tasks."""
    lines, counted = [], sum(head.counted for head in found.tasks)
    for one in found.rows:
        measures = [one.measures.get(head.task) for head in found.tasks]
        cells = [
            Cell(*one.win_text, _key(one.win_rate)),
            Cell(*one.rank_text, _key(one.rank)),
            Cell(f"{one.tasks}/{counted}", key=str(one.tasks)),
            *(Cell(of.number, of.interval, _key(of.value)) if of else Cell(DASH) for of in measures),
        ]
        lines.append(Line(str(one.number), one.model, one.strategy, "", tuple(cells)))
    heads = tuple(Head(text) for text in headings)
    return Grid("", "", heads, tuple(lines))


def _measured(heads: Sequence[MetricHead], table: Table) -> tuple[tuple[Head, ...], tuple[Line, ...]]:
    lines = tuple(
        _line(
            row,
            [
                Cell(found.number, found.interval, _key(found.value))
                for found in (row.measures[head.name] for head in heads)
            ],
        )
        for row in table.rows
    )
    return tuple(_over(head) for head in heads), lines


def _group(board: Leaderboard, group: GroupHead, table: Table) -> Grid:
    heads = board.columns(group)
    reference = table.references.get(group.title)
    titles, measured = _measured(heads, table)
    lines = list(measured)
    if reference:
        near = reference.nearest
        lines = [
            Line(
                line.number,
                line.model,
                line.strategy,
                line.settings,
                tuple(
                    Cell(cell.text, cell.small, cell.key, strong=row.number in near.get(head.name, ()))
                    for cell, head in zip(line.cells, heads, strict=True)
                ),
            )
            for line, row in zip(lines, table.rows, strict=True)
        ]
        cells = []
        for head in heads:
            found = reference.measures.get(head.name)
            cells.append(Cell(found.number, found.interval) if found else Cell(DASH))
        lines.insert(0, Line("", group.reference, "", "", tuple(cells)))
    notes = list(reference.notes) if reference else []
    if reference:
        notes.insert(
            0,
            f"Bold is what comes nearest to {group.reference} in its column, where not all systems are as near; this"
            " is not tested.",
        )
    notes += reasons({head.name: head.title for head in heads}, table.rows)
    return Grid(group.title, group.about, titles, tuple(lines), tuple(notes))


def _strategies(board: Leaderboard, table: Table) -> Grid:
    heads = [*board.leading, *board.others]
    lines = tuple(
        Line(
            "",
            f"{one.models} models",
            one.strategy,
            "",
            tuple(Cell(one.spreads[head.name].text) for head in heads),
        )
        for one in table.strategies
    )
    about = "Mean ± sample standard deviation over models: how much models differ. It is no interval."
    titles = tuple(
        Head(" ".join(filter(None, [head.full_heading, head.arrow])), fixed=True) for head in heads
    )
    return Grid("Strategies over models", about, titles, lines, tuple(table.strategy_notes))


def _over(head: MetricHead) -> Head:
    return Head(" ".join(filter(None, [head.heading, head.arrow])))


def _line(row: SystemRow, cells: Sequence[Cell]) -> Line:
    return Line(str(row.number), row.model, row.strategy, row.settings, tuple(cells))


def _cell(name: str, column: Column, row: SystemRow) -> Cell:
    text, small = column.cell(row)
    values = list(column.values(row).values())
    if name == "lost":
        lost = sum(value for value in values[:3] if isinstance(value, int))
        return Cell(text, small, str(lost))
    value = values[1] if name == "p" else values[0]
    return Cell(text, small, _key(value))


def _key(value: float | str | None) -> str:
    """What a value is sorted by: a number with all its digits, or words."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return value.lower() if isinstance(value, str) else repr(value)


def _plain(text: str) -> str:
    """The number in a cell's text, without thousands' commas and signs before it."""
    number = text.removeprefix("≥ ").replace(",", "")
    return number if number.replace(".", "", 1).isdigit() else ""
