"""notes-checklist: which part of a note is judged, what stands under the numbers, and how one note is shown."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from given_checklists_asked import ScriptedJudge, checklist
from given_notes import NOTE

from pmbench import ConfigError, DataError, Instance, JudgeParts, Record, Response, Score, UnknownName
from pmbench.data.loading import load
from pmbench_tasks.notes.checklist import checklist_json
from pmbench_tasks.notes.checklist_judge import ChecklistJudge
from pmbench_tasks.notes.checklist_metrics import METRICS
from pmbench_tasks.notes.judge_role import SMALL_CAUTION
from pmbench_tasks.notes.note_task import NotesChecklist

YES, NO = '{"answer": "yes", "quote": "Knee sprain"}', '{"answer": "no", "quote": "never written"}'


def task(**options: str) -> NotesChecklist:
    return NotesChecklist(NotesChecklist.parse_options(options))


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A file with the small checklist, for the assessment and plan."""
    path = tmp_path / "small.json"
    path.write_text(checklist_json(checklist(section="assessment_and_plan")))
    return path


def visits(path: Path, *rows: dict[str, Any]) -> str:
    full = [
        {"id": f"v{n}", "transcript": "[doctor] Ice.", "note": NOTE, **row} for n, row in enumerate(rows, 1)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in full))
    return str(path)


def judged(one: NotesChecklist, response: Response, **target: Any) -> str:
    return one.judged(Instance("1", {"transcript": "Ice."}, {"note": "", "only": "", **target}), response)


def scored(one: NotesChecklist, judge: ScriptedJudge, text: str = NOTE) -> tuple[Instance, Response, Score]:
    instance, response = Instance("v1", {"transcript": "[doctor] Ice."}, {"only": ""}), Response(text)
    score = asyncio.run(one.score(instance, response, {"checklist": ChecklistJudge(judge)}))
    return instance, response, score


def test_of_a_whole_note_the_section_of_the_checklist_is_judged(small: Path) -> None:
    one = task(checklist=str(small))
    text = judged(one, Response(NOTE))
    assert text.startswith("Knee sprain.") and text.endswith("Back in 2 weeks.") and "Effusion" not in text
    assert judged(task(checklist=str(small), section="objective-exam"), Response(NOTE)).startswith("• Knee")
    assert judged(task(checklist=str(small), section="whole"), Response(NOTE)) == NOTE.strip()


def test_divisions_that_a_strategy_gives_are_taken_as_they_are(small: Path) -> None:
    one = task(checklist=str(small))
    given = {"assessment_and_plan": "ASSESSMENT AND PLAN\n\nRest."}
    assert judged(one, Response(NOTE, {"sections": given})) == "Rest."
    assert judged(one, Response(NOTE, {"sections": {"assessment_and_plan": ""}})) == ""


@pytest.mark.parametrize(
    "text", ["", "HPI: He fell.", "HPI: He fell.\nASSESSMENT AND PLAN\n#####EMPTY#####."]
)
def test_a_note_without_the_section_is_scored_and_counted(small: Path, text: str) -> None:
    judge = ScriptedJudge([NO, NO, NO])
    one = task(checklist=str(small))
    _, _, score = scored(one, judge, text)
    assert score.stats["empty"] == 1 and score.stats["score"] == 0 and len(judge.requests) == 3
    told = list(one.findings({"v1": score}))
    assert any("nothing was written" in line and "v1" in line for line in told)


def test_demo_visits_are_instances_with_what_a_strategy_needs() -> None:
    one = task()
    data = load(one, "demo")
    assert len(data.instances) == 8
    for instance in data.instances:
        assert set(instance.inputs) == {"transcript"}
        assert one.strategy("by-section")[1].estimate(instance.inputs, one.option) == (1, 1)
        assert str(instance.target["note"]) not in str(instance.inputs)
    told = list(one.remarks(data.instances))
    assert any("20 items" in line and "assessment_and_plan" in line for line in told)


def test_a_row_with_another_section_alone_is_refused(tmp_path: Path, small: Path) -> None:
    path = visits(tmp_path / "v.jsonl", {}, {"note": "Swollen.", "section": "objective_exam"})
    with pytest.raises(DataError) as raised:
        load(task(checklist=str(small)), path)
    assert "row 2" in str(raised.value) and "-o section=objective_exam" in str(raised.value)
    assert "Swollen" not in str(raised.value)
    exam = task(checklist=str(small), section="objective_exam")
    assert [one.id for one in load(exam, path).instances] == ["v1", "v2"]


