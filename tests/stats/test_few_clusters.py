"""Below fifty clusters intervals are those of the jackknife: wide enough, and inside what is possible."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats
from stats_examples import COUNTS_F1, MEAN, Floats, f1_columns, mean_columns

from pmbench.core.metric import COUNT, Mean, Metric, Ratio
from pmbench.stats.bootstrap import at_a_limit, bootstrap_interval
from pmbench.stats.cluster_robust import jackknife_interval
from pmbench.stats.few_clusters import FEW_CLUSTERS, few_cluster_intervals
from pmbench.stats.methods import METHODS
from pmbench.stats.randomisation import paired_test
from pmbench.stats.schemes import Rows, comparisons, intervals

SHARE = Mean("y", limits=(0.0, 1.0))


def rows(columns: Floats) -> Rows:
    names = [f"{place:03}" for place in range(len(columns))]
    return Rows(columns, [True] * len(columns), names, names)


def test_the_switch_is_at_the_number_that_the_words_name() -> None:
    values = np.random.default_rng(0).normal(size=FEW_CLUSTERS)
    few, many = (
        intervals([(MEAN, rows(mean_columns(values[:n])))])[0] for n in (FEW_CLUSTERS - 1, FEW_CLUSTERS)
    )
    t = scipy.stats.ttest_1samp(values[:-1], 0).confidence_interval()
    assert (few.low, few.high) == pytest.approx((t.low, t.high))
    assert (few.resamples, few.clusters) == (0, FEW_CLUSTERS - 1)
    assert many == bootstrap_interval(MEAN, mean_columns(values), rows(mean_columns(values)).ids)
    assert f"fewer than {FEW_CLUSTERS} clusters" in METHODS["cluster"][0]


def test_the_difference_of_two_systems_has_the_paired_t_interval() -> None:
    a, b = np.random.default_rng(1).normal(size=(2, 20))
    found = comparisons(MEAN, [rows(mean_columns(a)), rows(mean_columns(b))], [(0, 1)])[0]
    t = scipy.stats.ttest_rel(a, b).confidence_interval()
    assert (found.low, found.high) == pytest.approx((t.low, t.high))
    assert found.p == pytest.approx(scipy.stats.ttest_rel(a, b).pvalue, abs=0.03)


def test_a_share_stays_between_0_and_1() -> None:
    found = few_cluster_intervals([(SHARE, SHARE.columns({"y": np.array([1.0] * 11 + [0.0])}))], range(12))[0]
    assert 0 < found.low < 11 / 12 < found.high < 1
    f1 = few_cluster_intervals([(COUNTS_F1, f1_columns([[9, 0, 1], [8, 0, 0], [7, 1, 0]]))], range(3))[0]
    assert 0 < f1.low < f1.high < 1


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_all_clusters_at_a_limit(value: float) -> None:
    found = few_cluster_intervals([(SHARE, SHARE.columns({"y": np.full(9, value)}))], range(9))[0]
    assert (found.low, found.high) == at_a_limit(value, (0.0, 1.0), 9)


def test_no_match_in_any_cluster_is_no_proof_that_there_is_never_one() -> None:
    nothing = f1_columns([[0, 3, 2]] * 8)
    found = few_cluster_intervals([(COUNTS_F1, nothing)], range(8))[0]
    assert (found.value, found.low) == (0, 0)
    assert found.high == pytest.approx(1 - 0.025 ** (1 / 8))


@pytest.mark.parametrize("columns", [mean_columns([1.0]), mean_columns([]), mean_columns([math.nan, 1.0])])
def test_no_bounds_where_nothing_shows_them(columns: Floats) -> None:
    """One cluster, none, or one alone that has the metric: without it there is no value."""
    found = few_cluster_intervals([(MEAN, columns)], range(len(columns)))[0]
    assert math.isnan(found.low)
    assert math.isnan(found.high)


@pytest.mark.parametrize(("metric", "zeros"), [(SHARE, 0.75), (COUNTS_F1, 0.4)])
def test_coverage_with_twelve_clusters(metric: Metric, zeros: float) -> None:
    """1,000 datasets of a score that is mostly 0, or of counts: percentiles hold the truth in under 91%."""
    generator = np.random.default_rng(2)

    def draw(n: int) -> Floats:
        skill = np.where(generator.random(n) < zeros, 0.0, generator.beta(2, 2, n))
        if metric is SHARE:
            return SHARE.columns({"y": skill})
        wanted = generator.integers(2, 8, n)
        matched = generator.binomial(wanted, skill)
        return f1_columns(np.stack([matched, generator.poisson(5 * (1 - skill)), wanted - matched], axis=1))

    truth = float(metric.value(draw(400_000).sum(axis=0)))
    held, percentile = 0, 0
    for _ in range(1000):
        columns = draw(12)
        found = few_cluster_intervals([(metric, columns)], range(12))[0]
        held += found.low <= truth <= found.high
        plain = bootstrap_interval(metric, columns, range(12), resamples=200)
        percentile += plain.low <= truth <= plain.high
    assert percentile < 910
    assert 920 <= held <= 985


def test_any_formula_is_left_out_cluster_by_cluster() -> None:
    columns = f1_columns(np.random.default_rng(3).integers(1, 9, (30, 3)))
    clusters = [place % 10 for place in range(30)]
    found = few_cluster_intervals([(COUNTS_F1, columns)], clusters)[0]
    table = np.stack([columns[place::10].sum(axis=0) for place in range(10)])
    direct = jackknife_interval(COUNTS_F1, table, limits=(0.0, 1.0))
    assert (found.low, found.high) == pytest.approx((direct.low, direct.high))


@pytest.mark.parametrize("clusters", [8, FEW_CLUSTERS + 10])
def test_a_count_that_is_0_everywhere_has_no_interval_and_a_note(clusters: int) -> None:
    count = Mean("y", bounds=COUNT)
    found = intervals([(count, rows(count.columns({"y": np.zeros(clusters)})))], resamples=100)[0]
    assert found.value == 0
    assert math.isnan(found.low)
    assert math.isnan(found.high)
    assert "0 in every cluster" in found.note


def test_an_f1_of_0_in_many_clusters_is_no_proof_either() -> None:
    found = intervals([(COUNTS_F1, rows(f1_columns([[0, 3, 2]] * 60)))], resamples=100)[0]
    assert (found.low, found.high) == (0, pytest.approx(1 - 0.025 ** (1 / 60)))


def test_clusters_that_add_nothing_do_not_count() -> None:
    """Five of forty replies have a theme that no draft has: what is known is known from five."""
    has = np.zeros((40, 2))
    has[:5, 1] = 1.0  # found 0 of 1 in each of five
    recall = Ratio("found", "there")
    (few,) = few_cluster_intervals([(recall, has)], range(40))
    assert (few.value, few.clusters) == (0.0, 5)
    assert few.high == pytest.approx(scipy.stats.binomtest(0, 5).proportion_ci(0.95).high, abs=1e-9)
    # The same five alone, and beside thousands of others: nothing that adds nothing changes a bound.
    (alone,) = few_cluster_intervals([(recall, has[:5])], range(5))
    (beside,) = intervals([(recall, rows(np.concatenate([has, np.zeros((5000, 2))])))])
    assert (beside.low, beside.high) == (alone.low, alone.high) == (few.low, few.high)


def test_differences_leave_out_clusters_that_add_nothing_to_either() -> None:
    generator = np.random.default_rng(5)
    found = [generator.binomial(4, share, 12) for share in (0.3, 0.6)]
    tables = [np.stack([one, np.full(12, 4)], axis=1).astype(float) for one in found]
    longer = [np.concatenate([table, np.zeros((80, 2))]) for table in tables]
    alone = paired_test(Ratio("a", "b"), *tables, range(12), resamples=200)
    beside = paired_test(Ratio("a", "b"), *longer, range(92), resamples=200)
    assert (alone.low, alone.high) == (beside.low, beside.high)
    assert alone.low < alone.difference < alone.high and beside.differing == alone.differing


@pytest.mark.parametrize("clusters", [12, 80])
def test_values_that_are_alike_have_bounds_that_say_what_else_could_be(clusters: int) -> None:
    """By hand: of C clusters alike a share of 1 − 0.025^(1/C) of others could be at 0, or at 1."""
    share = 1 - 0.025 ** (1 / clusters)
    (found,) = intervals([(SHARE, rows(mean_columns(np.full(clusters, 0.6))))])
    assert (found.low, found.high) == pytest.approx((0.6 - share * 0.6, 0.6 + share * 0.4))
    free, count = Mean("y"), Mean("y", bounds=COUNT)
    for metric in (free, count):
        (found,) = intervals([(metric, rows(mean_columns(np.full(clusters, 3.0))))])
        assert math.isnan(found.low) and "it is 3 in every cluster" in found.note


def test_every_missing_interval_says_why() -> None:
    ratio = Ratio("a", "b")
    nothing, one = np.zeros((20, 2)), np.zeros((20, 2))
    one[0] = 1.0
    found = [intervals([(ratio, rows(table))])[0].note for table in (nothing, one)]
    assert found == [
        "no value, for nothing that was scored counts for it",
        "no interval, for only one cluster has anything that counts for it",
    ]
    test = paired_test(ratio, one, one, range(20), resamples=200)
    assert "no interval" in test.note and "single" not in test.note
