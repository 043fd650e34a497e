"""Rows become inboxes, what is none is refused by place, and an order is scored and shown."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from given_models import KnowingModel, StubbornModel

from pmbench import DataError, Instance, Record, Response, Row, Score, StrategyContext, Unscored, UserError
from pmbench.core.registry import resource
from pmbench.data.loading import load
from pmbench.leaderboard.reported import reported
from pmbench_tasks.urgency.inbox_task import Inboxes, OwnInbox, RealInbox, SynthInbox
from pmbench_tasks.urgency.options import InboxOptions, SampledInboxOptions
from pmbench_tasks.urgency.reddit_inbox import RedditInbox
from pmbench_tasks.urgency.strategies import INBOX_STRATEGIES
from pmbench_tasks.urgency.views import inbox_view

DESIGNED = (
    "inbox inbox: taken as put together by level, so its intervals come from messages drawn within their levels"
    " (-o design=levels|none decides)"
)
TASKS: tuple[type[Inboxes], ...] = (OwnInbox, SynthInbox, RealInbox, RedditInbox)


@pytest.fixture(autouse=True)
def _in_the_order_of_the_rows(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that what is tested can be read; the order by lot has tests of its own."""
    if "lot" not in request.node.name:
        monkeypatch.setattr(OwnInbox, "drawn", True)


def made(rows: Sequence[Mapping[str, Any]], task: Inboxes | None = None) -> list[Instance]:
    numbered = ({"id": str(n), **row} for n, row in enumerate(rows, 1))
    return list((task or OwnInbox()).instances(Row(row, "mine.csv", n) for n, row in enumerate(numbered, 1)))


def levelled(*levels: float, **more: Any) -> list[dict[str, Any]]:
    """Messages of these levels; their text holds how urgent they are, for a model that knows."""
    return [
        {"message": f"Message {n} of urgency {6 - level}", "level": str(level), **more}
        for n, level in enumerate(levels, 1)
    ]


def scored(instance: Instance, response: Response, task: Inboxes | None = None) -> Score:
    return asyncio.run((task or OwnInbox()).score(instance, response, {}))


def answered(instance: Instance, name: str = "pairwise", **options: Any) -> Response:
    context = StrategyContext(InboxOptions(**options))
    return asyncio.run(INBOX_STRATEGIES[name](instance.inputs, KnowingModel(), context))


def test_rows_become_one_instance_for_each_inbox_in_order_of_appearance() -> None:
    rows = [row | {"inbox": "ba"[n % 2]} for n, row in enumerate(levelled(1, 2, 3, 4))]
    first, second = made(rows)
    assert (first.id, second.id) == ("b", "a")
    assert [one["id"] for one in first.inputs["messages"]] == ["1", "3"]
    assert first.target == {"levels": [1, 3]}
    assert "level" not in first.inputs["messages"][0]
    (alone,) = made(levelled(1, 2.5))
    assert (alone.id, alone.target["levels"]) == ("inbox", [1, 2.5])


@pytest.mark.parametrize(
    ("rows", "what"),
    [
        (levelled(2, 2, 2), r"mine.csv: all of its messages \(3\) have the same level"),
        (levelled(2, 3, inbox="x") + levelled(4, inbox="y"), r"inbox 'y': all of its messages \(1\)"),
        ([*levelled(1, 2), levelled(1)[0]], r"row 3, column 'message': the same message as row 1"),
        (
            [row | {"id": ident} for row, ident in zip(levelled(1, 2, 3), ("x", "y", " x "), strict=True)],
            r"row 3, column 'id': the same id as row 1, in the same inbox",
        ),
        ([*levelled(1), {"message": " ", "level": 2}], r"row 2, column 'message': the message is empty"),
        (
            [*levelled(1), {"message": "### EHR: x", "level": 2}],
            r"row 2, column 'message': the message is empty",
        ),
        (
            [*levelled(1), {"message": "secret", "level": 7}],
            r"row 2, column 'level': the level is not between",
        ),
        ([*levelled(1), {"message": "secret", "level": None}], r"row 2, column 'level': there is no level"),
        (levelled(1, 2, inbox="a whole message " * 9), r"looks like text"),
    ],
)
def test_what_is_no_inbox_is_refused_by_place_without_its_text(
    rows: Sequence[Mapping[str, Any]], what: str
) -> None:
    with pytest.raises(DataError, match=what) as raised:
        made(rows)
    assert not any(word in str(raised.value) for word in ("secret", "urgency 4", "a whole message"))


