"""The gap between two groups of pairs that share messages, as between the pairs of women and of men.

The gap of two means is a sum over all pairs of ±(residual / size of its group), and its dyadic-robust variance is
that of `dyadic`: products of all pairs of pairs that share a message, each once, whichever groups they are in. A
message's sum is taken from the means of the groups without its pairs, group by group.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pmbench.stats.clusters import Floats
from pmbench.stats.dyadic import (
    FEWEST_MESSAGES,
    NOT_POSITIVE,
    ROUNDING,
    DyadicDifference,
    t_quantile,
    t_tails,
    vanishes,
)
from pmbench.stats.ranking_draws import numbered

ONE_GROUP = "one of the two groups has no pair, or a single one"


def dyadic_gap(
    first: Sequence[Hashable],
    second: Sequence[Hashable],
    values: ArrayLike,
    inside: Sequence[bool],
    level: float = 0.95,
) -> DyadicDifference:
    """Mean over the pairs inside a group less the mean over the others.

    Args:
        first, second: ids of each pair's two items, length n.
        values: of each pair, shape (n,), each 0 to 1.
        inside: which pairs are in the group, length n.
        level: coverage asked for, between 0 and 1.

    Returns:
        Bounds and p are NaN, with a note, where fewer than `FEWEST_MESSAGES` items or a group of fewer than two pairs
        support none. Where the variance is not positive, that of independent pairs stands in.

    Raises:
        ValueError: lengths differ, a value is NaN or outside 0 to 1, or the level is outside 0 to 1.
    """
    row = np.asarray(values, dtype=np.float64)
    mask = np.asarray(inside, dtype=bool)
    if not 0 < level < 1 or row.ndim != 1 or not len(first) == len(second) == len(row) == len(mask):
        raise ValueError(
            f"{len(first)} and {len(second)} items, {row.shape} values, {mask.shape} marks, level {level}"
        )
    if not ((row >= 0) & (row <= 1)).all():
        raise ValueError("a value that is NaN or outside 0 to 1")
    place, messages = numbered([*first, *second]), len({*first, *second})
    ends = [place[: len(first)], place[len(first) :]]
    sizes = int(mask.sum()), int((~mask).sum())
    gap = float(row[mask].mean() - row[~mask].mean()) if all(sizes) else math.nan
    note = ONE_GROUP if min(sizes) < 2 else ""
    if messages < FEWEST_MESSAGES:
        note = note or f"{messages} messages: fewer than {FEWEST_MESSAGES} support no interval"
    if note:
        return DyadicDifference(gap, math.nan, math.nan, math.nan, messages, len(row), note=note)
    variance, independent = _variances(row, mask, ends, messages)
    if vanishes(variance, independent):
        variance, note = independent, NOT_POSITIVE
    if independent <= ROUNDING**2:  # all pairs of each group are alike
        return DyadicDifference(gap, math.nan, math.nan, math.nan, messages, len(row), note="no pair differs")
    se, freedom = math.sqrt(variance), messages - 1
    reach = t_quantile(freedom, (1 + level) / 2) * se
    low, high = max(-1.0, gap - reach), min(1.0, gap + reach)
    return DyadicDifference(gap, low, high, t_tails(freedom, gap / se), messages, len(row), se, note)


def _variances(
    row: Floats, mask: NDArray[np.bool_], ends: Sequence[NDArray[np.intp]], messages: int
) -> tuple[float, float]:
    """The dyadic-robust variance with leave-out correction, and that of independent pairs."""
    of_message, squares = np.zeros(messages), 0.0
    for group, sign in ((mask, 1.0), (~mask, -1.0)):
        size = int(group.sum())
        residuals = sign * (row[group] - row[group].mean()) / size
        touched, degree = np.zeros(messages), np.zeros(messages)
        for side in ends:
            touched += np.bincount(side[group], residuals, messages)
            degree += np.bincount(side[group], minlength=messages)
        # A message in every pair of its group is left as it is.
        rest = np.where(degree >= size, size, size - degree)
        of_message += touched * size / rest
        squares += float((residuals * residuals).sum())
    return float((of_message * of_message).sum()) - squares, squares
