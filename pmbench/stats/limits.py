"""The least and the greatest value that a metric can have, where the metric or its sums show them."""

from __future__ import annotations

from pmbench.core.metric import F1, Macro, Metric, Ratio
from pmbench.stats.clusters import Floats


def natural_limits(metric: Metric, table: Floats) -> tuple[float, float] | None:
    """Limits of a value over clusters' sums.

    Args:
        metric: those that it names; an F1 lies between 0 and 1, and so does a mean of such. A ratio does where every
            cluster's numerator lies between 0 and its denominator, as that of a share.
        table: the clusters' sums of its columns, shape (C, k).

    Returns:
        None where no limits are known.
    """
    if metric.limits is not None:
        return metric.limits
    if isinstance(metric, F1):
        return 0.0, 1.0
    if isinstance(metric, Macro):
        return (0.0, 1.0) if isinstance(metric.inner, F1) else None
    if isinstance(metric, Ratio) and ((table[:, 0] >= 0) & (table[:, 0] <= table[:, 1])).all():
        return 0.0, 1.0
    return None
