"""Mean ranks and mean win rates that the tests of several tasks leave open.

In a task a system's place is left open between those that its tests find better and those that they find worse, as
in the task's own leaderboard (`stats.rank_intervals`). Tests are those of the task, adjusted over all of its pairs
and once more for the number of tasks (Bonferroni), so that all places of all tasks hold together at the level; then
so do their means. Percentiles of resampled ranks would be narrower and wrong: where systems are nearly equal they do
not hold (`benchmarks/statistics_simulations.py`, ranks).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pmbench.leaderboard.tested import PairTested


@dataclass(frozen=True)
class TaskTested:
    """One task.

    Attributes:
        numbers: of each of its systems the row in the task's table.
        pairs: every two rows of that table, tested.
        higher_is_better: of the metric.
    """

    numbers: Mapping[Hashable, int]
    pairs: Sequence[PairTested]
    higher_is_better: bool | None


@dataclass(frozen=True)
class Open:
    """Bounds of a system's mean win rate and mean rank."""

    win_low: float
    win_high: float
    rank_low: float
    rank_high: float


def open_means(tasks: Sequence[TaskTested], alpha: float) -> dict[Hashable, Open]:
    """Bounds for each system.

    Args:
        tasks: those that are counted in the means, each with two systems at least.
        alpha: of all bounds together.
    """
    places: dict[Hashable, list[tuple[float, float, int]]] = {}
    for task in tasks:
        better, worse = _found(task, alpha / len(tasks))
        others = len(task.numbers) - 1
        for system, row in task.numbers.items():
            places.setdefault(system, []).append((better[row], worse[row], others))
    return {system: _mean(found) for system, found in places.items()}


def _found(task: TaskTested, alpha: float) -> tuple[dict[int, int], dict[int, int]]:
    """How many systems are better than each row beyond chance, and how many worse."""
    rows = set(task.numbers.values())
    better, worse = dict.fromkeys(rows, 0), dict.fromkeys(rows, 0)
    for pair in task.pairs:
        if {pair.first, pair.second} <= rows and pair.differs(alpha):
            turned = pair.second_ahead(task.higher_is_better)
            ahead, behind = (pair.second, pair.first) if turned else (pair.first, pair.second)
            better[behind] += 1
            worse[ahead] += 1
    return better, worse


def _mean(places: Sequence[tuple[float, float, int]]) -> Open:
    better, worse, others = (np.array(column, dtype=float) for column in zip(*places, strict=True))
    wins = (float(np.mean(worse / others)), float(np.mean((others - better) / others)))
    ranks = (float(np.mean(1 + better)), float(np.mean(1 + others - worse)))
    return Open(*wins, *ranks)
