"""Intervals over pairs: conformance, sums over pairs of pairs written out, scipy, and what must not matter."""

from __future__ import annotations

import json
import math
import os
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from pmbench.stats import dyadic
from pmbench.stats.dyadic import (
    DyadicDifference,
    dyadic_difference,
    dyadic_differences,
    dyadic_interval,
    dyadic_intervals,
)

_ROOT = Path(__file__).resolve().parents[2]
_CASES = Path(os.environ.get("PMBENCH_SHARED", _ROOT.parent / "shared")) / "conformance/statistics.json"

Floats = NDArray[np.float64]
Pairs = tuple[list[int], list[int]]

CYCLE: Pairs = (list(range(12)), [*range(1, 12), 0])
"""Twelve messages, each in two pairs."""


def all_pairs(messages: int) -> Pairs:
    first, second = zip(*combinations(range(messages), 2), strict=True)
    return list(first), list(second)


@st.composite
def datasets(draw: st.DrawFn) -> tuple[Pairs, list[float]]:
    """Pairs of up to 14 messages, some of them twice, and values with ties and averages among them."""
    messages = draw(st.integers(8, 14))
    pair = st.tuples(st.integers(0, messages - 1), st.integers(1, messages - 1))
    drawn = draw(st.lists(pair, min_size=1, max_size=40))
    rows = [(i, (i + step) % messages) for i, step in drawn] + [
        (i, (i + 1) % messages) for i in range(messages)
    ]
    values = st.sampled_from([0.0, 1.0, 0.5, 0.25, 1 / 3])
    correct = draw(st.lists(values, min_size=len(rows), max_size=len(rows)))
    return ([i for i, _ in rows], [j for _, j in rows]), correct


def standard_error(pairs: Pairs, values: list[float] | Floats) -> float:
    """The formula over pairs of pairs: e·e' for each message in common, by the squared leave-out factor."""
    rows, e = [set(pair) for pair in zip(*pairs, strict=True)], np.asarray(values) - np.mean(values)
    n = len(rows)
    degree = {m: sum(m in row for row in rows) for m in set().union(*rows)}
    factor = {m: 1.0 if deg == n else 1 / (1 - deg / n) for m, deg in degree.items()}
    total = sum(e[p] * e[q] * factor[m] ** 2 for p in range(n) for q in range(n) for m in rows[p] & rows[q])
    return math.sqrt(max(0.0, total - float(e @ e))) / n


@pytest.mark.skipif(not _CASES.exists(), reason="the conformance data are not beside the repository")
def test_conformance_of_dyadic_intervals() -> None:
    cases: list[dict[str, Any]] = json.loads(_CASES.read_text())["dyadic"]
    assert cases
    for case in cases:
        found = dyadic_interval(case["first"], case["second"], case["correct"])
        assert found == pytest.approx((case["value"], case["low"], case["high"]), abs=1e-12)
        (whole,) = dyadic_intervals(case["first"], case["second"], [case["correct"]])
        assert whole.se == pytest.approx(case["se"], abs=1e-12)


@settings(deadline=None)
@given(datasets())
def test_variance_is_the_sum_over_pairs_of_pairs_with_a_message_in_common(
    data: tuple[Pairs, list[float]],
) -> None:
    pairs, values = data
    (found,) = dyadic_intervals(*pairs, [values])
    if found.note not in {dyadic.NOT_POSITIVE, dyadic.AT_A_LIMIT}:
        assert found.se == pytest.approx(standard_error(pairs, values), abs=1e-9)


def test_leave_out_factor_is_the_mean_without_a_message() -> None:
    """Σ g²/n² is the sum of squares of what the mean moves by when a message and its pairs are left out."""
    pairs, values = all_pairs(9), np.random.default_rng(1).random(36)
    first, second = np.array(pairs)
    moves = [values[(first != m) & (second != m)].mean() - values.mean() for m in range(9)]
    expected = np.square(moves).sum() - np.square(values - values.mean()).sum() / 36**2
    assert dyadic_intervals(*pairs, [values])[0].se == pytest.approx(math.sqrt(expected))


