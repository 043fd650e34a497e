"""Intervals by cluster other than percentiles, against scipy, statsmodels and loops by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats
import statsmodels.api as sm
from scipy.stats import _resampling
from stats_examples import COUNTS_F1, MEAN, f1_columns, mean_columns

from pmbench.core.metric import COUNT, F1, Macro, Mean, Ratio
from pmbench.stats.bca import bca_bounds
from pmbench.stats.bootstrap import cluster_draws, resampled_values
from pmbench.stats.cluster_robust import jackknife_error, jackknife_interval, ratio_interval
from pmbench.stats.clusters import ordered_sums
from pmbench.stats.limits import natural_limits
from pmbench.stats.linearised import Difference, contributions, leave_one_out, standard_error
from pmbench.stats.studentised import studentised_intervals


def test_scipys_bca_of_the_same_resamples() -> None:
    """scipy adds BCa bounds to a bootstrap distribution that it is handed: exactly the same bounds."""
    values = np.random.default_rng(0).exponential(size=40)
    drawn = resampled_values([(MEAN, mean_columns(values))], resamples=5000, seed=3)[0]
    known = _resampling.BootstrapResult(
        confidence_interval=None, bootstrap_distribution=drawn, standard_error=0.0
    )
    theirs = scipy.stats.bootstrap((values,), np.mean, n_resamples=0, bootstrap_result=known, method="BCa")
    ours = bca_bounds(values.mean(), drawn, leave_one_out(MEAN, mean_columns(values)))
    bounds = theirs.confidence_interval
    assert ours == pytest.approx((bounds.low, bounds.high), rel=1e-12)


def test_bca_without_spread_and_without_support() -> None:
    assert bca_bounds(0.5, np.full(10, 0.5), np.array([0.5, 0.5])) == (0.5, 0.5)
    assert np.isnan(bca_bounds(0.1, np.linspace(0.5, 1, 10), np.array([0.1, 0.2]))).all()
    assert np.isnan(bca_bounds(0.1, np.linspace(0, 1, 10), np.array([0.1, np.nan]))).all()


def test_studentised_bounds_are_those_of_a_loop() -> None:
    """Every resample by hand: its mean, its standard error, their ratio; unequal clusters."""
    generator = np.random.default_rng(1)
    clusters = generator.integers(0, 30, 70).tolist()
    table = ordered_sums(mean_columns(generator.exponential(size=70)), clusters)
    found = studentised_intervals([(MEAN, table)], resamples=399, seed=5)[0]
    ratios = []
    count = len(table)
    for weights in cluster_draws(count, 399, 5, 399):
        for row in weights.astype(int):
            drawn = np.repeat(table, row, axis=0)
            mean = drawn[:, 0].sum() / drawn[:, 1].sum()
            residuals = (drawn[:, 0] - mean * drawn[:, 1]) / drawn[:, 1].sum()
            se = np.sqrt(count / (count - 1) * (residuals**2).sum())
            ratios.append((mean - found.value) / se)
    value = table[:, 0].sum() / table[:, 1].sum()
    residuals = (table[:, 0] - value * table[:, 1]) / table[:, 1].sum()
    se = np.sqrt(count / (count - 1) * (residuals**2).sum())
    least, most = np.quantile(ratios, [0.025, 0.975], method="inverted_cdf")
    assert (found.low, found.high) == pytest.approx((value - most * se, value - least * se), rel=1e-6)
    assert standard_error(MEAN, table) == pytest.approx(se, rel=1e-8)


@pytest.mark.parametrize("block", [1, 77, 5000])
def test_block_size_changes_nothing(block: int) -> None:
    table = f1_columns(np.random.default_rng(2).integers(0, 9, (25, 3)))
    whole, parts = (
        studentised_intervals([(COUNTS_F1, table)], resamples=300, block=size)[0] for size in (None, block)
    )
    assert (parts.low, parts.high) == pytest.approx((whole.low, whole.high), rel=1e-12)


def test_studentised_needs_two_clusters_and_some_variance() -> None:
    one = studentised_intervals([(MEAN, mean_columns([1.0]))], resamples=20)[0]
    none = studentised_intervals([(MEAN, mean_columns([1.0] * 9))], resamples=20)[0]
    mostly = studentised_intervals([(MEAN, mean_columns([0.0] * 19 + [1.0]))], resamples=200)[0]
    assert np.isnan([one.low, one.high, mostly.high]).all()
    assert (none.low, none.high) == (1, 1)


def test_cr1_is_statsmodels_but_for_its_factor() -> None:
    """OLS on a constant with clusters: their factor is C/(C − 1) · (n − 1)/(n − 1)."""
    generator = np.random.default_rng(3)
    clusters = generator.integers(0, 12, 50)
    y = generator.normal(size=50) + clusters / 5
    fit = sm.OLS(y, np.ones(50)).fit(cov_type="cluster", cov_kwds={"groups": clusters}, use_t=True)
    table = ordered_sums(mean_columns(y), clusters.tolist())
    found = ratio_interval(table, "CR1")
    assert (found.low, found.high) == pytest.approx(tuple(fit.conf_int()[0]), rel=1e-10)


def test_cr2_from_its_definition_with_matrices() -> None:
    """Residuals of each cluster times (I − H_cc)^(−1/2), then the sandwich."""
    generator = np.random.default_rng(4)
    clusters = np.repeat(np.arange(8), generator.integers(1, 6, 8))
    y = generator.normal(size=len(clusters))
    n, middle = len(y), 0.0
    for label in range(8):
        rows = clusters == label
        hat = np.full((rows.sum(), rows.sum()), 1 / n)
        sizes, axes = np.linalg.eigh(np.eye(rows.sum()) - hat)
        residuals = axes @ np.diag(sizes**-0.5) @ axes.T @ (y[rows] - y.mean())
        middle += residuals.sum() ** 2
    reach = scipy.stats.t.ppf(0.975, 7) * np.sqrt(middle) / n
    found = ratio_interval(ordered_sums(mean_columns(y), clusters.tolist()))
    assert (found.low, found.high) == pytest.approx((y.mean() - reach, y.mean() + reach), rel=1e-10)


def test_with_every_row_its_own_cluster_the_mean_has_students_interval() -> None:
    y = np.random.default_rng(5).normal(size=17)
    theirs = scipy.stats.ttest_1samp(y, 0).confidence_interval()
    for found in (ratio_interval(mean_columns(y)), jackknife_interval(MEAN, mean_columns(y))):
        assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), rel=1e-10)


def test_the_difference_of_two_means_has_the_paired_interval() -> None:
    a, b = np.random.default_rng(6).normal(size=(2, 23))
    theirs = scipy.stats.ttest_rel(a, b).confidence_interval()
    table = np.concatenate([mean_columns(a), mean_columns(b)], axis=1)
    found = jackknife_interval(Difference(MEAN), table)
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), rel=1e-10)


def test_jackknife_of_f1_is_the_loop_over_clusters() -> None:
    table = f1_columns(np.random.default_rng(7).integers(1, 9, (14, 3)))
    without = [float(COUNTS_F1.value(np.delete(table, row, axis=0).sum(axis=0))) for row in range(14)]
    expected = np.sqrt(13 / 14 * ((np.array(without) - np.mean(without)) ** 2).sum())
    assert jackknife_error(COUNTS_F1, table) == pytest.approx(expected, rel=1e-12)


def test_bounds_between_limits_are_symmetric_on_the_logit_scale_and_stay_inside() -> None:
    y = [0.0] * 9 + [1.0]
    plain = jackknife_interval(MEAN, mean_columns(y))
    found = jackknife_interval(MEAN, mean_columns(y), limits=(0.0, 1.0))
    percent = jackknife_interval(MEAN, mean_columns([100 * one for one in y]), limits=(0.0, 100.0))
    logit = [np.log(p / (1 - p)) for p in (found.low, found.value, found.high)]
    assert plain.low < 0 < found.low
    assert found.high < 1
    assert logit[1] - logit[0] == pytest.approx(logit[2] - logit[1])
    # The step on the logit scale is the reach divided by p (1 − p).
    assert logit[2] - logit[1] == pytest.approx((plain.high - plain.value) / 0.09)
    assert (percent.low, percent.high) == pytest.approx((100 * found.low, 100 * found.high))


def test_contributions_of_a_ratio_are_its_residuals() -> None:
    generator = np.random.default_rng(8)
    table = np.stack([generator.normal(1, 1, 20), generator.uniform(1, 2, 20)], axis=1)
    metric = Ratio("a", "b")
    value = table[:, 0].sum() / table[:, 1].sum()
    expected = (table[:, 0] - value * table[:, 1]) / table[:, 1].sum()
    assert contributions(metric, table) == pytest.approx(expected, rel=1e-7, abs=1e-10)


def test_limits_that_a_metric_or_its_sums_show() -> None:
    share, free = np.array([[1.0, 2.0], [0.0, 1.0]]), np.array([[3.0, 2.0]])
    assert natural_limits(Mean("y", limits=(1, 6)), share) == (1, 6)
    assert natural_limits(F1("a", "b", "c"), share) == (0, 1)
    assert natural_limits(Macro(F1("a", "b", "c")), share) == (0, 1)
    assert natural_limits(Ratio("a", "b"), share) == (0, 1)
    assert natural_limits(Ratio("a", "b"), free) is None
    assert natural_limits(Mean("words"), share) is None
    assert natural_limits(Macro(Ratio("a", "b")), share) is None


def test_limits_of_counts_and_of_what_a_formula_puts_between_two_numbers() -> None:
    table = np.array([[1.0, 2.0]])
    assert natural_limits(Mean("words", bounds=COUNT), table) == COUNT
    # A mean that is clipped moves by what one instance can have; its interval is put between its bounds afterwards.
    assert natural_limits(Mean("y", limits=(-1, 1), bounds=(0, 1)), table) == (-1, 1)
    assert natural_limits(Mean("y", limits=(-1, 5), bounds=COUNT), table) == (-1, 5)
    assert natural_limits(Mean("y", bounds=(-math.inf, 3)), table) is None


def test_bounds_of_a_count_are_those_of_its_logarithm() -> None:
    """The jackknife of the logarithm by hand; a mean that is 0 without one cluster has the logarithm's derivative."""
    y = np.random.default_rng(9).exponential(size=11)
    without = np.log([np.delete(y, row).mean() for row in range(11)])
    se = np.sqrt(10 / 11 * ((without - without.mean()) ** 2).sum())
    reach = scipy.stats.t.ppf(0.975, 10) * se
    found = jackknife_interval(MEAN, mean_columns(y), limits=COUNT)
    assert (found.low, found.high) == pytest.approx((y.mean() * np.exp(-reach), y.mean() * np.exp(reach)))
    one = jackknife_interval(MEAN, mean_columns([0.0] * 9 + [2.0]), limits=COUNT)
    plain = jackknife_interval(MEAN, mean_columns([0.0] * 9 + [2.0]))
    assert one.high / 0.2 == pytest.approx(np.exp((plain.high - 0.2) / 0.2))
    assert 0 < one.low < 0.2
