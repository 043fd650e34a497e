"""Zipped submissions: read in memory, and archives that are not to be trusted."""

from __future__ import annotations

import io
import stat
import struct
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from pmbench import DataError
from pmbench_tasks.archehr import zipped
from pmbench_tasks.archehr.submissions import read_submission

GOOD = '[{"case_id": "1", "answer": "Yes. |2|"}]'


def packed(tmp_path: Path, entries: Mapping[str, str | bytes], kind: int = zipfile.ZIP_DEFLATED) -> Path:
    file = tmp_path / "submission.zip"
    with zipfile.ZipFile(file, "w", kind) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return file


def refused(file: Path) -> str:
    with pytest.raises(DataError) as caught:
        read_submission(file)
    line = str(caught.value)
    assert "\n" not in line
    assert "submission.zip" in line
    return line


@pytest.mark.parametrize(
    "entries",
    [
        {"submission.json": GOOD},
        {"mine/submission.json": GOOD},
        {
            "mine/": "",
            "mine/submission.json": GOOD,
            "__MACOSX/mine/._submission.json": "x",
            "mine/.DS_Store": "x",
        },
        {"README.txt": "words", "Submission.JSON": GOOD},
        {"answers.json": GOOD},
    ],
)
@pytest.mark.parametrize("kind", [zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED])
def test_the_json_of_an_archive_is_read(tmp_path: Path, entries: Mapping[str, str], kind: int) -> None:
    found = read_submission(packed(tmp_path, entries, kind))
    assert found is not None
    assert found["1"].text == "Yes. |2|"
    assert bool(found.notes) is not any(
        name.endswith("submission.json") for name in entries if "/._" not in name
    )
    assert [file.name for file in tmp_path.iterdir()] == ["submission.zip"]


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ({"../submission.json": GOOD}, "entry 1: has a path outside the archive"),
        ({"submission.json": GOOD, "a/../../b.txt": "x"}, "entry 2: has a path outside the archive"),
        ({"/etc/submission.json": GOOD}, "entry 1: has a path outside the archive"),
        ({"C:\\submission.json": GOOD}, "entry 1: has a path outside the archive"),
        ({"..\\submission.json": GOOD}, "entry 1: has a path outside the archive"),
        ({"submission.json": GOOD, "mine/submission.json": GOOD}, "holds 2 JSON files"),
        ({"a/b/submission.json": GOOD}, "has its JSON file in a folder of a folder"),
        ({"README.txt": "words"}, "holds no JSON file"),
        ({"inner.zip": "x"}, "holds no JSON file, but another archive"),
        ({}, "holds no JSON file"),
        ({"submission.json": "[]"}, "submission.json: the submission holds no cases"),
        ({"submission.json": '{"case_id": "1"}'}, "submission.json: the submission is not a list"),
        ({"submission.json": "[broken"}, "submission.json, line 1, column 2: no valid JSON"),
        ({"submission.json": b"\xff"}, "submission.json, line 1: not UTF-8"),
        ({f"{number}.txt": "" for number in range(1001)}, "holds 1001 entries"),
    ],
)
def test_archives_with_something_else_are_refused(
    tmp_path: Path, entries: Mapping[str, str], said: str
) -> None:
    assert said in refused(packed(tmp_path, entries))


def test_two_entries_of_one_name_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "submission.zip"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("submission.json", GOOD)
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("submission.json", "[]")
    assert "holds 2 JSON files" in refused(file)


def test_a_link_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "submission.zip"
    link = zipfile.ZipInfo("submission.json")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(link, "/etc/passwd")
    assert "entry 1: is a link" in refused(file)


def test_a_bomb_is_refused_unread(tmp_path: Path) -> None:
    file = packed(tmp_path, {"submission.json": b" " * (zipped.MOST_BYTES + 1)})
    assert file.stat().st_size < 100_000
    assert "holds more than 64 MiB when unpacked" in refused(file)


def test_a_bomb_that_lies_about_its_size_is_refused(tmp_path: Path) -> None:
    file = packed(tmp_path, {"submission.json": b" " * (zipped.MOST_BYTES + 1)})
    data = bytearray(file.read_bytes())
    at = data.rindex(b"PK\x01\x02")
    data[at + 24 : at + 28] = struct.pack("<I", 100)  # the size stated in the directory
    file.write_bytes(data)
    refused(file)


def test_an_encrypted_entry_is_refused(tmp_path: Path) -> None:
    file = packed(tmp_path, {"submission.json": GOOD})
    data = bytearray(file.read_bytes())
    data[data.index(b"PK\x03\x04") + 6] |= 1
    data[data.rindex(b"PK\x01\x02") + 8] |= 1
    file.write_bytes(data)
    assert "is encrypted" in refused(file)


def test_an_unknown_compression_is_refused(tmp_path: Path) -> None:
    file = packed(tmp_path, {"submission.json": GOOD})
    data = bytearray(file.read_bytes())
    data[data.index(b"PK\x03\x04") + 8] = 99
    data[data.rindex(b"PK\x01\x02") + 10] = 99
    file.write_bytes(data)
    assert "packed in a way that cannot be read" in refused(file)


@pytest.mark.parametrize("keep", [0, 1, 30, -10])
def test_what_is_no_whole_archive_is_refused(tmp_path: Path, keep: int) -> None:
    file = packed(tmp_path, {"submission.json": GOOD})
    file.write_bytes(file.read_bytes()[:keep])
    assert "is not a whole zip file" in refused(file)


def test_damaged_content_is_refused(tmp_path: Path) -> None:
    file = packed(tmp_path, {"submission.json": GOOD}, zipfile.ZIP_STORED)
    file.write_bytes(file.read_bytes().replace(b"Yes.", b"Yes!"))
    assert "is not a whole zip file" in refused(file)


def test_an_archive_in_an_archive_is_no_submission(tmp_path: Path) -> None:
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr("submission.json", GOOD)
    assert "another archive" in refused(packed(tmp_path, {"mine.zip": inner.getvalue()}))
