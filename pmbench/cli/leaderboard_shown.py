"""A leaderboard in a terminal: the tables of systems, strategies, groups of metrics, cost and time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from pmbench.cli.columns import printable, shortened
from pmbench.cli.leaderboard_legend import TITLES, legend

if TYPE_CHECKING:
    from pmbench.leaderboard.columns import Column
    from pmbench.leaderboard.table import GroupHead, Leaderboard, Measure, MetricHead, SystemRow, Table
    from pmbench.leaderboard.tested import Comparison

_NARROW = 120
"""Below this width an interval goes below its value."""

_SETTINGS = 120
"""Characters of what distinguishes a system from another one of its name."""

_NAME = 20
"""Characters that a system's name may take before columns of numbers move into a table of their own."""


def show(board: Leaderboard, names: Sequence[str] | None = None) -> None:
    """Print a leaderboard.

    Args:
        board: the leaderboard.
        names: columns of the one table of systems, as `columns.parse` returns them; None: the tables of a terminal.

    Raises:
        ConfigError: a column is of a metric that no system here has.
    """
    from pmbench.leaderboard.columns import columns
    from pmbench.leaderboard.wording import counted, judges_text

    if names is not None:
        columns(board, names)  # also where there is no table that could have them
    if not board.tables:
        print_lines(["No run can be shown yet."])
    for table in board.tables:
        chosen = columns(board, names, table.correction) if names is not None else None
        judges = " / ".join(dict.fromkeys(judges_text(row.judges) for row in table.rows))
        told = f"judges: {judges}"
        print_title(
            f"{board.title}: {table.data}, {table.instances} of {table.dataset} instances, "
            f"{counted(table.units, 'message') if table.units else counted(table.clusters, 'cluster')};"
            f" judges {judges or 'none'}"
        )
        print_lines(f"  {line}" for line in table.differs if line != told)
        own = board.of(table)
        if chosen is None:
            _print_systems(own, table)
        else:
            _print_chosen(own, chosen, table)
        print_lines(table.words)
        print_lines(f"- {note}" for note in table.notes)
        if chosen is None:
            _print_further(own, table)
        print_lines([""])
    if names is None and board.tables and (board.others or board.groups):
        print_lines(["-o FILE writes all metrics, each with its interval (-o - shows them here)."])
    print_lines(left_out(board))


def left_out(board: Leaderboard) -> list[str]:
    """A line for each run that is in no table."""
    return [f"not in a table: {left.where}: {left.reason}" for left in board.left_out]


def _print_further(own: Leaderboard, table: Table) -> None:
    """What stands below the systems."""
    from pmbench.leaderboard.groups import by_presence

    if table.strategies:
        _print_strategies(own, table)
    there, absent = by_presence(own.groups, table)
    for group in there:
        _print_group(own, group, table)
    if absent:
        titles = "; ".join(group.title for group in absent)
        print_lines(["", f"No system here has the numbers of these tables: {titles}."])
    _print_cost(table)


def _named(row: SystemRow) -> str:
    """A system's name, cut where it is long, with its settings where it has any."""
    return shortened(row.model) + (f" ({shortened(row.settings, _SETTINGS)})" if row.settings else "")


def _print_chosen(board: Leaderboard, chosen: Sequence[Column], table: Table) -> None:
    """The table of systems with the columns that were asked for, headed as in the tables of a terminal."""
    from pmbench.cli.terminal import output
    from pmbench.leaderboard.no_interval import reasons

    between = "\n" if output().width < _NARROW else " "
    rows = []
    for row in table.rows:
        cells = [between.join(filter(None, column.cell(row))) for column in chosen]
        rows.append([str(row.number), _named(row), shortened(row.strategy), *cells])
    level = f"[{100 * board.statistics.level:g}% interval]"
    metrics = {head.name: head for head in board.metrics}
    heads = [
        f"{metrics[column.name].full_heading} {level}"
        if column.is_metric
        else TITLES.get(column.name, column.title)
        for column in chosen
    ]
    print_blocks(["", "system", "strategy"], heads, rows)
    print_lines(legend(board, table, {column.name for column in chosen if not column.is_metric}, heads))
    grouped = [metrics[column.name] for column in chosen if column.is_metric and metrics[column.name].group]
    print_lines(
        f"- {line}" for line in reasons({head.name: head.full_heading for head in grouped}, table.rows)
    )


def _print_systems(board: Leaderboard, table: Table) -> None:
    from pmbench.cli.terminal import output
    from pmbench.leaderboard.columns import TESTS, p_heading
    from pmbench.leaderboard.wording import DASH

    between = "\n" if output().width < _NARROW else " "

    def measured(one: Measure | Comparison | None) -> str:
        return f"{one.number}{between}{one.interval}".rstrip() if one else DASH

    first, headlines = board.beside
    level = f"[{100 * board.statistics.level:g}% interval]"
    tests = [TITLES.get(name, p_heading(table.correction)) for name in TESTS]
    heads = [*(f"{one.full_heading} {level}" for one in first), *tests]
    heads += [*(f"{one.full_heading} {level}" for one in headlines), TITLES["scored"], TITLES["lost"]]
    rows = []
    for row in table.rows:
        against, standing = row.against, row.standing
        cells = [str(row.number), _named(row), shortened(row.strategy)]
        cells += [*(measured(row.measures[one.name]) for one in first), standing.letters or DASH]
        cells += [
            f"{standing.rank_text} {standing.places_text}".rstrip(),
            standing.best_text,
            measured(against),
        ]
        cells += [against.p_text if against else DASH]
        cells += [measured(row.measures[one.name]) for one in headlines]
        rows.append([*cells, f"{row.counts.scored}/{row.counts.samples}", row.failures])
    print_blocks(["", "system", "strategy"], heads, rows)
    print_lines(legend(board, table, {*TESTS, "lost"}, heads))


