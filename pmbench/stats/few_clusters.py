"""Intervals where there are few clusters, for which percentiles of a bootstrap are too narrow.

With fewer than `FEW_CLUSTERS` of them nominal 95% percentile intervals hold the truth in 82 to 94% of simulated
datasets; those of the leave-one-cluster-out jackknife with Student's t hold differences in 93 to 95% and values with
limits, on the logit scale, in 94 to 98% (`cluster_robust`; `benchmarks/statistics_simulations.py`). Counts, which
have a least value and no greatest one, are held in 92 to 98% on the scale of the logarithm, where plain bounds hold
them in 82 to 94% (`benchmarks/count_intervals.py`). Values near a limit that is not known are held in 85 to 95%:
a metric should name its limits. Nothing is drawn. Differences of two systems have such bounds too
(`randomisation.paired_tests`).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from pmbench.core.metric import Metric
from pmbench.stats.bootstrap import FEW_CLUSTERS, Interval, beside_limits
from pmbench.stats.cluster_robust import jackknife_interval
from pmbench.stats.clusters import Floats, informative, ordered_sums, require_cluster_scheme
from pmbench.stats.limits import natural_limits

__all__ = ["FEW_CLUSTERS", "few_cluster_intervals"]


def few_cluster_intervals(
    parts: Sequence[tuple[Metric, Floats]], clusters: Sequence[Hashable], level: float = 0.95
) -> list[Interval]:
    """Intervals of several metrics, or of several systems, over the same rows.

    Args:
        parts: metric, of scheme `cluster`, and columns (n, k) of each.
        clusters: the cluster of each row, length n.
        level: coverage asked for.

    Returns:
        Clusters whose sums are all 0 do not count. Bounds are NaN for fewer than two others, or where the value
        without one of them is undefined; those of
        `bootstrap.beside_limits` where every cluster is at one of the limits.

    Raises:
        ValueError: lengths differ, or a metric is resampled in another way.
    """
    found = []
    for metric, columns in parts:
        require_cluster_scheme(metric)
        table = informative(ordered_sums(columns, clusters))
        limits = natural_limits(metric, table)
        got = jackknife_interval(metric, table, level, limits)
        found.append(beside_limits(got, limits, level))
    return found
