"""`pmbench checklist update` and `baseline`: what new feedback adds, and a checklist without any."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from given_pipeline import answers, pmbench, write_feedback

from pmbench_tasks.notes import read_checklist

DOSE, AGAIN = (
    "Does every medicine that the section names carry its dose?",
    "Is the next visit named in the section?",
)
LOST = "Does every step that hangs on a condition keep its condition?"
USELESS = "Is the section in the language of the visit?"

NEW = (
    ("n1", "dose of warfarin is missing", "2", "assessment_and_plan"),
    ("n2", "if no better then MRI: the if is gone", "1", "assessment_and_plan"),
    ("n3", "backup plan when the culture is resistant got lost", "2", "assessment_and_plan"),
    ("n4", "billing code would be nice", "4", "assessment_and_plan"),
    ("n5", "no idea what it covers", "4", "assessment_and_plan"),
)


def checklist(folder: Path) -> Path:
    path = folder / "mine.json"
    items = [
        {"id": "q02", "question": DOSE, "weight": 100, "source_feedback": ["f1"]},
        {"id": "ap3", "question": AGAIN, "weight": 60},
    ]
    path.write_text(json.dumps({"name": "mine", "section": "assessment_and_plan", "items": items}))
    return path


@pytest.fixture
def told(
    llm_server: Any, tmp_path: Path, plain_environment: None, monkeypatch: pytest.MonkeyPatch
) -> list[str]:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    write_feedback(tmp_path / "new.csv", NEW)
    checklist(tmp_path)
    about = {f"n{n}": {"about": "assessment_and_plan"} for n in range(1, 6)}
    again = {f"n{n}": {"yes_is_good": True, "reworded": ""} for n in range(1, 4)}
    fits = {f"n{n}": {"reason": "", "every_visit": True, "this_section_only": True} for n in range(1, 3)}
    # The uncovered ones in the order in which the proposer is shown them.
    shown = ["n2", "n3", "n4"]
    random.Random(0).shuffle(shown)
    number = {ident: place for place, ident in enumerate(shown, 1)}
    questions = [
        {"question": LOST, "feedback": [number["n2"], number["n3"]]},
        {"question": DOSE.lower(), "feedback": [number["n4"]]},
        {"question": USELESS, "feedback": [number["n4"]]},
    ]
    new = f"1. {LOST}"  # the first question is another one when the new ones are assigned
    llm_server.control(
        answers={
            "Sort every remark.": answers(**about),
            "Write the questions.": json.dumps({"questions": questions}),
            "Which way round is each?": answers(**again),
            "Decide on every question.": answers(**fits),
            f"{new}\n2. {USELESS}\n\n<feedback>{NEW[3][1]}": '{"covering": []}',
            new: '{"covering": [1]}',
            f"<feedback>{NEW[0][1]}": '{"covering": [1]}',
            f"<feedback>{NEW[4][1]}": "hm",
            "<feedback>": '{"covering": []}',
            "Answer again": "hm",
        }
    )
    model = f"openai:m?base_url={llm_server.v1}"
    return ["-m", model, "--embedder", f"openai:embed?base_url={llm_server.v1}", "--threshold", "0.99"]


def test_only_what_is_not_covered_yet_leads_to_new_questions(
    told: list[str], llm_server: Any, tmp_path: Path
) -> None:
    done = pmbench(tmp_path, "update", "mine.json", "--feedback", "new.csv", *told, "--out", "next.json")
    assert done.returncode == 0, done.stderr
    assert "covered before: 1 of 4; after: 3" in done.stdout and "added: q03" in done.stdout
    assert "no usable answer (coverage): 1 unreadable" in done.stdout
    before, after = read_checklist(tmp_path / "mine.json"), read_checklist(tmp_path / "next.json")
    assert after.items[:2] == before.items and after.section == before.section
    (new,) = after.items[2:]
    assert (new.id, new.question, new.weight) == ("q03", LOST, 80.0)
    assert new.source_feedback == ("n2", "n3")
    metadata = json.loads((tmp_path / "next.json").read_text())["metadata"]
    assert metadata["added_to"] == before.digest
    why = {one["question"]: one["why"] for one in metadata["dropped"]}
    assert why == {
        DOSE.lower(): "close to x1, which is there already",
        USELESS: "it covers nothing of what was not covered",
    }
    made = llm_server.stats()["requests"]
    again = pmbench(tmp_path, "update", "mine.json", "--feedback", "new.csv", *told, "--out", "next.json")
    assert again.returncode == 0 and llm_server.stats()["requests"] == made


def test_where_all_is_covered_nothing_is_proposed(told: list[str], llm_server: Any, tmp_path: Path) -> None:
    write_feedback(tmp_path / "new.csv", NEW[:1])
    done = pmbench(tmp_path, "update", "mine.json", "--feedback", "new.csv", *told, "--out", "next.json")
    assert done.returncode == 0, done.stderr
    assert "covered before: 1 of 1; after: 1" in done.stdout and "added: nothing" in done.stdout
    assert read_checklist(tmp_path / "next.json").digest == read_checklist(tmp_path / "mine.json").digest
    assert llm_server.stats()["requests"] == 2


def test_what_cannot_grow_is_refused_before_anything_is_asked(
    told: list[str], llm_server: Any, tmp_path: Path
) -> None:
    (tmp_path / "rubric.json").write_text(
        json.dumps({"items": [{"id": "a", "question": "Names the dose", "points": 5}], "scale": "points"})
    )
    for path, out, why in (
        ("rubric.json", "next.json", "its scale is points"),
        ("mine.json", "mine.json", "this is the checklist itself"),
        ("mine.json", "next.txt", "is to hold JSON"),
        ("none.json", "next.json", "there is no such file"),
    ):
        done = pmbench(tmp_path, "update", path, "--feedback", "new.csv", *told, "--out", out)
        assert done.returncode == 2 and why in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr
    assert llm_server.stats()["requests"] == 0


def test_a_baseline_needs_no_feedback(told: list[str], llm_server: Any, tmp_path: Path) -> None:
    fine = {"yes_is_good": True, "reworded": ""}
    fits = {"reason": "", "every_visit": True, "this_section_only": True}
    llm_server.control(
        answers={
            "Write the 2 questions": '{"questions": [{"question": "Is it complete?"}, {"question": "Is it right?"}]}',
            "Which way round is each?": answers(n1=fine, n2=fine),
            "Decide on every question.": answers(n1=fits, n2={**fits, "every_visit": False}),
        }
    )
    done = pmbench(
        tmp_path, "baseline", "--count", "2", *told, "--out", "base.json", "--section", "Subjective"
    )
    assert done.returncode == 0, done.stderr
    found = read_checklist(tmp_path / "base.json")
    assert found.section == "subjective"
    assert [(one.id, one.question, one.source_feedback) for one in found.items] == [
        ("b01", "Is it complete?", ())
    ]
    assert (tmp_path / "base-stages" / "2-proposed.json").exists()
