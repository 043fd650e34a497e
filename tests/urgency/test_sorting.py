"""Sorts with fewer comparisons: right with a perfect comparator, bounded with any, better the more they ask."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st

from pmbench_tasks.urgency import t_ndcg
from pmbench_tasks.urgency.bradley_terry import PRIOR_VARIANCE, strengths
from pmbench_tasks.urgency.sorting import Sorted, active_ranking, heap_top_k, merge_sort, tournament_top_k

Compare = Callable[[int, int], Awaitable[float]]
COMPLETE: list[Any] = [merge_sort, tournament_top_k, heap_top_k]
ALL: list[Any] = [*COMPLETE, active_ranking]
TOPS: list[Any] = [tournament_top_k, heap_top_k]


class Asked:
    """A comparator that counts what it is asked and how much of it at once."""

    def __init__(self, answer: Callable[[int, int], float]) -> None:
        self.answer = answer
        self.pairs: Counter[frozenset[int]] = Counter()
        self.at_once = self.most_at_once = 0

    async def __call__(self, i: int, j: int) -> float:
        assert i != j
        self.pairs[frozenset((i, j))] += 1
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        await asyncio.sleep(0)
        self.at_once -= 1
        return self.answer(i, j)


def perfect(urgency: list[int]) -> Asked:
    return Asked(lambda i, j: float(urgency[j] > urgency[i]) if urgency[i] != urgency[j] else 0.5)


def contradicting(n: int, seed: int) -> Asked:
    """Answers drawn by lot, ties among them: circles everywhere."""
    table = np.random.default_rng(seed).choice([0.0, 0.2, 0.5, 0.9, 1.0], (n, n))
    return Asked(lambda i, j: float(table[i, j]))


def ran(sort: Any, n: int, compare: Compare, **options: Any) -> Sorted:
    found: Sorted = asyncio.run(sort(n, compare, **options))
    return found


def order_of(scores: list[float]) -> list[int]:
    return sorted(range(len(scores)), key=lambda i: -scores[i])


def halvings(n: int) -> int:
    return math.ceil(math.log2(n)) if n > 1 else 0


def most(sort: Any, n: int, k: int) -> int:
    """The bound that each sort promises."""
    if n < 2:
        return 0
    if sort is merge_sort:
        return n * halvings(n) - int(2 ** halvings(n)) + 1
    if sort is tournament_top_k:
        return n - 1 + (k - 1) * (halvings(n) - 1)
    return 2 * n + 2 * k * int(math.log2(n))


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 33).flatmap(lambda n: st.permutations(range(n))), st.integers(0, 5))
@pytest.mark.parametrize("sort", COMPLETE)
def test_a_perfect_comparator_gives_the_true_order(sort: Any, urgency: list[int], seed: int) -> None:
    n = len(urgency)
    asked = perfect(urgency)
    found = ran(sort, n, asked, seed=seed)
    assert order_of(found.scores) == order_of([float(u) for u in urgency])
    assert found.complete
    assert found.comparisons == asked.pairs.total() <= most(sort, n, n)
    assert max(asked.pairs.values(), default=1) == 1


@settings(deadline=None, max_examples=40)
@given(st.integers(2, 14).flatmap(lambda n: st.permutations(range(n))), st.integers(0, 5))
def test_active_selection_that_may_ask_everything_gives_the_true_order(urgency: list[int], seed: int) -> None:
    n = len(urgency)
    asked = perfect(urgency)
    found = ran(active_ranking, n, asked, budget=n * n, seed=seed)
    assert found.comparisons == n * (n - 1) // 2
    assert max(asked.pairs.values()) == 1
    assert order_of(found.scores) == order_of([float(u) for u in urgency])


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 25), st.integers(0, 2**32 - 1), st.integers(1, 25))
@pytest.mark.parametrize("sort", COMPLETE)
def test_a_comparator_that_contradicts_itself_ends_too(sort: Any, n: int, seed: int, k: int) -> None:
    asked = contradicting(n, seed)
    k = n if sort is merge_sort else min(k, n)
    options = {} if sort is merge_sort else {"k": k}
    found = ran(sort, n, asked, **options)
    assert found.complete
    assert found.comparisons == asked.pairs.total() <= min(most(sort, n, k), n * (n - 1) // 2)
    assert all(math.isfinite(score) for score in found.scores)
    assert len(found.scores) == n


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 20), st.integers(0, 2**32 - 1), st.integers(0, 60))
@pytest.mark.parametrize("sort", ALL)
def test_a_budget_is_never_exceeded(sort: Any, n: int, seed: int, budget: int) -> None:
    asked = contradicting(n, seed)
    found = ran(sort, n, asked, budget=budget)
    assert found.comparisons == asked.pairs.total() <= budget
    assert len(found.known) == found.comparisons
    assert len(found.scores) == n
    assert all(math.isfinite(score) for score in found.scores)
    if not found.complete:
        assert found.comparisons == budget


@settings(deadline=None, max_examples=40)
@given(st.integers(2, 30).flatmap(lambda n: st.permutations(range(n))), st.integers(1, 10))
@pytest.mark.parametrize("sort", TOPS)
def test_the_top_k_are_the_k_most_urgent_in_order(sort: Any, urgency: list[int], k: int) -> None:
    found = ran(sort, len(urgency), perfect(urgency), k=k)
    assert order_of(found.scores)[:k] == order_of([float(u) for u in urgency])[:k]
    assert found.comparisons <= most(sort, len(urgency), min(k, len(urgency)))


def test_a_top_k_costs_less_than_the_whole_order() -> None:
    urgency = np.random.default_rng(0).permutation(30).tolist()
    for sort in TOPS:
        few, whole = (ran(sort, 30, perfect(urgency), k=k).comparisons for k in (5, 30))
        assert few < whole < 435


@pytest.mark.parametrize("sort", ALL)
def test_comparisons_are_awaited_together(sort: Any) -> None:
    asked = perfect(np.random.default_rng(0).permutation(32).tolist())
    ran(sort, 32, asked)
    assert asked.most_at_once >= 8


@pytest.mark.parametrize("sort", ALL)
def test_a_seed_decides_everything_whichever_answer_comes_first(sort: Any) -> None:
    table = np.random.default_rng(7).random((16, 16))

    def slow(seed: int) -> Compare:
        delays = np.random.default_rng(seed)

        async def compare(i: int, j: int) -> float:
            await asyncio.sleep(float(delays.random()) / 1000)
            return float(table[i, j])

        return compare

    one, other = (ran(sort, 16, slow(delay), budget=40, seed=3) for delay in (0, 1))
    assert one == other
    assert ran(sort, 16, slow(0), budget=40, seed=4).known != one.known


def test_neighbours_held_equal_share_a_score() -> None:
    urgency = [3, 1, 2, 3, 1, 2, 3]
    for sort in COMPLETE:
        found = ran(sort, 7, perfect(urgency)).scores
        assert all((found[a] > found[b]) == (urgency[a] > urgency[b]) for a in range(7) for b in range(7)), (
            sort
        )


def test_a_comparison_that_failed_is_counted_and_a_tie() -> None:
    found = ran(merge_sort, 2, Asked(lambda i, j: math.nan))
    assert (found.missing, found.comparisons) == (1, 1)
    assert found.scores[0] == found.scores[1]


@pytest.mark.parametrize("sort", ALL)
def test_an_error_is_raised_once_all_in_flight_has_ended_and_nothing_more_is_begun(sort: Any) -> None:
    """What is in flight is paid for."""
    begun: list[int] = []
    ended: list[int] = []

    async def compare(i: int, j: int) -> float:
        number = len(begun)
        begun.append(number)
        await asyncio.sleep(0.001 * (1 + number))
        if number == 2:
            raise RuntimeError("the comparator is gone")
        ended.append(number)
        return 0.7

    with pytest.raises(RuntimeError, match="gone"):
        ran(sort, 16, compare)
    assert 4 <= len(begun) <= 16, "one round"
    assert sorted(ended) == [number for number in begun if number != 2]


def test_what_is_refused() -> None:
    asked = perfect([0, 1])
    for call in (
        lambda: ran(merge_sort, 2, asked, budget=-1),
        lambda: ran(heap_top_k, 2, asked, k=0),
        lambda: ran(active_ranking, 2, asked, batch=0),
    ):
        with pytest.raises(ValueError):
            call()


@pytest.mark.parametrize("sort", ALL)
def test_more_comparisons_are_worth_more_on_average(sort: Any) -> None:
    levels = np.repeat(np.arange(1, 7), 5)

    def noisy(seed: int) -> Asked:
        generator = np.random.default_rng(seed)
        latent = (6 - levels) * 1.2 + generator.normal(size=30)
        gap = latent[None, :] - latent[:, None] + generator.normal(0, 0.7, (30, 30))
        table = 1 / (1 + np.exp(-2 * gap))
        return Asked(lambda i, j: float(table[i, j]))

    worth = [
        np.mean([t_ndcg(levels, ran(sort, 30, noisy(s), budget=b, seed=s).scores, 10) for s in range(12)])
        for b in (0, 15, 40, 90)
    ]
    assert worth[0] == pytest.approx(0, abs=1e-12)
    assert worth == sorted(worth)
    assert worth[-1] > 0.75


@settings(deadline=None, max_examples=30)
@given(st.integers(2, 7), st.integers(0, 2**32 - 1), st.integers(0, 15))
def test_scipy_finds_the_same_strengths(n: int, seed: int, count: int) -> None:
    generator = np.random.default_rng(seed)
    pairs = [(i, j) for i in range(n) for j in range(i)]
    known = {pairs[at]: float(generator.random()) for at in generator.permutation(len(pairs))[:count]}

    def cost(theta: Any) -> float:
        lost = sum(
            np.logaddexp(0, theta[j] - theta[i]) - p * (theta[j] - theta[i]) for (i, j), p in known.items()
        )
        return float(lost + (theta**2).sum() / (2 * PRIOR_VARIANCE))

    expected = scipy.optimize.minimize(cost, np.zeros(n), method="BFGS", options={"gtol": 1e-7}).x
    theta, covariance = strengths(n, known)
    assert theta == pytest.approx(expected, abs=1e-4)
    assert (np.linalg.eigvalsh(covariance) > 0).all()


def test_a_message_never_compared_has_strength_zero() -> None:
    theta, covariance = strengths(3, {(0, 1): 1.0})
    assert theta[1] > theta[2] == 0.0 > theta[0]
    assert covariance[2, 2] == pytest.approx(PRIOR_VARIANCE)
