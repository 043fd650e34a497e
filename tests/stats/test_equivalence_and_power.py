"""Equivalence, standardised effects and power, against scipy, statsmodels and arithmetic by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats
from stats_examples import COUNTS_F1, MEAN, f1_columns, mean_columns
from statsmodels.stats.power import TTestPower
from statsmodels.stats.weightstats import ttost_paired

from pmbench.core.metric import COUNT, Mean, Ratio
from pmbench.stats.checks import UnusableNumbers
from pmbench.stats.clusters import ordered_sums
from pmbench.stats.dyadic import dyadic_difference
from pmbench.stats.effects import standardised_effect
from pmbench.stats.equivalence import equivalence, of_difference
from pmbench.stats.power import (
    clusters_needed,
    detectable_difference,
    fewest_clusters,
    power_of_one,
    power_of_pair,
    t_power,
)


def two(seed: int, n: int = 30, shift: float = 0.1) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    shared = generator.normal(size=n)
    return shared + generator.normal(shift, 0.4, n), shared + generator.normal(0, 0.4, n)


def test_statsmodels_has_the_same_two_one_sided_tests() -> None:
    a, b = two(0)
    theirs, below, above = ttost_paired(a, b, -0.3, 0.3)
    found = equivalence(MEAN, mean_columns(a), mean_columns(b), range(30), 0.3)
    assert found.p_equivalent == pytest.approx(theirs, rel=1e-10)
    assert found.p_not_inferior == pytest.approx(below[1], rel=1e-10)
    assert found.p_equivalent == pytest.approx(max(below[1], above[1]), rel=1e-10)


@pytest.mark.parametrize("margin", [0.05, 0.2, 0.25, 0.4])
def test_equivalent_exactly_where_the_interval_is_within_the_margin(margin: float) -> None:
    a, b = two(1)
    found = equivalence(MEAN, mean_columns(a), mean_columns(b), range(30), margin)
    theirs = scipy.stats.ttest_rel(a, b).confidence_interval(0.9)
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), rel=1e-10)
    assert found.equivalent == (-margin < found.low and found.high < margin)
    assert found.not_inferior == (-margin < found.low)


def test_less_is_better_turns_non_inferiority_round() -> None:
    a, b = two(2, shift=0.3)
    more, less = (
        equivalence(Mean("y", higher_is_better=better), mean_columns(a), mean_columns(b), range(30), 0.2)
        for better in (True, False)
    )
    assert more.not_inferior
    assert not less.not_inferior
    assert more.p_equivalent == less.p_equivalent


def test_not_different_is_not_the_same() -> None:
    a, b = two(3, n=8, shift=0.0)
    found = equivalence(MEAN, mean_columns(a), mean_columns(b), range(8), 0.05)
    assert scipy.stats.ttest_rel(a, b).pvalue > 0.05
    assert not found.equivalent


def test_systems_that_are_alike_everywhere_need_enough_clusters() -> None:
    """With n alike of n, the share of others is at most 1 − 0.05^(1/n): 0.259 of 10 and 0.0149 of 200."""
    metric = Mean("y", limits=(0.0, 1.0))
    few, many = (
        equivalence(metric, columns, columns, range(n), 0.02)
        for n in (10, 200)
        for columns in [metric.columns({"y": np.full(n, 0.5)})]
    )
    assert (few.equivalent, many.equivalent) == (False, True)
    assert many.high == pytest.approx(1 - 0.05 ** (1 / 200))
    assert many.p_equivalent == pytest.approx(0.98**200)
    assert "alike" in many.note
    unlimited = equivalence(MEAN, mean_columns([1.0] * 9), mean_columns([1.0] * 9), range(9), 0.02)
    assert math.isnan(unlimited.p_equivalent)
    assert "not known" in unlimited.note


def test_pairs_that_share_messages_take_the_same_tests() -> None:
    generator = np.random.default_rng(4)
    first, second = generator.integers(0, 20, 60), generator.integers(20, 40, 60)
    a, b = generator.integers(0, 2, (2, 60)).astype(float)
    dyadic = dyadic_difference(first.tolist(), second.tolist(), a, b, level=0.9)
    found = of_difference(dyadic.difference, dyadic.se, dyadic.messages - 1, 0.1)
    assert (found.low, found.high) == pytest.approx((dyadic.low, dyadic.high))


@pytest.mark.parametrize("margin", [0.0, -1.0, math.nan, math.inf])
def test_a_margin_that_is_none_is_refused(margin: float) -> None:
    with pytest.raises(ValueError, match="margin"):
        equivalence(MEAN, mean_columns([1.0, 2.0]), mean_columns([1.0, 1.0]), range(2), margin)


def test_a_standard_error_of_0_supports_no_test() -> None:
    found = of_difference(0.0, 0.0, 9, 0.1)
    assert math.isnan(found.p_equivalent)
    assert "not known" in found.note
    assert not found.equivalent


def test_one_cluster_has_no_test_of_equivalence() -> None:
    found = equivalence(MEAN, mean_columns([1.0, 2.0]), mean_columns([1.0, 1.0]), ["x", "x"], 0.1)
    assert math.isnan(found.p_equivalent)
    assert "no test" in found.note


def test_effect_of_a_mean_is_t_by_root_n_with_hedges_correction() -> None:
    a, b = two(5, n=25)
    t = scipy.stats.ttest_rel(a, b).statistic
    found = standardised_effect(MEAN, mean_columns(a), mean_columns(b), range(25))
    assert found.value == pytest.approx(t / 5 * (1 - 3 / (4 * 24 - 1)), rel=1e-9)
    assert found.low < found.value < found.high


def test_effect_does_not_depend_on_the_unit_and_turns_with_the_systems() -> None:
    a, b = two(6)
    plain = standardised_effect(MEAN, mean_columns(a), mean_columns(b), range(30))
    scaled = standardised_effect(MEAN, mean_columns(100 * a), mean_columns(100 * b), range(30))
    turned = standardised_effect(MEAN, mean_columns(b), mean_columns(a), range(30))
    assert (scaled.value, scaled.low) == pytest.approx((plain.value, plain.low))
    assert (turned.value, turned.low) == pytest.approx((-plain.value, -plain.high))


def test_effect_of_f1_and_of_nothing() -> None:
    generator = np.random.default_rng(7)
    a, b = (f1_columns(generator.integers(1, 9, (40, 3))) for _ in range(2))
    assert abs(standardised_effect(COUNTS_F1, a, b, range(40)).value) < 1
    assert math.isnan(standardised_effect(COUNTS_F1, a, a, range(40)).value)


@pytest.mark.parametrize("n", [6, 20, 100, 1500])
@pytest.mark.parametrize("power", [0.5, 0.8, 0.95])
def test_statsmodels_finds_the_same_smallest_difference(n: int, power: float) -> None:
    a, b = two(8, n=n)
    sd = (a - b).std(ddof=1)
    found = power_of_pair(MEAN, mean_columns(a), mean_columns(b), range(n), power=power)
    # Their own solution stops at about five digits; the power that they give ours does not.
    assert TTestPower().power(found.detectable / sd, n, 0.05) == pytest.approx(power, abs=1e-8)
    theirs = TTestPower().solve_power(nobs=n, alpha=0.05, power=power) * sd
    assert found.detectable == pytest.approx(theirs, rel=1e-4)


@pytest.mark.parametrize("size", [0.1, 0.3, 0.8])
def test_statsmodels_asks_for_as_many_instances(size: float) -> None:
    a, b = two(9, n=60)
    theirs = TTestPower().solve_power(effect_size=size, alpha=0.05, power=0.8)
    found = power_of_pair(MEAN, mean_columns(a), mean_columns(b), range(60))
    assert found.needed(size * (a - b).std(ddof=1)) == (math.ceil(theirs), math.ceil(theirs))


def test_a_power_is_the_share_of_simulated_t_tests() -> None:
    generator = np.random.default_rng(10)
    found = scipy.stats.ttest_1samp(generator.normal(0.6, 1, (20_000, 15)), 0, axis=1).pvalue < 0.05
    assert t_power(0.6 * math.sqrt(15), 14) == pytest.approx(found.mean(), abs=0.01)


def test_what_is_needed_is_what_can_be_detected() -> None:
    a, b = two(11, n=90)
    clusters = np.repeat(np.arange(30), 3).tolist()
    found = power_of_pair(MEAN, mean_columns(a), mean_columns(b), clusters)
    assert found.needed(found.detectable) == (30, 90)
    assert found.needed(found.detectable * 0.99)[0] == 31
    assert (found.clusters, found.instances, found.assumed) == (30, 90, False)


def test_one_run_with_the_correlation_of_two_says_what_the_two_say() -> None:
    """Systems that vary equally: var(a − b) = 2 (1 − ρ) var(a)."""
    a, _ = two(12)
    b = a[::-1].copy()  # the same values on other instances: the same variance
    pair = power_of_pair(MEAN, mean_columns(a), mean_columns(b), range(30))
    one = power_of_one(MEAN, mean_columns(a), range(30), correlation=pair.correlation)
    assert pair.correlation == pytest.approx(np.corrcoef(a, b)[0, 1])
    assert one.detectable == pytest.approx(pair.detectable)
    assert one.assumed
    assert power_of_one(MEAN, mean_columns(a), range(30), correlation=0.9).detectable < one.detectable


def test_power_of_clusters_uses_their_sums() -> None:
    generator = np.random.default_rng(13)
    clusters = generator.integers(0, 12, 40).tolist()
    table = ordered_sums(mean_columns(generator.normal(size=40)), clusters)
    value = table[:, 0].sum() / table[:, 1].sum()
    without = [
        (table[:, 0].sum() - s) / (table[:, 1].sum() - c) for s, c in table
    ]  # the mean without each cluster
    count = len(table)
    se = np.sqrt((count - 1) / count * ((np.array(without) - np.mean(without)) ** 2).sum())
    assert detectable_difference(se, count) == pytest.approx(
        TTestPower().solve_power(nobs=count, alpha=0.05, power=0.8) * se * math.sqrt(count), rel=1e-4
    )
    assert abs(value) < 5


def test_questions_without_an_answer_are_refused() -> None:
    with pytest.raises(ValueError, match="difference of 0"):
        clusters_needed(0.1, 10, 0.0)
    with pytest.raises(ValueError, match="more than"):
        clusters_needed(1.0, 10, 1e-9)
    with pytest.raises(ValueError, match=r"power of 0\.01"):
        detectable_difference(0.1, 10, power=0.01)
    with pytest.raises(ValueError, match="one cluster adds"):
        power_of_one(MEAN, mean_columns([1.0, 2.0]), ["x", "x"])
    with pytest.raises(ValueError, match="correlation"):
        power_of_one(MEAN, mean_columns([1.0, 2.0]), range(2), correlation=1.0)
    assert detectable_difference(0.0, 10) == 0
    assert clusters_needed(0.0, 10, 0.1) == 2


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.99, 0.999])
def test_with_too_few_clusters_for_the_randomisation_test_nothing_can_be_shown(level: float) -> None:
    fewest = fewest_clusters(level)
    assert 2 / 2**fewest <= 1 - level + 1e-12 < 2 / 2 ** (fewest - 1), "the least p of all patterns"
    random = np.random.default_rng(1)
    for count in {max(2, fewest - 1), fewest}:
        a, b = random.normal(size=count), random.normal(size=count)
        found = power_of_pair(MEAN, mean_columns(a), mean_columns(b), range(count), power=0.9995, level=level)
        assert math.isnan(found.detectable) == (count < fewest)
        assert found.needed(1e6)[0] == max(2, fewest), "a huge difference needs as many as the test does"


def test_of_two_runs_that_never_differ_nothing_is_said() -> None:
    a = np.random.default_rng(1).normal(size=30)
    for other in (a, a + 1.0):
        with pytest.raises(UnusableNumbers, match="nothing is known"):
            power_of_pair(MEAN, mean_columns(a), mean_columns(other), range(30))


def test_power_counts_the_clusters_that_add_anything() -> None:
    generator = np.random.default_rng(2)
    ratio, five = (
        Ratio("a", "b"),
        np.stack([generator.binomial(4, 0.5, 8), np.full(8, 4)], axis=1).astype(float),
    )
    padded = np.concatenate([five, np.zeros((52, 2))])
    alone, beside = power_of_one(ratio, five, range(8)), power_of_one(ratio, padded, range(60))
    assert (beside.detectable, beside.clusters, beside.instances) == (pytest.approx(alone.detectable), 8, 60)
    # Sixteen clusters that add anything take as many instances more, those that add nothing among them.
    clusters, instances = beside.needed(alone.detectable / 2)
    assert instances == math.ceil(clusters * 60 / 8 - 1e-9)


def test_of_scores_that_are_all_alike_power_says_nothing() -> None:
    with pytest.raises(UnusableNumbers, match="all clusters are alike"):
        power_of_one(MEAN, mean_columns(np.ones(30)), range(30))
    with pytest.raises(UnusableNumbers, match="no cluster adds"):
        power_of_one(Ratio("a", "b", zero=0.0), np.zeros((30, 2)), range(30))


def test_nothing_and_next_to_nothing_make_no_equivalence() -> None:
    """No information, or one cluster of sixty that differs, must not become certainty."""
    empty = np.zeros((60, 2))
    nothing = equivalence(Ratio("a", "b", zero=0.0), empty, empty, range(60), 0.1)
    assert not nothing.equivalent and math.isnan(nothing.low)
    a = np.full(60, 3.0)
    b = a.copy()
    b[7] = 4.0
    count = Mean("y", bounds=COUNT)
    hardly = equivalence(count, mean_columns(a), mean_columns(b), range(60), 0.1)
    assert not hardly.equivalent and not hardly.not_inferior and "differ in 1 cluster" in hardly.note