def _print_strategies(board: Leaderboard, table: Table) -> None:
    print_lines([""])
    print_title("Strategies: mean ± standard deviation over models (how much models differ, no interval)")
    heads = [*board.leading, *board.others]
    rows = [
        [shortened(one.strategy), str(one.models), *(one.spreads[head.name].text for head in heads)]
        for one in table.strategies
    ]
    print_blocks(["strategy", "models"], [_heading(head) for head in heads], rows)
    print_lines(f"- {note}" for note in table.strategy_notes)


def _print_group(board: Leaderboard, group: GroupHead, table: Table) -> None:
    """The values of a group of metrics: of the strategies where they were asked for, else of the systems."""
    from pmbench.leaderboard.no_interval import reasons
    from pmbench.leaderboard.wording import DASH

    reference = table.references.get(group.title)
    names = ["strategy"] if table.strategies else ["", "system", "strategy"]
    rows = []
    if reference:
        there = [reference.measures.get(name) for name in group.metrics]
        label = [group.reference] if table.strategies else ["", group.reference, ""]
        rows.append([*label, *(one.number if one else DASH for one in there)])
    for strategy in table.strategies:
        near = reference.nearest_strategies if reference else {}
        marks = [strategy.strategy in near.get(name, ()) for name in group.metrics]
        texts = [strategy.spreads[name].text for name in group.metrics]
        rows.append([shortened(strategy.strategy), *map(_marked, texts, marks)])
    for row in table.rows if not table.strategies else ():
        near_rows = reference.nearest if reference else {}
        marks = [row.number in near_rows.get(name, ()) for name in group.metrics]
        texts = [row.measures[name].number for name in group.metrics]
        rows.append(
            [str(row.number), shortened(row.model), shortened(row.strategy), *map(_marked, texts, marks)]
        )
    print_lines([""])
    print_title(group.title + (", mean ± standard deviation over models" if table.strategies else ""))
    print_blocks(names, [_heading(head) for head in board.columns(group)], rows)
    if reference:
        of_strategies, of_rows = reference.nearest_strategies.values(), reference.nearest.values()
        marked = any(of_strategies) if table.strategies else any(of_rows)
        print_lines([f"* nearest to {group.reference}"] * marked + [f"- {note}" for note in reference.notes])
    titles = {head.name: head.title for head in board.columns(group)}
    print_lines(f"- {line}" for line in reasons(titles, table.rows))


def _print_cost(table: Table) -> None:
    """What answers cost and how long they took, where that is known of any system."""
    from pmbench.leaderboard.took import cost_columns, cost_notes

    columns = cost_columns(table.rows)
    if not columns:
        return
    rows = [
        [
            str(row.number),
            shortened(row.model),
            shortened(row.strategy),
            *(cells[place] for _, cells in columns),
        ]
        for place, row in enumerate(table.rows)
    ]
    print_lines([""])
    print_title("Cost and time")
    print_blocks(["", "system", "strategy"], [title for title, _ in columns], rows)
    print_lines(f"- {note}" for note in cost_notes(table.rows))


def _heading(head: MetricHead) -> str:
    return f"{head.heading} {head.arrow}".rstrip()


def _marked(text: str, marked: bool) -> str:
    return f"{text}*" if marked else text


def print_title(text: str) -> None:
    """A line in bold."""
    from pmbench.cli.terminal import output

    output().print(printable(text), style="bold", markup=False)


def print_lines(lines: Iterable[str]) -> None:
    """Lines as they are, made printable."""
    from pmbench.cli.terminal import output

    console = output()
    for line in lines:
        console.print(printable(line), markup=False, soft_wrap=True)


def print_blocks(names: Sequence[str], heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table, cut into several where the terminal is too narrow for its columns of numbers."""
    from pmbench.cli.terminal import output

    first = len(names)
    labels = [max(len(row[i]) for row in [names, *rows]) for i in range(first)]
    room = output().width - sum(min(width, _NAME) + 2 for width in labels)
    widths = _widths(heads, [row[first:] for row in rows])
    start = 0
    while start < len(heads):
        stop = start + 1
        while stop < len(heads) and sum(widths[start : stop + 1]) + 2 * (stop - start) <= room:
            stop += 1
        cut = [[*row[:first], *row[first + start : first + stop]] for row in rows]
        _print_table(names, heads[start:stop], cut)
        start = stop


def _print_table(names: Sequence[str], heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table in which names are cut to fit, and numbers never."""
    from rich.markup import escape
    from rich.table import Table as Rich

    from pmbench.cli.terminal import output

    console = output()
    shown = Rich(box=None, pad_edge=False, header_style="bold")
    for name in names:
        shown.add_column(name, overflow="fold")
    # Headings are cut between words where there is no room for them in one line.
    ample = console.width > sum(map(len, heads)) + sum(max(map(len, cells)) + 2 for cells in rows)
    for head, width in zip(heads, _widths(heads, [row[len(names) :] for row in rows]), strict=True):
        shown.add_column(escape(head), width=max(width, len(head)) if ample else width)
    for row in rows:
        shown.add_row(*(escape(printable(cell)) for cell in row))
    console.print(shown)


def _widths(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    """Of each column of numbers the longest word of its heading, or its longest line."""
    lines = [[line for row in rows for line in row[i].split("\n")] for i in range(len(heads))]
    return [max(map(len, [*head.split(), *cells])) for head, cells in zip(heads, lines, strict=True)]
