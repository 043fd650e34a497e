"""A mean that people would give, from a judge's scores of all instances and people's of some: PPI++.

With y people's values of n labelled rows, f the judge's, and N rows that only the judge has scored, the estimate is
λ·mean(f over N) + mean(y − λ f over n): what the judge says, corrected by how far it is off where people have
looked. λ = 1 takes the judge as fully as can be, λ = 0 leaves it out; the best one is cov(y, f) / ((1 + n/N) var(f)),
kept between 0 and 1 (power tuning of a mean: Angelopoulos, Duchi & Zrnic, PPI++, arXiv 2311.01453;
prediction-powered inference: Angelopoulos et al., Science 382, 2023).

Covariances and variances are taken from sums over clusters, so that rows of one cluster count as the one thing that
they are. The standard error is that of the leave-one-cluster-out jackknife (`cluster_robust`), which finds λ anew
each time: with few labels the choice of λ is a good part of the uncertainty. The paper's formula, which is for many
labels, leaves it out, and with a few dozen of them its intervals are too narrow.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from pmbench.stats.checks import UnusableNumbers, finite_row, require_level
from pmbench.stats.cluster_robust import bounds, jackknife_error
from pmbench.stats.clusters import Floats, ordered_sums
from pmbench.stats.dyadic import t_quantile

FEWEST_LABELLED = 2

AGREE = (
    "the judge agrees with people on every labelled row: how often it is off elsewhere is not in the bounds"
)
ALIKE = "the estimate does not vary: bounds are those of the labelled rows alone"


class PredictionPowered(msgspec.Struct, frozen=True):
    """A judge-corrected mean.

    Attributes:
        value, low, high: with its interval; se: its standard error.
        weight: λ, how far the judge is relied on, 0 to 1.
        labelled_only: mean and interval from the labelled rows alone, as (value, low, high).
        judge_only: the judge's mean over all rows, taken at its word.
        labelled, unlabelled: rows; clusters: clusters of the labelled rows.
        note: what is special about the bounds; empty otherwise.
    """

    value: float
    low: float
    high: float
    se: float
    weight: float
    labelled_only: tuple[float, float, float]
    judge_only: float
    labelled: int
    unlabelled: int
    clusters: int
    note: str = ""


def prediction_powered_mean(
    people: ArrayLike,
    judge: ArrayLike,
    judge_unlabelled: ArrayLike,
    clusters: Sequence[Hashable] = (),
    clusters_unlabelled: Sequence[Hashable] = (),
    *,
    weight: float | None = None,
    level: float = 0.95,
    limits: tuple[float, float] | None = None,
) -> PredictionPowered:
    """Mean of people's values with its interval.

    Args:
        people: their values of the labelled rows, shape (n,); the labelled rows must be a random choice of all.
        judge: the judge's values of the same rows, shape (n,).
        judge_unlabelled: the judge's values of the other rows, shape (N,).
        clusters, clusters_unlabelled: the cluster of each row; empty: every row is its own. A cluster may have
            rows of both kinds.
        weight: λ; None: the best one.
        level: coverage asked for; Student's t with the smaller number of clusters of the two kinds, less one.

        limits: of the mean, where people's values have some: bounds are made on the logit scale and stay inside.

    Raises:
        UnusableNumbers: NaN in the values, lengths that differ, fewer than two clusters of either kind.
    """
    alpha = require_level(level)
    y, f, rest = (
        finite_row("people", people),
        finite_row("judge", judge),
        finite_row("judge_unlabelled", judge_unlabelled),
    )
    labels, other = _labels(clusters, len(y), "l"), _labels(clusters_unlabelled, len(rest), "u")
    if len(y) != len(f) or len(labels) != len(y) or len(other) != len(rest):
        raise UnusableNumbers(
            f"{len(y)} values of people, {len(f)} of the judge, {len(labels)} clusters' labels"
        )
    counts = len(set(labels)), len(set(other))
    if min(counts) < FEWEST_LABELLED:
        raise UnusableNumbers(
            f"{counts[0]} labelled and {counts[1]} unlabelled clusters: two of each are needed"
        )
    table = _table(y, f, rest, [*labels, *other])
    estimate, alone = _Estimate(weight), _Estimate(0.0)
    total = table.sum(axis=0)
    value, se = float(estimate.value(total)), jackknife_error(estimate, table)
    mean, se_alone = float(y.mean()), jackknife_error(alone, table[table[:, 0] > 0])
    of_labelled = mean, *bounds(mean, t_quantile(counts[0] - 1, 1 - alpha) * se_alone, limits)
    low, high = bounds(value, t_quantile(min(counts) - 1, 1 - alpha) * se, limits)
    note = AGREE if np.array_equal(y, f) else ""
    if se <= 1e-12 * max(1.0, abs(value)):  # nothing varies: what the labelled rows show is all there is
        low, high, note = of_labelled[1], of_labelled[2], note or ALIKE
    return PredictionPowered(
        value=value,
        low=low,
        high=high,
        se=se,
        weight=float(estimate.weight(total)),
        labelled_only=of_labelled,
        judge_only=float(np.concatenate([f, rest]).mean()),
        labelled=len(y),
        unlabelled=len(rest),
        clusters=counts[0],
        note=note,
    )


def _labels(clusters: Sequence[Hashable], rows: int, kind: str) -> list[Hashable]:
    return list(clusters) if len(clusters) else [(kind, row) for row in range(rows)]


def _table(y: Floats, f: Floats, rest: Floats, labels: Sequence[Hashable]) -> Floats:
    """What the estimate is made of, for each cluster, shape (C, 12): all of it adds up.

    With n labelled and N other rows of a cluster, Y and F its labelled sums, G the judge's others, P = F + G and
    M = n + N: n, Y, F, N, G, then YF, nF, nY, n², for a covariance by cluster, and P², MP, M² for a variance.
    """
    shift = float(np.concatenate([f, rest]).mean())  # nearer to 0, squares lose fewer digits
    rows = np.zeros((len(y) + len(rest), 5))
    rows[: len(y), 0] = 1.0
    rows[: len(y), 1], rows[: len(y), 2] = y, f - shift
    rows[len(y) :, 3], rows[len(y) :, 4] = 1.0, rest - shift
    n, y_sum, f_sum, others, g_sum = ordered_sums(rows, labels).T
    pooled, size = f_sum + g_sum, n + others
    products = [y_sum * f_sum, n * f_sum, n * y_sum, n**2, pooled**2, size * pooled, size**2]
    return np.stack([n, y_sum, f_sum, others, g_sum, *products], axis=1)


class _Estimate:
    """The estimate from sums over clusters, with a given weight or the best one."""

    def __init__(self, weight: float | None) -> None:
        self.fixed = weight

    def weight(self, sums: Floats) -> Floats:
        """λ with the least variance, 0 to 1; with every row its own cluster it is that of the paper."""
        n, y_sum, f_sum, others, g_sum, yf, nf, ny, nn, pp, mp, mm = np.moveaxis(sums, -1, 0)
        if self.fixed is not None:
            return np.full(n.shape, self.fixed)
        y, f, pooled = y_sum / n, f_sum / n, (f_sum + g_sum) / (n + others)
        covariance = (yf - y * nf - f * ny + y * f * nn) / n
        variance = (pp - 2 * pooled * mp + pooled**2 * mm) / (n + others - 1)
        scaled = (1 + n / others) * variance
        known = scaled > 1e-12 * pp / (n + others)
        return np.where(known, np.clip(covariance / np.where(known, scaled, 1.0), 0.0, 1.0), 0.0)

    def value(self, sums: Floats) -> Floats:
        """Mean of people's values, moved by how far the judge's of all are from those of the labelled rows."""
        n, y_sum, f_sum, others, g_sum = np.moveaxis(sums[..., :5], -1, 0)
        judged = g_sum / np.maximum(others, 1) - f_sum / n
        return np.asarray(y_sum / n + self.weight(sums) * judged)
