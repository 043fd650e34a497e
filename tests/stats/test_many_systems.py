"""All systems of a table at once, for each of the three schemes."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from stats_examples import MEAN, mean_columns

from pmbench.core.metric import Mean
from pmbench.core.unit_metrics import PairMean, RankingMetric
from pmbench.stats.corrections import benjamini_hochberg, holm
from pmbench.stats.many_systems import compare_all
from pmbench.stats.max_t import max_t
from pmbench.stats.rank_intervals import bootstrap_ranks
from pmbench.stats.schemes import Rows, comparisons

PAIRS = list(combinations(range(4), 2))


def clustered(n: int = 60, step: float = 0.5) -> list[Rows]:
    generator = np.random.default_rng(0)
    shared = generator.normal(size=n)
    names = [f"{row:03}" for row in range(n)]
    values = [shared + generator.normal(step * system, 1, n) for system in range(4)]
    return [Rows(mean_columns(one), [True] * n, names, names) for one in values]


class FirstItem(RankingMetric):
    """The mean of what stands at the items drawn."""

    def strata(self, arrays: Any) -> list[int]:
        return list(arrays["levels"])

    def resample(self, arrays: Any, draws: Any) -> Any:
        return np.asarray(arrays["at"])[draws].mean(axis=1)


def lists(step: float) -> list[Rows]:
    generator = np.random.default_rng(1)
    units, levels, shared = (
        [f"m{i:02}" for i in range(30)],
        [i // 5 for i in range(30)],
        generator.normal(size=30),
    )
    found = []
    for system in range(4):
        at = (shared + generator.normal(step * system, 0.3, 30)).tolist()
        columns = np.array([[float(np.mean(at)), 1.0]])
        found.append(Rows(columns, [True], ["inbox"], ["inbox"], [units], [[{"levels": levels, "at": at}]]))
    return found


def paired(step: float) -> list[Rows]:
    generator = np.random.default_rng(2)
    ends = list(combinations([f"m{i:02}" for i in range(16)], 2))
    names = [" ".join(one) for one in ends]
    found = []
    for system in range(4):
        right = (generator.uniform(size=len(ends)) < 0.5 + step * system).astype(float)
        found.append(Rows(mean_columns(right), [True] * len(ends), names, names, ends))
    return found


def test_holm_over_the_tests_that_are_made_alone() -> None:
    systems = clustered()
    found = compare_all(MEAN, systems, permutations=500, resamples=300)
    tests = comparisons(MEAN, systems, PAIRS, permutations=500, resamples=300)
    assert (found.pairs, found.tests) == (PAIRS, tests)
    assert found.adjusted == holm([test.p for test in tests])
    other = compare_all(MEAN, systems, correction="benjamini-hochberg", permutations=500, resamples=300)
    assert other.adjusted == benjamini_hochberg([test.p for test in tests])
    assert (found.correction, other.correction) == ("holm", "benjamini-hochberg")
    best = bootstrap_ranks(MEAN, [one.columns for one in systems], systems[0].clusters, resamples=300)
    assert [one.best for one in found.ranks] == [one.best for one in best]


def test_max_t_where_there_are_enough_clusters() -> None:
    systems = clustered()
    found = compare_all(MEAN, systems, correction="max-t", permutations=100, resamples=300)
    tables = [one.columns for one in systems]
    assert found.adjusted == max_t(MEAN, tables, PAIRS, systems[0].clusters, resamples=300)
    few = compare_all(MEAN, clustered(24), correction="max-t", permutations=100, resamples=300)
    assert (few.correction, "24 clusters" in few.note) == ("holm", True)


@pytest.mark.parametrize("make", ["clustered", "lists", "paired"])
def test_letters_and_places_agree_with_the_differences(make: str) -> None:
    metric, systems = {
        "clustered": (MEAN, clustered()),
        "lists": (FirstItem("y"), lists(0.12)),
        "paired": (PairMean("y"), paired(0.12)),
    }[make]
    found = compare_all(metric, systems, permutations=500, resamples=500)
    differ = [pair for pair, p in zip(found.pairs, found.adjusted, strict=True) if p <= 0.05]
    assert 0 < len(differ) < 6
    for a, b in PAIRS:
        assert bool(set(found.letters[a]) & set(found.letters[b])) == ((a, b) not in differ)
    for system, rank in enumerate(found.ranks):
        apart = [pair for pair in differ if system in pair]
        assert rank.high - rank.low == 3 - len(apart)
        assert rank.low <= rank.rank <= rank.high
    assert "a" in found.letters[[rank.rank for rank in found.ranks].index(1)]
    assert sum(rank.best for rank in found.ranks) == pytest.approx(1)
    assert max(found.ranks, key=lambda rank: rank.best).rank == 1


@pytest.mark.parametrize("make", ["clustered", "lists", "paired"])
def test_order_of_systems_changes_nothing(make: str) -> None:
    metric, systems = {
        "clustered": (MEAN, clustered()),
        "lists": (FirstItem("y"), lists(0.12)),
        "paired": (PairMean("y"), paired(0.12)),
    }[make]
    order = [2, 0, 3, 1]
    one = compare_all(metric, systems, permutations=200, resamples=400)
    two = compare_all(metric, [systems[system] for system in order], permutations=200, resamples=400)
    assert [set(letters) for letters in two.letters] == [set(one.letters[system]) for system in order]
    for system, rank in zip(order, two.ranks, strict=True):
        expected = one.ranks[system]
        assert (rank.rank, rank.low, rank.high) == (expected.rank, expected.low, expected.high)
        # The draws of pairs are random in the systems' axes: the same chances, up to the error of 400 draws.
        assert rank.best == pytest.approx(expected.best, abs=0.1 if make == "paired" else 1e-12)


def test_dyadic_chance_of_being_best_is_that_of_two_normal_systems() -> None:
    """Two systems: the chance is the one-sided p of their difference, but for the error of the draws."""
    systems = paired(0.03)[::3]
    metric = PairMean("y")
    found = compare_all(metric, systems, resamples=40_000)
    better = max(rank.best for rank in found.ranks)
    assert better == pytest.approx(1 - found.tests[0].p / 2, abs=0.01)


def test_max_t_is_for_clusters_only() -> None:
    found = compare_all(PairMean("y"), paired(0.1), correction="max-t", resamples=200)
    assert (found.correction, "dyadic" in found.note) == ("holm", True)


def test_equal_systems_one_system_and_none() -> None:
    one = clustered()[0]
    same = compare_all(MEAN, [one, one, one], permutations=100, resamples=100)
    assert same.letters == ["a", "a", "a"]
    assert [(rank.rank, rank.low, rank.high) for rank in same.ranks] == [(1, 1, 3)] * 3
    assert [rank.best for rank in same.ranks] == pytest.approx([1 / 3] * 3)
    alone = compare_all(MEAN, [one], resamples=100)
    assert (alone.letters, alone.pairs, alone.ranks[0].rank) == (["a"], [], 1)
    assert compare_all(MEAN, []).letters == []


def test_less_is_better_gives_the_first_letter_to_the_least() -> None:
    systems = clustered(step=1.0)
    found = compare_all(Mean("y", higher_is_better=False), systems, permutations=500, resamples=200)
    assert found.letters[0] == "a"
    assert [rank.rank for rank in found.ranks] == [1, 2, 3, 4]