def test_the_order_of_an_inbox_is_drawn_by_lot_and_a_sorted_file_gives_nothing_away() -> None:
    """A file that is sorted by level would be the right order for whoever writes 1, 2, 3."""
    rows = [{"id": f"m{n}", **row} for n, row in enumerate(levelled(*sorted([1, 2, 3, 4, 5, 6] * 5)))]
    (one,), (turned,) = made(rows), made(rows[::-1])
    assert one.inputs == turned.inputs and one.target == turned.target
    assert [one["id"] for one in one.inputs["messages"]] != [row["id"] for row in rows]
    echoed = Response(
        data={"ids": [m["id"] for m in one.inputs["messages"]], "scores": list(range(30, 0, -1))}
    )
    assert abs(scored(one, echoed).stats["tau_b"]) < 0.3
    other = made(rows, OwnInbox(InboxOptions(seed=1)))[0]
    assert other.inputs != one.inputs, "another seed, another lot"


def test_one_message_may_stand_in_two_inboxes() -> None:
    assert len(made([*levelled(1, 2, inbox="a"), *levelled(1, 2, inbox="b")])) == 2


def test_a_k_larger_than_the_inbox_is_cut_and_said() -> None:
    found = made(levelled(1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6))
    told = list(OwnInbox().remarks(found))
    assert told == [
        "inbox inbox: 12 messages (level 1: 2, 2: 2, 3: 2, 4: 2, 5: 2, 6: 2)",
        "inbox inbox: T-NDCG@30 is cut to T-NDCG@12, there are no more messages",
        DESIGNED,
    ]


@pytest.mark.parametrize(
    ("levels", "design", "designed"),
    [
        ((1, 1, 2, 2), "auto", True),
        ((1, 1, 2, 2, 2), "auto", False),
        ((1, 2, 3), "auto", False),
        ((1, 1, 2, 2, 2), "levels", True),
        ((1, 1, 2, 2), "none", False),
    ],
)
def test_which_inboxes_were_designed_by_level(levels: tuple[float, ...], design: Any, designed: bool) -> None:
    task = OwnInbox(InboxOptions(design=design))
    (found,) = made(levelled(*levels), task)
    score = scored(found, answered(found), task)
    assert score.arrays["strata"] == (list(levels) if designed else [])
    assert any("not designed" in line for line in task.remarks([found])) != designed


def test_a_single_message_of_a_level_cannot_be_drawn_again_within_it() -> None:
    with pytest.raises(DataError, match="a single message of level 1"):
        made(levelled(1, 2, 2), OwnInbox(InboxOptions(design="levels")))


@pytest.mark.parametrize("options", [{"reading_rate": 0.0}, {"budget": -1}])
def test_options_out_of_range_are_refused(options: Mapping[str, Any]) -> None:
    with pytest.raises(UserError, match=next(iter(options))):
        OwnInbox(InboxOptions(**options))
    with pytest.raises(UserError, match="per_level"):
        RedditInbox(SampledInboxOptions(per_level=1))


def test_the_right_order_has_the_ideal_and_the_reverse_its_negative() -> None:
    (found,) = load(OwnInbox(), "demo").instances[:1]
    right = [6 - level for level in found.target["levels"]]
    stats = scored(found, Response(data={"scores": right})).stats
    # Known of 30 messages, five at each level: see statistics of the paper's k = 10 and 30.
    assert stats["t_ndcg_30"] == pytest.approx(0.3941362935647075, abs=1e-12)
    assert stats["t_ndcg_10"] == stats["ideal_10"] == pytest.approx(0.9244840628476891, abs=1e-12)
    assert (stats["share_30"], stats["order_accuracy"], stats["urgent_in_bottom_third"]) == (1, 1, 0)
    reverse = scored(found, Response(data={"scores": [-score for score in right]})).stats
    assert reverse["t_ndcg_30"] == pytest.approx(-stats["t_ndcg_30"])


def test_what_a_score_of_comparisons_holds() -> None:
    (found,) = made(levelled(5, 1, 3))
    score = scored(found, answered(found))
    assert score.units == ("1", "2", "3")
    assert score.arrays["levels"] == [5, 1, 3]
    assert score.arrays["comparisons"][0] == [None, 0.9, 0.9]
    assert [one["id"] for one in score.evidence["order"]] == ["2", "3", "1"]
    assert (score.stats["calls"], score.stats["comparator_accuracy"]) == (6, 1)
    json.dumps([score.stats, score.arrays, score.evidence])


