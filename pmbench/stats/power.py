"""What differences a dataset can show, and how much of it a difference needs.

A difference δ with standard error se of C clusters is found by a two-sided t test with the probability that a
noncentral t with C − 1 degrees of freedom and noncentrality δ / se lies beyond the quantiles of Student's t (Cohen,
Statistical Power Analysis for the Behavioral Sciences, 1988, chapter 2). With C' clusters of the same kind se shrinks
as √(C / C'). Tables test by randomisation within clusters, where no p is below 2 / 2^C: with fewer than
`fewest_clusters` of them nothing can be shown, and never fewer are said to be enough.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence

import msgspec
import numpy as np

from pmbench.core.metric import Metric
from pmbench.stats.checks import UnusableNumbers, finite_table, require_level
from pmbench.stats.cluster_robust import jackknife_error
from pmbench.stats.clusters import Floats, informative, ordered_sums, require_cluster_scheme
from pmbench.stats.dyadic import t_quantile
from pmbench.stats.linearised import Difference

MOST_CLUSTERS = 10**9

_ROUNDING = 1e-12
"""A standard error of a difference of no more than this share of one system's is none."""


def fewest_clusters(level: float = 0.95) -> int:
    """With how many clusters a randomisation test can have a p of 1 − level: the least C with 2 / 2^C no greater."""
    return 1 + math.ceil(-math.log2(1 - level) - 1e-9)


class Power(msgspec.Struct, frozen=True):
    """What a dataset can show of two systems.

    Attributes:
        detectable: the smallest difference that would be found with the power asked for; NaN: none would, however
            large, for there are fewer clusters than `fewest_clusters`.
        se: standard error of the difference.
        clusters, instances: of the dataset.
        power, level: as asked for.
        correlation: of the two systems' contributions; assumed where there is one run only.
        assumed: whether it is assumed, and not seen in two runs.
    """

    detectable: float
    se: float
    clusters: int
    instances: int
    power: float
    level: float
    correlation: float
    assumed: bool

    def needed(self, difference: float) -> tuple[int, int]:
        """Clusters, and instances at as many a cluster as here, that would show a difference with this power.

        Raises:
            UnusableNumbers: a difference of 0, or one that more than 10⁹ clusters would be needed for.
        """
        found = clusters_needed(self.se, self.clusters, difference, power=self.power, level=self.level)
        clusters = max(found, fewest_clusters(self.level))
        return clusters, math.ceil(clusters * self.instances / self.clusters - 1e-9)


def power_of_pair(
    metric: Metric,
    columns_a: Floats,
    columns_b: Floats,
    clusters: Sequence[Hashable],
    *,
    power: float = 0.8,
    level: float = 0.95,
) -> Power:
    """What the dataset can show, from two runs: systems that differ as these do, instance by instance.

    Args:
        metric: a formula over sums, of scheme `cluster`.
        columns_a, columns_b: what `metric.columns` gave for each, shape (n, k), row by row the same instances.
        clusters: the cluster of each row, length n.
        power: the probability to find the difference; level: 1 less the level of the test.

    Raises:
        UnusableNumbers: NaN in the columns, fewer than two clusters, a power that is not above 1 − level and below 1,
            or no difference of the two that varies from cluster to cluster.
    """
    one, other = _sums(metric, columns_a, clusters), _sums(metric, columns_b, clusters)
    adding = np.asarray(one.any(axis=1) | other.any(axis=1))
    one, other = one[adding], other[adding]
    se = jackknife_error(Difference(metric), np.concatenate([one, other], axis=1))
    first, second = jackknife_error(metric, one), jackknife_error(metric, other)
    if se <= _ROUNDING * max(first, second):
        raise UnusableNumbers(
            "the two differ by the same in every cluster, so that nothing is known of how such differences vary",
            remedy="Give another run, or leave --against out: a rival is assumed then",
        )
    known = first > 0 and second > 0
    correlation = (first**2 + second**2 - se**2) / (2 * first * second) if known else math.nan
    return _found(se, len(one), len(columns_a), power, level, correlation, assumed=False)


