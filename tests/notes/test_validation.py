"""What `validate` says about checklists: errors for which a file is refused, and remarks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result
from given_checklists import RUBRICS, written

from pmbench import DataError
from pmbench_tasks.notes import read_checklist, validate
from pmbench_tasks.notes.checklist import OWN, Checklist, Item, own_checklist
from pmbench_tasks.notes.validate_command import validate_command
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
        (of_items({"weight": 0.0}, {"weight": 0.0}), "no weight is above 0"),
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
        f"remark: x.json, item 2 'a2': it is a statement, not a question. {ask}",
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


@pytest.mark.parametrize("name", ["n" * 121, "a\n# b", "back\u202ewards", "\x1b]0;title\x07"])
def test_a_name_that_would_spoil_a_table_is_an_error(name: str) -> None:
    made = of("Is the dose given?")
    assert errors(made) == []
    assert errors(msgspec.structs.replace(made, name=name)) == [
        "its name is long, or has characters that cannot be printed"
    ]


@pytest.mark.parametrize(
    ("item", "scale", "what"),
    [
        ({"weight": 1e308}, "yes-no", "its weight is beyond counting"),
        ({"points": -1e308}, "points", "its points are beyond counting"),
        ({"weight": -5}, "yes-no", "no weight is above 0"),
    ],
)
def test_weights_that_no_sum_holds_are_errors(item: dict[str, Any], scale: Any, what: str) -> None:
    others = [{"points": 1.0}] if scale == "points" else []
    assert what in errors(of_items(item, *others, scale=scale))


def validated(tmp_path: Path, text: str, name: str = "mine.md") -> Result:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return CliRunner().invoke(validate_command, [str(path)], standalone_mode=False)


def test_lines_that_may_have_been_meant_as_questions_are_told(tmp_path: Path) -> None:
    told = validated(tmp_path, "# Mine\n\n| Is it in a table? |\n- Is it so here?\nWhat of prose?\n").output
    assert "remark: " in told and "2 lines with a question mark passed over" in told and "line 3, 5" in told
    assert "Mine: 1 question for the whole note, answered yes-no; 0 errors, 1 remark\n" in told
    assert "remark" not in validated(tmp_path, "- Is it so\n  here?\n").output.replace("0 remarks", "")


def test_what_cannot_be_printed_is_not_printed(tmp_path: Path) -> None:
    name = "a\n# evil \x1b]0;x\x07"
    made = {"name": name, "section": "q" * 900, "items": [{"id": "a", "question": "Is it so here?"}]}
    result = validated(tmp_path, json.dumps(made), "mine.json")
    assert result.return_value == 1
    assert "evil" not in result.output and "q" * 100 not in result.output
    assert result.output.count("error: ") == 2 and "error: error" not in result.output


@pytest.mark.parametrize("file", ["a\0b", "x" * 5000, "\ud800.txt"])
def test_a_prompt_file_that_no_file_can_be_called(tmp_path: Path, file: str) -> None:
    judges = [{"name": "a", "model_name": "b"}]
    made = {"metrics": [{"name": "jury_score", "prompt_file": file, "judges": judges}]}
    path = tmp_path / "jury.yaml"
    path.write_text(json.dumps(made))  # JSON is YAML
    with pytest.raises(DataError):
        read_checklist(path)


def test_tags_that_are_no_list_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "tags.json"
    path.write_text(json.dumps({"items": [{"id": "a", "question": "Is it so here?", "tags": 5}]}))
    with pytest.raises(DataError, match="item 1, tags: a list of texts"):
        read_checklist(path)


@pytest.mark.parametrize("name", OWN)
def test_our_own_are_validated_by_their_names(name: str) -> None:
    result = CliRunner().invoke(validate_command, [name], standalone_mode=False)
    assert result.return_value == 0 and "0 errors, 0 remarks" in result.output
