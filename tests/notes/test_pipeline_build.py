"""`pmbench checklist build` as a whole, against a server: what comes out, what is kept, what is never asked twice."""

from __future__ import annotations

import csv
import json
import os
import random
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from given_pipeline import (
    AGAIN,
    DOSE,
    DOSE_AGAIN,
    DOSE_TOO,
    FEEDBACK,
    INVENTED,
    MERGED,
    NOT_REPEATED,
    PLEASANT,
    REPEATED,
    USED,
    pmbench,
    scripts,
    words,
    write_feedback,
    write_references,
)

from pmbench_tasks.notes import read_checklist

REQUESTS = {
    "filter": 2,
    "propose": 2,  # the first answer is no JSON
    "direction": 2,  # one of nine answers is neither true nor false
    "embed": 1,
    "merge": 1,
    "tag": 1,
    "test": 5 * (4 + 3 + 3),  # a question's notes until three pass, these rewritten, and judged again
    "assign": 15 + 2,  # one item is asked about three times
}
"""Requests of each stage. In `test` there are up to 5 fewer: of four notes the one that fails may come last."""


def order() -> dict[str, int]:
    """The number of each feedback item in the one batch that the proposer is shown."""
    shuffled = list(USED)
    random.Random(0).shuffle(shuffled)
    return {ident: number for number, ident in enumerate(shuffled, 1)}