def test_one_order_is_scored_as_such() -> None:
    task = OwnInbox(InboxOptions(orders="one"))
    (found,) = made(levelled(5, 1, 3, 2), task)
    score = scored(found, answered(found, orders="one"), task)
    assert (score.stats["order_accuracy"], score.stats["calls"]) == (1, 6)
    assert "position_consistency" not in score.stats


def test_rankings_that_were_recorded() -> None:
    (found,) = made(levelled(5, 1, 3))
    assert scored(found, Response(data={"ranking": ["2", "3", "1"]})).stats["order_accuracy"] == 1
    partly = scored(found, Response(data={"ranking": ["2"]}))
    assert (partly.stats["left_out"], partly.stats["order_accuracy"]) == (2, pytest.approx(2.5 / 3))


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        ({"ranking": ["2", "2"]}, "other-messages"),
        ({"ranking": ["9"]}, "other-messages"),
        ({"ranking": []}, "unparsed"),
        ({"ranking": "2, 3, 1"}, "unparsed"),
        ({"ids": ["3", "2", "1"], "scores": [1, 2, 3]}, "other-messages"),
        ({"scores": [1, 2]}, "unparsed"),
        ({"scores": [1, 2, "x"]}, "unparsed"),
        ({}, "unparsed"),
    ],
)
def test_a_response_without_an_order_of_these_messages_is_no_score(
    data: Mapping[str, Any], kind: str
) -> None:
    (found,) = made(levelled(5, 1, 3))
    with pytest.raises(Unscored) as raised:
        scored(found, Response(data=data))
    assert raised.value.kind == kind


@pytest.mark.parametrize("name", INBOX_STRATEGIES)
def test_every_strategy_is_scored(name: str) -> None:
    (found,) = load(OwnInbox(), "demo").instances[1:]
    model = StubbornModel(
        *([0.5, 0.5] if "class" not in name and name != "pointwise" else [1 / 6] * 6), text="[1]"
    )
    response = asyncio.run(INBOX_STRATEGIES[name](found.inputs, model, StrategyContext(InboxOptions())))
    score = scored(found, response)
    assert all(metric.computable(score.stats) for metric in OwnInbox.metrics[:6])
    if name not in (
        "length",
        "random",
        "listwise",
        "heap",
    ):  # a heap need not compare neighbours of its order
        assert score.stats["t_ndcg_10"] == pytest.approx(0, abs=1e-9)


def test_the_sorted_inbox_is_a_table_that_marks_urgent_messages_that_came_low() -> None:
    rows = levelled(6, 6, 6, 5, 5, 5, 4, 4, 1, 2)
    rows[8] |= {"message": "Chest | *tight* since noon" + " and on" * 40, "chart": "61-year-old man."}
    (found,) = made(rows)
    scores = [9.0, 8, 7, 6, 5, 4, 3, 2, 1, 4.5]
    text = inbox_view(Record(found, Response(), scored(found, Response(data={"scores": scores}))))
    table = [line for line in text.splitlines() if line.startswith("|")]
    assert len(table) == 12
    assert all(line.replace("\\|", "").count("|") == 7 for line in table)
    last = table[-1]
    assert "URGENT, IN THE LAST THIRD" in last
    assert "| 10 | 1 | 61 m | Chest \\| \\*tight\\* since noon" in last
    assert "urgent, behind 5 that can wait" in table[7]
    assert "2 messages of level 1 or 2" not in text
    assert "There is no order" in inbox_view(Record(found, None, None))


def test_places_that_are_shared_are_shown_as_ranges() -> None:
    (found,) = made(levelled(1, 2, 3))
    text = inbox_view(Record(found, Response(), scored(found, Response(data={"scores": [1, 2, 1]}))))
    assert "| 2–3 |" in text


@pytest.mark.parametrize("task", TASKS)
def test_every_inbox_task_has_card_and_t_ndcg_first(task: type[Inboxes]) -> None:
    assert resource(task.card).read_text(encoding="utf-8").startswith("# ")
    assert (task.metrics[0].name, task.metrics[0].scheme) == ("t_ndcg_10", "ranking")
    assert task().strategy()[0] == "pairwise"


@pytest.mark.parametrize("task", [OwnInbox, SynthInbox, RealInbox])
def test_the_demo_has_two_inboxes_of_thirty_five_at_each_level(task: type[Inboxes]) -> None:
    found = load(task(), "demo").instances
    assert [one.id for one in found] == ["a", "b"]
    for one in found:
        assert sorted(one.target["levels"]) == sorted([1, 2, 3, 4, 5, 6] * 5)
        assert all(message["chart"] for message in one.inputs["messages"])
        assert all(len(message["message"].split()) <= 60 for message in one.inputs["messages"])


