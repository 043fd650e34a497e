"""A leaderboard as GitHub Markdown. It holds names, counts and numbers; never text of a dataset."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pmbench.core.digest import SHORT
from pmbench.core.task import Task
from pmbench.leaderboard.columns import columns
from pmbench.leaderboard.comparable import worded
from pmbench.leaderboard.escaping import code, escape
from pmbench.leaderboard.groups import by_presence
from pmbench.leaderboard.how import reading, statistics
from pmbench.leaderboard.markdown_reported import reported_section
from pmbench.leaderboard.markdown_tables import (
    chosen_table,
    cost_section,
    group_section,
    main_table,
    other_tables,
    strategy_section,
)
from pmbench.leaderboard.reported import reported
from pmbench.leaderboard.table import Leaderboard, MetricHead, Table
from pmbench.leaderboard.wording import DASH, counted, judges_text


def render_markdown(board: Leaderboard, task: Task | type[Task], names: Sequence[str] | None = None) -> str:
    """The whole page: what was compared, the tables, how to read them, and what the paper reports.

    Args:
        board: the leaderboard; task: its task.
        names: columns of the one table of systems, as `columns.parse` returns them; None: all tables.

    Raises:
        ConfigError: the task's `reported.toml` cannot be read, or a column is of a metric that no system here has.
    """
    if names is not None:
        columns(board, names)  # also where there is no table that could have them
    lines = [
        f"# Leaderboard: {escape(board.title)}",
        "",
        f"Task {code(board.task)}, version {board.version}. Primary metric: {_metric(board.metrics[0])}.",
    ]
    if not board.tables:
        lines += ["", "No run can be shown yet."]
    for number, table in enumerate(board.tables, start=1):
        lines += ["", *_table(board, table, number, names)]
    if board.tables:
        lines += ["", "## How to read it", "", *reading(board), "", statistics(board)]
    if board.left_out:
        lines += ["", "## Not in a table", "", *_left_out(board)]
    found = reported(task)
    if found.row:
        lines += ["", *reported_section(found, board, task)]
    return "\n".join(lines) + "\n"


def _metric(head: MetricHead) -> str:
    return f"{escape(head.title)} ({code(head.formula)})"


def _table(board: Leaderboard, table: Table, number: int, names: Sequence[str] | None) -> Iterator[str]:
    many = len(board.tables) > 1
    chosen = None if names is None else columns(board, names, table.correction)
    board = board.of(table)
    yield f"## Table {number} of {len(board.tables)}" if many else "## Systems"
    yield ""
    if table.differs:
        yield "Set apart from the other tables by:"
        yield ""
        yield from (f"- {escape(words)}" for words in table.differs)
        yield ""
    if table.kind == "demo":
        yield "**Demo data, made up: this shows how a leaderboard reads, and nothing of how good the systems are.**"
        yield ""
    yield _compared(table)
    yield ""
    if chosen is None:
        yield from main_table(*board.beside, table)
    else:
        yield from chosen_table(chosen, table.rows)
    if table.words:
        yield ""
        yield escape(" ".join(table.words))
    if table.notes:
        yield ""
        yield from (f"- {escape(note)}" for note in table.notes)
    if chosen is None:
        yield from _further(board, table)
    yield ""
    yield f"Made by {escape(table.foot)}."


def _further(board: Leaderboard, table: Table) -> Iterator[str]:
    """What stands below the main table."""
    if table.strategies:
        yield from strategy_section(board, table)
    if board.others:
        yield from ("", "### Other metrics", "")
        yield from other_tables(board.others, table.rows)
    there, absent = by_presence(board.groups, table)
    for group in there:
        yield from group_section(board, group, table)
    if absent:
        titles = "; ".join(group.title for group in absent)
        yield from ("", f"No system here has the numbers of these tables: {escape(titles)}.")
    yield from cost_section(table)


def _compared(table: Table) -> str:
    asked = f"{table.instances} of {table.dataset}" if table.instances != table.dataset else table.instances
    parts = [
        f"Data: {code(table.data)} ({escape(table.sensitivity)})",
        f"fingerprint {code(table.fingerprint[:SHORT])}",
        f"{asked} instances {'of' if table.units else 'in'} {_clusters(table)}",
        f"task version {table.version}",
    ]
    if table.rows and all(one.judges == table.rows[0].judges for one in table.rows):
        parts.append(f"judges {escape(judges_text(table.rows[0].judges)) or DASH}")
    options = ", ".join(f"{name}={worded(value)}" for name, value in table.options.items())
    if options:
        parts.append(f"options {code(options)}")
    return "; ".join(parts) + "."


def _clusters(table: Table) -> str:
    return counted(table.units, "message") if table.units else counted(table.clusters, "cluster")


def _left_out(board: Leaderboard) -> Iterator[str]:
    yield from (f"- {code(one.where)}: {escape(one.reason)}" for one in board.left_out)
