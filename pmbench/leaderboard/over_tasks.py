"""Whether systems differ over several tasks, the tasks being the sample: Friedman's test, and Nemenyi's of pairs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from pmbench.leaderboard.comparing import number
from pmbench.leaderboard.wording import counted, listed, p_value
from pmbench.stats.friedman import FEWEST_TASKS, Friedman, friedman
from pmbench.stats.schemes import Rows
from pmbench.stats.several_tasks import TaskColumns

FEWEST_SYSTEMS = 3

LEAST_TASKS = 2

DEPENDENT = "These tasks are not independent (see the notes): the p-value means nothing."
"""Said in place of what the test finds where a task counts twice."""

MOST_NAMED = 4
"""Pairs, or systems behind one, that a sentence names; of more it says how many."""

_EQUAL = 1e-12
"""Values no further apart are equal, as in win rates."""


class PairOverTasks(msgspec.Struct, frozen=True):
    """Two systems over the tasks.

    Attributes:
        first, second: numbers of their rows, the one of the lesser mean rank first.
        difference: of their mean ranks, second less first.
        p: by Nemenyi, adjusted over all pairs.
        differ: whether they differ at the level: Friedman's test finds that not all are alike, and p is no greater.
    """

    first: int
    second: int
    difference: float
    p: float
    differ: bool


class OverTasks(msgspec.Struct, frozen=True):
    """Systems that have all tasks that are counted, by their ranks in them.

    Attributes:
        tasks: names of the tasks; systems: numbers of the rows, in order of the table.
        mean_ranks: of each of these systems among them, 1 for the best.
        statistic, p: of Friedman's test that all are alike; None where there is none, and `why` says why.
        least_p: the least p that so many tasks and systems allow.
        critical_difference: of mean ranks, beyond which two systems differ (Nemenyi).
        alpha: the level of the test and of the critical difference.
        pairs: every two of the systems.
        words: sentences for a reader who knows no statistics.
        why: why there is no test; empty otherwise.
    """

    tasks: list[str]
    systems: list[int]
    mean_ranks: list[float]
    statistic: float | None
    p: float | None
    least_p: float | None
    critical_difference: float | None
    alpha: float
    pairs: list[PairOverTasks]
    words: list[str]
    why: str = ""


def over_tasks(
    tasks: Sequence[TaskColumns],
    rows: Mapping[int, tuple[int, str]],
    *,
    alpha: float,
    dependent: bool = False,
) -> OverTasks:
    """Compare the systems that have a value in all tasks.

    Args:
        tasks: those that are counted, with the same systems in the same order.
        rows: by a system's place there the number of its row, and its name in a sentence.
        alpha: level of the tests.
        dependent: whether some of the tasks are one measurement that counts twice, which a note says.
    """
    values = np.array([_values(task) for task in tasks]).reshape(len(tasks), len(rows))
    order = sorted(
        (place for place in rows if np.isfinite(values[:, place]).all()), key=lambda place: rows[place][0]
    )
    names = [task.name for task in tasks]
    numbers = [rows[place][0] for place in order]
    if len(tasks) < LEAST_TASKS or len(order) < FEWEST_SYSTEMS:
        there = (
            f"{counted(len(order), 'system')} and {counted(len(tasks), 'task')}" if tasks else "no such task"
        )
        why = (
            f"it needs {FEWEST_SYSTEMS} systems with a value in all counted tasks, and {LEAST_TASKS} of those;"
            f" here are {there}"
        )
        return _nothing(names, numbers, [], alpha, why)
    found = friedman(np.array([_snapped(row[order]) for row in values]), alpha=alpha)
    if math.isnan(found.statistic):
        why = "all systems have the same rank in every task"
        return _nothing(names, numbers, found.mean_ranks, alpha, why)
    pairs = [
        _pair(found, place, numbers, differing=found.p <= alpha and found.pair_p[place] <= alpha)
        for place in range(len(found.pairs))
    ]
    named = {rows[place][0]: rows[place][1] for place in order}
    return OverTasks(
        tasks=names,
        systems=numbers,
        mean_ranks=found.mean_ranks,
        statistic=number(found.statistic),
        p=number(found.p),
        least_p=found.least_p,
        critical_difference=found.critical_difference,
        alpha=alpha,
        pairs=pairs,
        words=list(_words(found, pairs, named, alpha, len(rows) - len(order), dependent=dependent)),
    )


def _nothing(tasks: list[str], systems: list[int], ranks: list[float], alpha: float, why: str) -> OverTasks:
    words = [f"There is no test with the tasks as the sample (Friedman): {why}."]
    return OverTasks(tasks, systems, ranks, None, None, None, None, alpha, [], words, why)


def _values(task: TaskColumns) -> list[float]:
    """The value of each system, more being better; NaN where it was not run."""
    sign = -1.0 if task.metric.higher_is_better is False else 1.0
    found = []
    for one in task.systems:
        columns = one.columns if isinstance(one, Rows) else one
        found.append(math.nan if columns is None else sign * float(task.metric.value(columns.sum(axis=0))))
    return found


def _snapped(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The values, those that are equal but for rounding made equal."""
    order = np.argsort(values, kind="stable")
    groups = np.concatenate([[0], np.cumsum(np.diff(values[order]) > _EQUAL)])
    found = np.empty(len(values))
    found[order] = groups
    return found


