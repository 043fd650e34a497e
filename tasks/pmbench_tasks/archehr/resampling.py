"""Intervals of numbers that are no metric of a run: whole clusters are drawn again, all that is in them together."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

RESAMPLES = 2_000
"""Drawings of an interval, unless said otherwise."""


class Estimate(NamedTuple):
    """A number with its 95% interval; None where it is undefined, or where there are fewer than two clusters."""

    value: float | None
    low: float | None
    high: float | None


def drawn_counts(clusters: int, resamples: int = RESAMPLES, seed: int = 0) -> Floats:
    """How often each cluster is drawn in each resample, as many drawings as there are clusters.

    Returns:
        Shape (resamples, clusters); each row sums to the number of clusters.
    """
    import numpy as np

    chances = np.full(clusters, 1 / clusters)
    drawn = np.random.default_rng(seed).multinomial(clusters, chances, size=resamples)
    return drawn.astype(np.float64)


def estimate(value: float, resampled: Floats, clusters: int) -> Estimate:
    """A number with the percentile interval of its resamples; those in which it is undefined are left out.

    Args:
        value: of all that is there.
        resampled: its values, shape (B,), NaN where undefined.
        clusters: how many were drawn from.
    """
    import numpy as np

    there = resampled[~np.isnan(resampled)]
    shown = None if value != value else float(value)
    if shown is None or clusters < 2 or not len(there):
        return Estimate(shown, None, None)
    low, high = np.quantile(there, (0.025, 0.975))
    return Estimate(shown, float(low), float(high))
