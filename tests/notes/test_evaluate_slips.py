"""Slips in what `pmbench checklist evaluate` is given: counted and shown, or refused, never dropped in silence."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from given_evaluation import DOSE, LABELS, OURS, PROBLEM, RETURN, VISITS, scripts, words, write_given
from given_pipeline import pmbench
from given_stage_parts import Answering, run

from pmbench import DataError, Response, read_table
from pmbench_tasks.notes.checklist import Checklist, Item, read_checklist
from pmbench_tasks.notes.checklist_judge import ChecklistJudge
from pmbench_tasks.notes.checklist_options import NoteOptions
from pmbench_tasks.notes.evaluation.given import Notes
from pmbench_tasks.notes.evaluation.human import read_labels
from pmbench_tasks.notes.evaluation.measuring import twofold
from pmbench_tasks.notes.evaluation.reading_given import read_checklists, unknown_questions
from pmbench_tasks.notes.note_task import NotesChecklist
from pmbench_tasks.notes.pipeline.references import read_references, read_visits


@pytest.fixture
def server(llm_server: Any, tmp_path: Path, plain_environment: None, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    write_given(tmp_path)
    llm_server.control(answers=scripts())
    return llm_server


def write_labels(path: Path, *more: tuple[str, ...], head: str = "visit,draft,question,annotator1") -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([head.split(","), *more])
    return path


def test_labels_of_a_question_that_nobody_has_are_counted_and_shown(server: Any, tmp_path: Path) -> None:
    write_labels(tmp_path / "labels.csv", *LABELS, ("v1", "good", "q22", "no"), ("v2", "note", "q22", "no"))
    done = pmbench(tmp_path, *words(server.v1, "--perturbations", "none", "--tests", "0", "--again", "0"))
    assert done.returncode == 0, done.stderr
    told = "2 labels of labels.csv are of questions that no checklist has, and not used: 'q22' (did you mean 'q2'?)"
    assert f"**{told}**" in done.stdout and f"**{told}**" in (tmp_path / "out" / "table.md").read_text()
    assert told in json.loads((tmp_path / "out" / "evaluation.json").read_text())["cautions"]
    assert "## Which is better\n\n- **Coverage**: ours and base cannot be told apart" in done.stdout
    assert "**Preferences**: ours and base cannot be told apart" in done.stdout


@pytest.mark.parametrize(
    ("head", "rows", "said"),
    [
        (
            "visit,draft,question,annotator1",
            [("v1", "good", "Q1", "yes"), ("v1", "gaps", "p7", "yes")],
            "no checklist has any of its 2 questions: 'Q1' (did you mean 'q1'?), 'p7'",
        ),
        (
            "visit,version,question,annotator1",
            [("v1", "gaps", "q1", "no")],
            "has no column 'draft', and 'version' is taken for nothing",
        ),
    ],
)
def test_labels_that_cannot_be_meant_so_are_refused_in_one_line(
    server: Any, tmp_path: Path, head: str, rows: list[tuple[str, ...]], said: str
) -> None:
    write_labels(tmp_path / "labels.csv", *rows, head=head)
    done = pmbench(tmp_path, *words(server.v1))
    assert done.returncode == 2 and said in done.stderr, done.stderr
    assert len(done.stderr.splitlines()) == 1 and not done.stdout and not (tmp_path / "out").exists()
    assert "200" not in server.stats(log=False)["by_status"]


def test_empty_rewritings_are_no_unit_tests(server: Any, tmp_path: Path) -> None:
    empty = dict.fromkeys(
        ("Rewrite the section so that", "Nothing is left of the text"), json.dumps({"rewritten": ""})
    )
    server.control(answers={**scripts(), **empty})
    done = pmbench(tmp_path, *words(server.v1, "--perturbations", "none", "--again", "0"))
    assert done.returncode == 0, done.stderr
    ours, base = json.loads((tmp_path / "out" / "evaluation.json").read_text())["evaluations"]
    assert ours["enforceability"]["mean"]["value"] is None and ours["enforceability"]["untested"] == 3
    # Two of three questions have three passing notes each, and so have both of the other checklist.
    assert (ours["enforceability"]["not_rewritten"], base["enforceability"]["not_rewritten"]) == (6, 6)
    assert "no unit tests, for the model rewrote none of 6 passing notes" in done.stdout
    assert "ours: not rewritten: 6 times the model was to make a passing note fail" in done.stdout
    assert (
        "**Enforceability**: ours and base were not compared (too few unit tests of one of them)."
        in done.stdout
    )


def test_feedback_is_counted_alike_everywhere(server: Any, tmp_path: Path) -> None:
    with (tmp_path / "feedback.csv").open("w", newline="", encoding="utf-8") as file:
        rows = [("r1", "no dose for the metformin", "A&P"), ("r2", " ", ""), ("r3", "fix this", "A&P")]
        csv.writer(file).writerows([("Nr", "Comment", "Section"), *rows])
    model = f"openai:m?base_url={server.v1}"
    given = [
        "ours.json",
        "--feedback",
        "feedback.csv",
        "-m",
        model,
        "--embedder",
        f"openai:embed?base_url={server.v1}",
    ]
    dry = pmbench(tmp_path, "evaluate", *given, "--out", "out", "--dry-run")
    assert "feedback.csv: 2 of 3 rows of feedback" in dry.stdout, dry.stderr
    assert "feedback.csv: not read: 'Nr'; --columns id=Nr would take it for the id" in dry.stdout
    done = pmbench(tmp_path, "evaluate", *given, "--out", "out")
    assert done.returncode == 0, done.stderr
    assert "1 of 3 rows of feedback used; not used: 1 no text, 1 two words or fewer" in done.stdout
    assert "feedback.csv: read is feedback from 'Comment'; --columns decides" in done.stderr


def test_a_slip_is_taken_for_the_question_that_has_no_label(tmp_path: Path) -> None:
    rows = [("v1", "note", name, "yes") for name in ("q01", "q02", "q33")]
    labels = read_labels(write_labels(tmp_path / "l.csv", *rows))
    (line,) = unknown_questions(labels, ["q01", "q02", "q03"], "l.csv")
    assert (
        line
        == "1 label of l.csv is of a question that no checklist has, and not used: 'q33' (did you mean 'q03'?)"
    )
    assert unknown_questions(labels, ["q01", "q02", "q33"], "l.csv") == []
    with pytest.raises(DataError, match="any of its 3 questions"):
        unknown_questions(labels, ["b01"], "l.csv")


def test_an_id_that_stands_for_two_questions_is_pointed_out(tmp_path: Path) -> None:
    labels = read_labels(
        write_labels(tmp_path / "l.csv", ("v1", "note", "a", "yes"), ("v1", "note", "b", "yes"))
    )
    mine = Checklist(name="mine", items=(Item(id="a", question=DOSE), Item(id="b", question=RETURN)))
    other = Checklist(name="other", items=(Item(id="a", question=DOSE), Item(id="b", question=PROBLEM)))
    (line,) = twofold([mine, other], labels)
    assert line.startswith("labels of 'b' count for several checklists")
    assert not list(twofold([mine, mine], labels)) and not list(twofold([mine, other], None))


def prompt(checklist: Checklist, transcript: str, text: str) -> list[str]:
    """What a judge is sent about a text."""
    model = Answering(lambda _: '{"answer": "yes", "quote": ""}')
    run(ChecklistJudge(model, probability="off").ask(checklist, transcript, text))
    return model.asked


@pytest.mark.parametrize("section", ["assessment_and_plan", ""])
def test_a_judge_reads_the_same_in_evaluate_and_build_as_in_run(tmp_path: Path, section: str) -> None:
    path = tmp_path / "mine.json"
    items = [{"id": "a", "question": DOSE}, {"id": "b", "question": PROBLEM}]
    path.write_text(json.dumps({"section": section, "items": items}))
    given = tmp_path / "notes.jsonl"
    given.write_text("".join(json.dumps(one) + "\n" for one in VISITS))
    task, checklist = NotesChecklist(NoteOptions(checklist=str(path))), read_checklist(path)
    notes = Notes(read_visits(str(given)), section)
    built = {one.id: one for one in read_references(str(given), section)}
    for instance, visit in zip(task.instances(read_table(given)), VISITS, strict=True):
        source = instance.inputs["transcript"]
        for column in ("note", "good", "gaps"):
            in_run = prompt(checklist, source, task.judged(instance, Response(visit[column])))
            found = notes.find(f"{visit['id']}/{column}")
            assert found is not None and prompt(checklist, found.transcript, found.text) == in_run
            assert ("ASSESSMENT AND PLAN" in in_run[0]) is (not section)
        whole = task.judged(instance, Response(visit["note"]))
        assert prompt(checklist, built[visit["id"]].transcript, built[visit["id"]].text) == prompt(
            checklist, source, whole
        )


def test_a_section_that_stands_alone_in_the_data_is_read_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "notes.jsonl"
    row = {"id": "a", "transcript": "[doctor] Rest.", "note": "PLAN: Rest.", "section": "assessment_and_plan"}
    path.write_text(json.dumps(row) + "\n")
    checklist = tmp_path / "mine.json"
    checklist.write_text(
        json.dumps({"section": "assessment_and_plan", "items": [{"id": "a", "question": DOSE}]})
    )
    task = NotesChecklist(NoteOptions(checklist=str(checklist)))
    (instance,) = task.instances(read_table(path))
    found = Notes(read_visits(str(path)), "assessment_and_plan").find("a")
    assert found is not None
    assert found.text == task.judged(instance, Response("PLAN: Rest.")) == "PLAN: Rest."
    assert read_references(str(path), "assessment_and_plan")[0].text == "PLAN: Rest."


def test_our_own_checklists_have_short_names_in_tables(tmp_path: Path) -> None:
    write_given(tmp_path)
    found = read_checklists([str(tmp_path / "ours.json"), "baseline", "assessment-and-plan"], "")
    assert [one.name for one in found] == ["ours", "baseline", "assessment-and-plan"]
    assert {item.id for item in found[0].items} == set(OURS)
