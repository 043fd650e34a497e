"""Joint draws of systems by every scheme, and what several tasks make of them."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import scipy.stats
from stats_examples import MEAN
from test_many_systems import FirstItem, clustered, lists, paired

from pmbench.core.metric import Metric
from pmbench.core.unit_metrics import PairMean
from pmbench.stats.joint_draws import chances_of_best, joint_values
from pmbench.stats.schemes import Rows
from pmbench.stats.several_tasks import TaskColumns, _seed, standings

SCHEMES: list[tuple[Metric, Callable[[float], list[Rows]]]] = [
    (MEAN, lambda step: clustered(step=step)),
    (FirstItem("first"), lists),
    (PairMean("right"), paired),
]


def together(metric: Metric, systems: list[Rows], seed: int = 0) -> np.ndarray:
    return np.concatenate(list(joint_values(metric, systems, resamples=500, seed=seed)))


@pytest.mark.parametrize(("metric", "made"), SCHEMES)
def test_the_chance_is_the_share_of_draws_that_a_system_leads(
    metric: Metric, made: Callable[[float], list[Rows]]
) -> None:
    systems = made(0.1)
    drawn = together(metric, systems)
    assert drawn.shape == (500, 4)
    chances, undefined = chances_of_best(metric, systems, resamples=500)
    assert undefined == 0 and sum(chances) == pytest.approx(1)
    assert chances == pytest.approx([float((drawn.argmax(axis=1) == s).mean()) for s in range(4)])
    # Around the values themselves, as the draws of an interval are.
    values = [float(metric.value(one.columns.sum(axis=0))) for one in systems]
    assert drawn.mean(axis=0) == pytest.approx(
        values, abs=4 * float(drawn.std(axis=0).max()) / math.sqrt(500) + 0.02
    )


def test_equal_systems_part_the_chance() -> None:
    systems = clustered()
    chances, _ = chances_of_best(MEAN, [systems[3], systems[3], systems[0]], resamples=300)
    assert chances[0] == pytest.approx(chances[1]) and chances[0] == pytest.approx(0.5, abs=0.01)
    assert all(map(math.isnan, chances_of_best(MEAN, clustered(n=1), resamples=300)[0]))


@pytest.mark.parametrize(("metric", "made"), SCHEMES)
def test_win_rates_and_ranks_of_any_scheme_are_those_of_the_draws(
    metric: Metric, made: Callable[[float], list[Rows]]
) -> None:
    systems = made(0.1)
    found = standings(
        [TaskColumns("x", metric, [None, *systems], systems[0].clusters)], resamples=500, seed=3
    )
    assert found[0].tasks == 0 and math.isnan(found[0].win_rate)
    values = [float(metric.value(one.columns.sum(axis=0))) for one in systems]
    assert [one.rank for one in found[1:]] == pytest.approx(
        scipy.stats.rankdata([-value for value in values])
    )
    drawn = together(metric, systems, _seed(3, "x"))
    ranks = scipy.stats.rankdata(-np.round(drawn, 10), axis=1)
    for place, one in enumerate(found[1:]):
        low, high = np.quantile(ranks[:, place], [0.025, 0.975])
        assert (one.rank_low, one.rank_high) == pytest.approx((low, high))
        assert (one.win_low, one.win_high) == pytest.approx((1 - (high - 1) / 3, 1 - (low - 1) / 3))


def test_a_task_that_cannot_be_drawn_leaves_no_interval() -> None:
    """Six pairs of four messages: too few for a variance, so the means have no bounds rather than narrow ones."""
    few = [
        Rows(np.array([[value, 1.0]] * 6), [True] * 6, list("abcdef"), list("abcdef"), units, [[{}]] * 6)
        for value, units in ((0.0, list(map(list, ["wx", "wy", "wz", "xy", "xz", "yz"]))),) * 2
    ]
    good = clustered()[:2]
    found = standings(
        [
            TaskColumns("few", PairMean("right"), few),
            TaskColumns("good", MEAN, [one.columns for one in good], good[0].clusters),
        ],
        resamples=300,
    )
    assert [one.tasks for one in found] == [2, 2]
    assert all(math.isnan(one.win_low) and one.undefined == 300 for one in found)
