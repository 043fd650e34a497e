"""Nothing paid for is lost or asked for again: killed, interrupted, failing, limited and repeated runs."""

import json
import os
import random
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from cli_answers import MESSAGES, write_messages

RUN = ("run", "-t", "greeting", "-m", "parrot:grey", "-d", "mine.jsonl")
IN_FLIGHT = 4 + 1  # requests of the parrot, and instances that wait for one


@pytest.fixture(autouse=True)
def messages(tmp_path: Path) -> None:
    write_messages(tmp_path / "mine.jsonl")


def asked(tmp_path: Path) -> int:
    log = tmp_path / "asked"
    return len(log.read_text().splitlines()) if log.exists() else 0


def results(tmp_path: Path, name: str = "out.json") -> dict[str, Any]:
    found: dict[str, Any] = json.loads((tmp_path / name).read_text())
    found.pop("finished_at")
    for usage in found["usage"].values():
        for measured in ("seconds", "latency_median", "latency_p95"):
            usage.pop(measured)
    return found


def undisturbed(pmbench, tmp_path: Path) -> dict[str, Any]:
    done = pmbench(*RUN, "--runs", "calm", "--json", "calm.json")
    assert done.returncode == 0, done.stderr
    return results(tmp_path, "calm.json")


@pytest.mark.parametrize("signalled", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_run_stopped_at_any_moment_goes_on_where_it_was(
    pmbench, plugged, tmp_path: Path, signalled: signal.Signals
) -> None:
    env = {"PARROT_LOG": "asked", "PARROT_SECONDS": "0.05"}
    moments = random.Random(signalled).sample(range(2, len(MESSAGES) - 8), 3)
    stops = 0
    for moment in sorted(moments):
        process = subprocess.Popen(
            [plugged, "-m", "pmbench", *RUN],
            cwd=tmp_path,
            env={**os.environ, **env},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        while asked(tmp_path) < moment + stops * IN_FLIGHT and process.poll() is None:
            time.sleep(0.005)
        process.send_signal(signalled)
        status = process.wait(60)
        assert status in (-signalled, 130)
        stops += 1
    done = pmbench(*RUN, "--json", "out.json", env=env)
    assert done.returncode == 0, done.stderr
    assert results(tmp_path) == undisturbed(pmbench, tmp_path)
    assert asked(tmp_path) <= len(MESSAGES) + stops * IN_FLIGHT


def test_ctrl_c_says_how_to_go_on_and_leaves_results(pmbench, plugged, tmp_path: Path) -> None:
    process = subprocess.Popen(
        [plugged, "-m", "pmbench", *RUN],
        cwd=tmp_path,
        env={**os.environ, "PARROT_LOG": "asked", "PARROT_SECONDS": "0.2"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while asked(tmp_path) < 6 and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    told, complaint = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "incomplete (interrupted" in told and "give the same command again" in told
    assert "Traceback" not in complaint
    found = json.loads(next(tmp_path.glob("runs/**/results.json")).read_text())
    assert found["status"] == "incomplete" and found["counts"]["pending"] > 0


def test_the_same_command_twice_asks_for_nothing_and_changes_nothing(pmbench, tmp_path: Path) -> None:
    env = {"PARROT_LOG": "asked"}
    assert pmbench(*RUN, env=env).returncode == 0
    files = {path: path.read_bytes() for path in tmp_path.glob("runs/greeting/**/*") if path.is_file()}
    before = asked(tmp_path)
    again = pmbench(*RUN, env=env)
    assert again.returncode == 0 and "requests made now: 0" in again.stdout
    assert asked(tmp_path) == before == len(MESSAGES)
    assert {path: path.read_bytes() for path in files} == files


def test_answers_come_from_the_store_when_the_run_folder_is_lost(pmbench, tmp_path: Path) -> None:
    env = {"PARROT_LOG": "asked"}
    assert pmbench(*RUN, "--json", "one.json", env=env).returncode == 0
    subprocess.run(["rm", "-r", tmp_path / "runs" / "greeting"], check=True)
    assert pmbench(*RUN, "--json", "two.json", env=env).returncode == 0
    assert asked(tmp_path) == len(MESSAGES)
    assert results(tmp_path, "one.json") == results(tmp_path, "two.json")


def test_fresh_asks_again_and_keeps_the_earlier_round(pmbench, tmp_path: Path) -> None:
    env = {"PARROT_LOG": "asked"}
    assert pmbench(*RUN, env=env).returncode == 0
    assert pmbench(*RUN, "--fresh", env=env).returncode == 0
    assert asked(tmp_path) == 2 * len(MESSAGES)
    assert pmbench(*RUN, env=env).returncode == 0
    assert asked(tmp_path) == 2 * len(MESSAGES)
    lines = next(tmp_path.glob("runs/greeting/*/*/responses.jsonl")).read_text().splitlines()
    assert [json.loads(line).get("round", 0) for line in lines] == [0] * len(MESSAGES) + [1] * len(MESSAGES)
    assert json.loads(next(tmp_path.glob("runs/greeting/*/*/run.json")).read_text())["round"] == 1


def stopped(plugged: Path, tmp_path: Path, at: int, how: signal.Signals, *extra: str) -> int:
    """Start a run, stop it once so many requests were made, and return its status."""
    process = subprocess.Popen(
        [plugged, "-m", "pmbench", *RUN, *extra],
        cwd=tmp_path,
        env={**os.environ, "PARROT_LOG": "asked", "PARROT_SECONDS": "0.05"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while asked(tmp_path) < at and process.poll() is None:
        time.sleep(0.005)
    process.send_signal(how)
    return process.wait(60)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_fresh_round_that_was_stopped_goes_on_with_the_same_command(
    pmbench, plugged, tmp_path: Path, how: signal.Signals
) -> None:
    env = {"PARROT_LOG": "asked"}
    assert pmbench(*RUN, env=env).returncode == 0
    before = asked(tmp_path)
    stopped(plugged, tmp_path, before + 20, how, "--fresh")
    done = pmbench(*RUN, "--fresh", env=env)
    assert done.returncode == 0 and "going on with the round" in done.stderr
    assert asked(tmp_path) <= before + len(MESSAGES) + IN_FLIGHT
    # Now that it is done, --fresh begins another one.
    again = pmbench(*RUN, "--fresh", env=env)
    assert "requests made now: 40" in again.stdout
    assert json.loads(next(tmp_path.glob("runs/greeting/*/*/run.json")).read_text())["round"] == 2


def test_fresh_mends_a_run_whose_record_cannot_be_read(pmbench, tmp_path: Path) -> None:
    env = {"PARROT_LOG": "asked"}
    assert pmbench(*RUN, env=env).returncode == 0
    record = next(tmp_path.glob("runs/greeting/*/*/run.json"))
    record.write_text("{")
    broken = pmbench(*RUN, env=env)
    assert broken.returncode == 2 and "--fresh" in broken.stderr
    mended = pmbench(*RUN, "--fresh", env=env)
    assert mended.returncode == 0 and "requests made now: 40" in mended.stdout


def test_a_second_ctrl_c_does_not_disturb_the_closing(plugged, tmp_path: Path) -> None:
    for gap in (0.0, 0.002, 0.005, 0.01, 0.05):
        process = subprocess.Popen(
            [plugged, "-m", "pmbench", *RUN, "--runs", f"runs-{gap}"],
            cwd=tmp_path,
            env={**os.environ, "PARROT_LOG": "asked", "PARROT_SECONDS": "0.3"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        start = asked(tmp_path)
        while asked(tmp_path) < start + 4 and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        time.sleep(gap)
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=60)
        assert process.returncode == 130
        assert "Traceback" not in told


@pytest.mark.parametrize("victim", ["completions.sqlite", "greeting"])
def test_files_that_vanish_during_a_run_are_noticed(plugged, tmp_path: Path, victim: str) -> None:
    process = subprocess.Popen(
        [plugged, "-m", "pmbench", *RUN],
        cwd=tmp_path,
        env={**os.environ, "PARROT_LOG": "asked", "PARROT_SECONDS": "0.1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    while asked(tmp_path) < 6 and process.poll() is None:
        time.sleep(0.01)
    subprocess.run(["rm", "-r", tmp_path / "runs" / victim], check=True)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "was removed or replaced while it was written" in told and "Traceback" not in told


def test_a_part_done_after_an_interrupted_whole_has_its_results(pmbench, plugged, tmp_path: Path) -> None:
    assert stopped(plugged, tmp_path, 8, signal.SIGINT) == 130
    assert pmbench(*RUN, "-n", "15", "--json", "out.json").returncode == 0
    kept = json.loads(next(tmp_path.glob("runs/**/results.json")).read_text())
    assert kept["status"] == "complete" and kept["counts"]["scored"] == 15


def test_a_limit_chooses_instances_of_the_same_run(pmbench, tmp_path: Path) -> None:
    env = {"PARROT_LOG": "asked"}
    few = pmbench(*RUN, "--limit", "5", env=env)
    assert few.returncode == 0 and "5 of the dataset's 40 instances" in few.stdout
    assert asked(tmp_path) == 5
    assert pmbench(*RUN, "--json", "out.json", env=env).returncode == 0
    assert asked(tmp_path) == len(MESSAGES)
    assert results(tmp_path) == undisturbed(pmbench, tmp_path)
    assert len(list(tmp_path.glob("runs/greeting/*/*/run.json"))) == 1


def test_failures_are_counted_bounded_and_tried_again_only_when_asked(pmbench, tmp_path: Path) -> None:
    # The longest message alone ends in 39 x's; it fails for good.
    env = {"PARROT_LOG": "asked", "PARROT_FAIL": "x" * 39}
    failing = pmbench(*RUN, "--json", "out.json", env=env)
    assert failing.returncode == 1
    assert "incomplete (1 failed, 0 without a score, of 40: more than --max-missing" in failing.stdout
    assert "1 failed" in failing.stdout and "told-to 1" in failing.stdout
    found = results(tmp_path)
    assert found["counts"]["failed"] == 1 and found["counts"]["scored"] == 39
    share = found["metrics"]["greeting_share"]
    greets = sum(len(message) % 2 for message in MESSAGES[:-1])
    assert share["value"] == pytest.approx(greets / 39)
    assert (share["worst"], share["best"]) == pytest.approx((greets / 40, (greets + 1) / 40))

    allowed = pmbench(*RUN, "--max-missing", "0.05", env={"PARROT_LOG": "asked"})
    assert allowed.returncode == 0 and "complete-with-missing" in allowed.stdout
    before = asked(tmp_path)
    mended = pmbench(*RUN, "--retry-failed", "--json", "out.json", env={"PARROT_LOG": "asked"})
    assert mended.returncode == 0 and asked(tmp_path) == before + 1
    assert results(tmp_path) == undisturbed(pmbench, tmp_path)


def test_a_second_process_is_kept_out_of_the_same_run(pmbench, plugged, tmp_path: Path) -> None:
    env = {"PARROT_LOG": "asked", "PARROT_SECONDS": "0.3"}
    first = subprocess.Popen(
        [plugged, "-m", "pmbench", *RUN],
        cwd=tmp_path,
        env={**os.environ, **env},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while not asked(tmp_path) and first.poll() is None:
        time.sleep(0.01)
    second = pmbench(*RUN, env=env)
    assert second.returncode == 2
    assert "another process is at work in this run" in second.stderr and "Traceback" not in second.stderr
    assert first.wait(60) == 0
    assert asked(tmp_path) == len(MESSAGES)


def test_several_samples_are_several_answers_and_one_instance(pmbench, tmp_path: Path) -> None:
    env = {"PARROT_LOG": "asked"}
    same = pmbench(*RUN, "--samples", "3", "--temperature", "0", env=env)
    assert same.returncode == 2 and "--temperature above 0" in same.stderr
    done = pmbench(*RUN, "--samples", "3", "--temperature", "0.7", "--json", "out.json", env=env)
    assert done.returncode == 0 and asked(tmp_path) == 3 * len(MESSAGES)
    found = results(tmp_path)
    assert found["counts"]["samples"] == 120 and found["statistics"]["clusters"] == 40
    calm = undisturbed(pmbench, tmp_path)
    assert found["metrics"] == calm["metrics"]  # the parrot says the same each time


def test_a_dry_run_prints_the_plan_and_asks_for_nothing(pmbench, tmp_path: Path) -> None:
    done = pmbench(*RUN, "--dry-run", env={"PARROT_LOG": "asked"})
    assert done.returncode == 0 and asked(tmp_path) == 0
    assert "requests  40 to the model, 0 to judges" in done.stdout
    assert "40 instances, phi" in done.stdout
    assert not list(tmp_path.glob("runs/greeting"))


def test_a_fresh_command_of_two_runs_that_was_stopped_in_the_second_asks_nothing_of_the_first_again(
    pmbench, plugged, tmp_path: Path
) -> None:
    env = {"PARROT_LOG": "asked"}
    two = ("--model", "parrot:other")
    assert pmbench(*RUN, *two, env=env).returncode == 0
    before = asked(tmp_path)
    assert before == 2 * len(MESSAGES)
    stopped(plugged, tmp_path, before + len(MESSAGES) + 5, signal.SIGKILL, *two, "--fresh")
    done = pmbench(*RUN, *two, "--fresh", env=env)
    assert done.returncode == 0 and "going on with the round" in done.stderr
    assert asked(tmp_path) <= before + 2 * len(MESSAGES) + IN_FLIGHT
    rounds = [json.loads(path.read_text())["round"] for path in tmp_path.glob("runs/greeting/*/*/run.json")]
    assert rounds == [1, 1]
    again = pmbench(*RUN, *two, "--fresh", env=env)
    assert again.stdout.count("requests made now: 40") == 2
