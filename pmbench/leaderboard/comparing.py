"""The numbers of one table: intervals of every metric of every system, and each system against the best."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pmbench.core.metric import Metric
from pmbench.leaderboard.table import BEST, Comparison, Resampling, bare, interval, p_value
from pmbench.running.columns import ScoreColumns
from pmbench.stats.bootstrap import Interval, bootstrap_many
from pmbench.stats.corrections import holm
from pmbench.stats.randomisation import PairedTest, paired_tests

CLUSTER = "cluster"
_NO_TEST = PairedTest(math.nan, math.nan, False, 0, 0, math.nan, math.nan)


def intervals(
    metrics: Sequence[Metric], systems: Sequence[ScoreColumns], statistics: Resampling
) -> list[dict[str, Interval]]:
    """The interval of each metric, by name, for each system.

    Systems that have scored the same instances share one drawing of resamples. A metric that is not resampled
    by cluster has its value only.
    """
    found: list[dict[str, Interval]] = [
        {metric.name: Interval(math.nan, math.nan, math.nan, 0, 0) for metric in metrics} for _ in systems
    ]
    alike: dict[tuple[str, ...], list[int]] = {}
    for index, system in enumerate(systems):
        alike.setdefault((*system.ids, *system.clusters), []).append(index)
    for members in alike.values():
        parts: list[tuple[int, Metric, NDArray[np.float64]]] = []
        for index in members:
            for metric in metrics:
                columns = systems[index].of(metric)
                if columns is not None and metric.scheme == CLUSTER:
                    parts.append((index, metric, columns))
                elif columns is not None:
                    value = systems[index].value(metric)
                    found[index][metric.name] = Interval(value, math.nan, math.nan, 0, 0)
        drawn = bootstrap_many(
            [(metric, columns) for _, metric, columns in parts],
            systems[members[0]].clusters,
            resamples=statistics.resamples,
            level=statistics.level,
            seed=statistics.seed,
        )
        for (index, metric, _), one in zip(parts, drawn, strict=True):
            found[index][metric.name] = one
    return found


def order(metric: Metric, values: Sequence[float], names: Sequence[str]) -> list[int]:
    """Places of the systems from the best to the worst; undefined ones last, equal ones by name."""
    sign = 1 if metric.higher_is_better is False else -1
    return sorted(
        range(len(values)),
        key=lambda i: (math.isnan(values[i]), 0.0 if math.isnan(values[i]) else sign * values[i], names[i]),
    )


def against_first(
    metric: Metric, systems: Sequence[ScoreColumns], statistics: Resampling
) -> list[Comparison | None]:
    """Each system against the first, on the instances where both have the metric; None for the first itself.

    p-values are adjusted over the whole list (Holm).
    """
    if not systems or metric.scheme != CLUSTER:
        return [None] * len(systems)
    scored = [
        [name for name, there in zip(one.ids, one.present(metric), strict=True) if there] for one in systems
    ]
    best = set(scored[0])
    alike: dict[tuple[str, ...], list[int]] = {}
    for index in range(1, len(systems)):
        alike.setdefault(tuple(name for name in scored[index] if name in best), []).append(index)
    tests: dict[int, PairedTest] = {}
    for ids, members in alike.items():
        if not ids:
            tests.update(dict.fromkeys(members, _NO_TEST))
            continue
        columns = [_rows(metric, systems[index], ids) for index in (0, *members)]
        found = paired_tests(
            metric,
            columns,
            [(place, 0) for place in range(1, len(columns))],
            [systems[0].clusters[row] for row in systems[0].places(ids)],
            permutations=statistics.permutations,
            resamples=statistics.resamples,
            level=statistics.level,
            seed=statistics.seed,
        )
        tests.update(zip(members, found, strict=True))
    adjusted = dict(zip(tests, holm([test.p for test in tests.values()]), strict=True))
    comparisons: list[Comparison | None] = [None]
    for index in range(1, len(systems)):
        shared = best.intersection(scored[index])
        comparisons.append(
            _comparison(
                metric,
                tests[index],
                adjusted[index],
                len(shared),
                len(best) - len(shared),
                len(scored[index]) - len(shared),
            )
        )
    return comparisons


def _rows(metric: Metric, system: ScoreColumns, ids: Sequence[str]) -> NDArray[np.float64]:
    columns = system.of(metric)
    if columns is None:
        raise ValueError("rows of a metric that the system does not have")
    return columns[system.places(ids)]


def _comparison(
    metric: Metric, test: PairedTest, adjusted: float, shared: int, only_best: int, only_this: int
) -> Comparison:
    difference, low, high = number(test.difference), number(test.low), number(test.high)
    text = BEST if difference is None else bare(metric, difference, sign=True) + interval(metric, low, high)
    return Comparison(
        difference=difference,
        low=low,
        high=high,
        p=number(test.p),
        p_adjusted=number(adjusted),
        exact=test.exact,
        permutations=test.permutations,
        instances=shared,
        clusters=test.clusters,
        only_best=only_best,
        only_this=only_this,
        text=text,
        p_text=p_value(number(adjusted)),
    )


def number(value: float) -> float | None:
    """None for NaN, which has no place in plain data."""
    return None if math.isnan(value) else value
