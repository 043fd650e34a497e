"""How much scores of several samples vary between clusters, between instances of a cluster, between samples of one.

A score of cluster a, its instance i and its sample s is μ + cluster_a + instance_i(a) + sample_s(i), everything drawn
at random. With K samples of each of n instances in A clusters of n_a, mean squares are set equal to what is expected
of them (Searle, Casella & McCulloch, Variance Components, 1992, sections 3.6 and 5.2, method I of Henderson):

    E(samples within instances) = sample                 n (K − 1) degrees of freedom
    E(instances within clusters) = sample + K·instance    n − A
    E(clusters) = sample + K·instance + K·m·cluster       A − 1, with m = (n − Σ n_a² / n) / (A − 1)

The mean of all instances has the variance cluster · Σ n_a² / n² + instance / n + sample / (n K). Where every instance
is a cluster of its own, or nearly every one (n − A below 10), there is no part between clusters: this is then the
one-way split, each instance taken for a cluster.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from pmbench.stats.checks import UnusableNumbers, require_level
from pmbench.stats.clusters import Floats

FEWEST_WITHIN = 10
"""Degrees of freedom of instances within clusters below which the two are not told apart."""

_ROUNDING = 1e-12
"""Of the greatest score: deviations below are rounding."""


class NestedParts(msgspec.Struct, frozen=True):
    """Variances, in the square of the score's unit.

    Attributes:
        cluster: between clusters; NaN where they are not told apart from instances.
        instance: between instances of one cluster.
        sample: between samples of one instance.
        sample_share, low, high: the samples' share of the sum of the parts, and its interval by the jackknife over
            clusters (delete one; Student's t), put between 0 and 1; NaN where nothing varies.
        mean: of the scores.
        instances, samples, clusters: n, K, A.
        alike: Σ n_a² / n², what one over the number of clusters would be if they were of one size.
        left_out: instances with a score missing, which are not in these numbers.
        below_zero: names of parts that came out below 0 and stand as 0.
    """

    cluster: float
    instance: float
    sample: float
    sample_share: float
    low: float
    high: float
    mean: float
    instances: int
    samples: int
    clusters: int
    alike: float
    left_out: int = 0
    below_zero: tuple[str, ...] = ()

    def se(self, samples: float | None = None) -> float:
        """Standard error of the mean over other clusters, instances and samples; NaN with one cluster.

        Args:
            samples: if there were so many of each instance (infinity: any number); None: as many as there are.
        """
        if self.clusters < 2:
            return math.nan
        between = 0.0 if math.isnan(self.cluster) else self.cluster * self.alike
        within = self.sample / (self.instances * (self.samples if samples is None else samples))
        return math.sqrt(between + self.instance / self.instances + within)

    def shares(self) -> dict[str, float]:
        """Each part as a share of their sum, the outer one first; NaN where nothing varies."""
        parts = {"cluster": self.cluster, "instance": self.instance, "sample": self.sample}
        known = {name: value for name, value in parts.items() if not math.isnan(value)}
        total = sum(known.values())
        return {name: value / total if total else math.nan for name, value in known.items()}


@dataclass(frozen=True)
class _Sums:
    """What mean squares are made of, each an array over data sets: `without` takes one cluster from the data.

    Attributes:
        clusters, instances, squares: A, n and Σ n_a².
        total: Σ n_a · mean_a; between: Σ n_a · mean_a²; within: squares of instances about their cluster's mean;
        inside: squares of samples about their instance's mean.
    """

    clusters: Floats
    instances: Floats
    squares: Floats
    total: Floats
    between: Floats
    within: Floats
    inside: Floats

    def parts(self, samples: int, tiny: float) -> Floats:
        """Variances before those below 0 are put there, shape (3, …): cluster, instance, sample.

        Args:
            samples: K; tiny: variances that are rounding, which are 0.
        """
        with np.errstate(invalid="ignore", divide="ignore"):
            sample = self.inside / (self.instances * (samples - 1))
            spread = samples * (self.between - self.total**2 / self.instances)
            own = self.clusters == self.instances
            of_instances = np.where(
                own, spread / (self.instances - 1), samples * self.within / (self.instances - self.clusters)
            )
            each = (self.instances - self.squares / self.instances) / (self.clusters - 1)
            cluster = (spread / (self.clusters - 1) - of_instances) / (samples * each)
            apart = ~own & (self.clusters > 1)
            found = np.stack([np.where(apart, cluster, 0.0), (of_instances - sample) / samples, sample])
        return np.where(np.abs(found) <= tiny, 0.0, found)


def nested_parts(scores: ArrayLike, clusters: Sequence[Hashable], level: float = 0.95) -> NestedParts:
    """Split the variance of scores of several samples.

    Args:
        scores: shape (n, K) with K of two or more. An instance with NaN is left out and counted.
        clusters: of the instances, length n.
        level: of the interval of the samples' share.

    Raises:
        UnusableNumbers: another shape, fewer than two samples, or fewer than two instances that are complete.
    """
    beyond = require_level(level)
    table = np.asarray(scores, dtype=np.float64)
    if table.ndim != 2 or len(clusters) != len(table):
        raise UnusableNumbers(f"scores of shape {table.shape} of {len(clusters)} instances")
    if table.shape[1] < 2:
        raise UnusableNumbers("one sample of each instance: two are needed")
    complete = np.array([bool(np.isfinite(row).all()) for row in table])
    table = table[complete]
    n, samples = table.shape
    if n < 2:
        raise UnusableNumbers(f"{n} instances with all of their scores: two are needed")
    groups = [one for one, there in zip(clusters, complete.tolist(), strict=True) if there]
    if n - len(set(groups)) < FEWEST_WITHIN:
        groups = list(range(n))
    tiny = (_ROUNDING * float(np.abs(table).max())) ** 2
    each, whole = _sums(table - table.mean(), groups)
    raw = whole.parts(samples, tiny)[:, 0]
    own = whole.clusters[0] in (n, 1)
    names = ("cluster", "instance", "sample")
    below = tuple(name for name, value in zip(names, raw.tolist(), strict=True) if value < 0)
    cluster, instance, sample = np.maximum(raw, 0.0).tolist()
    share, low, high = _share(whole, each, samples, beyond, tiny)
    return NestedParts(
        cluster=math.nan if own else cluster,
        instance=instance,
        sample=sample,
        sample_share=share,
        low=low,
        high=high,
        mean=float(table.mean()),
        instances=n,
        samples=samples,
        clusters=int(whole.clusters[0]),
        alike=float(whole.squares[0]) / n**2,
        left_out=int((~complete).sum()),
        below_zero=below,
    )


def _sums(table: Floats, clusters: Sequence[Hashable]) -> tuple[_Sums, _Sums]:
    """Of each cluster by itself, and of all."""
    numbers = {name: number for number, name in enumerate(dict.fromkeys(clusters))}
    at = np.array([numbers[name] for name in clusters], dtype=np.intp)
    means = table.mean(axis=1)
    sizes = np.bincount(at).astype(np.float64)
    centres = _added(at, means) / sizes
    each = _Sums(
        np.ones(len(sizes)),
        sizes,
        sizes**2,
        sizes * centres,
        sizes * centres**2,
        _added(at, (means - centres[at]) ** 2),
        _added(at, ((table - means[:, None]) ** 2).sum(axis=1)),
    )
    return each, _Sums(*(np.array([column.sum()]) for column in vars(each).values()))


def _added(at: NDArray[np.intp], values: Floats) -> Floats:
    """The sum of the values of each cluster."""
    return np.bincount(at, weights=values).astype(np.float64)


def _share(whole: _Sums, each: _Sums, samples: int, beyond: float, tiny: float) -> tuple[float, float, float]:
    """The samples' share, and its bounds from leaving each cluster out in turn (Efron 1982, chapter 3).

    Bounds are made from shares whose parts may be below 0: put to 0 they would hardly vary near 0 and 1.
    """
    from scipy.stats import t

    parts = whole.parts(samples, tiny)
    value, centre = float(_of_samples(np.maximum(parts, 0.0))[0]), float(_of_samples(parts)[0])
    count = len(each.clusters)
    if math.isnan(centre) or count < 3:
        return value, math.nan, math.nan
    pairs = zip(vars(whole).values(), vars(each).values(), strict=True)
    without = _of_samples(_Sums(*(total - one for total, one in pairs)).parts(samples, tiny))
    if np.isnan(without).any():
        return value, math.nan, math.nan
    wide = float(t.ppf(1 - beyond, count - 1)) * math.sqrt(
        (count - 1) / count * float(((without - without.mean()) ** 2).sum())
    )
    low, high = (min(max(end, 0.0), 1.0) for end in (centre - wide, centre + wide))
    return value, min(low, value), max(high, value)


def _of_samples(parts: Floats) -> Floats:
    """The last part's share of the sum of all; NaN where nothing varies."""
    total = parts.sum(axis=0)
    return np.where(total > 0, parts[-1] / np.where(total > 0, total, 1.0), np.nan)
