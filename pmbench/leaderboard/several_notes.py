"""What a reader of several tasks has to know first: who shares no task, what counts twice, few clusters, judges."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from pmbench.core.task import Task
from pmbench.leaderboard.plain_words import NOBODY
from pmbench.leaderboard.several_table import SystemOverTasks, TaskHead
from pmbench.leaderboard.table import Table
from pmbench.leaderboard.wording import counted, listed
from pmbench.stats.bootstrap import FEW_CLUSTERS

MOST_PAIRS = 3
"""Pairs that a note names; of more it says how many."""


def unshared(rows: Sequence[SystemOverTasks], heads: Sequence[TaskHead]) -> Iterator[str]:
    """Systems that are compared in no task: the order of their rows says nothing."""
    tasks = [{head.task for head in heads if head.counted and head.task in row.measures} for row in rows]
    apart = [
        f"{_named(rows[one])} and {_named(rows[other])}"
        for one, other in combinations(range(len(rows)), 2)
        if not tasks[one] & tasks[other]
    ]
    if apart:
        more = len(apart) - MOST_PAIRS
        told = [*apart[:MOST_PAIRS], *([f"{more:,} other pairs"] if more > 0 else [])]
        yield (
            f"No task has both {'; nor both '.join(told[:MOST_PAIRS])}"
            + (f"; so it is with {told[-1]}" if more > 0 else "")
            + ": they were not compared, and which of their rows stands first says nothing."
        )


def same_twice(rows: Sequence[SystemOverTasks], heads: Sequence[TaskHead]) -> Iterator[str]:
    """Tasks of the same data, and those in which all systems have the same values: they count twice."""
    by_data: dict[str, list[str]] = {}
    for head in heads:
        if head.counted:
            by_data.setdefault(head.fingerprint, []).append(head.task)
    for names in by_data.values():
        if len(names) > 1:
            yield (
                f"{listed(names)} are of the same data: they are not independent of each other, and count as"
                f" {len(names)} tasks in the means and in Friedman's test."
            )
    groups: list[list[TaskHead]] = []
    for head in heads:
        if not head.counted:
            continue
        like = (group for group in groups if all(_same_values(rows, head, other) for other in group))
        if (group := next(like, None)) is not None:
            group.append(head)
        else:
            groups.append([head])
    for group in groups:
        if len({head.fingerprint for head in group}) > 1:
            many = "twice" if len(group) == 2 else f"{len(group)} times"
            yield (
                f"{listed([head.task for head in group])} have the same values for every system here: one measurement"
                f" is counted {many} in the means and in Friedman's test."
            )


def _same_values(rows: Sequence[SystemOverTasks], one: TaskHead, other: TaskHead) -> bool:
    """Whether all systems that have both tasks, two at least, have the same value in both."""
    both = [row for row in rows if one.task in row.measures and other.task in row.measures]
    values = [(row.measures[one.task].value, row.measures[other.task].value) for row in both]
    return len(both) > 1 and all(first == second for first, second in values)


def of_the_tasks(tables: Sequence[tuple[type[Task], Table | None]]) -> Iterator[str]:
    """Few clusters or lists, and what is known of the judges, of each task."""
    few: list[str] = []
    cautions: dict[str, None] = {}
    for task, table in tables:
        if table is None:
            continue
        if task.metrics[0].scheme == "cluster" and table.clusters < FEW_CLUSTERS:
            few.append(f"{task.name} has {counted(table.clusters, 'cluster')}")
        if task.metrics[0].scheme == "ranking":
            few.append(f"{task.name} has {counted(table.instances, 'list')}")
        if table.rows:
            cautions |= dict.fromkeys(task.cautions(table.rows[0].judges))
    if few:
        yield f"{listed(few)}: small differences cannot be shown there."
    yield from cautions


def _named(row: SystemOverTasks) -> str:
    return row.strategy if row.model == NOBODY else f"{row.model} by {row.strategy}"
