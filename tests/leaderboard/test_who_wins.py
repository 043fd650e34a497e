"""Where which of two runs is better, against counts by hand, scipy and the formula of the effect."""

import math

import numpy as np
import pytest
from scipy.stats import binomtest

from pmbench.core.metric import F1, Mean
from pmbench.leaderboard import who_wins
from pmbench.leaderboard.tested import Resampling
from pmbench.running.columns import ScoreColumns
from pmbench.running.records import ScoreRecord
from pmbench.stats.corrections import holm

FAST = Resampling(resamples=400, permutations=400)
FIRST = [1.0, 1.0, 0.0, 1.0, 0.0, 1.0, 1.0, 1.0]
SECOND = [0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]


def scored(values: list[float], name: str = "y", cluster: str = "") -> ScoreColumns:
    records = [
        ScoreRecord(id=f"i{place}", cluster=cluster, response="r", status="ok", stats={name: value})
        for place, value in enumerate(values)
    ]
    return ScoreColumns(records)


def test_wins_are_counted_in_the_direction_that_is_better() -> None:
    more, less = Mean("y"), Mean("y", higher_is_better=False)
    first, second = np.array(FIRST), np.array(SECOND)
    # By hand: A has 1 and B 0 on five, the other way round on one, two are alike.
    assert who_wins.wins(more, first, second) == who_wins.Wins(5, 2, 1)
    assert who_wins.wins(less, first, second) == who_wins.Wins(1, 2, 5)
    assert who_wins.wins(more, np.full(3, math.nan), np.full(3, math.nan)) is None


def test_mcnemar_is_the_binomial_test_of_the_discordant_instances() -> None:
    metric, names = Mean("y"), [f"c{place}" for place in range(8)]
    found = who_wins.discordant(metric, np.array(FIRST), np.array(SECOND), names)
    assert found is not None and (found.first, found.second) == (5, 1)
    assert found.p == pytest.approx(binomtest(5, 6, 0.5).pvalue, abs=1e-12)
    turned = who_wins.discordant(Mean("y", higher_is_better=False), np.array(FIRST), np.array(SECOND), names)
    assert turned is not None and (turned.first, turned.second) == (1, 5)


def test_mcnemar_is_not_made_where_it_does_not_hold() -> None:
    first, second = np.array(FIRST), np.array(SECOND)
    assert who_wins.discordant(Mean("y"), first, second, ["a"] * 8) is None, "instances of one cluster"
    halves = np.where(first > 0, 0.5, first)
    assert who_wins.discordant(Mean("y"), halves, second, list("abcdefgh")) is None, "neither right nor wrong"


def test_the_effect_is_cohens_d_of_the_differences_with_hedges_correction() -> None:
    apart = np.array(FIRST) - np.array(SECOND)
    ids = [f"i{place}" for place in range(8)]
    found = who_wins.effect(Mean("y"), [scored(FIRST), scored(SECOND)], ids, 0.95)
    assert found is not None and found.low is not None and found.high is not None
    assert found.value == pytest.approx((1 - 3 / (4 * 7 - 1)) * apart.mean() / apart.std(ddof=1), abs=1e-9)
    assert found.low < found.value < found.high
    assert who_wins.effect(Mean("y"), [scored([1.0] * 8), scored([0.5] * 8)], ids, 0.95) is None, (
        "no variation"
    )


def test_subgroups_are_compared_by_themselves_and_adjusted_within_their_slice() -> None:
    ids = [f"i{place}" for place in range(8)]
    labels = {"kind": {name: "odd" if place % 2 else "even" for place, name in enumerate(ids) if place < 7}}
    found = who_wins.by_label(Mean("y"), [scored(FIRST), scored(SECOND)], labels, ids, FAST)["kind"]
    assert [(part.label, part.instances) for part in found] == [("even", 4), ("odd", 3)], "one has no label"
    # By hand: even are 0, 2, 4, 6; odd are 1, 3, 5.
    assert (found[0].first, found[0].second) == (0.5, 0.25)
    assert (found[1].first, found[1].second) == (1.0, pytest.approx(1 / 3))
    # Exact: of 2^3 patterns of the three even instances that differ (+1, -1, +1) all but none reach |sum| 1.
    assert found[0].test.p == pytest.approx(1.0) and found[1].test.p == pytest.approx(0.5)
    assert [part.p_adjusted for part in found] == pytest.approx(holm([part.test.p for part in found]))


def test_instances_without_a_value_of_their_own_have_no_winner() -> None:
    metric = F1("tp", "fp", "fn")
    alone = ScoreColumns(
        [ScoreRecord(id="a", response="r", status="ok", stats={"tp": 0.0, "fp": 0.0, "fn": 0.0})]
    )
    values = who_wins.each(metric, alone, ["a"])
    assert who_wins.wins(metric, values, values) in (None, who_wins.Wins(0, 1, 0))
