"""What an order is worth beside T-NDCG: scipy, brute force over the orders of ties, and worked cases."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from itertools import pairwise, permutations
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from pmbench_tasks.urgency.order import (
    agreement,
    in_bottom_third,
    kendall_tau_b,
    order_accuracy,
    wait_minutes,
    worst_rank,
)


@st.composite
def inboxes(draw: st.DrawFn, most: int = 12) -> tuple[list[float], list[float]]:
    n = draw(st.integers(1, most))
    levels = draw(st.lists(st.sampled_from([1, 1.5, 2, 3, 5, 6]), min_size=n, max_size=n))
    return levels, draw(st.lists(st.integers(0, 4).map(float), min_size=n, max_size=n))


def mean_over_orders(inbox: tuple[list[float], list[float]], value: Callable[[list[int]], float]) -> float:
    """The mean of a number of an order, over all orders that the scores allow."""
    _, scores = inbox
    return float(
        np.mean(
            [
                value(list(order))
                for order in permutations(range(len(scores)))
                if all(scores[a] >= scores[b] for a, b in pairwise(order))
            ]
        )
    )


@settings(deadline=None)
@given(inboxes(most=20))
def test_scipy_has_the_same_tau_b(inbox: tuple[list[float], list[float]]) -> None:
    levels, scores = inbox
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = scipy.stats.kendalltau([-level for level in levels], scores).statistic
    assert kendall_tau_b(levels, scores)[0] == pytest.approx(expected, abs=1e-12, nan_ok=True)


def test_tau_b_of_no_order_is_what_is_asked_for() -> None:
    assert math.isnan(kendall_tau_b([1, 2, 3], [1.0, 1.0, 1.0])[0])
    assert kendall_tau_b([1, 2, 3], [1.0, 1.0, 1.0], no_order=0.0)[0] == 0.0
    assert math.isnan(kendall_tau_b([2, 2], [1.0, 1.0], no_order=0.0)[0])


def test_pairs_are_counted_once() -> None:
    levels, scores = [1, 1, 2, 3], [3.0, 2.0, 2.0, 5.0]
    counts = agreement(levels, scores)
    assert [float(found[0]) for found in counts] == [1.0, 3.0, 1.0, 1.0]
    assert order_accuracy(levels, scores)[0] == pytest.approx(1.5 / 5)


@given(inboxes())
def test_pairs_by_hand(inbox: tuple[list[float], list[float]]) -> None:
    levels, scores = inbox
    of = [(a, b) for a in range(len(levels)) for b in range(len(levels)) if levels[a] < levels[b]]
    right = sum(1.0 if scores[a] > scores[b] else 0.5 if scores[a] == scores[b] else 0.0 for a, b in of)
    expected = right / len(of) if of else math.nan
    assert order_accuracy(levels, scores)[0] == pytest.approx(expected, nan_ok=True)


@settings(deadline=None, max_examples=60)
@given(inboxes(most=6), st.sampled_from([1, 2]))
def test_the_bottom_third_over_all_orders_of_ties(inbox: tuple[list[float], list[float]], level: int) -> None:
    levels, scores = inbox
    n = len(levels)

    def there(order: list[int]) -> float:
        return sum(math.floor(levels[i]) == level for i in order[n - n // 3 :])

    assert in_bottom_third(levels, scores, level)[0] == pytest.approx(mean_over_orders(inbox, there))


@settings(deadline=None, max_examples=60)
@given(inboxes(most=6))
def test_the_worst_rank_over_all_orders_of_ties(inbox: tuple[list[float], list[float]]) -> None:
    levels, scores = inbox

    def last(order: list[int]) -> float:
        return max((rank + 1 for rank, i in enumerate(order) if levels[i] < 2), default=math.nan)

    assert worst_rank(levels, scores)[0] == pytest.approx(mean_over_orders(inbox, last), nan_ok=True)


@settings(deadline=None, max_examples=60)
@given(inboxes(most=6))
def test_the_wait_over_all_orders_of_ties(inbox: tuple[list[float], list[float]]) -> None:
    levels, scores = inbox

    def wait(order: list[int]) -> float:
        return float(np.mean([10 * rank for rank, i in enumerate(order) if levels[i] == min(levels)]))

    found = wait_minutes(levels, scores, per_hour=6)[0]
    assert found == pytest.approx(mean_over_orders(inbox, wait))


def test_an_inbox_as_a_nurse_would_read_it() -> None:
    # Places: 1 has level 1, 2 has level 3, 3 and 4 are tied (levels 1 and 6), 5 and 6 have level 2.
    levels, scores = [1, 3, 1, 6, 2, 2], [9.0, 8.0, 5.0, 5.0, 2.0, 1.0]
    assert in_bottom_third(levels, scores, 2)[0] == 2
    assert in_bottom_third(levels, scores, 1)[0] == 0
    assert worst_rank(levels, scores)[0] == 3.5
    # Three minutes a message: none before the first, two or three before the other.
    assert wait_minutes(levels, scores)[0] == pytest.approx((0 + 2.5 * 3) / 2)


def test_levels_that_do_not_occur() -> None:
    assert in_bottom_third([3, 4, 5], [1.0, 2.0, 3.0], 1)[0] == 0.0
    assert math.isnan(worst_rank([3, 4], [1.0, 2.0])[0])
    assert math.isnan(order_accuracy([3, 3], [1.0, 2.0])[0])
    assert math.isnan(wait_minutes([3, 4], [1.0, 2.0], urgent=1)[0])
    assert wait_minutes([3, 4], [1.0, 2.0])[0] == 3.0


@pytest.mark.parametrize("function", [order_accuracy, kendall_tau_b, worst_rank, wait_minutes])
def test_many_inboxes_at_once(function: Any) -> None:
    generator = np.random.default_rng(2)
    levels, scores = generator.integers(1, 4, (40, 8)), generator.integers(0, 5, (40, 8)).astype(float)
    found = function(levels, scores)
    one_by_one = [function(*row)[0] for row in zip(levels.tolist(), scores.tolist(), strict=True)]
    assert found == pytest.approx(one_by_one, nan_ok=True)
    assert function(levels[0], scores).shape == (40,)


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="do not fit"):
        order_accuracy([1, 2], [1.0])
    with pytest.raises(ValueError, match="positive"):
        wait_minutes([1, 2], [1.0, 2.0], per_hour=0)
