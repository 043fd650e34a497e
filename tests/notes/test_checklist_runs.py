"""Runs of the checklist tasks from the command line, judged by servers whose every answer is known."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from given_checklists_asked import QUESTIONS, checklist

from pmbench import DataError
from pmbench_tasks.notes.checklist import Scale, checklist_json
from pmbench_tasks.notes.questions import questions_of
from pmbench_tasks.notes.questions_command import questions_command

pytestmark = pytest.mark.usefixtures("plain_environment")

RUN = ["run", "-t", "notes-checklist", "-d", "demo", "-m", "replay:@note", "-n", "3", "--json", "out.json"]


def pmbench(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pmbench", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)


def small(folder: Path, scale: Scale = "yes-no", *questions: str) -> list[str]:
    path = folder / "small.json"
    path.write_text(checklist_json(checklist(*questions, scale=scale, section="assessment_and_plan")))
    return ["-o", "checklist=small.json", "-o", "probability=off"]


def judge(server: Any, **plan: Any) -> list[str]:
    server.control(**plan)
    return ["-j", f"checklist=openai:judge?base_url={server.v1}"]


def answers(dose: str, returns: str, reason: str = "") -> dict[str, str]:
    return dict(zip(QUESTIONS.values(), (dose, returns, reason), strict=True))


def results(folder: Path) -> Any:
    return json.loads((folder / "out.json").read_text())


YES, NO = '{"answer": "yes", "quote": "never written anywhere"}', '{"answer": "no", "quote": ""}'


def test_a_run_with_missing_answers_says_what_they_could_have_made_of_it(tmp_path, llm_server) -> None:
    plan = {"answers": {**answers(YES, NO, "Well."), "could not be read": "Well, well."}}
    done = pmbench(tmp_path, *RUN, *small(tmp_path), *judge(llm_server, **plan))
    assert done.returncode == 0, done.stderr
    found = results(tmp_path)
    assert found["counts"]["scored"] == 3 and found["primary"] == "checklist_score"
    value = {name: one["value"] for name, one in found["metrics"].items()}
    assert (value["checklist_score"], value["score_low"], value["score_high"]) == pytest.approx(
        (1 / 2, 1 / 3, 2 / 3)
    )
    assert value["missing_share"] == pytest.approx(1 / 3)
    assert (value["question_dose"], value["question_return"], value["question_reason"]) == (1, 0, None)
    assert any("3 of 9 answers are missing" in line for line in found["findings"])
    assert (
        "dose: Is the dose of the ibuprofen there?" in done.stdout and "was not measured here" in done.stdout
    )
    run = next((tmp_path / "runs").glob("*/*/*"))
    shown = pmbench(tmp_path, "show", str(run))
    assert "return: Is the next visit named?" in shown.stdout
    one = pmbench(tmp_path, "show", str(run), "-i", "visit-01")
    assert "1 yes (=), 1 no (-), 1 missing" in one.stdout and "which stands nowhere" in one.stdout

    told = questions_of(str(run), tmp_path)
    assert [(rate.item, rate.answered, rate.missing) for rate in told.rates] == [
        ("dose", 3, {}),
        ("return", 3, {}),
        ("reason", 0, {"unparsed": 3}),
    ]
    assert (told.rates[2].rate.least, told.rates[2].rate.most) == (0, 1)
    assert (told.rates[0].quotes, told.rates[0].found) == (3, 0)
    printed = CliRunner().invoke(questions_command, [str(run)])
    assert printed.exit_code == 0 and "missing 3 of 3: unparsed 3" in printed.stdout
    as_json = CliRunner().invoke(questions_command, [str(run), "--json"])
    assert len(json.loads(as_json.stdout)["rates"]) == 3

    # Another checklist under the same name: scored anew, the notes are the same.
    small(tmp_path, "yes-no", "dose")
    again = pmbench(
        tmp_path, *RUN, "-o", "checklist=small.json", "-o", "probability=off", *judge(llm_server, **plan)
    )
    assert again.returncode == 0 and results(tmp_path)["scoring"] != found["scoring"]
    assert "requests made now: 0" in again.stdout  # the same question about the same note


def test_a_server_that_is_down_leaves_no_score(tmp_path, llm_server) -> None:
    down = judge(llm_server, faults=[{"kind": "401"}])
    done = pmbench(tmp_path, *RUN, *small(tmp_path), *down)
    assert done.returncode != 0
    down = judge(llm_server, faults=[{"kind": "400", "code": "context_length_exceeded"}])
    done = pmbench(tmp_path, *RUN, *small(tmp_path), *down)
    assert done.returncode == 1
    assert results(tmp_path)["counts"]["failures"] == {"too-long": 3}


def test_several_judges_of_grades_make_one_mean(tmp_path, llm_servers) -> None:
    """MedHELM's jury: the mean over judges and criteria. Its zero for an answer that is missing is not there."""
    said = [('{"grade": 5}', '{"grade": 4}'), ('{"grade": 2}', "none"), ('{"grade": 1}', '{"grade": 3}')]
    judges: list[str] = []
    for dose, returns in said:
        judges += judge(llm_servers(), answers={**answers(dose, returns), "could not be read": "none"})
    done = pmbench(tmp_path, *RUN, *small(tmp_path, "1-5", "dose", "return"), *judges)
    assert done.returncode == 0, done.stderr
    value = [one["metrics"]["mean_grade"]["value"] for one in results(tmp_path)]
    assert value == [4.5, 2, 2]
    found = questions_of(str(next((tmp_path / "runs").glob("*/*/*"))), tmp_path)
    assert len(found.judges) == 3 and found.jury is not None
    assert found.jury.value == pytest.approx((5 + 4 + 2 + 1 + 3) / 5)
    assert found.jury.missing == 3
    assert (found.jury.least, found.jury.most) == pytest.approx((16 / 6, 20 / 6))


def test_a_run_of_another_task_has_no_questions(tmp_path) -> None:
    with pytest.raises(DataError):
        questions_of("0123", tmp_path)
