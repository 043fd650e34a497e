"""The published tables are what the published records come to, and the documents say what the files hold."""

from __future__ import annotations

import importlib.util
import json
import shutil
import sys
from pathlib import Path
from types import ModuleType

import pytest

from pmbench.leaderboard.columns import FIXED
from pmbench.leaderboard.formats import FORMATS
from pmbench.leaderboard.json_page import Document
from pmbench.running.record import RecordData, RecordLine, RunInRecord
from pmbench.running.record_files import read_record, record_folders

ROOT = Path(__file__).parents[2]
PUBLISHED = ROOT / "leaderboards"


@pytest.fixture(scope="module")
def build() -> ModuleType:
    """`leaderboards/build.py`."""
    spec = importlib.util.spec_from_file_location("build_leaderboards", PUBLISHED / "build.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_table_is_what_its_records_come_to(build: ModuleType) -> None:
    assert list(build.check(PUBLISHED)) == []


def test_a_changed_number_a_lost_page_and_a_damaged_record_are_found(
    build: ModuleType, tmp_path: Path
) -> None:
    folder = tmp_path / "leaderboards"
    (folder / "records").mkdir(parents=True)
    task = "inbox-triage"
    shutil.copytree(PUBLISHED / "records" / task, folder / "records" / task)
    assert list(build.check(folder)) == [f"{task}.md: not there; run: python leaderboards/build.py"]
    assert list(build.build(folder)) == list(build.check(folder)) == []
    page = folder / f"{task}.md"
    page.write_text(page.read_text().replace("| 0.", "| 1.", 1))
    assert [line.split(":")[0] for line in build.check(folder)] == [f"{task}.md"]
    (folder / "other.md").touch()
    assert "other.md: no record comes to this page" in list(build.check(folder))
    lines = next(folder.rglob("instances.jsonl"))
    lines.write_bytes(lines.read_bytes()[:-5])
    assert any("a damaged record: instances.jsonl" in line for line in build.check(folder))


def test_it_is_a_command_with_a_status(
    build: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(PUBLISHED / "records" / "inbox-triage", tmp_path / "records" / "inbox-triage")
    monkeypatch.setattr(sys, "argv", ["build.py", "--check", "--folder", str(tmp_path)])
    assert build.main() == 1
    assert "inbox-triage.md: not there" in capsys.readouterr().err
    path = next(tmp_path.rglob("record.json"))
    path.write_text(json.dumps({**json.loads(path.read_text()), "format": 99}))
    assert build.main() == 2
    assert "newer format" in capsys.readouterr().err


def test_a_page_may_differ_in_the_version_and_in_one_of_the_last_digit(build: ModuleType) -> None:
    page = "Made by pmbench 0.1.0; n = 24\n| `m` | 0.347<br>[-0.248,&nbsp;0.462] | &lt;0.001 | 8.3% | 24/24 |"
    assert build.agree(page, page.replace("0.1.0", "2.0.0rc1+local").replace("0.347", "0.348"))
    for old, new in (
        ("0.347", "0.349"),
        ("n = 24", "n = 25"),
        ("`m`", "`n`"),
        ("-0.248", "0.248"),
        ("8.3%", "8.30%"),
    ):
        assert not build.agree(page, page.replace(old, new))


def test_what_is_published_is_small_sound_and_labelled_as_demo_data() -> None:
    files = [path for path in PUBLISHED.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    assert sum(path.stat().st_size for path in files) < 300_000
    folders = list(record_folders(PUBLISHED / "records"))
    assert len(folders) >= 8
    for folder in folders:
        read = read_record(folder)
        assert read is not None
        assert read[0].data.kind == "demo" and read[0].data.sensitivity == "public"
        assert read[0].asked.task == folder.parent.name
    for page in PUBLISHED.glob("*.md"):
        assert "emo data" in page.read_text()
        assert page.name == "README.md" or f"({page.name})" in (PUBLISHED / "README.md").read_text()


def test_the_document_names_every_field_column_and_format() -> None:
    text = (ROOT / "docs/leaderboards.md").read_text()
    fields = [*RunInRecord.__struct_fields__, *RecordData.__struct_fields__, *Document.__struct_fields__]
    fields += [name for name in RecordLine.__struct_fields__ if not name.startswith("judge_")]
    for name in (*fields, *FIXED, *FORMATS):
        assert any(form in text for form in (f"`{name}`", f"`{name}[]`", f"`{name}[].")), name
