"""Several tasks in one table: mean win rate and mean rank, which need no common unit.

A system's win rate in a task is how likely it is to be better than another system of that task, picked at random, a
tie counting half; over tasks the mean is taken of those in which the system has a value (HELM: Liang et al., TMLR
2023). Ranks are 1 for the best, equal systems sharing the mean of their places. Both depend on which other systems
are there. Intervals draw clusters of instances again inside each task, tasks apart from each other: they are about
other instances of these tasks, not about other tasks.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from pmbench.core.metric import Metric
from pmbench.stats.bootstrap import RESAMPLES
from pmbench.stats.checks import UnusableNumbers, require_level
from pmbench.stats.clusters import Floats
from pmbench.stats.joint import Systems
from pmbench.stats.joint_draws import joint_values
from pmbench.stats.schemes import Rows

_EQUAL = 1e-12


@dataclass(frozen=True)
class TaskColumns:
    """One task of the table.

    Attributes:
        name: unique; it seeds the task's draws, together with the seed given.
        metric: whether more is better must be known.
        systems: columns (n, k) of each system, row by row the same instances; None: the system was not run. Where the
            metric is not of the scheme `cluster`, its `Rows`.
        clusters: the cluster of each row, length n; not used by other schemes.
    """

    name: str
    metric: Metric
    systems: Sequence[Floats | Rows | None]
    clusters: Sequence[Hashable] = ()


class Standing(msgspec.Struct, frozen=True):
    """A system over several tasks.

    Attributes:
        win_rate, win_low, win_high: mean win rate with its interval.
        rank, rank_low, rank_high: mean rank with its interval.
        tasks: in how many tasks it has a value beside another system's.
        undefined: resamples left out because some system had no value in them; all of them, and so no interval,
            where the scheme of a task allows no draw.
    """

    win_rate: float
    win_low: float
    win_high: float
    rank: float
    rank_low: float
    rank_high: float
    tasks: int
    undefined: int = 0


def standings(
    tasks: Sequence[TaskColumns],
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
    level: float = 0.95,
) -> list[Standing]:
    """Mean win rate and mean rank of each system.

    Args:
        tasks: with the same systems in the same order. Their own order does not matter.
        resamples, seed: of the bootstrap by cluster inside each task.
        level: of the percentile intervals.

    Returns:
        One for each system, the same whatever their order; NaN for one that has no task with another system.

    Raises:
        UnusableNumbers: two tasks of one name, other numbers of systems, a metric neither end of which is better, or
            NaN in the columns.
    """
    alpha = require_level(level)
    count = _checked(tasks)
    ordered = sorted(tasks, key=lambda task: task.name)
    observed = np.zeros((2, count))
    drawn = np.zeros((2, resamples, count))
    seen = np.zeros(count)
    for task in ordered:
        there = [number for number, columns in enumerate(task.systems) if columns is not None]
        if len(there) < 2:
            continue
        values, blocks = _values(task, there, resamples, _seed(seed, task.name))
        sign = 1.0 if task.metric.higher_is_better else -1.0
        both = wins_and_ranks(sign * values[None, :])[:, 0]
        defined = ~np.isnan(both[0])
        kept = np.array(there, dtype=np.intp)[defined]
        seen[kept] += 1
        observed[:, kept] += both[:, defined]
        start = 0
        for block in blocks:
            stop = start + len(block)
            drawn[:, start:stop, kept] += wins_and_ranks(sign * block)[:, :, defined]
            start = stop
        drawn[:, start:, kept] = np.nan
    return [_standing(observed[:, s], drawn[:, :, s], int(seen[s]), alpha) for s in range(count)]


def _values(
    task: TaskColumns, there: Sequence[int], resamples: int, seed: int
) -> tuple[Floats, Iterator[Floats]]:
    """Values of the systems that are there, shape (S,), and blocks of them in resamples, shape (b, S)."""
    systems = [task.systems[number] for number in there]
    if task.metric.scheme == "cluster":
        tables = [one.columns if isinstance(one, Rows) else one for one in systems]
        found = Systems(task.metric, [table for table in tables if table is not None], task.clusters)
        blocks = (found.drawn_values(weights)[:, found.place] for weights in found.draws(resamples, seed))
        return found.values[found.place], blocks
    rows = [one for one in systems if isinstance(one, Rows)]
    values = np.array([float(task.metric.value(one.columns.sum(axis=0))) for one in rows])
    return values, _as_many(joint_values(task.metric, rows, resamples=resamples, seed=seed), resamples)


def _as_many(blocks: Iterable[Floats], resamples: int) -> Iterator[Floats]:
    """As many draws as are wanted: where fewer were made, as of long lists, the same ones again."""
    made = [block for block in blocks if len(block)]
    if made:
        drawn = np.concatenate(made)
        yield drawn[np.arange(resamples) % len(drawn)]


def wins_and_ranks(values: Floats) -> Floats:
    """Win rates and ranks of systems, more being better.

    Args:
        values: shape (b, S). A system that is NaN in all rows is not there; NaN in some leaves that row undefined.

    Returns:
        Shape (2, b, S), NaN where undefined or where there is no second system.
    """
    absent = np.isnan(values).all(axis=0)
    there = np.where(absent, np.nan, values)
    others = int((~absent).sum()) - 1
    wins = np.full(values.shape, np.nan)
    if others >= 1:
        broken = np.isnan(there[:, ~absent]).any(axis=1)
        for system in np.flatnonzero(~absent).tolist():
            gaps = there[:, [system]] - there[:, ~absent]
            won = (gaps > _EQUAL).sum(axis=1) + 0.5 * ((np.abs(gaps) <= _EQUAL).sum(axis=1) - 1)
            wins[:, system] = np.where(broken, np.nan, won / others)
    return np.stack([wins, 1 + others * (1 - wins)])


def _standing(observed: Floats, drawn: Floats, tasks: int, alpha: float) -> Standing:
    if not tasks:
        nothing = (math.nan, math.nan, math.nan)
        return Standing(*nothing, *nothing, 0)
    bounds: list[float] = []
    defined = drawn[:, ~np.isnan(drawn).any(axis=0)] / tasks
    for row in defined:
        bounds += np.quantile(row, [alpha, 1 - alpha]).tolist() if len(row) else [math.nan, math.nan]
    value, rank = (observed / tasks).tolist()
    return Standing(
        value, bounds[0], bounds[1], rank, bounds[2], bounds[3], tasks, drawn.shape[1] - defined.shape[1]
    )


def _checked(tasks: Sequence[TaskColumns]) -> int:
    """How many systems there are."""
    counts = {len(task.systems) for task in tasks}
    if len({task.name for task in tasks}) < len(tasks):
        raise UnusableNumbers("two tasks have the same name")
    if len(counts) > 1:
        raise UnusableNumbers(f"tasks with {' and '.join(map(str, sorted(counts)))} systems")
    for task in tasks:
        if task.metric.higher_is_better is None:
            raise UnusableNumbers(f"neither more nor less of {task.metric.name} is better", where=task.name)
    return counts.pop() if counts else 0


def _seed(seed: int, name: str) -> int:
    """A seed for each task, so that tasks of as many clusters do not go in step."""
    digest = hashlib.sha256(f"{seed} {name}".encode()).digest()
    return int.from_bytes(digest[:7], "big")
