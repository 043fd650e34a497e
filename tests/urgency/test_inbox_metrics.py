"""The numbers of an inbox from levels and a response, and the metrics when messages are drawn again."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pmbench import Metric, RankingMetric, Unscored
from pmbench.stats.schemes import Rows, intervals
from pmbench_tasks.urgency import ideal_t_ndcg, t_ndcg, win_rate
from pmbench_tasks.urgency.comparisons import completed_scores, placed_scores
from pmbench_tasks.urgency.inbox_metrics import KS, METRICS, inbox_arrays, inbox_stats

_ROOT = Path(__file__).resolve().parents[2]
_CASES = Path(os.environ.get("PMBENCH_SHARED", _ROOT.parent / "shared")) / "conformance/urgency.json"

conformance = pytest.mark.skipif(
    not _CASES.exists(), reason="the conformance data are not beside the repository"
)

BY_NAME: dict[str, Metric] = {metric.name: metric for metric in METRICS}
RANKINGS = [metric for metric in METRICS if isinstance(metric, RankingMetric)]


def asked(n: int = 8, seed: int = 0, *, missing: int = 0) -> tuple[list[int], dict[str, Any]]:
    """Levels, and what `pairwise` returns of an inbox whose comparator is right more often than not."""
    generator = np.random.default_rng(seed)
    levels = generator.permutation(np.arange(n) * 6 // n + 1)
    gap = levels[:, None] - levels[None, :] + generator.normal(0, 2, (n, n))
    matrix: list[list[float | None]] = np.round(1 / (1 + np.exp(-gap)), 4).tolist()
    cells = [(i, j) for i in range(n) for j in range(n) if i != j]
    for i in range(n):
        matrix[i][i] = None
    for at in generator.permutation(len(cells))[:missing]:
        matrix[cells[at][0]][cells[at][1]] = None
    data = {"comparisons": matrix, "asked": n * (n - 1), "missing": missing, "scale": "probability"}
    return levels.tolist(), data


@conformance
def test_every_conformance_inbox() -> None:
    cases = json.loads(_CASES.read_text())["inboxes"]
    assert cases
    for case in cases:
        scale = "reward" if case["mode"] == "reward" else "probability"
        data = {"comparisons": case["second_more_urgent"], "scale": scale}
        stats, expected = inbox_stats(case["levels"], data, ks=(3, 10, 30)), case["expected"]
        for k in (3, 10, 30):
            assert stats[f"t_ndcg_{k}"] == pytest.approx(expected[f"expected_tndcg@{k}"], abs=1e-9)
            assert stats[f"ideal_{k}"] == pytest.approx(expected[f"ideal_tndcg@{k}"], abs=1e-9)
        accuracy = expected["pair_accuracy"] if expected["pairs"] else None
        assert stats.get("comparator_accuracy") == (accuracy and pytest.approx(accuracy, abs=1e-9))
        assert ("position_consistency" in stats) == (scale == "probability")


def test_every_metric_has_its_statistic_and_the_first_is_primary() -> None:
    levels, data = asked(12, missing=2)
    stats = inbox_stats(levels, data | {"levels": levels})
    assert METRICS[0].name == "t_ndcg_10"
    for metric in METRICS:
        assert metric.computable(stats), metric.name
        value = metric({name: np.array([number]) for name, number in stats.items()})
        assert value == pytest.approx(stats[metric.name]), metric.name
        assert metric.shown(value)
        assert metric.formula
    assert len({metric.name for metric in METRICS}) == len(METRICS)
    assert [metric.name for metric in METRICS if metric.group is None] == [
        "t_ndcg_10",
        "t_ndcg_30",
        "share_10",
        "share_30",
        "tau_b",
        "order_accuracy",
    ]


@pytest.mark.parametrize("orders", ["both", "one"])
@pytest.mark.parametrize("metric", RANKINGS, ids=lambda metric: metric.name)
def test_drawing_every_message_once_gives_the_statistic(metric: RankingMetric, orders: Any) -> None:
    levels, data = asked(12, seed=3)
    if orders == "one":
        data["comparisons"] = [
            [p if i < j else None for j, p in enumerate(row)] for i, row in enumerate(data["comparisons"])
        ]
    stats = inbox_stats(levels, data, orders=orders, per_hour=30)
    arrays = json.loads(json.dumps(inbox_arrays(levels, data, orders=orders, per_hour=30)))
    places = np.random.default_rng(0).permutation(12)
    found = metric.resample(arrays, np.stack([np.arange(12), places]))
    if metric.name not in stats:
        assert metric.name == "level_accuracy" or (metric.name, orders) == ("position_consistency", "one")
        assert np.isnan(found).all()
        return
    assert found == pytest.approx(stats[metric.name], abs=1e-9)


@pytest.mark.parametrize("metric", RANKINGS, ids=lambda metric: metric.name)
def test_drawings_are_inboxes_of_copies(metric: RankingMetric) -> None:
    """What a drawing is worth is what an inbox with those copies is, its levels' most urgent being that of all."""
    levels, data = asked(6, seed=5)
    arrays = inbox_arrays(levels, data)
    draws = np.random.default_rng(1).integers(0, 6, (60, 7))
    found = metric.resample(arrays, draws)
    assert found.shape == (60,)
    compared = metric.name in {"comparator_accuracy", "position_consistency"}
    for drawn, value in zip(draws.tolist(), found, strict=True):
        matrix = [[None if i == j else data["comparisons"][i][j] for j in drawn] for i in drawn]
        if metric.name == "wait_minutes" and min(levels[i] for i in drawn) > min(levels):
            assert math.isnan(value)
            continue
        copies = inbox_stats([levels[i] for i in drawn], {"comparisons": matrix, "scale": "probability"})
        if compared and metric.name not in copies:
            assert math.isnan(value)
            continue
        assert value == pytest.approx(copies.get(metric.name, math.nan), abs=2e-9, nan_ok=True)


