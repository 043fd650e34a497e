"""Gaps between subgroups: percentiles where both parts have many clusters, two jackknifes put together elsewhere."""

import math

import numpy as np
import pytest
import scipy.stats
from statsmodels.stats.proportion import confint_proportions_2indep

from pmbench.core.metric import F1, Mean, Metric, Ratio
from pmbench.stats.bootstrap import FEW_CLUSTERS, at_a_limit
from pmbench.stats.cluster_gaps import FEWEST_IN_PART, FEWEST_WITHOUT_LIMITS, few_cluster_gap
from pmbench.stats.clusters import Floats
from pmbench.stats.dyadic import expit
from pmbench.stats.schemes import Rows, gaps

COUNTS_F1, FREE, SHARE = F1("tp", "fp", "fn"), Mean("y"), Mean("y", limits=(0.0, 1.0))


def rows(columns: Floats) -> Rows:
    ids = [f"{n:04}" for n in range(len(columns))]
    return Rows(columns, [True] * len(columns), ids, ids)


def mean_columns(*parts: Floats) -> Floats:
    return FREE.columns({"y": np.concatenate(parts)})


def gap(metric: Metric, columns: Floats, part: int, resamples: int = 2000):
    """The first so many instances against the others."""
    inside = [place < part for place in range(len(columns))]
    return gaps(metric, rows(columns), [(inside, [not one for one in inside])], resamples=resamples)[0]


def test_with_many_clusters_the_interval_is_that_of_drawings_that_hold_both_parts() -> None:
    """Drawn here once more by numpy, case by case."""
    lot = np.random.default_rng(1)
    wanted = lot.integers(1, 8, 2 * FEW_CLUSTERS)
    matched = lot.binomial(wanted, 0.5)
    counts = np.stack([matched, lot.poisson(2, len(wanted)), wanted - matched], axis=1).astype(float)
    drawn = []
    for _ in range(4000):
        chosen = lot.integers(0, len(counts), len(counts))
        sides = [counts[chosen[chosen < FEW_CLUSTERS]], counts[chosen[chosen >= FEW_CLUSTERS]]]
        drawn.append(float(np.subtract(*(COUNTS_F1.value(side.sum(axis=0)) for side in sides))))
    found = gap(COUNTS_F1, counts, FEW_CLUSTERS, 20_000)
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(drawn, [0.025, 0.975])), abs=0.006)
    assert (found.resamples, found.clusters) == (20_000, 2 * FEW_CLUSTERS)


def test_without_limits_it_is_welchs_interval() -> None:
    a, b = np.random.default_rng(2).normal([[0], [1]], [[1], [3]], (2, 60))
    found = gap(FREE, mean_columns(a[:32], b), 32)
    theirs = scipy.stats.ttest_ind(a[:32], b, equal_var=False).confidence_interval()
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), rel=1e-9)
    assert found.resamples == 0


def test_with_every_cluster_on_both_sides_it_is_the_paired_interval() -> None:
    a, b = np.random.default_rng(3).normal(size=(2, 40))
    columns = mean_columns(a, a + b)
    inside = np.arange(80) < 40
    names = [f"{n % 40:02}" for n in range(80)]
    of = Rows(columns, [True] * 80, [str(n) for n in range(80)], names)
    found = gaps(FREE, of, [(inside.tolist(), (~inside).tolist())])[0]
    theirs = scipy.stats.ttest_rel(a, a + b).confidence_interval()
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), rel=1e-9)


