"""Whatever a metric is resampled by, intervals and comparisons of it are those of its own method."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from pmbench import Mean, PairMean, RankingMetric
from pmbench.stats.bootstrap import bootstrap_interval
from pmbench.stats.dyadic import dyadic_differences, dyadic_intervals
from pmbench.stats.randomisation import paired_test
from pmbench.stats.ranking_draws import ranking_draws, seeded_by_content
from pmbench.stats.rankings import Ranking, ranking_difference, ranking_interval
from pmbench.stats.schemes import Rows, comparisons, intervals

RANDOM = np.random.default_rng(3)
PAIRS = [(f"m{a}", f"m{b}") for a in range(12) for b in range(a)]
RIGHT = RANDOM.integers(0, 2, (2, len(PAIRS))).astype(float)


def pair_rows(values: np.ndarray, present: np.ndarray | None = None) -> Rows:
    there = np.ones(len(values), dtype=bool) if present is None else present
    columns = np.stack([np.where(there, values, 0.0), there.astype(float)], axis=1)
    ids = [f"{a}-{b}" for a, b in PAIRS]
    return Rows(columns, there.tolist(), ids, ids, PAIRS, [[{}]] * len(ids))


class First(RankingMetric):
    """The value of the item drawn first; in the demo of a designed list, within its stratum."""

    def strata(self, arrays: Mapping[str, Any]) -> Any:
        return arrays["strata"]

    def resample(self, arrays: Mapping[str, Any], draws: Any) -> Any:
        return np.asarray(arrays["values"])[draws].mean(axis=1)


def list_rows(seed: int, samples: int = 1) -> Rows:
    random = np.random.default_rng(seed)
    arrays = [
        [{"values": random.normal(size=12).tolist(), "strata": [1, 2, 3] * 4} for _ in range(samples)]
        for _ in range(2)
    ]
    means = [np.mean([sample["values"] for sample in one]) for one in arrays]
    units = [[f"{name}{n}" for n in range(12)] for name in "ab"]
    return Rows(np.array([[mean, 1.0] for mean in means]), [True] * 2, ["a", "b"], ["a", "b"], units, arrays)


def direct(rows: Rows) -> tuple[list[Any], list[float], list[Ranking]]:
    statistics = [
        lambda draws, one=one: np.mean([np.asarray(s["values"])[draws].mean(axis=1) for s in one], axis=0)
        for one in rows.arrays
    ]
    rankings = seeded_by_content(
        [
            Ranking(name, tuple(units), tuple(one[0]["strata"]))
            for name, units, one in zip(rows.ids, rows.units, rows.arrays, strict=True)
        ]
    )
    return statistics, rows.columns[:, 0].tolist(), rankings


def test_clusters_get_the_bootstrap_and_the_randomisation_test() -> None:
    metric = Mean("right")
    rows = [pair_rows(values) for values in RIGHT]
    (found,) = intervals([(metric, rows[0])], resamples=500, seed=2)
    assert found == bootstrap_interval(metric, rows[0].columns, rows[0].clusters, resamples=500, seed=2)
    (test,) = comparisons(metric, rows, [(0, 1)], permutations=200, resamples=500)
    assert test == paired_test(
        metric, rows[0].columns, rows[1].columns, rows[0].clusters, permutations=200, resamples=500
    )


def test_pairs_get_the_dyadic_variance() -> None:
    first, second = zip(*PAIRS, strict=True)
    rows = [pair_rows(values) for values in RIGHT]
    found = intervals([(PairMean("right"), rows[0]), (Mean("right"), rows[0])])
    wanted = dyadic_intervals(first, second, RIGHT)[0]
    assert (found[0].value, found[0].low, found[0].high) == pytest.approx(
        (wanted.value, wanted.low, wanted.high)
    )
    assert (found[0].clusters, found[0].resamples) == (12, 0) and found[1].clusters == len(PAIRS)
    (test,) = comparisons(PairMean("right"), rows, [(1, 0)])
    expected = dyadic_differences(first, second, RIGHT, [(1, 0)])[0]
    assert (test.difference, test.low, test.high, test.p) == pytest.approx(
        (expected.difference, expected.low, expected.high, expected.p)
    )
    assert test.differing == int((RIGHT[0] != RIGHT[1]).sum())


def test_pairs_are_measured_between_the_limits_of_the_metric() -> None:
    """A number from −1 to 1 gets the bounds of its share of the way, stretched back."""
    plain = intervals([(PairMean("right"), pair_rows(RIGHT[0]))])[0]
    wide = intervals([(PairMean("right", limits=(-1.0, 1.0)), pair_rows(2 * RIGHT[0] - 1))])[0]
    assert (wide.value, wide.low, wide.high) == pytest.approx(
        (2 * plain.value - 1, 2 * plain.low - 1, 2 * plain.high - 1)
    )


def test_pairs_without_the_metric_are_not_taken_as_wrong() -> None:
    there = np.arange(len(PAIRS)) % 3 > 0
    kept = [pair for pair, present in zip(PAIRS, there, strict=True) if present]
    first, second = zip(*kept, strict=True)
    (found,) = intervals([(PairMean("right"), pair_rows(RIGHT[0], there))])
    wanted = dyadic_intervals(first, second, RIGHT[:1, there])[0]
    assert (found.value, found.low, found.high) == pytest.approx((wanted.value, wanted.low, wanted.high))


@pytest.mark.parametrize("samples", [1, 3])
def test_lists_are_drawn_again_the_samples_of_one_together(samples: int) -> None:
    rows = [list_rows(seed, samples) for seed in (1, 2)]
    (found,) = intervals([(First("mean"), rows[0])], resamples=400, seed=5)
    statistics, values, rankings = direct(rows[0])
    wanted = ranking_interval(statistics, values, rankings, resamples=400, seed=5)
    assert (found.value, found.low, found.high) == pytest.approx((wanted.value, wanted.low, wanted.high))
    (test,) = comparisons(First("mean"), rows, [(0, 1)], resamples=400, seed=5)
    others, their_values, _ = direct(rows[1])
    expected = ranking_difference(statistics, others, values, their_values, rankings, resamples=400, seed=5)
    assert (test.difference, test.low, test.high, test.p) == pytest.approx(
        (expected.difference, expected.low, expected.high, expected.p)
    )


@pytest.mark.parametrize("strata", [[1, 2, 3] * 4, []])
def test_names_that_were_replaced_move_no_end_of_a_list(strata: list[int]) -> None:
    """Hashed records keep the order of the names and nothing else of them."""
    plain = [told(list_rows(seed), {"strata": strata}) for seed in (1, 2)]
    hashed = [
        replace(
            one,
            ids=[f"00-{hash(name)}" if name == "a" else f"01-{hash(name)}" for name in one.ids],
            units=[[f"{place:03}-x" for place in np.argsort(np.argsort(units))] for units in one.units],
        )
        for one in plain
    ]
    found = [intervals([(First("mean"), one)], resamples=400, seed=5)[0] for one in (plain[0], hashed[0])]
    assert found[0] == found[1] and found[0].low < found[0].high
    tests = [comparisons(First("mean"), two, [(0, 1)], resamples=400, seed=5)[0] for two in (plain, hashed)]
    assert tests[0] == tests[1] and not math.isnan(tests[0].p)


def test_lists_of_one_kind_are_drawn_apart() -> None:
    rankings = [Ranking(name, tuple("uvwxyz"), (1, 1, 1, 2, 2, 2)) for name in "ba"]
    one, other = seeded_by_content(rankings)
    assert one.draw != other.draw
    assert seeded_by_content(rankings[::-1]) == [other, one]
    assert (ranking_draws(one, 50, 0) != ranking_draws(other, 50, 0)).any()


def test_pairs_that_need_no_interval_go_without_and_their_tests_stay() -> None:
    metric = Mean("right")
    rows = [pair_rows(values) for values in (*RIGHT, 1 - RIGHT[0])]
    pairs = [(0, 1), (1, 2), (2, 0)]
    for few in (True, False):
        some = [replace(one, clusters=[name[-1:] for name in one.ids]) if few else one for one in rows]
        whole = comparisons(metric, some, pairs, permutations=200, resamples=300)
        part = comparisons(metric, some, pairs, permutations=200, resamples=300, bounded=[(2, 0)])
        assert part[2] == whole[2] and not math.isnan(part[2].low)
        for one, other in zip(part[:2], whole[:2], strict=True):
            assert (one.difference, one.p) == (other.difference, other.p)
            assert math.isnan(one.low) and math.isnan(one.high)


class Placed(First):
    """The same, telling how far it can go and what it is."""

    def ends(self, arrays: Mapping[str, Any]) -> tuple[float, float]:
        return arrays["ends"]

    def kind(self, arrays: Mapping[str, Any]) -> str:
        return str(arrays.get("kind", ""))


def told(rows: Rows, more: Mapping[str, Any]) -> Rows:
    return replace(rows, arrays=[[sample | more for sample in one] for one in rows.arrays])


def test_intervals_of_lists_stop_where_their_number_does() -> None:
    (free,) = intervals([(First("mean"), list_rows(1))], resamples=400)
    ends = (free.value - 0.01, free.value + 0.02)
    (found,) = intervals([(Placed("mean"), told(list_rows(1), {"ends": ends}))], resamples=400)
    assert free.low < ends[0] < ends[1] < free.high
    assert (found.low, found.high) == pytest.approx(ends)
    two = [told(list_rows(seed), {"ends": (0.0, 0.2)}) for seed in (1, 2)]
    (test,) = comparisons(Placed("mean"), two, [(0, 1)], resamples=400)
    (wide,) = comparisons(First("mean"), two, [(0, 1)], resamples=400)
    assert wide.low < -0.2 < 0.2 < wide.high
    assert (test.low, test.high) == (-0.2, 0.2)
    assert (test.difference, test.p) == (wide.difference, wide.p)


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (lambda rows: replace(rows, units=[["x", *units[1:]] for units in rows.units]), "other items"),
        (lambda rows: told(rows, {"strata": [1, 1, 2, 2, 3, 3] * 2}), "other strata"),
        (lambda rows: told(rows, {"strata": []}), "other strata"),
        (lambda rows: told(rows, {"kind": "ranx"}), "another kind of number"),
    ],
)
def test_lists_of_one_name_that_are_not_alike_are_not_compared(other: Any, words: str) -> None:
    rows = told(list_rows(1), {"ends": (-9.0, 9.0)})
    (test,) = comparisons(Placed("mean"), [rows, other(rows)], [(0, 1)], resamples=400)
    assert test.note == f"no comparison, for the list 'a' has {words} in the other run"
    assert math.isnan(test.p) and math.isnan(test.low)
    order = list(range(12))[::-1]
    turned = replace(
        rows,
        units=[[units[n] for n in order] for units in rows.units],
        arrays=[[{**s, "strata": [s["strata"][n] for n in order]} for s in one] for one in rows.arrays],
    )
    assert comparisons(Placed("mean"), [rows, turned], [(0, 1)], resamples=400)[0].note == ""


def test_what_cannot_be_resampled_has_a_value_and_says_why_there_is_no_more() -> None:
    rows = list_rows(1)
    nameless = Rows(rows.columns, rows.present, rows.ids, rows.clusters, [["a", "a"]] * 2, rows.arrays)
    for metric, given in ((First("mean"), nameless), (PairMean("mean", limits=(-9.0, 9.0)), rows)):
        (found,) = intervals([(metric, given)])
        assert found.value == pytest.approx(rows.columns[:, 0].mean()) and math.isnan(found.low)
        assert found.note.startswith("no interval, for a score does not name")
        (test,) = comparisons(metric, [given, given], [(0, 1)])
        assert test.difference == 0 and math.isnan(test.p) and test.note == found.note
