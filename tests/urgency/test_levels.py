"""Levels from people's labels of pairs."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pmbench import DataError
from pmbench_tasks.urgency import levels_from_pairs

Rows = list[tuple[str, str, str]]


def all_pairs(order: list[str]) -> Rows:
    """Labels of somebody who sees that order, the most urgent first."""
    return [(first, second, first) for first, second in combinations(order, 2)]


def test_an_inbox_of_thirty_has_five_of_each_level() -> None:
    ids = [f"m{i:02}" for i in range(30)]
    found = levels_from_pairs(all_pairs(ids))
    assert [found.levels[one] for one in ids] == [level for level in range(1, 7) for _ in range(5)]
    assert list(found.levels) == ids
    assert found.win_rates["m00"] == 1.0
    assert (found.pairs, found.repeated, found.missing, found.tied, found.by_id, found.cut) == (
        435,
        0,
        0,
        0,
        0,
        0,
    )


@given(st.integers(6, 20), st.randoms(use_true_random=False))
def test_levels_are_sixths_of_the_sorted_inbox(n: int, random: Any) -> None:
    order = [str(i) for i in range(n)]
    random.shuffle(order)
    rows = [(b, a, w) if random.random() < 0.5 else (a, b, w) for a, b, w in all_pairs(order)]
    random.shuffle(rows)
    found = levels_from_pairs(rows)
    assert [found.levels[one] for one in order] == [1 + place // Fraction(n, 6) for place in range(n)]


def test_equal_win_rates_are_decided_among_themselves_first() -> None:
    # a and b lose nothing to others but meet: b wins. c beat b, so both have four wins of five.
    order = ["a", "b", "c", "d", "e", "f"]
    labels = {frozenset(pair): winner for *pair, winner in all_pairs(order)}
    labels[frozenset("ab")] = "b"
    labels[frozenset("bc")] = "c"
    rows = [(*sorted(pair), winner) for pair, winner in labels.items()]
    found = levels_from_pairs(rows)  # type: ignore[arg-type]
    # a: 4, b: 4 (lost to c), c: 4 (lost to a): a circle of three, which only their ids can order.
    assert [found.win_rates[one] for one in "abc"] == [0.8, 0.8, 0.8]
    assert list(found.levels.values()) == [1, 2, 3, 4, 5, 6]
    assert (found.tied, found.by_duel, found.by_id, found.cut) == (3, 0, 3, 3)


def test_a_duel_decides_between_two() -> None:
    # With pairs missing, x and y have the same rate; of their pair y won.
    rows = [
        ("x", "y", "y"),
        ("x", "c", "x"),
        ("y", "d", "d"),
        ("c", "d", "d"),
        ("c", "e", "c"),
        ("d", "e", "d"),
        ("e", "f", "e"),
        ("d", "f", "d"),
    ]
    found = levels_from_pairs(rows)
    assert found.win_rates["x"] == found.win_rates["y"] == 0.5
    assert found.levels["y"] < found.levels["x"]
    assert found.missing == 15 - 8


def test_the_order_of_rows_changes_nothing() -> None:
    rows = [(a, b, max(a, b) if (ord(a) + ord(b)) % 3 else min(a, b)) for a, b in combinations("abcdefgh", 2)]
    assert levels_from_pairs(rows) == levels_from_pairs([(b, a, w) for a, b, w in reversed(rows)])


def test_a_label_said_twice_counts_once() -> None:
    rows = all_pairs(list("abcdef"))
    found = levels_from_pairs([*rows, ("b", "a", "a"), rows[4]])
    assert (found.pairs, found.repeated) == (15, 2)


@pytest.mark.parametrize(
    ("row", "why"),
    [
        (("a", "z", "a"), "no message of the inbox has the id 'z'"),
        (("a", "a", "a"), "compared with itself"),
        (("a", "b", "c"), "neither 'a' nor 'b'"),
        (("a", "b", ""), "neither 'a' nor 'b'"),
        (("b", "a", "b"), "labelled twice, and differently"),
    ],
)
def test_a_wrong_row_is_named(row: tuple[str, str, str], why: str) -> None:
    rows = [*all_pairs(list("abcdef")), row]
    with pytest.raises(DataError, match=why) as caught:
        levels_from_pairs(rows, ids="abcdef")
    assert caught.value.where == "row 16"
    with pytest.raises(DataError) as caught:
        levels_from_pairs(rows, ids="abcdef", where=[f"pairs.csv, row {i}" for i in range(2, 18)])
    assert caught.value.where == "pairs.csv, row 17"


def test_a_message_nobody_compared_has_no_level() -> None:
    with pytest.raises(DataError, match="'g' is in no labelled pair"):
        levels_from_pairs(all_pairs(list("abcdef")), ids="abcdefg")


def test_five_messages_are_too_few() -> None:
    with pytest.raises(DataError, match="5 messages"):
        levels_from_pairs(all_pairs(list("abcde")))
    with pytest.raises(DataError, match="0 messages"):
        levels_from_pairs([])
