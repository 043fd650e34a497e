"""The tables of a leaderboard's page: systems, groups of metrics, strategies over models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pmbench.leaderboard.columns import Column, p_heading
from pmbench.leaderboard.escaping import code, escape, row
from pmbench.leaderboard.no_interval import reasons
from pmbench.leaderboard.table import GroupHead, Leaderboard, Measure, MetricHead, SystemRow, Table
from pmbench.leaderboard.tested import Comparison
from pmbench.leaderboard.took import cost_columns, cost_notes
from pmbench.leaderboard.wording import DASH, blocks, judges_text

LEFT, RIGHT = ":---", "---:"

WIDEST = 5
"""Columns of numbers with intervals that a page of usual width can hold beside the names."""


def number_cell(text: str) -> str:
    """A number with its unit; brackets stay as they are, for readers of the source."""
    return escape(text).replace("\\[", "[").replace("\\]", "]")


def interval_cell(text: str) -> str:
    """An interval that no line end can break."""
    return number_cell(text).replace(", ", ",&nbsp;")


def heading(head: MetricHead, *, full: bool = False) -> str:
    """What stands over a column, with the metric's direction in one piece with the last word."""
    return "&nbsp;".join(filter(None, [escape(head.full_heading if full else head.heading), head.arrow]))


def main_table(first: Sequence[MetricHead], headlines: Sequence[MetricHead], table: Table) -> Iterator[str]:
    """The table of the leading metrics: who, how good, how sure that is, and what went wrong."""
    rows = table.rows
    judges = any(one.judges != rows[0].judges for one in rows)
    titles = ["#", "System", "Strategy", *(heading(head, full=True) for head in first)]
    titles += ["Letters", "Rank", "Chance of being best", "Difference to the best"]
    titles += [escape(p_heading(table.correction)), *(heading(head, full=True) for head in headlines)]
    titles += ["Scored", "Lost or odd", *(["Judges"] if judges else [])]
    yield row(titles)
    words = {"System", "Strategy", "Letters", "Lost or odd", "Judges"}
    yield row([LEFT if title in words else RIGHT for title in titles])
    for one in rows:
        pair, standing = one.against, one.standing
        model = "<br>".join(filter(None, [code(one.model), escape(one.settings)]))
        cells = [str(one.number), model, code(one.strategy)]
        cells += [_measured(one.measures[head.name]) for head in first]
        places = "<br>".join(filter(None, [standing.rank_text, interval_cell(standing.places_text)]))
        cells += [standing.letters or DASH, places, escape(standing.best_text)]
        cells += [_measured(pair), number_cell(pair.p_text)] if pair else [DASH] * 2
        cells += [_measured(one.measures[head.name]) for head in headlines]
        cells += [f"{one.counts.scored}/{one.counts.samples}", escape(one.failures)]
        yield row([*cells, *([escape(judges_text(one.judges)) or DASH] if judges else [])])


def chosen_table(chosen: Sequence[Column], rows: Sequence[SystemRow]) -> Iterator[str]:
    """The table of systems with the columns that were asked for, and no others."""
    yield row(["#", "System", "Strategy", *(escape(column.title) for column in chosen)])
    yield row([RIGHT, LEFT, LEFT, *(LEFT if column.is_words else RIGHT for column in chosen)])
    for one in rows:
        model = "<br>".join(filter(None, [code(one.model), escape(one.settings)]))
        cells = [str(one.number), model, code(one.strategy)]
        for column in chosen:
            shown, interval = column.cell(one)
            lines = [escape(shown) if column.is_words else number_cell(shown), interval_cell(interval)]
            cells.append("<br>".join(filter(None, lines)))
        yield row(cells)


def other_tables(metrics: Sequence[MetricHead], rows: Sequence[SystemRow]) -> Iterator[str]:
    """The tables of the other main metrics, as many as are needed; rows as in the first."""
    for place, block in enumerate(blocks(metrics, WIDEST)):
        if place:
            yield ""
        yield from _head(["#", "System", "Strategy"], block)
        for one in rows:
            yield row([*_system(one), *(_measured(one.measures[head.name]) for head in block)])


