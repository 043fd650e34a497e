"""What a paper reports, as the last part of a leaderboard's page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pmbench.core.task import Task
from pmbench.leaderboard.escaping import code, escape, row
from pmbench.leaderboard.groups import group_heads
from pmbench.leaderboard.markdown_tables import LEFT, RIGHT, number_cell
from pmbench.leaderboard.reported import Reported, ReportedTable, humanised
from pmbench.leaderboard.table import Leaderboard, Table
from pmbench.leaderboard.wording import DASH, blocks

WIDEST = 6
"""Columns of numbers that a page of usual width can hold between system and table."""


def reported_section(found: Reported, board: Leaderboard, task: Task | type[Task]) -> Iterator[str]:
    """The reported rows in tables like the board's own, set apart from them."""
    source = found.source or task.citation
    yield "## Reported elsewhere"
    yield ""
    yield (
        "**Not comparable with the tables above**: these are the numbers that the paper reports, with another"
        " judge, and perhaps another version of the data." + (f" Source: {escape(source)}." if source else "")
    )
    yield from _of_other_data(board.tables, private=bool(task.dataset.private))
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


def _of_other_data(tables: Sequence[Table], *, private: bool) -> Iterator[str]:
    """Whether the paper's data are those of the tables above, as far as it is known."""
    own = list(dict.fromkeys(one.data for one in tables if one.kind in ("file", "folder", "datasets")))
    if any(one.kind == "demo" for one in tables):
        yield "**These numbers are of the paper's data, not of the demo data.**"
    if not own:
        return
    names = ", ".join(map(code, own))
    if private:
        # Only who holds the paper's data knows whether this file is it.
        yield f"**These numbers are of the paper's data, not of yours** ({names}), unless yours are the paper's."
    else:
        yield f"**These numbers are of the paper's data, not of yours** ({names})."
