"""Orders of an inbox that were recorded elsewhere: what cannot be is no score."""

from __future__ import annotations

from typing import Any

import pytest
from test_inbox_task import _in_the_order_of_the_rows, levelled, made, scored

from pmbench import Record, Response, Unscored
from pmbench_tasks.urgency import ideal_t_ndcg
from pmbench_tasks.urgency.inbox_task import OwnInbox
from pmbench_tasks.urgency.views import inbox_view

__all__ = ["_in_the_order_of_the_rows"]


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        ({"scores": [None] * 4}, "no-answer"),
        ({"comparisons": [[None] * 4] * 4}, "no-answer"),
        ({"comparisons": [[1.7] * 4] * 4}, "out-of-range"),
        ({"comparisons": [[-0.1] * 4] * 4, "scale": "probability"}, "out-of-range"),
        ({"levels": [1, 2, 3, 99]}, "out-of-range"),
        ({"scores": [True, 1, 2, 3]}, "unparsed"),
        ({"scores": ["1", 1, 2, 3]}, "unparsed"),
        ({"scores": [10**400, 1, 2, 3]}, "unparsed"),
        ({"scores": [1e308, 1, 2, 3]}, "unparsed"),
        ({"scores": [4, 3, 2, 1], "asked": -5}, "unparsed"),
        ({"scores": [4, 3, 2, 1], "asked": "lots"}, "unparsed"),
        ({"scores": [4, 3, 2, 1], "missing": 1e300}, "unparsed"),
        ({"scores": [4, 3, 2, 1], "left_out": None}, "unparsed"),
        ({"scores": [4, 3, 2, 1], "ids": 5}, "other-messages"),
        ({"comparisons": "all"}, "unparsed"),
        ({"comparisons": [[0.5] * 3] * 4}, "unparsed"),
    ],
)
def test_a_recording_that_cannot_be_is_no_score(data: dict[str, Any], kind: str) -> None:
    (instance,) = made(levelled(1, 1, 2, 2))
    with pytest.raises(Unscored) as caught:
        scored(instance, Response(data=data))
    assert caught.value.kind == kind


def test_levels_by_themselves_are_an_order_and_rewards_have_no_bounds() -> None:
    (instance,) = made(levelled(1, 1, 2, 2))
    named = scored(instance, Response(data={"levels": [1, 1, 2, 2], "scores": [None] * 4}))
    assert named.stats["tau_b"] == pytest.approx(1.0)
    rewards = [[None if i == j else float(3 * j - 9) for j in range(4)] for i in range(4)]
    # The second of a pair is the more rewarded one by its own number: the last message comes first.
    stats = scored(instance, Response(data={"comparisons": rewards, "scale": "reward"})).stats
    assert stats["t_ndcg_10"] == pytest.approx(-ideal_t_ndcg([1, 1, 2, 2], 10))
    assert stats["comparator_accuracy"] == 0.0


NOTHING: list[list[None]] = [[None] * 4] * 4


@pytest.mark.parametrize(
    ("comparisons", "more"),
    [
        (NOTHING, {"levels": [1, 1, 2, 2]}),
        (NOTHING, {"scores": [2, 2, 1, 1]}),
        ([[0.5 if i == j else None for j in range(4)] for i in range(4)], {"levels": [1, 1, 2, 2]}),
    ],
)
def test_comparisons_of_which_none_is_there_leave_the_order_to_what_is(
    comparisons: list[list[float | None]], more: dict[str, Any]
) -> None:
    """Not a tie of all messages, which would be an order by lot that nobody gave."""
    (instance,) = made(levelled(1, 1, 2, 2))
    score = scored(instance, Response(data={"comparisons": comparisons, **more}))
    assert score.stats["tau_b"] == pytest.approx(1.0)
    assert (score.stats["missing"], score.stats.get("ties")) == (0, None)
    assert "comparisons" not in score.arrays
    with pytest.raises(Unscored, match="no-answer"):
        scored(instance, Response(data={"comparisons": comparisons}))


def test_a_level_that_was_not_given_is_no_wrong_one() -> None:
    (instance,) = made(levelled(1, 1.5, 2, 4, 5, 6))
    stats = scored(instance, Response(data={"levels": [1, 1, 3, 4, None, None]})).stats
    assert stats["level_accuracy"] == pytest.approx(3 / 4), "of those that have one; 1.5 is of level 1"
    assert stats["missing"] == 2
    assert "level_accuracy" in {metric.name for metric in OwnInbox.metrics}
    assert "level_accuracy" not in scored(instance, Response(data={"scores": [6, 5, 4, 3, 2, 1]})).stats
    with pytest.raises(Unscored, match="out-of-range"):
        scored(instance, Response(data={"comparisons": [[0.5] * 6] * 6, "levels": [1, 2, 3, 4, 5, 60]}))


def test_what_is_missing_of_an_inbox_is_told_with_what_hangs_on_it() -> None:
    (instance,) = made(levelled(1, 2, 3, 4, 5, 6))
    whole = [6.0, 5, 4, 3, 2, 1]
    partly = scored(instance, Response(data={"scores": [None, 5, 4, 3, 2, None], "missing": 2}))
    worst, best = partly.stats["t_ndcg_10_worst"], partly.stats["t_ndcg_10_best"]
    assert worst < partly.stats["t_ndcg_10"] < best == pytest.approx(ideal_t_ndcg([1, 2, 3, 4, 5, 6], 10))
    sort = scored(instance, Response(data={"scores": whole, "unanswered": 1, "missing": 2, "asked": 20}))
    matrix = [[None if i == j else float(j < i) for j in range(6)] for i in range(6)]
    matrix[0][5] = None
    compared = scored(instance, Response(data={"comparisons": matrix}))
    told = list(
        OwnInbox().findings(
            {"a": partly, "b": sort, "c": compared, "d": scored(instance, Response(data={"scores": whole}))}
        )
    )
    assert told[0].startswith(
        f"inbox a: 2 are missing of the messages' scores: T-NDCG@10 {worst:.3f} to {best:.3f}"
    )
    assert told[1].startswith("inbox b: 1 is missing of the sort's comparisons and counted as equal")
    assert told[2].startswith("inbox c: 1 is missing of the comparisons: T-NDCG@10 ")
    assert len(told) == 3
    assert (sort.stats["missing"], sort.stats["failed_calls"]) == (1, 2)
    for score in (partly, sort, compared):
        assert any(
            line.partition(": ")[2] in inbox_view(Record(instance, Response(), score)) for line in told
        )
    many = list(OwnInbox().findings({str(n): partly for n in range(9)}))
    assert len(many) == 6 and many[-1] == "4 more inboxes lack comparisons or scores"
