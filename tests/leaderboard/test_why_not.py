"""Where systems look different and are not told apart, the page says why, with the true bound."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from made_runs import Made, Toy, write

from pmbench.core.metric import Mean
from pmbench.leaderboard.board import leaderboard
from pmbench.leaderboard.table import Table
from pmbench.leaderboard.tested import Correction, PairTested, Resampling
from pmbench.leaderboard.why_not import least_adjusted, of_two
from pmbench.stats.randomisation import paired_test

MEAN = Mean("y")
FAST = Resampling(resamples=300, permutations=300)


def table(runs: Path, *made: Made, statistics: Resampling = FAST) -> Table:
    for one in made:
        write(runs, one)
    [found] = leaderboard(Toy, runs, statistics=statistics).tables
    return found


def clear(number: int, clusters: int) -> list[Made]:
    """Systems as far apart as they can be."""
    return [
        Made(model=f"m{n}", skill=skill, seed=n, clusters=clusters)
        for n, skill in enumerate(np.linspace(2, -1, number).tolist())
    ]


def best_case(differing: int, more: int = 0) -> float:
    """The p of the clearest possible difference in so many clusters, others being alike."""
    a = np.concatenate([np.full(differing, 1.0), np.zeros(more)])
    columns = [MEAN.columns({"y": values}) for values in (a, np.zeros(len(a)))]
    return paired_test(MEAN, columns[0], columns[1], range(len(a)), permutations=500).p


@pytest.mark.parametrize("differing", [0, 1, 2, 5, 9, 14])
def test_the_least_p_is_that_of_the_clearest_difference(differing: int) -> None:
    a = np.arange(1.0, differing + 1)
    b = [MEAN.columns({"y": np.concatenate([x, np.zeros(3)])}) for x in (a, 0 * a)]
    test = paired_test(MEAN, b[0], b[1], range(differing + 3), permutations=500)
    assert test.least_p == best_case(differing, 3) == pytest.approx(min(1, 2 / 2**differing))


def test_of_random_patterns_it_is_one_in_all_of_them() -> None:
    columns = [MEAN.columns({"y": np.full(60, value)}) for value in (1.0, 0.0)]
    test = paired_test(MEAN, columns[0], columns[1], range(60), permutations=500)
    assert test.p == test.least_p == 1 / 501


@pytest.mark.parametrize("correction", ["holm", "benjamini-hochberg", "max-t"])
def test_no_adjusted_p_of_any_systems_is_below_the_least_one(correction: Correction) -> None:
    generator = np.random.default_rng(0)
    for _ in range(50):
        least = generator.choice([0.5, 0.125, 0.03, 0.004, 0.0001], 6)
        made = [
            PairTested(a, b, 0.1, 0.5, 0.5, 9, bound)
            for (a, b), bound in zip(itertools.combinations(range(1, 5), 2), least.tolist(), strict=True)
        ]
        bounds = list(least_adjusted(made, correction).values())
        p = np.minimum(1, least * generator.choice([1, 1, 3, 10], 6))
        if correction == "max-t":
            assert bounds == least.tolist()
            continue
        from statsmodels.stats.multitest import multipletests

        theirs = multipletests(p, method="holm" if correction == "holm" else "fdr_bh")[1]
        assert (theirs >= np.array(bounds) - 1e-12).all()


def test_five_systems_in_six_clusters_are_said_to_be_out_of_reach(tmp_path: Path) -> None:
    found = table(tmp_path, *clear(5, 6))
    assert (
        "This table cannot show a difference, whatever the systems: no two systems differ in more than 6 clusters, so"
        " that no p can be below 0.031, and after adjustment for 10 pairs none below 0.31; it takes more data or"
        " fewer systems." in found.words
    )
    assert min(pair.p_adjusted for pair in found.pairs if pair.p_adjusted is not None) >= 10 * 2 / 2**6


def test_an_interval_without_0_beside_a_large_p_is_explained(tmp_path: Path) -> None:
    found = table(tmp_path, *clear(5, 6))
    [text] = [one for one in found.words if one.startswith("The interval")]
    outside = [row for row in found.rows[1:] if row.against and row.against.high and row.against.high < 0]
    assert outside
    assert text.startswith(f"The interval of the difference from {found.rows[0].model} excludes 0 for ")
    assert all(row.model in text for row in outside)
    assert text.endswith("an interval is of one pair alone, while p is adjusted for all 10 pairs of systems.")


def test_too_few_random_patterns_are_named_as_the_reason(tmp_path: Path) -> None:
    """15 clusters that differ are too many to try all patterns."""
    found = table(tmp_path, *clear(6, 24), statistics=Resampling(resamples=100, permutations=100))
    assert any(
        "of 100 random patterns no p can be below 0.0099, and after adjustment for 15 pairs none below 0.15; give"
        " more with --resamples, or leave systems out." in one
        for one in found.words
    )


def test_where_differences_can_be_shown_nothing_of_the_kind_is_said(tmp_path: Path) -> None:
    found = table(tmp_path, *clear(3, 24), statistics=Resampling(resamples=2000, permutations=2000))
    assert "cannot show" not in " ".join(found.words)
    assert "excludes 0" not in " ".join(found.words)
    assert "is better than" in found.words[0]


def test_two_runs_say_the_same() -> None:
    few = [MEAN.columns({"y": np.array(y)}) for y in ([1.0, 2, 3, 4], [0.0, 1, 2.1, 3])]
    said = list(of_two(paired_test(MEAN, few[0], few[1], range(4)), "instance", 0.05))
    bound = "A and B differ in 4 instances only: no p can then be below 0.12, whatever the systems."
    assert said == [
        f"{bound} More data are needed to show a difference.",
        "The interval excludes 0 and p is above 0.05: they are made in different ways, and it is p that decides.",
    ]
    many = [MEAN.columns({"y": np.arange(40) + shift}) for shift in (1.0, 0.0)]
    assert not list(of_two(paired_test(MEAN, many[0], many[1], range(40)), "instance", 0.05))
