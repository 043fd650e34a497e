"""A server that misbehaves loses no answer that a retry could save, and makes no score out of a failure."""

import time
from pathlib import Path

import pytest
from served_runs import GREETING, Served, numbered, write_rows

pytestmark = pytest.mark.usefixtures("plain_environment")


@pytest.fixture
def served(pmbench, llm_server, tmp_path: Path) -> Served:
    return Served(pmbench, llm_server, tmp_path)


@pytest.mark.slow
def test_what_a_retry_can_save_is_saved(served: Served, tmp_path: Path) -> None:
    write_rows(tmp_path / "mine.jsonl", numbered(2000))
    served.server.control(
        answers={"patient": GREETING},
        faults=[
            {"kind": "500", "probability": 0.1},
            {"kind": "429", "probability": 0.1},
            {"kind": "hung", "probability": 0.01},
        ],
    )
    done = served.run("--concurrency", "64", model=served.model("&timeout=1"))
    assert done.returncode == 0, done.stdout + done.stderr
    found, stats = served.results(), served.server.stats()
    assert found["status"] == "complete"
    assert found["counts"]["scored"] == 2000 and found["counts"]["failures"] == {}
    assert found["metrics"]["greeting_share"]["value"] == 1.0
    assert min(stats["by_fault"][kind] for kind in ("500", "429", "hung")) >= 15
    assert stats["answered_again"] == 0
    told = f"requests made now: {stats['requests']};"
    assert told in done.stdout


@pytest.mark.parametrize("told", [True, False], ids=["retry_after", "no_retry_after"])
def test_a_servers_rate_is_kept_to_and_nothing_is_lost(served: Served, tmp_path: Path, told: bool) -> None:
    write_rows(tmp_path / "mine.jsonl", numbered(300))
    served.server.control(
        answers={"patient": GREETING},
        latency=5,
        rate_limit={"per_second": 60, "burst": 20, "retry_after": told},
    )
    done = served.run()
    assert done.returncode == 0, done.stdout + done.stderr
    assert served.results()["counts"]["scored"] == 300
    seen = served.server.stats()["rate_limit"]
    assert not seen["requests"]["above_for_over_a_second"], seen


def test_the_users_own_rate_is_kept_to(served: Served, tmp_path: Path) -> None:
    write_rows(tmp_path / "mine.jsonl", numbered(40))
    # The server only watches: 600 a minute are 10 a second, and one second's worth may come at once.
    served.server.control(rate_limit={"per_second": 10, "burst": 10, "enforced": False})
    done = served.run("--requests-per-minute", "600")
    assert done.returncode == 0, done.stderr
    seen = served.server.stats()["rate_limit"]["requests"]
    assert seen["most_in_a_second"] <= 20 and seen["longest_above"] == 0.0


def test_the_users_own_rate_of_tokens_is_kept_to(served: Served, tmp_path: Path) -> None:
    write_rows(tmp_path / "mine.jsonl", numbered(40))
    # 50 of the answer's limit and about 12 of the prompt: the first second's worth and four more seconds.
    began = time.monotonic()
    done = served.run("--tokens-per-minute", str(60 * 62 * 10))
    assert done.returncode == 0, done.stderr
    assert time.monotonic() - began >= 2.5
    by_second = served.server.stats()["by_second"]
    assert max(by_second.values()) <= 20 and sum(by_second.values()) == 40


@pytest.mark.slow
def test_a_server_that_always_fails_ends_the_run_incomplete(served: Served, tmp_path: Path) -> None:
    # One kind: the others are told apart and retried alike, which quicker tests show.
    fault, kind = {"kind": "500"}, "server"
    write_rows(tmp_path / "mine.jsonl", numbered(400))
    served.server.control(faults=[fault])
    began = time.monotonic()
    done = served.run()
    assert time.monotonic() - began < 120
    assert done.returncode == 1
    found = served.results()
    counts = found["counts"]
    assert found["status"] == "incomplete" and counts["scored"] == 0
    assert counts["failures"] == {kind: counts["failed"]} and counts["failed"] < 40
    assert counts["failed"] + counts["pending"] == 400
    assert found["metrics"]["greeting_share"]["value"] is None and served.scores() == []
    told = " ".join(done.stdout.split())
    assert f"in a row failed after all retries ({kind}): {counts['pending']} of 400 not done" in told
    assert "To go on when the server answers, give the same command with --retry-failed." in told
    assert "Traceback" not in done.stderr
    # When it is mended, the same command asks for what is left, and with --retry-failed for all of it.
    served.server.control(answers={"patient": GREETING})
    again = served.run("--retry-failed")
    assert again.returncode == 0, again.stdout
    assert served.results()["counts"]["scored"] == 400


@pytest.mark.slow
def test_a_few_that_fail_for_ever_leave_a_complete_run_with_bounds(served: Served, tmp_path: Path) -> None:
    write_rows(tmp_path / "mine.jsonl", numbered(600))
    served.server.control(answers={"patient": GREETING}, faults=[{"kind": "500", "share": 0.005}])
    done = served.run()
    assert done.returncode == 0, done.stdout + done.stderr
    found = served.results()
    lost = found["counts"]["failed"]
    assert 1 <= lost <= 6
    assert found["status"] == "complete-with-missing"
    assert found["counts"]["failures"] == {"server": lost} and found["counts"]["scored"] == 600 - lost
    share = found["metrics"]["greeting_share"]
    assert share["value"] == share["best"] == 1.0
    assert share["worst"] == pytest.approx(1 - lost / 600)
    assert f"{lost} failed" in done.stdout and f"server {lost}" in done.stdout
    asked = served.server.stats()["requests"]
    assert served.run().returncode == 0 and served.server.stats()["requests"] == asked