def power_of_one(
    metric: Metric,
    columns: Floats,
    clusters: Sequence[Hashable],
    *,
    correlation: float = 0.5,
    power: float = 0.8,
    level: float = 0.95,
) -> Power:
    """What the dataset can show, from one run: against a rival that varies as much and correlates as is assumed.

    Args:
        metric, columns, clusters, power, level: as in `power_of_pair`.
        correlation: of what clusters contribute to the two systems' values; systems that find the same instances
            hard have a high one, and smaller differences of theirs can be shown.

    Raises:
        UnusableNumbers: as there, or a correlation that is not from −1 to below 1.
    """
    if not -1 <= correlation < 1:
        raise UnusableNumbers(f"a correlation of {correlation}, which is not from -1 to below 1")
    table = informative(_sums(metric, columns, clusters))
    own = jackknife_error(metric, table)
    if own <= _ROUNDING * max(1.0, abs(float(metric.value(table.sum(axis=0))))):
        raise UnusableNumbers(
            "all clusters are alike, so that nothing is known of how values vary",
            remedy="Give a second run of the same data: --against RUN",
        )
    se = own * math.sqrt(2 * (1 - correlation))
    return _found(se, len(table), len(columns), power, level, correlation, assumed=True)


def t_power(ratio: float, freedom: float, level: float = 0.95) -> float:
    """Probability that a two-sided t test finds a difference of `ratio` standard errors."""
    from scipy.special import nctdtr

    critical = t_quantile(freedom, 1 - require_level(level))
    if abs(ratio) > 1e3:
        return 1.0
    ratio = abs(ratio)
    return float(1 - nctdtr(freedom, ratio, critical) + nctdtr(freedom, ratio, -critical))


def detectable_difference(se: float, clusters: int, *, power: float = 0.8, level: float = 0.95) -> float:
    """The smallest difference found with a given power.

    Args:
        se: standard error of a difference from this many clusters (messages, of pairs).
        clusters: how many, 2 at least.
        power, level: as in `power_of_pair`.
    """
    _check(se, clusters, power, level)
    if se == 0:
        return 0.0
    return se * _root(lambda ratio: t_power(ratio, clusters - 1, level) - power)


def clusters_needed(
    se: float, clusters: int, difference: float, *, power: float = 0.8, level: float = 0.95
) -> int:
    """How many clusters would show a difference with a given power; 2 at least.

    Args:
        se: standard error of a difference from `clusters` clusters of the same kind.
        difference: to be shown, not 0.
        power, level: as in `power_of_pair`.
    """
    _check(se, clusters, power, level)
    if difference == 0 or not math.isfinite(difference):
        raise UnusableNumbers(f"a difference of {difference}", remedy="Give one that is not 0")

    def enough(count: int) -> bool:
        ratio = math.inf if se == 0 else abs(difference) / (se * math.sqrt(clusters / count))
        return t_power(ratio, count - 1, level) >= power

    most = 2
    while not enough(most):
        if most > MOST_CLUSTERS:
            raise UnusableNumbers(
                f"a difference of {difference} would need more than {MOST_CLUSTERS} clusters"
            )
        most *= 2
    least = most // 2
    while most - least > 1:
        middle = (least + most) // 2
        least, most = (least, middle) if enough(middle) else (middle, most)
    return max(2, most)


def _sums(metric: Metric, columns: Floats, clusters: Sequence[Hashable]) -> Floats:
    require_cluster_scheme(metric)
    return ordered_sums(finite_table("columns", columns), clusters)


def _found(
    se: float, clusters: int, instances: int, power: float, level: float, correlation: float, *, assumed: bool
) -> Power:
    detectable = detectable_difference(se, clusters, power=power, level=level)
    if clusters < fewest_clusters(level):
        detectable = math.nan
    return Power(detectable, se, clusters, instances, power, level, correlation, assumed)


def _check(se: float, clusters: int, power: float, level: float) -> None:
    require_level(level)
    if clusters < 2:
        there = "one cluster adds" if clusters else "no cluster adds"
        raise UnusableNumbers(
            f"{there} anything to the value, and it takes two to know how values vary",
            remedy="Choose another metric (--metric), or take a run of more instances",
        )
    if not (se >= 0 and math.isfinite(se)):
        raise UnusableNumbers(
            "without one of the clusters the value is undefined, so that nothing is known of how it varies",
            remedy="Choose another metric (--metric), or take a run of more instances",
        )
    if not 1 - level < power < 1:
        raise UnusableNumbers(
            f"a power of {power:g} for a test at {1 - level:.2g}: it has to lie between that and 1",
            remedy="Write 0.8 for 80%, and --level 0.95 for a test at 0.05",
        )


def _root(excess: Callable[[float], float]) -> float:
    """Where a rising function of a ratio comes to 0, by halving."""
    low, high = 0.0, 1.0
    while excess(high) < 0:
        low, high = high, 2 * high
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if excess(middle) < 0 else (low, middle)
    return high
