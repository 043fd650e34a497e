"""Standardised size of a paired difference, which can be set beside differences in other units.

For a mean it is Cohen's d_z: the mean of the paired differences by their standard deviation (Cohen, Statistical
Power Analysis for the Behavioral Sciences, 1988, chapter 2), times Hedges' correction 1 − 3 / (4 (n − 1) − 1)
(Journal of Educational Statistics 6, 1981). For another formula over sums what each instance contributes to the
difference stands for its difference (`linearised`).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from pmbench.core.metric import Metric
from pmbench.stats.bootstrap import Interval
from pmbench.stats.checks import finite_table
from pmbench.stats.cluster_robust import jackknife_interval
from pmbench.stats.clusters import Floats, ordered_sums, require_cluster_scheme
from pmbench.stats.linearised import Difference, contributions

_ROUNDING = 1e-9
"""Contributions that vary by no more than this share of one system's do not vary."""


class _Effect:
    """Mean by standard deviation, from sums of (y, y², 1)."""

    def value(self, sums: Floats) -> Floats:
        count = sums[..., 2]
        mean = sums[..., 0] / np.maximum(count, 1)
        variance = (sums[..., 1] - count * mean**2) / np.maximum(count - 1, 1)
        known = (count > 1) & (variance > 0)
        return np.where(known, mean / np.sqrt(np.where(known, variance, 1.0)), np.nan)


def standardised_effect(
    metric: Metric,
    columns_a: Floats,
    columns_b: Floats,
    clusters: Sequence[Hashable],
    *,
    level: float = 0.95,
) -> Interval:
    """Standardised effect of the difference of two systems, with its interval.

    Args:
        metric: a formula over sums, of scheme `cluster`.
        columns_a, columns_b: what `metric.columns` gave for each, shape (n, k), row by row the same instances.
        clusters: the cluster of each row, length n.
        level: coverage asked for; the interval is that of the leave-one-cluster-out jackknife with Student's t.

    Returns:
        NaN where the contributions of the instances do not vary. Rows of zeros, which have not got the metric, do not
        count.

    Raises:
        UnusableNumbers: NaN in the columns.
        ValueError: lengths differ, or the metric is resampled in another way.
    """
    require_cluster_scheme(metric)
    one, other = finite_table("columns_a", columns_a), finite_table("columns_b", columns_b)
    rows = np.concatenate([one, other], axis=1)
    there = np.asarray(rows.any(axis=1))
    rows, labels = rows[there], [label for label, kept in zip(clusters, there.tolist(), strict=True) if kept]
    if len(rows) < 2:
        return Interval(float("nan"), float("nan"), float("nan"), len(set(labels)), 0)
    valued = Difference(metric)
    each = float(valued.value(rows.sum(axis=0))) + len(rows) * contributions(valued, rows)
    own = len(rows) * contributions(metric, rows[:, : one.shape[1]])
    if np.ptp(each) <= _ROUNDING * max(np.ptp(own), np.abs(each).max()):
        return Interval(float("nan"), float("nan"), float("nan"), len(set(labels)), 0)
    table = ordered_sums(np.stack([each, each**2, np.ones(len(each))], axis=1), labels)
    found = jackknife_interval(_Effect(), table, level)
    hedges = 1 - 3 / (4 * (len(rows) - 1) - 1)
    return Interval(hedges * found.value, hedges * found.low, hedges * found.high, found.clusters, 0)
