"""Kendall's tau-b over answers that share cases, against scipy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau

from pmbench_tasks.archehr.resampling import drawn_counts
from pmbench_tasks.archehr.tau import kendall_by_case

POINT = st.tuples(st.integers(0, 3), st.integers(0, 4), st.integers(0, 4))


@given(st.lists(POINT, min_size=2, max_size=25))
def test_tau_is_that_of_scipy(points: list[tuple[int, int, int]]) -> None:
    cases, first, second = zip(*points, strict=True)
    found = kendall_by_case(cases, first, second, resamples=20).tau.value
    expected = kendalltau(first, second).statistic
    assert found is None if np.isnan(expected) else found == pytest.approx(expected)


def test_resamples_are_whole_cases() -> None:
    random = np.random.default_rng(1)
    cases = np.repeat(np.arange(12), 5)
    first = random.integers(0, 20, 60) / 20
    second = first + random.normal(0, 0.3, 60)
    found = kendall_by_case(cases, first, second, resamples=300, seed=7)
    drawn = []
    for counts in drawn_counts(12, 300, seed=7):
        rows = np.concatenate(
            [np.flatnonzero(cases == case) for case in range(12) for _ in range(int(counts[case]))]
        )
        drawn.append(kendalltau(first[rows], second[rows]).statistic)
    assert (found.tau.low, found.tau.high) == pytest.approx(tuple(np.quantile(drawn, (0.025, 0.975))))
    assert (found.answers, found.cases) == (60, 12)


@pytest.mark.parametrize(
    ("first", "second", "tau"),
    [
        ([1, 2, 3, 4], [1, 2, 3, 4], 1.0),
        ([1, 2, 3, 4], [4, 3, 2, 1], -1.0),
        ([1, 2, 3, 4], [2, 1, 4, 3], 1 / 3),  # two of six pairs are discordant
        ([1, 1, 2, 2], [1, 2, 3, 4], 4 / np.sqrt(4 * 6)),  # two pairs are tied in the first
    ],
)
def test_closed_forms(first: list[int], second: list[int], tau: float) -> None:
    assert kendall_by_case("abcd", first, second, resamples=50).tau.value == pytest.approx(tau)


def test_more_systems_on_the_same_cases_do_not_narrow_the_interval() -> None:
    random = np.random.default_rng(5)
    first, noise = random.normal(size=40), random.normal(size=40)
    one = kendall_by_case(range(40), first, first + noise).tau
    ten = kendall_by_case(list(range(40)) * 10, np.tile(first, 10), np.tile(first + noise, 10)).tau
    assert one.low is not None and ten.low is not None
    assert ten.high - ten.low == pytest.approx(one.high - one.low, rel=0.1)


def test_what_cannot_be_said() -> None:
    assert kendall_by_case("ab", [1, 1], [1, 2]).tau == (None, None, None)
    assert kendall_by_case("aa", [1, 2], [1, 2]).tau == (1.0, None, None)
    assert kendall_by_case([], [], []).tau.value is None
