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


@pytest.mark.parametrize("what", ["raise", "exit", "pipe"])
def test_reading_responses_of_its_own_shape(pmbench, tmp_path: Path, what: str) -> None:
    write_messages(tmp_path / "mine.jsonl", ["a", "b"])
    (tmp_path / "made.greet").write_text(f"0 = Dear {SECRET}\n1\n")
    score = ("score", "-t", "greeting", "-d", "mine.jsonl", "-r", "made.greet", "--json", "out.json")
    broken = pmbench(*score, env={"GREETING_FAULT": f"responses:{what}"})
    assert broken.returncode == 2
    assert "the task 'greeting' failed while it read the responses" in broken.stderr
    assert broken.stderr.count("\n") == 1 and SECRET not in broken.stderr
    done = pmbench(*score)
    assert done.returncode == 1, done.stderr  # the second has no response
    found = json.loads((tmp_path / "out.json").read_text())
    assert found["counts"]["scored"] == 1 and found["counts"]["failures"] == {"null": 1}


@pytest.mark.parametrize("what", ["raise", "pipe"])
def test_what_it_says_of_the_scores(pmbench, tmp_path: Path, what: str) -> None:
    write_messages(tmp_path / "mine.jsonl", ["a", "b"])
    (tmp_path / "made.greet").write_text("0 = Dear you\n1 = Nein\n")
    score = ("score", "-t", "greeting", "-d", "mine.jsonl", "-r", "made.greet", "--json", "out.json")
    done = pmbench(*score, env={"GREETING_FAULT": f"findings:{what}"})
    assert done.returncode == 0 and "the task failed while it looked at the scores" in done.stdout
    assert SECRET not in done.stdout + done.stderr
    assert "no greeting in 1: 1" in pmbench(*score).stdout
    run = pmbench("runs").stdout.splitlines()[1].split()[0]
    assert "no greeting in 1: 1" in pmbench("show", run).stdout


@pytest.mark.parametrize("what", ["raise", "exit", "pipe", "none"])
def test_exporting(pmbench, tmp_path: Path, what: str) -> None:
    write_messages(tmp_path / "mine.jsonl", ["a", "b"])
    assert pmbench(*RUN).returncode == 0
    run = pmbench("runs").stdout.splitlines()[1].split()[0]
    broken = pmbench("export", run, "-f", "lines", "-o", "out.txt", env={"GREETING_FAULT": f"export:{what}"})
    assert broken.returncode == 2 and broken.stderr.count("\n") == 1, broken.stderr
    assert "the format 'lines' of the task 'greeting' failed" in broken.stderr
    assert SECRET not in broken.stderr and not (tmp_path / "out.txt").exists()
    assert pmbench("export", run, "-f", "lines", "-o", "out.txt").returncode == 0
    assert pmbench("export", run, "-f", "lines", "-o", "-").stdout == (tmp_path / "out.txt").read_text()
    gone = pmbench("export", run, "-f", "lines", "-o", "nowhere/out.txt")
    assert gone.returncode == 2 and "there is no such folder" in gone.stderr


def test_an_export_needs_the_data_as_they_were(pmbench, tmp_path: Path) -> None:
    write_messages(tmp_path / "mine.jsonl", ["a", "b"])
    assert pmbench(*RUN).returncode == 0
    run = pmbench("runs").stdout.splitlines()[1].split()[0]
    write_messages(tmp_path / "mine.jsonl", ["a", "c"])
    refused = pmbench("export", run, "-f", "lines", "-o", "out.txt")
    assert refused.returncode == 2 and "The dataset has changed since the run" in refused.stderr


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
