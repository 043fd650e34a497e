"""Figures as files: what is in them, that nothing of others is overwritten, and that they can be refused."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from made_runs import Made, Toy, write

pytest.importorskip("matplotlib")

from pmbench.cli.main import run
from pmbench.core.errors import MissingExtra, StorageError
from pmbench.leaderboard import plots
from pmbench.leaderboard.board import leaderboard
from pmbench.leaderboard.plots import cost_quality_inline, write_plots
from pmbench.leaderboard.table import Leaderboard
from pmbench.leaderboard.tested import Resampling
from pmbench.pages.figures import MISSING

FAST = Resampling(resamples=300, permutations=300)
BEGINNINGS = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}
HOSTILE = r"$\frac{1}{0}$ <script>alert(1)</script>" + "\u202e&" + "x" * 100


def board(runs: Path, *made: Made) -> Leaderboard:
    for one in made:
        write(runs, one)
    return leaderboard(Toy, runs, statistics=FAST)


def test_the_forest_plot_is_written_three_times_and_holds_names_and_letters(tmp_path: Path) -> None:
    found = board(tmp_path / "runs", Made(), Made(model=HOSTILE, skill=0.9))
    paths = write_plots(found, Toy.metrics[0], tmp_path / "out" / "deep")
    assert [path.name for path in paths] == [f"toy-1-forest.{form}" for form in ("png", "svg", "pdf")]
    for path in paths:
        assert path.read_bytes().startswith(BEGINNINGS[path.suffix[1:]])
    text = paths[1].read_text(encoding="utf-8")
    assert "smollm2-135m, zero-shot" in text and "Edit-F1 (more is better)" in text
    assert "<script>" not in text and r"$\frac{1}{0}$ &lt;script&gt;alert(1)" in text and "\u202e" not in text
    again = [path.read_bytes() for path in paths]
    write_plots(found, Toy.metrics[0], tmp_path / "out" / "deep")
    assert [path.read_bytes() for path in paths] == again  # an earlier figure is replaced by the same bytes


def test_what_is_no_figure_of_a_leaderboard_stays(tmp_path: Path) -> None:
    found = board(tmp_path / "runs", Made(), Made(model="b", skill=0.9))
    mine = tmp_path / "toy-1-forest.svg"
    mine.write_text("<svg>mine</svg>")
    with pytest.raises(StorageError, match="no figure of a leaderboard, and would be overwritten"):
        write_plots(found, Toy.metrics[0], tmp_path)
    assert mine.read_text() == "<svg>mine</svg>"
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="cannot be written"):
        write_plots(found, Toy.metrics[0], tmp_path / "file")


def test_made_up_data_are_called_so_in_the_figure(tmp_path: Path) -> None:
    found = board(tmp_path / "runs", Made(kind="demo"), Made(kind="demo", model="b"))
    paths = write_plots(found, Toy.metrics[0], tmp_path)
    assert "Demo data, made up" in paths[1].read_text()


def test_without_cost_and_time_a_sentence_stands_in_the_page(tmp_path: Path) -> None:
    found = board(tmp_path, Made(), Made(model="b"))
    picture, told = cost_quality_inline(found.tables[0], Toy.metrics[0], "x")
    assert not picture and told == "No cost and no time is known of a system here."


def test_without_matplotlib_the_page_says_so_and_plots_are_refused_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = board(tmp_path, Made(), Made(model="b"))
    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *more: None if name == "matplotlib" else real(name, *more)
    )
    with pytest.raises(MissingExtra, match="--plots needs the module 'matplotlib'"):
        plots.require_matplotlib()
    rows = found.tables[0].rows
    timed = [replace_time(row) for row in rows]
    from msgspec.structs import replace

    picture, told = cost_quality_inline(replace(found.tables[0], rows=timed), Toy.metrics[0], "x")
    assert not picture and told == MISSING
    monkeypatch.setattr("pmbench.core.registry.load_task", lambda name: Toy)
    assert run(["leaderboard", "-t", "toy", "--runs", str(tmp_path), "--plots", str(tmp_path / "p")]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and 'pip install "pmbench[plots]"' in err
    assert not (tmp_path / "p").exists()


def replace_time(row):  # type: ignore[no-untyped-def]
    from msgspec.structs import replace

    return replace(row, took=replace(row.took, median=2.0))


def test_the_command_names_the_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    board(tmp_path / "runs", Made(), Made(model="b"))
    monkeypatch.setattr("pmbench.core.registry.load_task", lambda name: Toy)
    ask = ["leaderboard", "-t", "toy", "--runs", str(tmp_path / "runs"), "--resamples", "300", "--plots"]
    assert run([*ask, str(tmp_path / "p")]) == 0
    assert f"written: {tmp_path / 'p' / 'toy-1-forest.pdf'}" in capsys.readouterr().out
    assert run([*ask, str(tmp_path / "p"), "-f", "json"]) == 0
    shown = capsys.readouterr()
    assert "written:" not in shown.out and "toy-1-forest.pdf" in shown.err
