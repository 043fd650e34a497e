"""What a comparison is, and what is none."""

from __future__ import annotations

import asyncio
import math

import pytest
from given_models import KnowingModel, StubbornModel, message
from hypothesis import given
from hypothesis import strategies as st

from pmbench import Options, RequestFailed, StrategyContext, UserError
from pmbench_tasks.urgency.comparators import CHOOSE, REWARD, Longer, Lot, first_shown, lot_of
from pmbench_tasks.urgency.options import PairOptions

ONE, TWO = message(1, chart="Gout {{ x }}"), message(2, chart="Asthma")


def context(**options: object) -> StrategyContext:
    return StrategyContext(PairOptions(**options))  # type: ignore[arg-type]


def compared(comparator: object, model: KnowingModel, *pair: object, **options: object) -> float:
    return asyncio.run(comparator(*(pair or (ONE, TWO)), model, context(**options)))  # type: ignore[operator]


def test_choosing_is_the_probability_of_yes() -> None:
    assert compared(CHOOSE, KnowingModel(sure=0.8)) == 0.8
    assert compared(CHOOSE, KnowingModel(sure=0.8), TWO, ONE) == pytest.approx(0.2)


def test_prompts_of_one_first_message_begin_alike_and_hold_both_messages() -> None:
    model = KnowingModel()
    for second in (TWO, message(3, chart="Fracture")):
        compared(CHOOSE, model, ONE, second)
    one, other = model.asked
    same = next(i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
    assert one.index("urgency 1") < one.index("SECOND MESSAGE") <= same
    assert "Gout {{ x }}" in one
    assert "Asthma" in one
    assert one.splitlines()[-1] == "Is the second more urgent?"


def test_charts_are_dropped_when_asked() -> None:
    model = KnowingModel()
    for comparator in (CHOOSE, REWARD):
        compared(comparator, model, chart="drop")
    assert not any("Gout" in text or "Asthma" in text or "Chart" in text for text in model.asked)


def test_neither_yes_nor_no_is_no_comparison() -> None:
    with pytest.raises(RequestFailed, match="neither"):
        compared(CHOOSE, StubbornModel(0.5, 0.5, mass=0.001))
    assert compared(CHOOSE, StubbornModel(0.5, 0.5, mass=0.5)) == 0.5


def test_a_reward_has_no_bounds_and_nan_is_none() -> None:
    assert compared(REWARD, KnowingModel()) == 10
    assert compared(REWARD, KnowingModel(), TWO, ONE) == -10
    for value in (math.nan, math.inf):
        with pytest.raises(RequestFailed, match="not-a-number"):
            compared(REWARD, StubbornModel(value=value))


def test_length_and_lot_ask_nothing() -> None:
    model = KnowingModel(fails=lambda text: True)
    short, long = {**ONE, "message": "a b"}, {**TWO, "message": "a b c"}
    assert [compared(Longer(), model, *p) for p in ((short, long), (long, short), (short, short))] == [
        1,
        0,
        0.5,
    ]
    assert compared(Lot(), model) + compared(Lot(), model, TWO, ONE) == 1
    assert compared(Lot(), model, ONE, ONE) == 0.5
    assert (Longer().needs, Lot().needs) == (frozenset(), frozenset())
    assert model.asked == []


def test_lots_are_spread_evenly_and_do_not_depend_on_ids() -> None:
    lots = [lot_of(message(i), 0) for i in range(400)]
    assert 0.4 < sum(lots) / 400 < 0.6
    assert lot_of(message(1, "x"), 0) == lot_of(message(1, "y"), 0) != lot_of(message(1), 1)


@given(st.integers(0, 50), st.integers(51, 99), st.integers(0, 5))
def test_one_of_two_is_shown_first_whichever_is_named_first(one: int, other: int, seed: int) -> None:
    assert first_shown(message(one), message(other), seed) != first_shown(message(other), message(one), seed)


def test_each_is_shown_first_about_half_the_time() -> None:
    first = [first_shown(message(i), message(i + 1000), 0) for i in range(400)]
    assert 160 < sum(first) < 240


def test_a_strategy_in_another_task_says_so() -> None:
    with pytest.raises(UserError, match="urgency tasks"):
        asyncio.run(CHOOSE(ONE, TWO, KnowingModel(), StrategyContext(Options())))