def _pair(found: Friedman, place: int, numbers: Sequence[int], *, differing: bool) -> PairOverTasks:
    one, other = sorted(found.pairs[place], key=lambda system: (found.mean_ranks[system], system))
    gap = found.mean_ranks[other] - found.mean_ranks[one]
    return PairOverTasks(numbers[one], numbers[other], gap, found.pair_p[place], differing)


def _words(
    found: Friedman,
    pairs: Sequence[PairOverTasks],
    names: Mapping[int, str],
    alpha: float,
    lacking: int,
    *,
    dependent: bool,
) -> Iterator[str]:
    systems, tasks = len(names), found.tasks
    without = f" ({counted(lacking, 'system')} without a value in one of them not counted)" if lacking else ""
    told = f"Friedman's test of the ranks of {systems} systems in {tasks} tasks{without}"
    told += f", the tasks being the sample: {_p(found.p)} (statistic {found.statistic:.2f})."
    if dependent:
        yield f"{told} {DEPENDENT}"
    elif found.p <= alpha:
        yield f"{told} Some of them are better over tasks than others."
        yield from _nemenyi(found, pairs, names, alpha)
    else:
        yield f"{told} It does not show that any is better over tasks than another."
    caution = (
        f"This is about other tasks, and {tasks} of them are all it has, whatever the number of instances:"
    )
    if found.least_p > alpha:
        caution += (
            f" with {tasks} tasks and {systems} systems it can show nothing, since p cannot be less than"
            f" {p_value(found.least_p)}."
        )
    elif tasks < FEWEST_TASKS:
        caution += f" few tasks show little, and below {FEWEST_TASKS} the p-values are rough."
    else:
        caution += " few tasks show little."
    yield caution


def _nemenyi(
    found: Friedman, pairs: Sequence[PairOverTasks], names: Mapping[int, str], alpha: float
) -> Iterator[str]:
    rule = (
        f"Two differ where their mean ranks are {found.critical_difference:.2f} or more apart"
        f" (Nemenyi, level {100 * alpha:g}%)"
    )
    behind: dict[int, list[PairOverTasks]] = {}
    for pair in pairs:
        if pair.differ:
            behind.setdefault(pair.first, []).append(pair)
    if not behind:
        greatest = max(pair.difference for pair in pairs)
        yield f"{rule}: no two are, the greatest difference being {greatest:.2f}."
        return
    parts = []
    for first, those in sorted(behind.items()):
        more = len(those) - MOST_NAMED
        told = [names[pair.second] for pair in those[:MOST_NAMED]]
        told += [counted(more, "other system")] if more > 0 else []
        worst = _p(max(pair.p for pair in those), "≤" if len(those) > 1 else "=")
        parts.append(f"{names[first]} is better than {listed(told)}, {worst}")
    further = len(parts) - MOST_NAMED
    parts = parts[:MOST_NAMED] + ([f"and so for {counted(further, 'further system')}"] if further > 0 else [])
    yield f"{rule}: {'; '.join(parts)}."


def _p(p: float, sign: str = "=") -> str:
    return "p < 0.001" if p < 0.001 else f"p {sign} {p_value(p)}"
