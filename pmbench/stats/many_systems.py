"""All systems of one table against each other, whatever scheme their metric is resampled by.

Every pair is compared as `schemes.comparisons` does; p-values are adjusted over all pairs; letters and rank intervals
follow from the adjusted p-values, so that everything a table says of differences agrees. The chance of being best is
the share of joint draws that a system leads: of the resamples of clusters, of the drawn lists (widened), or, for
pairs that share items, of draws from Student's t with the dyadic covariance of the systems' values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Literal

import msgspec
import numpy as np

from pmbench.core.metric import Metric
from pmbench.stats.bootstrap import RESAMPLES
from pmbench.stats.clusters import Floats
from pmbench.stats.corrections import benjamini_hochberg, holm
from pmbench.stats.joint import Pair, Systems
from pmbench.stats.letters import compact_letters, different_pairs
from pmbench.stats.max_t import max_t
from pmbench.stats.randomisation import PairedTest
from pmbench.stats.rank_intervals import Rank, RankTally, ranks_from_differences
from pmbench.stats.schemes import Rows, comparisons, drawn_lists, pair_values

Correction = Literal["holm", "benjamini-hochberg", "max-t"]

FEWEST_FOR_MAX_T = 25
"""With fewer clusters max-T rejects far less than it may (`max_t`): Holm's method stands in."""

_STREAM = 4

_ADJUST: dict[str, Callable[[Sequence[float]], list[float]]] = {
    "holm": holm,
    "benjamini-hochberg": benjamini_hochberg,
}


class ManySystems(msgspec.Struct, frozen=True):
    """Systems of one table.

    Attributes:
        pairs: of systems, the first before the second as given.
        tests: first less second, of each pair.
        adjusted: p-values of the pairs, adjusted over all of them.
        correction: by which method; another than was asked for where that does not serve, see `note`.
        letters: of each system: those that share one cannot be told apart; given out from the best system down.
        ranks: of each system, with the places that the differences leave open, and the chance of being best.
        note: why another correction was used; empty otherwise.
    """

    pairs: list[Pair]
    tests: list[PairedTest]
    adjusted: list[float]
    correction: Correction
    letters: list[str]
    ranks: list[Rank]
    note: str = ""


def compare_all(
    metric: Metric,
    systems: Sequence[Rows],
    *,
    correction: Correction = "holm",
    permutations: int = 10_000,
    resamples: int = RESAMPLES,
    seed: int = 0,
    level: float = 0.95,
) -> ManySystems:
    """Compare every two systems.

    Args:
        metric: of any scheme; where neither end is better, more is taken to be.
        systems: the rows of each, the same instances in the same order, all of which have the metric.
        correction: of the p-values over all pairs. `benjamini-hochberg` bounds the share of false findings, not the
            chance of any: rank intervals from it do not hold together.
        permutations, resamples, seed, level: as in `comparisons`. Letters and ranks are at 1 − level.

    Returns:
        The same for each system and pair whatever the order of the systems, but for which of equal systems comes
        first in the letters.
    """
    if not systems:
        return ManySystems([], [], [], correction, [], [])
    pairs = list(combinations(range(len(systems)), 2))
    tests = comparisons(
        metric,
        systems,
        pairs,
        permutations=permutations,
        resamples=resamples,
        seed=seed,
        level=level,
    )
    used, note = _usable(metric, systems, correction)
    if used == "max-t":
        columns = [rows.columns for rows in systems]
        adjusted = max_t(metric, columns, pairs, systems[0].clusters, resamples=resamples, seed=seed)
    else:
        adjusted = _ADJUST[used]([test.p for test in tests])
    higher = metric.higher_is_better is not False
    values = np.array([float(metric.value(rows.columns.sum(axis=0))) for rows in systems])
    different = [
        (a, b)
        for a, b in different_pairs(zip(pairs, adjusted, strict=True), 1 - level)
        if values[a] != values[b]
    ]
    ranks = ranks_from_differences(values.tolist(), different, higher)
    best = _best(metric, systems, values, (resamples, seed), higher)
    ranks = [
        msgspec.structs.replace(rank, best=share, undefined=undefined)
        for rank, (share, undefined) in zip(ranks, best, strict=True)
    ]
    return ManySystems(pairs, tests, adjusted, used, _letters(values, different, higher), ranks, note)


