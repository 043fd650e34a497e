"""Win rates and ranks over tasks, Friedman and Nemenyi, and the split of variance."""

from __future__ import annotations

import math
import warnings
from itertools import combinations

import numpy as np
import pytest
import scipy.stats
from stats_examples import MEAN, mean_columns

from pmbench.core.metric import Mean
from pmbench.stats.bootstrap import resampled_values
from pmbench.stats.clusters import ordered_sums
from pmbench.stats.friedman import friedman
from pmbench.stats.several_tasks import Standing, TaskColumns, standings, wins_and_ranks
from pmbench.stats.variance_parts import variance_parts

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    posthocs = pytest.importorskip("scikit_posthocs", reason="scikit-posthocs is not installed")


def columns(means: list[float | None], n: int, seed: int = 0) -> list[np.ndarray | None]:
    generator = np.random.default_rng(seed)
    return [None if m is None else mean_columns(generator.normal(m, 1, n)) for m in means]


def exact(values: list[float | None]) -> list[np.ndarray | None]:
    return [None if value is None else mean_columns([value] * 4) for value in values]


def test_helms_win_rates_by_hand() -> None:
    """Three systems, three tasks. x: 3 > 2 > 1. y: a tie for first, then c. z: less is better, b was not run.

    a: 1, 0.75, 0 → 7/12; b: 0.5, 0.75 → 5/8; c: 0, 0, 1 → 1/3. Ranks: a 1, 1.5, 2; b 2, 1.5; c 3, 3, 1.
    """
    less = Mean("y", higher_is_better=False)
    tasks = [
        TaskColumns("x", MEAN, exact([3, 2, 1]), range(4)),
        TaskColumns("y", MEAN, exact([5, 5, 1]), range(4)),
        TaskColumns("z", less, exact([9, None, 1]), range(4)),
    ]
    found = standings(tasks, resamples=10)
    assert [one.win_rate for one in found] == pytest.approx([7 / 12, 5 / 8, 1 / 3])
    assert [one.rank for one in found] == pytest.approx([1.5, 1.75, 7 / 3])
    assert [one.tasks for one in found] == [3, 2, 3]
    assert [(one.win_low, one.win_high) for one in found] == [(one.win_rate, one.win_rate) for one in found]


def test_intervals_are_the_percentiles_of_win_rates_in_resamples() -> None:
    """One task of independent instances: by the resamples of the bootstrap, ranks by scipy."""
    tables = columns([0.0, 0.2, 0.4, 0.5], 50)
    found = standings([TaskColumns("x", MEAN, tables, range(50))], resamples=1000, seed=3)
    from pmbench.stats.several_tasks import _seed

    labels = list(range(50))
    parts = [(MEAN, ordered_sums(table, labels)) for table in tables if table is not None]
    drawn = resampled_values(parts, resamples=1000, seed=_seed(3, "x"))
    ranks = scipy.stats.rankdata(-drawn, axis=0)
    for system, one in enumerate(found):
        assert (one.rank_low, one.rank_high) == tuple(np.quantile(ranks[system], [0.025, 0.975]))
        wins = (4 - ranks[system]) / 3
        assert (one.win_low, one.win_high) == pytest.approx(tuple(np.quantile(wins, [0.025, 0.975])))


def test_order_of_tasks_and_systems_changes_nothing() -> None:
    tasks = [
        TaskColumns(name, MEAN, columns([0, 0.1, 0.2], 30, seed), range(30))
        for seed, name in enumerate(["x", "y", "z"])
    ]
    found = standings(tasks, resamples=300)
    turned = [TaskColumns(t.name, t.metric, list(reversed(t.systems)), t.clusters) for t in reversed(tasks)]
    assert standings(turned, resamples=300) == list(reversed(found))


def test_more_instances_narrow_the_intervals() -> None:
    few, many = (
        standings([TaskColumns("x", MEAN, columns([0, 0.3, 0.6], n), range(n))], resamples=500)
        for n in (20, 800)
    )
    assert sum(one.rank_high - one.rank_low for one in many) < sum(
        one.rank_high - one.rank_low for one in few
    )


def test_a_system_alone_in_its_tasks_has_no_win_rate() -> None:
    alone = standings([TaskColumns("x", MEAN, exact([1, None]), range(4))], resamples=10)
    assert all(math.isnan(one.win_rate) and one.tasks == 0 for one in alone)
    assert standings([]) == []
    assert isinstance(alone[0], Standing)


def test_tasks_that_cannot_stand_together_are_refused() -> None:
    one = TaskColumns("x", MEAN, exact([1, 2]), range(4))
    with pytest.raises(ValueError, match="same name"):
        standings([one, one])
    with pytest.raises(ValueError, match="2 and 3 systems"):
        standings([one, TaskColumns("y", MEAN, exact([1, 2, 3]), range(4))])
    with pytest.raises(ValueError, match="x: neither more nor less"):
        standings([TaskColumns("x", Mean("y", higher_is_better=None), exact([1, 2]), range(4))])


