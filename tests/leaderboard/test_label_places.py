"""What is no file of labels, no key and no place for a form: one line each, and nothing that hangs or is lost."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from pathlib import Path

import pytest
from labelled_runs import drafted, filled, made_run, written

from pmbench.cli.main import run as command
from pmbench.core.errors import ConfigError, DataError, StorageError
from pmbench.running import labels as label_files
from pmbench.running.label_form import label_form
from pmbench.running.label_marks import KEY, kept_marks, made_marks
from pmbench.running.labels import read_labels
from pmbench.running.reading import read_run

HEAD = "run,id,sample,response,matches,deletions,additions\n"
ROW = "0123456789ab,m{},0,bcdfbcdfbcdf,1,1,1\n"


@pytest.fixture
def made(tmp_path: Path) -> Path:
    return made_run(tmp_path / "runs", drafted("one", 1))


@pytest.mark.parametrize("text", ["", "\n", "ab", "0" * 30, "0" * 34, "g" * 32, "0" * 128])
def test_what_is_no_whole_key_makes_no_marks(tmp_path: Path, text: str) -> None:
    (tmp_path / KEY).write_text(text)
    for of in (made_marks, kept_marks):
        with pytest.raises(StorageError, match=r"this is no key of labels.* Put back the file"):
            of(tmp_path)
    assert (tmp_path / KEY).read_text() == text


@pytest.mark.parametrize("digits", [32, 64])
def test_a_key_is_made_once_and_read_back(tmp_path: Path, digits: int) -> None:
    assert kept_marks(tmp_path) is None
    made_marks(tmp_path)
    key = (tmp_path / KEY).read_text()
    made_marks(tmp_path)
    assert (tmp_path / KEY).read_text() == key and len(key.strip()) == 32
    assert [path.name for path in tmp_path.iterdir()] == [KEY] and (
        tmp_path / KEY
    ).stat().st_mode & 0o777 == 0o600
    (tmp_path / KEY).write_text("a" * digits)
    assert kept_marks(tmp_path) is not None


MAKER = """
import sys, time
from pathlib import Path
from pmbench.running.label_marks import made_marks
while time.time() < float(sys.argv[2]): pass
for place in sorted(Path(sys.argv[1]).iterdir()):
    print(made_marks(place)._key.hex())
"""


def test_processes_that_make_a_key_at_once_have_the_same_one(tmp_path: Path) -> None:
    import time

    for number in range(40):
        (tmp_path / f"{number:02}").mkdir()
    start = str(time.time() + 1.5)
    asked = [sys.executable, "-c", MAKER, str(tmp_path), start]
    several = [subprocess.Popen(asked, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    found = [one.communicate(timeout=60)[0].split() for one in several]
    assert found[0] == found[1] == found[2]
    assert len(set(found[0])) == 40 and all(len(key) == 32 for key in found[0])


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("pipe", "is a pipe, a socket or a device"),
        ("device", "is a pipe, a socket or a device"),
        ("dangling", "is a link to a file that is not there"),
        ("folder", "is a folder"),
        ("large", "is larger than"),
    ],
)
def test_a_key_that_is_no_regular_file_is_refused_at_once(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str, message: str
) -> None:
    path = made / KEY
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "large":
        path.write_text("0" * 5000)
    else:
        path.symlink_to("/dev/zero" if kind == "device" else tmp_path / "gone")
    assert (
        command(["labels", str(made), "--runs", str(tmp_path / "runs"), "-o", str(tmp_path / "f.csv")]) == 2
    )
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line and KEY in line and "Put back" in line


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("", "Error: --output: this names no file. Name one, such as form.csv"),
        (".", "Error: .: this is a folder. Name a file in it, such as form.csv"),
        ("/dev/full", "Error: /dev/full: this is a pipe, a socket or a device, not a file"),
    ],
)
def test_a_form_goes_to_a_file(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], place: str, message: str
) -> None:
    assert command(["labels", str(made), "--runs", str(tmp_path / "runs"), "-o", place]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(message) and not (made / KEY).exists()


def test_standard_output_has_the_form_byte_for_byte(
    made: Path, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    path = tmp_path / "f.csv"
    asked = ["labels", str(made), "--runs", str(tmp_path / "runs"), "-o"]
    assert command([*asked, str(path)]) == 0
    capfdbinary.readouterr()
    assert command([*asked, "-"]) == 0
    assert capfdbinary.readouterr().out == path.read_bytes()


@pytest.mark.parametrize("name", ["m7\x1b[31m", "m7\x07", "m\u202e7"])
def test_an_id_with_characters_that_cannot_be_seen_is_in_no_form(made: Path, name: str) -> None:
    (path,) = made.rglob("scores.jsonl")
    import json

    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        if line["id"] == "m7":
            line["id"] = name
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(
        ConfigError, match="1 id has control characters or others that cannot be seen"
    ) as caught:
        label_form(read_run(made.parent, str(made)), (), 120, 0)
    assert name not in str(caught.value)


@pytest.mark.parametrize("kind", ["rows", "bytes", "packed", "json", "parquet"])
def test_a_file_that_is_too_large_for_labels_is_refused_before_its_rows_are_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(label_files, "MOST", label_files.Most(20_000, 100, "files of labels"))
    rows = HEAD + "".join(ROW.format(number) for number in range(1000))
    path = tmp_path / {"packed": "l.csv.gz", "json": "l.json", "parquet": "l.parquet"}.get(kind, "l.csv")
    if kind == "packed":
        path.write_bytes(gzip.compress(rows.encode()))
    elif kind == "json":
        path.write_text("[" + ",".join(['{"run": "0123456789ab"}'] * 101) + "]")
    elif kind == "parquet":
        pyarrow = pytest.importorskip("pyarrow")
        from pyarrow import parquet

        parquet.write_table(pyarrow.table({"run": ["0123456789ab"] * 101}), path)
    elif kind == "bytes":
        path.write_text(HEAD + ROW.format("7" * 30_000))
    else:
        path.write_text(rows)
    with pytest.raises(
        DataError, match="files of labels have at most 100 rows and 0 MB, and this one has more"
    ):
        read_labels([path])


def test_as_many_rows_as_there_may_be_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(label_files, "MOST", label_files.Most(20_000, 100, "files of labels"))
    path = tmp_path / "l.csv"
    path.write_text(HEAD + "".join(ROW.format(number) for number in range(100)))
    assert len(read_labels([path]).filled) == 100


def test_rows_without_anything_are_those_of_a_spreadsheet_and_count_as_none(tmp_path: Path) -> None:
    path = tmp_path / "l.csv"
    path.write_text(HEAD + ROW.format(1) + ",,,,,,\n" + ROW.format(2) + " , ,,,,,\n,,,,,,\n")
    found = read_labels([path])
    assert [label.id for label in found.filled] == ["m1", "m2"] and found.empty == 0


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("folder", "is a folder, not a file. Name a file in it"),
        ("/dev/zero", "is a pipe, a socket or a device, not a regular file"),
        ("nowhere.csv", "no such file"),
    ],
)
def test_a_place_without_labels_is_named_for_what_it_is(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(DataError, match=message):
        read_labels([tmp_path / name])


def test_labels_of_nothing_but_zeros_make_no_f1(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = filled(made, lambda place, stats: dict.fromkeys(stats, 0.0), metrics=["content_f1_micro"])
    labels = str(written(tmp_path / "l.csv", rows))
    assert command(["show", str(made), "--runs", str(tmp_path / "runs"), "--labels", labels]) == 0
    out = capsys.readouterr().out
    assert "people counted nothing of what it is divided by" in out and "1.000" not in out
