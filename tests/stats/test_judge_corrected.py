"""Judge-corrected ratios, F1 and means against ppi_py, an estimator written out here, and an example by hand."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
import scipy.stats

from pmbench.core.metric import F1, Macro, Mean, Metric, Ratio
from pmbench.stats.prediction_powered import (
    ALIKE,
    ALL_LABELLED,
    ALL_ZERO,
    BEYOND,
    FAR_BEYOND,
    IMPOSSIBLE,
    NOTHING_COUNTED,
    UNSURE,
    PredictionPowered,
    prediction_powered_mean,
    prediction_powered_metric,
)

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    ppi_py = pytest.importorskip("ppi_py", reason="ppi-python is not installed")

Rows = np.ndarray
Three = tuple[Rows, Rows, Rows]

RATIO, EDITS = Ratio("a", "b", "r"), F1("a", "b", "c")


def with_count(values: Rows) -> Rows:
    return np.stack([values, np.ones(len(values))], axis=1)


def means(seed: int, n: int = 40, rest: int = 200, noise: float = 0.3) -> Three:
    generator = np.random.default_rng(seed)
    truth = generator.uniform(0, 1, n + rest)
    judge = truth + 0.1 + generator.normal(0, noise, n + rest)
    return truth[:n], judge[:n], judge[n:]


def counts(seed: int, n: int = 40, rest: int = 200, columns: int = 3) -> Three:
    """Counts of people, and a judge who is off by one here and there and finds too much."""
    generator = np.random.default_rng(seed)
    size = generator.integers(1, 4, (n + rest, 1))
    people = generator.poisson(size, (n + rest, columns)) + (np.arange(columns) == 1)
    judge = np.maximum(people + generator.integers(-1, 3, people.shape), np.arange(columns) == 1)
    return people[:n].astype(float), judge[:n].astype(float), judge[n:].astype(float)


def slope_of_ratio(m: Rows) -> Rows:
    return np.array([1 / m[1], -m[0] / m[1] ** 2])


def slope_of_f1(m: Rows) -> Rows:
    whole = 2 * m[0] + m[1] + m[2]
    return np.array([2 * (m[1] + m[2]), -2 * m[0], -2 * m[0]]) / whole**2


def written_out(
    value: Callable[[Rows], float], slope: Callable[[Rows], Rows], y: Rows, f: Rows, g: Rows
) -> tuple[float, float]:
    """Value and λ of rows that are their own clusters, with the derivatives from calculus."""
    n, rest = len(y), len(g)

    def best(gradient: Rows) -> float:
        u, v, pooled = y @ gradient, f @ gradient, np.concatenate([f, g]) @ gradient
        covariance = ((u - u.mean()) * (v - v.mean())).mean()
        return float(np.clip(covariance / ((1 + n / rest) * pooled.var(ddof=1)), 0, 1))

    weight = 0.0
    for _ in range(2):
        weight = best(slope(y.mean(axis=0) + weight * (g.mean(axis=0) - f.mean(axis=0))))
    return value(y.mean(axis=0) + weight * (g.mean(axis=0) - f.mean(axis=0))), weight


@pytest.mark.parametrize(("n", "rest"), [(20, 60), (50, 300), (200, 1500)])
@pytest.mark.parametrize("noise", [0.05, 0.3, 3.0])
def test_a_mean_is_that_of_ppi_py(n: int, rest: int, noise: float) -> None:
    y, f, other = means(n, n, rest, noise)
    found = prediction_powered_metric(Mean("y"), with_count(y), with_count(f), with_count(other))
    theirs = float(np.squeeze(ppi_py.ppi_mean_pointestimate(y, f, other)))
    assert found.value == pytest.approx(theirs, abs=1e-12)
    plain = prediction_powered_mean(y, f, other)
    assert (found.low, found.high, found.weight) == pytest.approx((plain.low, plain.high, plain.weight))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("metric", "slope", "columns"), [(RATIO, slope_of_ratio, 2), (EDITS, slope_of_f1, 3)], ids=["ratio", "f1"]
)
def test_a_formula_of_sums_is_the_one_written_out(
    seed: int, metric: Metric, slope: Callable[[Rows], Rows], columns: int
) -> None:
    y, f, other = counts(seed, columns=columns)
    found = prediction_powered_metric(metric, y, f, other)
    value, weight = written_out(lambda m: float(metric.value(m)), slope, y, f, other)
    assert 0 < weight < 1
    assert found.weight == pytest.approx(weight, rel=1e-7)
    assert found.value == pytest.approx(value, rel=1e-9)
    assert found.judge_only == pytest.approx(metric.value(np.concatenate([f, other]).sum(axis=0)))


@pytest.mark.parametrize("columns", [2, 3])
def test_the_interval_leaves_out_one_row_after_the_other_and_finds_the_weight_anew(columns: int) -> None:
    metric, slope = (RATIO, slope_of_ratio) if columns == 2 else (EDITS, slope_of_f1)
    y, f, other = counts(9, 25, 60, columns)

    def value(m: Rows) -> float:
        return float(metric.value(m))

    left_out = [
        written_out(value, slope, np.delete(y, i, 0), np.delete(f, i, 0), other)[0] for i in range(25)
    ]
    left_out += [written_out(value, slope, y, f, np.delete(other, i, 0))[0] for i in range(60)]
    apart = (np.array(left_out) - np.mean(left_out)) ** 2
    se = math.sqrt(84 / 85 * apart.sum())
    found = prediction_powered_metric(metric, y, f, other)
    assert found.se == pytest.approx(se, rel=1e-6)
    welch = apart.sum() ** 2 / (apart[:25].sum() ** 2 / 24 + apart[25:].sum() ** 2 / 59)
    reach = scipy.stats.t.ppf(0.975, welch) * se
    if columns == 2:  # the numerator is greater than the denominator here and there: no limits are known
        assert (found.low, found.high) == pytest.approx((found.value - reach, found.value + reach), rel=1e-6)
    else:
        logit, stretch = scipy.special.logit(found.value), found.value * (1 - found.value)
        ends = scipy.special.expit([logit - reach / stretch, logit + reach / stretch])
        assert (found.low, found.high) == pytest.approx(tuple(ends), rel=1e-6)


def test_an_example_by_hand() -> None:
    """Three responses that people have labelled, three that they have not; (numerator, denominator) of each.

    people 0/1, 2/1, 1/2: sums 3 and 4, their ratio 3/4.
    judge  1/1, 2/1, 1/2: sums 4 and 4; others 1/1, 2/2, 2/1: sums 5 and 4.
    Corrected numerator 3/3 + λ (5/3 − 4/3), denominator 4/3 + λ (4/3 − 4/3): the value is 3/4 + λ/4.

    λ at the ratio 3/4: numerators less 3/4 of denominators are −3/4, 5/4, −1/2 of people, sum 0; of the judge 1/4,
    5/4, −1/2; of the others 1/4, 1/2, 5/4. The covariance of the first two is (−3/16 + 25/16 + 1/4) / 3 = 13/24. All
    six of the judge have the mean 1/2 and the variance (1/16 + 9/16 + 1 + 1/16 + 0 + 9/16) / 5 = 9/20. With as many
    labelled as not, λ = 13/24 / (2 · 9/20) = 65/108, and the ratio 3/4 + 65/432 = 389/432. Once more, there:
    """
    people, judge = [(0, 1), (2, 1), (1, 2)], [(1, 1), (2, 1), (1, 2)]
    others = [(1, 1), (2, 2), (2, 1)]

    def weight(ratio: Fraction) -> Fraction:
        u, v, w = ([a - ratio * b for a, b in rows] for rows in (people, judge, others))
        covariance = sum(x * y for x, y in zip(u, v, strict=True)) / 3 - sum(u) / 3 * sum(v) / 3
        mean = sum(v + w) / 6
        return covariance / (2 * sum((one - mean) ** 2 for one in v + w) / 5)

    assert weight(Fraction(3, 4)) == Fraction(65, 108)
    wanted = weight(Fraction(389, 432))
    assert 0 < wanted < 1
    found = prediction_powered_metric(RATIO, people, judge, others)
    assert found.weight == pytest.approx(float(wanted), rel=1e-8)
    assert found.value == pytest.approx(float(Fraction(3, 4) + wanted / 4), rel=1e-9)
    assert found.labelled_only[0] == pytest.approx(0.75)
    assert found.judge_only == pytest.approx(9 / 8)
    half = prediction_powered_metric(RATIO, people, judge, others, weight=0.5)
    assert half.value == pytest.approx(0.75 + 0.125)


def test_a_mean_per_instance_corrects_how_many_have_a_value_too() -> None:
    """By people 2 of 3 have a value, by the judge all: of (sum, count) the count is corrected like the sum."""
    people, judge = [(1.0, 1.0), (0.0, 0.0), (0.0, 1.0)], [(1.0, 1.0), (1.0, 1.0), (0.0, 1.0)]
    others = [(1.0, 1.0), (1.0, 1.0), (0.0, 1.0)]
    metric = Macro(F1("a", "b", "c", zero=math.nan), "macro", limits=(0.0, 1.0))
    found = prediction_powered_metric(metric, people, judge, others, weight=1.0)
    # Sum 1/3 + (2/3 − 2/3), count 2/3 + (1 − 1).
    assert found.value == pytest.approx(1 / 2)


def test_rows_of_one_cluster_count_as_one_thing() -> None:
    y, f, other = counts(2, 30, 90)
    once = prediction_powered_metric(EDITS, y, f, other, weight=0.6)
    twice = prediction_powered_metric(
        EDITS,
        np.repeat(y, 2, axis=0),
        np.repeat(f, 2, axis=0),
        np.repeat(other, 2, axis=0),
        np.repeat(np.arange(30), 2).tolist(),
        np.repeat(np.arange(100, 190), 2).tolist(),
        weight=0.6,
    )
    assert (twice.value, twice.low, twice.high) == pytest.approx((once.value, once.low, once.high))
    assert (twice.labelled, twice.clusters) == (60, 30)


def test_order_of_rows_changes_nothing() -> None:
    y, f, other = counts(4, 30, 90)
    places, elsewhere = np.random.default_rng(0).permutation(30), np.random.default_rng(1).permutation(90)
    rest = np.arange(20, 110)
    one = prediction_powered_metric(EDITS, y, f, other, list(range(30)), rest.tolist())
    two = prediction_powered_metric(
        EDITS, y[places], f[places], other[elsewhere], places.tolist(), rest[elsewhere].tolist()
    )
    told = [(found.value, found.low, found.high, found.weight) for found in (one, two)]
    assert told[0] == pytest.approx(told[1], rel=1e-9)


def test_a_judge_that_was_never_seen_wrong_adds_nothing() -> None:
    y, _, other = counts(5)
    found = prediction_powered_metric(EDITS, y, y, other)
    assert "agrees with people on every labelled row" in found.note
    assert (found.value, found.low, found.high) == found.labelled_only
    assert found.weight == 0


def test_people_who_say_the_same_of_every_row_leave_room_for_doubt() -> None:
    ones, mixed = with_count(np.ones(30)), with_count(np.arange(30) % 2.0)
    found = prediction_powered_metric(Mean("y", limits=(0, 1)), ones, mixed, with_count(np.ones(50)))
    assert found.note == ALIKE
    # Clopper & Pearson for 30 of 30.
    assert (found.value, found.low) == pytest.approx((1.0, scipy.stats.beta.ppf(0.025, 30, 1)))


def test_where_all_is_labelled_the_judge_is_not_needed() -> None:
    y, f, other = counts(6)
    for rest in (other[:0], other[:1]):
        found = prediction_powered_metric(EDITS, y, f, rest)
        assert found.note == ALL_LABELLED
        assert (found.value, found.low, found.high) == found.labelled_only


def no_value(found: PredictionPowered) -> bool:
    return all(math.isnan(one) for one in (found.value, found.low, found.high))


@pytest.mark.parametrize("metric", [RATIO, Mean("y"), Macro(EDITS, "m")], ids=["ratio", "mean", "macro"])
def test_a_denominator_that_the_judge_corrects_away_gives_no_value(metric: Metric) -> None:
    """People count 1 of what the judge counts 3 of; elsewhere it counts 1, which corrected is below 0."""
    people = np.tile([[1.0, 1.0], [0.0, 1.0]], (10, 1))
    judge, others = people * [[1.0, 3.0]], np.tile([[1.0, 1.0], [0.0, 1.0]], (20, 1))
    found = prediction_powered_metric(metric, people, judge, others, weight=1.0)
    assert no_value(found) and found.note == IMPOSSIBLE
    assert found.labelled_only[0] == pytest.approx(0.5)


def test_what_lies_beyond_the_limits_is_put_there_and_told() -> None:
    y = with_count(np.array([1.0] * 28 + [0.0] * 2))
    f = with_count(np.array([1.0] * 20 + [0.0] * 10))
    metric, rest = Mean("y", limits=(0, 1)), with_count(np.ones(400))
    found = prediction_powered_metric(metric, y, f, rest, weight=0.3)  # 28/30 + 0.3 (1 − 20/30)
    assert found.value == found.high == 1.0 and found.low < 1
    assert found.note == BEYOND
    far = prediction_powered_metric(metric, y, f, rest, weight=1.0)
    assert far.value == 1.0 and math.isnan(far.low) and far.note == FAR_BEYOND


@pytest.mark.parametrize(
    ("people", "judge", "message"),
    [
        ([(1, 1)] * 3, [(1, 1)] * 2, "3 values of people, 2 of the judge"),
        ([(1, 1, 1)] * 3, [(1, 1)] * 3, "3, 2 and 2 columns"),
        ([(1, 1)], [(1, 1)], "fewer than two labelled clusters"),
        ([(1, math.nan)] * 3, [(1, 1)] * 3, "people: NaN in row 0"),
    ],
)
def test_what_cannot_be_used_is_refused(people: list[tuple[float, ...]], judge: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        prediction_powered_metric(RATIO, people, judge, [(1, 1)] * 5)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("weight", [None, 0.0, 1.0])
def test_where_people_counted_nothing_there_is_no_f1(seed: int, weight: float | None) -> None:
    """The judge's mean, which is taken off and put back, left a denominator of 1e-17 and an F1 of 1."""
    y, f, other = counts(seed, 50, 70)
    found = prediction_powered_metric(EDITS, 0 * y, f, other, weight=weight)
    assert found.note == NOTHING_COUNTED
    assert all(map(math.isnan, (found.value, found.low, found.high, *found.labelled_only)))


def test_no_weight_is_the_labels_alone_where_they_count_almost_nothing() -> None:
    y, f, other = counts(3, 50, 70)
    few = 0 * y
    few[:2] = [[1, 0, 0], [0, 1, 0]]
    found = prediction_powered_metric(EDITS, few, f, other, weight=0.0)
    assert found.value == pytest.approx(2 / 3) == found.labelled_only[0]


def test_words_of_which_people_saw_none_say_that_they_are_0_and_have_no_interval() -> None:
    y, f, other = means(4)
    found = prediction_powered_metric(Mean("y"), with_count(0 * y), with_count(f), with_count(other))
    assert found.value == 0 and math.isnan(found.low) and found.note == ALL_ZERO
    assert "0 in every labelled response" in found.note


def test_one_row_in_which_people_counted_something_bears_no_interval() -> None:
    """Without it the denominator is 0, and not the 1e-17 that rounding leaves."""
    y, f, other = counts(3, 50, 70)
    single = 0 * y
    single[0] = [1, 0, 0]
    found = prediction_powered_metric(EDITS, single, f, other, weight=0.0)
    assert found.value == 1 and math.isnan(found.low) and found.note == UNSURE
