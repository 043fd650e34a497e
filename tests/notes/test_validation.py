"""What `validate` says about checklists: errors for which a file is refused, and remarks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from given_checklists import RUBRICS, written

from pmbench import DataError
from pmbench_tasks.notes import read_checklist, validate
from pmbench_tasks.notes.checklist import OWN, Checklist, Item, own_checklist
from pmbench_tasks.notes.validation import findings, normalised


def of(*questions: str, **more: Any) -> Checklist:
    items = tuple(Item(id=f"a{number}", question=question) for number, question in enumerate(questions, 1))
    return Checklist(name="x", items=items, source="x.json", **more)


def of_items(*items: dict[str, Any], **more: Any) -> Checklist:
    filled = (
        {"id": f"a{number}", "question": f"Is it {number}?", **item} for number, item in enumerate(items, 1)
    )
    return Checklist(name="x", items=tuple(Item(**item) for item in filled), source="x.json", **more)


def errors(checklist: Checklist) -> list[str]:
    return [one.what for one in findings(checklist) if one.error]


def remarks(checklist: Checklist) -> list[str]:
    return [one.what for one in findings(checklist) if not one.error]


@pytest.mark.parametrize(
    "question",
    [
        "Is the dose given?",
        "Does every medicine carry a dose, as in the dialogue?",
        "Are there no gaps?",
        "Doesn't the note repeat itself?",
        "Wherever the section names a side of the body, is it the right one?",
        "When the patient declined something, does the note say so?",
        "For each problem, is there a plan?",
        "What was agreed on: is it in the note?",
        "3. Is the dose given?",
        "Q4: Has the note a plan?",
        "“Free of errors”: is it?",
        "Is the plan free of fields that say “N/A”?",
        "Does the note leave out 'not applicable'?",
        "Is sodium (Na) given with its unit?",
    ],
)
def test_questions_that_can_be_answered_yes_or_no(question: str) -> None:
    assert validate(of(question)) == []


@pytest.mark.parametrize("name", OWN)
def test_none_of_our_own_questions_is_doubtful(name: str) -> None:
    assert findings(own_checklist(name)) == []


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        ("How well is the plan organised?", "an open question"),
        ("What is the dose?", "an open question"),
        ("To what extent does the plan follow the dialogue?", "an open question"),
        ("Which medicines are missing?", "an open question"),
        ("Why was the test ordered?", "an open question"),
        ("List every medicine that is missing.", "asks for a text"),
        ("Please describe the follow-up.", "asks for a text"),
        ("Rate the plan from 1 to 5.", "asks for a grade"),
        ("Is the plan good, on a scale of five?", "asks for a grade"),
    ],
)
def test_questions_that_cannot_be_answered_yes_or_no(question: str, reason: str) -> None:
    (what,) = errors(of(question))
    assert what.startswith("it cannot be answered yes or no: ")
    assert reason in what


@pytest.mark.parametrize(
    "question",
    [
        "Is the dose given (yes, no, N/A)?",
        "Is the dose given? Answer NA if no medicine was started.",
        "Is the dose given, or not applicable?",
        "Is the dose given (n/a allowed)?",
    ],
)
def test_an_answer_not_applicable_is_refused(question: str) -> None:
    assert "it asks for an answer N/A" in errors(of(question))


@pytest.mark.parametrize(
    ("checklist", "what"),
    [
        (of(), "there are no items"),
        (of("Is it so?", " "), "its question is empty"),
        (of("Is it so?", "?!"), "its question is empty"),
        (of("Is it so?", "\u200b\u200b"), "its question is empty"),
        (of("Is it so?", "Is  it SO"), "item 1 asks the same"),
        (of("Is the café named?", "is the cafe named"), "item 1 asks the same"),
        (of_items({}, {"id": "a1"}), "item 1 has the same id"),
        (of_items({"id": ""}), "its id is empty"),
        (of_items({"id": "a b"}), "its id is long or has spaces"),
        (of_items({"id": "a" * 65}), "its id is long or has spaces"),
        (of_items({"weight": -1.0}, {}), "its weight is negative"),
        (of_items({"weight": float("nan")}, {}), "its weight is no finite number"),
        (of_items({"weight": 0.0}, {"weight": 0.0}), "all weights are 0"),
        (of_items({"points": -3.0}), "it has points, and the scale is another"),
        (of_items({"points": -3.0}, scale="points"), "no item has positive points"),
        (of_items({"points": 3.0}, {}, scale="points"), "it has no points"),
        (of("Is it so?", section="assesment"), "no such section of a note"),
        (of(f"Is it {'so ' * 1000}?"), "its question has 3007 characters"),
        (of(*(f"Is it {number}?" for number in range(1001))), "there are 1001 items"),
    ],
)
def test_errors(checklist: Checklist, what: str) -> None:
    assert what in errors(checklist)
    assert any(line.startswith("error: x.json") and what in line for line in validate(checklist))


@pytest.mark.parametrize(
    ("checklist", "what"),
    [
        (of("The dose is given."), "it is a statement, not a question"),
        (of("Is the dose given? Is there a follow-up?"), "it seems to ask two things at once"),
        (of("Is the dose given, and if so in milligrams?"), "it seems to ask two things at once"),
        (of("Is it?"), "its question has 2 words"),
        (of(f"Is it {'so ' * 80}?"), "its question has 83 words"),
        (of_items({"weight": 0.0}, {}), "its weight is 0"),
        (of_items({"points": 0.0}, {"points": 2.0}, scale="points"), "it is worth 0 points"),
        (of(*(f"Is it {number} or so?" for number in range(101))), "there are 101 items"),
    ],
)
def test_remarks(checklist: Checklist, what: str) -> None:
    assert what in remarks(checklist)
    assert errors(checklist) == []


def test_criteria_of_rubrics_and_grades_need_not_be_questions() -> None:
    rubric = of_items(
        *({"question": one["criterion"], "points": float(one["points"])} for one in RUBRICS), scale="points"
    )
    assert findings(rubric) == []
    assert findings(of("Accurate", "How well it is organised", scale="1-5")) == []


def test_every_line_says_where_and_what_to_do_and_not_what_the_question_was() -> None:
    lines = validate(of("How secretword?", "The secretword is there.", "Is it so?", "is it so"))
    ask = "Ask it as Is …?, Does …?, Are all …?"
    assert lines == [
        "error: x.json, item 4 'a4': item 3 asks the same. Leave one out, or its answer counts twice",
        f"error: x.json, item 1 'a1': it cannot be answered yes or no: it is an open question. {ask}",
        f"x.json, item 2 'a2': it is a statement, not a question. {ask}",
    ]


def test_a_file_with_errors_is_refused_with_the_number_of_further_ones(tmp_path: Path) -> None:
    path = written(tmp_path, "a.md", "- Is it so?\n- How is it?\n- Is it so?\n")
    with pytest.raises(DataError) as caught:
        read_checklist(path)
    assert str(caught.value) == (
        f"{path}, item 3 'q3': item 1 asks the same (1 more: pmbench checklist validate)."
        " Leave one out, or its answer counts twice"
    )
    with pytest.raises(DataError, match="there are no items"):
        read_checklist(written(tmp_path, "b.json", {"items": []}))


def test_a_section_that_is_nearly_one_is_suggested() -> None:
    (line,) = validate(of("Is the dose given?", section="assesment_and_plan"))
    assert line == "error: x.json, section: no such section of a note. Did you mean assessment_and_plan?"


def test_questions_are_compared_without_case_accents_and_signs() -> None:
    assert normalised(" Is the  Café’s dose GIVEN?! ") == "is the cafe s dose given"
