"""Win rates from comparisons, places from scores, and inboxes whose messages are drawn again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pmbench_tasks.urgency import win_rate
from pmbench_tasks.urgency.ranking import contributions, drawn_scores, mean_over_ties, tied_places

_ROOT = Path(__file__).resolve().parents[2]
_CASES = Path(os.environ.get("PMBENCH_SHARED", _ROOT.parent / "shared")) / "conformance/urgency.json"

conformance = pytest.mark.skipif(
    not _CASES.exists(), reason="the conformance data are not beside the repository"
)

answers = st.one_of(st.none(), st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]), st.floats(-9, 9))


@st.composite
def matrices(draw: st.DrawFn, cell: Any = answers) -> list[list[float | None]]:
    n = draw(st.integers(1, 7))
    return [[None if i == j else draw(cell) for j in range(n)] for i in range(n)]


def by_hand(matrix: list[list[float | None]]) -> list[float]:
    """The rule as the paper words it, one pair after the other."""
    totals = [0.0] * len(matrix)
    for i in range(len(matrix)):
        for j in range(i):
            one, other = matrix[i][j], matrix[j][i]
            if one is None or other is None or one == other:
                totals[i] += 0.5
                totals[j] += 0.5
            else:
                totals[j if one > other else i] += 1 + abs(one - other)
    return totals


@conformance
def test_every_conformance_inbox() -> None:
    cases = json.loads(_CASES.read_text())["inboxes"]
    assert cases
    for case in cases:
        assert win_rate(case["second_more_urgent"]) == pytest.approx(case["expected"]["scores"], abs=1e-9)


@given(matrices())
def test_each_pair_by_hand(matrix: list[list[float | None]]) -> None:
    assert win_rate(matrix) == pytest.approx(by_hand(matrix), abs=1e-9)


@given(matrices())
def test_nan_is_none(matrix: list[list[float | None]]) -> None:
    array = np.array(matrix, dtype=float)
    before = array.copy()
    assert win_rate(array).tolist() == win_rate(matrix).tolist()
    assert np.array_equal(array, before, equal_nan=True)


def test_the_winner_gets_one_and_the_difference() -> None:
    # Shown (0, 1) the comparator holds 1 more urgent with 0.9; shown (1, 0) it holds 0 more urgent with 0.3.
    assert win_rate([[None, 0.9], [0.3, None]]) == pytest.approx([0.0, 1.6])
    assert win_rate([[None, 0.7], [0.7, None]]).tolist() == [0.5, 0.5]
    assert win_rate([[None, -2.0], [1.5, None]]) == pytest.approx([4.5, 0.0])
    assert win_rate([[None, None], [0.7, None]]).tolist() == [0.5, 0.5]


def test_one_order_is_held_against_one_half() -> None:
    matrix = [[None, 0.9, None], [None, None, 0.5], [0.8, None, None]]
    # 1 beats 0 by 0.8; 1 and 2 are equal; shown (2, 0), 0 beats 2 by 0.6.
    assert win_rate(matrix, orders="one") == pytest.approx([1.6, 1.8 + 0.5, 0.5])


@given(matrices(st.floats(0, 1)))
def test_one_order_is_both_where_the_other_says_the_opposite(matrix: list[list[float | None]]) -> None:
    one = np.triu(np.array(matrix, dtype=float), 1)
    asked = np.where(np.triu(np.ones_like(one), 1) > 0, one, np.nan)
    both = np.where(np.isnan(asked.T), asked, 1 - asked.T)
    assert win_rate(asked, orders="one") == pytest.approx(win_rate(both), abs=1e-12)


@pytest.mark.parametrize(
    ("matrix", "orders", "why"),
    [
        ([[None, 1.0]], "both", "square"),
        ([[None, float("inf")], [0.0, None]], "both", "infinite"),
        ([[None, 0.2], [0.3, None]], "one", "has both"),
        ([[None, 1.2], [None, None]], "one", "probabilities"),
    ],
)
def test_what_is_no_matrix_of_comparisons(matrix: Any, orders: Any, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        win_rate(matrix, orders=orders)


@given(matrices(), st.integers(0, 2**32 - 1))
def test_drawn_inboxes_are_ranked_as_if_copies_were_messages(
    matrix: list[list[float | None]], seed: int
) -> None:
    n = len(matrix)
    draws = np.random.default_rng(seed).integers(0, n, (4, 6))
    found = drawn_scores(contributions(matrix), draws)
    for drawn, scores in zip(draws.tolist(), found, strict=True):
        copies = [[None if i == j else matrix[i][j] for j in drawn] for i in drawn]
        assert scores == pytest.approx(by_hand(copies), abs=2e-9)


@given(matrices())
def test_the_inbox_itself_is_one_of_the_drawings(matrix: list[list[float | None]]) -> None:
    itself = drawn_scores(contributions(matrix), np.arange(len(matrix))[None])
    assert itself[0] == pytest.approx(win_rate(matrix), abs=1e-9)


@settings(deadline=None)
@given(st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0, 2.0 + 1e-11]), min_size=1, max_size=9))
def test_ties_share_their_places(scores: list[float]) -> None:
    order, start, end = (found[0].tolist() for found in tied_places(np.array([scores])))
    rounded = [round(score, 9) for score in scores]
    assert sorted(order) == list(range(len(scores)))
    assert [rounded[i] for i in order] == sorted(rounded, reverse=True)
    for place, i in enumerate(order):
        assert start[place] == sum(other > rounded[i] for other in rounded)
        assert end[place] == sum(other >= rounded[i] for other in rounded)


def test_a_tie_has_the_mean_weight_of_its_places() -> None:
    _, start, end = tied_places(np.array([[3.0, 1.0, 3.0, 2.0]]))
    assert mean_over_ties(np.array([8.0, 4.0, 2.0, 1.0]), start, end).tolist() == [[6.0, 6.0, 2.0, 1.0]]


def test_importing_the_package_does_not_import_numpy() -> None:
    line = "import sys, pmbench_tasks.urgency.inbox_metrics; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", line], check=False).returncode == 0