WRONG = {
    "null_content": "null",
    "empty_answers": "no-answer",
    "error_under_200": "error",
    "length_without_text": "cut-off",
    "truncated_json": "not-json",
    "html": "not-json",
    "cut_body": "connection",
    "reset": "connection",
    "400": "invalid",
}
"""Faults of an answer, and the kind of failure that each is."""

MEANT = ("refusal", "content_filter", "empty_text", "big", "wrong_model")
"""What only looks like one: a model that declined, was held back, said nothing twice, said much, has another name."""


@pytest.mark.slow
def test_every_fault_of_an_answer_is_of_its_own_kind_and_none_is_a_score(
    served: Served, tmp_path: Path
) -> None:
    names = [*WRONG, *MEANT]
    write_rows(tmp_path / "mine.jsonl", [f"<{name}> of a patient" for name in names])
    faults = [{"kind": name, "contains": f"<{name}>", "megabytes": 2} for name in names]
    served.server.control(answers={"patient": GREETING}, faults=faults)
    done = served.run("--max-missing", "1")
    assert done.returncode == 0, done.stdout + done.stderr
    records = served.responses()
    kinds = {name: records[str(number)].get("failure", "") for number, name in enumerate(names)}
    assert kinds == {**WRONG, **dict.fromkeys(MEANT, "")}
    counts = served.results()["counts"]
    assert counts["failed"] == len(WRONG) and counts["scored"] == len(MEANT)
    assert (counts["refused"], counts["empty"]) == (2, 1 + _silent(records))
    # A score stands for what a model said, and for nothing else.
    by_id = {line["id"]: line for line in served.scores()}
    assert set(by_id) == {str(number) for number, name in enumerate(names) if name in MEANT}
    texts = {name: records[str(number)].get("text", "") for number, name in enumerate(names)}
    assert len(texts["big"]) > 1_900_000
    # Only where an answer never will come by asking again, it is asked for once.
    asked = _asked(served, names)
    assert {name for name, times in asked.items() if times == 1} == {
        "length_without_text",
        "400",
        "refusal",
        "content_filter",
        "big",
        "wrong_model",
    }
    assert asked["empty_text"] == 2
    assert served.results()["usage"]["model"]["served"] == {"m": 4, "not-m": 1}


def _silent(records: dict) -> int:
    """Refusals that came without a word of their own."""
    return sum(line.get("finish") == "refused" and not line.get("text") for line in records.values())


def _asked(served: Served, names: list[str]) -> dict[str, int]:
    """How often each message was sent, told apart by its fault."""
    log = served.server.stats()["log"]
    return {name: sum(line[4] == name for line in log) for name in names}


def test_a_limit_of_requests_stops_cleanly_and_a_higher_one_goes_on(served: Served, tmp_path: Path) -> None:
    write_rows(tmp_path / "mine.jsonl", numbered(60))
    served.server.control(answers={"patient": GREETING})
    done = served.run("--max-requests", "25")
    assert done.returncode == 1
    assert served.server.stats()["requests"] == 25
    counts = served.results()["counts"]
    assert (counts["scored"], counts["failed"], counts["pending"]) == (25, 0, 35)
    told = " ".join(done.stdout.split())
    assert "the run has made the 25 requests that --max-requests allows: 35 of 60 not done" in told
    assert "To go on, give the command again with a higher --max-requests." in told
    again = served.run("--max-requests", "25")
    assert again.returncode == 1 and served.server.stats()["requests"] == 25
    more = served.run("--max-requests", "60")
    assert more.returncode == 0, more.stdout
    stats = served.server.stats()
    assert stats["requests"] == 60 and stats["answered_again"] == 0
    assert served.results()["counts"]["scored"] == 60


def test_a_limit_of_dollars_is_not_exceeded_and_a_higher_one_goes_on(served: Served, tmp_path: Path) -> None:
    write_rows(tmp_path / "mine.jsonl", numbered(60))
    (tmp_path / "pmbench.toml").write_text('[prices."openai:m"]\ninput = 1.0\noutput = 100.0\n')
    served.server.control(answers={"patient": GREETING})
    done = served.run("--max-cost", "0.02")
    assert done.returncode == 1, done.stdout + done.stderr
    found = served.results()
    assert 0 < found["usage"]["model"]["cost"] <= 0.02
    assert found["counts"]["failed"] == 0 and 15 <= found["counts"]["scored"] < 60
    told = " ".join(done.stdout.split())
    assert "of --max-cost 0.02, and the next request could cost up to $" in told
    assert "To go on, give the command again with a higher --max-cost." in told
    more = served.run("--max-cost", "1")
    assert more.returncode == 0, more.stdout
    stats, found = served.server.stats(), served.results()
    assert stats["requests"] == 60 and stats["answered_again"] == 0
    tokens = found["usage"]["model"]
    dollars = (tokens["prompt_tokens"] + 100 * tokens["completion_tokens"]) / 1e6
    assert tokens["cost"] == pytest.approx(dollars) and tokens["unpriced"] == 0


@pytest.mark.slow
def test_a_hung_connection_does_not_hang_for_minutes(served: Served, tmp_path: Path) -> None:
    write_rows(tmp_path / "mine.jsonl", numbered(5))
    served.server.control(
        answers={"patient": GREETING},
        faults=[{"kind": "hung", "contains": "00003", "attempts": [1]}],
    )
    began = time.monotonic()
    done = served.run()
    # 30 s and one for every 20 of the 50 tokens, then once more.
    assert 32 < time.monotonic() - began < 60
    assert done.returncode == 0, done.stderr
    assert served.server.stats()["requests"] == 6
    assert served.results()["counts"]["scored"] == 5
