"""Max-T by the step-down of Romano and Wolf: a loop by hand, and what a table relies on."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import combinations

import numpy as np
import pytest
from stats_examples import COUNTS_F1, MEAN, f1_columns, mean_columns

from pmbench.core.metric import Mean
from pmbench.stats.bootstrap import cluster_draws
from pmbench.stats.corrections import holm
from pmbench.stats.max_t import max_t
from pmbench.stats.randomisation import paired_tests

PAIRS = list(combinations(range(4), 2))


def systems(seed: int, n: int = 40) -> list[np.ndarray]:
    generator = np.random.default_rng(seed)
    shared = generator.normal(size=n)
    return [mean_columns(shared + generator.normal(0.25 * system, 1, n)) for system in range(4)]


def step_down_by_hand(tables: list[np.ndarray], resamples: int, seed: int) -> dict[tuple[int, int], float]:
    """The algorithm as it is written: from the largest statistic down, the greatest ratio among what is left."""
    n = len(tables[0])

    def statistic(values: np.ndarray) -> tuple[float, float]:
        return values.mean(), values.std(ddof=1) / np.sqrt(len(values))

    differences = {pair: tables[pair[0]][:, 0] - tables[pair[1]][:, 0] for pair in PAIRS}
    observed = {pair: statistic(d) for pair, d in differences.items()}
    ratio = {pair: abs(mean / se) for pair, (mean, se) in observed.items()}
    order = sorted(PAIRS, key=lambda pair: -ratio[pair])
    drawn = []
    for weights in cluster_draws(n, resamples, seed, resamples):
        for row in weights.astype(int):
            one = {}
            for pair, d in differences.items():
                mean, se = statistic(np.repeat(d, row))
                one[pair] = abs(mean - observed[pair][0]) / se
            drawn.append(one)
    found, least = {}, 0.0
    for number, pair in enumerate(order):
        left = order[number:]
        hits = sum(max(one[other] for other in left) >= ratio[pair] for one in drawn)
        least = max(least, (1 + hits) / (1 + resamples))
        found[pair] = least
    return found


def test_the_algorithm_by_hand() -> None:
    tables = systems(0)
    expected = step_down_by_hand(tables, 400, 7)
    # Labels that sort as the rows do, so that the loop and the product draw the same rows.
    found = max_t(MEAN, tables, PAIRS, [f"{row:03}" for row in range(40)], resamples=400, seed=7)
    assert found == pytest.approx([expected[pair] for pair in PAIRS])
    assert len(set(found)) > 3


def test_order_of_systems_pairs_rows_and_blocks_changes_nothing() -> None:
    generator = np.random.default_rng(1)
    tables = [f1_columns(generator.integers(0, 9, (50, 3))) for _ in range(4)]
    clusters = generator.integers(0, 30, 50).tolist()
    found = dict(zip(PAIRS, max_t(COUNTS_F1, tables, PAIRS, clusters, resamples=500), strict=True))
    order = [2, 0, 3, 1]
    other_pairs = [(order.index(b), order.index(a)) for a, b in reversed(PAIRS)]
    again = max_t(COUNTS_F1, [tables[system] for system in order], other_pairs, clusters, resamples=500)
    assert again == [found[pair] for pair in reversed(PAIRS)]
    assert max_t(COUNTS_F1, tables, PAIRS, clusters, resamples=500, block=7) == list(found.values())


def test_threads_change_nothing() -> None:
    code = (
        "import numpy as np; from pmbench.core.metric import F1; from pmbench.stats.max_t import max_t;"
        "g = np.random.default_rng(0); m = F1('a', 'b', 'c');"
        "s = [g.integers(0, 9, (300, 3)).astype(float) for _ in range(5)];"
        "p = [(a, b) for a in range(5) for b in range(a)];"
        "print(max_t(m, s, p, range(300), resamples=2000))"
    )
    told = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads},
        ).stdout
        for threads in ("1", "2")
    }
    assert len(told) == 1


def test_it_finds_more_than_holm_where_differences_go_together() -> None:
    """One good system against nine that are near copies of each other: the nine comparisons are almost one."""
    generator = np.random.default_rng(2)
    base = generator.normal(size=200)
    tables = [mean_columns(base + generator.normal(0.26, 1, 200))]
    tables += [mean_columns(base + 0.05 * generator.normal(size=200)) for _ in range(9)]
    pairs = [(0, other) for other in range(1, 10)]
    ours = max_t(MEAN, tables, pairs, range(200), resamples=2000)
    single = [test.p for test in paired_tests(MEAN, tables, pairs, range(200), resamples=10)]
    assert max(ours) < 2 * max(single)
    assert min(holm(single)) > 3 * min(ours)


def test_equal_systems_undefined_ones_and_constant_differences() -> None:
    y = np.random.default_rng(3).normal(size=30)
    tables = [mean_columns(y), mean_columns(y), mean_columns(y + 1), mean_columns(np.full(30, np.nan))]
    found = max_t(MEAN, tables, [(0, 1), (0, 2), (0, 3)], range(30), resamples=200)
    assert found[0] == 1
    assert found[1] == 1 / 201
    assert np.isnan(found[2])
    # Three clusters that all differ the same way cannot show more than 2 / 2³.
    few = max_t(MEAN, [mean_columns(y[:3]), mean_columns(y[:3] + 1)], [(0, 1)], range(3), resamples=200)
    assert few == [0.25]


def test_one_cluster_no_pairs_and_bad_rows() -> None:
    one, other = mean_columns([1.0, 2.0]), mean_columns([2.0, 3.0])
    assert max_t(MEAN, [one, other], [(0, 1)], ["x", "x"], resamples=20) == [1]
    assert max_t(MEAN, [one, other], [], ["x", "y"]) == []
    with pytest.raises(ValueError, match="system 1: NaN in row 1"):
        max_t(MEAN, [one, np.array([[1, 1], [np.nan, 1]])], [(0, 1)], ["x", "y"])
    with pytest.raises(ValueError, match="different columns"):
        max_t(MEAN, [one, np.ones((2, 3))], [(0, 1)], ["x", "y"])
    metric = Mean("y")
    metric.scheme = "dyadic"
    with pytest.raises(ValueError, match="dyadic"):
        max_t(metric, [one, other], [(0, 1)], ["x", "y"])
