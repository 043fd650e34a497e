"""`pmbench checklist evaluate` without answers: rows stay, what is not there is named, and the status says so."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from given_evaluation import FEEDBACK, scripts, words, write_given
from given_pipeline import pmbench

from pmbench_tasks.notes.evaluation.answers import Answers
from pmbench_tasks.notes.evaluation.covering import coverage_gap, diversity_estimate
from pmbench_tasks.notes.evaluation.distances import cluster_distances
from pmbench_tasks.notes.evaluation.evaluate import Material, compare
from pmbench_tasks.notes.evaluation.lacking import not_computed
from pmbench_tasks.notes.evaluation.retest import retest
from pmbench_tasks.notes.evaluation.table import markdown, shown

NAN = float("nan")
TOO_LONG = {"kind": "400", "code": "context_length_exceeded", "message": "maximum context length is 9 tokens"}


@pytest.fixture
def server(llm_server: Any, tmp_path: Path, plain_environment: None, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    write_given(tmp_path)
    return llm_server


def rows_of(told: str) -> dict[str, str]:
    """The rows of the main table, by measure."""
    table = told.split("## Perturbations")[0].splitlines()
    return {line.split(" | ")[0].removeprefix("| "): line for line in table if line.startswith("| ")}


def test_a_judge_that_answers_nothing_is_status_1_and_its_rows_stay(server: Any, tmp_path: Path) -> None:
    server.control(answers=scripts(), faults=[{**TOO_LONG, "contains": "THE TEXT"}])
    done = pmbench(tmp_path, *words(server.v1))
    assert done.returncode == 1, done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.startswith("Error: out: ours, the judge: not one usable answer (") and "too-long" in last
    assert (
        "longer than the model's context" in last and "again" not in last and "Traceback" not in done.stderr
    )
    told = (tmp_path / "out" / "table.md").read_text()
    assert told.rstrip("\n") in done.stdout and "**base, the judge: not one usable answer" in told
    rows = rows_of(told)
    assert (
        "no unit tests, for no reference note passes any question {12 missing}"
        in rows["Enforceability, mean over questions"]
    )
    assert "{0.000 to 1.000; 12 missing}" in rows["Judge asked again: equal answers"]
    assert "{0.0 to 100.0; 12 missing}" in rows["Score of reference notes, points"]
    absent = told.split("## Not measured")[1]
    assert "Enforceability, mean over questions of ours: no unit tests" in absent
    again = "Judge asked again: equal answers; Judge asked again: κ of base: no answers in both runs"
    assert again in absent
    found = json.loads((tmp_path / "out" / "evaluation.json").read_text())
    assert len(found["not_one_answer"]) == 2 and any(
        "Enforceability" in line for line in found["not_measured"]
    )


def test_requests_that_fail_are_no_property_of_the_feedback(server: Any, tmp_path: Path) -> None:
    with (tmp_path / "feedback.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("id", "feedback", "stars"), *(row[:3] for row in FEEDBACK)])
    server.control(faults=[{"kind": "400"}])
    model = f"openai:m?base_url={server.v1}"
    given = ["evaluate", "ours.json", "--feedback", "feedback.csv", "-m", model, "--resamples", "100"]
    done = pmbench(tmp_path, *given, "--embedder", f"openai:embed?base_url={server.v1}", "--out", "out")
    assert done.returncode == 1
    assert "what feedback is about: not one usable answer (6 invalid)" in done.stderr
    assert "Give the same command again" in done.stderr and "no feedback item is about" not in done.stdout
    assert "it is not known of any feedback item that it is about the section (6 invalid)" in done.stdout


def test_pairs_of_answers_that_are_missing_are_counted_when_a_judge_is_asked_again() -> None:
    # Note 1 has both answers to the first question, equal; of the other three pairs one or both are missing.
    first = Answers(("a", "b"), ("p", "q"), np.array([[1, NAN], [0, NAN]]))
    second = Answers(("a", "b"), ("p", "q"), np.array([[1, 1], [NAN, NAN]]))
    found = retest([first, second], resamples=100)
    assert (found.same.value, found.same.missing, found.missing) == (1.0, 3, 3)
    assert (found.same.least, found.same.most) == (1 / 4, 1.0)
    assert [one.missing for one in found.by_question] == [1, 2]
    assert found.by_question[1].note == "no answers in both runs"
    assert found.kappa.missing == 3 and "3 missing" in shown(found.kappa)
    nothing = Answers(("a",), ("p",), np.array([[NAN]]))
    silent = retest([nothing, nothing], resamples=100)
    assert shown(silent.same) == "no answers in both runs {0.000 to 1.000; 1 missing}"


def test_feedback_of_which_nothing_is_known_has_no_diversity_of_1() -> None:
    matrix = [[NAN, NAN], [NAN, NAN]]
    assert shown(diversity_estimate(matrix)) == "no answers {4 missing}"
    found = cluster_distances(matrix, [[1.0, 0.0], [0.0, 1.0]])
    assert shown(found.inter) == shown(found.intra) == "no answers {4 missing}"
    assert coverage_gap([[1, NAN]], [[1, 0]]).missing == 1


def test_a_measure_that_was_asked_for_has_its_row_and_its_reason() -> None:
    one = Material(name="mine", questions=("p",), unit_tests=[], unanswered=3)
    found = compare([one], resamples=100)
    assert "no unit tests, for no reference note passes it {3 missing}" in markdown(found)
    (line,) = not_computed(found)
    assert line.startswith(
        "Enforceability, mean over questions of mine: no unit tests, for no reference note"
    )
    assert line.endswith("passes it, 3 answers missing")
    assert "Enforceability" not in markdown(compare([Material(name="mine", questions=("p",))]))
