"""Judge-corrected means against ppi_py, and what clusters change."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
import scipy.stats

from pmbench.core.errors import UserError
from pmbench.stats.prediction_powered import prediction_powered_mean

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    ppi_py = pytest.importorskip("ppi_py", reason="ppi-python is not installed")


def judged(seed: int, n: int, rest: int, noise: float = 0.3) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    truth = generator.uniform(0, 1, n + rest)
    judge = truth + 0.1 + generator.normal(0, noise, n + rest)
    return truth[:n], judge[:n], judge[n:]


@pytest.mark.parametrize(("n", "rest"), [(10, 30), (50, 300), (200, 1500)])
@pytest.mark.parametrize("noise", [0.05, 0.3, 3.0])
def test_estimate_and_weight_are_those_of_ppi_py(n: int, rest: int, noise: float) -> None:
    y, f, other = judged(n, n, rest, noise)
    found = prediction_powered_mean(y, f, other)
    assert found.value == pytest.approx(
        float(np.squeeze(ppi_py.ppi_mean_pointestimate(y, f, other))), abs=1e-12
    )
    # A weight that is given, and not found in the data, leaves less in doubt.
    fixed = prediction_powered_mean(y, f, other, weight=found.weight)
    assert fixed.value == pytest.approx(found.value, abs=1e-12)
    assert fixed.se <= found.se * 1.01


@pytest.mark.parametrize("weight", [0.0, 0.4, 1.0])
def test_interval_is_that_of_ppi_py_but_for_small_samples(weight: float) -> None:
    """Theirs is normal and divides by n²; ours is Student's t and a jackknife. Put back, they are equal."""
    y, f, other = judged(0, 40, 200)
    found = prediction_powered_mean(y, f, other, weight=weight)
    low, high = (float(np.squeeze(one)) for one in ppi_py.ppi_mean_ci(y, f, other, alpha=0.05, lam=weight))
    theirs = (high - low) / 2 / scipy.stats.norm.ppf(0.975)
    parts = (found.weight * other).var() / 200, (y - found.weight * f).var() / 40
    assert theirs == pytest.approx(math.sqrt(sum(parts)), rel=1e-12)
    others, labelled = parts[0] * (200 / 199) ** 2, parts[1] * (40 / 39) ** 2
    assert found.se == pytest.approx(math.sqrt(239 / 240 * (others + labelled)), rel=1e-9)
    welch = (others + labelled) ** 2 / (others**2 / 199 + labelled**2 / 39)
    assert found.high - found.value == pytest.approx(scipy.stats.t.ppf(0.975, welch) * found.se, rel=1e-9)
    assert (low + high) / 2 == pytest.approx(found.value, abs=1e-12)


@pytest.mark.parametrize(("labelled", "within"), [(30, 0.15), (2000, 0.002)])
def test_with_many_labels_the_standard_error_is_that_of_ppi_py(labelled: int, within: float) -> None:
    y, f, other = judged(6, labelled, 5 * labelled)
    low, high = (float(np.squeeze(one)) for one in ppi_py.ppi_mean_ci(y, f, other, alpha=0.05))
    theirs = (high - low) / 2 / scipy.stats.norm.ppf(0.975)
    assert prediction_powered_mean(y, f, other).se == pytest.approx(theirs, rel=within)


def test_a_few_rows_without_labels_do_not_make_the_interval_wider_than_the_labels_alone() -> None:
    """Of two such rows a t with one degree of freedom would make 12.7 standard errors on either side."""
    y, f, other = judged(3, 22, 2)
    found = prediction_powered_mean(y, f, other)
    _, low, high = found.labelled_only
    assert found.high - found.low < 1.05 * (high - low)


def test_bounds_stay_within_limits() -> None:
    y = np.array([1.0] * 14 + [0.0])
    found = prediction_powered_mean(y, y[::-1], y, limits=(0.0, 1.0))
    plain = prediction_powered_mean(y, y[::-1], y)
    assert found.low < found.value < found.high < 1 < plain.high
    assert found.labelled_only[2] < 1 < plain.labelled_only[2]


def test_a_judge_that_always_agrees_is_told() -> None:
    y = np.array([1.0] * 14 + [0.0])
    found = prediction_powered_mean(y, y, np.ones(40))
    assert (found.value, found.low, found.high) == (1, *found.labelled_only[1:])
    assert "agrees" in found.note
    assert "agrees" in prediction_powered_mean(y, y, np.tile(y, 3)).note
    assert prediction_powered_mean(y, y[::-1], y).note == ""


