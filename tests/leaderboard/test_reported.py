"""What papers report: shown as it is printed, apart from the tables, and in tables like them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from made_runs import Made, Page, Themed, Toy, write

from pmbench.core.dataset import DatasetSpec
from pmbench.core.errors import ConfigError
from pmbench.core.task import Task
from pmbench.leaderboard.board import leaderboard
from pmbench.leaderboard.groups import group_heads, metric_heads
from pmbench.leaderboard.markdown import render_markdown
from pmbench.leaderboard.reported import ReportedRow, reported
from pmbench.leaderboard.table import Leaderboard
from pmbench.leaderboard.tested import Resampling
from pmbench_tasks.drafting.task import IPPM, SoCPPM, SyPPM
from pmbench_tasks.drafting.themes import THEMES

FAST = Resampling(resamples=300, permutations=300)

REPORTED = """
source = "A paper (2025)"
[[row]]
system = "Model | one"
strategy = "0-shot"
table = "Table 4"
values = { f1 = 0.50, theme_f1 = 0.61 }
spread = { f1 = 0.0 }
[[row]]
system = "Model two"
table = "Table 3"
values = { f1 = 0.437 }
note = "Another table says .56."
"""


def page(runs: Path, *made: Made, task: type[Task] = Toy) -> tuple[str, Page]:
    for one in made:
        write(runs, one)
    text = render_markdown(leaderboard(task, runs, statistics=FAST), task)
    return text, Page(text)


def _package(
    folder: Path, content: str, monkeypatch: pytest.MonkeyPatch, name: str, base: type[Toy] = Toy
) -> type[Toy]:
    package = folder / name
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "reported.toml").write_text(content, encoding="utf-8")
    monkeypatch.syspath_prepend(str(folder))

    class Told(base):  # type: ignore[misc, valid-type]
        reported = f"{name}:reported.toml"

    return Told


def test_reported_numbers_are_set_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task = _package(tmp_path, REPORTED, monkeypatch, "told_well")
    text, found = page(tmp_path / "runs", Made(), task=task)
    assert "Reported elsewhere" in found.headings
    assert "**Not comparable with the tables above**" in text
    assert "by another judge, and for its own data. Source: A paper (2025)." in text
    assert found.tables[-1] == [
        ["System", "Strategy", "Edit-F1", "Theme f1", "From"],
        ["Model | one", "0-shot", "0.50 ± 0.0", "0.61", "Table 4"],
        ["Model two", "–", "0.437", "–", "Table 3"],
    ]
    assert found.items[-1] == "Table 3, Model two: Another table says .56."


@pytest.mark.parametrize(
    ("made", "private", "told"),
    [
        (Made(), "", "**These numbers are of the paper's data, not of yours (`messages.jsonl`).**"),
        (Made(), "give them with --data", "(`messages.jsonl`), unless yours are the paper's."),
        (
            Made(kind="demo"),
            "",
            "**These numbers are of the paper's data, not of the demo data: no system above is better or worse than",
        ),
        (Made(kind="hub"), "", ""),
    ],
    ids=["own file", "private data", "demo", "hub"],
)
def test_reported_numbers_say_whose_data_they_are_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: Made, private: str, told: str
) -> None:
    name = f"told_{len(told)}"
    task = _package(tmp_path, REPORTED, monkeypatch, name)
    task.dataset = DatasetSpec((), private=private)
    text, _ = page(tmp_path / "runs", made, task=task)
    assert told in text
    assert ("These numbers are of" in text) == bool(told)


@pytest.mark.parametrize("content", ["[[row]]\nvalues = 3", "row = [", "[[row]]\nvalues = {}"])
def test_a_broken_file_of_reported_numbers_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str
) -> None:
    task = _package(tmp_path, content, monkeypatch, f"told_badly_{len(content)}")
    with pytest.raises(ConfigError, match=r"told_badly_\d+:reported\.toml: the numbers reported for toy"):
        page(tmp_path / "runs", Made(), task=task)


GROUPED = """
[tables]
"Table 5" = "Over three datasets."
"Table 9" = "Nowhere used."
[[row]]
system = "people"
table = "Table 5"
values = { reply_share_a = 0.85 }
[[row]]
system = "one"
strategy = "zero-shot"
table = "Table 5"
values = { draft_share_a = 0.94, draft_share_b = 0.10 }
[[row]]
system = "one"
strategy = "zero-shot"
table = "Table 3"
values = { f1 = 0.30, recall_b = 0.07 }
note = "Odd."
"""


def test_reported_rows_stand_in_each_table_that_they_have_values_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = _package(tmp_path, GROUPED, monkeypatch, "told_in_groups", Themed)
    _, found = page(tmp_path / "runs", Made(), task=task)
    assert found.headings[-3:] == [
        "Reported elsewhere",
        "Recall by theme, as reported",
        "Shares, as reported",
    ]
    assert found.tables[-3:] == [
        [["System", "Strategy", "Edit-F1", "From"], ["one", "zero-shot", "0.30", "Table 3"]],
        [["System", "Strategy", "Beta", "From"], ["one", "zero-shot", "0.07", "Table 3"]],
        [
            ["System", "Strategy", "Alpha", "Beta", "From"],
            ["people", "–", "0.85", "–", "Table 5"],
            ["one", "zero-shot", "0.94", "0.10", "Table 5"],
        ],
    ]
    assert found.items[-3:] == ["Table 3, one, zero-shot: Odd."] * 2 + ["Table 5: Over three datasets."]


def theme_values(row: ReportedRow, measure: str) -> list[object]:
    """The values of a row in the order of the themes."""
    return [row.values[f"{measure}_{theme}"] for theme in THEMES if f"{measure}_{theme}" in row.values]


def rows(task: type[Task], table: str, system: str, strategy: str = "") -> list[ReportedRow]:
    return [
        one
        for one in reported(task).row
        if (one.table, one.strategy) == (table, strategy) and one.system.startswith(system)
    ]


@pytest.mark.parametrize(
    ("task", "counts"),
    [
        (SyPPM, {3: 7, 4: 9, 5: 6, 14: 8, 15: 8, 16: 9, 17: 10}),
        (IPPM, {3: 5, 5: 6, 14: 6, 15: 6}),
        (SoCPPM, {13: 6, 5: 6, 14: 6, 15: 6}),
    ],
    ids=["syppm", "ippm", "socppm"],
)
def test_the_tables_of_the_drafting_paper_are_there_row_by_row(
    task: type[Task], counts: dict[int, int]
) -> None:
    told = reported(task)
    assert Counter(one.table for one in told.row) == {f"Table {n}": rows for n, rows in counts.items()}
    assert told.tables.keys() <= {one.table for one in told.row}
    names = {metric.name for metric in task.metrics}
    for one in told.row:
        assert one.values.keys() <= names
        assert one.spread.keys() <= one.values.keys()
        assert bool(one.spread) == (one.system.startswith("mean of Llama3-8B") and one.table != "Table 5")
        assert all(isinstance(value, str) and float(value) < 1 for value in one.values.values())


@pytest.mark.parametrize(
    ("task", "table", "system", "strategy", "measure", "printed"),
    [
        (SyPPM, "Table 5", "clinicians", "", "reply_share", ".85 .36 .30 .34 .19 .56 .45 .22 .02"),
        (IPPM, "Table 5", "mean of", "zero-shot", "draft_share", ".94 .02 .05 .89 .82 .59 .78 .18 .14"),
        (SoCPPM, "Table 5", "mean of", "tadpole", "draft_share", ".99 .29 .20 .28 .31 .36 .83 .25 .01"),
        (SoCPPM, "Table 14", "clinicians", "", "reply_share", ".81 .05 .02 .38 .27 .42 .58 .03"),
        (IPPM, "Table 14", "mean of", "rag", "content_recall", ".24 .04 .04 .15 .33 .19 .26 .20"),
        (SyPPM, "Table 14", "another", "", "content_recall", ".30 .07 .07 .16 .23 .24 .24 .24"),
        (SyPPM, "Table 15", "mean of", "sft", "theme_f1", ".98 .38 .09 .33 .24 .58 .22 .13"),
        (SoCPPM, "Table 15", "mean of", "zero-shot", "theme_f1", ".88 .12 .08 .57 .46 .58 .68 .12"),
        (SyPPM, "Table 16", "another", "", "content_recall", ".30 .21 .21 .13 .27 .37 .15 .64"),
        (SyPPM, "Table 16", "mean of", "thematic", "content_recall", ".30 .07 .07 .15 .26 .23 .24 .23"),
        (SyPPM, "Table 17", "Claude", "thematic", "theme_f1", ".99 .87 .39 .50 .12 .63 .15 .56"),
        (SyPPM, "Table 17", "clinicians", "", "reply_share", ".99 .79 .79 .33 .05 .75 .11 .56"),
    ],
)
def test_rows_by_theme_hold_the_digits_of_the_paper(
    task: type[Task], table: str, system: str, strategy: str, measure: str, printed: str
) -> None:
    (row,) = rows(task, table, system, strategy)
    assert theme_values(row, measure) == [f"0{number}" for number in printed.split()]


def test_the_main_rows_hold_the_digits_of_the_paper() -> None:
    (row,) = rows(SyPPM, "Table 3", "mean of", "sft")
    assert list(row.values.values()) == ["0.22", "0.17", "0.18", "0.64", "0.41", "0.50"]
    assert row.spread["content_f1"] == "0.0"  # The one spread that is printed with one decimal.
    (row,) = rows(SoCPPM, "Table 13", "mean of", "rag")
    assert list(row.values.values()) == ["0.11", "0.33", "0.14", "0.49", "0.75", "0.59"]
    assert list(row.spread.values()) == ["0.03", "0.18", "0.01", "0.03", "0.18", "0.01"]


@pytest.mark.parametrize("task", [SyPPM, IPPM, SoCPPM], ids=lambda task: task.name)
def test_what_the_drafting_paper_reports_can_be_shown(task: type[Task]) -> None:
    groups = group_heads(task.metrics)
    board = Leaderboard(task.name, task.title, task.version, metric_heads(task.metrics), [], [], FAST, groups)
    found = Page(render_markdown(board, task))
    told = reported(task)
    sections = list(told.sections(groups))
    # Every row stands in one table, and no number is lost.
    assert [one for section in sections for one, _ in section.rows if one not in told.row] == []
    assert sum(len(section.rows) for section in sections) == len(told.row)
    cells = [cell for table in found.tables for line in table[1:] for cell in line[2:-1] if cell != "–"]
    assert Counter(cells) == Counter(
        f"{value} ± {one.spread[name]}" if name in one.spread else value
        for one in told.row
        for name, value in one.values.items()
    )
