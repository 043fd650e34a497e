"""Intervals and comparisons of any metric, by the scheme that it is resampled by.

Instances that are independent, or depend on each other in clusters: `bootstrap`, `randomisation`. Pairs that share
items: `dyadic`. Lists that were put in order: `rankings`. Who reports results asks here and knows no scheme.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from pmbench.core.metric import Metric
from pmbench.core.unit_metrics import PairMean, RankingMetric
from pmbench.stats.bootstrap import FEW_CLUSTERS, RESAMPLES, Interval, bootstrap_many
from pmbench.stats.cluster_gaps import cluster_gaps
from pmbench.stats.clusters import Floats, informative_clusters
from pmbench.stats.few_clusters import few_cluster_intervals
from pmbench.stats.no_interval import reasoned
from pmbench.stats.of_lists import ends_of_lists, unlike
from pmbench.stats.randomisation import PairedTest, paired_tests


@dataclass(frozen=True)
class Rows:
    """What one system's metric is made of, an entry for each instance.

    Attributes:
        columns: shape (n, k); a row of zeros where the instance does not have the metric.
        present: which instances have it, shape (n,).
        ids, clusters: of the instances.
        units: ids of what each instance is made of; not used by the scheme `cluster`.
        arrays: of each instance's samples; not used but by the scheme `ranking`.
    """

    columns: Floats
    present: Sequence[bool]
    ids: Sequence[str]
    clusters: Sequence[Hashable]
    units: Sequence[Sequence[str]] = ()
    arrays: Sequence[Sequence[Mapping[str, Any]]] = ()


LONGEST = 300
"""Items of a list beyond which no interval is made: it would take minutes."""

FEWEST_RESAMPLES = 1000

Part = tuple[Metric, Rows]


def intervals(
    parts: Sequence[Part], *, resamples: int = RESAMPLES, seed: int = 0, level: float = 0.95
) -> list[Interval]:
    """The interval of each part; what is resampled is drawn once for all parts over the same instances.

    Args:
        parts: metrics with their rows, all over the same instances.
        resamples, seed, level: as in `bootstrap`.
    """
    found: list[Interval | None] = [None] * len(parts)
    clustered = [place for place, (metric, _) in enumerate(parts) if metric.scheme == "cluster"]
    if clustered:
        drawn = _of_clusters([parts[place] for place in clustered], resamples, seed, level)
        for place, interval in zip(clustered, drawn, strict=True):
            found[place] = interval
    return [
        _other(metric, rows, resamples, seed, level) if interval is None else interval
        for (metric, rows), interval in zip(parts, found, strict=True)
    ]


def comparisons(
    metric: Metric,
    systems: Sequence[Rows],
    pairs: Sequence[tuple[int, int]],
    *,
    permutations: int = 10_000,
    resamples: int = RESAMPLES,
    seed: int = 0,
    level: float = 0.95,
    bounded: Collection[tuple[int, int]] | None = None,
) -> list[PairedTest]:
    """Compare systems on the same instances.

    Args:
        metric: of any scheme.
        systems: the rows of each, the same instances in the same order, all of which have the metric.
        pairs: which two of them to compare.
        permutations, resamples, seed, level: as in `paired_tests`.
        bounded: pairs whose interval is wanted, by cluster the others go without; None: all.
    """
    if metric.scheme != "cluster":
        try:
            return _COMPARISONS[metric.scheme](metric, systems, pairs, resamples, seed, level)
        except _Lacking as lacking:
            values = [float(metric.value(rows.columns.sum(axis=0))) for rows in systems]
            nothing = PairedTest(math.nan, math.nan, False, 0, 0, math.nan, math.nan, note=str(lacking))
            return [msgspec.structs.replace(nothing, difference=values[a] - values[b]) for a, b in pairs]
    return paired_tests(
        metric,
        [rows.columns for rows in systems],
        pairs,
        systems[0].clusters,
        permutations=permutations,
        resamples=resamples,
        seed=seed,
        level=level,
        bounded=bounded,
    )


def gaps(
    metric: Metric,
    rows: Rows,
    parts: Sequence[tuple[Sequence[bool], Sequence[bool]]],
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
    level: float = 0.95,
) -> list[Interval]:
    """The metric over a part of the instances less that over another part, with its interval, for several such.

    Args:
        metric: of any scheme; lists have a gap and no interval.
        rows: of one system.
        parts: which instances are in the one part and which in the other.
        resamples, seed, level: as in `intervals`.
    """
    masks = [tuple(np.asarray(mask, dtype=bool) for mask in pair) for pair in parts]
    sides = [[np.where(mask[:, None], rows.columns, 0.0) for mask in pair] for pair in masks]
    values = [float(np.subtract(*(metric.value(side.sum(axis=0)) for side in pair))) for pair in sides]
    if metric.scheme == "dyadic":
        try:
            return [_pairs_gap(metric, rows, one, other, level) for one, other in masks]
        except _Lacking as lacking:
            why = str(lacking)
    elif metric.scheme == "cluster" and parts:
        return cluster_gaps(metric, rows, masks, values, (resamples, seed, level))
    else:
        why = "no interval of a gap between lists"
    return [Interval(value, math.nan, math.nan, 0, 0, note=why) for value in values]


class _Lacking(Exception):
    """Why neither intervals nor comparisons can be made: what a metric or a score does not have."""


def _of_clusters(parts: Sequence[Part], resamples: int, seed: int, level: float) -> list[Interval]:
    """What has few clusters by the jackknife, what has many by the bootstrap; clusters of zeros do not count."""
    columns, clusters = [(metric, rows.columns) for metric, rows in parts], parts[0][1].clusters
    few = [informative_clusters(table, clusters) < FEW_CLUSTERS for _, table in columns]
    many = [part for part, is_few in zip(columns, few, strict=True) if not is_few]
    by_jackknife = iter(
        few_cluster_intervals(
            [part for part, is_few in zip(columns, few, strict=True) if is_few], clusters, level
        )
    )
    by_bootstrap = iter(
        bootstrap_many(many, clusters, resamples=resamples, seed=seed, level=level) if many else ()
    )
    return [reasoned(next(by_jackknife if is_few else by_bootstrap)) for is_few in few]


def _other(metric: Metric, rows: Rows, resamples: int, seed: int, level: float) -> Interval:
    try:
        return _INTERVALS[metric.scheme](metric, rows, resamples, seed, level)
    except _Lacking as lacking:
        # A wrong interval would be worse than none; the value is what it is.
        value = float(metric.value(rows.columns.sum(axis=0)))
        return Interval(value, math.nan, math.nan, 0, 0, note=str(lacking))


def _pairs_interval(metric: Metric, rows: Rows, _resamples: int, _seed: int, level: float) -> Interval:
    from pmbench.stats.dyadic import dyadic_intervals

    low, high = _limits(metric)
    first, second = _ends(_there(rows))
    values = _shares(_values(rows), low, high)
    got = dyadic_intervals(first, second, values[None, :], level)[0]
    value, lower, upper = (low + (high - low) * share for share in (got.value, got.low, got.high))
    return Interval(value, lower, upper, got.messages, 0, note=got.note)


def _pairs_gap(metric: Metric, rows: Rows, one: Any, other: Any, level: float) -> Interval:
    from pmbench.stats.dyadic_gap import dyadic_gap

    low, high = _limits(metric)
    kept = np.asarray(rows.present, dtype=bool) & (one | other)
    ends = [ends for ends, is_kept in zip(rows.units, kept, strict=True) if is_kept]
    first, second = _ends(ends)
    values = _shares(rows.columns[kept, 0], low, high)
    got = dyadic_gap(first, second, values, one[kept].tolist(), level)
    wide = high - low
    bounds = wide * got.difference, wide * got.low, wide * got.high
    return Interval(*bounds, clusters=got.messages, resamples=0, note=got.note)


def _pairs_compared(
    metric: Metric,
    systems: Sequence[Rows],
    pairs: Sequence[tuple[int, int]],
    _resamples: int,
    _seed: int,
    level: float,
) -> list[PairedTest]:
    from pmbench.stats.dyadic import dyadic_differences

    low, high = _limits(metric)
    first, second = _ends(_there(systems[0]))
    values = np.stack([_shares(_values(rows), low, high) for rows in systems])
    wide = high - low
    return [
        PairedTest(
            difference=wide * got.difference,
            p=got.p,
            exact=False,
            permutations=0,
            clusters=got.messages,
            low=wide * got.low,
            high=wide * got.high,
            differing=int((values[a] != values[b]).sum()),
            note=got.note,
        )
        for (a, b), got in zip(pairs, dyadic_differences(first, second, values, pairs, level), strict=True)
    ]


def _lists_interval(metric: Metric, rows: Rows, resamples: int, seed: int, level: float) -> Interval:
    from pmbench.stats.rankings import spread_interval

    got = spread_interval(_spread(metric, rows, resamples, seed), level=level, limits=metric.limits)
    least, most = ends_of_lists(metric, rows)
    low, high = (min(max(bound, least), most) for bound in (got.low, got.high))
    return Interval(got.value, low, high, got.units, got.resamples, got.undefined, note=got.note)


def _lists_compared(
    metric: Metric,
    systems: Sequence[Rows],
    pairs: Sequence[tuple[int, int]],
    resamples: int,
    seed: int,
    level: float,
) -> list[PairedTest]:
    from pmbench.stats.rankings import spread_difference

    if any(why := unlike(metric, systems[0], rows) for rows in systems[1:]):
        raise _Lacking(why)
    spreads = [_spread(metric, rows, resamples, seed) for rows in systems]
    least, most = ends_of_lists(metric, systems[0])
    found = []
    for a, b in pairs:
        got = spread_difference(spreads[a], spreads[b], level=level)
        found.append(
            PairedTest(
                difference=got.difference,
                p=got.p,
                exact=False,
                permutations=0,
                clusters=got.units,
                low=max(got.low, least - most),
                high=min(got.high, most - least),
                undefined=got.undefined,
                differing=int((spreads[a].values != spreads[b].values).sum()),
                note=got.note,
            )
        )
    return found


def _spread(metric: Metric, rows: Rows, resamples: int, seed: int) -> Any:
    """What a system's lists give when their items are drawn again."""
    from pmbench.stats.ranking_draws import Ranking, seeded_by_content
    from pmbench.stats.rankings import ranking_spread

    if not isinstance(metric, RankingMetric):
        raise _Lacking("no interval, for the metric has the scheme `ranking` and is no RankingMetric")
    there = [place for place, present in enumerate(rows.present) if present]
    longest = max(len(rows.units[place]) for place in there)
    if longest > LONGEST:
        raise _Lacking(f"no interval, for lists of more than {LONGEST} items")
    # What takes all pairs of a list takes long for long ones: as many resamples as thirty items would take time.
    resamples = min(resamples, max(FEWEST_RESAMPLES, resamples * 30**2 // longest**2))
    if any(
        len(set(rows.units[place])) != len(rows.units[place]) or not rows.arrays[place] for place in there
    ):
        raise _Lacking("no interval, for a score does not name the units of its list")
    rankings = seeded_by_content(
        [
            Ranking(rows.ids[place], tuple(rows.units[place]), tuple(metric.strata(rows.arrays[place][0])))
            for place in there
        ]
    )
    statistics = [_statistic(metric, rows.arrays[place]) for place in there]
    return ranking_spread(statistics, _values(rows).tolist(), rankings, resamples=resamples, seed=seed)


def drawn_lists(metric: Metric, systems: Sequence[Rows], resamples: int, seed: int) -> Floats | None:
    """Values of systems of lists on the same draws, shape (B, S), deviations widened; None where there are none."""
    from pmbench.stats.rankings import widened_means

    try:
        spreads = [_spread(metric, rows, resamples, seed) for rows in systems]
    except _Lacking:
        return None
    if any(spread.reason for spread in spreads) or any(unlike(metric, systems[0], rows) for rows in systems):
        return None
    return np.stack([widened_means(spread) for spread in spreads], axis=1)


def pair_values(metric: Metric, systems: Sequence[Rows]) -> tuple[list[str], list[str], Floats, float] | None:
    """The two items of each pair, each system's values of them as shares (S, n), and what one share is worth.

    None where they do not say enough of their pairs.
    """
    try:
        low, high = _limits(metric)
        first, second = _ends(_there(systems[0]))
        return first, second, np.stack([_shares(_values(rows), low, high) for rows in systems]), high - low
    except _Lacking:
        return None


def _statistic(metric: RankingMetric, samples: Sequence[Mapping[str, Any]]) -> Callable[[Any], Floats]:
    """The mean over the samples of one list, as its value is."""

    def of(draws: Any) -> Floats:
        total = sum((metric.resample(arrays, draws) for arrays in samples), np.zeros(len(draws)))
        return np.asarray(total / len(samples), dtype=np.float64)

    return of


def _values(rows: Rows) -> Floats:
    """The metric of each instance that has it; a mean's columns are (value, 1)."""
    there: Floats = rows.columns[np.asarray(rows.present, dtype=bool), 0]
    return there


def _ends(units: Sequence[Sequence[str]]) -> tuple[list[str], list[str]]:
    """The two items of each pair."""
    if any(len(ends) != 2 or ends[0] == ends[1] for ends in units):
        raise _Lacking("no interval, for a score does not name the two units of its pair")
    return [ends[0] for ends in units], [ends[1] for ends in units]


def _there(rows: Rows) -> list[Sequence[str]]:
    """The units of each instance that has the metric."""
    return [units for units, present in zip(rows.units, rows.present, strict=True) if present]


def _shares(values: Floats, low: float, high: float) -> Floats:
    """How far each value is on the way from the one limit to the other."""
    shares = (values - low) / (high - low)
    if not ((shares >= 0) & (shares <= 1)).all():
        raise _Lacking("no interval, for a value is outside the limits of the metric")
    return shares


def _limits(metric: Metric) -> tuple[float, float]:
    if not isinstance(metric, PairMean) or metric.limits is None:
        raise _Lacking("no interval, for the metric has the scheme `dyadic` and is no PairMean with limits")
    return metric.limits


_INTERVALS: dict[str, Callable[[Metric, Rows, int, int, float], Interval]] = {
    "dyadic": _pairs_interval,
    "ranking": _lists_interval,
}
_COMPARISONS: dict[
    str,
    Callable[[Metric, Sequence[Rows], Sequence[tuple[int, int]], int, int, float], list[PairedTest]],
] = {"dyadic": _pairs_compared, "ranking": _lists_compared}

NOTHING = Interval(math.nan, math.nan, math.nan, 0, 0)
"""Of a metric that no instance has."""
