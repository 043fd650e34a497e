"""T-NDCG: conformance cases, other packages, closed forms, and what holds for every inbox."""

from __future__ import annotations

import importlib.util
import json
import math
import os
import sys
from itertools import pairwise, permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pmbench import ConfigError
from pmbench_tasks.urgency import expected_t_ndcg, ideal_t_ndcg, t_ndcg, win_rate
from pmbench_tasks.urgency.ndcg import ranx_t_ndcg, shuffled_t_ndcg, t_ndcg_rows

_ROOT = Path(__file__).resolve().parents[2]
_CASES = Path(os.environ.get("PMBENCH_SHARED", _ROOT.parent / "shared")) / "conformance/urgency.json"

conformance = pytest.mark.skipif(
    not _CASES.exists(), reason="the conformance data are not beside the repository"
)


def needs(module: str) -> Any:
    return pytest.mark.skipif(importlib.util.find_spec(module) is None, reason=f"{module} is not installed")


level = st.sampled_from([1, 1.5, 2, 3, 4, 4.5, 5, 6])


@st.composite
def inboxes(draw: st.DrawFn, most: int = 12, score: Any = None) -> tuple[list[float], list[float]]:
    n = draw(st.integers(1, most))
    scores = score if score is not None else st.one_of(st.integers(0, 3).map(float), st.floats(-50, 50))
    return draw(st.lists(level, min_size=n, max_size=n)), draw(st.lists(scores, min_size=n, max_size=n))


def cases(name: str) -> list[dict[str, Any]]:
    found = list(json.loads(_CASES.read_text())[name])
    assert found
    return found


def of_order(levels: list[float], order: list[int], k: int) -> float:
    """T-NDCG of one order, by the definition."""

    def dcg(gains: list[float]) -> float:
        return sum(gain / math.log2(place + 2) for place, gain in enumerate(gains[:k]))

    gains = [6 - levels[i] for i in order]
    ideal = dcg(sorted(gains, reverse=True))
    return (dcg(gains) - dcg(gains[::-1])) / ideal if ideal > 0 else 0.0


def of_all_orders(levels: list[float], scores: list[float], k: int) -> list[float]:
    """T-NDCG of every order that the scores allow."""
    rounded = [round(score, 9) for score in scores]
    return [
        of_order(levels, list(order), k)
        for order in permutations(range(len(levels)))
        if all(rounded[a] >= rounded[b] for a, b in pairwise(order))
    ]


def shuffled(n: int, seed: int, *, half: bool = False) -> tuple[list[float], list[float]]:
    """Levels and scores without ties."""
    generator = np.random.default_rng(seed)
    levels = generator.integers(2, 13, n) / 2 if half else generator.integers(1, 7, n)
    return levels.tolist(), generator.permutation(n).astype(float).tolist()


@conformance
def test_every_conformance_inbox() -> None:
    for case in cases("inboxes"):
        scores = win_rate(case["second_more_urgent"])
        for k in (3, 10, 30):
            expected = case["expected"]
            assert t_ndcg(case["levels"], scores, k) == pytest.approx(
                expected[f"expected_tndcg@{k}"], abs=1e-9
            )
            assert ideal_t_ndcg(case["levels"], k) == pytest.approx(expected[f"ideal_tndcg@{k}"], abs=1e-9)


@conformance
def test_every_conformance_case_of_predicted_levels() -> None:
    for case in cases("multiclass"):
        of = (case["levels"], case["predicted_levels"], case["k"])
        assert expected_t_ndcg(*of) == pytest.approx(case["expected_tndcg"], abs=1e-9)
        scores = -np.array(case["predicted_levels"])
        _, deviation = shuffled_t_ndcg(case["levels"], scores, case["k"], shuffles=20_000)
        # A square root: where the deviation is 0, rounding in its square can leave some 1e-8.
        assert deviation == pytest.approx(case["sd_over_shuffles"], rel=0.03, abs=1e-7)


def test_the_ideal_of_the_papers_inbox() -> None:
    levels = [level for level in range(1, 7) for _ in range(5)]
    assert round(ideal_t_ndcg(levels, 30), 2) == 0.39
    assert t_ndcg(levels, levels, 30) == pytest.approx(-ideal_t_ndcg(levels, 30))


def test_two_messages_in_closed_form() -> None:
    # Relevances 5 and 0: at k = 1 the right order has 1 and its reverse 0; at k = 2 the reverse has 1/log2(3).
    assert t_ndcg([1, 6], [2.0, 1.0], 1) == 1.0
    assert t_ndcg([1, 6], [2.0, 1.0], 2) == pytest.approx(1 - 1 / math.log2(3))
    assert t_ndcg([1, 6], [1.0, 1.0], 2) == 0.0


def test_a_larger_k_than_the_inbox_is_cut() -> None:
    levels, scores = shuffled(7, 1)
    assert t_ndcg(levels, scores, 30) == t_ndcg(levels, scores, 7)


def test_no_gain_is_zero() -> None:
    assert t_ndcg([6, 6, 6], [3.0, 2.0, 1.0], 2) == 0.0
    assert ideal_t_ndcg([6, 6], 5) == 0.0


@given(inboxes(most=6, score=st.sampled_from([0.0, 1.0, 1.0 + 1e-12, 2.0])), st.integers(1, 8))
def test_ties_are_the_mean_over_all_their_orders(inbox: tuple[list[float], list[float]], k: int) -> None:
    levels, scores = inbox
    assert t_ndcg(levels, scores, k) == pytest.approx(np.mean(of_all_orders(levels, scores, k)), abs=1e-12)


