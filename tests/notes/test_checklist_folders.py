"""Folders of `pmbench checklist`: what is not its own stays, and a place is tried before an answer is paid for."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest
from given_evaluation import words as evaluate_words
from given_evaluation import write_given
from given_pipeline import pmbench, write_feedback

from pmbench import ConfigError
from pmbench_tasks.notes.pipeline.claims import MARK, STAGES, Kind, check_folder
from pmbench_tasks.notes.pipeline.leaves import Leaves, check_writable

NOWHERE = "http://127.0.0.1:9/v1"
"""Nobody listens there: a command that asks anything fails in another way."""

OTHERS = Kind("somebody else", frozenset({"summary.md"}))


def refused(folder: Path, kind: Kind = STAGES) -> str:
    with pytest.raises(ConfigError) as caught:
        check_folder(folder, kind, "--folder")
    return str(caught.value)


def test_a_folder_of_its_own_is_taken_again_and_one_of_others_is_not(tmp_path: Path) -> None:
    check_folder(tmp_path / "absent", STAGES, "--folder")
    check_folder(tmp_path, STAGES, "--folder")
    leaves = Leaves(tmp_path / "mine")
    with leaves.locked("--folder"):
        leaves.bytes("summary.md", b"fine\n")
    check_folder(tmp_path / "mine", STAGES, "--folder")
    assert "is a folder of pmbench checklist build" in refused(tmp_path / "mine", OTHERS)
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "summary.md").write_text("My summary.")
    told = refused(tmp_path / "theirs")
    assert "files in it that are not of pmbench checklist build" in told and "(summary.md)" in told
    assert len(told.splitlines()) == 1
    (tmp_path / "file").write_text("")
    assert "no folder" in refused(tmp_path / "file")


def test_hidden_files_are_no_reason_and_a_remark_beside_is_none(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("*")
    leaves = Leaves(tmp_path)
    with leaves.locked("--folder"):
        leaves.bytes("summary.md", b"fine\n")
    (tmp_path / "my-remarks.md").write_text("Why q3?")
    check_folder(tmp_path, STAGES, "--folder")


def test_what_somebody_changed_or_put_in_place_of_a_file_is_kept(tmp_path: Path) -> None:
    leaves = Leaves(tmp_path)
    with leaves.locked("--folder"):
        leaves.bytes("summary.md", b"fine\n")
    (tmp_path / "1-feedback.csv").write_text("mine")
    assert "1-feedback.csv would be written over" in refused(tmp_path)
    (tmp_path / "1-feedback.csv").unlink()
    (tmp_path / "summary.md").write_text("fine, says Dr B\n")
    assert "summary.md would be written over, and somebody changed it" in refused(tmp_path)


def test_a_command_that_was_killed_between_two_files_goes_on(tmp_path: Path) -> None:
    """The mark knows of a file before it is written, and of what was there before."""
    leaves = Leaves(tmp_path)
    with leaves.locked("--folder"):
        leaves.bytes("summary.md", b"one\n")
    again = Leaves(tmp_path)
    with pytest.raises(KeyboardInterrupt), again.locked("--folder"):
        again.bytes("summary.md", b"two\n")
        raise KeyboardInterrupt
    (tmp_path / "summary.md").write_bytes(b"one\n")  # as if it had been killed before the second was in place
    check_folder(tmp_path, STAGES, "--folder")
    third = Leaves(tmp_path)
    with third.locked("--folder"):
        third.bytes("summary.md", b"three\n")
    assert len(json.loads((tmp_path / MARK).read_text())["files"]["summary.md"]) == 1
    assert stat.S_IMODE((tmp_path / MARK).stat().st_mode) == 0o600


def test_only_its_own_files_are_taken_away(tmp_path: Path) -> None:
    leaves = Leaves(tmp_path)
    with leaves.locked("--folder"):
        leaves.bytes("summary.md", b"fine\n")
        (tmp_path / "models.json").write_text("mine")
        leaves.remove("summary.md")
        leaves.remove("models.json")
        leaves.remove("4-tagged.json")
    assert not (tmp_path / "summary.md").exists() and (tmp_path / "models.json").read_text() == "mine"
    with pytest.raises(ValueError, match="no file of"):
        leaves.bytes("else.txt", b"")


def test_a_place_that_cannot_be_written_to_is_told_before_anything_is_asked(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="Nothing was asked yet"):
        Leaves(Path(os.devnull))
    with pytest.raises(ConfigError, match="Nothing was asked yet"):
        check_writable(tmp_path / "absent" / "grown.json")
    check_writable(tmp_path / "grown.json")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def given(tmp_path: Path, plain_environment: None, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    write_given(tmp_path)
    return tmp_path


def test_evaluate_touches_nothing_in_a_folder_of_the_users_own(given: Path) -> None:
    mine = {"answers.csv": "my labels", "unit-tests.json": "{}", "deltas.svg": "<svg/>", "table.md": "# Mine"}
    (given / "mine").mkdir()
    for name, text in mine.items():
        (given / "mine" / name).write_text(text)
    for out in ("mine", "."):
        done = pmbench(given, *evaluate_words(NOWHERE, out=out))
        assert done.returncode == 2 and "not of pmbench checklist evaluate" in done.stderr
        assert len(done.stderr.splitlines()) == 1 and not done.stdout
    assert {path.name: path.read_text() for path in (given / "mine").iterdir()} == mine


def test_evaluate_makes_no_folder_where_the_data_may_not_go(given: Path) -> None:
    done = pmbench(given, *evaluate_words("https://models.example.org/v1"))
    assert done.returncode == 2 and "phi" in done.stderr and len(done.stderr.splitlines()) == 1
    assert not (given / "out").exists()


def build_words(*more: str) -> list[str]:
    model = f"openai:m?base_url={NOWHERE}"
    return [
        "build",
        "--feedback",
        "feedback.csv",
        "-m",
        model,
        "--embedder",
        model,
        "--out",
        "grown.json",
        *more,
    ]


def test_build_touches_nothing_in_a_folder_of_the_users_own(given: Path) -> None:
    write_feedback(given / "feedback.csv")
    (given / "stages").mkdir()
    (given / "stages" / "summary.md").write_text("My summary.")
    done = pmbench(given, *build_words("--folder", "stages"))
    assert done.returncode == 2 and "(summary.md)" in done.stderr and len(done.stderr.splitlines()) == 1
    assert [path.name for path in (given / "stages").iterdir()] == ["summary.md"]
    assert (given / "stages" / "summary.md").read_text() == "My summary."
