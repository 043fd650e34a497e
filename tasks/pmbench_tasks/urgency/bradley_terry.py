"""Strengths of messages from some comparisons: the model of Bradley and Terry (Biometrika 39(3/4), 1952).

The probability that j is held more urgent than i is 1 / (1 + exp(θ_i − θ_j)). A comparison's answer counts as a share
of a win, so ½ is a tie. The strengths have independent normal priors, which keeps them finite whatever is known: a
message that was never compared has strength 0, the middle.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

PRIOR_VARIANCE = 9.0
"""Of a strength: a difference of two then has a standard deviation of about 4, odds of 70 to 1."""

_STEPS, _SMALL = 100, 1e-10


def strengths(n: int, known: Mapping[tuple[int, int], float]) -> tuple[Floats, Floats]:
    """Strengths of n messages, at the mode of the posterior, and the inverse of its curvature there.

    Newton's method with halved steps: the logarithm of the posterior is strictly concave.

    Args:
        n: messages.
        known: (i, j) to the probability that j is more urgent, each pair in one order.

    Returns:
        Strengths, shape (n,), and their covariance (Laplace's approximation), shape (n, n).
    """
    pairs = np.array(sorted(known), dtype=int).reshape(-1, 2)
    shares = np.array([known[i, j] for i, j in pairs.tolist()], dtype=float)
    theta: Floats = np.zeros(n)
    for _ in range(_STEPS):
        slope, curvature = _derivatives(theta, pairs, shares)
        step = np.linalg.solve(curvature, slope)
        size, here = 1.0, _log_posterior(theta, pairs, shares)
        while size > _SMALL and _log_posterior(theta + size * step, pairs, shares) < here:
            size /= 2
        theta += size * step
        if np.abs(step).max(initial=0.0) < _SMALL:
            break
    return theta, np.linalg.inv(_derivatives(theta, pairs, shares)[1]).astype(float)


def _log_posterior(theta: Floats, pairs: NDArray[np.int_], shares: Floats) -> float:
    gap = theta[pairs[:, 1]] - theta[pairs[:, 0]]
    likelihood = shares * gap - np.logaddexp(0.0, gap)
    return float(likelihood.sum() - (theta**2).sum() / (2 * PRIOR_VARIANCE))


def _derivatives(theta: Floats, pairs: NDArray[np.int_], shares: Floats) -> tuple[Floats, Floats]:
    """Gradient, and the negative of the second derivatives."""
    first, second = pairs[:, 0], pairs[:, 1]
    expected = 1.0 / (1.0 + np.exp(theta[first] - theta[second]))
    slope = -theta / PRIOR_VARIANCE
    np.add.at(slope, second, shares - expected)
    np.add.at(slope, first, expected - shares)
    curvature = np.eye(len(theta)) / PRIOR_VARIANCE
    weight = expected * (1 - expected)
    for one, other, sign in (
        (first, first, 1),
        (second, second, 1),
        (first, second, -1),
        (second, first, -1),
    ):
        np.add.at(curvature, (one, other), sign * weight)
    return slope, curvature
