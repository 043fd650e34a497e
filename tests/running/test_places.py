"""Looking at what lies on disk: regular files alone are read, and what cannot be looked into is said."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pmbench.core.errors import StorageError
from pmbench.running.places import Irregular, Unread, content, folders_with, inside, reading, there


def test_a_file_is_read_whole_and_no_further_than_it_may(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"x" * 10)
    assert content(path) == content(path, 10) == b"x" * 10
    with pytest.raises(Irregular, match="larger than 9 bytes"):
        content(path, 9)
    (tmp_path / "link").symlink_to(path)
    assert content(tmp_path / "link") == b"x" * 10


def test_a_pipe_a_device_and_a_folder_are_no_files(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path, what in (
        (tmp_path / "pipe", "a pipe"),
        (Path("/dev/zero"), "a device"),
        (tmp_path, "a folder"),
    ):
        with pytest.raises(Irregular, match=what):
            content(path)
    with pytest.raises(FileNotFoundError):
        content(tmp_path / "nothing")


def test_what_lies_in_a_folder(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / ".hidden").mkdir()
    (tmp_path / "a").write_text("")
    (tmp_path / "gone").symlink_to("nowhere")
    (tmp_path / "loop").symlink_to("loop")
    unread: list[Unread] = []
    found = [(path.name, is_folder) for path, is_folder in inside(tmp_path, unread)]
    assert found == [("a", False), ("b", True), ("gone", False)]
    assert [(one.path.name, "symbolic links" in one.why) for one in unread] == [("loop", True)]
    assert inside(tmp_path / "nothing", unread) == [] and len(unread) == 1
    assert inside(tmp_path / "a", unread) == []
    assert unread[1].why == "cannot be read (Not a directory)"


def test_whether_something_is_there(tmp_path: Path) -> None:
    (tmp_path / "gone").symlink_to("nowhere")
    (tmp_path / "file").write_text("")
    assert there(tmp_path / "gone") and there(tmp_path)
    assert not there(tmp_path / "nothing") and not there(tmp_path / "file" / "below")


def test_folders_that_hold_a_name(tmp_path: Path) -> None:
    for name in ("b/deep", "a", ".hidden", "none"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("b/deep", "a", ".hidden"):
        (tmp_path / name / "record.json").write_text("")
    (tmp_path / "none" / "record.json").mkdir()  # a folder in place of the file: named where it is read
    found = folders_with(tmp_path, ("record.json",), [])
    assert [str(path.relative_to(tmp_path)) for path in found] == ["a", "b/deep", "none"]


@pytest.mark.parametrize(
    ("error", "remedy"),
    [
        (PermissionError(13, "Permission denied"), "Give yourself the right to read it"),
        (OSError(40, "Too many levels of symbolic links"), "Mend the link"),
        (FileNotFoundError(2, "No such file or directory"), "Do this"),
        (Irregular(22, "it is a pipe"), "Do this"),
    ],
)
def test_the_remedy_is_of_what_failed(error: OSError, remedy: str) -> None:
    with pytest.raises(StorageError) as caught, reading(Path("x"), "Do this"):
        raise error
    assert caught.value.remedy.startswith(remedy)
    assert caught.value.what == f"cannot be read ({error.strerror})"
