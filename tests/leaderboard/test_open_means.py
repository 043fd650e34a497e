"""Mean ranks and win rates that tests leave open, by hand."""

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from pmbench.leaderboard.open_means import Open, TaskTested, open_means
from pmbench.leaderboard.tested import PairTested

Pair = tuple[int, int, float, float]
"""Rows of the better and the worse system by value, second minus first, adjusted p."""


def task(names: str, *pairs: Pair, higher: bool = True) -> TaskTested:
    tested = [PairTested(first, second, gap, p / 3, p, 30) for first, second, gap, p in pairs]
    return TaskTested({name: row for row, name in enumerate(names, start=1)}, tested, higher)


def test_means_of_the_places_that_two_tasks_leave_open() -> None:
    # One task finds C worse than both; with two tasks p has to be 0.025: A against B (0.04) is open.
    one = task("ABC", (1, 2, -0.1, 0.04), (1, 3, -0.5, 0.001), (2, 3, -0.4, 0.002))
    # Less is better here, so that the second minus the first is above 0; only A and C are told apart.
    other = task("ABC", (1, 2, 0.1, 0.5), (1, 3, 0.5, 0.02), (2, 3, 0.4, 0.03), higher=False)
    found = open_means([one, other], 0.05)
    # Places: A 1–2 and 1–2, B 1–2 and 1–3, C 3 and 2–3.
    assert found["A"] == Open(win_low=0.5, win_high=1.0, rank_low=1.0, rank_high=2.0)
    assert found["B"] == Open(win_low=0.25, win_high=1.0, rank_low=1.0, rank_high=2.5)
    assert found["C"] == Open(win_low=0.0, win_high=0.25, rank_low=2.5, rank_high=3.0)


def test_a_pair_that_is_turned_on_common_instances_counts_as_it_was_tested() -> None:
    found = open_means([task("AB", (1, 2, 0.3, 0.001))], 0.05)
    assert (found["A"].rank_low, found["B"].rank_high) == (2.0, 1.0)


def test_pairs_with_systems_that_stand_elsewhere_do_not_count() -> None:
    only = TaskTested({"A": 1, "C": 3}, [PairTested(1, 2, -0.5, 0.001, 0.001, 30)], True)
    assert open_means([only], 0.05)["A"] == Open(0.0, 1.0, 1.0, 2.0), "nothing is known of A against C"


@given(st.lists(st.floats(0, 1), min_size=6, max_size=6), st.floats(0.001, 0.2))
def test_a_stricter_level_leaves_more_open(p: list[float], alpha: float) -> None:
    rows = combinations(range(1, 5), 2)
    pairs = [(a, b, float(a - b), value) for (a, b), value in zip(rows, p, strict=True)]
    strict, loose = (open_means([task("ABCD", *pairs)], level) for level in (alpha / 2, alpha))
    for name in "ABCD":
        assert (
            strict[name].rank_low <= loose[name].rank_low <= loose[name].rank_high <= strict[name].rank_high
        )
        # Rank and win rate are two ways to say one thing: rank = 1 + 3 · (1 − win rate).
        assert abs(strict[name].rank_low - (1 + 3 * (1 - strict[name].win_high))) < 1e-12
        assert abs(strict[name].rank_high - (1 + 3 * (1 - strict[name].win_low))) < 1e-12
