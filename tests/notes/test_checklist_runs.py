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

    # Another checklist under the same name: scored anew beside the first, the notes are the same.
    small(tmp_path, "yes-no", "dose")
    again = pmbench(
        tmp_path, *RUN, "-o", "checklist=small.json", "-o", "probability=off", *judge(llm_server, **plan)
    )
    assert again.returncode == 0 and results(tmp_path)["scoring"] != found["scoring"]
    assert "requests made now: 0" in again.stdout  # the same question about the same note
    assert len(list((tmp_path / "runs").glob("*/*/*"))) == 1


def test_a_server_that_is_down_leaves_no_score(tmp_path, llm_server) -> None:
    down = judge(llm_server, faults=[{"kind": "401"}])
    done = pmbench(tmp_path, *RUN, *small(tmp_path), *down)
    assert done.returncode != 0
    down = judge(llm_server, faults=[{"kind": "400", "code": "context_length_exceeded"}])
    done = pmbench(tmp_path, *RUN, *small(tmp_path), *down)
    assert done.returncode == 1
    assert results(tmp_path)["counts"]["failures"] == {"too-long": 3}
    run = next((tmp_path / "runs").glob("*/*/*"))
    with pytest.raises(DataError, match=r"not one of its texts has a score \(too-long 3\)"):
        questions_of(str(run), tmp_path)


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


def scorings(folder: Path) -> dict[str, Any]:
    """The results of each scoring of the only run, by the checklist that it was made with."""
    (run,) = (folder / "runs").glob("notes-checklist/*/*")
    found = [json.loads(path.read_text()) for path in run.glob("scores/*/results.json")]
    return {one["options"]["checklist"]: one for one in found}


def test_another_checklist_scores_the_same_notes_and_both_results_are_kept(tmp_path, llm_server) -> None:
    for name, questions in (("one.json", ("dose",)), ("two.json", ("dose", "return"))):
        text = checklist_json(checklist(*questions, section="assessment_and_plan"))
        (tmp_path / name).write_text(text)
    chosen = judge(llm_server, answers=answers(YES, NO))
    writer = f"openai:writer?base_url={llm_server.v1}"
    command = ["run", "-t", "notes-checklist", "-d", "demo", "-m", writer, "-n", "2", *chosen,
               "-o", "probability=off"]  # fmt: skip
    for name in ("one.json", "two.json"):
        done = pmbench(tmp_path, *command, "-o", f"checklist={name}")
        assert done.returncode == 0, done.stderr
    # Two notes; one question about each; then one question more about each.
    assert llm_server.stats(log=False)["by_status"] == {"200": 6}
    found = scorings(tmp_path)
    value = {name: one["metrics"]["checklist_score"]["value"] for name, one in found.items()}
    assert value == {"one.json": 1.0, "two.json": 0.5}
    assert {one["run"] for one in found.values()} == {found["one.json"]["run"]}

    # Each scoring is shown with its own questions.
    run = found["one.json"]["run"][:12]
    for name, asks_return in (("one.json", False), ("two.json", True)):
        shown = pmbench(tmp_path, "show", run, "--scoring", found[name]["scoring"][:12])
        assert ("return: Is the next visit named?" in shown.stdout) == asks_return, shown.stdout
        assert f"checklist={name}" in shown.stdout
    listed = pmbench(tmp_path, "runs")
    assert "checklist=one.json" in listed.stdout and "checklist=two.json" in listed.stdout
    asked = pmbench(tmp_path, "checklist", "questions", run, "--scoring", found["one.json"]["scoring"][:8])
    assert "dose" in asked.stdout and f"(see --scoring): {found['two.json']['scoring'][:12]}" in asked.stdout
    assert "Is the next visit named?" not in asked.stdout
    none = pmbench(tmp_path, "checklist", "questions", run, "--scoring", "nosuch")
    assert none.returncode == 2 and len(none.stderr.splitlines()) == 1, none.stderr
    # They are numbers of two checklists: never one table.
    board = pmbench(tmp_path, "leaderboard", "-t", "notes-checklist", "-o", "-")
    assert board.returncode == 0, board.stderr
    assert r"options: checklist=one\.json" in board.stdout, board.stdout
    assert r"options: checklist=two\.json" in board.stdout and "Table 2 of 2" in board.stdout
    dry = pmbench(tmp_path, *command, "-o", "checklist=two.json", "--dry-run")
    assert "option    checklist=two.json" in dry.stdout

    # The first one again: nothing is asked, and the second one stays.
    done = pmbench(tmp_path, *command, "-o", "checklist=one.json")
    assert "requests made now: 0" in done.stdout and len(scorings(tmp_path)) == 2


@pytest.mark.parametrize("option", ["ask=batch", "section=objective_exam"])
def test_what_only_scoring_reads_makes_no_new_run(tmp_path, llm_server, option: str) -> None:
    chosen = judge(llm_server, answers={"Answer every question": "none", **answers(YES, NO, YES)})
    command = [*RUN, *small(tmp_path), *chosen]
    assert pmbench(tmp_path, *command).returncode == 0
    first = results(tmp_path)
    pmbench(tmp_path, *command, "-o", option)
    second = results(tmp_path)
    assert first["run"] == second["run"] and first["scoring"] != second["scoring"]
    name, _, value = option.partition("=")
    assert second["options"][name] == value and first["options"][name] != value


def test_by_section_writes_other_notes_for_another_section(tmp_path, llm_server) -> None:
    chosen = judge(llm_server, answers=answers(YES, NO, YES))
    writer = f"openai:writer?base_url={llm_server.v1}"
    command = ["run", "-t", "notes-checklist", "-d", "demo", "-m", writer, "-n", "1", "-s", "by-section",
               "--json", "out.json", *small(tmp_path), *chosen]  # fmt: skip
    runs = []
    for section in ("", "objective_exam", "whole"):
        done = pmbench(tmp_path, *command, "-o", f"section={section}")
        assert done.returncode == 0, done.stderr
        runs.append(results(tmp_path)["run"])
    assert len(set(runs)) == 3


def test_retry_failed_asks_for_the_answers_whose_request_failed_alone(tmp_path, llm_server) -> None:
    fault = {"kind": "400", "contains": QUESTIONS["return"]}
    command = [*RUN, *small(tmp_path), *judge(llm_server, answers=answers(YES, NO, YES), faults=[fault])]
    done = pmbench(tmp_path, *command)
    found = results(tmp_path)
    assert done.returncode == 0 and found["counts"]["scored"] == found["counts"]["partial"] == 3
    assert found["metrics"]["missing_share"]["value"] == pytest.approx(1 / 3)
    assert any("--retry-failed" in line for line in found["findings"])

    llm_server.control(answers=answers(YES, NO, YES))
    before = llm_server.stats(log=False)["by_status"]["200"]
    assert "requests made now: 0" in pmbench(tmp_path, *command).stdout  # not unasked
    done = pmbench(tmp_path, *command, "--retry-failed")
    assert "requests made now: 3" in done.stdout, done.stdout
    assert llm_server.stats(log=False)["by_status"]["200"] == before + 3
    found = results(tmp_path)
    assert found["counts"]["partial"] == 0 and found["metrics"]["missing_share"]["value"] == 0
    assert found["metrics"]["checklist_score"]["value"] == pytest.approx(2 / 3)
    # What is whole is not asked for again.
    assert "requests made now: 0" in pmbench(tmp_path, *command, "--retry-failed").stdout


def test_a_run_of_another_task_has_no_questions(tmp_path) -> None:
    with pytest.raises(DataError):
        questions_of("0123", tmp_path)