def group_section(board: Leaderboard, group: GroupHead, table: Table) -> Iterator[str]:
    """A group of metrics: what it is about, the reference, the systems, and their strategies if asked for."""
    yield from ("", f"### {escape(group.title)}")
    if group.about:
        yield from ("", escape(group.about))
    heads = board.columns(group)
    for block in blocks(heads, WIDEST):
        yield from ("", *_group_table(block, group, table))
    if table.strategies:
        yield ""
        yield "The same by strategy, mean ± standard deviation over models:"
        for block in blocks(heads, WIDEST):
            yield from ("", *_group_strategies(block, group, table))
    if group.references:
        yield ""
        yield (
            f"**Bold** is what comes nearest to {escape(group.reference)} in its column, where not all systems are as"
            " near; this is not tested."
        )
        for note in table.references[group.title].notes:
            yield from ("", escape(note))
    for line in reasons({head.name: head.title for head in heads}, table.rows):
        yield from ("", escape(line))


def _group_table(heads: Sequence[MetricHead], group: GroupHead, table: Table) -> Iterator[str]:
    reference = table.references.get(group.title)
    near = reference.nearest if reference else {}
    yield from _head(["#", "System", "Strategy"], heads)
    if reference:
        there = [reference.measures.get(head.name) for head in heads]
        yield row(["", escape(group.reference), "", *(_measured(one) if one else DASH for one in there)])
    for one in table.rows:
        cells = [_measured(one.measures[head.name], one.number in near.get(head.name, ())) for head in heads]
        yield row([*_system(one), *cells])


def _group_strategies(heads: Sequence[MetricHead], group: GroupHead, table: Table) -> Iterator[str]:
    reference = table.references.get(group.title)
    near = reference.nearest_strategies if reference else {}
    yield from _head(["Strategy"], heads)
    if reference:
        there = [reference.measures.get(head.name) for head in heads]
        yield row([escape(group.reference), *(number_cell(one.number) if one else DASH for one in there)])
    for one in table.strategies:
        marks = [one.strategy in near.get(head.name, ()) for head in heads]
        texts = [number_cell(one.spreads[head.name].text) for head in heads]
        yield row([code(one.strategy), *map(_bold, texts, marks)])


def cost_section(table: Table) -> Iterator[str]:
    """What answers cost and how long they took; nothing where neither is known of any system."""
    columns = cost_columns(table.rows)
    if not columns:
        return
    yield from ("", "### Cost and time", "")
    yield row(["#", "System", "Strategy", *(escape(title) for title, _ in columns)])
    yield row([RIGHT, LEFT, LEFT, *[RIGHT] * len(columns)])
    for place, one in enumerate(table.rows):
        yield row([*_system(one), *(number_cell(cells[place]) for _, cells in columns)])
    yield ""
    yield from (f"- {escape(note)}" for note in cost_notes(table.rows))


def strategy_section(board: Leaderboard, table: Table) -> Iterator[str]:
    """The main metrics by strategy, over models."""
    heads = [*board.leading, *board.others]
    yield from ("", "### Strategies over models", "")
    yield (
        "Mean ± sample standard deviation over the models that were used by each strategy: how much models differ."
        " **It is no interval** and says nothing of chance in the data; the deviation of two or three models is"
        " itself uncertain. A count in parentheses says that only so many of the models have the number."
    )
    for place, block in enumerate(blocks(heads, WIDEST)):
        yield ""
        first = ["Models", "Rows"] if place == 0 else []
        yield row(["Strategy", *first, *(heading(head, full=True) for head in block)])
        yield row([LEFT, *([RIGHT, LEFT] if first else []), *[RIGHT] * len(block)])
        for one in table.strategies:
            counts = [str(one.models), ", ".join(map(str, one.rows))] if first else []
            yield row(
                [code(one.strategy), *counts, *(number_cell(one.spreads[head.name].text) for head in block)]
            )
    if table.strategy_notes:
        yield ""
        yield from (f"- {escape(note)}" for note in table.strategy_notes)


def _head(names: Sequence[str], heads: Sequence[MetricHead]) -> Iterator[str]:
    yield row([*names, *(heading(head) for head in heads)])
    sides = [RIGHT if name == "#" else LEFT for name in names]
    yield row([*sides, *[RIGHT] * len(heads)])


def _system(one: SystemRow) -> list[str]:
    return [str(one.number), code(one.model), code(one.strategy)]


def _measured(measure: Measure | Comparison, marked: bool = False) -> str:
    """The value, its interval in one piece below: columns stay narrow and no interval is broken."""
    lines = [_bold(number_cell(measure.number), marked), interval_cell(measure.interval)]
    return "<br>".join(filter(None, lines))


def _bold(cell: str, marked: bool) -> str:
    return f"**{cell}**" if marked else cell
