"""The sentence under a table says what the adjusted tests say, and a reader needs no statistics for it."""

from __future__ import annotations

import itertools
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_runs import Made, Toy, write

from pmbench.core.metric import Mean, Metric
from pmbench.leaderboard.board import leaderboard
from pmbench.leaderboard.plain_words import _ranges, plain_words
from pmbench.leaderboard.table import Measure, Sum, SystemRow, Table, Took
from pmbench.leaderboard.tested import PairTested, Resampling
from pmbench.running.results import Counts

FAST = Resampling(resamples=300, permutations=300)
UP, DOWN = Mean("x", title="X"), Mean("x", title="X", higher_is_better=False)
NEITHER = Mean("x", title="X", higher_is_better=None)


def table(
    values: list[float | None], p: dict[tuple[int, int], float | None], *, n: int = 300, **more: object
) -> Table:
    """A table of systems A, B, …, the best first, with the adjusted p of each pair."""
    nothing = Sum(None, True, "–")
    rows = [
        SystemRow(
            number=number,
            model="ABCDEFGHIJ"[number - 1],
            strategy="s",
            settings="",
            run=str(number),
            scoring="",
            where="",
            status="complete",
            reason="",
            measures={"x": Measure(value, None, None, None, None, "", "")},
            against=None,
            counts=Counts(),
            failures="0",
            judges={},
            took=Took(nothing, nothing, None, None, "–", "–"),
        )
        for number, value in enumerate(values, start=1)
    ]
    pairs = []
    for a, b in itertools.combinations(range(1, len(values) + 1), 2):
        one, other = values[a - 1], values[b - 1]
        adjusted = p.get((a, b), 1.0)
        difference = None if one is None or other is None else other - one
        pairs.append(PairTested(a, b, difference, adjusted, adjusted, n))
    fields = {
        "differs": [],
        "version": 1,
        "options": {},
        "data": "d",
        "fingerprint": "f",
        "sensitivity": "public",
        "kind": "demo",
        "dataset": n,
        "instances": n,
        "clusters": n,
        "units": 0,
        "rows": rows,
        "notes": [],
        "pairs": pairs,
    }
    return Table(**{**fields, **more})  # type: ignore[arg-type]


def words(found: Table, metric: Metric = UP) -> str:
    return " ".join(plain_words(found, metric, alpha=0.05))


def test_two_alike_and_one_worse_than_both() -> None:
    found = table([0.9, 0.88, 0.5], {(1, 3): 0.002, (2, 3): 0.004})
    assert words(found) == "A and B cannot be told apart on 300 instances; C is worse than both, p ≤ 0.004."


def test_one_better_than_the_other() -> None:
    assert words(table([0.9, 0.5], {(1, 2): 0.004})) == "A is better than B on 300 instances, p = 0.004."
    assert words(table([0.9, 0.5], {(1, 2): 0.0001})) == "A is better than B on 300 instances, p < 0.001."
    assert (
        words(table([0.1, 0.5], {(1, 2): 0.004}), DOWN) == "A is better than B on 300 instances, p = 0.004."
    )
    assert words(table([0.9, 0.5], {(1, 2): 0.004}), NEITHER).startswith("A differs from B")


def test_two_that_cannot_be_told_apart() -> None:
    assert words(table([0.9, 0.5], {(1, 2): 0.051})) == "A and B cannot be told apart on 300 instances."
    assert words(table([0.9, 0.5], {(1, 2): 0.2}, n=1)) == "A and B cannot be told apart on 1 instance."


def test_one_worse_than_the_first_but_not_than_the_second() -> None:
    text = words(table([0.9, 0.8, 0.7], {(1, 3): 0.01}))
    assert text == (
        "A and B cannot be told apart on 300 instances; C is worse than A, p = 0.010, but cannot be told apart from"
        " B."
    )


def test_those_near_the_first_may_differ_from_each_other() -> None:
    text = words(table([0.9, 0.85, 0.8], {(2, 3): 0.01}))
    assert text == (
        "B and C cannot be told apart from A, the first, on 300 instances. Among these, B is better than C"
        " (p = 0.010)."
    )


def test_many_systems_are_counted_not_listed() -> None:
    values = [0.9 - number / 100 for number in range(8)]
    assert words(table(list(values), {})) == "None of the 8 systems can be told apart on 300 instances."
    all_worse = {(1, number): 0.01 for number in range(2, 9)}
    assert words(table(list(values), all_worse)) == (
        "A is better than all other systems on 300 instances, p ≤ 0.010."
    )
    some = {(a, b): 0.01 for a in (1, 2) for b in range(3, 9)}
    assert "; 6 systems (rows 3 to 8) are worse than both, p ≤ 0.010." in words(table(list(values), some))


def test_what_was_not_tested_is_not_called_alike() -> None:
    text = words(table([0.9, 0.5], {(1, 2): None}))
    assert text == "B is not tested against A: see the notes."
    assert "cannot be told apart" not in text


def test_one_system_none_with_a_value_and_no_system() -> None:
    assert words(table([0.9], {})) == "A is the only system here with a value: nothing to compare."
    assert words(table([None, None], {})) == "No system here has a value of X."
    assert words(table([], {})) == ""


def test_a_system_that_is_better_where_both_have_scored_is_not_called_worse() -> None:
    found = table([0.9, 0.5], {(1, 2): 0.01})
    turned = [msgspec.structs.replace(pair, difference=0.2) for pair in found.pairs]
    text = words(msgspec.structs.replace(found, pairs=turned))
    assert text == "On the instances that both have scored, B is better than A (p = 0.010)."


def test_systems_of_one_model_are_called_by_their_strategies(tmp_path: Path) -> None:
    for number, strategy in enumerate(("zero-shot", "thematic")):
        write(tmp_path, Made(strategy=strategy, skill=0.3 + number / 2))
    write(tmp_path, Made(model="none", strategy="length", skill=0.1))
    text = " ".join(leaderboard(Toy, tmp_path, statistics=FAST).tables[0].words)
    assert text.startswith("smollm2-135m by thematic is better than ")
    assert "Of the two, smollm2-135m by zero-shot is better than length (p = 0.010)." in text
    assert "smollm2-135m by zero-shot" in text and "none" not in text and "length" in text


@given(st.data())
def test_every_system_is_spoken_of_and_nothing_is_said_against_the_tests(data: st.DataObject) -> None:
    n = data.draw(st.integers(2, 4))
    values = sorted(data.draw(st.lists(st.floats(0, 1), min_size=n, max_size=n, unique=True)), reverse=True)
    p = {
        pair: data.draw(st.sampled_from([0.001, 0.04, 0.06, 1.0]))
        for pair in itertools.combinations(range(1, n + 1), 2)
    }
    text = words(table(list(values), p))
    names = "ABCD"[:n]
    assert all(name in text for name in names)
    near = [name for number, name in enumerate(names[1:], 2) if p[1, number] > 0.05]
    assert ("cannot be told apart on" in text or "cannot be told apart from A, the first" in text) == bool(
        near
    )
    if not near:
        assert text.startswith("A is better than")


@pytest.mark.parametrize(
    ("numbers", "text"),
    [([2], "2"), ([2, 3], "2 and 3"), ([2, 3, 4, 5], "2 to 5"), ([2, 3, 4, 9, 7], "2 to 4, 7 and 9")],
)
def test_rows_are_named_in_ranges(numbers: list[int], text: str) -> None:
    assert _ranges(numbers) == text
