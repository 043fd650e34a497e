"""All systems of one table against each other, whatever scheme their metric is resampled by.

Every pair is compared as `schemes.comparisons` does; p-values are adjusted over all pairs; letters and rank intervals
follow from the adjusted p-values, so that everything a table says of differences agrees. The chance of being best is
the share of joint draws that a system leads (`joint_draws`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Literal

import msgspec
import numpy as np

from pmbench.core.metric import Metric
from pmbench.stats.bootstrap import RESAMPLES
from pmbench.stats.clusters import Floats
from pmbench.stats.corrections import benjamini_hochberg, holm
from pmbench.stats.joint import Pair
from pmbench.stats.joint_draws import chances_of_best
from pmbench.stats.letters import compact_letters, different_pairs
from pmbench.stats.max_t import max_t
from pmbench.stats.randomisation import PairedTest
from pmbench.stats.rank_intervals import Rank, ranks_from_differences
from pmbench.stats.schemes import Rows, comparisons

Correction = Literal["holm", "benjamini-hochberg", "max-t"]

FEWEST_FOR_MAX_T = 50
"""With fewer clusters Holm's method stands in. In simulations max-T keeps its 5% with any number of clusters; with 27
and fewer it rejects less than it may and finds fewer true differences than Holm's method, with 48 about as many, with
163 a third more (`max_t`, `benchmarks/many_systems.py`)."""

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
    used, note = usable_correction(metric, systems, correction)
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
    chances, undefined = chances_of_best(metric, systems, resamples=resamples, seed=seed)
    ranks = [
        msgspec.structs.replace(rank, best=share, undefined=undefined)
        for rank, share in zip(ranks, chances, strict=True)
    ]
    return ManySystems(pairs, tests, adjusted, used, _letters(values, different, higher), ranks, note)


def usable_correction(metric: Metric, systems: Sequence[Rows], asked: Correction) -> tuple[Correction, str]:
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
