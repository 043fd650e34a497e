"""Scores by a checklist: shares of yes, points, grades, each with what missing answers could have made of it."""

from __future__ import annotations

import math
from typing import Any

import pytest
from given_checklists_asked import given as answered
from given_checklists_asked import graded, numbered
from given_judge_answers import CASES, Answers
from hypothesis import assume, given
from hypothesis import strategies as st

from pmbench import Unscored
from pmbench_tasks.notes.answers import Answered
from pmbench_tasks.notes.checklist import Checklist, Item
from pmbench_tasks.notes.scoring import score_of, stat_names

MET = st.lists(st.none() | st.booleans(), min_size=1, max_size=12)


def stats(checklist: Checklist, answers: list[Answered], **texts: str) -> dict[str, float]:
    return dict(score_of(checklist, answers, **{"source": "", "text": "Rest.", **texts}).stats)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_lower_bound_is_what_autochecklist_makes_of_it(case: Answers) -> None:
    """AutoChecklist 0.2.3 takes a missing answer for a no; where none is missing the scores are equal."""
    found = stats(numbered(weight=case.weights, category=case.categories), answered(*case.met))
    assert found["low"] == pytest.approx(case.expected.passed)
    if None not in case.met:
        assert found["score"] == found["high"] == pytest.approx(case.expected.passed)
        if "weighted" in found:
            assert found["weighted"] == pytest.approx(case.expected.weighted)
        if "macro" in found:
            assert found["macro"] == pytest.approx(case.expected.macro)
    else:
        assert found["score"] > found["low"]


def test_worked_by_hand() -> None:
    one = numbered(weight=[3.0, 1.0, 1.0, 5.0], category=["a", "a", "b", "b"])
    found = stats(one, answered(True, False, True, None))
    assert (found["score"], found["low"], found["high"]) == (2 / 3, 2 / 4, 3 / 4)
    assert (found["yes"], found["no"], found["missing"], found["asked"], found["answered"]) == (2, 1, 1, 4, 3)
    assert (found["weight_yes"], found["weight_answered"], found["weight_all"]) == (4, 5, 10)
    assert found["weighted"] == 4 / 5
    assert (found["category_a"], found["category_b"], found["macro"]) == (1 / 2, 1, 3 / 4)
    assert (found["yes_1"], found["yes_2"], found["yes_3"]) == (1, 0, 1)
    assert "yes_4" not in found and found["asked_4"] == 1
    assert found["missing_unparsed"] == 1 and found["missing_failed"] == 0


def test_healthbench_as_its_own_unit_case_has_it() -> None:
    """Points 7, 5, 10, -6 met T, F, T, T are 0.5 (healthbench_eval_test.py of openai/simple-evals)."""
    one = numbered(scale="points", points=[7.0, 5.0, 10.0, -6.0])
    found = stats(one, answered(True, False, True, True))
    assert found["score"] == found["rubric"] == 0.5
    assert (found["points_met"], found["points_possible"]) == (11, 22)
    # Not clipped where it is of one text.
    assert stats(one, answered(False, False, False, True))["score"] == -6 / 22
    # A missing fault is the worst where it is there, the best where it is not.
    open_fault = stats(one, answered(True, False, True, None))
    assert (open_fault["low"], open_fault["score"], open_fault["high"]) == (11 / 22, 17 / 22, 17 / 22)


def test_grades_are_their_mean_from_0_for_the_lowest_to_1_for_the_highest() -> None:
    one = numbered(scale="1-5", weight=[1.0] * 4)
    found = stats(one, graded(5, 4, None, 1))
    assert found["grade"] == pytest.approx(10 / 3)
    assert found["score"] == pytest.approx((10 / 3 - 1) / 4)
    assert found["low"] == pytest.approx((11 / 4 - 1) / 4) and found["high"] == pytest.approx(
        (15 / 4 - 1) / 4
    )
    assert "total" not in found and "grade_3" not in found and found["grade_4"] == 1
    assert stats(one, graded(5, 4, 2, 1))["total"] == 12


