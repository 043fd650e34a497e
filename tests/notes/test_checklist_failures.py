"""A server that fails, a text that is too long, an answer that cannot be used: each is called by its own name."""

from __future__ import annotations

import csv
import random
from pathlib import Path
from typing import Any

import pytest
from given_pipeline import FEEDBACK, USED, pmbench, scripts, words, write_feedback, write_references

from pmbench_tasks.notes.pipeline.failing import requests_failed
from pmbench_tasks.notes.pipeline.records import Failure, by_kind

TOO_LONG = {"kind": "400", "code": "context_length_exceeded", "message": "maximum context length is 9 tokens"}


@pytest.fixture
def server(llm_server: Any, tmp_path: Path, plain_environment: None, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    write_feedback(tmp_path / "feedback.csv")
    write_references(tmp_path / "notes.jsonl")
    return llm_server


def script() -> dict[str, str]:
    shuffled = list(USED)
    random.Random(0).shuffle(shuffled)
    return scripts({ident: number for number, ident in enumerate(shuffled, 1)})


def line_of(done: Any) -> str:
    """The error, which is the last line and the only one that begins so; a traceback is never shown."""
    errors = [line for line in done.stderr.splitlines() if line.startswith("Error: ")]
    assert len(errors) == 1 and "Traceback" not in done.stderr and "a fault in pmbench" not in done.stderr
    return str(errors[0])


def test_a_server_that_refuses_everything_is_no_property_of_the_feedback(server: Any, tmp_path: Path) -> None:
    server.control(answers=script(), faults=[{"kind": "400", "path": "/v1/chat"}])
    done = pmbench(tmp_path, *words(tmp_path, server.v1))
    told = line_of(done)
    assert done.returncode == 1, done.stderr
    assert "grown-stages/2-proposed.json: requests failed (without an answer: 13 invalid)" in told
    assert "Give the same command again" in told and "can be used" not in told
    write_feedback(tmp_path / "bare.csv", tuple((*row[:3], "") for row in FEEDBACK))
    bare = pmbench(tmp_path, *words(tmp_path, server.v1, "--feedback", "bare.csv", out="bare.json"))
    assert (
        bare.returncode == 1
        and "bare-stages/1-feedback.csv: requests failed (without an answer: 18 invalid)" in line_of(bare)
    )
    server.control(answers=script())
    again = pmbench(tmp_path, *words(tmp_path, server.v1))
    assert again.returncode == 0, again.stderr


def test_remarks_that_are_too_long_for_the_model_are_called_so(server: Any, tmp_path: Path) -> None:
    server.control(answers=script(), faults=[{**TOO_LONG, "path": "/v1/chat"}])
    done = pmbench(tmp_path, *words(tmp_path, server.v1))
    told = line_of(done)
    assert done.returncode == 2 and " too-long" in told and "choose a model that takes longer ones" in told
    with (tmp_path / "grown-stages" / "1-feedback.csv").open(newline="", encoding="utf-8") as file:
        why = {row["id"]: row["why_not"] for row in csv.DictReader(file)}
    assert why["f12"] == "the model did not say what it is about (too-long)"


def test_an_embedder_whose_server_fails_costs_a_line_and_nothing_that_was_paid(
    server: Any, tmp_path: Path
) -> None:
    server.control(answers=script(), faults=[{"kind": "400", "path": "/v1/embeddings"}])
    done = pmbench(tmp_path, *words(tmp_path, server.v1))
    told = line_of(done)
    assert done.returncode == 1 and "--embedder openai:embed: gave no vectors" in told and "(invalid)" in told
    sent = server.stats(log=False)["by_status"]["200"]
    server.control(answers=script())
    again = pmbench(tmp_path, *words(tmp_path, server.v1))
    assert again.returncode == 0, again.stderr
    assert f"answers from the store: {sent}" in again.stdout


def test_notes_too_long_for_the_judge_are_no_reason_for_a_stronger_one(server: Any, tmp_path: Path) -> None:
    server.control(answers=script(), faults=[{**TOO_LONG, "contains": "THE TEXT: the assessment"}])
    done = pmbench(tmp_path, *words(tmp_path, server.v1))
    told = line_of(done)
    assert done.returncode == 2 and "5-enforceability.json: no question is left" in told
    assert "20 judging: too-long" in told and "stronger" not in told and "longer" in told


def test_a_baseline_that_nobody_answered_names_no_option_that_it_has_not(server: Any, tmp_path: Path) -> None:
    model, embedder = f"openai:m?base_url={server.v1}", f"openai:embed?base_url={server.v1}"
    server.control(faults=[{"kind": "400"}])
    done = pmbench(tmp_path, "baseline", "-m", model, "--embedder", embedder, "--out", "base.json")
    told = line_of(done)
    assert (
        done.returncode == 1 and "requests failed (without an answer: 1 invalid)" in told and "--" not in told
    )


def test_an_update_is_not_done_because_nobody_answered(server: Any, tmp_path: Path) -> None:
    (tmp_path / "mine.json").write_text(
        '{"section": "assessment_and_plan", "items": ["Is it short enough?"]}'
    )
    write_feedback(tmp_path / "bare.csv", tuple((*row[:3], "") for row in FEEDBACK))
    model, embedder = f"openai:m?base_url={server.v1}", f"openai:embed?base_url={server.v1}"
    server.control(faults=[{"kind": "400"}])
    for feedback, where in (("bare.csv", "more-stages/1-feedback.csv"), ("feedback.csv", "coverage")):
        more = ["--feedback", feedback, "-m", model, "--embedder", embedder, "--out", "more.json"]
        done = pmbench(tmp_path, "update", "mine.json", *more)
        assert done.returncode == 1 and where in line_of(done) and "requests failed" in done.stderr
        assert not (tmp_path / "more.json").exists()


def test_kinds_that_another_attempt_would_not_change_are_no_failed_requests() -> None:
    kinds = {"server": 2, "unreadable": 3, "too-long": 1, "judging: timeout": 4, "judging: unparsed": 5}
    kinds |= {"failed: server": 6, "rewriting: cut-off": 7, "refused": 8}
    assert requests_failed(kinds) == {"server": 2, "judging: timeout": 4, "failed: server": 6}
    # A baseline's one question is about no item, and is still one.
    assert by_kind([Failure("propose", (), "server"), Failure("filter", ("a", "b"), "server")]) == {
        "server": 3
    }
