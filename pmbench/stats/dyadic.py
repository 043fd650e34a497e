"""Intervals and differences for pairs that share items.

Two pairs with a message in common do not tell of two independent things. With residuals e of the n pairs and
g_m the sum of e over the pairs of message m, the dyadic-robust variance of a mean adds up e·e' over all pairs of
pairs that share a message, each once: (Σ_m g_m² − Σ e²) / n² (Fafchamps & Gubert, Journal of Development
Economics 83, 2007; Aronow, Samii & Assenova, Political Analysis 23, 2015).

With few messages that is too small, because residuals are taken from a mean that the message itself has pulled
towards it. Each g_m is therefore taken from the mean of the pairs without m, which is g_m / (1 − deg_m/n) with
deg_m the number of its pairs: the leave-one-out residuals of HC3 (MacKinnon & White, Journal of Econometrics 29,
1985), for groups called CR3 (Bell & McCaffrey, Survey Methodology 28, 2002). Bounds of a share are made on the
logit scale, with Student's t of as many degrees of freedom as there are messages, less one.
`benchmarks/pair_intervals.py` shows how often such intervals hold the truth.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from pmbench.stats.clusters import Floats
from pmbench.stats.ranking_draws import numbered

__all__ = [
    "FEWEST_MESSAGES",
    "DyadicDifference",
    "DyadicInterval",
    "dyadic_difference",
    "dyadic_differences",
    "dyadic_interval",
    "dyadic_intervals",
]

FEWEST_MESSAGES = 8
"""With fewer messages there is no interval. In simulations intervals still hold the truth, but only by covering
most of what is possible: all pairs of 8 messages leave half of the scale, of 5 four fifths of it
(`benchmarks/pair_intervals.py`)."""

LEAST_SHARE = 0.5
"""The variance of a difference of two systems is taken as no less than this share of that of independent pairs.
Where nearly all differences come from single pairs, the terms of shared messages are noise around 0 and often
negative: without a floor two equal systems differ in 6 to 7% of simulated datasets, with it in at most 6%."""

AT_A_LIMIT = "every pair is alike: Clopper-Pearson bounds, half the number of messages standing for the pairs"
NOT_POSITIVE = "the dyadic variance is not positive: bounds as if the pairs were independent"
SMALL = "the dyadic variance is less than half that of independent pairs: bounds may be too narrow"
IN_EVERY_PAIR = "one message is in every pair: what it adds to the uncertainty cannot be seen"

ROUNDING = 1e-12
"""Values this close are equal; so is a variance this small beside that of independent pairs to 0."""


class DyadicInterval(msgspec.Struct, frozen=True):
    """A mean over pairs with its interval.

    Attributes:
        value: mean over the pairs; NaN where there are none.
        low, high: bounds; NaN where there are too few messages.
        se: standard error of the value; 0 where every pair is alike.
        messages: how many different items the pairs have.
        pairs: how many pairs.
        note: why there are no bounds, or what is special about them; empty otherwise.
    """

    value: float
    low: float
    high: float
    se: float
    messages: int
    pairs: int
    note: str = ""


class DyadicDifference(msgspec.Struct, frozen=True):
    """The difference of two systems on the same pairs.

    Attributes:
        difference: mean of the first less mean of the second; NaN where there are no pairs.
        low, high: bounds, within −1 to 1; NaN where there are too few messages.
        p: two-sided, that the systems are equally good; NaN where there are no bounds.
        messages: how many different items the pairs have.
        pairs: how many pairs.
        se: standard error of the difference.
        note: as in `DyadicInterval`.
    """

    difference: float
    low: float
    high: float
    p: float
    messages: int
    pairs: int
    se: float = float("nan")
    note: str = ""


def dyadic_interval(
    first: Sequence[Hashable], second: Sequence[Hashable], correct: ArrayLike, level: float = 0.95
) -> tuple[float, float, float]:
    """Accuracy over pairs with its interval.

    Args:
        first, second: ids of each pair's two items, length n; which is first does not matter.
        correct: 1 for a pair that is right, 0 for one that is wrong, ½ for a tie, or means over several
            samples; shape (n,), each 0 to 1.
        level: coverage asked for, between 0 and 1.

    Returns:
        Value, lower and upper bound. Bounds are NaN where fewer than `FEWEST_MESSAGES` items support
        none; `dyadic_intervals` says so. With one item in every pair its sum is left as it is; a variance that
        is not positive is replaced by the binomial one; a value of 0 or 1 gets the bounds of Clopper & Pearson
        (Biometrika 26, 1934) for half as many independent pairs as there are items.

    Raises:
        ValueError: lengths differ, a value outside 0 to 1 or NaN, an item paired with itself, or a level
            outside 0 to 1.
    """
    found = dyadic_intervals(first, second, _one_row(correct), level)[0]
    return found.value, found.low, found.high


def dyadic_intervals(
    first: Sequence[Hashable], second: Sequence[Hashable], values: ArrayLike, level: float = 0.95
) -> list[DyadicInterval]:
    """`dyadic_interval` of several systems on the same pairs, with standard errors and notes.

    Args:
        first, second, level: as there.
        values: shape (s, n).

    Returns:
        One for each system, the same whichever other systems are there.
    """
    table, pairs, half_alpha = _checked(first, second, values, level)
    means, variances, independent = pairs.moments(table)
    reason = pairs.too_few()
    quantile = 0.0 if reason else t_quantile(pairs.messages - 1, 1 - half_alpha)
    found = []
    for value, variance, apart in zip(means.tolist(), variances.tolist(), independent.tolist(), strict=True):
        note, low, high = reason, math.nan, math.nan
        alike = value in (0.0, 1.0)
        if not alike and vanishes(variance, apart):
            variance, note = value * (1 - value) / pairs.rows, note or NOT_POSITIVE
        se = 0.0 if alike else math.sqrt(variance)
        if not reason and alike:
            reach = _reach(pairs.messages, half_alpha)
            low, high, note = max(0.0, value - reach), min(1.0, value + reach), AT_A_LIMIT
        elif not reason:
            logit, step = math.log(value / (1 - value)), quantile * se / (value * (1 - value))
            low, high = expit(logit - step), expit(logit + step)
            note = note or pairs.warning() or (SMALL if variance < LEAST_SHARE * apart else "")
        found.append(DyadicInterval(value, low, high, se, pairs.messages, pairs.rows, note))
    return found


def dyadic_difference(
    first: Sequence[Hashable], second: Sequence[Hashable], a: ArrayLike, b: ArrayLike, level: float = 0.95
) -> DyadicDifference:
    """Compare two systems on the same pairs.

    Args:
        first, second, level: as in `dyadic_interval`.
        a, b: how right each system is on each pair, shape (n,), each 0 to 1.

    Returns:
        The mean of a − b, with the variance of `dyadic_interval` for these differences, on their own scale, and
        Student's t; see `LEAST_SHARE`. Where the variance is not positive, that of independent pairs stands
        in. Where the two systems differ in the same way on every pair (or on none), the share of pairs on
        which they could differ otherwise has the bounds of Clopper and Pearson, and p is that of a sign test,
        both for half as many independent pairs as there are items.

    Raises:
        ValueError: as `dyadic_interval`.
    """
    return dyadic_differences(first, second, np.concatenate([_one_row(a), _one_row(b)]), [(0, 1)], level)[0]


def dyadic_differences(
    first: Sequence[Hashable],
    second: Sequence[Hashable],
    values: ArrayLike,
    pairs: Sequence[tuple[int, int]],
    level: float = 0.95,
) -> list[DyadicDifference]:
    """`dyadic_difference` for many pairs of systems.

    Args:
        first, second, level: as in `dyadic_interval`.
        values: shape (s, n), a system in each row.
        pairs: which rows to compare.

    Returns:
        One for each pair of systems, in their order.
    """
    table, graph, half_alpha = _checked(first, second, values, level)
    ours = np.asarray([a for a, _ in pairs], dtype=np.intp)
    theirs = np.asarray([b for _, b in pairs], dtype=np.intp)
    differences = table[ours] - table[theirs]
    constant = np.ptp(differences, axis=1) <= ROUNDING if graph.rows else np.zeros(len(pairs), dtype=bool)
    means, variances, independent = graph.moments(differences)
    reason, freedom = graph.too_few(), graph.messages - 1
    quantile = 0.0 if reason else t_quantile(freedom, 1 - half_alpha)
    found = []
    for row, difference in enumerate(means.tolist()):
        variance, apart, note = float(variances[row]), float(independent[row]), reason
        if not reason and constant[row]:
            found.append(_constant_difference(difference, graph, half_alpha))
            continue
        if vanishes(variance, apart):
            variance, note = apart, note or NOT_POSITIVE
        variance = max(variance, LEAST_SHARE * apart)
        se, low, high, p = math.sqrt(variance), math.nan, math.nan, math.nan
        if not reason:
            low, high = max(-1.0, difference - quantile * se), min(1.0, difference + quantile * se)
            p, note = t_tails(freedom, difference / se), note or graph.warning()
        found.append(DyadicDifference(difference, low, high, p, graph.messages, graph.rows, se, note))
    return found


class _Pairs:
    """Which rows are of which messages, in an order that the order of the rows does not decide.

    Two rows of the same two messages have both in common, and their product counts for each.
    """

    def __init__(self, first: Sequence[Hashable], second: Sequence[Hashable]) -> None:
        self.rows, self.messages = len(first), len({*first, *second})
        place = numbered([*first, *second])
        one, other = place[: self.rows], place[self.rows :]
        if (one == other).any():
            raise ValueError("a pair of an item with itself")
        self.low, self.high = np.minimum(one, other), np.maximum(one, other)
        self.order = np.lexsort((self.high, self.low))
        self.ordered_low, self.ordered_high = self.low[self.order], self.high[self.order]
        same = (np.diff(self.ordered_low) == 0) & (np.diff(self.ordered_high) == 0)
        self.repeated = bool(same.any())
        degree = np.bincount(np.concatenate([one, other]), minlength=self.messages)
        self.everywhere = bool(self.rows and (degree == self.rows).any())
        rest = np.where(degree == self.rows, self.rows, self.rows - degree)
        self.factor = self.rows / np.maximum(rest, 1)

    def moments(self, table: Floats) -> tuple[Floats, Floats, Floats]:
        """Mean, its dyadic-robust variance with leave-out correction, and that of independent pairs, each (s,)."""
        found = np.full((3, len(table)), np.nan)
        for column, values in enumerate(table if self.rows else ()):
            order = np.lexsort((values, self.high, self.low)) if self.repeated else self.order
            residuals = values[order]
            mean = residuals.sum() / self.rows
            residuals -= mean
            of_first = np.bincount(self.ordered_low, residuals, self.messages)
            of_second = np.bincount(self.ordered_high, residuals, self.messages)
            of_message = (of_first + of_second) * self.factor
            squares = (residuals * residuals).sum()
            variance = ((of_message * of_message).sum() - squares) / self.rows**2
            found[:, column] = mean, variance, squares / self.rows**2
        return found[0], found[1], found[2]

    def too_few(self) -> str:
        """Why there can be no interval; empty where there can."""
        if self.messages < FEWEST_MESSAGES:
            return f"{self.messages} messages: fewer than {FEWEST_MESSAGES} support no interval"
        return ""

    def warning(self) -> str:
        """What is wrong with the shape of the data; empty where nothing is."""
        return IN_EVERY_PAIR if self.everywhere else ""


def _checked(
    first: Sequence[Hashable], second: Sequence[Hashable], values: ArrayLike, level: float
) -> tuple[Floats, _Pairs, float]:
    """Values as an array (s, n), the pairs, and what lies beyond each bound."""
    if not 0 < level < 1:
        raise ValueError(f"a level of {level}")
    table: NDArray[np.float64] = np.asarray(values, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] != len(first) or len(first) != len(second):
        raise ValueError(
            f"values of shape {table.shape} for {len(first)} first and {len(second)} second items"
        )
    if not ((table >= 0) & (table <= 1)).all():
        raise ValueError("a value that is NaN or outside 0 to 1")
    return table, _Pairs(first, second), (1 - level) / 2


def _one_row(values: ArrayLike) -> Floats:
    """One system's values, shape (1, n)."""
    row = np.asarray(values, dtype=np.float64)
    if row.ndim != 1:
        raise ValueError(f"values of shape {row.shape} for one system")
    return row[None, :]


