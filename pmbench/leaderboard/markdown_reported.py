"""What a paper reports, as the last part of a leaderboard's page."""

from __future__ import annotations

from collections.abc import Iterator

from pmbench.core.task import Task
from pmbench.leaderboard.escaping import code, escape, row
from pmbench.leaderboard.groups import group_heads
from pmbench.leaderboard.markdown_tables import LEFT, RIGHT, number_cell
from pmbench.leaderboard.reported import Reported, ReportedTable, humanised, introduction, whose_data
from pmbench.leaderboard.table import Leaderboard
from pmbench.leaderboard.wording import DASH, blocks

WIDEST = 6
"""Columns of numbers that a page of usual width can hold between system and table."""


def reported_section(found: Reported, board: Leaderboard, task: Task | type[Task]) -> Iterator[str]:
    """The reported rows in tables like the board's own, set apart from them."""
    source = found.source or task.citation
    yield "## Reported elsewhere"
    yield ""
    from_ = f" Source: {escape(source)}." if source else ""
    yield f"**Not comparable with the tables above**{introduction(board.tables)}{from_}"
    for line in whose_data(board.tables, private=bool(task.dataset.private), quoted=code):
        yield f"**{line}**"
    if any(one.spread for one in found.row):
        yield "After ± stands the spread that the paper gives."
    if found.note:
        yield ""
        yield escape(found.note)
    titles = {metric.name: metric.title for metric in task.metrics}
    for section in found.sections(group_heads(task.metrics)):
        if section.group:
            yield from ("", f"### {escape(section.group)}, as reported")
        yield from _tables(section, titles)
        notes = list(_notes(section, found))
        if notes:
            yield from ("", *notes)


def _tables(section: ReportedTable, titles: dict[str, str]) -> Iterator[str]:
    places = range(len(section.names))
    for block in blocks(places, WIDEST):
        heads = [
            escape(titles.get(section.names[place]) or humanised(section.names[place])) for place in block
        ]
        yield ""
        yield row(["System", "Strategy", *heads, "From"])
        yield row([LEFT, LEFT, *[RIGHT] * len(heads), LEFT])
        for one, cells in section.rows:
            numbers = [_cell(cells[place]) for place in block]
            if all(number == DASH for number in numbers):
                continue
            table = escape(str(one.table)).replace(" ", "&nbsp;")
            yield row([escape(one.system), escape(one.strategy) or DASH, *numbers, table])


def _cell(text: str) -> str:
    """A number, its spread in one piece below."""
    value, _, spread = text.partition(" ± ")
    return f"{number_cell(value)}<br>±&nbsp;{number_cell(spread)}" if spread else number_cell(value)


def _notes(section: ReportedTable, found: Reported) -> Iterator[str]:
    """What is to be known of the paper's tables and of single rows."""
    for table, note in found.notes(one for one, _ in section.rows).items():
        yield f"- {escape(table)}: {escape(note)}"
    for one, _ in section.rows:
        if one.note:
            named = ", ".join(filter(None, [str(one.table), one.system, one.strategy]))
            yield f"- {escape(named)}: {escape(one.note)}"