@pytest.mark.parametrize("metric", RANKINGS, ids=lambda metric: metric.name)
def test_without_comparisons_copies_keep_their_scores(metric: RankingMetric) -> None:
    levels, scores = [1, 2, 2, 4, 6], [3.0, 3.0, 2.0, 2.5, 0.5]
    arrays = inbox_arrays(levels, {"scores": scores}, strata=levels)
    draws = np.array([[0, 0, 1, 4, 4], [0, 1, 2, 3, 4]])
    found = metric.resample(arrays, draws)
    assert metric.strata(arrays) == (1, 2, 2, 4, 6)
    if metric.name in {"comparator_accuracy", "position_consistency", "level_accuracy"}:
        assert np.isnan(found).all()
        return
    for drawn, value in zip(draws.tolist(), found, strict=True):
        of_copies = inbox_stats([levels[i] for i in drawn], {"scores": [scores[i] for i in drawn]})
        assert value == pytest.approx(of_copies[metric.name], abs=1e-12)


def test_no_strata_where_the_inbox_was_not_designed() -> None:
    levels, data = asked()
    assert RANKINGS[0].strata(inbox_arrays(levels, data)) == ()


def test_predicted_levels_are_an_order_with_ties() -> None:
    levels, predicted = [1, 2, 3, 4, 5, 6], [1, 1, 3, 3, 3, 6]
    stats = inbox_stats(levels, {"levels": predicted, "asked": 6, "missing": 0})
    assert stats["t_ndcg_10"] == pytest.approx(t_ndcg(levels, [-level for level in predicted], 10))
    assert stats["shuffled_sd_10"] > 0
    assert stats["shuffled_mean_10"] == pytest.approx(stats["t_ndcg_10"], abs=0.05)
    assert stats["level_accuracy"] == pytest.approx(3 / 6)
    assert stats["calls"] == 6
    assert stats["missing"] == 0
    assert "t_ndcg_10_worst" not in stats
    assert "comparator_accuracy" not in stats


def test_a_perfect_order_has_all_of_the_ideal() -> None:
    levels = [level for level in range(1, 7) for _ in range(5)]
    stats = inbox_stats(levels, {"scores": [-float(i) for i in range(30)]})
    assert [stats["share_10"], stats["share_30"]] == pytest.approx([1.0, 1.0])
    assert stats["t_ndcg_30"] == pytest.approx(ideal_t_ndcg(levels, 30))
    assert stats["order_accuracy"] == 1.0
    assert stats["urgent_in_bottom_third"] == 0.0
    assert stats["worst_rank_level_1"] == 5.0
    assert stats["wait_minutes"] == pytest.approx(6.0)


