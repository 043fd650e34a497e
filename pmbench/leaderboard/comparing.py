"""The numbers of one table: intervals of every metric of every system, and each system against the best."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from pmbench.core.metric import Metric
from pmbench.leaderboard.table import Comparison, PairTested, Resampling
from pmbench.leaderboard.wording import DASH, bare, interval, p_value
from pmbench.running.columns import ScoreColumns
from pmbench.running.records import ScoreRecord
from pmbench.stats.bootstrap import Interval
from pmbench.stats.corrections import holm
from pmbench.stats.randomisation import PairedTest
from pmbench.stats.schemes import NOTHING, Rows, comparisons
from pmbench.stats.schemes import intervals as scheme_intervals

_NO_TEST = PairedTest(math.nan, math.nan, False, 0, 0, math.nan, math.nan)

_AT_ONCE = 500
"""Pairs that are tested together: their draws are in memory, and the same for all pairs, however they are cut."""

Pair = tuple[int, int]


class KeptColumns(ScoreColumns):
    """The scores of one system; the columns of a metric are worked out once."""

    def __init__(self, scores: Sequence[ScoreRecord]) -> None:
        super().__init__(scores)
        self._kept: dict[str, NDArray[np.float64] | None] = {}

    def of(self, metric: Metric) -> NDArray[np.float64] | None:
        """As of `ScoreColumns`, for metrics of one task, whose names differ."""
        if metric.name not in self._kept:
            self._kept[metric.name] = super().of(metric)
        return self._kept[metric.name]


def intervals(
    metrics: Sequence[Metric], systems: Sequence[ScoreColumns], statistics: Resampling
) -> list[dict[str, Interval]]:
    """The interval of each metric, by name, for each system.

    Systems that have scored the same instances share one drawing of resamples.
    """
    found: list[dict[str, Interval]] = [{metric.name: NOTHING for metric in metrics} for _ in systems]
    alike: dict[tuple[str, ...], list[int]] = {}
    for index, system in enumerate(systems):
        alike.setdefault((*system.ids, *system.clusters), []).append(index)
    for members in alike.values():
        # What is a number of the data, as the reference of a group, is the same for all systems: drawn once.
        parts: dict[tuple[str, bytes], tuple[Metric, Rows]] = {}
        wanted: list[tuple[int, tuple[str, bytes]]] = []
        for index in members:
            for metric in metrics:
                rows = systems[index].rows(metric)
                if rows is not None:
                    # Two orders with one value may be resampled to different ones.
                    own = b"" if metric.scheme == "cluster" else str(index).encode()
                    key = metric.name, rows.columns.tobytes() + own
                    parts[key] = metric, rows
                    wanted.append((index, key))
        drawn = scheme_intervals(
            list(parts.values()),
            resamples=statistics.resamples,
            level=statistics.level,
            seed=statistics.seed,
        )
        by_key = {
            key: msgspec.structs.replace(one, low=metric.within(one.low), high=metric.within(one.high))
            for (key, (metric, _)), one in zip(parts.items(), drawn, strict=True)
        }
        for index, key in wanted:
            found[index][key[0]] = by_key[key]
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
) -> tuple[list[Comparison | None], list[PairTested]]:
    """Each system against the first, on the instances where both have the metric; None for the first itself.

    p-values are adjusted over all pairs of systems (Holm), not only over those with the first: which system
    is first was chosen by looking at the same data.

    Returns:
        The comparisons with the first, and the tests of all pairs.
    """
    if not systems:
        return [], []
    scored = [
        {name for name, there in zip(one.ids, one.present(metric), strict=True) if there} for one in systems
    ]
    tests = _all_pairs(metric, systems, scored, statistics)
    adjusted = dict(zip(tests, holm([test.p for test in tests.values()]), strict=True))
    found: list[Comparison | None] = [None]
    for index in range(1, len(systems)):
        shared = len(scored[0] & scored[index])
        found.append(
            _comparison(
                metric,
                tests[index, 0],
                adjusted[index, 0],
                shared,
                len(scored[0]) - shared,
                len(scored[index]) - shared,
            )
        )
    pairs = [
        PairTested(
            earlier + 1,
            later + 1,
            number(test.difference),
            number(test.p),
            number(adjusted[later, earlier]),
            len(scored[earlier] & scored[later]),
        )
        for (later, earlier), test in tests.items()
    ]
    return found, sorted(pairs, key=lambda pair: (pair.first, pair.second))


def _all_pairs(
    metric: Metric, systems: Sequence[ScoreColumns], scored: Sequence[set[str]], statistics: Resampling
) -> dict[Pair, PairedTest]:
    """The test of every pair (later, earlier); pairs that share the same instances share one drawing."""
    alike: dict[tuple[str, ...], list[Pair]] = {}
    for later in range(1, len(systems)):
        for earlier in range(later):
            shared = scored[later] & scored[earlier]
            alike.setdefault(tuple(sorted(shared)), []).append((later, earlier))
    tests: dict[Pair, PairedTest] = {}
    for ids, pairs in alike.items():
        if not ids:
            tests.update(dict.fromkeys(pairs, _NO_TEST))
            continue
        members = sorted({index for pair in pairs for index in pair})
        place = {index: number for number, index in enumerate(members)}
        rows = [_rows(metric, systems[index], ids) for index in members]
        for start in range(0, len(pairs), _AT_ONCE):
            some = pairs[start : start + _AT_ONCE]
            found = comparisons(
                metric,
                rows,
                [(place[later], place[earlier]) for later, earlier in some],
                permutations=statistics.permutations,
                resamples=statistics.resamples,
                level=statistics.level,
                seed=statistics.seed,
            )
            tests.update(zip(some, found, strict=True))
    return tests


def _rows(metric: Metric, system: ScoreColumns, ids: Sequence[str]) -> Rows:
    rows = system.rows(metric, ids)
    if rows is None:
        raise ValueError("rows of a metric that the system does not have")
    return rows


def _comparison(
    metric: Metric, test: PairedTest, adjusted: float, shared: int, only_best: int, only_this: int
) -> Comparison:
    difference, low, high = number(test.difference), number(test.low), number(test.high)
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
        differing=test.differing,
        only_best=only_best,
        only_this=only_this,
        number=DASH if difference is None else bare(metric, difference, sign=True),
        interval=interval(metric, low, high),
        p_text=p_value(number(adjusted)),
        note=test.note,
    )


def number(value: float) -> float | None:
    """None for NaN, which has no place in plain data."""
    return None if math.isnan(value) else value
