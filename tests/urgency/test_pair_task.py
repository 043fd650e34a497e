"""Pairs are read in several shapes, compared in both orders and counted; what is no pair is refused by place."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from given_models import KnowingModel, StubbornModel, pair
from hypothesis import given
from hypothesis import strategies as st

from pmbench import (
    DataError,
    Instance,
    Record,
    RequestFailed,
    Response,
    Row,
    Score,
    StrategyContext,
    Unscored,
    UserError,
)
from pmbench.core.registry import resource
from pmbench.data.loading import load
from pmbench_tasks.urgency.options import PairOptions
from pmbench_tasks.urgency.pair_task import (
    OwnPairs,
    Pairs,
    RealPairs,
    RedditPairs,
    SynthLevelPairs,
    SynthPairs,
    difficulty_of,
)
from pmbench_tasks.urgency.strategies import PAIR_STRATEGIES
from pmbench_tasks.urgency.views import pair_view

TASKS: tuple[type[Pairs], ...] = (OwnPairs, RedditPairs, SynthPairs, RealPairs, SynthLevelPairs)


def made(task: type[Pairs], *rows: Mapping[str, Any]) -> list[Instance]:
    numbered = ({"id": str(n), **row} for n, row in enumerate(rows, 1))
    return list(task().instances(Row(row, "mine.csv", n) for n, row in enumerate(numbered, 1)))


def urgent_text(instance: Instance) -> str:
    side = "second" if instance.target["second_more_urgent"] else "first"
    text: str = instance.inputs[side]["message"]
    return text


def answered(
    name: str, inputs: Mapping[str, Any], model: KnowingModel | None = None, **options: Any
) -> Response:
    context = StrategyContext(PairOptions(**options))
    return asyncio.run(PAIR_STRATEGIES[name](inputs, model or KnowingModel(), context))


def scored(response: Response, *, second: bool = True, difficulty: str = "hard") -> Score:
    inputs = pair(1, 2)
    instance = Instance("1", inputs, {"second_more_urgent": second}, slices={"difficulty": difficulty})
    return asyncio.run(OwnPairs().score(instance, response, {}))


@pytest.mark.parametrize(
    "row",
    [
        {"chosen": "Hot", "rejected": "Cold"},
        {"first": "Hot", "second": "Cold", "second_more_urgent": "False"},
        {"first": "Cold", "second": "Hot", "second_more_urgent": "1"},
        {"first": "Hot", "second": "Cold", "winner": "first"},
        {"first": "Cold", "second": "Hot", "winner": "Patient B"},
        {"first": "Cold", "second": "Hot", "winner": "2"},
        {"first": "Cold", "second": "Hot", "first_level": "3", "second_level": "2.5"},
    ],
)
def test_every_shape_says_which_message_is_more_urgent(row: Mapping[str, Any]) -> None:
    (found,) = made(OwnPairs, row)
    assert urgent_text(found) == "Hot"
    assert {found.inputs[side]["message"] for side in ("first", "second")} == {"Hot", "Cold"}
    assert "level" not in found.inputs["first"]


def test_the_answer_is_not_always_the_same_and_does_not_hang_on_the_file() -> None:
    rows = [{"chosen": f"a{n}", "rejected": f"b{n}"} for n in range(200)]
    found = made(OwnPairs, *rows)
    seconds = [one.target["second_more_urgent"] for one in found]
    assert 70 < sum(seconds) < 130
    turned = made(OwnPairs, *rows[::-1])
    assert [one.inputs for one in turned] == [one.inputs for one in found[::-1]]


def test_where_a_file_says_which_is_first_a_recorded_answer_means_that_one() -> None:
    rows = [{"first": f"urgent {n}", "second": f"calm {n}", "winner": "first"} for n in range(40)]
    for one in made(OwnPairs, *rows):
        assert one.inputs["first"]["message"].startswith("urgent")
        score = asyncio.run(OwnPairs().score(one, Response(text="First."), {}))
        assert score.stats["correct"] == 1.0


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (
            [{"first": "a", "second": "b", "winner": "first", "second_more_urgent": "true"}],
            "two columns say different things",
        ),
        (
            [{"first": "a", "second": "b", "winner": "1"}, {"first": "b", "second": "a", "winner": "1"}],
            "the same two messages are labelled the other way round in row 1",
        ),
        (
            [{"chosen": "a", "rejected": "b", "first": "a", "second": "b", "winner": "2"}],
            "its two messages stand in two pairs of columns",
        ),
    ],
)
def test_labels_that_contradict_each_other_are_refused(rows: list[dict[str, str]], words: str) -> None:
    with pytest.raises(DataError, match=words):
        made(OwnPairs, *rows)


@pytest.mark.parametrize(
    "data", [{"p": [7, -3]}, {"p": [1e400, 0]}, {"p": [2, None]}, {"levels": [99, -1]}, {"levels": [0, 3]}]
)
def test_values_that_cannot_be_are_no_answer(data: dict[str, object]) -> None:
    (one,) = made(OwnPairs, {"chosen": "a", "rejected": "b"})
    with pytest.raises(Unscored):
        asyncio.run(OwnPairs().score(one, Response(data=data), {}))


def test_levels_and_charts_become_difficulty_and_slices() -> None:
    (found,) = made(
        RedditPairs,
        {
            "chosen": "### EHR: Age:70\nGender:Male ### Patient Message: Hot",
            "rejected": "### EHR: Age:7\nGender:Female ### Patient Message: Cold",
            "chosen_level": "1.5",
            "rejected_level": "4.0",
            "inbox": "A",
        },
    )
    assert found.slices == {
        "difficulty": "medium",
        "level": "1.5",
        "sex": "male",
        "age_band": "65+",
        "sexes": "male before female",
        "inbox": "A",
    }
    assert sorted(found.target["levels"]) == [1.5, 4]


@pytest.mark.parametrize(
    ("levels", "said", "difficulty"),
    [
        ((1, 5), "", "easy"),
        ((1, 6), "hard", "easy"),
        ((1.5, 5), "", "medium"),
        ((1, 3), "", "medium"),
        ((1.5, 3), "", "hard"),
        ((2, 2), "", "hard"),
        (None, "Med", "medium"),
        (None, "tricky", ""),
    ],
)
def test_difficulty(levels: tuple[float, float] | None, said: str, difficulty: str) -> None:
    assert difficulty_of(levels, said) == difficulty


def test_a_clinicians_label_goes_before_levels_and_is_counted_when_they_disagree() -> None:
    rows = [
        {"chosen": "Hot", "rejected": "Cold", "chosen_level": "3", "rejected_level": "2"},
        {"chosen": "Hot", "rejected": "Mild", "chosen_level": "3", "rejected_level": "3"},
    ]
    found = made(SynthPairs, *rows)
    assert [urgent_text(one) for one in found] == ["Hot", "Hot"]
    assert [one.slices["difficulty"] for one in found] == ["hard", "hard"]
    told = list(SynthPairs().remarks(found))
    assert told[0].startswith("1 of 2 pairs are labelled against the order of their levels")
    assert told[-1] == "2 pairs of 3 messages"


def test_pairs_labelled_by_clinicians_never_fall_back_to_levels() -> None:
    row = {"first": "Hot", "second": "Cold", "first_level": "1", "second_level": "6"}
    assert urgent_text(made(RealPairs, row)[0]) == "Hot"
    with pytest.raises(DataError, match=r"nothing says which message is more urgent.*--columns winner="):
        made(SynthPairs, row)


@pytest.mark.parametrize(
    ("row", "what"),
    [
        ({"first": "secret", "second": "words", "winner": "0"}, "does not say which message"),
        ({"first": "secret", "second": "words", "winner": "secret"}, "does not say which message"),
        ({"first": "secret", "second": "words", "second_more_urgent": "perhaps"}, "does not say"),
        ({"first": "secret", "second": "words", "first_level": "2", "second_level": "2"}, "same level"),
        ({"first": "secret", "second": "words", "first_level": "2"}, "there is no level"),
        (
            {"chosen": "secret", "rejected": "words", "chosen_level": "0", "rejected_level": "2"},
            "between 1 and 6",
        ),
        ({"chosen": "secret", "rejected": " secret  "}, "both are the same message"),
        ({"chosen": "secret", "rejected": ""}, "a message is missing"),
        ({"chosen": "### EHR: secret", "rejected": "words"}, "the message is empty"),
        ({"text": "secret"}, r"--columns chosen=COLUMN,rejected=COLUMN"),
    ],
)
def test_what_is_no_pair_is_refused_by_place_without_its_text(row: Mapping[str, Any], what: str) -> None:
    with pytest.raises(DataError, match=what) as raised:
        made(OwnPairs, row)
    assert "mine.csv, row 1" in str(raised.value)
    assert "secret" not in str(raised.value)


def test_one_id_for_two_messages_is_refused() -> None:
    rows = [
        {"chosen": "Hot", "rejected": "Cold", "chosen_id": "7", "rejected_id": "8"},
        {"chosen": "Mild", "rejected": "Cold", "chosen_id": "7", "rejected_id": "8"},
    ]
    with pytest.raises(DataError, match=r"row 2: the id of one of its messages stood at another text"):
        made(OwnPairs, *rows)


def write(path: Path, *rows: Mapping[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_likely_columns_of_an_unknown_file_are_found_and_said(tmp_path: Path) -> None:
    rows = [{"Message A": f"x{n}", "Message B": f"y{n}", "label": "A" if n % 2 else "B"} for n in range(4)]
    found = load(SynthPairs(), str(write(tmp_path / "p.jsonl", *rows)))
    assert [urgent_text(one)[0] for one in found.instances] == ["y", "x", "y", "x"]
    assert {"first", "second", "winner"} <= found.guessed
    odd = write(tmp_path / "q.jsonl", {"col1": "x", "col2": "y", "col3": 1})
    with pytest.raises(DataError, match="--columns first=COLUMN,second=COLUMN,winner=COLUMN"):
        load(SynthPairs(), str(odd))
    told = load(SynthPairs(), str(odd), columns={"first": "col1", "second": "col2", "winner": "col3"})
    assert urgent_text(told.instances[0]) == "x"


def test_a_folder_joins_pairs_with_their_messages(tmp_path: Path) -> None:
    write(tmp_path / "inbox.jsonl", *({"id": n, "message": f"text {n}", "level": n} for n in (1, 2, 3)))
    write(tmp_path / "pairs.jsonl", {"id": "p", "first": 1, "second": 3, "second_more_urgent": False})
    (found,) = load(OwnPairs(), str(tmp_path)).instances
    assert urgent_text(found) == "text 1"
    assert (found.slices["difficulty"], sorted(found.target["levels"])) == ("medium", [1, 3])
    assert {found.inputs[side]["id"] for side in ("first", "second")} == {"1", "3"}
    write(tmp_path / "pairs.jsonl", {"first": 1, "second": 9, "winner": "first"})
    with pytest.raises(DataError, match=r"pairs.jsonl, row 1, column 'second': a message that is not among"):
        load(OwnPairs(), str(tmp_path))


@pytest.mark.parametrize("task", [OwnPairs, RedditPairs, SynthPairs, RealPairs])
def test_the_demo_has_sixty_pairs_twenty_of_each_difficulty(task: type[Pairs]) -> None:
    found = load(task(), "demo").instances
    assert Counter(one.slices["difficulty"] for one in found) == {"easy": 20, "medium": 20, "hard": 20}
    assert {"level", "sex", "age_band", "sexes"} <= set(found[0].slices)
    assert "60 pairs of 60 messages" in list(task().remarks(found))


def test_pairs_from_levels_are_all_pairs_of_different_level_of_each_inbox() -> None:
    found = load(SynthLevelPairs(), "demo").instances
    assert Counter(one.slices["inbox"] for one in found) == {"a": 375, "b": 375}
    for one in found:
        levels = one.target["levels"]
        assert one.target["second_more_urgent"] == (levels[1] < levels[0])


@pytest.mark.parametrize("task", TASKS)
def test_every_pair_task_has_card_and_accuracy_first(task: type[Pairs]) -> None:
    assert resource(task.card).read_text(encoding="utf-8").startswith("# ")
    assert (task.metrics[0].name, task.metrics[0].scheme) == ("accuracy", "dyadic")
    assert task().strategy()[0] == "pairwise"


def test_pairwise_asks_in_both_orders_and_the_larger_answer_wins() -> None:
    model = KnowingModel(sure=0.75)
    response = answered("pairwise", pair(1, 2), model)
    assert response.data["p"] == [0.75, 0.25]
    assert len(model.asked) == 2
    stats = scored(response).stats
    assert stats == {"correct": 1, "tie": 0, "correct_hard": 1, "first": 0.5, "consistent": 1}
    assert scored(response, second=False).stats["correct"] == 0


def test_a_model_that_always_says_yes_is_a_tie_without_consistency() -> None:
    score = scored(answered("pairwise", pair(1, 2), StubbornModel(0.9, 0.1)))
    assert score.stats == {"correct": 0.5, "tie": 1, "correct_hard": 0.5, "first": 0, "consistent": 0}
    assert score.units == ("m1", "m2")
    assert score.arrays == {"p": [0.9, 0.9]}


def test_one_order_asks_once_and_says_nothing_of_consistency() -> None:
    model = KnowingModel()
    response = answered("pairwise", pair(1, 2), model, orders="one")
    assert len(model.asked) == 1
    assert sorted(p is None for p in response.data["p"]) == [False, True]
    assert scored(response).stats["correct"] == 1
    assert "consistent" not in scored(response).stats
    first = [answered("pairwise", pair(n, 99), orders="one").data["p"][1] is None for n in range(60)]
    assert 15 < sum(first) < 45


@pytest.mark.parametrize(
    ("p", "correct"), [([0.7, None], 1), ([0.5, None], 0.5), ([None, 0.7], 0), ([None, 0.2], 1)]
)
def test_one_answer_decides_by_one_half(p: list[float | None], correct: float) -> None:
    assert scored(Response(data={"p": p})).stats["correct"] == correct


def test_a_pair_with_a_failed_call_is_not_decided_by_the_other() -> None:
    model = KnowingModel(fails=lambda text: text.rindex("urgency 1") > text.rindex("urgency 2"))
    with pytest.raises(RequestFailed, match="server"):
        answered("pairwise", pair(1, 2), model)
    assert len(model.asked) == 2


def test_rewards_are_compared_and_have_no_position() -> None:
    response = answered("pairwise-reward", pair(1, 2))
    assert response.data["p"] == [10, -10]
    assert scored(response).stats == {"correct": 1, "tie": 0, "correct_hard": 1}
    with pytest.raises(UserError, match="orders=one"):
        answered("pairwise-reward", pair(1, 2), orders="one")


def test_levels_named_are_compared_and_equal_ones_tie() -> None:
    response = answered("multiclass", pair(1, 2))
    assert response.data["levels"] == [5, 4]
    assert scored(response).stats["correct"] == 1
    assert scored(answered("multiclass", pair(2, 2.2))).stats["tie"] == 1


def test_rules_have_no_position() -> None:
    inputs = {
        "first": {"id": "a", "message": "one", "chart": ""},
        "second": {"id": "b", "message": "one two", "chart": ""},
    }
    for name in ("length", "random"):
        assert scored(answered(name, inputs)).stats.keys() == {"correct", "tie", "correct_hard"}
    assert scored(answered("length", inputs)).stats["correct"] == 1


@pytest.mark.parametrize("text", ["second", "Second.", "2", " B "])
def test_recorded_answers_in_words(text: str) -> None:
    assert scored(Response(text)).stats["correct"] == 1
    assert scored(Response("tie")).stats == {"correct": 0.5, "tie": 1, "correct_hard": 0.5}


@pytest.mark.parametrize(
    "response",
    [
        Response(""),
        Response("both patients"),
        Response(data={"p": [0.5]}),
        Response(data={"p": [None, None]}),
        Response(data={"p": ["x", 1.0]}),
        Response(data={"p": [float("nan"), 1.0]}),
        Response(data={"levels": [None, 2]}),
    ],
)
def test_what_names_no_message_is_no_score(response: Response) -> None:
    with pytest.raises(Unscored):
        scored(response)


@given(st.floats(-5, 5), st.floats(-5, 5))
def test_turning_a_pair_around_turns_the_decision(shown: float, turned: float) -> None:
    there = scored(Response(data={"p": [shown, turned], "scale": "reward"})).stats
    back = scored(Response(data={"p": [turned, shown], "scale": "reward"}), second=False).stats
    assert there == back


def test_a_pair_is_shown_with_its_answers() -> None:
    (instance,) = made(OwnPairs, {"first": "Hot", "second": "Cold", "winner": "first", "first_chart": "Gout"})
    score = asyncio.run(OwnPairs().score(instance, Response(data={"p": [0.9, 0.2]}), {}))
    blocks = pair_view(Record(instance, Response(data={"p": [0.9, 0.2]}), score))
    text = "\n".join([block.title + "\n" + "\n".join(line.text for line in block.lines) for block in blocks])
    assert "labelled more urgent" in text
    assert "second message" in text.lower()
    assert "Chart: Gout" in text
    assert "0.900" in text
    assert "There is none." in str(pair_view(Record(instance, None, None)))
