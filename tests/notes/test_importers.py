"""Checklists and rubrics in every form that is read, and what is written read back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from given_checklists import ITEMS, JUDGE_PROMPT, PDQI, benchmark, rubric_row, written
from hypothesis import given, settings
from hypothesis import strategies as st

from pmbench import DataError
from pmbench_tasks.notes.checklist import (
    OWN,
    Checklist,
    Item,
    autochecklist_json,
    checklist_json,
    own_checklist,
    read_checklist,
    validate,
)
from pmbench_tasks.notes.documents import yaml_value
from pmbench_tasks.notes.reading import parse_checklist


def test_our_own_form_in_json_and_yaml_is_the_same_checklist(tmp_path: Path) -> None:
    head = {"name": "two", "section": "Assessment and Plan", "items": ITEMS}
    from_json = read_checklist(written(tmp_path, "a.json", head))
    from_yaml = read_checklist(written(tmp_path, "b.yaml", yaml.safe_dump(head)))
    assert from_json.digest == from_yaml.digest
    assert from_json.items == from_yaml.items
    assert (from_json.name, from_json.section, from_json.scale) == ("two", "assessment_and_plan", "yes-no")
    dose, follow = from_json.items
    assert (dose.weight, dose.category, dose.source_feedback) == (2, "medicines", ())
    assert (follow.weight, follow.category, follow.source_feedback) == (1, "", ("f1", "f2"))


def test_the_digest_is_of_what_decides_scores(tmp_path: Path) -> None:
    base = read_checklist(written(tmp_path, "a.json", {"name": "x", "items": ITEMS}))
    renamed = read_checklist(written(tmp_path / "b", "c.json", {"name": "y", "items": ITEMS}))
    assert base.digest == renamed.digest
    for change in ({"weight": 3.0}, {"question": "Is the dose given?"}, {"id": "d"}, {"category": ""}):
        changed = [{**ITEMS[0], **change}, ITEMS[1]]
        assert read_checklist(written(tmp_path, "d.json", {"items": changed})).digest != base.digest
    section = {"section": "subjective", "items": ITEMS}
    assert read_checklist(written(tmp_path, "e.json", section)).digest != base.digest


@pytest.mark.parametrize("name", OWN)
def test_our_own_checklists_are_read_and_written_without_a_remark(tmp_path: Path, name: str) -> None:
    ours = own_checklist(name)
    assert validate(ours) == []
    assert ours.section == "assessment_and_plan"
    again = read_checklist(written(tmp_path, "again.json", checklist_json(ours)))
    assert (again.digest, again.items, again.name) == (ours.digest, ours.items, ours.name)


def test_there_are_twenty_questions_for_assessment_and_plan_and_twelve_to_compare_them_with() -> None:
    assert [len(own_checklist(name).items) for name in OWN] == [20, 12]
    with pytest.raises(Exception, match=r"no checklist called 'baselin'.*Did you mean baseline"):
        own_checklist("baselin")


def test_a_list_of_questions_in_yaml_and_json(tmp_path: Path) -> None:
    questions = ["Is the dose given?", "Is there a follow-up?"]
    for path in (
        written(tmp_path, "a.yaml", yaml.safe_dump(questions)),
        written(tmp_path, "a.json", questions),
        written(tmp_path, "b.yml", yaml.safe_dump({"questions": questions})),
    ):
        read = read_checklist(path)
        assert [(item.id, item.question, item.weight) for item in read.items] == [
            ("q1", questions[0], 1),
            ("q2", questions[1], 1),
        ]
        assert read.name == path.stem


def test_yes_and_no_in_yaml_are_words(tmp_path: Path) -> None:
    text = "items:\n- {id: no, question: 'Is there a dose?'}\n- {id: 2026-01-01, question: 'Is it on?'}\n"
    assert [item.id for item in read_checklist(written(tmp_path, "a.yaml", text)).items] == [
        "no",
        "2026-01-01",
    ]


def test_markdown_with_headings_numbers_boxes_and_long_items(tmp_path: Path) -> None:
    text = """\
# Assessment and plan

Section: assessment_and_plan

Some words about it.

## Medicines ##
- Is the dose of every
  medicine given?
* [ ] Is every stopped medicine named?

