"""Corrections for many tests, and the exact test for two 0/1 outcomes."""

from __future__ import annotations

from collections.abc import Sequence


def holm(p: Sequence[float]) -> list[float]:
    """Adjust p-values so that the chance of any false finding among them stays at the level (Holm 1979).

    In rising order, the i-th of m (from 1) is multiplied by m − i + 1, made no smaller than the one before it
    and no greater than 1. NaN stands for a test that could not be made: it stays NaN and does not count in m.

    Args:
        p: p-values, each 0 to 1 or NaN.

    Returns:
        Adjusted values in the order given.

    Raises:
        ValueError: a value outside 0 to 1.
    """
    if any(not 0 <= value <= 1 for value in p if value == value):
        raise ValueError("a p-value outside 0 to 1")
    order = sorted((index for index, value in enumerate(p) if value == value), key=lambda index: p[index])
    adjusted = list(p)
    least = 0.0
    for rank, index in enumerate(order):
        least = max(least, min(1.0, (len(order) - rank) * p[index]))
        adjusted[index] = least
    return adjusted


def mcnemar(b: int, c: int) -> float:
    """Exact two-sided McNemar test: whether two systems differ in a 0/1 outcome of independent instances.

    Twice the tail of Binomial(b + c, 1/2), at most 1 (McNemar 1947), in whole numbers until the last
    division. It becomes 0 only where it is smaller than any float.

    Args:
        b: instances that only the first system has right.
        c: instances that only the second has right.

    Raises:
        ValueError: a negative count.
    """
    if b < 0 or c < 0:
        raise ValueError("a negative count")
    total, term, tail = b + c, 1, 1
    for drawn in range(min(b, c)):
        term = term * (total - drawn) // (drawn + 1)
        tail += term
    return min(1.0, 2 * tail / (1 << total))
