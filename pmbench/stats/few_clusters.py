"""Intervals where there are few clusters, for which percentiles of a bootstrap are too narrow.

With fewer than `FEW_CLUSTERS` of them nominal 95% percentile intervals hold the truth in 81 to 93% of simulated
datasets, those of the leave-one-cluster-out jackknife with Student's t in 93 to 98%, on the logit scale where a value
has limits (`cluster_robust`; `benchmarks/statistics_simulations.py`). They need no drawing. Differences of two
systems have such bounds too (`randomisation.paired_tests`).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import msgspec

from pmbench.core.metric import Metric
from pmbench.stats.bootstrap import FEW_CLUSTERS, Interval, at_a_limit
from pmbench.stats.cluster_robust import jackknife_interval
from pmbench.stats.clusters import Floats, ordered_sums, require_cluster_scheme
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
        Bounds are NaN for fewer than two clusters, or where the value without one of them is undefined; those of
        `bootstrap.at_a_limit` where every cluster is at one of the metric's limits.

    Raises:
        ValueError: lengths differ, or a metric is resampled in another way.
    """
    found = []
    for metric, columns in parts:
        require_cluster_scheme(metric)
        table = ordered_sums(columns, clusters)
        got = jackknife_interval(metric, table, level, natural_limits(metric, table))
        if got.low == got.high == got.value and metric.limits is not None and got.value in metric.limits:
            low, high = at_a_limit(got.value, metric.limits, len(table), level)
            got = msgspec.structs.replace(got, low=low, high=high)
        found.append(got)
    return found
