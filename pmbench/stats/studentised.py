"""Studentised bootstrap by cluster, also called bootstrap-t (Efron & Tibshirani 1993, chapter 12.5).

Each resample has its own standard error: with W (B, C) counting the clusters of each resample, the second moments
Σ_c w_c s_c s_cᵀ of all resamples are one matrix product more, and a resample's variance is gᵀ (Σ_c w_c s_c s_cᵀ) g
with g the derivatives at its own sums (`linearised`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from pmbench.stats.bootstrap import RESAMPLES, Interval, Valued, cluster_draws
from pmbench.stats.checks import require_level
from pmbench.stats.clusters import Floats, block_rows
from pmbench.stats.linearised import gradients, standard_error, step_sizes

NO_ERROR, NO_DEVIATION = 1e-7, 1e-12
"""Standard errors and deviations this small beside the size of what they are made from are rounding."""


def studentised_intervals(
    parts: Sequence[tuple[Valued, Floats]],
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
    level: float = 0.95,
    block: int | None = None,
) -> list[Interval]:
    """Studentised intervals from one drawing.

    Args:
        parts: formula and clusters' sums (C, k) of each, the same clusters in the same order.
        resamples, seed, level, block: as in `bootstrap.bootstrap_many`, whose draws these are.

    Returns:
        Bounds are value − q · se, q the percentiles of (value* − value) / se* over the resamples. A resample
        without any variance has a ratio beyond all others, on the side of its deviation, or none. NaN bounds where
        the value or its standard error is undefined or a percentile is such an infinite ratio.
    """
    alpha = require_level(level)
    clusters = len(parts[0][1]) if parts else 0
    made = [_Part(valued, table) for valued, table in parts]
    ratios = np.full((len(made), resamples), np.nan)
    start = 0
    if clusters > 1:
        for weights in cluster_draws(clusters, resamples, seed, block_rows(32 * clusters, block)):
            stop = start + len(weights)
            for row, part in enumerate(made):
                ratios[row, start:stop] = part.ratios(weights)
            start = stop
    return [
        part.interval(drawn, clusters, resamples, alpha) for part, drawn in zip(made, ratios, strict=True)
    ]


class _Part:
    """One formula over the sums of clusters."""

    def __init__(self, valued: Valued, table: Floats) -> None:
        self.valued, self.table, self.steps = valued, table, step_sizes(table)
        self.value = float(valued.value(table.sum(axis=0)))
        self.se = standard_error(valued, table)
        self.scale = scale_of(self.value, self.se, len(table))
        self.moments = second_moments(table)

    def ratios(self, weights: Floats) -> Floats:
        """(value* − value) / se* of resamples, shape (b,)."""
        clusters, k = self.table.shape
        sums = weights @ self.table
        slopes = gradients(self.valued, sums, self.steps)
        moments = (weights @ self.moments).reshape(-1, k, k)
        squares = np.einsum("bi,bij,bj->b", slopes, moments, slopes)
        squares -= np.einsum("bi,bi->b", slopes, sums) ** 2 / clusters
        errors = np.sqrt(np.maximum(squares, 0.0) * clusters / (clusters - 1))
        return divided(np.asarray(self.valued.value(sums) - self.value), errors, self.scale, clusters)

    def interval(self, ratios: Floats, clusters: int, resamples: int, alpha: float) -> Interval:
        """Bounds from all resamples' ratios."""
        there = ratios[~np.isnan(ratios)]
        undefined = len(ratios) - len(there)
        low = high = float("nan")
        if len(there) and self.se == self.se:
            least, most = np.quantile(there, [alpha, 1 - alpha], method="inverted_cdf")
            if np.isfinite(least) and np.isfinite(most):
                low, high = self.value - float(most) * self.se, self.value - float(least) * self.se
        return Interval(self.value, low, high, clusters, resamples, undefined)


def second_moments(table: Floats) -> Floats:
    """s_c s_cᵀ of each cluster, shape (C, k²)."""
    return np.asarray(np.einsum("ci,cj->cij", table, table).reshape(len(table), -1))


def scale_of(value: float, se: float, clusters: int) -> float:
    """The size of what a value is made from: itself, and what clusters contribute."""
    return abs(value) + math.sqrt(clusters) * (se if se == se else 0.0)


def divided(deviations: Floats, errors: Floats, scale: float | Floats, clusters: int) -> Floats:
    """Deviations by their errors; where an error is rounding: 0 for no deviation, else infinite.

    Args:
        deviations, errors: of one shape, or to be broadcast to it.
        scale: of the values, see `scale_of`.
        clusters: how many.
    """
    nothing = errors <= NO_ERROR / math.sqrt(clusters) * np.asarray(scale)
    ratio = deviations / np.where(nothing, 1.0, errors)
    none = np.abs(deviations) <= NO_DEVIATION * np.asarray(scale)
    beyond = np.where(none, 0.0, np.copysign(np.inf, deviations))
    return np.where(np.isnan(deviations), np.nan, np.where(nothing, beyond, ratio))
