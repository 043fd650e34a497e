"""What else an order is worth: agreement with the levels, and what happens to the most urgent messages.

Scores that agree to 9 decimals are tied, and every number is its exact expectation over all orders of those tied.
Each function takes one inbox (lists of n) or B of them (shape (B, n)) and returns shape (B,); B is 1 for lists.
A half such as level 1.5 counts as the more urgent level beside it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pmbench_tasks.urgency.options import PER_HOUR
from pmbench_tasks.urgency.ranking import DECIMALS, Places, as_rows, mean_over_ties, tied_places

Floats = NDArray[np.float64]


class Agreement(NamedTuple):
    """Pairs of messages by how scores and levels see them, each of shape (B,).

    Attributes:
        right: of different level, and the more urgent one has the higher score.
        wrong: of different level, and it has the lower one.
        tied: of different level, with the same score.
        alike: of the same level, with different scores.
    """

    right: Floats
    wrong: Floats
    tied: Floats
    alike: Floats


def agreement(levels: ArrayLike, scores: ArrayLike) -> Agreement:
    """Count the pairs of each inbox.

    Raises:
        ValueError: lists of different lengths, empty or not finite.
    """
    urgency, ranked = _rows(levels, scores)
    urgency, ranked = -urgency, np.round(ranked, DECIMALS)
    right, wrong, tied, alike = np.zeros((4, len(ranked)))
    for apart in range(1, ranked.shape[1]):
        # One diagonal of the pairs at a time: memory stays that of the scores.
        more = urgency[:, apart:] > urgency[:, :-apart]
        less = urgency[:, apart:] < urgency[:, :-apart]
        above = ranked[:, apart:] > ranked[:, :-apart]
        below = ranked[:, apart:] < ranked[:, :-apart]
        right += ((more & above) | (less & below)).sum(axis=1)
        wrong += ((more & below) | (less & above)).sum(axis=1)
        tied += ((more | less) & ~above & ~below).sum(axis=1)
        alike += (~more & ~less & (above | below)).sum(axis=1)
    return Agreement(right, wrong, tied, alike)


def order_accuracy(levels: ArrayLike, scores: ArrayLike) -> Floats:
    """Share of pairs of different level that stand in the right order, ties half; NaN where there is no such pair.

    Raises:
        ValueError: as `agreement`.
    """
    pairs = agreement(levels, scores)
    return _ratio(pairs.right + pairs.tied / 2, pairs.right + pairs.wrong + pairs.tied)


def kendall_tau_b(levels: ArrayLike, scores: ArrayLike, *, no_order: float = float("nan")) -> Floats:
    """Kendall's τ-b between scores and urgency (Kendall, Biometrika 33(3), 1945).

    Args:
        levels, scores: of n messages.
        no_order: the value where all scores are the same, which τ-b has none for.

    Returns:
        Between −1 and 1; NaN where all levels are the same.

    Raises:
        ValueError: as `agreement`.
    """
    pairs = agreement(levels, scores)
    decided = pairs.right + pairs.wrong
    by_level, by_score = decided + pairs.tied, decided + pairs.alike
    tau = _ratio(pairs.right - pairs.wrong, np.sqrt(by_level * by_score))
    return np.where((by_score == 0) & (by_level > 0), no_order, tau)


def in_bottom_third(levels: ArrayLike, scores: ArrayLike, level: int) -> Floats:
    """Expected number of messages of one level that stand at the last n // 3 places; 0 where there is none of it.

    Raises:
        ValueError: as `agreement`.
    """
    own, ranked = _rows(levels, scores)
    m = ranked.shape[1]
    order, start, end = tied_places(ranked)
    there = mean_over_ties((np.arange(m) >= m - m // 3).astype(float), start, end)
    expected: Floats = (there * _by_place(_is_of(own, level), order)).sum(axis=1)
    return expected


def worst_rank(levels: ArrayLike, scores: ArrayLike, level: int = 1) -> Floats:
    """Expected rank (from 1) of the last message of one level; NaN where there is none of it.

    Among g that are tied after s others, the last of c of them is expected at s + c·(g + 1)/(c + 1).

    Raises:
        ValueError: as `agreement`.
    """
    own, ranked = _rows(levels, scores)
    order, start, end = tied_places(ranked)
    here = _by_place(_is_of(own, level), order)
    rows, m = here.shape
    last = (m - 1 - np.argmax(here[:, ::-1], axis=1))[:, None]
    first, past = np.take_along_axis(start, last, 1)[:, 0], np.take_along_axis(end, last, 1)[:, 0]
    before = np.concatenate([np.zeros((rows, 1), dtype=int), np.cumsum(here, axis=1)], axis=1)
    line = np.arange(rows)
    count = before[line, past] - before[line, first]
    expected = first + count * (past - first + 1) / (count + 1)
    return np.where(here.any(axis=1), expected, np.nan)


def right_levels(levels: Floats, predicted: Floats) -> Floats:
    """Whether each message's level was named: 1 or 0, NaN where none was; shape as given. Halves as of the module."""
    return np.where(np.isnan(predicted), np.nan, (np.floor(predicted) == np.floor(levels)).astype(float))


def wait_minutes(
    levels: ArrayLike, scores: ArrayLike, *, per_hour: float = PER_HOUR, urgent: float | None = None
) -> Floats:
    """Expected minutes until a message of the most urgent level is opened, mean over those messages.

    The inbox is read from the top without a break, each message for 60/per_hour minutes; the first one does not
    wait.

    Args:
        levels, scores: of n messages.
        per_hour: messages read in an hour.
        urgent: messages up to this level are meant; by default the most urgent level of each inbox.

    Returns:
        NaN where no message is as urgent.

    Raises:
        ValueError: as `agreement`, or a rate that is not positive.
    """
    if not per_hour > 0:
        raise ValueError(f"{per_hour} messages an hour: a reading rate is positive")
    own, ranked = _rows(levels, scores)
    order, start, end = tied_places(ranked)
    meant = own <= (own.min(axis=1, keepdims=True) if urgent is None else urgent)
    here = _by_place(meant, order)
    before = (start + end - 1) / 2
    return _ratio((before * here).sum(axis=1), here.sum(axis=1)) * (60.0 / per_hour)


def _rows(levels: ArrayLike, scores: ArrayLike) -> tuple[Floats, Floats]:
    """Levels and scores as rows of one shape."""
    own, ranked = as_rows(levels, "levels"), as_rows(scores, "scores")
    if own.shape[1] != ranked.shape[1] or len(own) not in {1, len(ranked)}:
        raise ValueError(f"levels of shape {own.shape} do not fit scores of shape {ranked.shape}")
    return np.broadcast_to(own, ranked.shape), ranked


def _is_of(levels: Floats, level: int) -> NDArray[np.bool_]:
    """Whether each message is of the level; a half is of the more urgent one."""
    of: NDArray[np.bool_] = np.floor(levels) == level
    return of


def _by_place(values: NDArray[np.bool_], order: Places) -> NDArray[np.bool_]:
    return np.take_along_axis(values, order, axis=1)


def _ratio(top: Floats, bottom: Floats) -> Floats:
    """Top over bottom, NaN over 0."""
    return np.where(bottom == 0, np.nan, top / np.where(bottom == 0, 1.0, bottom))
