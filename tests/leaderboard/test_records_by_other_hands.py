"""Records that were sealed again by hand, of other salts, of newer versions, and beside runs of one's own."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from made_runs import Made, Toy, write
from recorded_runs import FAST, SALT, both, record

from pmbench.core.digest import digest_bytes
from pmbench.leaderboard.board import leaderboard
from pmbench.leaderboard.collect import collect
from pmbench.running.folder import read_json, write_json
from pmbench.running.record import seal_of
from pmbench.running.record_files import NewerRecord
from pmbench.running.results import MetricResult, Results, SliceResult

OTHER = b"another salt of the same length"

M0, M1 = Made(model="m0", skill=0.3), Made(model="m1", skill=0.7)


def sealed(folder: Path, head: Callable[[dict[str, Any]], object], lines: Callable[..., Any] | None) -> None:
    """Change a record and put its digests right again."""
    path, of_lines = folder / "record.json", folder / "instances.jsonl"
    found = json.loads(path.read_text())
    if lines is not None:
        changed = lines([json.loads(line) for line in of_lines.read_text().splitlines()])
        of_lines.write_text("".join(json.dumps(line) + "\n" for line in changed))
        found["lines"] = len(changed)
    head(found)
    found["lines_digest"] = digest_bytes(of_lines.read_bytes())
    found["seal"] = seal_of(found)
    path.write_text(json.dumps(found))


def _set(*path: str, to: object) -> Callable[[dict[str, Any]], None]:
    def change(found: dict[str, Any]) -> None:
        for name in path[:-1]:
            found = found[name]
        found[path[-1]] = to

    return change


def _nothing(_: object) -> None:
    pass


def _first(**fields: object) -> Callable[[list[dict[str, Any]]], list[dict[str, Any]]]:
    return lambda lines: [{**lines[0], **fields}, *lines[1:]]


FORGED: dict[str, tuple[Callable[[dict[str, Any]], object], Callable[..., Any] | None, str]] = {
    "a path for a digest": (_set("run", to="../../x"), None, "run is no digest"),
    "a digest of another run": (_set("run", to="0" * 64), None, "its run is not that of its results"),
    "another model": (_set("model", to="better"), None, "its model is not that of its results"),
    "another task": (_set("results", "task", to="other"), None, "its task is not that of its results"),
    "many instances": (_set("results", "counts", "instances", to=10**6), None, "its counts do not go"),
    "lines below none": (_set("lines", to=-1), None, "of -1 lines it holds 24"),
    "a count below none": (_set("results", "counts", "pending", to=-1), None, "counts.pending is -1"),
    "a salt of plain ids": (_set("salt", to="ab"), None, "salt is no mark"),
    "a line less": (_nothing, lambda lines: lines[1:], "of 24 scored it holds 23"),
    "a line twice": (_nothing, lambda lines: [lines[0], *lines[:-1]], "it has a line twice"),
    "a sample below 0": (_nothing, _first(sample=-3), "a line has a number below 0"),
    "a price below 0": (_nothing, _first(cost=-3.0), "a line has a number below 0"),
    "a huge number": (_nothing, _first(stats=[1e308] * 5), "is beyond 1e+100"),
    "no numbers": (_nothing, _first(stats=[None] * 5), "its scores come to another f1"),
    "other status": (_nothing, _first(status="open"), "of 24 scored it holds 23"),
}


@pytest.mark.parametrize("what", FORGED)
def test_a_record_that_no_version_could_have_made_is_left_out(tmp_path: Path, what: str) -> None:
    head, lines, reason = FORGED[what]
    _, records = both(tmp_path, M0, M1)
    sealed(records / "r1", head, lines)
    board = leaderboard(Toy, None, records=records, statistics=FAST)
    assert [[row.model for row in table.rows] for table in board.tables] == [["m0"]]
    [gone] = board.left_out
    assert gone.where == "r1" and gone.damaged and reason in gone.reason


def test_a_record_that_was_only_sealed_again_is_taken(tmp_path: Path) -> None:
    _, records = both(tmp_path, M0, Made(model="m1", failed=frozenset({3}), missing=frozenset({4, 5})))
    for name in ("r0", "r1"):
        sealed(records / name, _nothing, lambda lines: lines)
    entries, left = collect("toy", None, records=records)
    assert len(entries) == 2 and not left


@pytest.mark.parametrize("names", [("a", "b", "c"), ("c", "b", "a"), ("b", "c", "a")])
def test_of_two_salts_the_copy_stays_that_pairs_with_the_others(
    tmp_path: Path, names: tuple[str, ...]
) -> None:
    runs = [write(tmp_path / "runs", made).path for made in (M0, M1)]
    (tmp_path / "records").mkdir()
    m0, m1, odd = (tmp_path / "records" / name for name in names)
    record(runs[0], m0, salt=SALT)
    record(runs[1], m1, salt=SALT)
    record(runs[1], odd, salt=OTHER)
    board = leaderboard(Toy, None, records=tmp_path / "records", statistics=FAST)
    assert [[row.model for row in table.rows] for table in board.tables] == [["m1", "m0"]]
    [gone] = board.left_out
    assert gone.where == odd.name and not gone.damaged
    assert f"a copy of the run in {m1.name}" in gone.reason
    assert "ids are those of 1 other run: ids that were hashed with another salt" in gone.reason


def test_a_run_of_ones_own_stays_beside_a_record_of_it(tmp_path: Path) -> None:
    runs, records = tmp_path / "runs", tmp_path / "records"
    records.mkdir()
    run = write(runs, M0)
    path = next(run.path.glob("scores/*/results.json"))
    found = read_json(path, Results)
    whole = SliceResult(24, 24, 0, {"f1": MetricResult(found.metrics["f1"].value)})
    write_json(path, msgspec.structs.replace(found, slices={"sex": {"female": whole}}))
    record(run.path, records / "r0", slices=False)
    later = records / "r0" / "record.json"
    text = later.read_text()
    sealed(records / "r0", _set("results", "finished_at", to="2030-01-01T00:00:00+00:00"), None)
    assert later.read_text() != text
    board = leaderboard(Toy, runs, records=records, statistics=FAST)
    [[row]] = [table.rows for table in board.tables]
    assert row.where.startswith("toy/") and row.slices["sex"]["female"].instances == 24
    assert [one.where for one in board.left_out] == ["r0"]


def test_of_two_records_the_one_with_subgroups_stays(tmp_path: Path) -> None:
    records = tmp_path / "records"
    records.mkdir()
    run = write(tmp_path / "runs", M0)
    path = next(run.path.glob("scores/*/scores.jsonl"))
    path.write_text(path.read_text().replace('"cluster":', '"slices":{"sex":"female"},"cluster":'))
    results = next(run.path.glob("scores/*/results.json"))
    found = read_json(results, Results)
    whole = SliceResult(24, 24, 0, {"f1": MetricResult(found.metrics["f1"].value)})
    write_json(results, msgspec.structs.replace(found, slices={"sex": {"female": whole}}))
    record(run.path, records / "a")
    record(run.path, records / "b", slices=False)
    entries, left = collect("toy", None, records=records)
    assert [one.where for one in entries] == ["a"] and [one.where for one in left] == ["b"]


def _newer(folder: Path, **more: object) -> None:
    path = folder / "record.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "format": 99, **more}))


class Other(Toy):
    name = "other"


def test_a_newer_record_of_another_task_stops_no_leaderboard(tmp_path: Path) -> None:
    _, records = both(tmp_path, M0, M1)
    record(write(tmp_path / "runs", M0, Other).path, records / "other")
    _newer(records / "other")
    board = leaderboard(Toy, None, records=records, statistics=FAST)
    assert [[row.model for row in table.rows] for table in board.tables] == [["m1", "m0"]]
    [gone] = board.left_out
    assert gone.where == "other" and not gone.damaged
    assert "a record of a newer format and of another task" in gone.reason and "update pmbench" in gone.reason
    with pytest.raises(NewerRecord, match="Update pmbench"):
        leaderboard(Other, None, records=records, statistics=FAST)


def test_a_newer_record_whose_task_cannot_be_told_is_named(tmp_path: Path) -> None:
    _, records = both(tmp_path, M0, M1)
    _newer(records / "r1", asked="of another shape")
    entries, [gone] = collect("toy", None, records=records)
    assert [one.results.model for one in entries] == ["m0"]
    assert gone.where == "r1" and gone.damaged and "a record of a newer format" in gone.reason


def test_a_record_behind_a_link_is_found_and_a_link_back_is_not_followed(tmp_path: Path) -> None:
    _, records = both(tmp_path, M0, M1)
    shutil.move(records / "r1", tmp_path / "elsewhere")
    (records / "link").symlink_to(tmp_path / "elsewhere")
    (records / "back").symlink_to(records)
    entries, left = collect("toy", None, records=records)
    assert sorted(one.where for one in entries) == ["link", "r0"] and not left
