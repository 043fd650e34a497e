"""Requests as jobs of a batch API: submitted by one command, collected by the same command later."""

import json
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.usefixtures("plain_environment")

MESSAGES = [f"message {number} of a patient" for number in range(12)]


def prepared(tmp_path: Path) -> None:
    rows = (json.dumps({"id": str(n), "message": text}) + "\n" for n, text in enumerate(MESSAGES))
    (tmp_path / "mine.jsonl").write_text("".join(rows))


def command(model: str, *more: str) -> list[str]:
    return ["run", "-t", "greeting", "-d", "mine.jsonl", "-m", model, "--json", "out.json", *more]


def models(server: Any) -> list[str]:
    return [
        f"openai:gpt-x?base_url={server.v1}&batches=on",
        f"openai:gpt-x?base_url={server.v1}&batches=on&api=responses",
        f"anthropic:claude-x?base_url={server.url}&batches=on",
    ]


def files_left(server: Any) -> list[Any]:
    connection = HTTPConnection(server.host, server.port, timeout=30)
    try:
        connection.request("GET", "/v1/files", headers={"Authorization": "Bearer none"})
        found: list[Any] = json.loads(connection.getresponse().read())["data"]
    finally:
        connection.close()
    return found


@pytest.mark.parametrize("which", [0, 1, 2], ids=["chat", "responses", "messages"])
def test_submitted_then_collected_at_half_the_requests_of_nothing(
    pmbench, tmp_path: Path, llm_server, which: int
) -> None:
    prepared(tmp_path)
    model = models(llm_server)[which]
    llm_server.control(batches={"polls": 1})
    first = pmbench(*command(model, "--batch-api"))
    assert first.returncode == 1, first.stderr
    assert "under way as batch job" in first.stdout
    assert "To collect the answers, give the same command again later." in first.stdout
    assert "12 of 12 not done" in " ".join(first.stdout.split())
    waiting = pmbench(*command(model, "--batch-api"))
    assert waiting.returncode == 1 and "in_progress" in waiting.stdout
    done = pmbench(*command(model, "--batch-api"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads((tmp_path / "out.json").read_text())["counts"]["scored"] == 12
    # One job was ever submitted, and no request was made by itself.
    stats = llm_server.stats()
    assert stats["batch_items"] == len(MESSAGES)
    assert not any(path.endswith(("completions", "responses", "messages")) for path in stats["by_path"])
    if which != 2:
        # What was uploaded and what came of it is deleted at the server once it is on disk here.
        assert files_left(llm_server) == []
    # The answers stand where those of single requests stand: nothing is asked again.
    single = pmbench(*command(model))
    assert single.returncode == 0 and "requests made now: 0;" in single.stdout
    jobs = next((tmp_path / "runs").rglob("jobs.jsonl"))
    assert jobs.stat().st_mode & 0o077 == 0 and jobs.parent.stat().st_mode & 0o077 == 0
    assert not any(text in jobs.read_text() for text in MESSAGES)


@pytest.mark.parametrize("which", [0, 2], ids=["chat", "messages"])
def test_what_expired_or_failed_is_submitted_again(pmbench, tmp_path: Path, llm_server, which: int) -> None:
    prepared(tmp_path)
    model = models(llm_server)[which]
    llm_server.control(batches={"ends": "expired"})
    assert pmbench(*command(model, "--batch-api")).returncode == 1
    llm_server.control(
        batches={"ends": "completed"},
        faults=[{"kind": "500", "batch": True, "contains": "message 11", "attempts": [1]}],
    )
    half = pmbench(*command(model, "--batch-api"))
    assert half.returncode == 1 and "6 of 12" in half.stdout
    llm_server.control()
    again = pmbench(*command(model, "--batch-api"))
    assert again.returncode == 1 and "1 of 12 not done" in " ".join(again.stdout.split())
    done = pmbench(*command(model, "--batch-api"))
    assert done.returncode == 0, done.stdout
    assert json.loads((tmp_path / "out.json").read_text())["counts"]["scored"] == 12


@pytest.mark.parametrize("which", [0, 2], ids=["chat", "messages"])
def test_a_job_whose_submission_was_killed_is_found_again(
    pmbench, tmp_path: Path, llm_server, which: int
) -> None:
    prepared(tmp_path)
    model = models(llm_server)[which]
    assert pmbench(*command(model, "--batch-api")).returncode == 1
    jobs = next(tmp_path.rglob("jobs.jsonl"))
    lines = jobs.read_text().splitlines(keepends=True)
    assert len(lines) == 2
    moment = json.loads(lines[0])
    assert moment["job"] == ""
    # As after a kill between the submission and the line that says so. The server's clock stands still.
    moment["submitted_at"] = "2026-01-01T00:00:00+00:00"
    jobs.write_text(json.dumps(moment) + "\n" + lines[1][:20])
    done = pmbench(*command(model, "--batch-api"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert llm_server.stats()["batch_items"] == len(MESSAGES)


def test_what_failed_for_good_is_submitted_again_when_the_user_says_so(
    pmbench, tmp_path: Path, llm_server
) -> None:
    prepared(tmp_path)
    model = models(llm_server)[0]
    llm_server.control(faults=[{"kind": "400", "batch": True, "contains": "message 11"}])
    assert pmbench(*command(model, "--batch-api")).returncode == 1
    failed = pmbench(*command(model, "--batch-api"))
    assert failed.returncode == 1 and "1 failed; kinds: invalid 1" in failed.stdout
    llm_server.control()
    assert pmbench(*command(model, "--batch-api", "--retry-failed")).returncode == 1
    done = pmbench(*command(model, "--batch-api", "--retry-failed"))
    assert done.returncode == 0, done.stdout
    assert llm_server.stats()["batch_items"] == len(MESSAGES) + 1


def test_a_server_that_does_not_tell_of_its_jobs_counts_nothing_as_failed(
    pmbench, tmp_path: Path, llm_server
) -> None:
    prepared(tmp_path)
    model = models(llm_server)[0]
    assert pmbench(*command(model, "--batch-api")).returncode == 1
    llm_server.control(faults=[{"kind": "503", "path": "/v1/batches"}])
    done = pmbench(*command(model, "--batch-api"))
    assert done.returncode == 1
    told = " ".join(done.stdout.split())
    assert "its batch jobs could not be looked at (overloaded): 12 of 12 not done" in told


def test_a_run_whose_requests_are_under_way_is_not_paid_for_twice(
    pmbench, tmp_path: Path, llm_server
) -> None:
    prepared(tmp_path)
    model = models(llm_server)[0]
    llm_server.control(batches={"polls": 1})
    assert pmbench(*command(model, "--batch-api")).returncode == 1
    plain = pmbench(*command(model))
    assert plain.returncode == 2 and "12 of this run's requests are under way as batch jobs" in plain.stderr
    assert llm_server.stats()["batch_items"] == 12
    assert not any(path.endswith("completions") for path in llm_server.stats()["by_path"])


def test_what_is_under_way_counts_towards_the_budget_of_later_commands(
    pmbench, tmp_path: Path, llm_server
) -> None:
    prepared(tmp_path)
    llm_server.control(batches={"polls": 9})
    asked = command(models(llm_server)[0], "--batch-api", "--max-requests", "4")
    for _ in range(3):
        done = pmbench(*asked)
        assert done.returncode == 1 and "To collect the answers" in done.stdout
    assert llm_server.stats()["batch_items"] == 4


def test_a_renewed_key_collects_what_the_old_one_submitted(pmbench, tmp_path: Path, llm_server) -> None:
    prepared(tmp_path)
    asked = command(models(llm_server)[0] + "&key=MY_KEY", "--batch-api")
    assert pmbench(*asked, env={"MY_KEY": "old"}).returncode == 1
    assert pmbench(*asked, env={"MY_KEY": "new"}).returncode == 0
    assert llm_server.stats()["batch_items"] == 12


def test_a_quiet_command_still_says_why_it_is_not_done(pmbench, tmp_path: Path, llm_server) -> None:
    prepared(tmp_path)
    done = pmbench(*command(models(llm_server)[0], "--batch-api", "-q"))
    assert done.returncode == 1 and done.stdout == ""
    assert "Incomplete: " in done.stderr and "under way as batch job" in done.stderr


def test_a_model_without_a_batch_api_is_refused_at_plan(pmbench, tmp_path: Path, llm_server) -> None:
    prepared(tmp_path)
    for model in ("parrot:x", f"openai:gpt-x?base_url={llm_server.v1}"):
        done = pmbench(*command(model, "--batch-api"))
        assert done.returncode == 2 and "has no batch API" in done.stderr
    assert llm_server.stats()["requests"] == 0