def test_no_order_at_all_is_worth_nothing() -> None:
    stats = inbox_stats([1, 2, 3, 4, 5, 6], {"scores": [0.0] * 6})
    assert stats["t_ndcg_10"] == pytest.approx(0.0, abs=1e-12)
    assert stats["tau_b"] == 0.0
    assert stats["order_accuracy"] == 0.5


def test_what_has_no_value_is_left_out() -> None:
    stats = inbox_stats([3, 3], {"scores": [1.0, 2.0]})
    assert {"tau_b", "order_accuracy", "worst_rank_level_1"}.isdisjoint(stats)
    assert all(math.isfinite(value) for value in stats.values())
    assert "share_10" not in inbox_stats([6, 6], {"scores": [1.0, 2.0]})


def test_comparators_are_counted() -> None:
    # 0 is more urgent than 1 and said so in both orders; 1 and 2 are equal; of 0 and 2 one order is wrong.
    matrix = [[None, 0.2, 0.6], [0.9, None, 0.5], [0.8, 0.5, None]]
    stats = inbox_stats([1, 2, 3], {"comparisons": matrix, "asked": 6, "missing": 0})
    assert stats["comparator_accuracy"] == pytest.approx((1 + 0.5 + 1) / 3)
    assert stats["position_consistency"] == pytest.approx(1 / 3)
    assert stats["ties"] == 1


@settings(deadline=None, max_examples=50)
@given(st.integers(3, 9), st.integers(0, 2**32 - 1), st.integers(1, 12))
def test_missing_comparisons_are_counted_and_their_cases_told(n: int, seed: int, missing: int) -> None:
    levels, data = asked(n, seed, missing=min(missing, n * (n - 1)))
    matrix = data["comparisons"]
    pairs = sum(matrix[i][j] is None or matrix[j][i] is None for i in range(n) for j in range(i))
    stats = inbox_stats(levels, data)
    assert stats["missing"] == pairs
    assert stats["failed_calls"] == data["missing"]
    cases = []
    for sign in (-1, 1):
        filled = [row[:] for row in matrix]
        for i in range(n):
            for j in range(i):
                if matrix[i][j] is None or matrix[j][i] is None:
                    favoured = 0.5 * sign * np.sign(levels[i] - levels[j])
                    filled[i][j], filled[j][i] = 0.5 + favoured, 0.5 - favoured
        cases.append(t_ndcg(levels, win_rate(filled), 10))
    assert [stats["t_ndcg_10_worst"], stats["t_ndcg_10_best"]] == pytest.approx(cases, abs=1e-12)


def test_missing_reward_scores_go_as_far_as_the_others_did() -> None:
    answers = np.array([[np.nan, 1.0, np.nan], [4.0, np.nan, 2.0], [np.nan, 2.0, np.nan]])
    levels = np.array([1.0, 2.0, 3.0])
    assert completed_scores(levels, answers, "right", "reward").tolist() == [4.0 + 4.0, 0.5, 0.5]
    assert completed_scores(levels, answers, "wrong", "reward").tolist() == [4.0, 0.5, 4.5]
    # The same scores a tenth as large go a tenth as far, though all of them could be probabilities.
    small = completed_scores(levels, answers / 10, "right", "reward")
    assert small.tolist() == pytest.approx([1.3 + 1.3, 0.5, 0.5])
    told = {"comparisons": [[None if p != p else p / 10 for p in row] for row in answers], "scale": "reward"}
    assert inbox_stats([1, 2, 3], told)["t_ndcg_10_best"] == t_ndcg([1, 2, 3], small, 10)


@pytest.mark.parametrize("metric", RANKINGS, ids=lambda metric: metric.name)
@pytest.mark.parametrize("designed", [True, False])
def test_ends_are_the_best_and_the_worst_that_an_inbox_can_have(metric: Any, designed: bool) -> None:
    """By trying: the right order, its reverse, and many others, of inboxes made alike."""
    levels = [1, 1, 1, 2, 2, 2, 4, 4, 4, 5, 5, 5]
    generator = np.random.default_rng(2)
    found = []
    for drawn in range(60):
        own = levels if designed else [1, *generator.integers(1, 7, 11).tolist()]
        scores = [-level for level in own] if drawn == 0 else own if drawn == 1 else generator.normal(size=12)
        data = {"scores": list(scores), "levels": own}
        stats = inbox_stats(own, data)
        if metric.name in stats:
            least, most = metric.ends(inbox_arrays(own, data, strata=own if designed else ()))
            assert least - 1e-9 <= stats[metric.name] <= most + 1e-9
            found += [stats[metric.name] - least, most - stats[metric.name]]
    if designed and metric.name not in {"comparator_accuracy", "position_consistency", "level_accuracy"}:
        assert min(found[::2]) == pytest.approx(0, abs=1e-9) == min(found[1::2])


