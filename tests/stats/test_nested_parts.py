"""The split of variance into clusters, instances and samples: by hand, by statsmodels, by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from stats_examples import COUNTS_F1, MEAN, mean_columns

from pmbench.core.metric import Ratio
from pmbench.stats.linearised import response_values, standard_error
from pmbench.stats.nested_parts import NestedParts, nested_parts
from pmbench.stats.variance_parts import variance_parts


def made(
    sizes: list[int], samples: int, spreads: tuple[float, float, float], seed: int
) -> tuple[np.ndarray, list[int]]:
    """Scores of clusters of these sizes, by standard deviations of cluster, instance and sample."""
    generator = np.random.default_rng(seed)
    clusters = np.repeat(np.arange(len(sizes)), sizes)
    cluster = generator.normal(0, spreads[0], len(sizes))[clusters]
    instance = generator.normal(0, spreads[1], len(clusters))
    return (cluster + instance)[:, None] + generator.normal(
        0, spreads[2], (len(clusters), samples)
    ), clusters.tolist()


def test_two_instances_and_two_samples_by_hand() -> None:
    """Scores 1, 3 and 7, 9. Means 2 and 8, of all 5.

    Between: 2·(9 + 9)/1 = 36. Within: (1 + 1 + 1 + 1)/2 = 2. So sample 2, instance (36 − 2)/2 = 17, share of
    samples 2/19. Var of the mean 17/2 + 2/4 = 9; with one sample 17/2 + 2/2 = 9.5, with any number 8.5.
    """
    found = nested_parts([[1.0, 3.0], [7.0, 9.0]], ["a", "b"])
    assert (found.sample, found.instance, found.mean) == (2, 17, 5)
    assert found.sample_share == pytest.approx(2 / 19)
    assert [found.se(k) ** 2 for k in (1, 2, math.inf)] == pytest.approx([9.5, 9, 8.5])
    assert found.se() == 3 and math.isnan(found.cluster)


def test_clusters_by_hand() -> None:
    """Two clusters: ten instances that are 0 or 2 in turn, and two that are 5 and 7; samples are one off each way.

    Samples: 24·1/12 = 2. Instances: means of clusters 1 and 6, squares 10 + 2 = 12, 12 − 2 = 10 degrees of
    freedom, 2·12/10 = 2.4, so (2.4 − 2)/2 = 0.2. Clusters: mean of all 22/12,
    2·(10·(5/6)² + 2·(25/6)²) = 2·41.667 = 83.333; m = 12 − 104/12 = 3.333; (83.333 − 2.4)/(2·3.333) = 12.14.
    Mean: 12.14·104/144 + 0.2/12 + 2/24.
    """
    levels = [0.0, 2.0] * 5 + [5.0, 7.0]
    found = nested_parts([[level - 1, level + 1] for level in levels], ["x"] * 10 + ["y"] * 2)
    assert (found.sample, found.instance, found.cluster) == pytest.approx((2, 0.2, 12.14))
    assert found.se() ** 2 == pytest.approx(12.14 * 104 / 144 + 0.2 / 12 + 2 / 24)
    assert found.shares() == pytest.approx(
        {"cluster": 12.14 / 14.34, "instance": 0.2 / 14.34, "sample": 2 / 14.34}
    )


def test_without_clusters_it_is_the_one_way_split_and_the_error_of_instance_means() -> None:
    table, _ = made([1] * 40, 3, (0, 1, 0.8), 1)
    found, other = nested_parts(table, range(40)), variance_parts(table)
    assert (found.instance, found.sample, found.se()) == pytest.approx(
        (other.instance, other.sample, other.se)
    )
    assert found.se() == pytest.approx(scipy.stats.sem(table.mean(axis=1)))


def test_mixed_model_of_statsmodels_finds_the_same_where_all_is_balanced() -> None:
    """REML equals the method of moments on balanced data with positive estimates (Searle et al., 3.8)."""
    models = pytest.importorskip(
        "statsmodels.regression.mixed_linear_model", reason="statsmodels is not installed"
    )
    import pandas

    table, clusters = made([4] * 25, 3, (0.7, 0.9, 0.6), 2)
    rows = pandas.DataFrame(
        {
            "y": table.ravel(),
            "cluster": np.repeat(clusters, 3),
            "instance": np.repeat(np.arange(100), 3),
        }
    )
    model = models.MixedLM.from_formula(
        "y ~ 1", groups="cluster", re_formula="1", vc_formula={"instance": "0 + C(instance)"}, data=rows
    )
    theirs = model.fit(reml=True)
    found = nested_parts(table, clusters)
    assert found.below_zero == ()
    assert found.sample == pytest.approx(theirs.scale, rel=1e-3)
    assert found.instance == pytest.approx(theirs.vcomp[0], rel=1e-3)
    assert found.cluster == pytest.approx(float(theirs.cov_re.iloc[0, 0]), rel=1e-3)
    assert found.se() == pytest.approx(float(theirs.bse_fe.iloc[0]), rel=1e-3)


def test_the_error_is_the_cluster_robust_one_where_clusters_are_of_one_size() -> None:
    table, clusters = made([5] * 12, 2, (0.8, 0.8, 0.8), 3)
    found = nested_parts(table, clusters)
    assert found.below_zero == ()
    sums = mean_columns(table.mean(axis=1)).reshape(12, 5, 2).sum(axis=1)
    assert found.se() == pytest.approx(standard_error(MEAN, sums), rel=1e-6)


def test_parts_come_back_on_the_average_where_clusters_are_of_unequal_size() -> None:
    sizes = [1, 1, 2, 3, 5, 8, 13] * 3
    found = [nested_parts(*made(sizes, 2, (0.7, 1.0, 0.6), seed)) for seed in range(600)]
    for name, true in {"cluster": 0.49, "instance": 1.0, "sample": 0.36}.items():
        values = [getattr(one, name) for one in found]
        assert np.mean(values) == pytest.approx(true, abs=4 * scipy.stats.sem(values) + 0.01)
    spread = np.std([one.mean for one in found], ddof=1)
    assert np.sqrt(np.mean([one.se() ** 2 for one in found])) == pytest.approx(spread, rel=0.1)


@pytest.mark.parametrize(("sizes", "cluster"), [([1] * 40, 0.0), ([1, 2, 3] * 16, 0.6)])
def test_the_interval_of_the_samples_share_holds_it(sizes: list[int], cluster: float) -> None:
    spreads = (cluster, 0.8, 0.7)
    true = spreads[2] ** 2 / sum(one**2 for one in spreads)
    found = [nested_parts(*made(sizes, 3, spreads, seed)) for seed in range(500)]
    held = np.mean([one.low <= true <= one.high for one in found])
    assert 0.91 <= held <= 0.98


def test_few_instances_in_common_clusters_are_not_told_apart_from_them() -> None:
    table, _ = made([1] * 30, 2, (0, 1, 1), 4)
    clusters = [*range(25), 0, 1, 2, 3, 4]
    found = nested_parts(table, clusters)
    assert math.isnan(found.cluster) and found.clusters == 30
    assert found == nested_parts(table, range(30))


def test_one_cluster_has_parts_and_no_error() -> None:
    table, _ = made([20], 2, (0, 1, 1), 5)
    found = nested_parts(table, ["same"] * 20)
    assert math.isnan(found.se()) and math.isnan(found.cluster) and math.isnan(found.low)
    assert found.instance == pytest.approx(variance_parts(table).instance)


def test_scores_that_are_all_alike_have_no_shares_whatever_rounding_does() -> None:
    found = nested_parts(np.full((30, 3), 0.1), range(30))
    assert (found.instance, found.sample) == (0, 0) and math.isnan(found.sample_share)
    assert all(map(math.isnan, found.shares().values()))
    alike = nested_parts(np.repeat(np.random.default_rng(0).random((30, 1)), 3, axis=1), range(30))
    assert (alike.sample, alike.sample_share) == (0, 0) and alike.instance > 0
    assert alike.se(1) == alike.se() == alike.se(math.inf)


def test_what_is_missing_is_counted_and_what_comes_out_below_zero_is_named() -> None:
    found = nested_parts([[1.0, 3.0], [7.0, math.nan], [3.0, 1.0]], "abc")
    assert (found.instances, found.left_out, found.instance, found.below_zero) == (2, 1, 0, ("instance",))
    for table, clusters, told in (
        ([[1.0], [2.0]], "ab", "two are needed"),
        ([[1.0, 2.0]], "a", "1 instances"),
        ([[1.0, 2.0]], "ab", "of 2 instances"),
        ([1.0, 2.0], "ab", "shape"),
    ):
        with pytest.raises(ValueError, match=told):
            nested_parts(table, list(clusters))


@given(st.integers(0, 10_000), st.floats(-50, 50), st.floats(0.1, 20), st.booleans())
def test_shift_scale_and_order_change_nothing_that_they_should_not(
    seed: int, shift: float, scale: float, grouped: bool
) -> None:
    table, clusters = made([3, 1, 4, 2, 5, 6] if grouped else [1] * 12, 3, (0.5, 1, 1), seed)
    one = nested_parts(table, clusters)
    order = np.random.default_rng(seed).permutation(len(table))
    moved = np.random.default_rng(seed).permuted(shift + scale * table[order], axis=1)
    other = nested_parts(moved, [clusters[place] for place in order])
    for name in ("cluster", "instance", "sample"):
        assert getattr(other, name) == pytest.approx(
            scale**2 * getattr(one, name), rel=1e-6, abs=1e-9, nan_ok=True
        )
    assert (other.sample_share, other.low, other.high) == pytest.approx(
        (one.sample_share, one.low, one.high), rel=1e-6, abs=1e-9
    )
    assert sum(one.shares().values()) == pytest.approx(1)
    assert 0 <= one.low <= one.sample_share <= one.high <= 1
    assert one.se(math.inf) <= one.se() <= one.se(1)


def counts(seed: int = 0, n: int = 50, samples: int = 3) -> np.ndarray:
    """Counts tp, fp, fn of responses, shape (n, K, 3)."""
    generator = np.random.default_rng(seed)
    rate = np.clip(generator.beta(3, 3, (n, 1)) + generator.normal(0, 0.1, (n, samples)), 0.01, 0.99)
    size = generator.integers(1, 9, (n, 1))
    tp = generator.binomial(np.broadcast_to(size, rate.shape), rate)
    return np.stack([tp, generator.poisson(1.5, rate.shape), size - tp], axis=-1).astype(float)


def test_of_a_mean_each_response_has_its_own_score() -> None:
    values = np.random.default_rng(0).normal(size=(20, 3))
    table = np.stack([values, np.ones_like(values)], axis=-1)
    assert response_values(MEAN, table) == pytest.approx(values, abs=1e-8)


@pytest.mark.parametrize("metric", [COUNTS_F1, Ratio("tp", "all", zero=0.0)], ids=["F1", "ratio"])
def test_of_a_formula_of_sums_scores_have_its_value_as_mean_and_its_error(metric: object) -> None:
    table = counts()
    if isinstance(metric, Ratio):
        table = np.stack([table[..., 0], table.sum(axis=-1)], axis=-1)
    values, means = response_values(metric, table), table.mean(axis=1)  # type: ignore[arg-type]
    value = float(metric.value(means.sum(axis=0)))  # type: ignore[attr-defined]
    assert values.mean() == pytest.approx(value, abs=1e-9)
    error = scipy.stats.sem(values.mean(axis=1))
    assert error == pytest.approx(standard_error(metric, means), rel=1e-6)  # type: ignore[arg-type]
    generator = np.random.default_rng(1)
    drawn = generator.multinomial(len(means), [1 / len(means)] * len(means), 4000) @ means
    assert error == pytest.approx(np.std(metric.value(drawn)), rel=0.06)  # type: ignore[attr-defined]
    found = nested_parts(values, range(len(values)))
    assert isinstance(found, NestedParts) and found.se() == pytest.approx(error)


def test_what_more_samples_would_bring_is_what_they_bring() -> None:
    """F1: the error that two of eight samples tell of eight is that of the eight, on the average of data sets."""
    ratios = []
    for seed in range(40):
        eight = counts(seed, 100, 8)
        told = nested_parts(response_values(COUNTS_F1, eight[:, :2]), range(100)).se(8)
        ratios.append(told / standard_error(COUNTS_F1, eight.mean(axis=1)))
    assert np.mean(ratios) == pytest.approx(1, abs=0.03)
