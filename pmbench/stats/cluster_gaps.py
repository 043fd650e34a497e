"""Gaps between subgroups of instances that are resampled by cluster.

With 50 clusters or more on either side a gap has the percentile interval of the bootstrap. Below, one side's bounds
are too far from symmetric for that: a subgroup of few clusters, most of them at 0. Each side then has jackknife
bounds of its own, on the scale of the logit where the metric has limits (`cluster_robust.jackknife_bounds`), with the
degrees of freedom of Welch (Biometrika 34, 1947) and Satterthwaite (Biometrics Bulletin 2, 1946), and the two are put
together as those of two shares are by Newcombe (Statistics in Medicine 17, 1998, method 10) and of any two values by
Zou & Donner (Statistics in Medicine 27, 2008): with values a and b, bounds a_l, a_u and b_l, b_u and their
correlation r

    low  = a − b − √((a − a_l)² − 2 r (a − a_l)(b_u − b) + (b_u − b)²)
    high = a − b + √((a_u − a)² − 2 r (a_u − a)(b − b_l) + (b − b_l)²)

r is that of the deviations of the values without each cluster; it is 0 where no cluster is on both sides. Without
limits this is Welch's interval, and where all clusters are on both sides that of the jackknife of the difference.
`benchmarks/gap_intervals.py` has how often such intervals hold the truth.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pmbench.core.metric import Metric
from pmbench.stats.bootstrap import FEW_CLUSTERS, Interval, beside_limits, percentiles, resampled_values
from pmbench.stats.checks import require_level
from pmbench.stats.cluster_robust import jackknife_bounds
from pmbench.stats.clusters import Floats, ordered_places, sums_at
from pmbench.stats.dyadic import t_quantile
from pmbench.stats.limits import natural_limits
from pmbench.stats.linearised import leave_one_out

if TYPE_CHECKING:
    from pmbench.stats.schemes import Rows

Bools = NDArray[np.bool_]

FEWEST_IN_PART, FEWEST_WITHOUT_LIMITS = 5, 30
"""With fewer clusters in one of the parts a gap has no interval: it would say next to nothing, or, of a metric
without known limits, hold the truth too rarely (`benchmarks/gap_intervals.py`)."""


class _Part:
    """A metric over a part of the instances: undefined for a drawing that holds none of the part."""

    def __init__(self, metric: Metric) -> None:
        self.metric = metric

    def value(self, sums: Floats) -> Floats:
        """Of sums of the metric's columns and, last, of how many instances they are of."""
        return np.where(sums[..., -1] > 0, self.metric.value(sums[..., :-1]), np.nan)


class _Side(NamedTuple):
    """One part: its value, how many clusters it has, the deviations of the values without each of them.

    `deviations` (C,) has an entry for each cluster of the data, 0 where the part has none of it; their squares add up
    to the jackknife's variance. `table` has the clusters that it has.
    """

    value: float
    table: Floats
    deviations: Floats

    @property
    def variance(self) -> float:
        return float(self.deviations @ self.deviations)


def cluster_gaps(
    metric: Metric,
    rows: Rows,
    masks: Sequence[tuple[Bools, ...]],
    values: Sequence[float],
    how: tuple[int, int, float],
) -> list[Interval]:
    """The metric over a part of the instances less that over another.

    Where both parts have `FEW_CLUSTERS` or more all clusters are drawn again together; a drawing that holds no
    instance of one of the parts has no gap: it is left out and counted, not taken for 0. Elsewhere bounds are those
    of two jackknifes, and nothing is drawn.

    Args:
        metric: of the cluster scheme; rows: of one system.
        masks: for each gap which instances are in the one part and which in the other, shape (n,) each.
        values: the gaps themselves.
        how: resamples, seed, level.
    """
    resamples, seed, level = how
    counted = np.column_stack([rows.columns, np.asarray(rows.present, dtype=float)])
    places = ordered_places(rows.clusters)
    tables = [
        (
            sums_at(np.where(one[:, None], counted, 0.0), *places),
            sums_at(np.where(other[:, None], counted, 0.0), *places),
        )
        for one, other in masks
    ]
    # A cluster whose columns are all 0 tells nothing of the value of a part (`clusters.informative`).
    inside = [(_adding(one), _adding(other)) for one, other in tables]
    fewest = [min(int(there.sum()) for there in pair) for pair in inside]
    many = [place for place, least in enumerate(fewest) if least >= FEW_CLUSTERS]
    drawn = resampled_values(
        [(_Part(metric), table) for place in many for table in tables[place]], resamples=resamples, seed=seed
    )
    clusters = len(set(rows.clusters))
    found = [
        Interval(value, math.nan, math.nan, clusters, 0)
        if place in many
        else few_cluster_gap(metric, one[:, :-1], other[:, :-1], *inside[place], level)
        for place, (value, (one, other)) in enumerate(zip(values, tables, strict=True))
    ]
    for row, place in enumerate(many):
        low, high, undefined = percentiles(drawn[2 * row] - drawn[2 * row + 1], clusters, level)
        found[place] = Interval(values[place], low, high, clusters, resamples, undefined)
    return found