def test_pairs_without_a_message_in_common_have_the_robust_variance_of_independent_values() -> None:
    """With each message in one pair, g = e/(1 − 1/n) twice for each pair: Σ e²·(2/(1 − 1/n)² − 1)/n².

    Σ e²/n² is the heteroskedasticity-robust variance (HC0); the factor goes to 1 with n.
    """
    n = 40
    values = np.random.default_rng(2).random(n)
    (found,) = dyadic_intervals(range(n), range(n, 2 * n), [values])
    robust = np.square(values - values.mean()).sum() / n**2
    assert found.se**2 == pytest.approx(robust * (2 / (1 - 1 / n) ** 2 - 1))
    assert found.se**2 == pytest.approx(values.var(ddof=1) / n, rel=0.1)


def test_bounds_are_on_the_logit_scale_with_student_s_t() -> None:
    pairs, values = all_pairs(12), (np.random.default_rng(3).random(66) < 0.7).astype(float)
    value, low, high = dyadic_interval(*pairs, values, level=0.9)
    step = scipy.stats.t.ppf(0.95, 11) * standard_error(pairs, values) / (value * (1 - value))
    assert low == pytest.approx(scipy.special.expit(scipy.special.logit(value) - step))
    assert high == pytest.approx(scipy.special.expit(scipy.special.logit(value) + step))


@pytest.mark.parametrize("right", [0, 1])
def test_all_wrong_or_all_right_has_clopper_pearson_bounds_of_half_the_messages(right: int) -> None:
    (found,) = dyadic_intervals(*all_pairs(30), [np.full(435, right)])
    exact = scipy.stats.binomtest(15 * right, 15).proportion_ci(method="exact")
    assert (found.low, found.high) == pytest.approx((exact.low, exact.high))
    assert (found.value, found.note) == (right, dyadic.AT_A_LIMIT)


def test_a_variance_that_is_not_positive_is_replaced_by_the_binomial_one() -> None:
    """On a cycle of right and wrong pairs in turn the residuals of each message cancel."""
    (found,) = dyadic_intervals(*CYCLE, [[1, 0] * 6])
    assert found.note == dyadic.NOT_POSITIVE
    assert found.se == pytest.approx(math.sqrt(0.5 * 0.5 / 12))
    (ties,) = dyadic_intervals(*CYCLE, [[0.5] * 12])
    assert ties.se == pytest.approx(found.se)


def test_a_small_variance_is_flagged() -> None:
    """Two right, two wrong in turn, and one more right: what is left of the messages' sums is small."""
    notes = set()
    generator = np.random.default_rng(4)
    for _ in range(200):
        values = (generator.random(66) < 0.9).astype(float)
        (found,) = dyadic_intervals(*all_pairs(12), [values])
        if found.note == dyadic.SMALL:
            assert found.se**2 < 0.5 * found.value * (1 - found.value) / 66
        notes.add(found.note)
    assert dyadic.SMALL in notes


def test_a_message_in_every_pair_is_left_as_it_is_and_flagged() -> None:
    values = [1.0, 0, 1, 1, 0, 1, 1, 1, 0, 1]
    pairs = ([0] * 10, list(range(1, 11)))
    (found,) = dyadic_intervals(*pairs, [values])
    e = np.array(values) - 0.7
    others = e / (1 - 0.1)
    assert found.se == pytest.approx(math.sqrt(e.sum() ** 2 + others @ others - e @ e) / 10)
    assert found.note == dyadic.IN_EVERY_PAIR


