"""Paired tests: worked cases, scipy, and what a user may rely on."""

from __future__ import annotations

import json
import os
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from stats_examples import COUNTS_F1, MEAN, Floats, f1_columns, mean_columns

from pmbench.core.metric import Mean, Metric, Ratio
from pmbench.stats.bootstrap import bootstrap_interval
from pmbench.stats.randomisation import paired_test, paired_tests

_ROOT = Path(__file__).resolve().parents[2]
_CASES = Path(os.environ.get("PMBENCH_SHARED", _ROOT.parent / "shared")) / "conformance/statistics.json"

ROWS = st.lists(
    st.tuples(*[st.integers(0, 5)] * 6, st.integers(0, 4)), min_size=1, max_size=12
)  # (tp, fp, fn) of two systems, and the cluster


def cases() -> list[dict[str, Any]]:
    if not _CASES.exists():
        return []
    return list(json.loads(_CASES.read_text())["randomisation"])


@pytest.mark.skipif(not _CASES.exists(), reason="the conformance data are not beside the repository")
def test_conformance() -> None:
    found = cases()
    assert found
    for case in found:
        for name, metric, columns in (("f1", COUNTS_F1, f1_columns), ("mean", MEAN, mean_columns)):
            expected = case[name]
            result = paired_test(
                metric, columns(expected["a"]), columns(expected["b"]), case["clusters"], resamples=100
            )
            assert result.exact
            assert result.difference == pytest.approx(expected["difference"], abs=1e-12)
            assert result.p == pytest.approx(expected["p"], abs=1e-12)
            assert result.clusters == len(set(case["clusters"]))


def by_hand(metric: Metric, a: Floats, b: Floats) -> float:
    """p by trying every assignment one at a time, every instance its own cluster."""
    values = []
    for swaps in product([False, True], repeat=len(a)):
        swap = np.array(swaps)[:, None]
        first, second = np.where(swap, b, a), np.where(swap, a, b)
        values.append(float(metric.value(first.sum(axis=0)) - metric.value(second.sum(axis=0))))
    observed = abs(values[0])
    return sum(abs(value) >= observed - 1e-12 for value in values) / len(values)


def test_exact_test_of_a_ratio_is_the_enumeration() -> None:
    generator = np.random.default_rng(0)
    metric = Ratio("a", "b")
    tables = [
        metric.columns({"a": generator.normal(1, 1, 9), "b": generator.uniform(1, 2, 9)}) for _ in range(2)
    ]
    result = paired_test(metric, *tables, range(9), resamples=100)
    assert result.p == pytest.approx(by_hand(metric, *tables))
    assert (result.exact, result.permutations) == (True, 512)


def test_scipy_gives_the_same_exact_p() -> None:
    generator = np.random.default_rng(1)
    a, b = generator.normal(0.3, 1, 12), generator.normal(0, 1, 12)
    theirs = scipy.stats.permutation_test(
        (a, b), lambda x, y: x.mean() - y.mean(), permutation_type="samples", n_resamples=np.inf
    )
    ours = paired_test(MEAN, mean_columns(a), mean_columns(b), range(12), resamples=100)
    assert ours.difference == pytest.approx(theirs.statistic)
    assert ours.p == pytest.approx(theirs.pvalue)


