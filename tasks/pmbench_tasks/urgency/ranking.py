"""From comparisons to scores, and from scores to places: the win-rate sort of section 4.2 of arXiv 2601.13178.

A matrix of comparisons has in cell [i][j] what the comparator answered when it was shown i first and j second: how
much it holds j to be more urgent than i, as a probability or as a reward score. The diagonal is not looked at.
None and NaN are comparisons that are missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pmbench_tasks.urgency.options import Orders

Floats = NDArray[np.float64]
Places = NDArray[np.intp]

DECIMALS = 9
"""Scores that agree to this many decimals are tied."""

_BLOCK = 1 << 21
"""Cells that `blocks` lets one step hold at most."""


def win_rate(
    second_more_urgent: ArrayLike | Sequence[Sequence[float | None]], orders: Orders = "both"
) -> Floats:
    """Total of each message over its pairs; higher is more urgent.

    The winner of a pair gets 1 + η, the loser nothing; a pair that is equal or missing gives half to each. Asked in
    both orders, the larger of [i][j] and [j][i] decides, and η is their difference. Asked in one, the answer is
    compared with ½, and η = |2p − 1|.

    Args:
        second_more_urgent: shape (n, n), as in the module's text.
        orders: `one`: only one of [i][j] and [j][i] was asked for.

    Returns:
        Shape (n,), not rounded.

    Raises:
        ValueError: as in `contributions`.
    """
    total: Floats = contributions(second_more_urgent, orders).sum(axis=1)
    return total


def contributions(
    second_more_urgent: ArrayLike | Sequence[Sequence[float | None]], orders: Orders = "both"
) -> Floats:
    """What each message gets from its pair with each other one.

    Args:
        second_more_urgent: shape (n, n).
        orders: as in `win_rate`.

    Returns:
        Shape (n, n): [i, j] is what i gets from its pair with j; the diagonal is 0. Row sums are `win_rate`.

    Raises:
        ValueError: not a square, a cell that is infinite, or, for `one`, a pair with both cells or a cell that is no
            probability.
    """
    answers = both_orders(second_more_urgent, orders)
    difference = answers.T - answers
    gained = np.where(difference > 0, 1.0 + difference, 0.0)
    gained[(difference == 0) | np.isnan(difference)] = 0.5
    np.fill_diagonal(gained, 0.0)
    return gained


def comparison_matrix(second_more_urgent: ArrayLike | Sequence[Sequence[float | None]]) -> Floats:
    """The comparisons as an array, NaN where one is missing and on the diagonal.

    Raises:
        ValueError: not a square, or a cell that is infinite.
    """
    answers = np.array(second_more_urgent, dtype=float)
    if answers.ndim != 2 or answers.shape[0] != answers.shape[1]:
        raise ValueError(f"comparisons of shape {answers.shape} are not a square of messages")
    np.fill_diagonal(answers, np.nan)
    if np.isinf(answers).any():
        raise ValueError("a comparison is infinite")
    return answers


def both_orders(second_more_urgent: ArrayLike | Sequence[Sequence[float | None]], orders: Orders) -> Floats:
    """The comparisons as if both orders had been asked: for `one`, [j][i] is 1 − [i][j].

    Then |[i][j] − [j][i]| is |2p − 1|, and the larger of the two is the one above ½.

    Raises:
        ValueError: as in `contributions`.
    """
    answers = comparison_matrix(second_more_urgent)
    if orders == "both":
        return answers
    known = ~np.isnan(answers)
    if (known & known.T).any():
        raise ValueError("one order was said to have been asked, but a pair has both")
    if ((answers < 0) | (answers > 1)).any():
        raise ValueError("comparisons in one order have to be probabilities")
    return np.where(known.T, 1.0 - answers.T, answers)


def drawn_scores(gained: Floats, draws: Places) -> Floats:
    """Scores of drawn inboxes, their messages ranked anew; copies of one message tie with each other.

    Args:
        gained: of `contributions`, shape (n, n).
        draws: places of the messages drawn, shape (B, m), from 0.

    Returns:
        Shape (B, m): the total of each drawn copy over its pairs with all others of its inbox, to 9 decimals.
    """
    table = gained.copy()
    np.fill_diagonal(table, 0.5)
    # Not BLAS: its threads wait for each other on a busy machine, and may sum in another order on the next one.
    totals = np.einsum("bj,ij->bi", drawn_counts(draws, len(gained)), table) - 0.5
    return np.round(np.take_along_axis(totals, draws, axis=1), DECIMALS)


def drawn_counts(draws: Places, n: int) -> Floats:
    """How often each of n messages was drawn, shape (B, m) to (B, n)."""
    rows = np.arange(len(draws))[:, None] * n
    counts = np.bincount((rows + draws).ravel(), minlength=len(draws) * n)
    return counts.reshape(len(draws), n).astype(float)


def tied_places(scores: Floats) -> tuple[Places, Places, Places]:
    """The order by score, highest first, and which places are shared.

    Args:
        scores: shape (B, m), finite.

    Returns:
        Three arrays of shape (B, m). `order`: who stands at each place; the scores tied there stand in any order.
        `start`, `end`: the places start … end − 1 are shared by those tied with the one at this place.
    """
    rounded = np.round(scores, DECIMALS)
    order = np.argsort(-rounded, axis=1)
    ranked = np.take_along_axis(rounded, order, axis=1)
    rows, m = ranked.shape
    edges = np.ones((rows, m + 1), dtype=bool)
    edges[:, 1:m] = ranked[:, 1:] != ranked[:, :-1]
    places = np.arange(m + 1)
    start = np.maximum.accumulate(np.where(edges[:, :m], places[:m], 0), axis=1)
    end = np.minimum.accumulate(np.where(edges[:, 1:], places[1:], m)[:, ::-1], axis=1)[:, ::-1]
    return order, start, end


def mean_over_ties(weights: Floats, start: Places, end: Places) -> Floats:
    """The mean weight of the places that are shared: the expectation over orders of those tied.

    Args:
        weights: of each place, shape (m,).
        start, end: of `tied_places`, shape (B, m).

    Returns:
        Shape (B, m), by place.
    """
    sums = np.concatenate([[0.0], np.cumsum(weights)])
    mean: Floats = (sums[end] - sums[start]) / (end - start)
    return mean


def as_rows(values: ArrayLike, what: str) -> Floats:
    """One list, or B of them, as rows of floats, shape (B, m).

    Raises:
        ValueError: neither, empty, or one is not finite; `what` names the values.
    """
    rows = np.atleast_2d(np.asarray(values, dtype=float))
    if rows.ndim != 2 or rows.shape[1] == 0:
        raise ValueError(f"{what} of shape {np.shape(values)} are neither a list nor rows of lists")
    if not np.isfinite(rows).all():
        raise ValueError(f"{what} hold a number that is not finite")
    return rows


def blocks(rows: int, width: int) -> list[slice]:
    """Slices of B rows, so that one step holds about 2 million cells however many rows there are."""
    step = max(1, _BLOCK // max(1, width))
    return [slice(at, min(at + step, rows)) for at in range(0, rows, step)]


def stored(comparisons: Any) -> bool:
    """Whether a score's `comparisons` are there."""
    return comparisons is not None and len(comparisons) > 0
