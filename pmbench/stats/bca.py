"""Bias-corrected and accelerated percentiles of a bootstrap (Efron, JASA 82, 1987).

With z0 the normal quantile of the share of resamples below the value (half of those equal to it), and a the
acceleration Σ d³ / 6 (Σ d²)^{3/2} of the deviations d of the leave-one-cluster-out values from their mean, the bounds
are the percentiles Φ(z0 + (z0 + z) / (1 − a (z0 + z))), z the normal quantile of each bound.
"""

from __future__ import annotations

import numpy as np

from pmbench.stats.checks import require_level
from pmbench.stats.clusters import Floats


def bca_bounds(value: float, drawn: Floats, left_out: Floats, level: float = 0.95) -> tuple[float, float]:
    """Bounds of one value.

    Args:
        value: of the data themselves.
        drawn: of the resamples, shape (B,); NaN ones are left out.
        left_out: without one cluster each, shape (C,).
        level: coverage asked for.

    Returns:
        Lower and upper bound; NaN where a leave-one-out value is undefined, no resample has a value, or all
        resamples lie on one side of the value (no bound is then a percentile of them).
    """
    from scipy.special import ndtr, ndtri

    alpha = require_level(level)
    drawn = drawn[~np.isnan(drawn)]
    if not len(drawn) or len(left_out) < 2 or np.isnan(left_out).any() or np.isnan(value):
        return float("nan"), float("nan")
    if np.ptp(drawn) == 0:
        return float(drawn[0]), float(drawn[0])
    below = ((drawn < value).sum() + (drawn <= value).sum()) / (2 * len(drawn))
    if not 0 < below < 1:
        return float("nan"), float("nan")
    centre = ndtri(below)
    deviations = left_out.mean() - left_out
    spread = (deviations**2).sum() ** 1.5
    acceleration = (deviations**3).sum() / (6 * spread) if spread > 0 else 0.0
    shifted = centre + ndtri(np.array([alpha, 1 - alpha]))
    shares = ndtr(centre + shifted / (1 - acceleration * shifted))
    low, high = np.quantile(drawn, shares)
    return float(low), float(high)