def test_what_is_missing_and_why_stands_under_the_numbers(small: Path) -> None:
    one = task(checklist=str(small))
    _, _, score = scored(one, ScriptedJudge([YES, "well", "well", NO]))
    assert (score.stats["score"], score.stats["low"], score.stats["high"]) == (1 / 2, 1 / 3, 2 / 3)
    told = "\n".join(one.findings({"v1": score}))
    assert "1 of 3 answers are missing, in 1 of 1 notes (could not be read: 1): 'v1'" in told
    assert "neither as yes nor as no" in told and "reason 0 of 1" in told
    assert "Knee" not in told


def test_one_note_is_shown_with_each_answer_its_quote_and_why_there_is_none(small: Path) -> None:
    one = task(checklist=str(small))
    instance, response, score = scored(one, ScriptedJudge([YES, "well", "well", NO], chances=[0.25, 0.5]))
    view = NotesChecklist.views["checklist"]
    blocks = view(Record(instance, response, score))
    assert not isinstance(blocks, str)
    *_, last = blocks
    assert last.title == "small: 1 yes (=), 1 no (-), 1 missing"
    assert [line.mark for line in last.lines] == ["kept", "", "deleted"]
    assert last.lines[0].beside == "yes; probability of yes 0.25; “Knee sprain”"
    assert last.lines[1].beside == "no answer (unparsed)"
    assert last.lines[2].beside == "no; probability of yes 0.50; “never written”, which stands nowhere"
    assert "Back in 2 weeks" in str(blocks)
    for record in (Record(instance, response, None), Record(instance, None, None)):
        assert view(record)


def test_a_file_that_is_changed_gives_other_scores_and_one_that_is_moved_the_same(small: Path) -> None:
    def about(path: Path) -> Any:
        one = task(checklist=str(path))
        judge = one.judges["checklist"].build(JudgeParts(ScriptedJudge([]), None, one.option))
        return judge.describe()

    first = about(small)
    moved = small.with_name("moved.json")
    moved.write_bytes(small.read_bytes())
    assert about(moved) == first
    small.write_text(checklist_json(checklist("dose", section="assessment_and_plan")))
    assert about(small) != first


def test_a_checklist_that_is_not_there_or_not_usable_is_said(tmp_path: Path) -> None:
    for options, kind, words in (
        ({"checklist": "assesment"}, UnknownName, "assessment-and-plan"),
        ({"checklist": str(tmp_path / "gone.json")}, DataError, "gone.json"),
        ({"section": "plann"}, UnknownName, "section"),
    ):
        with pytest.raises(kind) as raised:
            load(task(**options), "demo")
        assert words in str(raised.value)


def test_a_run_can_be_shown_when_its_checklist_has_gone(small: Path) -> None:
    there = task(checklist=str(small))
    assert [one.name for one in there.metrics[-3:]] == ["question_dose", "question_return", "question_reason"]
    small.unlink()
    assert task(checklist=str(small)).metrics == METRICS


def test_requests_are_counted_by_the_questions(small: Path) -> None:
    instance = Instance("1", {}, {})
    for options, ends in (
        ({}, (3, 9)),
        ({"probability": "off"}, (3, 6)),
        ({"ask": "batch"}, (1, 2)),
    ):
        role = task(checklist=str(small), **options).judges["checklist"]
        assert role.requests(instance, role.options()) == ends


def test_the_embedded_model_is_no_judge_and_says_so() -> None:
    assert NotesChecklist.cautions({"checklist": "smollm2-135m"}) == [SMALL_CAUTION]
    assert "135 million" in SMALL_CAUTION and "trying" in SMALL_CAUTION
    assert "not measured" in NotesChecklist.cautions({"checklist": "qwen3-4b"})[0]
    one = task()
    with pytest.raises(ConfigError, match="checklist=embedded"):
        one.judges["checklist"].build(JudgeParts(None, None, one.option))


def test_rubrics_of_points_and_grades_are_scored_too(tmp_path: Path) -> None:
    points = msgspec.structs.replace(checklist("dose", "reason"), scale="points")
    items = tuple(
        msgspec.structs.replace(item, points=worth)
        for item, worth in zip(points.items, (4.0, -2.0), strict=True)
    )
    path = tmp_path / "rubric.json"
    path.write_text(checklist_json(msgspec.structs.replace(points, items=items)))
    _, _, score = scored(task(checklist=str(path)), ScriptedJudge([YES, YES]))
    assert score.stats["score"] == 0.5
