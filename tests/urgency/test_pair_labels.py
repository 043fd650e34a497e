"""Labels of pairs mean one thing or are refused, and what is odd about pairs is told."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest
from test_pair_task import made, urgent_text

from pmbench import DataError, Record, Response
from pmbench_tasks.urgency.pair_task import OwnPairs
from pmbench_tasks.urgency.views import pair_view


@pytest.mark.parametrize(
    ("ids", "said", "urgent"),
    [
        (("1", "3"), {"second_more_urgent": "1"}, "Cold"),  # true, and no id of a message
        (("3", "0"), {"second_more_urgent": "0"}, "Hot"),
        (("1", "2"), {"winner": "2"}, "Cold"),
        (("1", "3"), {"winner": "3"}, "Cold"),
        (("3", "7"), {"winner": "2"}, "Cold"),
        (("b", "c"), {"winner": "First"}, "Hot"),
        (("2", "3"), {"chosen": "2"}, "Hot"),  # a column of ids alone, as `more_urgent`
        (("2", "3"), {"winner": "2"}, ""),
        (("3", "1"), {"winner": "1"}, ""),
        (("b", "a"), {"winner": "a"}, ""),
    ],
)
def test_labels_are_never_read_as_another_thing_where_ids_are_numbers(
    ids: tuple[str, str], said: Mapping[str, str], urgent: str
) -> None:
    row = {"first": "Hot", "second": "Cold", "first_id": ids[0], "second_id": ids[1], **said}
    if urgent:
        assert urgent_text(made(OwnPairs, row)[0]) == urgent
        return
    with pytest.raises(DataError, match=r"column 'winner': this is the id of one message and the place of"):
        made(OwnPairs, row)


@pytest.mark.parametrize("name", ["second_more_urgent", "winner"])
def test_an_id_is_no_answer_to_whether_it_is_the_second(name: str) -> None:
    row = {"first": "Hot", "second": "Cold", "first_id": "x", "second_id": "y", name: "y"}
    if name == "winner":
        assert urgent_text(made(OwnPairs, row)[0]) == "Cold"
    else:
        with pytest.raises(DataError, match="does not say which message"):
            made(OwnPairs, row)


def test_a_pair_that_stands_there_twice_counts_twice_and_is_told_of() -> None:
    rows = [
        {"first": "Hot", "second": "Cold", "winner": "first"},
        {"first": "Cold", "second": "Hot", "winner": "second"},
        {"first": "Hot", "second": "Mild", "winner": "first"},
    ]
    told = list(OwnPairs().remarks(made(OwnPairs, *rows)))
    assert "1 of 3 pairs stand there once more, labelled alike; each counts" in told
    assert not any("once more" in line for line in OwnPairs().remarks(made(OwnPairs, *rows[1:])))
    apart = [row | {"inbox": name} for row, name in zip(rows[:2], "ab", strict=True)]
    assert not any("once more" in line for line in OwnPairs().remarks(made(OwnPairs, *apart)))


def test_a_name_of_an_inbox_that_looks_like_text_is_refused() -> None:
    row = {"first": "Hot", "second": "Cold", "winner": "1", "inbox": "my chest feels tight " * 4}
    with pytest.raises(
        DataError, match=r"row 1, column 'inbox': the name of the inbox has 83 char"
    ) as raised:
        made(OwnPairs, row)
    assert "chest" not in str(raised.value)


@pytest.mark.parametrize("levels", [5, None, ["x"], [1, "2"]])
def test_what_did_not_decide_a_pair_is_not_looked_at(levels: object) -> None:
    (one,) = made(OwnPairs, {"first": "Hot", "second": "Cold", "winner": "1"})
    response = Response(data={"p": [0.1, 0.9], "levels": levels})
    score = asyncio.run(OwnPairs().score(one, response, {}))
    assert (score.stats["correct"], score.arrays) == (1, {"p": [0.1, 0.9]})
    assert "levels named" not in str(pair_view(Record(one, response, score)))
