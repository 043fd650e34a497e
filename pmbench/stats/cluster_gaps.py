"""Gaps between subgroups of instances that are resampled by cluster."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pmbench.core.metric import Metric
from pmbench.stats.bootstrap import Interval, percentiles, resampled_values
from pmbench.stats.clusters import ordered_sums

if TYPE_CHECKING:
    from pmbench.stats.schemes import Rows

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


class _OfPart:
    """A metric over a part of the instances: undefined for a drawing that holds none of the part."""

    def __init__(self, metric: Metric) -> None:
        self.metric = metric

    def value(self, sums: Floats) -> Floats:
        """Of sums of the metric's columns and, last, of how many instances they are of."""
        return np.where(sums[..., -1] > 0, self.metric.value(sums[..., :-1]), np.nan)


def cluster_gaps(
    metric: Metric,
    rows: Rows,
    masks: Sequence[tuple[Bools, ...]],
    values: Sequence[float],
    how: tuple[int, int, float],
) -> list[Interval]:
    """The metric over a part of the instances less that over another, its clusters drawn again together.

    A drawing that holds no instance of one of the parts has no gap: it is left out and counted, not taken
    for 0. A part of one cluster has no interval.

    Args:
        metric: of the cluster scheme; rows: of one system.
        masks: for each gap which instances are in the one part and which in the other, shape (n,) each.
        values: the gaps themselves.
        how: resamples, seed, level.
    """
    resamples, seed, level = how
    counted = np.column_stack([rows.columns, np.asarray(rows.present, dtype=float)])
    sums = [
        (_OfPart(metric), ordered_sums(np.where(mask[:, None], counted, 0.0), rows.clusters))
        for pair in masks
        for mask in pair
    ]
    drawn = resampled_values(sums, resamples=resamples, seed=seed)
    clusters = len(set(rows.clusters))
    found = []
    for place, (value, pair) in enumerate(zip(values, masks, strict=True)):
        there = [{one for one, inside in zip(rows.clusters, mask, strict=True) if inside} for mask in pair]
        if min(map(len, there)) < 2:
            note = "a part of one cluster has no interval"
            found.append(Interval(value, math.nan, math.nan, clusters, 0, note=note))
            continue
        low, high, undefined = percentiles(drawn[2 * place] - drawn[2 * place + 1], clusters, level)
        found.append(Interval(value, low, high, clusters, resamples, undefined))
    return found