## Follow-up
1. Is there a follow-up?
2) Does it say when to call?
"""
    read = read_checklist(written(tmp_path, "list.md", text))
    assert (read.name, read.section) == ("Assessment and plan", "assessment_and_plan")
    assert [(item.category, item.question) for item in read.items] == [
        ("Medicines", "Is the dose of every medicine given?"),
        ("Medicines", "Is every stopped medicine named?"),
        ("Follow-up", "Is there a follow-up?"),
        ("Follow-up", "Does it say when to call?"),
    ]


def test_plain_text_has_a_question_a_line(tmp_path: Path) -> None:
    text = "\ufeffIs the dose given?\r\n\r\n2. Is there a follow-up?\r\n"
    read = read_checklist(written(tmp_path, "list.txt", text))
    assert [item.question for item in read.items] == ["Is the dose given?", "Is there a follow-up?"]


def test_tables_with_weights_categories_and_feedback(tmp_path: Path) -> None:
    text = (
        "id;Question;Weight;Dimension;source feedback;section;who\n"
        "a;Is the dose given?;40;medicines;f1; assessment and plan;me\n"
        "b;Is there a follow-up?;100;;f2;assessment and plan;me\n"
    )
    read = read_checklist(written(tmp_path, "list.csv", text))
    assert [(item.id, item.weight, item.category, item.source_feedback) for item in read.items] == [
        ("a", 40, "medicines", ("f1",)),
        ("b", 100, "", ("f2",)),
    ]
    assert read.section == "assessment_and_plan"
    lines = "\n".join(json.dumps(item) for item in ITEMS)
    assert [item.id for item in read_checklist(written(tmp_path, "a.jsonl", lines)).items] == [
        "dose",
        "follow",
    ]


def test_the_shape_of_a_pdqi_9(tmp_path: Path) -> None:
    rows = "".join(f"{name},how {name.lower()} the note is\n" for name in PDQI)
    described = {name: f"how {name.lower()} the note is" for name in PDQI}
    files = (
        written(tmp_path, "a.csv", "Attribute,Description\n" + rows),
        written(tmp_path, "b.json", {"scale": "1–5", "criteria": described}),
        written(tmp_path, "c.yaml", yaml.safe_dump({"criteria": described}, sort_keys=False)),
        written(
            tmp_path,
            "d.json",
            {"criteria": [{"name": name, "description": text} for name, text in described.items()]},
        ),
    )
    read = [read_checklist(path) for path in files]
    assert {one.digest for one in read} == {read[0].digest}
    assert (read[0].scale, read[0].ends, len(read[0].items)) == ("1-5", (1, 5), 9)
    assert read[0].items[8].id == "internally_consistent"
    assert read[0].items[8].question == "Internally Consistent: how internally consistent the note is"
    assert validate(read[0]) == []
    names = read_checklist(written(tmp_path, "e.json", {"criteria": PDQI[:8]}))
    assert [item.id for item in names.items] == [item.id for item in read[0].items[:8]]
    assert any("has 8 of its 9 attributes" in line for line in validate(names))


def test_rubrics_of_healthbench_one_prompt_at_a_time(tmp_path: Path) -> None:
    lines = "\n".join(json.dumps(rubric_row(ident)) for ident in ("p1", "p2"))
    path = written(tmp_path, "bench.jsonl", lines)
    read = read_checklist(path, row="p2")
    assert (read.name, read.scale) == ("p2", "points")
    assert [item.points for item in read.items] == [7, 5, 10, -6]
    assert [item.category for item in read.items] == ["completeness", "accuracy", "", "accuracy"]
    assert [item.id for item in read.items] == ["q1", "q2", "q3", "q4"]
    with pytest.raises(DataError, match="holds 2 rubrics"):
        read_checklist(path)
    with pytest.raises(Exception, match="no rubric called 'p3'"):
        read_checklist(path, row="p3")


def test_one_rubric_needs_no_prompt_id(tmp_path: Path) -> None:
    row = rubric_row("p1")
    read = [
        read_checklist(written(tmp_path, "a.jsonl", json.dumps(row))),
        read_checklist(written(tmp_path, "a.json", row)),
        read_checklist(written(tmp_path, "b.json", [row])),
        read_checklist(written(tmp_path, "c.json", row["rubrics"])),
        read_checklist(written(tmp_path, "d.csv", "criterion,points\n" + _points(row["rubrics"]))),
    ]
    assert {one.scale for one in read} == {"points"}
    assert {tuple(item.points for item in one.items) for one in read} == {(7, 5, 10, -6)}
    again = read_checklist(written(tmp_path, "again.json", checklist_json(read[0])))
    assert again.digest == read[0].digest
    with pytest.raises(ValueError, match="yes/no"):
        autochecklist_json(read[0])


def test_a_benchmark_of_medhelm(tmp_path: Path) -> None:
    read = read_checklist(benchmark(tmp_path))
    assert (read.name, read.scale, read.ends) == ("LEAFLETS", "1-5", (1, 5))
    assert read.judges == ("maker/one", "maker/two")
    assert [(item.id, item.question) for item in read.items] == [
        (
            "plain_words",
            "Plain words (1 = jargon; 5 = everybody understands it). Abbreviations count as jargon.",
        ),
        ("safety", "Safety: warns where it has to."),
        ("brevity", "Brevity - no longer than a page."),
    ]
    again = read_checklist(written(tmp_path, "again.json", checklist_json(read)))
    assert (again.digest, again.judges) == (read.digest, read.judges)


def test_a_jury_that_grades_from_0(tmp_path: Path) -> None:
    prompt = JUDGE_PROMPT.replace("from 1 to 5", "from 0 to 5").replace("(1 = jargon", "(0 = jargon")
    read = read_checklist(benchmark(tmp_path, prompt=prompt))
    assert (read.scale, read.ends) == ("0-5", (0, 5))


TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=40)
ITEM = st.builds(
    Item,
    id=st.text("abcdef0123456789-_.", min_size=1, max_size=12),
    question=TEXT.map(lambda text: " ".join(text.split())),
    weight=st.floats(0, 100),
    category=TEXT.map(str.strip),
    source_feedback=st.lists(st.text("f0123456789", min_size=1), max_size=3).map(tuple),
)


@settings(deadline=None)
@given(st.lists(ITEM, min_size=1, max_size=5), st.sampled_from(["", "subjective"]))
def test_what_is_written_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, items: list[Item], section: str
) -> None:
    made = Checklist(name="x", items=tuple(items), section=section)
    path = written(tmp_path_factory.mktemp("w"), "a.json", checklist_json(made))
    assert parse_checklist(path).items == made.items
    assert parse_checklist(path).digest == made.digest
    as_yaml = yaml.safe_dump(json.loads(checklist_json(made)), allow_unicode=True)
    assert parse_checklist(written(path.parent, "a.yaml", as_yaml)).digest == made.digest


@settings(deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | TEXT, lambda x: st.lists(x, max_size=3), max_leaves=8
    )
)
def test_plain_values_in_yaml_are_those_of_pyyaml(value: Any) -> None:
    assert yaml_value(yaml.safe_dump(value, allow_unicode=True), "a.yaml") == value


def _points(rubrics: list[dict[str, Any]]) -> str:
    return "".join(f"{one['criterion']},{one['points']}\n" for one in rubrics)