@given(inboxes(), st.integers(1, 14))
def test_the_reverse_has_the_opposite(inbox: tuple[list[float], list[float]], k: int) -> None:
    levels, scores = inbox
    assert t_ndcg(levels, [-score for score in scores], k) == pytest.approx(
        -t_ndcg(levels, scores, k), abs=1e-12
    )


@given(inboxes(), st.integers(1, 14))
def test_no_order_is_beyond_the_ideal(inbox: tuple[list[float], list[float]], k: int) -> None:
    levels, scores = inbox
    assert abs(t_ndcg(levels, scores, k)) <= ideal_t_ndcg(levels, k) + 1e-12


@given(inboxes(), st.integers(1, 14), st.randoms(use_true_random=False))
def test_the_order_of_the_inbox_changes_nothing(
    inbox: tuple[list[float], list[float]], k: int, order: Any
) -> None:
    levels, scores = inbox
    places = list(range(len(levels)))
    order.shuffle(places)
    moved = t_ndcg([levels[i] for i in places], [scores[i] for i in places], k)
    assert moved == pytest.approx(t_ndcg(levels, scores, k), abs=1e-12)


def test_a_random_order_is_worth_nothing_on_average() -> None:
    levels = [1, 2, 2, 4, 6, 6]
    assert t_ndcg(levels, [0.0] * 6, 3) == pytest.approx(0.0, abs=1e-12)
    draws = np.random.default_rng(0).random((40_000, 6))
    values = t_ndcg_rows(6.0 - np.array([levels]), draws, (3,))[:, 0]
    assert abs(values.mean()) < 4 * values.std() / math.sqrt(len(values))


def test_rows_and_several_k_are_what_one_by_one_gives() -> None:
    generator = np.random.default_rng(3)
    levels, scores = generator.integers(1, 7, (50, 9)), generator.integers(0, 6, (50, 9)).astype(float)
    found = t_ndcg_rows(6.0 - levels, scores, (1, 4, 20))
    one_by_one = [
        [t_ndcg(*row, k) for k in (1, 4, 20)] for row in zip(levels.tolist(), scores.tolist(), strict=True)
    ]
    assert found == pytest.approx(np.array(one_by_one), abs=1e-12)


def test_shuffles_come_near_to_what_they_estimate() -> None:
    levels, predicted = [1, 1, 2, 3, 4, 5, 6, 6], [1, 2, 2, 2, 2, 4, 4, 4]
    scores = -np.array(predicted, dtype=float)
    mean, deviation = shuffled_t_ndcg(levels, scores, 5, shuffles=20_000)
    exact = np.std(of_all_orders(levels, scores.tolist(), 5))
    assert mean == pytest.approx(expected_t_ndcg(levels, predicted, 5), abs=5 * exact / math.sqrt(20_000))
    assert deviation == pytest.approx(exact, rel=0.03)


def test_shuffles_are_seeded_and_without_ties_all_alike() -> None:
    tied = ([1, 3, 5, 6], [0.0, 0.0, 1.0, 1.0], 2)
    assert shuffled_t_ndcg(*tied) == shuffled_t_ndcg(*tied)
    assert shuffled_t_ndcg(*tied) != shuffled_t_ndcg(*tied, seed=1)
    levels, scores = shuffled(9, 4)
    mean, deviation = shuffled_t_ndcg(levels, scores, 4)
    assert mean == pytest.approx(t_ndcg(levels, scores, 4), abs=1e-12)
    assert deviation == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(
    ("levels", "scores", "k", "why"),
    [
        ([1, 2], [1.0], 1, "fit"),
        ([], [], 1, "neither a list nor rows"),
        ([1, math.nan], [1.0, 2.0], 1, "not finite"),
        ([1, 2], [1.0, math.inf], 1, "not finite"),
        ([1, 2], [1.0, 2.0], 0, "at least one place"),
    ],
)
def test_what_is_no_inbox(levels: Any, scores: Any, k: int, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        t_ndcg(levels, scores, k)


@needs("ir_measures")
@pytest.mark.parametrize("seed", range(8))
def test_ir_measures_has_the_same_without_ties(seed: int) -> None:
    import ir_measures

    levels, scores = shuffled(30, seed)
    judged = [ir_measures.Qrel("q", str(i), int(6 - level)) for i, level in enumerate(levels)]
    for k in (10, 30):
        measure = ir_measures.nDCG @ k
        ahead, behind = (
            ir_measures.calc_aggregate(
                [measure],
                judged,
                [ir_measures.ScoredDoc("q", str(i), sign * s) for i, s in enumerate(scores)],
            )[measure]
            for sign in (1, -1)
        )
        assert t_ndcg(levels, scores, k) == pytest.approx(ahead - behind, abs=1e-9)


@needs("ranx")
@pytest.mark.slow
def test_ranx_has_the_same_without_ties() -> None:
    for seed in range(8):
        levels, scores = shuffled(30, seed, half=seed % 2 == 0)
        for k in (10, 30, 99):
            assert ranx_t_ndcg(levels, scores, k) == pytest.approx(t_ndcg(levels, scores, k), abs=1e-9)
    # Ties stand in the order of the inbox.
    assert ranx_t_ndcg([1, 6], [0.0, 0.0], 1) == 1.0
    assert ranx_t_ndcg([6, 1], [0.0, 0.0], 1) == -1.0
    assert ranx_t_ndcg([6, 6], [0.0, 1.0], 1) == 0.0
    with pytest.raises(ConfigError, match="whole or halves"):
        ranx_t_ndcg([1.25, 6], [0.0, 1.0], 1)


def test_without_ranx_the_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ranx", None)
    with pytest.raises(ConfigError, match="pip install ranx"):
        ranx_t_ndcg([1, 6], [0.0, 1.0], 1)
