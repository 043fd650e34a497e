"""Where each system may stand."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from stats_examples import MEAN, mean_columns

from pmbench.core.metric import Mean
from pmbench.stats.bootstrap import resampled_values
from pmbench.stats.rank_intervals import Rank, bootstrap_ranks, ranks_from_differences


def systems() -> list[np.ndarray]:
    generator = np.random.default_rng(0)
    shared = generator.normal(size=60)
    return [mean_columns(shared + generator.normal(0.2 * system, 1, 60)) for system in range(5)]


def test_ranks_of_all_resamples_by_scipy() -> None:
    tables = systems()
    labels = [f"{row:03}" for row in range(60)]
    drawn = resampled_values([(MEAN, table) for table in tables], resamples=2000, seed=4)
    ranks = scipy.stats.rankdata(-drawn, axis=0, method="min")
    found = bootstrap_ranks(MEAN, tables, labels, resamples=2000, seed=4)
    values = [float(MEAN.value(table.sum(axis=0))) for table in tables]
    assert [one.rank for one in found] == scipy.stats.rankdata(-np.array(values), method="min").tolist()
    for system, one in enumerate(found):
        bounds = np.quantile(ranks[system], [0.025, 0.975], method="inverted_cdf")
        assert (one.low, one.high) == tuple(bounds)
        assert one.best == pytest.approx((ranks[system] == 1).mean())
    assert sum(one.best for one in found) == pytest.approx(1)


def test_less_is_better_turns_the_ranks_round() -> None:
    tables = systems()
    more, less = (
        bootstrap_ranks(Mean("y", higher_is_better=better), tables, range(60), resamples=300)
        for better in (True, False)
    )
    assert [one.rank for one in less] == [6 - one.rank for one in more]
    assert [(one.low, one.high) for one in less] == [(6 - one.high, 6 - one.low) for one in more]


def test_equal_systems_share_ranks_and_chances() -> None:
    table = systems()[0]
    found = bootstrap_ranks(MEAN, [table, table, table - [9, 0]], range(60), resamples=100)
    assert found[0] == found[1] == Rank(1, 1, 2, 0.5)
    assert found[2] == Rank(3, 3, 3, 0)


def test_order_of_systems_changes_nothing() -> None:
    tables = systems()
    found = bootstrap_ranks(MEAN, tables, range(60), resamples=500)
    order = [3, 1, 4, 0, 2]
    again = bootstrap_ranks(MEAN, [tables[system] for system in order], range(60), resamples=500, block=3)
    assert again == [found[system] for system in order]


def test_one_system_and_one_cluster() -> None:
    table = mean_columns([1.0, 2.0])
    assert bootstrap_ranks(MEAN, [table], ["x", "y"], resamples=10) == [Rank(1, 1, 1, 1)]
    alone = bootstrap_ranks(MEAN, [table, table], ["x", "x"], resamples=10)[0]
    assert (alone.rank, np.isnan(alone.best)) == (1, True)


def test_differences_leave_these_places_open() -> None:
    """Best and second cannot be told apart; the third is worse than the best only: it may be second or third."""
    found = ranks_from_differences([0.9, 0.8, 0.7], [(0, 2)])
    assert [(one.rank, one.low, one.high) for one in found] == [(1, 1, 2), (2, 1, 3), (3, 2, 3)]
    assert ranks_from_differences([0.9, 0.8, 0.7], [(2, 0), (0, 2)]) == pytest.approx(found, nan_ok=True)
    turned = ranks_from_differences([0.9, 0.8, 0.7], [(0, 2)], higher_is_better=False)
    assert [(one.rank, one.low, one.high) for one in turned] == [(3, 2, 3), (2, 1, 3), (1, 1, 2)]


def test_a_system_without_a_value_may_stand_anywhere() -> None:
    found = ranks_from_differences([0.9, float("nan")], [])
    assert (found[1].low, found[1].high) == (1, 2)
    assert np.isnan(found[1].rank)


@pytest.mark.parametrize("pair", [(0, 0), (0, 3), (1, 2)])
def test_pairs_that_cannot_differ_are_refused(pair: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="no pair"):
        ranks_from_differences([0.9, 0.8, 0.8], [pair])
