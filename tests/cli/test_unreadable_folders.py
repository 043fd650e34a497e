"""What cannot be read in a folder of runs or records is named with its reason, and its remedy fits."""

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
from odd_runs import Odd, can_be_denied

GOOD = ["0.1", "0.4", "0.3", "0.9", "0.5", "0.2"]
BETTER = ["0.5", "0.8", "0.3", "0.9", "0.7", "0.6"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Odd:
    """Two runs, `m0` and `m1`, and a record of each."""
    odd = Odd(tmp_path_factory.mktemp("odd"))
    for name, answers in (("m0", GOOD), ("m1", BETTER)):
        done = odd.run(name, answers)
        assert done.returncode == 0, done.stderr
        done = odd("export", odd.at(name), "-o", odd.folder / "records" / name)
        assert done.returncode == 0, done.stderr
    return odd


@pytest.fixture
def odd(made: Odd, tmp_path: Path) -> Iterator[Odd]:
    yield made.copied(tmp_path)
    for at, folders, _ in os.walk(tmp_path):
        for name in folders:
            if not Path(at, name).is_symlink():
                Path(at, name).chmod(0o700)


def left_out(told: str) -> str:
    return " ".join(told.partition("not in a table")[2].split())


CLOSED = {
    "a model": lambda odd: odd.at("m1").parent,
    "a run": lambda odd: odd.at("m1"),
    "the scores": lambda odd: odd.at("m1") / "scores",
    "a scoring": lambda odd: odd.scoring("m1"),
    "the task": lambda odd: odd.folder / "runs" / "odd",
}


@pytest.mark.parametrize("what", CLOSED)
def test_a_folder_that_may_not_be_read_is_named_by_leaderboard_and_runs(odd: Odd, what: str) -> None:
    if not can_be_denied(odd.folder):
        pytest.skip("nothing here keeps this user from reading a file")
    closed = CLOSED[what](odd)
    closed.chmod(0)
    board, listed = (odd.denied(*words) for words in (("leaderboard", "-t", "odd"), ("runs",)))
    closed.chmod(0o700)
    assert "cannot be read (Permission denied)" in left_out(board.stdout), board.stderr
    assert str(closed.relative_to(odd.folder / "runs")) in left_out(board.stdout)
    assert board.returncode == 1
    assert "cannot be read (Permission denied)" in listed.stdout, listed.stderr
    assert listed.returncode == 1
    if what != "the task":
        assert "1  m0" in board.stdout and "m0" in listed.stdout


def test_a_record_that_may_not_be_read_is_named(odd: Odd) -> None:
    if not can_be_denied(odd.folder):
        pytest.skip("nothing here keeps this user from reading a file")
    (odd.folder / "records" / "m1").chmod(0)
    board = odd.denied("leaderboard", "-t", "odd", "--records", "records")
    assert board.returncode == 1
    assert "m1: cannot be read (Permission denied)" in left_out(board.stdout)
    assert "1  m0" in board.stdout


def _file_for(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.write_text("hi")


def _pipe_for(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _folder_for(path: Path) -> None:
    path.unlink()
    path.mkdir()


SPOILT: dict[str, tuple[Callable[[Odd], object], str, bool]] = {
    "a file for a run": (lambda odd: _file_for(odd.at("m1")), "it is no folder, and a run's folder", True),
    "a file for a scoring": (lambda odd: _file_for(odd.scoring("m1")), "a scoring's folder should be", True),
    "a folder for results": (lambda odd: _folder_for(odd.scoring("m1") / "results.json"), "a folder", True),
    "a pipe for run.json": (lambda odd: _pipe_for(odd.at("m1") / "run.json"), "it is a pipe", True),
    "a pipe for scores": (lambda odd: _pipe_for(odd.scoring("m1") / "scores.jsonl"), "it is a pipe", False),
}


@pytest.mark.parametrize("what", SPOILT)
def test_what_is_no_folder_or_no_file_is_named_and_nothing_waits_for_it(odd: Odd, what: str) -> None:
    spoil, reason, in_list = SPOILT[what]
    spoil(odd)
    board, listed = odd("leaderboard", "-t", "odd"), odd("runs")
    assert board.returncode == 1 and reason in left_out(board.stdout), board.stdout + board.stderr
    assert "1  m0" in board.stdout
    assert listed.returncode == int(in_list), listed.stderr


def test_a_file_of_somebodys_own_among_the_runs_is_no_damage(odd: Odd) -> None:
    (odd.folder / "runs" / "odd" / "notes.txt").write_text("hi")
    board = odd("leaderboard", "-t", "odd")
    assert board.returncode == 0 and "notes.txt: not a run: it is no folder" in left_out(board.stdout)


def test_a_record_whose_lines_never_end_is_damaged(odd: Odd) -> None:
    lines = odd.folder / "records" / "m1" / "instances.jsonl"
    lines.unlink()
    lines.symlink_to("/dev/zero")
    (odd.folder / "records" / "m0" / "record.json").unlink()
    board = odd("leaderboard", "-t", "odd", "--records", "records")
    assert board.returncode == 1
    assert "instances.jsonl: it cannot be read (it is a pipe, a socket or a device" in left_out(board.stdout)
    assert "m0: a damaged record: record.json: it cannot be read (No such file" in left_out(board.stdout)


@pytest.mark.parametrize("salt", ["/dev/zero", "long"])
def test_a_salt_is_a_small_regular_file(odd: Odd, salt: str) -> None:
    with (odd.folder / "long").open("wb") as file:
        file.truncate(1 << 40)  # takes no room on the disk
    done = odd("export", odd.at("m0"), "-o", "new", "--hash-ids", "--salt-file", salt)
    [complaint] = done.stderr.splitlines()
    assert done.returncode == 2 and complaint.startswith(f"Error: {salt}: cannot be read (it is ")
    assert "--runs" not in complaint


def test_the_remedy_is_of_what_failed(odd: Odd) -> None:
    if not can_be_denied(odd.folder):
        pytest.skip("nothing here keeps this user from reading a file")
    (odd.folder / "salt").write_text("0123456789abcdef0123")
    (odd.folder / "salt").chmod(0)
    (odd.folder / "shut").mkdir(mode=0o500)
    hashed = ("--hash-ids", "--salt-file", "salt")
    for words, remedy in (
        (("export", odd.at("m0"), "-o", "new", *hashed), "Give yourself the right to read it"),
        (("export", odd.at("m0"), "-o", "shut/new"), "Name a folder with --output where you can write"),
        (("report", odd.at("m0"), "-o", "shut/new.html"), "Name a file with --output where you can write"),
    ):
        done = odd.denied(*words)
        assert done.returncode == 2 and "Permission denied" in done.stderr, done.stderr
        assert remedy in done.stderr.splitlines()[-1] and "PMBENCH_RUNS" not in done.stderr
    (odd.scoring("m0") / "scoring.json").unlink()
    done = odd("export", odd.at("m0"), "-o", "new")
    assert done.returncode == 2
    assert "it has no scoring.json. Move the folder of the scoring away" in done.stderr
    _folder_for(odd.scoring("m1") / "results.json")
    done = odd("show", odd.at("m1"))
    assert done.returncode == 2
    assert "results.json: cannot be read (it is a folder). Move it away and give the run's" in done.stderr
