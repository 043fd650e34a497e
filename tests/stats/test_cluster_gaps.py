"""Gaps between subgroups: a drawing without one of them has no gap."""

import math

import numpy as np
import pytest

from pmbench.core.metric import F1, Metric
from pmbench.stats.schemes import Rows, gaps

COUNTS = np.array(
    [[4, 2, 7], [5, 1, 5], [3, 3, 6], [6, 2, 4], [2, 1, 9], [5, 3, 5], [4, 4, 4], [7, 0, 3]], dtype=float
)
"""True positives, false positives and false negatives of eight cases; the first two are the subgroup."""

PART = [True, True, *[False] * 6]


def rows(counts: np.ndarray) -> Rows:
    ids = [str(n) for n in range(len(counts))]
    return Rows(counts, [True] * len(counts), ids, ids)


def f1(sums: np.ndarray) -> float:
    return 2 * sums[0] / (2 * sums[0] + sums[1] + sums[2])


def gap(metric: Metric, part: list[bool]):
    return gaps(metric, rows(COUNTS), [(part, [not one for one in part])], resamples=20_000)[0]


def test_the_interval_is_that_of_drawings_that_hold_both_parts() -> None:
    """Drawn here once more by numpy, case by case; a drawing without the subgroup is left out."""
    lot = np.random.default_rng(1)
    drawn, without = [], 0
    for _ in range(20_000):
        chosen = lot.integers(0, 8, 8)
        inside, outside = chosen[chosen < 2], chosen[chosen >= 2]
        if len(inside) == 0 or len(outside) == 0:
            without += 1
            continue
        drawn.append(f1(COUNTS[inside].sum(axis=0)) - f1(COUNTS[outside].sum(axis=0)))
    low, high = np.quantile(drawn, [0.025, 0.975])
    found = gap(F1("tp", "fp", "fn"), PART)
    assert found.value == pytest.approx(f1(COUNTS[:2].sum(axis=0)) - f1(COUNTS[2:].sum(axis=0)))
    assert (found.low, found.high) == (pytest.approx(low, abs=0.01), pytest.approx(high, abs=0.01))
    assert found.undefined == pytest.approx(without, rel=0.1)
    assert found.low > -0.3  # with 0 for the absent subgroup it was below -0.5, which no two cases have


def test_a_part_of_one_cluster_has_a_gap_and_no_interval() -> None:
    found = gap(F1("tp", "fp", "fn"), [True, *[False] * 7])
    assert found.value == pytest.approx(f1(COUNTS[0]) - f1(COUNTS[1:].sum(axis=0)))
    assert math.isnan(found.low) and math.isnan(found.high)
    assert found.note == "a part of one cluster has no interval"
