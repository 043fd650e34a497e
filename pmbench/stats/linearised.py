"""What each cluster contributes to a value: derivatives of a formula over sums, and values without one cluster.

The contribution of cluster c with sums s_c to a formula f over total sums S is ∇f(S)·s_c less its mean over clusters
(the infinitesimal jackknife, or delta method: Efron, The Jackknife, the Bootstrap and Other Resampling Plans, 1982,
chapter 6). For a mean it is the cluster's residuals over n, exactly.
"""

from __future__ import annotations

import numpy as np

from pmbench.stats.bootstrap import Valued
from pmbench.stats.clusters import Floats

_STEP = 1e-5
"""Of a central difference, as a share of the size of the sums: truncation and rounding are then both about 1e-10."""


class Difference:
    """A metric of one system less that of another, over their columns side by side, shape (..., 2k)."""

    def __init__(self, metric: Valued) -> None:
        self.metric = metric

    def value(self, sums: Floats) -> Floats:
        """NaN where one of them is undefined."""
        half = sums.shape[-1] // 2
        return np.asarray(self.metric.value(sums[..., :half]) - self.metric.value(sums[..., half:]))


def step_sizes(table: Floats) -> Floats:
    """For each column of sums (C, k) how far to step for its derivative, shape (k,)."""
    scale = np.maximum(np.abs(table.sum(axis=0)), np.sqrt((table * table).sum(axis=0)))
    return _STEP * np.where(scale > 0, scale, 1.0)


def gradients(valued: Valued, sums: Floats, steps: Floats) -> Floats:
    """Derivatives of the value by each sum, shape (..., k) as the sums, by central differences."""
    found = np.empty_like(sums)
    for column, step in enumerate(steps.tolist()):
        ahead, behind = sums.copy(), sums.copy()
        ahead[..., column] += step
        behind[..., column] -= step
        found[..., column] = (valued.value(ahead) - valued.value(behind)) / (2 * step)
    return found


def contributions(valued: Valued, table: Floats) -> Floats:
    """What each cluster contributes, shape (C,); they add up to 0, and their squares to a first-order variance."""
    each = table @ gradients(valued, table.sum(axis=0), step_sizes(table))
    return np.asarray(each - each.mean())


def standard_error(valued: Valued, table: Floats) -> float:
    """First-order standard error of the value, with the factor C/(C − 1)."""
    count = len(table)
    if count < 2:
        return float("nan")
    each = contributions(valued, table)
    return float(np.sqrt(count / (count - 1) * (each @ each)))


def leave_one_out(valued: Valued, table: Floats) -> Floats:
    """The value without each cluster, shape (C,)."""
    return np.asarray(valued.value(table.sum(axis=0) - table), dtype=np.float64)


def response_values(valued: Valued, table: Floats) -> Floats:
    """What each response says of the value: its score, where the value is a plain mean.

    With S the sums over n instances, samples of one averaged, the response with columns c has the value
    f(S) + n ∇f(S)·c − ∇f(S)·S: their mean over all responses is f(S), and their spread is that of f to first order
    (the pseudo-values of the infinitesimal jackknife; Efron 1982, chapter 6).

    Args:
        valued: the formula.
        table: columns, shape (n, K, k), finite, K samples of each instance.

    Returns:
        Shape (n, K); NaN where the value is undefined.
    """
    means = table.mean(axis=1)
    sums = means.sum(axis=0)
    slopes = gradients(valued, sums, step_sizes(means))
    return np.asarray(float(valued.value(sums)) - slopes @ sums + len(table) * (table @ slopes))