def test_a_good_judge_narrows_and_a_useless_one_does_no_harm() -> None:
    good = prediction_powered_mean(*judged(1, 50, 1000, noise=0.05))
    useless = prediction_powered_mean(*judged(1, 50, 1000, noise=50))
    for found in (good, useless):
        width = found.labelled_only[2] - found.labelled_only[1]
        assert found.high - found.low < (0.5 if found is good else 1.02) * width
    assert useless.weight < 0.05
    # The judge's mean at its word is 0.1 off; the corrected one is not.
    assert good.judge_only - good.value == pytest.approx(0.1, abs=0.03)


def test_labelled_only_is_students_interval() -> None:
    y, f, other = judged(2, 20, 100)
    theirs = scipy.stats.ttest_1samp(y, 0).confidence_interval()
    found = prediction_powered_mean(y, f, other)
    assert found.labelled_only == pytest.approx((y.mean(), theirs.low, theirs.high), rel=1e-12)


def test_rows_that_are_copies_of_each_other_count_once() -> None:
    y, f, other = judged(3, 30, 90)
    once = prediction_powered_mean(y, f, other, weight=0.6)
    thrice = prediction_powered_mean(
        np.repeat(y, 3),
        np.repeat(f, 3),
        np.repeat(other, 3),
        np.repeat(np.arange(30), 3).tolist(),
        np.repeat(np.arange(100, 190), 3).tolist(),
        weight=0.6,
    )
    assert (thrice.value, thrice.low, thrice.high) == pytest.approx((once.value, once.low, once.high))


def test_a_cluster_with_rows_of_both_kinds_joins_them() -> None:
    """Labelled and unlabelled rows of one message vary together: three clusters, each left out by hand."""
    y, f, other = np.array([1.0, 2.0, 4.0]), np.array([1.0, 2.0, 3.0]), np.array([2.0, 2.0, 5.0])
    found = prediction_powered_mean(y, f, other, ["a", "b", "c"], ["a", "b", "c"], weight=1.0)
    # y − f = 0, 0, 1, mean 1/3; the rest has the mean 3. Without a or b 1/2 + 7/2, without c 0 + 2: mean 10/3.
    assert found.value == pytest.approx(10 / 3)
    assert found.se == pytest.approx(math.sqrt(2 / 3 * (2 * (4 - 10 / 3) ** 2 + (2 - 10 / 3) ** 2)))


def test_the_best_weight_of_clusters_from_its_definition() -> None:
    """Covariance and variance of the clusters' sums, each taken from the mean, with loops."""
    generator = np.random.default_rng(7)
    y, f, other = judged(7, 30, 90, noise=1.0)
    labels, rest = generator.integers(0, 12, 30), generator.integers(5, 40, 90)
    pooled, where = np.concatenate([f, other]), np.concatenate([labels, rest])
    covariance = variance = 0.0
    for label in range(40):
        covariance += (y[labels == label] - y.mean()).sum() * (f[labels == label] - f.mean()).sum() / 30
        variance += (pooled[where == label] - pooled.mean()).sum() ** 2 / 119
    found = prediction_powered_mean(y, f, other, labels.tolist(), rest.tolist())
    assert 0 < found.weight < 1
    assert found.weight == pytest.approx(covariance / ((1 + 30 / 90) * variance), rel=1e-9)


def test_order_of_rows_changes_nothing() -> None:
    y, f, other = judged(4, 25, 60)
    places = np.random.default_rng(0).permutation(25)
    one = prediction_powered_mean(y, f, other, list(range(25)))
    two = prediction_powered_mean(y[places], f[places], other, places.tolist())
    assert (two.value, two.se, two.weight) == pytest.approx((one.value, one.se, one.weight), rel=1e-12)


def test_what_cannot_be_used_is_refused() -> None:
    y, f, other = judged(5, 5, 5)
    with pytest.raises(UserError, match="judge: NaN in row 2"):
        prediction_powered_mean(y, np.where(np.arange(5) == 2, np.nan, f), other)
    with pytest.raises(ValueError, match="5 values of people, 4 of the judge"):
        prediction_powered_mean(y, f[:4], other)
    with pytest.raises(ValueError, match="two of each"):
        prediction_powered_mean(y, f, other[:1])
    constant = prediction_powered_mean(y, np.ones(5), np.ones(5))
    assert constant.weight == 0
