"""What the comparisons of an inbox say of the comparator, and what missing ones could have changed.

Matrices are those of `ranking.comparison_matrix`, or of `ranking.both_orders` where it says so.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pmbench_tasks.urgency.ranking import contributions

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Side = Literal["right", "wrong"]


def right_comparisons(levels: Floats, answers: Floats) -> Floats:
    """Whether each comparison held the more urgent message to be so.

    Args:
        levels: shape (n,).
        answers: of `both_orders`, shape (n, n).

    Returns:
        Shape (n, n), symmetric: 1 right, ½ equal, 0 wrong; NaN where levels are the same or an answer is missing.
    """
    verdict = np.sign(answers.T - answers) * np.sign(levels[None, :] - levels[:, None])
    right: Floats = np.where(levels[None, :] == levels[:, None], np.nan, (1 + verdict) / 2)
    return right


def agreement_of_orders(answers: Floats) -> Floats:
    """Whether both orders of each pair name the same message, for probabilities.

    Returns:
        Shape (n, n), symmetric: 1 or 0, a probability of exactly ½ naming none; NaN where an answer is missing.
    """
    return np.where(np.isnan(answers + answers.T), np.nan, (answers - 0.5) * (answers.T - 0.5) < 0)


def missing_pairs(answers: Floats) -> Flags:
    """Which pairs have no comparison, shape (n, n), symmetric. `answers` is of `both_orders`."""
    missing: Flags = np.isnan(answers + answers.T)
    np.fill_diagonal(missing, False)
    return missing


def tied_pairs(answers: Floats) -> int:
    """How many pairs were held equal. `answers` is of `both_orders`."""
    return int(np.triu(answers == answers.T, 1).sum())


def completed_scores(
    levels: Floats, answers: Floats, side: Side, scale: Literal["probability", "reward"] = "probability"
) -> Floats:
    """Win rates if every missing comparison had gone the right way, or the wrong one, as clearly as it could.

    As clear as can be is η = 1 for probabilities, and the largest η of the inbox for reward scores. Messages of one
    level still get half each. These are cases that say how much could hang on what is missing, and no bounds of
    all that is possible: a win over an equally urgent message can push either way.

    Args:
        levels: shape (n,).
        answers: of `both_orders`, shape (n, n).
        side: the way.
        scale: of the answers.

    Returns:
        Shape (n,).
    """
    margins = np.abs(answers - answers.T)
    margin = 1.0 if scale == "probability" or np.isnan(margins).all() else float(np.nanmax(margins))
    more = levels[:, None] < levels[None, :]
    wins = more if side == "right" else more.T
    missing = missing_pairs(answers) & (levels[:, None] != levels[None, :])
    gained = contributions(answers)
    total: Floats = np.where(missing, np.where(wins, 1.0 + margin, 0.0), gained).sum(axis=1)
    return total


def placed_scores(levels: Floats, scores: Floats, side: Side | None = None) -> Floats:
    """Scores with places for the messages that have none.

    Their pairs count half each, as a missing comparison does, which is the middle of the others; or all of them go
    the right way, or the wrong one. The order of the others stays.

    Args:
        levels: shape (n,).
        scores: shape (n,), NaN where a message has none.
        side: the way; None: half each.

    Returns:
        Shape (n,); the scores themselves where all are there.
    """
    there = ~np.isnan(scores)
    if there.all():
        return scores
    known = scores[there]
    beaten = (known[:, None] > known[None, :]).sum(axis=1) + (
        (known[:, None] == known[None, :]).sum(axis=1) - 1
    ) / 2
    own, others = levels[~there][:, None], levels[there][None, :]
    if side is None:
        won = np.full(len(own), len(known) / 2)
    else:
        more = own < others if side == "right" else own > others
        won = more.sum(axis=1) + (own == others).sum(axis=1) / 2
    placed = np.empty(len(scores))
    placed[there], placed[~there] = beaten, won - 0.5
    return placed