@pytest.fixture
def server(llm_server: Any, tmp_path: Path, plain_environment: None, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    write_feedback(tmp_path / "feedback.csv")
    write_references(tmp_path / "notes.jsonl")
    llm_server.control(answers=scripts(order()))
    return llm_server


def answered(server: Any) -> int:
    return int(server.stats(log=False)["by_status"].get("200", 0))


def distinct(server: Any) -> int:
    return int(server.stats(log=False)["distinct"])


def made_now(done: subprocess.CompletedProcess[str]) -> int:
    return int(done.stdout.split("requests made now: ")[1].split(";")[0])


def files(folder: Path) -> dict[str, bytes]:
    """The checklist and what the stages left, byte by byte."""
    left = [folder / "grown.json", *sorted((folder / "grown-stages").iterdir())]
    return {path.name: path.read_bytes() for path in left}


def test_a_checklist_grows_from_twenty_remarks(server: Any, tmp_path: Path) -> None:
    done = pmbench(tmp_path, *words(tmp_path, server.v1))
    assert done.returncode == 0, done.stderr
    grown = read_checklist(tmp_path / "grown.json")
    assert grown.section == "assessment_and_plan" and grown.scale == "yes-no"
    found = {item.question: item.source_feedback for item in grown.items}
    assert found == {
        MERGED: ("f01", "f02", "f03", "f20"),
        AGAIN: ("f12", "f13", "f14"),
        INVENTED: ("f04", "f05"),
        NOT_REPEATED: ("f06",),
    }
    assert [item.id for item in grown.items] == ["q01", "q02", "q03", "q04"]


def test_a_checklist_that_covers_nothing_is_written_and_said_so_aloud(server: Any, tmp_path: Path) -> None:
    nothing = {f"<feedback>{text}": '{"covering": []}' for _, text, *_ in FEEDBACK}
    server.control(answers={**scripts(order()), **nothing})
    done = pmbench(tmp_path, *words(tmp_path, server.v1))
    assert done.returncode == 1 and (tmp_path / "grown.json").exists()
    assert "NO FEEDBACK IS COVERED" in done.stderr.splitlines()[-1] and "Traceback" not in done.stderr


def test_every_stage_says_what_it_left_and_why(server: Any, tmp_path: Path) -> None:
    done = pmbench(tmp_path, *words(tmp_path, server.v1))
    left = tmp_path / "grown-stages"
    with (left / "1-feedback.csv").open(newline="", encoding="utf-8") as file:
        read = {row["id"]: row for row in csv.DictReader(file)}
    assert {ident for ident, row in read.items() if row["used"] == "yes"} == set(USED)
    assert {ident: row["why_not"] for ident, row in read.items() if row["used"] == "no"} == {
        "f15": "about another section",
        "f16": "not about the note",
        "f17": "about the note as a whole",
        "f18": "two words or fewer",
    }
    assert read["f12"]["tagged_by"] == "model" and read["f01"]["tagged_by"] == "column"
    assert read["f14"]["feedback"] == FEEDBACK[13][1]

    proposed = json.loads((left / "2-proposed.json").read_text())
    turned = [one for one in proposed["kept"] if one["worded"]]
    assert [(one["worded"], one["question"]) for one in turned] == [(REPEATED, NOT_REPEATED)]
    clusters = json.loads((left / "3-merged.json").read_text())["clusters"]
    assert [[one["question"] for one in cluster["members"]] for cluster in clusters] == [
        [DOSE, DOSE_AGAIN, DOSE_TOO]
    ]
    tests = {one["question"]: one for one in json.loads((left / "5-enforceability.json").read_text())}
    assert tests[MERGED]["rate"] == 1.0 and tests[MERGED]["judged"] == 3
    assert tests[PLEASANT]["rate"] == 0.0 and "0 of 3" in tests[PLEASANT]["dropped"]
    assert all(one["reference_notes"]["failing"] <= 1 for one in tests.values())
    with (left / "6-coverage.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    covered = {row[0]: row[1:] for row in rows[1:]}
    assert covered["f01"] == ["1", "0", "0", "0"] and covered["f20"] == [""] * 4 and len(covered) == 15

    told = json.loads((tmp_path / "grown.json").read_text())["metadata"]
    dropped = {(one["stage"], one["id"]) for one in told["dropped"]}
    assert dropped == {
        ("propose", "p5"), ("propose", "p6"), ("tag", "p7"), ("tag", "p8"), ("enforceability", "p9")
    }  # fmt: skip
    assert told["without_an_answer"] == {"coverage": {"unreadable": 1}}
    assert "no usable answer (coverage): 1 unreadable" in done.stdout
    # 11 of 14 covered, and of 15 whatever the missing answer was.
    assert told["selection"]["coverage"] == pytest.approx(11 / 14, abs=1e-6)
    assert told["selection"]["coverage_low"] == pytest.approx(11 / 15, abs=1e-6)
    assert told["selection"]["coverage_high"] == pytest.approx(12 / 15, abs=1e-6)
    assert told["selection"]["objective"] == pytest.approx(0.5 * 11 / 14 + 0.5 - 4 * 0.0005, abs=1e-6)
    for plot in ("7-objective-by-size.svg", "7-choice-by-alpha.svg"):
        assert (left / plot).read_text().lstrip().startswith("<?xml")
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in left.iterdir())
    assert "Muñoz" not in (tmp_path / "grown.json").read_text()


def test_the_same_again_asks_nothing_and_writes_the_same(server: Any, tmp_path: Path) -> None:
    first = pmbench(tmp_path, *words(tmp_path, server.v1))
    made, before = answered(server), files(tmp_path)
    again = pmbench(tmp_path, *words(tmp_path, server.v1))
    assert first.returncode == again.returncode == 0
    assert answered(server) == made == made_now(first) and made_now(again) == 0
    assert files(tmp_path) == before


@pytest.mark.slow
def test_killed_in_each_stage_it_ends_the_same_and_repeats_no_paid_call(server: Any, tmp_path: Path) -> None:
    calm = pmbench(tmp_path, *words(tmp_path, server.v1, "--runs", "calm"))
    assert calm.returncode == 0, calm.stderr
    undisturbed, total = files(tmp_path), made_now(calm)
    beside = sum(count for stage, count in REQUESTS.items() if stage != "test")
    tests = total - beside
    assert REQUESTS["test"] - 5 <= tests <= REQUESTS["test"]
    for path in tmp_path.glob("grown*"):
        subprocess.run(["rm", "-r", path], check=True)

    server.reset()
    server.control(answers=scripts(order()), latency=40)
    moments, reached = [], 0
    for stage, count in REQUESTS.items():
        count = tests if stage == "test" else count
        moments.append(reached + max(1, count // 2))
        reached += count
    kills = 0
    for moment in moments:
        process = subprocess.Popen(
            [sys.executable, "-m", "pmbench", "checklist", *words(tmp_path, server.v1, "--concurrency", "1")],
            cwd=tmp_path,
            env=os.environ,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        while distinct(server) < moment and process.poll() is None:
            time.sleep(0.005)
        assert process.poll() is None, "it ended before it could be killed"
        process.send_signal(signal.SIGKILL)
        assert process.wait(60) == -signal.SIGKILL
        kills += 1
    done = pmbench(tmp_path, *words(tmp_path, server.v1))
    assert done.returncode == 0, done.stderr
    assert files(tmp_path) == undisturbed
    # At each kill one answer was not committed yet and one request in flight, at most; nothing else is asked twice.
    assert total <= server.stats(log=False)["requests"] <= total + 2 * kills
    assert distinct(server) == total


def test_a_budget_stops_it_cleanly_and_the_same_command_goes_on(server: Any, tmp_path: Path) -> None:
    short = pmbench(tmp_path, *words(tmp_path, server.v1, "--max-requests", "10"))
    assert short.returncode == 1
    assert "Error: this command has made the 10 requests that --max-requests allows" in short.stderr
    assert "Give this command again with a higher --max-requests" in short.stderr.splitlines()[-1]
    assert "pmbench run" not in short.stderr and "Traceback" not in short.stderr
    assert (tmp_path / "grown-stages" / "4-tagged.json").exists()
    assert not (tmp_path / "grown.json").exists()
    rest = pmbench(tmp_path, *words(tmp_path, server.v1))
    assert rest.returncode == 0, rest.stderr
    assert made_now(rest) + 10 == answered(server) == distinct(server)


def test_a_dry_run_says_what_would_be_asked_and_asks_nothing(server: Any, tmp_path: Path) -> None:
    done = pmbench(tmp_path, *words(tmp_path, server.v1, "--dry-run"))
    assert done.returncode == 0, done.stderr
    assert answered(server) == 0 and not (tmp_path / "grown-stages").exists()
    told = {line[:15].strip(): line[15:].strip() for line in done.stdout.splitlines()}
    assert "read            feedback.csv: 19 of 20 rows of feedback" in done.stdout
    assert "read            notes.jsonl: 4 reference notes with assessment_and_plan" in done.stdout
    for role in ("model", "judge", "embedder"):
        assert told[role].endswith(", on this machine") and told[role].startswith("openai:")
    # 18 items of more than two words in two requests; each again, and what has no answer then alone.
    assert told["filter"].startswith(f"2 to {2 + 2 + 18} requests")
    assert told["propose"].startswith("1 to 3 requests")
    assert told["tag"] == "1 to 12 requests for each 10 questions"
    # Of four notes three are tested: judged twice each at most, and rewritten with three attempts.
    assert told["enforceability"] == f"4 to {2 * (4 + 3) + 3 * 3} requests for each question"
    assert told["cover"] == "1 to 54 requests"
    assert "nothing was asked" in done.stdout

    # A server that is not there is no reason not to look.
    absent = pmbench(tmp_path, *words(tmp_path, "http://127.0.0.1:9/v1", "--dry-run"))
    assert absent.returncode == 0 and absent.stdout.count("\n") == done.stdout.count("\n")
    leaving = pmbench(tmp_path, *words(tmp_path, "http://192.0.2.1/v1", "--dry-run"))
    assert leaving.returncode == 2 and "phi" in leaving.stderr  # it would not be allowed


def test_two_commands_do_not_write_into_one_folder(server: Any, tmp_path: Path) -> None:
    server.control(answers=scripts(order()), latency=300)
    first = subprocess.Popen(
        [sys.executable, "-m", "pmbench", "checklist", *words(tmp_path, server.v1)],
        cwd=tmp_path,
        env=os.environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        while answered(server) < 1 and first.poll() is None:
            time.sleep(0.01)
        second = pmbench(tmp_path, *words(tmp_path, server.v1))
        assert second.returncode == 2 and len(second.stderr.splitlines()) == 1, second.stderr
        assert "another process is at work in this folder" in second.stderr and "--folder" in second.stderr
    finally:
        server.control(answers=scripts(order()))
        _, complaint = first.communicate(timeout=60)
    assert first.returncode == 0, complaint
    assert pmbench(tmp_path, *words(tmp_path, server.v1)).returncode == 0  # it is free again


def test_ctrl_c_ends_it_and_what_was_sent_is_kept(server: Any, tmp_path: Path) -> None:
    server.control(answers=scripts(order()), latency=60)
    process = subprocess.Popen(
        [sys.executable, "-m", "pmbench", "checklist", *words(tmp_path, server.v1)],
        cwd=tmp_path,
        env=os.environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while answered(server) < 12 and process.poll() is None:
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    _, complaint = process.communicate(timeout=60)
    assert process.returncode == 130, complaint
    assert complaint.splitlines()[-1].startswith("Interrupted. To go on, give the same command again"), (
        complaint
    )
    assert "Traceback" not in complaint
    sent = server.stats(log=False)["requests"]
    rest = pmbench(tmp_path, *words(tmp_path, server.v1))
    assert rest.returncode == 0 and made_now(rest) + sent == distinct(server)


def test_phi_does_not_leave_for_a_remote_model(server: Any, llm_servers: Any, tmp_path: Path) -> None:
    elsewhere = llm_servers("0.0.0.0")
    for more in (["-m", f"openai:m?base_url={elsewhere.v1}"], ["-j", f"openai:m?base_url={elsewhere.v1}"]):
        done = pmbench(tmp_path, *words(tmp_path, server.v1), *more)
        assert done.returncode == 2 and "the data are phi and would be sent to http://" in done.stderr
        assert len(done.stderr.splitlines()) == 1
    assert elsewhere.stats()["requests"] == 0 and answered(server) == 0
    assert not (tmp_path / "grown-stages").exists()


def test_a_checklist_that_somebody_changed_is_not_written_over(server: Any, tmp_path: Path) -> None:
    (tmp_path / "grown.json").write_text('{"items": ["Is it short?"]}')
    done = pmbench(tmp_path, *words(tmp_path, server.v1))
    assert done.returncode == 2 and "is there already, and is no checklist of this command" in done.stderr
    (tmp_path / "grown.json").unlink()
    assert pmbench(tmp_path, *words(tmp_path, server.v1)).returncode == 0
    text = (tmp_path / "grown.json").read_text()
    (tmp_path / "grown.json").write_text(text.replace(AGAIN, "Is the next visit named?"))
    done = pmbench(tmp_path, *words(tmp_path, server.v1))
    assert done.returncode == 2 and "its questions were changed" in done.stderr


def test_without_notes_questions_are_not_tested_and_that_is_said(server: Any, tmp_path: Path) -> None:
    model = f"openai:m?base_url={server.v1}"
    told = [
        "build",
        "--feedback",
        "feedback.csv",
        "-m",
        model,
        "--embedder",
        f"openai:embed?base_url={server.v1}",
    ]
    done = pmbench(tmp_path, *told, "--out", "grown.json")
    assert done.returncode == 0, done.stderr
    assert "not tested: no reference notes were given" in done.stdout
    assert (
        "not tested"
        in json.loads((tmp_path / "grown.json").read_text())["metadata"]["stages"]["enforceability"]
    )
    done = pmbench(tmp_path, *told, "--out", "other.json", "-j", model)
    assert done.returncode == 2 and "a judge answers questions about notes, and there are none" in done.stderr


def test_nothing_left_after_a_stage_is_an_error_that_names_its_file(server: Any, tmp_path: Path) -> None:
    server.control(answers={"THE REMARKS": '{"questions": []}'})
    done = pmbench(tmp_path, *words(tmp_path, server.v1))
    assert done.returncode == 2
    assert "2-proposed.json: no question was proposed that can be used" in done.stderr
