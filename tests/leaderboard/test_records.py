"""From records another site builds the same leaderboard to the last digit, and learns no text and no name."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from made_runs import SENTINEL, Made, Themed, Toy, themed, write
from recorded_runs import FAST, SALT, both, page, record

from pmbench.cli.main import run
from pmbench.core.errors import ConfigError
from pmbench.core.registry import load_task
from pmbench.leaderboard.board import leaderboard
from pmbench.leaderboard.collect import collect
from pmbench.leaderboard.json_page import render_json
from pmbench.leaderboard.reported import Reported
from pmbench.leaderboard.tested import Resampling
from pmbench.running.record_files import NewerRecord
from pmbench.running.record_names import Names, salt_from

KINDS: dict[str, list[Made]] = {
    "three systems": [Made(model=name, seed=seed, skill=0.4 + seed / 5) for seed, name in enumerate("abc")],
    "few clusters": [Made(clusters=5), Made(model="b", clusters=5, skill=0.7)],
    "samples": [Made(samples=3), Made(model="b", samples=3, skill=0.7, temperature=0.5)],
    "failed and missing": [
        Made(failed=frozenset({1, 5}), missing=frozenset({7})),
        Made(model="b", skill=0.7, missing=frozenset({2, 3})),
        Made(model="c", skill=0.2),
    ],
    "one model in two settings": [Made(), Made(temperature=0.7, seed=1)],
    "other data, judges and versions": [
        Made(),
        Made(model="b", fingerprint="e" * 64),
        Made(model="c", judges={"content": "x?y=1", "a": "b"}),
        Made(model="d", version=2, options={"chart": "keep", "a": 1.5}),
        Made(model="e", instances=12),
    ],
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_from_records_is_the_page_from_runs_to_the_last_byte(tmp_path: Path, kind: str) -> None:
    runs, records = both(tmp_path, *KINDS[kind])
    assert page(None, records) == page(runs)


@pytest.mark.parametrize("kind", list(KINDS)[:5])
def test_hashed_ids_move_no_number(tmp_path: Path, kind: str) -> None:
    runs, records = both(tmp_path, *KINDS[kind], salt=SALT)
    assert page(None, records) == page(runs)


def test_hashed_ids_move_no_end_of_an_interval_of_inboxes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Messages of an inbox are drawn again; which ones are is not a matter of how they are called."""
    runs, task = tmp_path / "runs", load_task("inbox-triage")
    for strategy in ("length", "random"):
        assert run(["run", "-t", "inbox-triage", "-d", "demo", "-s", strategy, "--runs", str(runs)]) == 0
    records = tmp_path / "records"
    records.mkdir()
    for number, path in enumerate(sorted(runs.glob("inbox-triage/*/*/run.json"))):
        record(path.parent, records / f"r{number}", salt=SALT)
    how = Resampling(resamples=1000)
    boards = [
        leaderboard(task, runs, statistics=how),
        leaderboard(task, None, records=records, statistics=how),
    ]
    assert boards[0].tables[0].rows[0].measures["t_ndcg_10"].low is not None
    assert boards[0].tables[0].rows[1].standing.best is not None
    one, other = (re.sub(r'"where": "[^"]*"', "", render_json(board, Reported())) for board in boards)
    assert one == other


def test_groups_and_full_precision_too(tmp_path: Path) -> None:
    made = [Made(more=themed(12, 3)), Made(model="b", skill=0.6, more=themed(20, 6, recall=0.8))]
    runs, records = both(tmp_path, *made, task=Themed)
    assert page(None, records, Themed) == page(runs, task=Themed)
    boards = [
        leaderboard(Themed, runs, statistics=FAST),
        leaderboard(Themed, None, records=records, statistics=FAST),
    ]
    texts = [render_json(board, Reported()) for board in boards]
    one, other = (re.sub(r'"where": "[^"]*"', "", text) for text in texts)
    assert one == other


def test_runs_and_records_stand_side_by_side_and_a_copy_counts_once(tmp_path: Path) -> None:
    runs, records = both(tmp_path, Made(), Made(model="b", skill=0.7))
    write(runs, Made(model="mine", skill=0.3))
    entries, left = collect("toy", runs, records=records)
    assert sorted(one.results.model for one in entries) == ["b", "mine", "smollm2-135m"]
    assert len(left) == 2 and all("a copy of the run in" in one.reason for one in left)


def test_a_hashed_record_shows_no_id_and_pairs_with_those_of_the_same_salt(tmp_path: Path) -> None:
    _, records = both(tmp_path, Made(clusters=6), Made(model="b", clusters=6, skill=0.7), salt=SALT)
    names = {f'"m{number}"' for number in range(24)} | {f'"c{number}"' for number in range(6)}
    for file in records.rglob("*.json*"):
        assert not [name for name in names if name in file.read_text()]
    third = write(tmp_path / "more", Made(model="c", clusters=6, skill=0.9)).path
    record(third, records / "third", salt=SALT)
    board = leaderboard(Toy, None, records=records, statistics=FAST)
    assert [len(table.rows) for table in board.tables] == [3]
    shutil.rmtree(records / "third")
    record(third, records / "third", salt=b"another salt of the same length")
    board = leaderboard(Toy, None, records=records, statistics=FAST)
    assert sorted(len(table.rows) for table in board.tables) == [1, 2]
    assert all(any("ids " in words for words in table.differs) for table in board.tables)


