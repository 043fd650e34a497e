"""Tests of differences: one-sample t, sign flips, two samples, Cohen's d, Holm."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from pmbench_tasks.notes.evaluation.intervals import (
    NAN,
    RESAMPLES,
    Estimate,
    Floats,
    means,
    nothing,
    unit_sums,
)

EXACT = 14
"""Up to so many units every pattern of signs is tried (16384 of them)."""

PERMUTATIONS = 10_000


class OneSample(msgspec.Struct, frozen=True, kw_only=True):
    """Whether differences have a mean other than 0.

    Attributes:
        mean: with its interval; NaN without differences.
        n: differences.
        sd: their standard deviation (n − 1).
        t, df, p: one-sample t-test, two-sided, of which every difference is one case; NaN with fewer than two, or
            where all are equal.
        d: Cohen's d, mean over sd; NaN where t is.
        flip_p: two-sided sign-flip test, in which the differences of one unit change sign together.
        exact: whether all patterns of signs were tried.
    """

    mean: Estimate
    n: int
    sd: float
    t: float
    df: float
    p: float
    d: float
    flip_p: float
    exact: bool


class TwoSample(msgspec.Struct, frozen=True, kw_only=True):
    """Whether two samples differ in their mean.

    Attributes:
        difference: mean of the first less that of the second.
        low, high: 95% interval of it, from t.
        t, df, p: Welch's test, two-sided, which does not take the variances for equal; NaN where it cannot be made.
        d: Cohen's d: the difference over the pooled standard deviation.
        n_first, n_second: values that are there.
        unit: what a value is of.
    """

    difference: float
    low: float
    high: float
    t: float
    df: float
    p: float
    d: float
    n_first: int
    n_second: int
    unit: str


def one_sample(
    differences: Floats,
    clusters: Sequence[Hashable] | None = None,
    *,
    unit: str,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> OneSample:
    """Mean, t, d and sign-flip test of differences.

    The t-test takes each difference for independent, as the paper's do; interval and sign flips go by cluster. Where
    they disagree, believe those.

    Args:
        differences: (n,); NaN are left out.
        clusters: the unit of each difference; without, each is its own.
        unit: what a unit is called.
        resamples, seed: of the bootstrap and of the sign flips.
    """
    there = ~np.isnan(differences)
    values = differences[there]
    kept = None if clusters is None else [one for one, has in zip(clusters, there, strict=True) if has]
    count = len(values)
    if not count:
        mean = nothing(unit, "no differences")
        return OneSample(mean=mean, n=0, sd=NAN, t=NAN, df=NAN, p=NAN, d=NAN, flip_p=NAN, exact=False)
    mean = means(values[:, None], kept, unit=unit, resamples=resamples, seed=seed)[0]
    flip_p, exact = sign_flip(unit_sums(values, kept), seed=seed)
    sd = float(values.std(ddof=1)) if count > 1 else NAN
    t = df = p = d = NAN
    if _spread(sd, values):
        from scipy import stats

        found = stats.ttest_1samp(values, 0.0)
        t, df, p = float(found.statistic), float(found.df), float(found.pvalue)
        d = float(values.mean()) / sd
    return OneSample(mean=mean, n=count, sd=sd, t=t, df=df, p=p, d=d, flip_p=flip_p, exact=exact)


def sign_flip(sums: Floats, *, permutations: int = PERMUTATIONS, seed: int = 0) -> tuple[float, bool]:
    """Two-sided test whether sums are as likely to have the other sign (Fisher's randomisation test of pairs).

    p is the share of patterns of signs whose total is at least as far from 0 as the one seen: of all patterns up to
    14 units; above, of the seen one and `permutations` drawn ones.

    Args:
        sums: of the differences of each unit, (C,).
        permutations, seed: of the drawn ones.

    Returns:
        p, and whether it is exact. NaN without units.
    """
    units = len(sums)
    if not units:
        return NAN, False
    seen = abs(float(sums.sum())) - 1e-9 * float(np.abs(sums).sum())
    if units <= EXACT:
        patterns = 1 - 2.0 * ((np.arange(2**units)[:, None] >> np.arange(units)) & 1)
        return float((np.abs(patterns @ sums) >= seen).mean()), True
    generator = np.random.default_rng([seed, 1])
    beyond = 0
    step = max(1, 2_000_000 // units)
    for start in range(0, permutations, step):
        rows = min(step, permutations - start)
        signs = 1 - 2.0 * generator.integers(0, 2, size=(rows, units))
        beyond += int((np.abs(signs @ sums) >= seen).sum())
    return (1 + beyond) / (1 + permutations), False


def two_sample(first: Floats, second: Floats, *, unit: str) -> TwoSample:
    """Welch's t-test and Cohen's d of two samples; NaN values are left out."""
    one, two = first[~np.isnan(first)], second[~np.isnan(second)]
    sizes: dict[str, Any] = {"n_first": len(one), "n_second": len(two), "unit": unit}
    gap = float(one.mean() - two.mean()) if len(one) and len(two) else NAN
    low = high = t = df = p = d = NAN
    if len(one) > 1 and len(two) > 1:
        pooled = (one.var(ddof=1) * (len(one) - 1) + two.var(ddof=1) * (len(two) - 1)) / (
            len(one) + len(two) - 2
        )
        if _spread(float(np.sqrt(pooled)), np.concatenate([one, two])):
            from scipy import stats

            found = stats.ttest_ind(one, two, equal_var=False)
            t, df, p = float(found.statistic), float(found.df), float(found.pvalue)
            low, high = (float(end) for end in found.confidence_interval(0.95))
            d = gap / float(np.sqrt(pooled))
    return TwoSample(difference=gap, low=low, high=high, t=t, df=df, p=p, d=d, **sizes)


def _spread(sd: float, values: Floats) -> bool:
    """Whether a standard deviation is more than rounding."""
    return bool(sd > 1e-12 * max(1e-300, float(np.abs(values).max())))


def holm(p: Mapping[str, float]) -> dict[str, float]:
    """p-values adjusted for their number (Holm 1979); NaN stays NaN and is none of them."""
    order = sorted((name for name in p if p[name] == p[name]), key=lambda name: p[name])
    adjusted = dict.fromkeys(p, NAN)
    least = 0.0
    for place, name in enumerate(order):
        least = max(least, min(1.0, (len(order) - place) * p[name]))
        adjusted[name] = least
    return adjusted
