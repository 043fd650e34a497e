"""The run folder: torn lines, locks, names, and what a full or forbidden disk says."""

import json
import os
import resource
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pmbench.core.errors import RunLocked, StorageError
from pmbench.running.finding import find_run
from pmbench.running.folder import (
    Appender,
    RunFolder,
    folder_for,
    make_folder,
    read_json,
    read_lines,
    slug,
    write_json,
)
from pmbench.running.records import ResponseRecord
from pmbench.running.results import UsageTotal


def test_records_come_back_as_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "responses.jsonl"
    written = [
        ResponseRecord(id="a", text="line\nbreak \u2028 ☂"),
        ResponseRecord(id="b", status="failed", failure="x"),
    ]
    with Appender(path) as lines:
        for record in written:
            lines.append(record)
    assert read_lines(path, ResponseRecord) == written


def test_a_torn_last_line_is_dropped_and_written_over(tmp_path: Path) -> None:
    path = tmp_path / "responses.jsonl"
    with Appender(path) as lines:
        lines.append(ResponseRecord(id="a"))
        lines.append(ResponseRecord(id="b", text="x" * 200_000))
    os.truncate(path, path.stat().st_size - 7)
    assert [record.id for record in read_lines(path, ResponseRecord)] == ["a"]
    with Appender(path) as lines:
        lines.append(ResponseRecord(id="c"))
    assert [record.id for record in read_lines(path, ResponseRecord)] == ["a", "c"]


@settings(deadline=None)  # it writes to a disk that others use, too
@given(st.lists(st.text(max_size=30), max_size=5), st.integers(min_value=0, max_value=300))
def test_whatever_is_torn_off_the_end_leaves_whole_records(
    tmp_path_factory, texts: list[str], cut: int
) -> None:
    path = tmp_path_factory.mktemp("torn") / "responses.jsonl"
    records = [ResponseRecord(id=str(i), text=text) for i, text in enumerate(texts)]
    with Appender(path) as lines:
        for record in records:
            lines.append(record)
    os.truncate(path, max(0, path.stat().st_size - cut))
    with Appender(path):
        pass
    left = read_lines(path, ResponseRecord)
    assert left == records[: len(left)]
    assert path.read_bytes().count(b"\n") == len(left)


def test_a_broken_line_in_the_middle_is_named(tmp_path: Path) -> None:
    path = tmp_path / "responses.jsonl"
    path.write_bytes(b'{"id":"a"}\n{"id": SECRET}\n{"id":"b"}\n')
    with pytest.raises(StorageError, match=r"responses\.jsonl, line 2: .*--fresh") as caught:
        read_lines(path, ResponseRecord)
    assert "SECRET" not in str(caught.value)


def test_files_and_folders_are_for_their_owner_only(tmp_path: Path) -> None:
    folder = tmp_path / "runs" / "task" / "model" / "x-1"
    with Appender(folder / "responses.jsonl") as lines:
        lines.append(ResponseRecord(id="a"))
    write_json(folder / "usage.json", UsageTotal())
    for path in (folder / "responses.jsonl", folder / "usage.json"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_json_is_replaced_whole_and_leaves_no_part_behind(tmp_path: Path) -> None:
    path = tmp_path / "usage.json"
    write_json(path, UsageTotal(calls=1))
    write_json(path, UsageTotal(calls=2))
    assert read_json(path, UsageTotal).calls == 2
    assert [file.name for file in tmp_path.iterdir()] == ["usage.json"]


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"calls": "many"}', b"\xff"])
def test_a_broken_json_file_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "usage.json"
    path.write_bytes(content)
    with pytest.raises(StorageError, match=r"usage\.json: .*--fresh"):
        read_json(path, UsageTotal)


def test_a_newer_format_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "usage.json"
    path.write_text(json.dumps({"format": 99}))
    with pytest.raises(StorageError, match=r"format 99; .*Update pmbench"):
        read_json(path, UsageTotal)


def test_a_second_process_is_kept_out_and_says_why(tmp_path: Path) -> None:
    run = RunFolder(tmp_path / "run")
    code = (
        "import sys; from pathlib import Path; from pmbench.running.folder import RunFolder\n"
        "from pmbench.core.errors import RunLocked\n"
        "try:\n  with RunFolder(Path(sys.argv[1])).locked(): print('in')\n"
        "except RunLocked as error: print(error)"
    )
    command = [sys.executable, "-c", code, str(run.path)]
    with run.locked():
        told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        assert "another process is at work in this run" in told and str(run.path) in told
        with pytest.raises(RunLocked), RunFolder(run.path).locked():
            pass
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "in\n"


def test_a_folder_that_cannot_be_made_names_the_place_and_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(StorageError, match=r"file/runs: cannot be written.*--runs DIR or PMBENCH_RUNS"):
        make_folder(tmp_path / "file" / "runs")


def test_a_full_disk_takes_back_the_half_line_and_keeps_what_was_whole(tmp_path: Path) -> None:
    """RLIMIT_FSIZE stands in for the disk's end: the kernel cuts the write short in the same way."""
    code = (
        "import sys; from pathlib import Path\n"
        "from pmbench.running.folder import Appender\n"
        "from pmbench.running.records import ResponseRecord\n"
        "from pmbench.core.errors import StorageError\n"
        "lines = Appender(Path(sys.argv[1]))\n"
        "try:\n  for i in range(100): lines.append(ResponseRecord(id=str(i), text='x' * 50))\n"
        "except StorageError as error: print(error)"
    )
    path = tmp_path / "responses.jsonl"
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)],
        capture_output=True,
        text=True,
        check=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000)),
    )
    assert (
        "responses.jsonl: a file is too large. Free some space and give the same command again" in done.stdout
    )
    kept = read_lines(path, ResponseRecord)
    assert [record.id for record in kept] == [str(i) for i in range(len(kept))]
    assert len(kept) > 20 and path.read_bytes().endswith(b"}\n")


@given(st.text())
def test_a_model_name_makes_one_safe_folder(name: str) -> None:
    made = slug(name)
    assert made and len(made) <= 80
    assert set(made) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
    assert made not in (".", "..") and not made.startswith((".", "-"))


def test_runs_are_found_by_folder_and_by_the_beginning_of_their_digest(tmp_path: Path) -> None:
    for digest in ("abc111" + "0" * 58, "abc222" + "0" * 58):
        run = folder_for(tmp_path, "task", "model", "zero-shot", digest)
        make_folder(run.path)
        run.run_json.write_text("{}")
    assert find_run(tmp_path, "abc1").path.name == "zero-shot-abc111000000"
    assert find_run(tmp_path, str(tmp_path / "task/model/zero-shot-abc222000000")).path.name.endswith(
        "abc222000000"
    )
    with pytest.raises(StorageError, match="beginning of 2 runs: abc111000000, abc222000000"):
        find_run(tmp_path, "abc")
    with pytest.raises(StorageError, match=r"no run 'xyz'.*pmbench runs"):
        find_run(tmp_path, "xyz")


def test_a_whole_digest_means_its_run(tmp_path: Path) -> None:
    """As it stands in results.json; a folder's name has its first twelve digits."""
    whole = "abc111000000" + "d" * 52
    make_folder(tmp_path / "task/model/zero-shot-abc111000000")
    (tmp_path / "task/model/zero-shot-abc111000000/run.json").write_text("{}")
    assert find_run(tmp_path, whole).path.name == "zero-shot-abc111000000"
    with pytest.raises(StorageError, match="no run"):
        find_run(tmp_path, "abc111000000 and more")