def test_too_few_messages_have_no_interval_and_say_so() -> None:
    few = dyadic.FEWEST_MESSAGES - 1
    pairs = all_pairs(few)
    n = len(pairs[0])
    (found,) = dyadic_intervals(*pairs, [[1.0, 0.0] + [1.0] * (n - 2)])
    assert math.isnan(found.low)
    assert math.isnan(found.high)
    assert found.note == f"{few} messages: fewer than {few + 1} support no interval"
    difference = dyadic_difference(*pairs, [1.0] * n, [0.0] * n)
    assert difference.difference == 1
    assert all(math.isnan(number) for number in (difference.low, difference.high, difference.p))
    assert not math.isnan(dyadic_interval(*all_pairs(few + 1), [1.0] * ((few + 1) * few // 2))[1])


def test_no_pairs_have_no_value() -> None:
    assert all(math.isnan(number) for number in dyadic_interval([], [], []))
    found = dyadic_difference([], [], [], [])
    assert math.isnan(found.difference)
    assert (found.messages, found.pairs) == (0, 0)
    assert dyadic_differences([], [], np.zeros((3, 0)), []) == []


@settings(deadline=None)
@given(datasets(), st.randoms())
def test_order_of_rows_and_sides_changes_nothing(data: tuple[Pairs, list[float]], random: Any) -> None:
    (first, second), values = data
    rows = list(zip(first, second, values, reversed(values), strict=True))
    random.shuffle(rows)
    turned = [(j, i, *rest) if random.random() < 0.5 else (i, j, *rest) for i, j, *rest in rows]
    one, other, ours, theirs = (list(column) for column in zip(*turned, strict=True))
    assert dyadic_intervals(one, other, [ours]) == dyadic_intervals(first, second, [values])
    again = dyadic_difference(one, other, ours, theirs)
    assert again == dyadic_difference(first, second, values, values[::-1])


@settings(deadline=None)
@given(datasets())
def test_bounds_hold_the_value_and_stay_between_0_and_1(data: tuple[Pairs, list[float]]) -> None:
    pairs, values = data
    value, low, high = dyadic_interval(*pairs, values)
    assert 0 <= low <= value <= high <= 1
    _, lower, higher = dyadic_interval(*pairs, values, level=0.99)
    assert lower <= low
    assert high <= higher


@settings(deadline=None)
@given(datasets())
def test_a_difference_is_its_mirror_image_with_the_systems_exchanged(data: tuple[Pairs, list[float]]) -> None:
    pairs, values = data
    ours, theirs = values, values[::-1]
    found, mirrored = dyadic_difference(*pairs, ours, theirs), dyadic_difference(*pairs, theirs, ours)
    assert (-mirrored.high, -mirrored.low) == pytest.approx((found.low, found.high), abs=1e-12)
    assert mirrored.p == pytest.approx(found.p, abs=1e-9)
    assert found.low <= found.difference <= found.high
    assert 0 < found.p <= 1
    if found.note != dyadic.AT_A_LIMIT and found.low > -1 and found.high < 1:
        assert (found.p < 0.05) == (not found.low <= 0 <= found.high)


def test_a_difference_has_student_s_t_on_its_own_scale() -> None:
    generator, pairs = np.random.default_rng(5), all_pairs(14)
    of_message = generator.random(14)  # differences that messages share, so that the floor does not matter
    a = (generator.random(91) < of_message[pairs[0]]).astype(float)
    b = (generator.random(91) < 0.5).astype(float)
    found, se = dyadic_difference(*pairs, a, b), standard_error(pairs, a - b)
    assert found.se == pytest.approx(se)
    assert (found.low, found.high) == pytest.approx(scipy.stats.t.interval(0.95, 13, found.difference, se))
    assert found.p == pytest.approx(2 * scipy.stats.t.sf(abs(found.difference) / se, 13))
    assert (found.messages, found.pairs, found.note) == (14, 91, "")


def test_variance_of_a_difference_has_a_floor() -> None:
    """Where it is small but positive, half of that of independent pairs; where it is not, all of it."""
    generator = np.random.default_rng(6)
    floored = 0
    for _ in range(100):
        a, b = (generator.random((2, 66)) < 0.8).astype(float)
        found = dyadic_difference(*all_pairs(12), a, b)
        apart = np.square(a - b - (a - b).mean()).sum() / 66**2
        own = standard_error(all_pairs(12), a - b) ** 2
        assert found.se**2 == pytest.approx(max(own, apart / 2) if own > 0 else apart)
        floored += own < apart / 2
    assert floored
    cancelling = dyadic_difference(*CYCLE, [1, 0] * 6, [0, 1] * 6)
    assert cancelling.note == dyadic.NOT_POSITIVE
    assert cancelling.se == pytest.approx(math.sqrt(12) / 12)


def test_systems_that_answer_alike_do_not_differ_and_could_within_bounds() -> None:
    values = (np.random.default_rng(7).random(435) < 0.6).astype(float)
    found = dyadic_difference(*all_pairs(30), values, values)
    reach = scipy.stats.binomtest(0, 15).proportion_ci(method="exact").high
    assert (found.difference, found.p, found.note) == (0, 1, dyadic.AT_A_LIMIT)
    assert (found.low, found.high) == pytest.approx((-reach, reach))


def test_a_system_right_on_all_pairs_against_one_wrong_on_all() -> None:
    found = dyadic_difference(*all_pairs(30), np.ones(435), np.zeros(435))
    reach = scipy.stats.binomtest(0, 15).proportion_ci(method="exact").high
    assert (found.low, found.high) == pytest.approx((1 - 2 * reach, 1))
    assert found.p == pytest.approx(scipy.stats.binomtest(15, 15).pvalue)


def test_equal_differences_that_rounding_tells_apart_are_equal() -> None:
    a, b = np.tile([0.3, 0.7], 33), np.tile([0.1, 0.5], 33)
    assert len(set(a - b)) == 2
    assert dyadic_difference(*all_pairs(12), a, b).note == dyadic.AT_A_LIMIT


def test_many_systems_get_what_each_gets_alone() -> None:
    values = (np.random.default_rng(8).random((6, 91)) < 0.7).astype(float)
    pairs = all_pairs(14)
    assert dyadic_intervals(*pairs, values) == [dyadic_intervals(*pairs, [row])[0] for row in values]
    which = list(combinations(range(6), 2))
    alone = [dyadic_difference(*pairs, values[i], values[j]) for i, j in which]
    found = dyadic_differences(*pairs, values, which)
    assert found == alone
    assert isinstance(found[0], DyadicDifference)


def test_intervals_hold_the_truth_where_pairs_share_messages() -> None:
    """300 datasets, all pairs of 20 messages that pull their pairs with them: about 95%, not a binomial's 70%."""
    generator, pairs = np.random.default_rng(9), all_pairs(20)
    urgency = generator.standard_normal((300, 20))
    shift = urgency[:, pairs[0]] + urgency[:, pairs[1]] + generator.standard_normal((300, 190))
    values = (shift > 0).astype(float)
    found = dyadic_intervals(*pairs, values)
    assert 0.92 <= np.mean([one.low <= 0.5 <= one.high for one in found]) <= 0.98
    assert np.mean([abs(one.value - 0.5) <= 1.96 * 0.5 / math.sqrt(190) for one in found]) < 0.75


@pytest.mark.parametrize(
    ("first", "second", "correct", "words"),
    [
        ([1, 2], [2], [1, 0], "2 first and 1 second"),
        ([1, 2], [2, 3], [1], "shape"),
        ([1, 2], [2, 3], [[1, 0]], "one system"),
        ([1, 2], [2, 3], [1, math.nan], "NaN"),
        ([1, 2], [2, 3], [1, 1.5], "outside 0 to 1"),
        ([1, 2], [2, 3], [1, -0.5], "outside 0 to 1"),
        ([1, 2], [2, 2], [1, 0], "with itself"),
    ],
)
def test_what_is_no_accuracy_over_pairs_is_refused(
    first: list[int], second: list[int], correct: list[Any], words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        dyadic_interval(first, second, correct)


@pytest.mark.parametrize("level", [0, 1, 95, math.nan])
def test_a_level_that_is_no_share_is_refused(level: float) -> None:
    with pytest.raises(ValueError, match="level"):
        dyadic_interval([1], [2], [1], level=level)
