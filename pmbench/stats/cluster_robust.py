"""Analytic intervals by cluster: no drawing, and Student's t.

For a mean or a ratio of sums θ = Σ top / Σ bottom the residual of cluster c is r_c = top_c − θ bottom_c, and its
leverage h_c = bottom_c / Σ bottom. With corrections that make up for residuals being smaller than errors the variance
is Σ r_c² a_c / (Σ bottom)²:

* CR1: a_c = C / (C − 1) (Liang & Zeger, Biometrika 73, 1986, with the usual factor);
* CR2: a_c = 1 / (1 − h_c), unbiased where the rows are independent (Bell & McCaffrey, Survey Methodology 28, 2002);
* CR3: a_c = 1 / (1 − h_c)², times (C − 1) / C: the leave-one-cluster-out jackknife. Made from the values without each
  cluster, it is there for any formula.

Bounds take Student's t with C − 1 degrees of freedom. In simulations CR3 holds the truth best with few clusters: of a
difference of two systems in 93 to 95% of datasets of 8 clusters and more, of one value between limits, on the logit
scale, in 94 to 98%; percentiles of a bootstrap hold it in 82 to 94% with fewer than 50
(`benchmarks/statistics_simulations.py`).
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from pmbench.stats.bootstrap import Interval, Valued
from pmbench.stats.checks import require_level
from pmbench.stats.clusters import Floats
from pmbench.stats.dyadic import expit, t_quantile
from pmbench.stats.linearised import leave_one_out

Correction = Literal["CR1", "CR2"]

_MOST_LOG = 600.0
"""Of a factor: its exponential, and what it is multiplied by, are then still numbers."""


def ratio_interval(table: Floats, correction: Correction = "CR2", level: float = 0.95) -> Interval:
    """Interval of a mean or ratio of sums.

    Args:
        table: sums of numerator and denominator of each cluster, shape (C, 2); of a mean (sum, count).
        correction: of the variance.
        level: coverage asked for.

    Returns:
        Bounds are NaN for fewer than two clusters that have a denominator.
    """
    alpha = require_level(level)
    table = table[table[:, 1] != 0]
    count, bottom = len(table), float(table[:, 1].sum())
    value = float(table[:, 0].sum() / bottom) if bottom else math.nan
    if count < 2 or math.isnan(value):
        return Interval(value, math.nan, math.nan, count, 0)
    residuals = table[:, 0] - value * table[:, 1]
    factor = count / (count - 1) if correction == "CR1" else 1 / (1 - table[:, 1] / bottom)
    se = float(np.sqrt((residuals**2 * factor).sum())) / abs(bottom)
    reach = t_quantile(count - 1, 1 - alpha) * se
    return Interval(value, value - reach, value + reach, count, 0)


def jackknife_error(valued: Valued, table: Floats) -> float:
    """CR3 standard error of any formula over clusters' sums (C, k); NaN where a value is undefined."""
    count = len(table)
    if count < 2:
        return math.nan
    return _spread(leave_one_out(valued, table))


def jackknife_interval(
    valued: Valued, table: Floats, level: float = 0.95, limits: tuple[float, float] | None = None
) -> Interval:
    """Interval of any formula over clusters' sums (C, k), by the jackknife and Student's t.

    Args:
        valued: the formula; table: the clusters' sums.
        level: coverage asked for.
        limits: as in `jackknife_bounds`.

    Returns:
        Bounds are NaN for fewer than two clusters, or where a value is undefined.
    """
    alpha, count = require_level(level), len(table)
    value = float(valued.value(table.sum(axis=0)))
    low = high = math.nan
    if count > 1 and not math.isnan(value):
        low, high = jackknife_bounds(valued, table, t_quantile(count - 1, 1 - alpha), limits)
    return Interval(value, low, high, count, 0)


def jackknife_bounds(
    valued: Valued, table: Floats, quantile: float, limits: tuple[float, float] | None = None
) -> tuple[float, float]:
    """So many jackknife errors on either side of a value over clusters' sums (C, k); NaN where one is undefined.

    Args:
        valued: the formula; table: the clusters' sums.
        quantile: how many errors.
        limits: where the value cannot be outside them, bounds are made on the scale of the logit of how far it is
            on the way from the one to the other, and stay inside; where the second is infinite, on the scale of the
            logarithm of how far it is above the first, with the jackknife error of that logarithm. With few clusters
            this makes up for the skew of values near a limit.
    """
    value, se = float(valued.value(table.sum(axis=0))), jackknife_error(valued, table)
    if math.isnan(se) or math.isnan(value):
        return math.nan, math.nan
    if limits is not None and math.isinf(limits[1]) and value > limits[0]:
        above = leave_one_out(valued, table) - limits[0]
        if (above > 0).all():
            se = (value - limits[0]) * _spread(np.log(above))
    return bounds(value, quantile * se, limits)


def bounds(value: float, reach: float, limits: tuple[float, float] | None) -> tuple[float, float]:
    """value ± reach; between limits on the scale of the logit or logarithm, whose derivative stretches the reach."""
    if limits is None or not limits[0] < value < limits[1]:
        return value - reach, value + reach
    least, wide = limits[0], limits[1] - limits[0]
    if math.isinf(wide):
        times = math.exp(min(reach / (value - least), _MOST_LOG))
        return least + (value - least) / times, least + (value - least) * times
    share = (value - least) / wide
    logit, step = math.log(share / (1 - share)), reach / wide / (share * (1 - share))
    return least + wide * expit(logit - step), least + wide * expit(logit + step)


def _spread(left_out: Floats) -> float:
    """CR3 standard error of what has these values without each cluster."""
    count = len(left_out)
    return float(np.sqrt((count - 1) / count * ((left_out - left_out.mean()) ** 2).sum()))