def test_a_gap_of_shares_is_put_together_from_the_bounds_of_each() -> None:
    """By hand: 2 of 8 and 9 of 20; logit bounds with Welch's degrees of freedom, then Newcombe's two roots."""
    found = gap(SHARE, mean_columns(np.repeat([1, 0, 1, 0], [2, 6, 9, 11]).astype(float)), 8)
    sides = []
    for hits, n in ((2, 8), (9, 20)):
        p = hits / n
        sides.append((p, p * (1 - p) / (n - 1), n))  # the jackknife's variance of a mean
    (a, va, na), (b, vb, nb) = sides
    t = scipy.stats.t.ppf(0.975, (va + vb) ** 2 / (va**2 / (na - 1) + vb**2 / (nb - 1)))
    ends = []
    for p, variance, _ in sides:
        step = t * math.sqrt(variance) / (p * (1 - p))
        ends.append([expit(math.log(p / (1 - p)) + sign * step) for sign in (-1, 1)])
    low = a - b - math.hypot(a - ends[0][0], ends[1][1] - b)
    high = a - b + math.hypot(ends[0][1] - a, b - ends[1][0])
    assert (found.low, found.high) == pytest.approx((low, high), rel=1e-9)


def test_with_many_instances_it_is_newcombes_interval_of_two_shares() -> None:
    """Which puts Wilson's bounds together, with the normal distribution."""
    columns = mean_columns(np.repeat([1.0, 0.0, 1.0, 0.0], [20, 180, 90, 310]))
    inside = np.arange(600) < 200
    one, other = (np.where(part[:, None], columns, 0.0) for part in (inside, ~inside))
    found = few_cluster_gap(SHARE, one, other, inside, ~inside)
    assert (found.low, found.high) == pytest.approx(
        confint_proportions_2indep(20, 200, 90, 400, method="newcomb"), abs=0.004
    )


def test_a_part_that_is_all_at_a_limit_has_the_bounds_of_such_a_share() -> None:
    found = gap(SHARE, mean_columns(np.zeros(9), np.repeat([0.0, 1.0], 10)), 9)
    reach = at_a_limit(0.0, (0.0, 1.0), 9)[1]
    assert found.value == -0.5
    assert found.high > -0.5 + reach
    assert -1 <= found.low < -0.6


@pytest.mark.parametrize("least", [FEWEST_IN_PART, FEWEST_WITHOUT_LIMITS])
def test_a_part_of_too_few_clusters_has_a_gap_and_no_interval(least: int) -> None:
    metric = SHARE if least == FEWEST_IN_PART else FREE
    values = np.random.default_rng(4).random(200)
    for part in (1, least - 1):
        found = gap(metric, mean_columns(values), part)
        assert found.value == pytest.approx(values[:part].mean() - values[part:].mean())
        assert math.isnan(found.low) and math.isnan(found.high)
        assert f"a part has {part} cluster" in found.note and f"{least} are needed" in found.note
    enough = gap(metric, mean_columns(values), least)
    assert enough.low < enough.value < enough.high and not enough.note


def test_a_count_that_is_0_in_all_of_a_part_has_no_interval_of_its_gap() -> None:
    count = Mean("y", bounds=(0.0, math.inf))
    found = gap(count, mean_columns(np.zeros(8), np.arange(20.0)), 8)
    assert found.value == -9.5
    assert math.isnan(found.low)
    assert "0 in every cluster" in found.note


def test_a_part_without_a_value_has_none() -> None:
    ratio = Ratio("a", "b")
    nothing = ratio.columns({"a": np.repeat([0.0, 1.0], 8), "b": np.repeat([0.0, 2.0], 8)})
    one = few_cluster_gap(ratio, nothing, nothing[::-1].copy(), np.arange(16) < 8, np.arange(16) < 8)
    assert math.isnan(one.value) and math.isnan(one.low)


def test_clusters_that_add_nothing_to_a_part_do_not_count() -> None:
    """Nine replies of the part, in four of which there was anything to find: too few, though nine have a number."""
    there = np.concatenate([np.repeat([2.0, 0.0], [4, 5]), np.full(60, 2.0)])
    ratio = Ratio("found", "there")
    found = gap(ratio, ratio.columns({"found": there / 2, "there": there}), 9)
    assert "a part has 4 clusters and 5 are needed" in found.note