@pytest.mark.parametrize(
    ("checklist", "answers", "kind"),
    [
        (numbered(weight=[1.0, 1.0]), answered(None, None), "no-answer"),
        (numbered(scale="1-5", weight=[1.0]), graded(None), "no-answer"),
        (numbered(scale="points", points=[3.0, -1.0]), answered(None, None), "no-answer"),
        (numbered(scale="points", points=[3.0, -1.0]), answered(None, True), "no-points"),
    ],
)
def test_without_an_answer_there_is_no_score_and_no_zero(checklist: Any, answers: Any, kind: str) -> None:
    with pytest.raises(Unscored) as raised:
        stats(checklist, answers)
    assert raised.value.kind == kind


def test_quotes_are_kept_and_looked_for() -> None:
    one = numbered(weight=[1.0] * 4)
    quotes = ["400  MG", "two weeks", "never said", ""]
    answers = [Answered(item=str(n), met=True, quote=quote) for n, quote in enumerate(quotes, 1)]
    score = score_of(one, answers, source="Back in two weeks.", text="Ibuprofen 400 mg.")
    assert [entry["found"] for entry in score.evidence["answers"]] == ["text", "source", "", ""]
    assert [entry["quote"] for entry in score.evidence["answers"]] == quotes
    assert (score.stats["quotes"], score.stats["quotes_found"]) == (3, 2)


def test_probabilities_stand_beside_answers_and_change_none() -> None:
    one = numbered(weight=[1.0] * 4)
    chances = [0.9, 0.2, 0.5, None]
    answers = [
        Answered(item=str(n), met=met, p_yes=p)
        for n, (met, p) in enumerate(zip([True, True, False, True], chances, strict=True), 1)
    ]
    found = stats(one, answers)
    assert found["score"] == 3 / 4
    assert found["probability"] == pytest.approx((0.9 + 0.2 + 0.5) / 3)
    assert (found["compared"], found["contradicted"]) == (3, 1)


def test_nothing_written_is_counted() -> None:
    one = numbered(weight=[1.0])
    assert stats(one, answered(False), text=" \n")["empty"] == 1
    assert stats(one, answered(False))["empty"] == 0


def test_names_of_statistics_are_names_whatever_ids_are() -> None:
    assert stat_names(["ap01", "a-b", "a_b", "a b", "é", ""]) == ["ap01", "a_b", "a_b_1", "a_b_2", "é", "_"]
    odd = Checklist(
        name="odd", items=(Item(id="1-a", question="Is it?"), Item(id="1 a", question="Is it so?"))
    )
    found = stats(odd, [Answered(item="1-a", met=True), Answered(item="1 a", met=False)])
    assert (found["yes_1_a"], found["yes_1_a_1"]) == (1, 0)


def test_answers_of_another_checklist_are_refused() -> None:
    with pytest.raises(ValueError, match="one answer for each item"):
        stats(numbered(weight=[1.0, 1.0]), answered(True))


@given(MET, st.data())
def test_what_is_missing_lies_between_the_bounds(met: list[bool | None], data: st.DataObject) -> None:
    """Whatever the missing answers would have been, the score lies between `low` and `high`."""
    filled = [data.draw(st.booleans()) if one is None else one for one in met]
    worth = data.draw(
        st.lists(st.integers(-9, 9).map(float), min_size=len(met), max_size=len(met)).filter(
            lambda points: any(one > 0 for one in points)
        )
    )
    for checklist in (numbered(weight=[1.0] * len(met)), numbered(scale="points", points=worth)):
        try:
            found = stats(checklist, answered(*met))
        except Unscored:
            continue
        whole = stats(checklist, answered(*filled))
        assert found["low"] - 1e-9 <= whole["score"] <= found["high"] + 1e-9
        if checklist.scale == "yes-no":
            assert found["low"] <= found["score"] <= found["high"]
        if None not in met:
            assert math.isclose(found["low"], found["score"]) and math.isclose(found["high"], found["score"])


@given(MET)
def test_every_question_is_yes_no_or_missing(met: list[bool | None]) -> None:
    assume(any(one is not None for one in met))
    found = stats(numbered(weight=[1.0] * len(met)), answered(*met))
    assert found["yes"] + found["no"] == found["answered"] == sum(f"yes_{n}" in found for n in range(1, 13))
    assert found["answered"] + found["missing"] == found["asked"] == len(met)
    assert sum(value for name, value in found.items() if name.startswith("missing_")) == found["missing"]
