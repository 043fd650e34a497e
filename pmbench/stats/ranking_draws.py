"""Draws of the items of a list that was put in order.

Which items may be drawn follows how the list was put together. With so many items of each stratum, each stratum is
drawn to its own size; without strata, all items are one. What is drawn with replacement from m items varies by
(m − 1)/m of what it should (Rao & Wu, JASA 83, 1988): `widening` makes up for that.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Hashable, Sequence
from typing import TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

Draws: TypeAlias = NDArray[np.intp]

FEWEST_UNITS = 10
"""A list of fewer items has no interval. Of 10 items of any level the jackknife still holds the truth in 95% of
simulated datasets, with 12 in six levels of two the widened percentiles hold it in 92%
(`benchmarks/inbox_intervals.py`); fewer were not simulated."""

FEW = "a stratum of two items: bounds may be too narrow"

_STREAM = 3


class Ranking(msgspec.Struct, frozen=True):
    """One list of items.

    Attributes:
        name: tells it from other lists.
        units: ids of its items, in the order that the statistic's places count from.
        strata: the stratum of each item, where the list was put together so many from each; empty: it was not.
        draw: what seeds the list's draws, together with the seed given; empty: its name.
    """

    name: str
    units: Sequence[Hashable]
    strata: Sequence[Hashable] = ()
    draw: str = ""


def within_strata(strata: Sequence[Hashable], resamples: int, seed: int | Sequence[int]) -> Draws:
    """Draw items with replacement, from each stratum as many as it has.

    Args:
        strata: the stratum of each of n items.
        resamples: B. More of them begin with the same draws.
        seed: 0 or more.

    Returns:
        Places of the items, shape (B, n); what stands in column j is of the stratum of item j.
    """
    index = numbered(strata)
    order = np.argsort(index, kind="stable")
    sizes = np.bincount(index) if len(index) else np.zeros(0, dtype=np.intp)
    starts = np.cumsum(sizes) - sizes
    uniform = np.random.Generator(np.random.PCG64(seed)).random((resamples, len(index)))
    uniform *= sizes[index]
    return order[uniform.astype(np.intp) + starts[index]]


def leave_one_out(n: int) -> Draws:
    """The n choices of all items but one, shape (n, n − 1); row i is without item i."""
    places = np.arange(max(0, n - 1), dtype=np.intp)[None, :]
    return places + (places >= np.arange(n)[:, None])


def widening(sizes: Sequence[int]) -> float:
    """By how much deviations are multiplied: the root of the mean over strata of m/(m − 1), m ≥ 2 items in each.

    With as many items in each stratum this is √(m/(m − 1)). Otherwise no one number is right, since what a
    stratum adds to the variance is not known; the mean over strata errs least in simulations: a mean over items
    is too narrow where rare strata matter most, as urgent messages do, the largest too wide by a quarter.
    """
    return math.sqrt(sum(m / (m - 1) for m in sizes) / len(sizes))


def ranking_draws(ranking: Ranking, resamples: int, seed: int) -> Draws:
    """Draws of a list, shape (B, n), that depend on its name or `draw`, ids and strata, not on the order of items."""
    order = np.argsort(numbered(ranking.units))
    strata = [ranking.strata[place] for place in order] if ranking.strata else [0] * len(order)
    digest = np.frombuffer(
        hashlib.sha256((ranking.draw or ranking.name).encode()).digest(), dtype="<u4"
    ).tolist()
    return order[within_strata(strata, resamples, [seed, _STREAM, *digest])]


def seeded_by_content(rankings: Sequence[Ranking]) -> list[Ranking]:
    """The lists, their draws seeded by what names have no part in: the same for names that were replaced by hashes.

    That is the strata in the order of the items' names, which hashing keeps, and how many lists with the same ones
    come before in the order of the lists' names. Systems that put the same lists in order so get the same draws.
    """
    before: Counter[str] = Counter()
    draws: dict[str, str] = {}
    for ranking in sorted(rankings, key=lambda one: one.name):
        order = np.argsort(numbered(ranking.units)).tolist()
        content = repr([str(ranking.strata[place]) for place in order] if ranking.strata else len(order))
        draws[ranking.name] = f"{content} {before[content]}"
        before[content] += 1
    return [msgspec.structs.replace(ranking, draw=draws[ranking.name]) for ranking in rankings]


def without_one(ranking: Ranking) -> Draws:
    """`leave_one_out` of a list, the items in the order of their names, shape (n, n − 1)."""
    order = np.argsort(numbered(ranking.units))
    return order[leave_one_out(len(order))]


def numbered(labels: Sequence[Hashable]) -> Draws:
    """The place of each label among the different ones, in the order of their names."""
    order = sorted(set(labels), key=lambda label: (type(label).__name__, str(label)))
    place = {label: index for index, label in enumerate(order)}
    return np.fromiter((place[label] for label in labels), dtype=np.intp, count=len(labels))


def stratum_sizes(ranking: Ranking) -> list[int]:
    """How many items each stratum has; without strata all items are one."""
    return list(Counter(ranking.strata).values()) if ranking.strata else [len(ranking.units)]


def too_small(ranking: Ranking) -> str:
    """Why a list supports no interval; empty where it does."""
    if len(set(ranking.units)) < len(ranking.units):
        raise ValueError(f"an item stands twice in list {ranking.name!r}")
    if ranking.strata and len(ranking.strata) != len(ranking.units):
        raise ValueError(
            f"{len(ranking.strata)} strata of {len(ranking.units)} items of list {ranking.name!r}"
        )
    if len(ranking.units) < FEWEST_UNITS:
        return f"list {ranking.name!r} has {len(ranking.units)} items: fewer than {FEWEST_UNITS} support no interval"
    if min(stratum_sizes(ranking)) < 2:
        return f"list {ranking.name!r} has a stratum of one item: nothing shows how it varies"
    return ""


def narrow(rankings: Sequence[Ranking]) -> str:
    """What is doubtful about the lists' strata; empty where nothing is."""
    return FEW if min(min(stratum_sizes(ranking)) for ranking in rankings) < 3 else ""