def test_resamples_without_a_value_are_left_out() -> None:
    values = np.array([[1.0, 2.0], [np.nan, 2.0]])
    found = wins_and_ranks(values)
    assert found[:, 0].tolist() == [[0, 1], [2, 1]]
    assert np.isnan(found[:, 1]).all()


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("shape", [(4, 3), (12, 5), (30, 8)])
def test_scipy_and_scikit_posthocs_find_the_same(shape: tuple[int, int], ties: bool) -> None:
    generator = np.random.default_rng(shape[0])
    values = generator.normal(size=shape) + np.arange(shape[1]) / 3
    values = np.round(values) if ties else values
    found = friedman(values)
    theirs = scipy.stats.friedmanchisquare(*values.T)
    assert (found.statistic, found.p) == pytest.approx((theirs.statistic, theirs.pvalue), rel=1e-10)
    matrix = posthocs.posthoc_nemenyi_friedman(values).to_numpy()
    assert found.pair_p == pytest.approx([matrix[pair] for pair in found.pairs], rel=1e-6, abs=1e-9)


def test_demsars_worked_example() -> None:
    """Demšar 2006, section 3.2.2: 4 systems on 14 data sets, chi-squared 9.28; critical difference 1.25 at 0.05."""
    ranks = np.array([3.143, 2.000, 2.893, 1.964])
    statistic = 12 * 14 / (4 * 5) * ((ranks**2).sum() - 4 * 25 / 4)
    assert statistic == pytest.approx(9.28, abs=0.02)
    found = friedman(np.random.default_rng(0).normal(size=(14, 4)))
    assert found.critical_difference == pytest.approx(1.25, abs=0.01)
    assert found.note == ""


def test_friedman_refuses_what_it_cannot_rank() -> None:
    with pytest.raises(ValueError, match="two tasks and three systems"):
        friedman(np.ones((5, 2)))
    with pytest.raises(ValueError, match="NaN in row 1"):
        friedman([[1, 2, 3], [1, np.nan, 3]])
    assert "rough" in friedman(np.random.default_rng(1).normal(size=(3, 3))).note
    assert friedman([[1, 2, 3], [1, 2, 3]], higher_is_better=False).mean_ranks == [1, 2, 3]


def test_everything_equal_has_no_statistic() -> None:
    assert math.isnan(friedman(np.ones((4, 3))).statistic)


def test_variance_of_two_instances_and_two_samples_by_hand() -> None:
    """Scores 1, 3 and 7, 9. Means 2 and 8, of all 5.

    Between: 2·(9 + 9)/1 = 36. Within: (1 + 1 + 1 + 1)/2 = 2. So sample 2, instance (36 − 2)/2 = 17; the mean of
    four scores has the variance 17/2 + 2/4 = 9.
    """
    found = variance_parts([[1.0, 3.0], [7.0, 9.0]])
    assert (found.sample, found.instance, found.mean, found.se) == (2, 17, 5, 3)
    assert math.isnan(found.judge)
    assert found.shares() == {"instance": 17 / 19, "sample": 2 / 19}


def test_variance_with_judges_by_hand() -> None:
    """One sample, two judges: scores (1, 3), (5, 5), (6, 10). Means 2, 5, 8 of instances, 4, 6 of judges, 5 of all.

    Instances: 2·(9 + 0 + 9)/2 = 18. Judges: 3·(1 + 1)/1 = 6. Left over, x − instance − judge + all:
    0, 0; 1, −1; −1, 1, so 4/2 = 2. Judge (6 − 2)/3, instance and what samples add (18 − 2)/2.
    """
    found = variance_parts(np.array([[1.0, 3.0], [5.0, 5.0], [6.0, 10.0]])[:, None, :])
    assert (found.instance_judge, found.judge, found.instance) == pytest.approx((2, 4 / 3, 8))
    assert math.isnan(found.sample)
    assert found.se == pytest.approx(math.sqrt(8 / 3 + 4 / 3 / 2 + 2 / 6))


def test_parts_come_back_from_scores_made_of_them() -> None:
    generator = np.random.default_rng(0)
    n, samples, judges = 1500, 4, 40
    sizes = {"instance": 1.0, "sample": 0.5, "judge": 0.7, "instance_judge": 0.4, "rest": 0.3}
    shapes = {
        "instance": (n, 1, 1),
        "sample": (n, samples, 1),
        "judge": (1, 1, judges),
        "instance_judge": (n, 1, judges),
        "rest": (n, samples, judges),
    }
    total = sum(generator.normal(0, size, shapes[name]) for name, size in sizes.items())
    found = variance_parts(np.asarray(total))
    for name, size in sizes.items():
        assert getattr(found, name) == pytest.approx(size**2, rel=0.35 if name == "judge" else 0.1)


def test_incomplete_instances_and_estimates_below_zero_are_told() -> None:
    found = variance_parts([[1.0, 3.0], [7.0, math.nan], [3.0, 1.0]])
    assert (found.instances, found.left_out, found.instance, found.below_zero) == (2, 1, 0, ("instance",))
    with pytest.raises(ValueError, match="1 instances"):
        variance_parts([[1.0, 2.0]])
    with pytest.raises(ValueError, match="shape"):
        variance_parts([1.0, 2.0])


def test_pairs_of_friedman_are_all_pairs() -> None:
    assert friedman(np.random.default_rng(2).normal(size=(6, 4))).pairs == list(combinations(range(4), 2))