@pytest.mark.parametrize("design", ["levels", "none"])
@pytest.mark.parametrize("quality", [0.0, 0.3, 2.0, -2.0])
def test_intervals_stay_within_what_is_possible(quality: float, design: str) -> None:
    levels = [level for level in range(1, 7) for _ in range(5)]
    most = {
        "share_10": 1, "share_30": 1, "t_ndcg_10": 0.9245, "t_ndcg_30": 0.3942, "worst_rank_level_1": 30,
        "urgent_in_bottom_third": 10, "level_1_in_bottom_third": 5, "level_2_in_bottom_third": 5,
        "wait_minutes": 81, "tau_b": 1, "order_accuracy": 1,
    }  # fmt: skip
    if design == "none":  # then other inboxes may have more of a level
        most |= {"t_ndcg_10": 1, "t_ndcg_30": 1, "wait_minutes": 87}
        most |= {"level_1_in_bottom_third": 10, "level_2_in_bottom_third": 10}
    for seed in range(3):
        noise = np.random.default_rng(seed).normal(size=30)
        data = {"scores": np.round(noise - quality * np.array(levels), 6).tolist()}
        stats = inbox_stats(levels, data)
        arrays = inbox_arrays(levels, data, strata=levels if design == "levels" else ())
        for name, end in most.items():
            units = [f"m{n}" for n in range(30)]
            rows = Rows(np.array([[stats[name], 1.0]]), [True], ["a"], ["a"], [units], [[arrays]])
            (found,) = intervals([(BY_NAME[name], rows)], resamples=400)
            least = -end if name.startswith(("share", "t_ndcg", "tau")) else 0
            assert least - 1e-4 <= found.low <= stats[name] + 1e-9 <= found.high + 2e-9 <= end + 1e-3, name


def test_a_message_without_a_score_stands_in_the_middle() -> None:
    levels, data = [1, 2, 4, 5, 6], {"scores": [9.0, 8.0, 2.0, 1.0, None], "asked": 5, "missing": 1}
    stats = inbox_stats(levels, data)
    assert stats["missing"] == stats["failed_calls"] == 1
    assert stats["t_ndcg_10"] == t_ndcg(levels, [4.0, 3.0, 1.0, 0.0, 2.0], 10)
    assert stats["t_ndcg_10_best"] == pytest.approx(ideal_t_ndcg(levels, 10))
    assert stats["t_ndcg_10_worst"] == t_ndcg(levels, [4.0, 3.0, 1.0, 0.0, 5.0], 10)
    assert None not in inbox_arrays(levels, data)["scores"]


def test_messages_without_scores_leave_the_others_in_order() -> None:
    levels, scores = np.array([3.0, 1.0, 2.0, 6.0]), np.array([5.0, math.nan, 5.0, 7.0])
    assert placed_scores(levels, scores).tolist() == [0.5, 1.0, 0.5, 2.0]
    assert placed_scores(levels, scores, "right").tolist() == [0.5, 2.5, 0.5, 2.0]
    assert placed_scores(levels, scores, "wrong").tolist() == [0.5, -0.5, 0.5, 2.0]


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        ({}, "unparsed"),
        ({"scores": [1.0]}, "unparsed"),
        ({"scores": ["high", "low"]}, "unparsed"),
        ({"comparisons": [[None, 1.0]]}, "unparsed"),
        ({"comparisons": [[None, 1.0], [0.0]]}, "unparsed"),
        ({"levels": [1, 2, 3]}, "unparsed"),
        ({"scores": [1.0, math.inf]}, "not-a-number"),
    ],
)
def test_what_is_no_order_is_not_scored(data: dict[str, Any], kind: str) -> None:
    with pytest.raises(Unscored) as caught:
        inbox_stats([1, 2], data)
    assert caught.value.kind == kind


def test_k_of_the_metrics_are_the_papers() -> None:
    assert KS == (10, 30)
    assert {"t_ndcg_10", "t_ndcg_30"} <= set(BY_NAME)
