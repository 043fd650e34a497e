"""A leaderboard as one page of HTML that asks for nothing: sortable tables, intervals as drawings, a heat map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from pmbench.core.digest import SHORT
from pmbench.core.task import Task
from pmbench.leaderboard import html_cells as cells
from pmbench.leaderboard.columns import columns
from pmbench.leaderboard.comparable import worded
from pmbench.leaderboard.groups import group_heads
from pmbench.leaderboard.how import reading, statistics
from pmbench.leaderboard.page import HTML_BEGINNING
from pmbench.leaderboard.plots import cost_quality_inline
from pmbench.leaderboard.reported import Reported, humanised, introduction, line_above, reported, whose_data
from pmbench.leaderboard.table import Leaderboard, Table
from pmbench.leaderboard.wording import counted, judges_text
from pmbench.pages import strict

if TYPE_CHECKING:
    from jinja2 import Environment

    from pmbench.leaderboard.several_table import SeveralTasks

_FOLDER = "html_files"


@dataclass(frozen=True, slots=True)
class Part:
    """A table of the board as the page shows it.

    Attributes:
        number: from 1; table: its words, notes and foot.
        facts: what was compared, label and text.
        grid: the systems.
        reported: rows of the paper below the line, under the first table alone; above: what the line says.
        heat: subgroups, or None.
        picture: cost against quality; told: the sentence below it, or why there is none.
        others: further tables.
    """

    number: int
    table: Table
    facts: tuple[tuple[str, str], ...]
    grid: cells.Grid
    reported: tuple[cells.Line, ...]
    above: str
    heat: cells.Grid | None
    picture: Markup
    told: str
    others: tuple[cells.Grid, ...]


def render_html(board: Leaderboard, task: Task | type[Task], names: Sequence[str] | None = None) -> str:
    """The whole board as one document.

    Args:
        board: the leaderboard; task: its task.
        names: columns of the one table of systems, as `columns.parse` returns them; None: all that there is.

    Raises:
        ConfigError: the task's `reported.toml` cannot be read, or a column is of a metric that no system here has.
    """
    if names is not None:
        columns(board, names)  # also where there is no table that could have them
    found = reported(task)
    return _page(
        "leaderboard.html.jinja",
        board=board,
        primary=board.metrics[0],
        parts=[
            _part(board.of(table), table, task, number, names, found)
            for number, table in enumerate(board.tables, 1)
        ],
        how=[line.removeprefix("- ") for line in reading(board)] if board.tables else [],
        statistics=statistics(board) if board.tables else "",
        papers=_papers(found, task),
        introduction=introduction(board.tables),
        whose=list(whose_data(board.tables, private=bool(task.dataset.private))),
        source=found.source or task.citation,
        paper_note=found.note,
        shades=range(cells.SHADES),
        version=version("pmbench"),
    )


def render_several(found: SeveralTasks) -> str:
    """The table of several tasks as one document."""
    from pmbench.leaderboard.several_pages import DEMO, OVER_TASKS, foot, headings, reading

    return _page(
        "several.html.jinja",
        found=found,
        grid=cells.of_several(found, headings(found)),
        how=list(reading(found)),
        demo=DEMO,
        over_tasks=OVER_TASKS,
        foot=foot(found),
    )


def _page(name: str, **more: Any) -> str:
    style = strict.style(strict.text_of(str(__package__), _FOLDER, "leaderboard.css"))
    script = strict.text_of(str(__package__), _FOLDER, "leaderboard.js")
    page = (
        _templates()
        .get_template(name)
        .render(
            style=Markup(style),  # noqa: S704 - files of this package
            script=Markup(script),  # noqa: S704
            policy=strict.policy(style, script),
            beginning=Markup(HTML_BEGINNING),  # noqa: S704
            **more,
        )
    )
    return page.strip("\n") + "\n"


def _part(
    board: Leaderboard,
    table: Table,
    task: Task | type[Task],
    number: int,
    names: Sequence[str] | None,
    found: Reported,
) -> Part:
    primary = task.metrics[0]
    grid, chosen = cells.systems(board, table, primary, names)
    picture, told = cost_quality_inline(table, primary, f"cost{number}") if names is None else (Markup(), "")
    return Part(
        number=number,
        table=table,
        facts=tuple(_facts(table)),
        grid=grid,
        reported=tuple(cells.reported_lines(found, chosen, primary)) if number == 1 else (),
        above=line_above(table),
        heat=cells.heat_map(table, primary) if names is None else None,
        picture=picture,
        told=told,
        others=tuple(cells.others(board, table)) if names is None else (),
    )


def _facts(table: Table) -> list[tuple[str, str]]:
    """What was compared, as labels and texts."""
    asked = (
        f"{table.instances} of {table.dataset}" if table.instances != table.dataset else str(table.instances)
    )
    of = counted(table.units, "message") if table.units else counted(table.clusters, "cluster")
    facts = [
        ("Data", f"{table.data} ({table.sensitivity}), fingerprint {table.fingerprint[:SHORT]}"),
        ("Instances", f"{asked} {'of' if table.units else 'in'} {of}"),
        ("Task version", str(table.version)),
    ]
    if table.rows and all(one.judges == table.rows[0].judges for one in table.rows):
        facts.append(("Judges", judges_text(table.rows[0].judges) or "none"))
    options = ", ".join(f"{name}={worded(value)}" for name, value in table.options.items())
    return [*facts, *([("Options", options)] if options else [])]


def _papers(
    found: Reported, task: Task | type[Task]
) -> list[tuple[str, list[str], list[tuple[str, ...]], list[str]]]:
    """What the paper reports: title, headings, rows and notes of each of its tables."""
    titles = {metric.name: metric.title for metric in task.metrics}
    papers = []
    for section in found.sections(group_heads(task.metrics)):
        heads = [
            "System",
            "Strategy",
            *(titles.get(name) or humanised(name) for name in section.names),
            "From",
        ]
        rows = [(one.system, one.strategy, *texts, str(one.table)) for one, texts in section.rows]
        notes = [f"{table}: {note}" for table, note in found.notes(one for one, _ in section.rows).items()]
        notes += [f"{one.system}, {one.table}: {one.note}" for one, _ in section.rows if one.note]
        papers.append((section.group, heads, rows, notes))
    return papers


@cache
def _templates() -> Environment:
    return strict.environment(str(__package__), _FOLDER)
