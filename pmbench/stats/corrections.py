"""Corrections of many p-values, and the exact test for two 0/1 outcomes."""

from __future__ import annotations

import operator
from collections.abc import Sequence

from pmbench.stats.checks import UnusableNumbers


def holm(p: Sequence[float]) -> list[float]:
    """Adjust p-values so that the chance of any false finding among them stays at the level (Holm 1979).

    In rising order, the i-th of m (from 1) is multiplied by m − i + 1, made no smaller than the one before it
    and no greater than 1. NaN stands for a test that could not be made: it stays NaN and does not count in m.

    Args:
        p: p-values, each 0 to 1 or NaN.

    Returns:
        Adjusted values in the order given.

    Raises:
        UnusableNumbers: a value outside 0 to 1.
    """
    adjusted, order = _rising(p)
    least = 0.0
    for rank, index in enumerate(order):
        least = max(least, min(1.0, (len(order) - rank) * adjusted[index]))
        adjusted[index] = least
    return adjusted


def benjamini_hochberg(p: Sequence[float]) -> list[float]:
    """Adjust p-values so that the expected share of false findings among the findings stays at the level.

    In rising order, the i-th of m (from 1) is multiplied by m / i and made no greater than the one after it
    (Benjamini & Hochberg, JRSS B 57, 1995). It holds for independent tests and those that depend positively; it
    lets more false findings through than `holm`, which bounds the chance of any.

    Args:
        p: p-values, each 0 to 1 or NaN; NaN stays NaN and does not count in m.

    Returns:
        Adjusted values in the order given.

    Raises:
        UnusableNumbers: a value outside 0 to 1.
    """
    adjusted, order = _rising(p)
    most = 1.0
    for rank in range(len(order), 0, -1):
        most = min(most, len(order) / rank * adjusted[order[rank - 1]])
        adjusted[order[rank - 1]] = most
    return adjusted


def mcnemar_exact(b: int, c: int) -> float:
    """Exact two-sided McNemar test: whether two systems differ in a 0/1 outcome of independent instances.

    Twice the tail of Binomial(b + c, 1/2), at most 1 (McNemar 1947), in whole numbers until the last
    division. It becomes 0 only where it is smaller than any float.

    Args:
        b: instances that only the first system has right.
        c: instances that only the second has right.

    Raises:
        UnusableNumbers: a negative count, or not a whole number.
    """
    try:
        b, c = operator.index(b), operator.index(c)
    except TypeError as error:
        raise UnusableNumbers("a count that is no whole number") from error
    if b < 0 or c < 0:
        raise UnusableNumbers("a negative count")
    total, term, tail = b + c, 1, 1
    for drawn in range(min(b, c)):
        term = term * (total - drawn) // (drawn + 1)
        tail += term
    return min(1.0, 2 * tail / (1 << total))


def _rising(p: Sequence[float]) -> tuple[list[float], list[int]]:
    """The values as floats, and the places of those that are not NaN in rising order."""
    values = [float(value) for value in p]
    if any(not 0 <= value <= 1 for value in values if value == value):
        raise UnusableNumbers("a p-value outside 0 to 1")
    there = (place for place, value in enumerate(values) if value == value)
    return values, sorted(there, key=lambda place: values[place])
