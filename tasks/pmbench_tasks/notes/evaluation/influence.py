"""Which questions predict ratings? (Named as future work in appendix H of the paper.)

Two views of one question. Its coefficient in the logistic regression of 5 stars against 1 on the coverage matrix:
with the other questions held fixed, and drawn towards 0 by the penalty, as its interval is too. The penalty is
scikit-learn's usual one (C = 1) and not that of cross-validation, which may be so strong that every coefficient is
0, or so weak that the coefficient of a question without any praise is as large as the search allows. And the plain
difference of mean stars between the feedback that it covers and the rest, without any penalty.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from pmbench_tasks.notes.evaluation.covering import ITEM
from pmbench_tasks.notes.evaluation.intervals import (
    NAN,
    Estimate,
    Floats,
    bounded,
    drawn_counts,
    estimates,
    nothing,
)
from pmbench_tasks.notes.evaluation.predictive import rated

RESAMPLES = 1_000

PENALTY = 1.0
"""Inverse strength of the penalty on coefficients, C."""

_STEPS = 60
_CLOSE = 1e-7


class Influence(msgspec.Struct, frozen=True, kw_only=True):
    """What one question has to do with ratings.

    Attributes:
        question: its id.
        covers: feedback items that it covers, of those with stars and a known answer.
        coefficient: log odds of 5 stars against 1, for feedback that it covers; above 0: praise, below 0: complaint.
        stars: mean stars of the feedback that it covers less that of the rest, all five ratings.
    """

    question: str
    covers: int
    coefficient: Estimate
    stars: Estimate


class Influences(msgspec.Struct, frozen=True, kw_only=True):
    """Of all questions, in order.

    Attributes:
        questions: of each.
        penalty: inverse strength of the penalty, C.
        items, rated: feedback items with 1 or 5 stars, and with any stars.
    """

    questions: tuple[Influence, ...]
    penalty: float
    items: int
    rated: int


def influences(
    matrix: ArrayLike,
    stars: Sequence[float],
    questions: Sequence[str],
    *,
    penalty: float = PENALTY,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Influences:
    """Coefficients and differences of stars of all questions, with intervals by feedback item.

    Args:
        matrix: coverage, (k, n): 1, 0 or NaN; items with a missing answer are left out.
        stars: of each item, 1 to 5, or NaN.
        questions: ids, length k.
        penalty: C.
        resamples, seed: of the bootstrap.

    Raises:
        ValueError: as in `rated`, or ids that do not fit.
    """
    everything, ratings, _ = rated(matrix, stars, "multiclass")
    if everything.shape[1] != len(questions):
        raise ValueError(f"{len(questions)} questions and coverage by {everything.shape[1]}")
    features, extremes, _ = rated(matrix, stars, "binary")
    fitted = _coefficients(features, extremes == 5, penalty, resamples, seed)
    gaps = _star_gaps(everything, ratings.astype(np.float64), resamples, seed)
    covers = everything.sum(axis=0).astype(int).tolist()
    return Influences(
        questions=tuple(
            Influence(question=question, covers=count, coefficient=one, stars=gap)
            for question, count, one, gap in zip(questions, covers, fitted, gaps, strict=True)
        ),
        penalty=penalty,
        items=len(extremes),
        rated=len(ratings),
    )


def logistic_fits(features: Floats, good: Floats, weights: Floats, penalty: float) -> Floats:
    """Penalised logistic regressions of one outcome on the same features, with many sets of weights at once.

    The least of C · Σ w · loss + ½ |β|² with the intercept left free: scikit-learn's objective. Newton's steps,
    halved where one would not lead down.

    Args:
        features: (n, k).
        good: the outcome, 1 or 0, (n,).
        weights: of each item in each fit, (B, n).
        penalty: C.

    Returns:
        Coefficients and, last, the intercept, (B, k + 1). NaN where a fit has one outcome only.
    """
    x = np.column_stack([features, np.ones(len(features))])
    ridge = np.diag([1.0] * features.shape[1] + [0.0])
    beta = np.zeros((len(weights), x.shape[1]))
    for _ in range(_STEPS):
        chance = 1 / (1 + np.exp(-np.clip(beta @ x.T, -500, 500)))
        slope = penalty * (weights * (chance - good)) @ x + beta @ ridge
        if np.abs(slope).max() < _CLOSE * max(1.0, penalty):
            break
        bend = penalty * np.matmul(x.T[None] * (weights * chance * (1 - chance))[:, None, :], x) + ridge
        bend[:, -1, -1] += 1e-9
        step = np.linalg.solve(bend, slope[..., None])[..., 0]
        beta = _downhill(beta, step, x, good, weights, penalty, ridge)
    one_kind = (weights @ good == 0) | (weights @ (1 - good) == 0)
    far = np.abs(slope).max(axis=1) > 1e-4 * max(1.0, penalty)
    return np.where((one_kind | far)[:, None], NAN, beta)


def _downhill(
    beta: Floats, step: Floats, x: Floats, good: Floats, weights: Floats, penalty: float, ridge: Floats
) -> Floats:
    def loss(at: Floats) -> Floats:
        score = at @ x.T
        each: Floats = np.logaddexp(0, score) - good * score
        total: Floats = penalty * (weights * each).sum(axis=1) + 0.5 * ((at @ ridge) ** 2).sum(axis=1)
        return total

    now = loss(beta)
    length = np.ones((len(beta), 1))
    for _ in range(20):
        worse = loss(beta - length * step) > now + 1e-12 * np.abs(now)
        if not worse.any():
            break
        length[worse] /= 2
    return beta - length * step


def _coefficients(
    features: Floats, good: ArrayLike, penalty: float, resamples: int, seed: int
) -> list[Estimate]:
    outcome = np.asarray(good, dtype=np.float64)
    items, many = features.shape
    if len(set(outcome.tolist())) < 2:
        return [nothing(ITEM, "no feedback with 1 and with 5 stars", units=items)] * many
    value = logistic_fits(features, outcome, np.ones((1, items)), penalty)[0]
    drawn = []
    for counts in drawn_counts(items, resamples, seed, width=2 * many):
        fits = logistic_fits(features, outcome, counts, penalty)[:, :many]
        # Where no item that it covers was drawn, the penalty alone says 0.
        drawn.append(np.where(counts @ features > 0, fits, NAN))
    table = np.concatenate(drawn)
    return [
        bounded(float(value[one]), table[:, one], items, unit=ITEM)
        if features[:, one].any()
        else nothing(ITEM, "covers none", units=items)
        for one in range(many)
    ]


def _star_gaps(features: Floats, stars: Floats, resamples: int, seed: int) -> list[Estimate]:
    if not len(features):
        return [nothing(ITEM, "no feedback with stars")] * features.shape[1]
    rest = 1 - features
    columns = np.stack([features * stars[:, None], features, rest * stars[:, None], rest], axis=-1)

    def formula(sums: Floats) -> Floats:
        there = (sums[..., 1] > 0) & (sums[..., 3] > 0)
        safe = np.where(there[..., None], sums, 1.0)
        return np.where(there, safe[..., 0] / safe[..., 1] - safe[..., 2] / safe[..., 3], NAN)

    return estimates(formula, columns, unit=ITEM, resamples=resamples, seed=seed)
