"""Several tasks in one table: win rates and ranks by hand, who is matched with whom, and who lacks what."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
import scipy.stats
from made_runs import SENTINEL, Made, Page, Toy, scores, write

from pmbench.cli.main import run
from pmbench.core.errors import ConfigError, StorageError
from pmbench.core.metric import Mean, Metric
from pmbench.core.task import Task
from pmbench.leaderboard.several import several_tasks
from pmbench.leaderboard.several_pages import SEVERAL, cells, headings
from pmbench.leaderboard.several_table import SeveralTasks
from pmbench.leaderboard.tested import Resampling
from pmbench.running.columns import ScoreColumns

FAST = Resampling(resamples=300, permutations=300)


class First(Toy):
    name = "first"
    title = "First of them"
    strategies: ClassVar = {"zero-shot": object(), "thematic": object()}


class Second(Toy):
    """Less is better, in words; its default strategy has a name of its own."""

    name = "second"
    title = "Second of them"
    metrics: tuple[Metric, ...] = (Mean("words", title="Words", higher_is_better=False, unit="words"),)
    strategies: ClassVar = {"together": object(), "thematic": object()}


class Third(Toy):
    name = "third"
    metrics: tuple[Metric, ...] = (Mean("right", title="Right", higher_is_better=None),)
    strategies: ClassVar = {"zero-shot": object()}


def found(
    runs: Path, tasks: list[type[Task]], made: dict[type[Task], list[Made]], **more: object
) -> SeveralTasks:
    for task, systems in made.items():
        for one in systems:
            write(runs, one, task)
    return several_tasks(tasks, runs, statistics=FAST, **more)  # type: ignore[arg-type]


def value(metric: Metric, made: Made) -> float:
    return ScoreColumns(scores(made)).value(metric)


def systems(strategy: str, count: int = 3, shift: int = 0) -> list[Made]:
    return [Made(model=f"m{n}", strategy=strategy, seed=n + shift, skill=0.3 + n / 5) for n in range(count)]


def test_means_are_those_of_win_rates_and_ranks_by_scipy(tmp_path: Path) -> None:
    made = {First: systems("zero-shot"), Second: systems("together", shift=7)}
    table = found(tmp_path, [First, Second], made)
    tables = [
        [value(First.metrics[0], one) for one in made[First]],
        [-value(Second.metrics[0], one) for one in made[Second]],
    ]
    ranks = np.mean([scipy.stats.rankdata([-one for one in values]) for values in tables], axis=0)
    wins = np.mean([[sum(a > b for b in values) / 2 for a in values] for values in tables], axis=0)
    by_model = {row.model: row for row in table.rows}
    assert [by_model[f"m{n}"].rank for n in range(3)] == pytest.approx(ranks)
    assert [by_model[f"m{n}"].win_rate for n in range(3)] == pytest.approx(wins)
    assert [row.win_rate for row in table.rows] == sorted(wins, reverse=True)
    for row in table.rows:
        assert row.win_low is not None and row.win_high is not None and row.win_rate is not None
        assert 0 <= row.win_low <= row.win_high <= 1
        assert row.tasks == 2


def test_default_strategies_are_one_system_whatever_they_are_called(tmp_path: Path) -> None:
    made = {
        First: [*systems("zero-shot", 2), *systems("thematic", 2, 20)],
        Second: [*systems("together", 2), *systems("thematic", 1, 30)],
    }
    table = found(tmp_path, [First, Second], made)
    named = {(row.model, row.strategy): row for row in table.rows}
    assert set(named) == {
        ("m0", "default (zero-shot, together)"),
        ("m1", "default (zero-shot, together)"),
        ("m0", "thematic"),
        ("m1", "thematic"),
    }
    assert set(named["m0", "thematic"].measures) == {"first", "second"}
    assert set(named["m1", "thematic"].measures) == {"first"}
    assert named["m1", "thematic"].tasks == 1 and table.rows[-1] == named["m1", "thematic"]
    assert "m1 by thematic has no run of second: its means are over the other tasks alone." in table.notes


def test_each_value_is_that_of_the_tasks_own_leaderboard_in_its_own_unit(tmp_path: Path) -> None:
    made = {First: systems("zero-shot", 2), Second: systems("together", 2)}
    table = found(tmp_path, [First, Second], made)
    for row in table.rows:
        own = made[First][int(row.model[1:])]
        assert row.measures["first"].value == pytest.approx(value(First.metrics[0], own))
    assert headings(table)[3:] == ["first: Edit-F1 ↑", "second: Words (words) ↓"]
    assert "m0" in render("md", table) and "never averaged" in render("md", table)


def render(form: str, table: SeveralTasks) -> str:
    text = SEVERAL[form].render(table)
    assert text.startswith(SEVERAL[form].beginning)
    assert SENTINEL not in text
    return text


def test_two_runs_of_one_name_are_not_picked_from(tmp_path: Path) -> None:
    made = {
        First: [*systems("zero-shot", 2), Made(model="m0", temperature=0.7)],
        Second: systems("together", 2),
    }
    table = found(tmp_path, [First, Second], made)
    row = next(row for row in table.rows if row.model == "m0")
    assert set(row.measures) == {"second"}
    assert any(
        re.fullmatch(r"first has 2 runs of m0 by zero-shot \(rows .* of its leaderboard\), so .*", one)
        for one in table.notes
    )
    digest = next(path.parent.name.rpartition("-")[2] for path in (tmp_path / "first").glob("m0/*/run.json"))
    again = several_tasks([First, Second], tmp_path, statistics=FAST, exclude=[digest])
    assert set(next(row for row in again.rows if row.model == "m0").measures) == {"first", "second"}
    with pytest.raises(StorageError, match="no run of these tasks begins with 'fffff'"):
        several_tasks([First, Second], tmp_path, statistics=FAST, exclude=["fffff"])


def test_systems_are_compared_where_all_have_scored_and_that_is_said(tmp_path: Path) -> None:
    lossy = Made(model="m0", missing=frozenset({3, 4}))
    made = {First: [lossy, *systems("zero-shot")[1:]], Second: systems("together")}
    table = found(tmp_path, [First, Second], made)
    assert table.tasks[0].instances == 22
    assert any(
        one.startswith("In first systems are compared on the 22 instances that all") for one in table.notes
    )


def test_a_task_of_which_neither_end_is_better_is_shown_and_not_counted(tmp_path: Path) -> None:
    made = {First: systems("zero-shot"), Third: systems("zero-shot")}
    table = found(tmp_path, [First, Third], made)
    assert [head.counted for head in table.tasks] == [True, False]
    assert "third is not in the means: neither end of Right is better." in table.notes
    assert all(row.tasks == 1 and "third" in row.measures for row in table.rows)
    assert cells(table, table.rows[0])[2] == ("1/1", "")


def test_runs_that_may_not_be_compared_are_said_to_be_left_out(tmp_path: Path) -> None:
    other = Made(model="m9", fingerprint="e" * 64)
    made = {First: [*systems("zero-shot"), other], Second: systems("together")}
    table = found(tmp_path, [First, Second], made)
    assert "m9" not in [row.model for row in table.rows]
    assert any(
        "first has 2 tables of runs that may not be compared" in one and "1 run of" in one
        for one in table.notes
    )


def test_no_system_in_common_and_one_system_alone(tmp_path: Path) -> None:
    table = found(
        tmp_path, [First, Second], {First: systems("zero-shot", 1), Second: systems("together", 1, 4)}
    )
    assert all(row.win_rate is None and row.tasks == 0 for row in table.rows)
    assert cells(table, table.rows[0])[0] == ("–", "")
    assert sum("it has one system alone" in one for one in table.notes) == 2
    for form in SEVERAL:
        render(form, table)
    with pytest.raises(ConfigError, match="one task alone"):
        several_tasks([First], tmp_path)


HOSTILE = "=1+1 | <script>alert(1)</script> \\input{x} $a_b$"


def test_every_format_has_every_system_and_no_name_breaks_it(tmp_path: Path) -> None:
    odd = Made(model=HOSTILE, skill=0.9)
    made = {First: [*systems("zero-shot"), odd], Second: systems("together")}
    table = found(tmp_path, [First, Second], made)
    page = Page(render("md", table))
    assert sorted(line[1] for line in page.tables[0][1:]) == sorted(["m0", "m1", "m2", HOSTILE])
    lines = list(csv.DictReader(io.StringIO(render("csv", table))))
    assert f"'{HOSTILE}" in [line["system"] for line in lines]
    for line, row in zip(lines, table.rows, strict=True):
        assert float(line["mean_win_rate"]) == row.win_rate and float(line["mean_rank_high"]) == row.rank_high
    assert "<script>alert" not in render("html", table) and "&lt;script&gt;alert(1)" in render("html", table)
    assert r"\input{x}" not in render("latex", table)
    read = json.loads(render("json", table))
    assert [row["win_rate"] for row in read["rows"]] == [row.win_rate for row in table.rows]


def test_the_command_writes_and_refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tasks = {"first": First, "second": Second}
    monkeypatch.setattr("pmbench.core.registry.load_task", tasks.__getitem__)
    monkeypatch.setenv("COLUMNS", "200")
    for task, strategy in ((First, "zero-shot"), (Second, "together")):
        for one in systems(strategy):
            write(tmp_path, one, task)
    ask = ["leaderboard", "--tasks", "first, second,first", "--runs", str(tmp_path), "--resamples", "300"]
    assert run([*ask, "-f", "md,csv,json,html,latex", "-o", str(tmp_path / "out")]) == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        f"several-tasks.{end}" for end in ("csv", "html", "json", "md", "tex")
    ]
    shown = capsys.readouterr().out
    assert "Mean win rate ↑" in shown and "default (zero-shot, together)" in shown
    (tmp_path / "mine.md").write_text("my notes")
    assert run([*ask, "-o", str(tmp_path / "mine.md")]) == 2
    assert "no leaderboard, and would be overwritten" in capsys.readouterr().err
    for more, told in {
        ("--plots", "x"): "--plots is not for several tasks",
        ("--columns", "f1"): "--columns is not for several tasks",
        ("-t", "first"): "--task is not for several tasks",
    }.items():
        assert run([*ask, *more]) == 2
        assert told in capsys.readouterr().err
    assert run(["leaderboard", "--tasks", "first,first"]) == 2
    assert "'first' is named twice" in capsys.readouterr().err
    assert run(["leaderboard", "--tasks", "first"]) == 2
    assert "fewer than two tasks" in capsys.readouterr().err
    assert run(["leaderboard"]) == 2
    assert "Missing option" in capsys.readouterr().err
