"""Intervals: against closed forms, scipy, and what a user may rely on."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from stats_examples import COUNTS_F1, MEAN, Floats, f1_columns, mean_columns

from pmbench.core.metric import Metric, Ratio
from pmbench.stats.bootstrap import bootstrap_interval, bootstrap_many
from pmbench.stats.clusters import cluster_sums

COUNTS = st.lists(st.tuples(*[st.integers(0, 6)] * 3), min_size=3, max_size=30)


def test_cluster_sums_add_rows_in_order_of_first_appearance() -> None:
    sums = cluster_sums(np.array([[1.0, 1], [2, 1], [4, 1], [8, 1]]), ["b", "a", "b", "c"])
    assert sums.tolist() == [[5, 2], [2, 1], [8, 1]]


def test_cluster_sums_refuse_labels_of_another_length() -> None:
    with pytest.raises(ValueError, match="3 clusters' labels"):
        cluster_sums(np.ones((2, 2)), [1, 2, 3])


def test_width_of_a_mean_is_the_closed_form() -> None:
    """The bootstrap standard error of a mean is s/√n (s over n), and 3.92 of it the width."""
    values = np.random.default_rng(3).normal(5, 2, size=400)
    found = bootstrap_interval(MEAN, mean_columns(values), range(400))
    expected = 2 * scipy.stats.norm.ppf(0.975) * values.std() / 20
    assert found.value == pytest.approx(values.mean())
    assert found.high - found.low == pytest.approx(expected, rel=0.03)
    assert (found.clusters, found.resamples, found.undefined) == (400, 10_000, 0)


def test_clustered_mean_is_wider_by_the_design_effect() -> None:
    """m copies of a row in a cluster are worth one row: wider by √m than as if independent."""
    values = np.random.default_rng(4).normal(size=100)
    copied = np.repeat(values, 4)
    by_cluster = bootstrap_interval(MEAN, mean_columns(copied), np.repeat(np.arange(100), 4).tolist())
    as_if_independent = bootstrap_interval(MEAN, mean_columns(copied), range(400))
    ratio = (by_cluster.high - by_cluster.low) / (as_if_independent.high - as_if_independent.low)
    assert ratio == pytest.approx(2, rel=0.05)


def test_scipy_gives_the_same_interval_of_a_ratio() -> None:
    generator = np.random.default_rng(5)
    top, bottom = generator.poisson(3, 80).astype(float), generator.poisson(5, 80) + 1.0
    metric = Ratio("a", "b")
    ours = bootstrap_interval(metric, metric.columns({"a": top, "b": bottom}), range(80))
    theirs = scipy.stats.bootstrap(
        (top, bottom),
        lambda x, y, axis: x.sum(axis=axis) / y.sum(axis=axis),
        paired=True,
        vectorized=True,
        n_resamples=10_000,
        method="percentile",
        rng=np.random.default_rng(6),
    ).confidence_interval
    assert ours.low == pytest.approx(theirs.low, abs=0.01)
    assert ours.high == pytest.approx(theirs.high, abs=0.01)


@pytest.mark.parametrize("block", [1, 7, 999, 1000, 5000])
def test_block_size_changes_nothing(block: int) -> None:
    rows = np.random.default_rng(7).integers(0, 9, size=(37, 3))
    clusters = (np.arange(37) // 2).tolist()
    whole = bootstrap_interval(COUNTS_F1, f1_columns(rows), clusters, resamples=1000)
    assert bootstrap_interval(COUNTS_F1, f1_columns(rows), clusters, resamples=1000, block=block) == whole


def test_seed_decides_the_interval() -> None:
    columns = f1_columns(np.random.default_rng(8).integers(0, 9, size=(40, 3)))
    first, again, other = (bootstrap_interval(COUNTS_F1, columns, range(40), seed=s) for s in (1, 1, 2))
    assert first == again
    assert first != other
    assert first.low == pytest.approx(other.low, abs=0.02)


def test_several_metrics_at_once_are_the_same_as_each_alone() -> None:
    generator = np.random.default_rng(9)
    f1, mean = f1_columns(generator.integers(0, 9, size=(50, 3))), mean_columns(generator.normal(size=50))
    clusters = (np.arange(50) % 20).tolist()
    together = bootstrap_many([(COUNTS_F1, f1), (MEAN, mean)], clusters, resamples=500)
    alone = [
        bootstrap_interval(COUNTS_F1, f1, clusters, resamples=500),
        bootstrap_interval(MEAN, mean, clusters, resamples=500),
    ]
    for a, b in zip(together, alone, strict=True):
        assert (a.value, a.low, a.high) == pytest.approx((b.value, b.low, b.high), rel=1e-12)


def test_one_cluster_has_a_value_but_no_interval() -> None:
    found = bootstrap_interval(MEAN, mean_columns([1, 2, 3]), ["only"] * 3)
    assert found.value == 2
    assert np.isnan([found.low, found.high]).all()
    assert found.clusters == 1


def test_no_rows_is_undefined_not_zero() -> None:
    found = bootstrap_interval(MEAN, mean_columns([]), [])
    assert np.isnan([found.value, found.low, found.high]).all()
    assert found.clusters == 0


def test_resamples_without_a_value_are_counted_and_left_out() -> None:
    """One of three instances has the statistic: a resample misses it with chance (2/3)³ = 8/27."""
    found = bootstrap_interval(MEAN, mean_columns([4, float("nan"), float("nan")]), range(3))
    assert found.value == 4 and np.isnan([found.low, found.high]).all(), "one value shows no spread"
    assert found.undefined / found.resamples == pytest.approx(8 / 27, abs=0.02)


def test_metric_of_another_scheme_is_refused() -> None:
    class Dyadic(type(MEAN)):  # type: ignore[misc]
        scheme = "dyadic"

    metric: Metric = Dyadic("y")
    with pytest.raises(ValueError, match="by dyadic"):
        bootstrap_interval(metric, mean_columns([1, 2]), range(2))


@pytest.mark.parametrize("level", [0.0, 1.0, 95.0])
def test_level_is_a_share(level: float) -> None:
    with pytest.raises(ValueError, match="level"):
        bootstrap_interval(MEAN, mean_columns([1, 2]), range(2), level=level)


def test_memory_stays_flat() -> None:
    columns = mean_columns(np.random.default_rng(1).normal(size=3000))
    tracemalloc.start()
    bootstrap_interval(MEAN, columns, range(3000), resamples=2000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 24 * 2**20  # all weights at once would take 48 MB, and as much again while they are drawn


@settings(max_examples=40, deadline=None)
@given(rows=COUNTS, order=st.randoms(use_true_random=False), seed=st.integers(0, 2**32))
def test_order_of_rows_does_not_matter(rows: list[tuple[int, int, int]], order: object, seed: int) -> None:
    clusters = [f"c{i // 2}" for i in range(len(rows))]
    places = list(range(len(rows)))
    order.shuffle(places)  # type: ignore[attr-defined]
    before = bootstrap_interval(COUNTS_F1, _f1(rows), clusters, resamples=200, seed=seed)
    after = bootstrap_interval(
        COUNTS_F1, _f1([rows[i] for i in places]), [clusters[i] for i in places], resamples=200, seed=seed
    )
    assert before == after


@settings(max_examples=40, deadline=None)
@given(rows=COUNTS)
def test_bounds_are_in_order_and_within_what_a_resample_can_give(rows: list[tuple[int, int, int]]) -> None:
    found = bootstrap_interval(COUNTS_F1, _f1(rows), range(len(rows)), resamples=300)
    assert 0 <= found.low <= found.high <= 1
    assert found.undefined == 0


def test_other_names_of_clusters_move_an_interval_by_chance_only() -> None:
    columns = f1_columns(np.random.default_rng(10).integers(0, 9, size=(60, 3)))
    one = bootstrap_interval(COUNTS_F1, columns, [f"a{i:03}" for i in range(60)])
    same = bootstrap_interval(COUNTS_F1, columns, [f"z{i:03}" for i in range(60)])
    other = bootstrap_interval(COUNTS_F1, columns, [f"a{(i * 37) % 60:03}" for i in range(60)])
    assert one == same
    assert (one.low, one.high) == pytest.approx((other.low, other.high), abs=0.01)


def test_intervals_cover_the_truth_about_as_often_as_they_say() -> None:
    """300 datasets of 40 clusters of 3: within binomial chance of slightly under 95%."""
    generator = np.random.default_rng(11)
    clusters = np.repeat(np.arange(40), 3).tolist()
    hits = contains = 0
    for seed in range(300):
        effects = np.repeat(generator.normal(size=40), 3)
        found = bootstrap_interval(
            MEAN,
            mean_columns(effects + generator.normal(size=120)),
            clusters,
            resamples=400,
            seed=seed,
        )
        hits += found.low <= 0 <= found.high
        contains += found.low <= found.value <= found.high
    assert 0.89 <= hits / 300 <= 0.985
    assert contains == 300


def _f1(rows: list[tuple[int, int, int]]) -> Floats:
    return f1_columns([list(row) for row in rows])