def _usable(metric: Metric, systems: Sequence[Rows], asked: Correction) -> tuple[Correction, str]:
    """The correction to use, and why it is not the one asked for."""
    if asked != "max-t":
        return asked, ""
    if metric.scheme != "cluster":
        return "holm", f"Holm's method in place of max-T, which is not for the scheme {metric.scheme}"
    clusters = len(set(systems[0].clusters))
    if clusters < FEWEST_FOR_MAX_T:
        return "holm", f"Holm's method in place of max-T, which finds too little in {clusters} clusters"
    return asked, ""


def _letters(values: Floats, different: Sequence[Pair], higher: bool) -> list[str]:
    """Letters of the systems in the order given, a for the best."""
    order = np.lexsort((np.arange(len(values)), -values if higher else values)).tolist()
    place = {system: number for number, system in enumerate(order)}
    letters = compact_letters(len(values), [(place[a], place[b]) for a, b in different])
    return [letters[place[system]] for system in range(len(values))]


def _best(
    metric: Metric, systems: Sequence[Rows], values: Floats, how: tuple[int, int], higher: bool
) -> list[tuple[float, int]]:
    """The share of joint draws that each system leads, and how many draws have no leader."""
    resamples, seed = how
    tally = RankTally(len(systems), higher)
    if metric.scheme == "cluster":
        found = Systems(metric, [rows.columns for rows in systems], systems[0].clusters)
        for weights in found.draws(resamples, seed):
            tally.add(found.drawn_values(weights)[:, found.place])
    elif metric.scheme == "ranking":
        drawn = drawn_lists(metric, systems, resamples, seed)
        if drawn is not None:
            tally.add(drawn)
    else:
        tally.add(_dyadic_draws(metric, systems, values, resamples, seed))
    return [(rank.best, rank.undefined) for rank in tally.ranks(values, 0.95)]


def _dyadic_draws(
    metric: Metric, systems: Sequence[Rows], values: Floats, resamples: int, seed: int
) -> Floats:
    """Values of the systems, shape (resamples, S), drawn around what they are; none where no variance is known.

    From the variances V of the differences the covariance, but for what all systems share, is −JVJ/2 with J taking
    away the mean (as in multidimensional scaling); what is negative in it is left out.
    """
    from pmbench.stats.dyadic import FEWEST_MESSAGES, dyadic_differences

    made = pair_values(metric, systems)
    pairs = list(combinations(range(len(systems)), 2))
    if made is None or not pairs:
        return np.zeros((0, len(systems)))
    first, second, table, wide = made
    differences = dyadic_differences(first, second, table, pairs)
    messages = differences[0].messages
    if messages < FEWEST_MESSAGES or any(math.isnan(one.se) for one in differences):
        return np.zeros((0, len(systems)))
    squares = np.zeros((len(systems), len(systems)))
    for (a, b), one in zip(pairs, differences, strict=True):
        squares[a, b] = squares[b, a] = (wide * one.se) ** 2
    centring = np.eye(len(systems)) - 1 / len(systems)
    sizes, axes = np.linalg.eigh(-centring @ squares @ centring / 2)
    root = axes * np.sqrt(np.maximum(sizes, 0.0))
    generator = np.random.Generator(np.random.PCG64([seed, _STREAM]))
    normal = generator.standard_normal((resamples, len(systems))) @ root.T
    stretch = np.sqrt((messages - 1) / generator.chisquare(messages - 1, resamples))
    return np.asarray(values + normal * stretch[:, None])