def _constant_difference(difference: float, graph: _Pairs, half_alpha: float) -> DyadicDifference:
    """Two systems that differ by the same on every pair; where they do not, it could be by −1 or 1."""
    reach = _reach(graph.messages, half_alpha)
    low, high = difference - reach * (1 + difference), difference + reach * (1 - difference)
    p = 1.0 if abs(difference) <= ROUNDING else min(1.0, 2 * 0.5 ** (graph.messages / 2))
    return DyadicDifference(difference, low, high, p, graph.messages, graph.rows, 0.0, AT_A_LIMIT)


def _reach(messages: int, half_alpha: float) -> float:
    """Upper bound of Clopper and Pearson for 0 of messages/2, which need not be a whole number."""
    from scipy.special import betaincinv

    return float(betaincinv(1.0, messages / 2, 1 - half_alpha))


def vanishes(variance: float, independent: float) -> bool:
    """Whether a dyadic variance is negative or no more than rounding, given that of independent pairs."""
    return variance <= max(ROUNDING * independent, ROUNDING**2)


def t_quantile(freedom: float, share: float) -> float:
    """What a share of Student's t lies below."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, share))


def t_tails(freedom: float, statistic: float) -> float:
    """Both tails beyond the statistic; never 0."""
    from scipy.special import stdtr

    return max(2 * float(stdtr(freedom, -abs(statistic))), np.finfo(np.float64).tiny.item())


def expit(logit: float) -> float:
    """The share whose logit this is."""
    return 1 / (1 + math.exp(-logit)) if logit >= 0 else math.exp(logit) / (1 + math.exp(logit))