def test_the_only_reported_numbers_are_those_of_the_papers_text() -> None:
    (row,) = reported(RealInbox).row
    assert row.values == {"t_ndcg_10": "0.77", "t_ndcg_30": "0.39"}
    assert [len(reported(task).row) for task in (OwnInbox, SynthInbox, RedditInbox)] == [0, 0, 0]


def test_rows_that_are_only_numbered_get_ids_from_their_text_where_the_data_are_published() -> None:
    (found,) = made(levelled(1, 2), SynthInbox())
    (turned,) = made(levelled(1, 2)[::-1], SynthInbox())
    ids = {one["id"]: one["message"] for one in found.inputs["messages"]}
    assert len(ids) == 2 and all(ident.startswith("m-") for ident in ids)
    assert ids == {one["id"]: one["message"] for one in turned.inputs["messages"]}, "whatever their order"


def posts(count: int, **more: Any) -> list[dict[str, Any]]:
    return [{"message": f"Post {n}", "level": 1 + n % 6, **more} for n in range(count)]


def drawn(rows: Sequence[Mapping[str, Any]], **options: Any) -> tuple[Instance, list[str]]:
    task = RedditInbox(SampledInboxOptions(**options))
    (found,) = made(rows, task)
    return found, list(task.remarks([found]))


def test_a_drawn_inbox_has_five_of_each_level_whatever_the_order_of_the_rows() -> None:
    found, told = drawn(posts(120))
    assert found.id == "drawing-0"
    assert sorted(found.target["levels"]) == sorted([1, 2, 3, 4, 5, 6] * 5)
    assert drawn(posts(120)[::-1])[0] == found
    assert found.target["levels"] != sorted(found.target["levels"])
    other, _ = drawn(posts(120), draw=1)
    assert {one["id"] for one in other.inputs["messages"]} != {one["id"] for one in found.inputs["messages"]}
    assert told[0].startswith("30 messages drawn from 120 posts, 5 of each level wanted")


def test_the_drawing_is_the_one_that_the_card_describes() -> None:
    import hashlib

    texts = {level: [row["message"] for row in posts(120) if row["level"] == level] for level in range(1, 7)}
    keys = {
        hashlib.sha256(b"0\n" + text.encode()).hexdigest(): text for own in texts.values() for text in own
    }
    by_level = {
        level: [keys[key] for key in sorted(keys) if keys[key] in own][:5] for level, own in texts.items()
    }
    found, _ = drawn(posts(120))
    ours = [one["message"] for one in found.inputs["messages"]]
    assert ours == [keys[key] for key in sorted(keys) if any(keys[key] in own for own in by_level.values())]


def test_posts_come_from_pairs_each_once_and_unclear_levels_are_left_out() -> None:
    rows = [
        {"chosen": f"Urgent {n}", "chosen_level": 1.0, "rejected": f"Later {n % 3}", "rejected_level": 5.0}
        for n in range(4)
    ]
    rows.append({"chosen": "Half", "chosen_level": 1.5, "rejected": "Urgent 0", "rejected_level": 2.0})
    found, told = drawn(rows)
    assert sorted(found.target["levels"]) == [1, 1, 1, 5, 5, 5]
    assert "left out: 1 posts with a level between two, 1 with two levels" in told[0]
    assert "inbox drawing-0: only 3 posts of level 1" in told
    assert "inbox drawing-0: only 0 posts of level 2" in told
    with pytest.raises(DataError, match=r"row 1: neither a post with its level nor a pair"):
        drawn([{"title": "secret"}])


def test_importing_the_tasks_of_urgency_is_light() -> None:
    heavy = ("numpy", "jinja2", "sentencex", "rich", "ranx", "datasets", "pyarrow")
    code = (
        "import sys, pmbench_tasks.urgency.pair_task, pmbench_tasks.urgency.inbox_task\n"
        "import pmbench_tasks.urgency.reddit_inbox\n"
        f"print([name for name in {heavy!r} if name in sys.modules])"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": f"{root}:{root / 'tasks'}"},
    )
    assert done.stdout.strip() == "[]"


def test_an_inbox_without_a_name_among_named_ones_is_refused() -> None:
    rows = [row | {"inbox": name} for row, name in zip(levelled(1, 2, 3, 4), ["a", "a", "", ""], strict=True)]
    with pytest.raises(DataError, match=r"mine.csv, row 3, column 'inbox': no name of an inbox"):
        made(rows)
