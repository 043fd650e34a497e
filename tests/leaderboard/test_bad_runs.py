"""What can be wrong with runs and records: it is named with its reason, and all that is sound stays in the table."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from made_runs import Made, Toy, write
from recorded_runs import FAST, both, page, record

from pmbench.cli.main import run
from pmbench.leaderboard import comparing
from pmbench.leaderboard.board import leaderboard
from pmbench.leaderboard.tested import Resampling
from pmbench_tasks.drafting.task import SyPPM

QUICK = Resampling(resamples=100, permutations=100)
COMMAND = ("leaderboard", "--task", "syppm-editf1", "--resamples", "200")


def drafting(skill: float) -> Callable[[int], Mapping[str, float]]:
    """Counts of edits, as the drafting tasks have them."""

    def of(index: int) -> dict[str, float]:
        return {"matches": float(index % 10 < 10 * skill), "additions": 1.0, "deletions": 1.0}

    return of


@pytest.fixture
def two(tmp_path: Path) -> tuple[Path, Path]:
    """Two runs of a drafting task, and their records."""
    runs, records = tmp_path / "runs", tmp_path / "records"
    records.mkdir()
    for model, skill in (("good", 0.9), ("poor", 0.3)):
        record(write(runs, Made(model=model, more=drafting(skill)), SyPPM).path, records / model)
    return runs, records


def command(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    status = run([*COMMAND, *map(str, arguments)])
    out, err = capsys.readouterr()
    return status, out, err


def test_sound_runs_and_records_are_status_0(
    two: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    runs, records = two
    for where in (("--runs", runs), ("--records", records)):
        status, out, err = command(capsys, *where)
        assert (status, err) == (0, "")
        assert "good is better than poor on 24 instances, p " in out


def test_runs_and_records_print_the_same(two: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    runs, records = two
    for more in ((), ("-o", "-"), ("-f", "csv"), ("-f", "latex"), ("--columns", "p,scored")):
        assert command(capsys, "--runs", runs, *more) == command(capsys, "--records", records, *more)


def test_a_corrupted_run_is_named_skipped_and_status_1(
    two: tuple[Path, Path], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    runs, _ = two
    next(runs.glob("*/poor/*/run.json")).write_text("{")
    status, out, err = command(capsys, "--runs", runs, "-o", tmp_path / "page.md")
    assert (status, err) == (1, "")
    assert "not in a table: syppm-editf1/poor/" in out and "run.json: the file cannot be read" in out
    assert "1  good" in out
    assert "the file cannot be read" in (tmp_path / "page.md").read_text()
    status, out, err = command(capsys, "--runs", runs, "-f", "csv")
    assert status == 1 and "poor" not in out
    assert err.startswith("not in a table: syppm-editf1/poor/")


def test_a_damaged_record_is_named_skipped_and_status_1(
    two: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    _, records = two
    path = records / "poor" / "instances.jsonl"
    path.write_bytes(path.read_bytes()[:-9])
    status, out, _ = command(capsys, "--records", records)
    assert status == 1
    assert "not in a table: poor: a damaged record: instances.jsonl: it was changed or cut off" in out
    assert "1  good" in out


def test_a_newer_record_is_refused_in_one_line(
    two: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    _, records = two
    path = records / "poor" / "record.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "format": 2}))
    status, out, err = command(capsys, "--records", records)
    assert (status, out) == (2, "")
    assert err.count("\n") == 1 and "newer format" in err and "Update pmbench" in err


@pytest.mark.parametrize("folder", ["nowhere", "empty"])
def test_no_record_at_all_is_one_line(
    tmp_path: Path, folder: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    status, out, err = command(capsys, "--records", tmp_path / folder)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert folder in err


def test_a_column_that_is_none_is_refused_before_the_work(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = command(capsys, "--columns", "edit", "--runs", "nowhere")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "Of metrics there are " in err and "content_f1" in err and "difference" in err
    assert len(err) < 500


def test_an_incomplete_run_is_left_out_said_and_taken_when_asked_for(
    two: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    runs, records = two
    path = write(runs, Made(model="half", pending=10, more=drafting(0.6)), SyPPM).path
    record(path, records / "half")
    for where in (("--runs", runs), ("--records", records)):
        status, out, _ = command(capsys, *where)
        assert status == 0
        assert "half" in out.split("not in a table")[1] and "--include-incomplete takes it" in out
        status, out, _ = command(capsys, *where, "--include-incomplete")
        assert status == 0 and "not in a table" not in out
        assert "is incomplete (work is left: 10 not done)" in out


def test_several_files_of_one_board(
    two: tuple[Path, Path], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    runs, _ = two
    folder = tmp_path / "pages"
    status, out, _ = command(capsys, "--runs", runs, "-o", folder, "-f", "md,csv,json,latex")
    assert status == 0
    assert sorted(path.name for path in folder.iterdir()) == [
        f"syppm-editf1.{end}" for end in ("csv", "json", "md", "tex")
    ]
    assert out.count("written: ") == 4
    assert command(capsys, "--runs", runs, "-o", folder, "-f", "md,csv,json,latex")[0] == 0
    (folder / "syppm-editf1.csv").write_text("mine,own\n")
    status, out, err = command(capsys, "--runs", runs, "-o", folder, "-f", "csv")
    assert (status, out) == (2, "") and "would be overwritten" in err
    assert (folder / "syppm-editf1.csv").read_text() == "mine,own\n"


def test_one_run_only(tmp_path: Path) -> None:
    text = page(*both(tmp_path, Made()))
    assert "smollm2\\-135m is the only system" in text or "smollm2-135m is the only system" in text
    assert "p (Holm)" in text


def test_all_scores_alike(tmp_path: Path) -> None:
    for model in "abc":
        write(tmp_path, Made(model=model, seed=1))
    [table] = leaderboard(Toy, tmp_path, statistics=FAST).tables
    assert table.words == [
        "a, b and c cannot be told apart on 24 instances.",
        "They have the same scores everywhere.",
    ]
    assert any("have the same Edit-F1; their order says nothing" in note for note in table.notes)
    assert {row.against.p_text for row in table.rows[1:] if row.against} == {"1.000"}


def test_one_instance(tmp_path: Path) -> None:
    for model, skill in (("a", 0.9), ("b", 0.1)):
        write(tmp_path, Made(model=model, skill=skill, instances=1, dataset=1, clusters=1))
    [table] = leaderboard(Toy, tmp_path, statistics=FAST).tables
    assert [row.measures["f1"].interval for row in table.rows] == ["", ""]
    assert table.words[0] == "a and b cannot be told apart on 1 instance."
    assert "the two systems differ in 1 instance only, so that no p can be below 1" in table.words[1]
    assert any(note.startswith("Only 1 cluster") for note in table.notes)


def test_all_failed(tmp_path: Path) -> None:
    write(tmp_path, Made(failed=frozenset(range(24))))
    board = leaderboard(Toy, tmp_path, statistics=FAST, include_incomplete=True)
    assert board.tables == []
    assert [(one.reason, one.damaged) for one in board.left_out] == [("it has no score", False)]
    assert "No run can be shown yet." in page(tmp_path)


def test_runs_of_different_versions_share_no_table_and_the_newest_is_first(tmp_path: Path) -> None:
    class Newer(Toy):
        version = 2

    for version, model in ((1, "old"), (1, "older"), (2, "new")):
        write(tmp_path, Made(model=model, version=version))
    tables = leaderboard(Newer, tmp_path, statistics=FAST).tables
    assert [(table.version, len(table.rows)) for table in tables] == [(2, 1), (1, 2)]
    assert tables[0].differs == ["task version: 2"]


def test_two_hundred_runs_stand_in_one_table(tmp_path: Path) -> None:
    def made(number: int) -> Made:
        return Made(model=f"m{number}", seed=number, instances=6, dataset=6, clusters=6, skill=number / 200)

    for number in range(200):
        write(tmp_path, made(number))
    [table] = leaderboard(Toy, tmp_path, statistics=QUICK).tables
    assert [row.number for row in table.rows] == list(range(1, 201))
    values = [row.measures["f1"].value or 0 for row in table.rows]
    assert values == sorted(values, reverse=True)
    assert len(table.pairs) == 200 * 199 // 2
    assert sum(map(len, table.words)) < 1000 and sum(map(len, table.notes)) < 20_000


def test_pairs_are_tested_the_same_however_many_are_tested_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(5):
        write(tmp_path, Made(model=f"m{seed}", seed=seed, skill=0.3 + seed / 10))
    whole = leaderboard(Toy, tmp_path, statistics=FAST)
    monkeypatch.setattr(comparing, "_AT_ONCE", 3)
    assert leaderboard(Toy, tmp_path, statistics=FAST) == whole


def test_the_foot_says_by_what_and_of_what(tmp_path: Path) -> None:
    made = [Made(failed=frozenset({1})), Made(model="b", missing=frozenset({2, 3}))]
    runs, _ = both(tmp_path, *made)
    [table] = leaderboard(Toy, runs, statistics=FAST).tables
    assert table.foot.startswith("pmbench ")
    for part in (
        "toy version 1",
        "data messages.jsonl, fingerprint ffffffffffff",
        "judges content=embedded",
        "n = 24",
        "1 failed and 2 missing of 48 responses",
    ):
        assert part in table.foot