def _adding(table: Floats) -> Bools:
    """Which clusters add anything, given their sums and, last, how many instances they have of a part."""
    return np.asarray(table[:, :-1].any(axis=1), dtype=np.bool_)


def few_cluster_gap(
    metric: Metric, one: Floats, other: Floats, in_one: Bools, in_other: Bools, level: float = 0.95
) -> Interval:
    """The gap between two parts of the instances without any drawing.

    Args:
        metric: of the cluster scheme.
        one, other: sums of its columns over the instances of each part that a cluster has, shape (C, k).
        in_one, in_other: which clusters add anything to the value of the part, shape (C,).
        level: coverage asked for.

    Returns:
        Bounds are NaN, and a note says so, where a part has fewer than `FEWEST_IN_PART` clusters (where no limits are
        known `FEWEST_WITHOUT_LIMITS`), or where a value is undefined.
    """
    alpha = require_level(level)
    sides = [_side(metric, one, in_one), _side(metric, other, in_other)]
    limits = natural_limits(metric, np.concatenate([side.table for side in sides]))
    gap, clusters = sides[0].value - sides[1].value, int((in_one | in_other).sum())
    least = FEWEST_WITHOUT_LIMITS if limits is None else FEWEST_IN_PART
    fewest = min(len(side.table) for side in sides)
    note = ""
    if fewest < least:
        note = f"no interval, for a part has {fewest} cluster{'s' * (fewest != 1)} and {least} are needed"
    elif any(math.isnan(side.variance) for side in sides):
        note = "no interval, for without one of its clusters a part has no value"
    if note or math.isnan(gap):
        return Interval(gap, math.nan, math.nan, clusters, 0, note=note)
    quantile = t_quantile(_freedom(sides, clusters), 1 - alpha)
    ends = []
    for side in sides:
        bounds = jackknife_bounds(metric, side.table, quantile, limits)
        ends.append(
            beside_limits(Interval(side.value, *bounds, clusters=len(side.table), resamples=0), limits, level)
        )
    if note := next((end.note for end in ends if end.note), ""):
        return Interval(gap, math.nan, math.nan, clusters, 0, note=note)
    together = math.sqrt(sides[0].variance * sides[1].variance)
    shared = float(sides[0].deviations @ sides[1].deviations) / together if together > 0 else 0.0
    down = _joined(ends[0].value - ends[0].low, ends[1].high - ends[1].value, shared)
    up = _joined(ends[0].high - ends[0].value, ends[1].value - ends[1].low, shared)
    return Interval(gap, gap - down, gap + up, clusters, 0)


def _side(metric: Metric, table: Floats, inside: Bools) -> _Side:
    kept = table[inside]
    deviations, count = np.zeros(len(table)), len(kept)
    if count > 1:
        left_out = leave_one_out(metric, kept)
        deviations[inside] = math.sqrt((count - 1) / count) * (left_out - left_out.mean())
    return _Side(float(metric.value(kept.sum(axis=0))), kept, deviations)


def _freedom(sides: Sequence[_Side], clusters: int) -> float:
    """Of Welch and Satterthwaite; no more than there are clusters, less one: some may be on both sides."""
    variance = sum(side.variance for side in sides)
    parts = sum(side.variance**2 / (len(side.table) - 1) for side in sides)
    return min(variance**2 / parts, clusters - 1.0) if parts > 0 else clusters - 1.0


def _joined(one: float, other: float, shared: float) -> float:
    """How far a difference reaches, from how far its two values do and their correlation."""
    return math.sqrt(max(0.0, one * one - 2 * shared * one * other + other * other))
