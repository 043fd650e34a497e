"""What a stranger's task does wrong costs one response or score, is counted, and shows no text."""

import json
import subprocess
from pathlib import Path

import pytest
from cli_answers import write_messages

SECRET = "Zyzzyva-7731"
RUN = ("run", "-t", "greeting", "-m", "parrot:grey", "-d", "mine.jsonl", "--json", "out.json")


@pytest.mark.parametrize("what", ["raise", "exit", "cancel", "pipe", "none", "number", "surrogate", "object"])
def test_a_strategy(pmbench, tmp_path: Path, what: str) -> None:
    write_messages(tmp_path / "mine.jsonl", ["a", "b", "c"])
    for _ in range(2):  # the second time finds what the first has written
        done = pmbench(*RUN, env={"GREETING_FAULT": f"strategy:{what}"})
        assert done.returncode == 1, done.stderr
        assert "Traceback" not in done.stderr and SECRET not in done.stdout + done.stderr
        counts = json.loads((tmp_path / "out.json").read_text())["counts"]
        assert counts["failed"] == 3 and sum(counts["failures"].values()) == 3
    mended = pmbench(*RUN, "--retry-failed")
    assert mended.returncode == 0, mended.stderr


@pytest.mark.parametrize(
    "what",
    [
        "raise",
        "exit",
        "cancel",
        "pipe",
        "none",
        "nan",
        "inf",
        "huge",
        "text",
        "null",
        "other",
        "evidence",
        "surrogate",
    ],
)
def test_scoring(pmbench, tmp_path: Path, what: str) -> None:
    write_messages(tmp_path / "mine.jsonl", ["a", "b", "c"])
    for _ in range(2):
        done = pmbench(*RUN, env={"GREETING_FAULT": f"score:{what}"})
        assert done.returncode == 1, done.stderr
        assert "Traceback" not in done.stderr and SECRET not in done.stdout + done.stderr
        counts = json.loads((tmp_path / "out.json").read_text())["counts"]
        assert counts["missing"] == 3 and counts["scored"] == 0
    mended = pmbench(*RUN, "--retry-failed")
    assert mended.returncode == 0, mended.stderr
    assert "requests made now: 0" in mended.stdout


@pytest.mark.parametrize("what", ["raise", "exit", "pipe"])
def test_making_instances(pmbench, tmp_path: Path, what: str) -> None:
    write_messages(tmp_path / "mine.jsonl", ["a"])
    done = pmbench(*RUN, env={"GREETING_FAULT": f"instances:{what}"})
    assert done.returncode == 2
    assert "the task 'greeting' failed while it read the data" in done.stderr
    assert done.stderr.count("\n") == 1 and SECRET not in done.stderr


def test_a_misspelt_second_model_comes_out_before_the_first_is_asked(pmbench, tmp_path: Path) -> None:
    write_messages(tmp_path / "mine.jsonl", ["a"])
    done = pmbench(*RUN, "-m", "parot:grey", env={"PARROT_LOG": "asked"})
    assert done.returncode == 2 and "no backend called 'parot'" in done.stderr
    assert not (tmp_path / "asked").exists()


@pytest.mark.parametrize(
    ("where", "told"), [("nowhere/out.json", "no such folder"), ("mine.jsonl", "Choose another name")]
)
def test_results_do_not_go_where_they_should_not(pmbench, tmp_path: Path, where: str, told: str) -> None:
    write_messages(tmp_path / "mine.jsonl", ["a"])
    before = (tmp_path / "mine.jsonl").read_bytes()
    done = pmbench(*RUN[:-1], where, env={"PARROT_LOG": "asked"})
    assert done.returncode == 2 and told in done.stderr
    assert (tmp_path / "mine.jsonl").read_bytes() == before and not (tmp_path / "asked").exists()


def test_json_on_standard_output_is_json_alone(pmbench, tmp_path: Path) -> None:
    write_messages(tmp_path / "mine.jsonl", ["a"])
    assert json.loads(pmbench(*RUN[:-1], "-").stdout)["status"] == "complete"


def test_a_reader_that_has_gone_does_not_stop_a_run(plugged, tmp_path: Path) -> None:
    write_messages(tmp_path / "mine.jsonl")
    command = f"{plugged} -m pmbench {' '.join(RUN)} 2>&1 | head -1"
    subprocess.run(command, shell=True, cwd=tmp_path, check=True, capture_output=True)
    assert json.loads((tmp_path / "out.json").read_text())["status"] == "complete"
