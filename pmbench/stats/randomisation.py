"""Paired randomisation test: two systems swapped within clusters.

If the two systems were the same, who gave which answers of a cluster would be a coin's toss. The test
compares the observed difference with those under all 2^C tosses, or many random ones (Edgington & Onghena,
Randomization Tests, 2007; for language processing Yeh, COLING 2000). Unlike a bootstrap of the difference, it
holds its level with few clusters.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from pmbench.core.metric import Metric
from pmbench.stats.bootstrap import FEW_CLUSTERS, RESAMPLES, Interval, Valued, percentiles, resampled_values
from pmbench.stats.checks import UnusableNumbers, finite_table
from pmbench.stats.cluster_robust import jackknife_interval
from pmbench.stats.clusters import Floats, block_rows, informative, ordered_sums, require_cluster_scheme
from pmbench.stats.limits import natural_limits
from pmbench.stats.linearised import Difference
from pmbench.stats.no_interval import reasoned

EXACT_CLUSTERS = 14
"""Up to this many clusters that differ, all patterns are tried."""

TOLERANCE = 1e-12
"""Two differences closer than this, relative to the systems' values, are the same one: adding the same
numbers in another order moves their last digits, and a pattern as extreme as the observed one must not be
lost to that."""

_STREAM = 2


SAME_EVERYWHERE = "no interval of the difference, for it is the same in every cluster"
ALIKE = (
    "the difference is the same in every cluster: its interval says how many others could be at the far end"
)


class PairedTest(msgspec.Struct, frozen=True):
    """A difference of two systems on the same instances.

    Attributes:
        difference: value of the first minus value of the second; NaN where one of them is undefined.
        p: two-sided; NaN where the difference is.
        exact: whether all patterns were tried.
        permutations: patterns tried.
        clusters: how many clusters the instances form.
        low, high: percentile bootstrap interval of the difference, the systems resampled together; with fewer than
            `FEW_CLUSTERS` clusters that add anything, that of the jackknife with Student's t (`cluster_robust`). No
            further than the metric's limits are apart. Where the difference is the same in every cluster: by how many
            others could be at the far end; NaN for a metric without limits.
        undefined: patterns without a difference. They count as at least as extreme, so that they never help.
        differing: clusters in which the two systems differ; with d of them no p can be below 2 / 2^d.
        note: why there is no test, or what is special about it; empty otherwise.
    """

    difference: float
    p: float
    exact: bool
    permutations: int
    clusters: int
    low: float
    high: float
    undefined: int = 0
    differing: int = 0
    note: str = ""

    @property
    def least_p(self) -> float:
        """What p can be at least, whatever the systems; 0 where it is not of patterns."""
        if not self.permutations:
            return 0.0
        return min(1.0, 2.0 / 2.0**self.differing) if self.exact else 1 / (1 + self.permutations)


def paired_test(
    metric: Metric,
    columns_a: Floats,
    columns_b: Floats,
    clusters: Sequence[Hashable],
    *,
    permutations: int = 10_000,
    seed: int = 0,
    resamples: int = RESAMPLES,
    level: float = 0.95,
    block: int | None = None,
) -> PairedTest:
    """Test whether two systems differ.

    Args:
        metric: a formula over sums, of scheme `cluster`.
        columns_a, columns_b: what `metric.columns` gave for each, shape (n, k), row by row the same
            instances; leave out instances that only one of them has.
        clusters: the cluster of each row, length n.
        permutations: random patterns, where there are too many to try them all; p is then
            (as extreme + 1) / (permutations + 1).
        seed: of the random patterns and of the resamples.
        resamples, level: of the interval of the difference.
        block: patterns at a time; it does not change the result.

    Raises:
        ValueError: lengths differ, or the metric is resampled in another way.
    """
    return paired_tests(
        metric,
        [columns_a, columns_b],
        [(0, 1)],
        clusters,
        permutations=permutations,
        seed=seed,
        resamples=resamples,
        level=level,
        block=block,
    )[0]


def paired_tests(
    metric: Metric,
    systems: Sequence[Floats],
    pairs: Sequence[tuple[int, int]],
    clusters: Sequence[Hashable],
    *,
    permutations: int = 10_000,
    seed: int = 0,
    resamples: int = RESAMPLES,
    level: float = 0.95,
    block: int | None = None,
    bounded: Collection[tuple[int, int]] | None = None,
) -> list[PairedTest]:
    """Several paired tests over the same instances from one drawing; each is what `paired_test` gives for it.

    Args:
        systems: columns (n, k) of each system.
        pairs: which two of them to compare.
        bounded: the pairs whose interval is wanted, the others have none (NaN); None: all. Tests are the same.
        metric, clusters, permutations, seed, resamples, level, block: as in `paired_test`.
    """
    require_cluster_scheme(metric)
    sums = [ordered_sums(columns, clusters) for columns in systems]
    if any(table.shape != sums[0].shape for table in sums):
        raise ValueError("systems with different columns")
    count = len(set(clusters))
    wanted = set(pairs if bounded is None else bounded)
    few = {(a, b) for a, b in wanted if len(_side_by_side(sums[a], sums[b])) < FEW_CLUSTERS}
    resampled = sorted({system for pair in wanted - few for system in pair})
    drawn = dict(
        zip(
            resampled,
            resampled_values(
                [(metric, sums[system]) for system in resampled], resamples=resamples, seed=seed, block=block
            ),
            strict=True,
        )
    )
    swaps = _swapped(metric, [(sums[a], sums[b]) for a, b in pairs], permutations, seed, block)
    found = []
    for (a, b), (difference, p, exact, tried, undefined, differing) in zip(pairs, swaps, strict=True):
        low = high = float("nan")
        if (a, b) in few:
            both = _side_by_side(sums[a], sums[b])
            by_jackknife = jackknife_interval(Difference(metric), both, level)
            low, high = by_jackknife.low, by_jackknife.high
        elif (a, b) in wanted:
            low, high, _ = percentiles(drawn[a] - drawn[b], count, level)
        note = ""
        if (a, b) in wanted:
            low, high, note = _possible(metric, (sums[a], sums[b]), difference, (low, high), level)
            if math.isnan(low) and not note:
                adding = len(_side_by_side(sums[a], sums[b]))
                note = reasoned(Interval(difference, low, high, adding, 0)).note
        found.append(PairedTest(difference, p, exact, tried, count, low, high, undefined, differing, note))
    return found


def _side_by_side(one: Floats, other: Floats) -> Floats:
    """Clusters' sums of two systems, shape (C', 2k), without the clusters that add nothing to either."""
    return informative(np.concatenate([one, other], axis=1))


def _possible(
    metric: Metric,
    tables: tuple[Floats, Floats],
    difference: float,
    bounds: tuple[float, float],
    level: float,
) -> tuple[float, float, str]:
    """Bounds of a difference put where it can be, and what is special about them.

    Where it is the same in every cluster, what others would be is told by how many of them could be at the far end:
    a share of 1 − (α/2)^(1/C) of unseen clusters (Clopper & Pearson 1934), as in `equivalence`.
    """
    low, high = bounds
    limits = natural_limits(metric, np.concatenate(tables))
    if limits is not None and math.isinf(limits[1]):
        limits = None
    if high - low <= TOLERANCE * max(1.0, abs(low)):
        clusters = len(_side_by_side(*tables))
        if limits is None or clusters < 2:
            return math.nan, math.nan, SAME_EVERYWHERE
        wide, share = limits[1] - limits[0], 1 - ((1 - level) / 2) ** (1 / clusters)
        return difference - share * (wide + difference), difference + share * (wide - difference), ALIKE
    if limits is None:
        return low, high, ""
    wide = limits[1] - limits[0]
    return max(low, -wide), min(high, wide), ""


def randomisation_test(
    stats_a: ArrayLike,
    stats_b: ArrayLike,
    clusters: Sequence[Hashable],
    formula: Callable[[Floats], Floats],
    resamples: int = 10_000,
    seed: int = 0,
) -> tuple[float, float]:
    """Whether two systems differ in a formula over summed statistics.

    Args:
        stats_a, stats_b: statistics of each system, shape (n, k), row by row the same instances.
        clusters: the cluster of each row, length n. The two systems are swapped within clusters.
        formula: from sums of the statistics, shape (..., k), to values, shape (...).
        resamples: random patterns of swaps, where there are too many clusters to try them all.
        seed: of the random patterns, 0 or more.

    Returns:
        The difference, value of a less value of b, and its two-sided p: the share of all 2^C patterns whose
        difference is as large, where there are at most `EXACT_CLUSTERS` clusters C; otherwise
        (1 + as large) / (1 + resamples). Differences within 1e-12 of each other (within 1e-12 of the values, where
        these are larger than 1) are equally large. A pattern without a value counts as as large.

    Raises:
        UnusableNumbers: NaN or an infinity in the statistics (the row is named), unequal shapes, no row, no value
            of a system, or fewer than one resample. It is a `UserError` and a `ValueError`.
    """
    table_a, table_b = finite_table("stats_a", stats_a), finite_table("stats_b", stats_b)
    labels = list(clusters)
    if table_a.shape != table_b.shape or len(table_a) != len(labels):
        raise UnusableNumbers(
            f"statistics of shapes {table_a.shape} and {table_b.shape} with {len(labels)} clusters' labels"
        )
    if not len(table_a) or resamples < 1:
        raise UnusableNumbers("no rows to compare" if resamples >= 1 else f"{resamples} resamples")
    sums = ordered_sums(table_a, labels), ordered_sums(table_b, labels)
    tally = _Tally(_Formula(formula), *sums, least_scale=1.0)
    if not tally.defined:
        raise UnusableNumbers("the formula has no value (NaN) for a system as a whole")
    if len(tally.moves) <= EXACT_CLUSTERS:
        for patterns in _all_patterns(len(tally.moving), None):
            tally.add(patterns @ tally.moves[tally.moving])
        return tally.difference, tally.extreme / tally.tried
    for patterns in _random_patterns(len(tally.moves), resamples, seed, None):
        tally.add(patterns @ tally.moves)
    return tally.difference, (1 + tally.extreme) / (1 + tally.tried)


class _Formula:
    """A function of sums as what a metric is to this module."""

    def __init__(self, formula: Callable[[Floats], Floats]) -> None:
        self.formula = formula

    def value(self, sums: Floats) -> Floats:
        """Of sums (..., k), shape (...); NaN where the formula divides by 0."""
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.asarray(self.formula(sums), dtype=np.float64)
        if found.shape != sums.shape[:-1]:
            raise UnusableNumbers(f"the formula gives shape {found.shape} for sums of shape {sums.shape}")
        return np.where(np.isfinite(found), found, np.nan)


def _swapped(
    metric: Metric, pairs: Sequence[tuple[Floats, Floats]], permutations: int, seed: int, block: int | None
) -> list[tuple[float, float, bool, int, int, int]]:
    """(difference, p, exact, patterns tried, undefined, differing clusters) of each pair.

    Random patterns serve all pairs.
    """
    tallies = [_Tally(metric, a, b) for a, b in pairs]
    drawing = [tally for tally in tallies if tally.defined and not tally.few]
    for tally in tallies:
        if tally.defined and tally.few:
            for patterns in _all_patterns(len(tally.moving), block):
                tally.add(patterns @ tally.moves[tally.moving])
    if drawing:
        table = np.concatenate([tally.moves for tally in drawing], axis=1)
        width = drawing[0].moves.shape[1]
        for patterns in _random_patterns(len(table), permutations, seed, block):
            moved = patterns @ table
            for index, tally in enumerate(drawing):
                tally.add(moved[:, index * width : (index + 1) * width])
    return [
        (
            tally.difference,
            tally.p(),
            tally.few and tally.defined,
            tally.tried,
            tally.undefined,
            len(tally.moving),
        )
        for tally in tallies
    ]


class _Tally:
    """Counts patterns that are at least as extreme as the observed difference of two systems.

    Swapping the clusters of a pattern moves (first − second) of each from the first system's sums to the
    second's. Clusters where nothing moves double the number of patterns and change no difference: they are
    left out of the enumeration, which is thereby exact more often.
    """

    def __init__(self, metric: Valued, a: Floats, b: Floats, least_scale: float = 0.0) -> None:
        self.metric, self.a, self.b = metric, a.sum(axis=0), b.sum(axis=0)
        self.moves = a - b
        self.moving = np.flatnonzero(self.moves.any(axis=1))
        self.few = len(self.moving) <= EXACT_CLUSTERS
        value_a, value_b = float(metric.value(self.a)), float(metric.value(self.b))
        self.difference = value_a - value_b
        self.defined = not np.isnan(self.difference)
        self.least = abs(self.difference) - TOLERANCE * max(least_scale, abs(value_a), abs(value_b))
        self.extreme = self.tried = self.undefined = 0

    def add(self, moved: Floats) -> None:
        """Count patterns, given what each moves, shape (b, k)."""
        differences = np.abs(self.metric.value(self.a - moved) - self.metric.value(self.b + moved))
        undefined = np.isnan(differences)
        self.tried += len(moved)
        self.undefined += int(undefined.sum())
        self.extreme += int(((differences >= self.least) | undefined).sum())

    def p(self) -> float:
        """Share of patterns at least as extreme, the observed one among them."""
        if not self.defined:
            return float("nan")
        if self.few:
            return self.extreme / self.tried
        return (self.extreme + 1) / (self.tried + 1)


def _all_patterns(clusters: int, block: int | None) -> Iterator[Floats]:
    """All 2^C patterns of swaps as ones, shape (b, C) at a time: the binary digits of 0, 1, 2…"""
    rows = block_rows(16 * max(1, clusters), block)
    places = np.arange(clusters)
    for start in range(0, 2**clusters, rows):
        numbers = np.arange(start, min(start + rows, 2**clusters))
        yield ((numbers[:, None] >> places) & 1).astype(np.float64)


def _random_patterns(clusters: int, permutations: int, seed: int, block: int | None) -> Iterator[Floats]:
    """Random patterns of swaps as ones, shape (b, C) at a time: 32 from each draw, lowest bit first."""
    generator = np.random.Generator(np.random.PCG64([seed, _STREAM]))
    words = -(-clusters // 32)
    rows = block_rows(9 * 32 * words, block)
    for start in range(0, permutations, rows):
        count = min(rows, permutations - start)
        drawn = generator.integers(0, 2**32, size=(count, words), dtype=np.int64).astype("<u4")
        bits = np.unpackbits(drawn.view(np.uint8), axis=1, bitorder="little")
        yield bits[:, :clusters].astype(np.float64)