def test_scipy_gives_about_the_same_p_from_random_patterns() -> None:
    generator = np.random.default_rng(2)
    a, b = generator.normal(0.25, 1, 70), generator.normal(0, 1, 70)
    theirs = scipy.stats.permutation_test(
        (a, b),
        lambda x, y, axis: x.mean(axis=axis) - y.mean(axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=20_000,
        rng=np.random.default_rng(3),
    )
    ours = paired_test(MEAN, mean_columns(a), mean_columns(b), range(70), permutations=20_000)
    assert not ours.exact
    assert ours.permutations == 20_000
    assert ours.p == pytest.approx(theirs.pvalue, abs=0.015)


def test_whole_numbers_on_each_instance_make_the_sign_test() -> None:
    """Differences of one size: the randomisation test is the sign test on those that differ (40 of 60)."""
    a = np.array([1.0] * 28 + [0.0] * 12 + [1.0] * 20)
    b = np.array([0.0] * 28 + [1.0] * 12 + [1.0] * 20)
    ours = paired_test(MEAN, mean_columns(a), mean_columns(b), range(60), permutations=50_000)
    assert ours.p == pytest.approx(scipy.stats.binomtest(12, 40).pvalue, abs=0.005)


def test_few_clusters_that_differ_are_enumerated_among_many() -> None:
    """11 of 200 differ, 10 one way and 1 the other: the sign test's p = 24/2048, exactly."""
    a, b = np.ones(200), np.ones(200)
    b[:10], a[10] = 0, 0
    result = paired_test(MEAN, mean_columns(a), mean_columns(b), range(200), resamples=100)
    assert (result.exact, result.permutations, result.clusters) == (True, 2048, 200)
    assert result.p == scipy.stats.binomtest(1, 11).pvalue == 24 / 2048


def test_equal_systems_cannot_be_told_apart() -> None:
    columns = f1_columns(np.random.default_rng(4).integers(0, 9, size=(50, 3)))
    result = paired_test(COUNTS_F1, columns, columns, range(50), resamples=200)
    assert (result.difference, result.p) == (0, 1)
    # An interval of no width would claim certainty. By hand: of 50 clusters alike a share of 1 − 0.025^(1/50) of
    # others could be different at two-sided 95%, and then by 1 at most.
    share = 1 - 0.025 ** (1 / 50)
    assert (result.low, result.high) == pytest.approx(
        (-share, share)
    ) and "same in every cluster" in result.note
    assert scipy.stats.binomtest(0, 50).proportion_ci(0.95).high == pytest.approx(share)
    free = paired_test(MEAN, *[mean_columns(np.ones(50))] * 2, range(50), resamples=200)
    assert np.isnan([free.low, free.high]).all() and "no interval" in free.note


def test_float_ties_count_as_ties() -> None:
    """The mirrored pattern differs from the observed one in its last digit; it is as extreme."""
    a, b = np.array([0.1, 0.2, 0.3, 0.4, 0.7, 0.6, 1.1]), np.array([0.0, 0.1, 0.2, 0.3, 0.6, 0.5, 1.0])
    result = paired_test(MEAN, mean_columns(a), mean_columns(b), range(7), resamples=10)
    assert result.p == 2 / 128


def test_undefined_differences() -> None:
    nan = float("nan")
    nothing = paired_test(MEAN, mean_columns([]), mean_columns([]), [], resamples=10)
    one_sided = paired_test(MEAN, mean_columns([1, 2]), mean_columns([nan, nan]), range(2), resamples=10)
    for result in (nothing, one_sided):
        assert np.isnan([result.difference, result.p, result.low, result.high]).all()


def test_patterns_without_a_difference_never_help() -> None:
    """If all that has a denominator is swapped away, the pattern counts as extreme."""
    metric = Ratio("a", "b")
    a = metric.columns({"a": np.array([3.0, 0.0]), "b": np.array([3.0, 0.0])})
    b = metric.columns({"a": np.array([0.0, 0.0]), "b": np.array([0.0, 3.0])})
    result = paired_test(metric, a, b, range(2), resamples=10)
    assert result.difference == 1
    assert (result.p, result.undefined) == (1, 2)


def test_one_cluster_says_nothing() -> None:
    result = paired_test(MEAN, mean_columns([1, 1]), mean_columns([0, 0]), ["x", "x"], resamples=10)
    assert (result.difference, result.p, result.exact) == (1, 1, True)
    assert np.isnan([result.low, result.high]).all()


def test_interval_of_the_difference_is_that_of_the_paired_differences() -> None:
    """The difference of two means is the mean of the differences, resample by resample."""
    generator = np.random.default_rng(5)
    a, b = generator.normal(1, 1, 60), generator.normal(0.5, 1, 60)
    result = paired_test(MEAN, mean_columns(a), mean_columns(b), range(60), permutations=100)
    direct = bootstrap_interval(MEAN, mean_columns(a - b), range(60))
    assert (result.difference, result.low, result.high) == pytest.approx(
        (direct.value, direct.low, direct.high), rel=1e-9
    )


def test_many_pairs_at_once_are_the_same_as_each_alone() -> None:
    generator = np.random.default_rng(6)
    systems = [f1_columns(generator.integers(0, 9, size=(40, 3))) for _ in range(4)]
    systems[3] = systems[0].copy()
    systems[3][:3] += 1  # only three clusters differ: enumerated, among others that are drawn
    pairs = [(0, 1), (0, 2), (0, 3), (2, 1)]
    together = paired_tests(COUNTS_F1, systems, pairs, range(40), permutations=2000, resamples=300)
    for (a, b), found in zip(pairs, together, strict=True):
        alone = paired_test(COUNTS_F1, systems[a], systems[b], range(40), permutations=2000, resamples=300)
        assert found == alone
    assert [found.exact for found in together] == [False, False, True, False]


@pytest.mark.parametrize("block", [1, 100, 1999, 10_000])
def test_block_size_changes_nothing(block: int) -> None:
    generator = np.random.default_rng(7)
    a, b = (f1_columns(generator.integers(0, 9, size=(33, 3))) for _ in range(2))
    results = [
        paired_test(COUNTS_F1, a, b, range(33), permutations=2000, resamples=100, block=size)
        for size in (None, block)
    ]
    assert results[0] == results[1]


def test_systems_of_different_length_are_refused() -> None:
    with pytest.raises(ValueError, match="labels"):
        paired_test(MEAN, mean_columns([1, 2]), mean_columns([1]), range(2))


@settings(max_examples=60, deadline=None)
@given(rows=ROWS, order=st.randoms(use_true_random=False))
def test_properties_of_the_exact_test(rows: list[tuple[int, ...]], order: Any) -> None:
    table = np.array(rows)
    clusters = table[:, 6].tolist()
    a, b = f1_columns(table[:, :3]), f1_columns(table[:, 3:6])
    result = paired_test(COUNTS_F1, a, b, clusters, resamples=50)
    assert 0 < result.p <= 1
    swapped = paired_test(COUNTS_F1, b, a, clusters, resamples=50)
    assert (swapped.p, swapped.difference) == (result.p, -result.difference)
    places = list(range(len(rows)))
    order.shuffle(places)
    shuffled = paired_test(
        COUNTS_F1, a[places], b[places], [f"other {clusters[i]}" for i in places], resamples=50
    )
    assert (shuffled.p, shuffled.difference) == (result.p, result.difference)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_properties_of_the_drawn_test(seed: int) -> None:
    generator = np.random.default_rng(seed)
    a, b = (f1_columns(generator.integers(0, 9, size=(30, 3))) for _ in range(2))
    result = paired_test(COUNTS_F1, a, b, range(30), permutations=300, resamples=50, seed=seed)
    swapped = paired_test(COUNTS_F1, b, a, range(30), permutations=300, resamples=50, seed=seed)
    assert 1 / 301 <= result.p <= 1
    assert (swapped.p, swapped.difference) == (result.p, -result.difference)
    assert (swapped.low, swapped.high) == pytest.approx((-result.high, -result.low))


def test_under_no_difference_p_is_small_no_oftener_than_it_says() -> None:
    """400 pairs of equal systems on 12 clusters: at most 5% below .05, with binomial slack."""
    generator = np.random.default_rng(8)
    clusters = np.repeat(np.arange(12), 3).tolist()
    below = 0
    for _ in range(400):
        shared = np.repeat(generator.normal(size=12), 3)
        a, b = (
            mean_columns(shared + np.repeat(generator.normal(size=12), 3) + generator.normal(size=36))
            for _ in range(2)
        )
        below += paired_test(MEAN, a, b, clusters, resamples=1).p <= 0.05
    assert 0.015 <= below / 400 <= 0.09


@pytest.mark.parametrize("few", [True, False])
def test_an_interval_of_a_difference_ends_where_the_metric_does(few: bool) -> None:
    """Two values between 0 and 1 are at most 1 apart; of three instances t alone would say much more."""
    count = 3 if few else 60
    first, second = np.zeros(count), np.zeros(count)
    first[: count // 3] = 1.0
    columns = [np.stack([values, np.ones(count)], axis=1) for values in (first, second)]
    inside = paired_test(Mean("y", limits=(0.0, 1.0)), *columns, range(count), resamples=200)
    as_it_is = paired_test(Mean("y"), *columns, range(count), resamples=200)
    assert -1 <= inside.low <= inside.difference <= inside.high <= 1 and inside.p == as_it_is.p
    assert inside.high == min(1.0, as_it_is.high) and (as_it_is.high > 1) == few