def test_hashes_depend_on_the_salt_and_not_on_the_run(tmp_path: Path) -> None:
    one, same, other = Names(SALT), Names(SALT), Names(b"another salt of the same length")
    assert one.hashed("m1") == same.hashed("m1") != other.hashed("m1")
    assert one.salt == same.salt != other.salt
    assert re.fullmatch(r"[0-9a-f]{20}", one.hashed("m1"))
    assert Names().hashed("m1") == "m1"


def test_a_salt_that_is_not_there_or_is_short_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PMBENCH_SALT", raising=False)
    with pytest.raises(ConfigError, match="needs a salt"):
        salt_from(None)
    monkeypatch.setenv("PMBENCH_SALT", "short")
    with pytest.raises(ConfigError, match="can be guessed"):
        salt_from(None)
    (tmp_path / "salt").write_text("0123456789abcdef\n")
    assert salt_from(str(tmp_path / "salt")) == b"0123456789abcdef"


def test_a_record_holds_no_evidence_no_path_and_no_command(tmp_path: Path) -> None:
    _, records = both(tmp_path, Made(model="hf:/home/someone/weights/mine"))
    for file in records.rglob("*.json*"):
        text = file.read_text()
        assert SENTINEL not in text
        assert "/home" not in text and "someone" not in text
    assert json.loads((records / "r0" / "record.json").read_text())["model"] == "hf:mine"


def _newer(folder: Path) -> None:
    path = folder / "record.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "format": 99, "more": {"of": "it"}}))


def test_a_record_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    _, records = both(tmp_path, Made(), Made(model="b"))
    _newer(records / "r1")
    with pytest.raises(NewerRecord, match=r"r1: this record is of a newer format.* Update pmbench"):
        collect("toy", None, records=records)


def _edit(name: str, old: str, new: str) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        path = folder / name
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1))

    return edit


def _cut(folder: Path) -> None:
    path = folder / "instances.jsonl"
    path.write_bytes(path.read_bytes()[:-40])


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda folder: (folder / "record.json").write_bytes(b"{"), "record.json: it cannot be read"),
        (lambda folder: (folder / "record.json").write_bytes(b"\xff" * 9), "record.json: it cannot be read"),
        (_edit("record.json", '"model": "b"', '"model": "x"'), "record.json: it was changed"),
        (_edit("record.json", '"scored": 24', '"scored": 23'), "record.json: it was changed"),
        (_edit("instances.jsonl", '"stats":[', '"stats":[1'), "instances.jsonl: it was changed or cut off"),
        (_cut, "instances.jsonl: it was changed or cut off"),
        (lambda folder: (folder / "instances.jsonl").unlink(), "instances.jsonl: it cannot be read"),
    ],
    ids=["cut", "no text", "other name", "other count", "other number", "cut lines", "no lines"],
)
def test_a_damaged_record_is_named_and_skipped(
    tmp_path: Path, damage: Callable[[Path], object], reason: str
) -> None:
    _, records = both(tmp_path, Made(), Made(model="b"))
    damage(records / "r1")
    entries, left = collect("toy", None, records=records)
    assert [one.results.model for one in entries] == ["smollm2-135m"]
    [gone] = left
    assert gone.where == "r1" and gone.damaged and reason in gone.reason


def test_records_of_other_tasks_are_nobodys_business(tmp_path: Path) -> None:
    class Other(Toy):
        name = "other"

    _, records = both(tmp_path, Made())
    (records / "deep").mkdir()
    record(write(tmp_path / "runs", Made(), Other).path, records / "deep" / "er", salt=SALT)
    entries, left = collect("toy", None, records=records)
    assert len(entries) == 1 and left == []
    assert len(collect("other", None, records=records)[0]) == 1


def test_labels_that_may_be_text_are_left_out_by_name(tmp_path: Path) -> None:
    from pmbench.running.record_text import labels_kept

    dropped: list[str] = []
    slices = [{"sex": "f", "topic": "x" * 41, "day": str(number)} for number in range(61)]
    assert labels_kept(slices, dropped) == {"sex"}
    assert dropped == ["slices.day", "slices.topic"]


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("hf:/data/models/qwen", "hf:qwen"),
        ("replay:tasks/demo/template.jsonl", "replay:template.jsonl"),
        ("openai:gpt-4o?base_url=http://10.0.0.3:8123/v1", "openai:gpt-4o?base_url=(an address)"),
        ("replay:../mine/answers.csv", "replay:answers.csv"),
        (r"C:\Users\me\x.gguf", "x.gguf"),
        ("~/models/x.gguf", "x.gguf"),
        ("hf:Qwen/Qwen3-8B", "hf:Qwen/Qwen3-8B"),
        ("openrouter:meta-llama/llama-3.1-8b", "openrouter:meta-llama/llama-3.1-8b"),
        ("content=embedded, 3/4 and/or 1/2", "content=embedded, 3/4 and/or 1/2"),
        ("the server http://inner.host/v1 is down", "the server (an address) is down"),
    ],
)
def test_paths_and_addresses_go_and_names_of_models_stay(given: str, kept: str) -> None:
    from pmbench.running.record_text import without_places

    assert without_places(given) == kept
