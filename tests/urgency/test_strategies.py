"""Strategies put an inbox in order, count their calls, and lose no more than what failed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from given_models import KnowingModel, StubbornModel, inbox, pair
from hypothesis import given
from hypothesis import strategies as st

from pmbench import Choice, Completion, Message, RequestFailed, Response, StrategyContext, UserError
from pmbench.core.errors import Halted, StorageError
from pmbench_tasks.urgency import win_rate
from pmbench_tasks.urgency.listwise import order_in
from pmbench_tasks.urgency.options import InboxOptions, PairOptions
from pmbench_tasks.urgency.pairwise import asked_places
from pmbench_tasks.urgency.sorted_by import comparisons
from pmbench_tasks.urgency.strategies import INBOX_STRATEGIES, PAIR_STRATEGIES

MESSAGES = inbox(3, 1, 4, 1.5, 5, 2)
BY_URGENCY = [4, 2, 0, 5, 3, 1]


def sorted_inbox(
    name: str, inputs: Mapping[str, Any] = MESSAGES, model: KnowingModel | None = None, **options: Any
) -> Response:
    context = StrategyContext(InboxOptions(**options))
    return asyncio.run(INBOX_STRATEGIES[name](inputs, model or KnowingModel(), context))


def order_of(scores: Sequence[float]) -> list[int]:
    return sorted(range(len(scores)), key=lambda place: -scores[place])


def scores_of(response: Response, orders: str = "both") -> Sequence[float]:
    if "comparisons" in response.data:
        found: Sequence[float] = win_rate(response.data["comparisons"], orders)  # type: ignore[arg-type]
        return found
    scores: Sequence[float] = response.data["scores"]
    return scores


@pytest.mark.parametrize(
    "name",
    ["pairwise", "pairwise-reward", "listwise", "merge", "heap", "tournament", "active"],
)
def test_a_model_that_knows_gets_the_right_order(name: str) -> None:
    model = KnowingModel()
    response = sorted_inbox(name, model=model)
    if name != "active":  # which asks too little of six messages to be sure of all of them
        assert order_of(scores_of(response)) == BY_URGENCY
    assert order_of(scores_of(response))[0] == 4
    assert response.data["ids"] == [one["id"] for one in MESSAGES["messages"]]
    assert (response.data["asked"], response.data["missing"]) == (len(model.asked), 0)
    fewest, most = INBOX_STRATEGIES[name].estimate(MESSAGES, InboxOptions())
    assert fewest <= len(model.asked) <= most


@pytest.mark.parametrize("name", ["pairwise", "merge", "heap", "tournament"])
def test_one_order_halves_the_calls(name: str) -> None:
    both, one = KnowingModel(), KnowingModel()
    sorted_inbox(name, model=both)
    response = sorted_inbox(name, model=one, orders="one")
    assert len(both.asked) == 2 * len(one.asked)
    assert order_of(scores_of(response, "one")) == BY_URGENCY


def test_pairwise_asks_all_ordered_pairs_row_by_row() -> None:
    model = KnowingModel()
    comparisons_ = sorted_inbox("pairwise", inbox(1, 2, 3), model).data["comparisons"]
    assert comparisons_ == [
        [None, 0.9, 0.9],
        [pytest.approx(0.1), None, 0.9],
        [pytest.approx(0.1), pytest.approx(0.1), None],
    ]
    firsts = [
        text.partition("SECOND MESSAGE")[0].rpartition("urgency ")[2].split()[0] for text in model.asked
    ]
    assert firsts == ["1", "1", "2", "2", "3", "3"]


@pytest.mark.parametrize(("orders", "calls"), [("both", 12), ("one", 6)])
def test_a_new_message_brings_its_own_comparisons_only(orders: str, calls: int) -> None:
    before, after = KnowingModel(), KnowingModel()
    sorted_inbox("pairwise", model=before, orders=orders)
    new = {"id": "new", "message": "A new one of urgency 2.5", "chart": ""}
    sorted_inbox("pairwise", {"messages": [new, *MESSAGES["messages"]]}, after, orders=orders)
    assert set(before.asked) <= set(after.asked)
    assert len(set(after.asked) - set(before.asked)) == calls


def test_one_order_asks_each_pair_once_by_lot() -> None:
    messages = inbox(*range(20))["messages"]
    places = asked_places(messages, PairOptions(orders="one"))
    assert len({frozenset(place) for place in places}) == len(places) == 190
    assert 60 < sum(i < j for i, j in places) < 130
    assert places == sorted(places)
    assert places != asked_places(messages, PairOptions(orders="one", seed=1))


@pytest.mark.parametrize("name", ["pairwise", "merge", "tournament", "heap", "active"])
def test_a_failed_call_costs_one_comparison(name: str) -> None:
    """Of the two most urgent messages, which every order has to compare."""
    model = KnowingModel(fails=lambda text: "urgency 5" in text and "urgency 4" in text)
    response = sorted_inbox(name, model=model)
    assert (response.data["asked"], response.data["missing"]) == (len(model.asked), 2)
    order = order_of(scores_of(response))
    assert (set(order[:2]), order[2:]) == (set(BY_URGENCY[:2]), BY_URGENCY[2:])
    if name == "pairwise":
        assert sum(cell is None for row in response.data["comparisons"] for cell in row) == 6 + 2
    else:
        assert response.data["unanswered"] == 1
        assert sorted_inbox(name).data["unanswered"] == 0


def test_a_failed_call_costs_one_level() -> None:
    model = KnowingModel(fails=lambda text: "urgency 4" in text)
    response = sorted_inbox("multiclass", model=model)
    assert response.data["scores"][2] is response.data["levels"][2] is None
    assert (response.data["asked"], response.data["missing"]) == (len(model.asked), 1) == (6, 1)


@pytest.mark.parametrize(
    "name", ["pairwise", "multiclass", "pointwise", "listwise", "merge", "heap", "tournament", "active"]
)
def test_an_inbox_fails_only_where_every_call_does(name: str) -> None:
    with pytest.raises(RequestFailed, match="server"):
        sorted_inbox(name, model=KnowingModel(fails=lambda text: True))


class Refusing(KnowingModel):
    """Raises something that is no failed request, from some request on."""

    def __init__(self, error: Exception, after: int) -> None:
        super().__init__()
        self.error, self.after, self.ended = error, after, 0

    async def choose(self, messages: Sequence[Message], options: Sequence[str]) -> Choice:
        number = len(self.asked)
        choice = await super().choose(messages, options)
        if number == self.after:
            raise self.error
        await asyncio.sleep(0.01)
        self.ended += 1
        return choice


@pytest.mark.parametrize("error", [Halted("the budget is used up"), StorageError("the disk is full")])
def test_what_stops_a_run_is_let_through_once_all_in_flight_has_ended(error: Exception) -> None:
    model = Refusing(error, after=3)
    with pytest.raises(type(error)):
        sorted_inbox("pairwise", model=model)
    assert model.ended == len(model.asked) - 1 == 3, "what was begun has ended, and nothing more was begun"
    for name in ("merge", "heap", "tournament", "active"):
        model = Refusing(error, after=1)
        with pytest.raises(type(error)):
            sorted_inbox(name, model=model)
        assert model.ended == len(model.asked) - 1 > 0, "what is in flight is paid for"


def test_multiclass_names_levels_and_pointwise_takes_their_mean() -> None:
    model = KnowingModel()
    named, mean = sorted_inbox("multiclass", model=model), sorted_inbox("pointwise", model=model)
    assert named.data["levels"] == [3, 5, 2, 4, 1, 4]
    assert named.data["scores"] == [3, 1, 4, 2, 5, 2]
    assert mean.data["scores"][4] == pytest.approx(6 - (0.75 * 1 + 0.05 * (2 + 3 + 4 + 5 + 6)))
    assert model.asked[:6] == model.asked[6:]


def test_no_level_named_is_a_failed_call() -> None:
    with pytest.raises(RequestFailed, match="neither"):
        sorted_inbox("multiclass", model=StubbornModel(*[1 / 6] * 6, mass=0.0))


@pytest.mark.parametrize(
    ("text", "order", "wrong"),
    [
        ("[3] > [1] > [2]", [2, 0, 1], 0),
        ("Sure! The order is [3]>[1]. Message 2 can wait 4 days.", [2, 0], 0),
        ("3, 1, 2", [2, 0, 1], 0),
        ("1. 3\n2. 1\n3. 2", [2, 0, 1], 0),
        ("1. [3]\n2. [1]\n3. [2]", [2, 0, 1], 0),
        ("3\n1\n2", [2, 0, 1], 0),
        ("1.\n2.\n3.", [0, 1, 2], 0),
        ('Here are all 3 messages in order: {"order": [2, 1, 3]}', [1, 0, 2], 0),
        ('{"order": [1, 2, 3]}\nNo, 1 can wait: {"order": [3, 2, 1]}', [2, 1, 0], 0),
        (
            '3 messages, the order is\n```json\n{ "order" :\n [ "2",\n "1", "3" ] }\n``` [1] can wait 2 days.',
            [1, 0, 2],
            0,
        ),
        ('For 3 messages: {"order": [2, 1', [1, 0], 0),
        ('I have seen 3 messages: {"order": []}', [], 0),
        ('{"order": [2, 7, 2]}', [1], 2),
        ("Here are all 3 messages: [2, 1, 3].", [1, 0, 2], 0),
        ("[1, 2] > [3]", [2], 0),
        ('{"order": [[2], [1], [3]]}', [1, 0, 2], 0),
        ("[2] > [2] > [9] > [0]", [1], 3),
        ("I would call 911 first", [], 1),
        ("no idea, 50% or 1.5 mg", [], 0),
        ("", [], 0),
    ],
)
def test_orders_are_read_from_answers(text: str, order: list[int], wrong: int) -> None:
    assert order_in(text, 3) == (order, wrong)


@given(st.permutations(range(12)), st.sampled_from([" > ", ", ", "\n", " "]), st.booleans())
def test_every_whole_order_is_read_back(order: list[int], between: str, brackets: bool) -> None:
    text = between.join(f"[{i + 1}]" if brackets else str(i + 1) for i in order)
    assert order_in(text, 12) == (order, 0)


def test_messages_that_a_list_leaves_out_share_the_last_place() -> None:
    response = sorted_inbox("listwise", model=StubbornModel(text="[5] > [3] > [5]"))
    assert response.data["scores"] == [0, 0, 5, 0, 6, 0]
    assert (response.data["left_out"], response.data["repeated"]) == (4, 1)


def test_a_list_without_a_message_is_asked_for_once_more_and_then_fails() -> None:
    class Second(StubbornModel):
        async def chat(self, messages: Sequence[Message], **asked: Any) -> Completion:
            self.text = "[1]" if asked["attempt"] else "I cannot rank patients."
            return await super().chat(messages)

    assert sorted_inbox("listwise", model=Second()).data["asked"] == 2
    model = StubbornModel(text="I cannot rank patients.")
    with pytest.raises(RequestFailed, match="unparsed"):
        sorted_inbox("listwise", model=model)
    assert len(model.asked) == 2


def test_a_budget_bounds_the_comparisons_and_says_so() -> None:
    response = sorted_inbox("merge", budget=4)
    assert (response.data["compared"], response.data["asked"], response.data["complete"]) == (4, 8, False)
    assert sorted_inbox("merge").data["complete"]


def test_equal_answers_in_a_sort_are_ties() -> None:
    response = sorted_inbox("merge", model=StubbornModel(0.3, 0.7))
    assert len(set(response.data["scores"])) == 1


@pytest.mark.parametrize(("name", "best"), [("length", 1), ("random", None)])
def test_baselines_ask_nothing(name: str, best: int | None) -> None:
    inputs = {"messages": [{"id": str(n), "message": "word " * n, "chart": ""} for n in (2, 5, 1)]}
    model = KnowingModel(fails=lambda text: True)
    response = sorted_inbox(name, inputs, model)
    assert (model.asked, response.data["asked"], INBOX_STRATEGIES[name].needs) == ([], 0, frozenset())
    assert INBOX_STRATEGIES[name].estimate(inputs, InboxOptions()) == (0, 0)
    if best is not None:
        assert order_of(response.data["scores"])[0] == best
    else:
        assert sorted_inbox(name, inputs, model, seed=1).data["scores"] != response.data["scores"]


@pytest.mark.parametrize("name", [name for name, one in INBOX_STRATEGIES.items() if one.needs])
def test_charts_are_in_prompts_unless_dropped(name: str) -> None:
    kept, dropped = KnowingModel(), KnowingModel()
    inputs = inbox(1, 2, 3, chart="Gout since 2009")
    sorted_inbox(name, inputs, kept)
    sorted_inbox(name, inputs, dropped, chart="drop")
    assert kept.asked and dropped.asked
    assert all("Gout" in text for text in kept.asked)
    assert not any("Gout" in text or "Chart:" in text for text in dropped.asked)


def test_a_reward_model_is_asked_in_both_orders_only() -> None:
    with pytest.raises(UserError, match="both orders"):
        sorted_inbox("pairwise-reward", orders="one")


def test_what_a_strategy_says_of_itself_tells_them_apart() -> None:
    for strategies in (INBOX_STRATEGIES, PAIR_STRATEGIES):
        told = [repr(sorted(strategy.describe().items())) for strategy in strategies.values()]
        assert len(set(told)) == len(told)


@pytest.mark.parametrize("n", [2, 3, 6, 30])
@pytest.mark.parametrize("method", ["merge", "heap", "tournament", "active"])
def test_bounds_of_comparisons(method: Any, n: int) -> None:
    fewest, most = comparisons(method, n)
    assert 0 < fewest <= most <= n * (n - 1) // 2
    inputs = inbox(*(7.0 * i % 31 for i in range(n)))
    assert fewest <= sorted_inbox(method, inputs).data["compared"] <= most
    for budget in (1, 7, 400):
        least, bound = INBOX_STRATEGIES[method].estimate(inputs, InboxOptions(budget=budget))
        response = sorted_inbox(method, inputs, budget=budget)
        assert least <= response.data["asked"] <= bound
        assert method != "active" or least == bound, "it asks as many as it may"


def test_estimates_of_pairs() -> None:
    inputs = pair(1, 2)
    asked_once = PAIR_STRATEGIES["pairwise"].estimate(inputs, PairOptions(orders="one"))
    assert asked_once == (1, 1)
    assert {name: one.estimate(inputs, PairOptions()) for name, one in PAIR_STRATEGIES.items()} == {
        "pairwise": (2, 2),
        "multiclass": (2, 2),
        "pairwise-reward": (2, 2),
        "length": (0, 0),
        "random": (0, 0),
    }
