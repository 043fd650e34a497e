"""The least and the greatest value that a metric can have, where the metric or its sums show them."""

from __future__ import annotations

import math

from pmbench.core.metric import F1, Macro, Metric, Ratio
from pmbench.stats.clusters import Floats

NO_SPREAD = "no interval, for it is {value} in every cluster, and how large it may be is not known"
"""Note of a value at the one limit that it has."""


def natural_limits(metric: Metric, table: Floats) -> tuple[float, float] | None:
    """Limits of a value over clusters' sums.

    Args:
        metric: the limits of one instance that it names, else its own bounds, where they have a least value (a mean
            that is clipped moves by what one instance can have, and is put between its bounds afterwards). An F1
            lies between 0 and 1, and so does a mean of such. A ratio does where every cluster's numerator lies
            between 0 and its denominator, as that of a share.
        table: the clusters' sums of its columns, shape (C, k).

    Returns:
        The second is infinite where there is no greatest value (a count); None where no limits are known.
    """
    for named in (metric.limits, metric.bounds):
        if named is not None and math.isfinite(named[0]):
            return named
    if isinstance(metric, F1):
        return 0.0, 1.0
    if isinstance(metric, Macro):
        return (0.0, 1.0) if isinstance(metric.inner, F1) else None
    if isinstance(metric, Ratio) and ((table[:, 0] >= 0) & (table[:, 0] <= table[:, 1])).all():
        return 0.0, 1.0
    return None
