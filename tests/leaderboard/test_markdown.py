"""The page: what a reader of GitHub sees."""

from __future__ import annotations

from pathlib import Path

import pytest
from made_runs import SENTINEL, Made, Page, Toy, write
from test_escaping import NAMES, shown

from pmbench.core.dataset import DatasetSpec
from pmbench.core.errors import ConfigError
from pmbench.core.task import Task
from pmbench.leaderboard.board import leaderboard
from pmbench.leaderboard.markdown import render_markdown
from pmbench.leaderboard.reported import reported
from pmbench.leaderboard.table import Leaderboard, MetricHead, Resampling
from pmbench_tasks.drafting.task import IPPM, SoCPPM, SyPPM

HEAD = MetricHead("content_f1", "Content edit-F1", True, "formula")
FAST = Resampling(resamples=300, permutations=300)

REPORTED = """
source = "A paper (2025)"
[[row]]
system = "Model | one"
strategy = "0-shot"
table = "Table 4"
values = { f1 = 0.5, theme_f1 = 0.61 }
spread = { f1 = 0.02 }
[[row]]
system = "Model two"
table = "Table 3"
values = { f1 = 0.437 }
note = "Another table says .56."
"""


def page(runs: Path, *made: Made, task: type[Toy] = Toy) -> tuple[str, Page]:
    for one in made:
        write(runs, one)
    text = render_markdown(leaderboard(task, runs, statistics=FAST), task)
    return text, Page(text)


def test_the_page_says_what_was_compared_and_how(tmp_path: Path) -> None:
    text, found = page(tmp_path, Made(), Made(model="b", skill=0.7))
    assert found.headings == ["Leaderboard: Toy drafting", "Systems", "Other metrics", "How to read it"]
    for part in (
        "Task `toy`, version 1",
        "fingerprint `ffffffffffff`",
        "24 instances in 24 clusters",
        "300 resamples, seed 0",
        "300 random patterns",
        "all were tried for 0 of the 1 comparisons with a best system on this page",
        "Holm",
    ):
        assert part in text


def test_the_table_has_a_cell_for_everything(tmp_path: Path) -> None:
    _, found = page(tmp_path, Made(), Made(model="b", skill=0.7, failed=frozenset({1})))
    main, others = found.tables
    assert main[0] == [
        *["#", "System", "Strategy", "Edit-F1 ↑", "Difference to the best", "p (Holm)"],
        *["Scored", "Lost or odd", "Judges"],
    ]
    assert [line[:3] for line in main[1:]] == [["1", "b", "zero-shot"], ["2", "smollm2-135m", "zero-shot"]]
    assert main[1][4:] == ["–", "–", "23/24", "1 failed (timeout 1)", "content=embedded"]
    assert main[2][4].startswith("-0.")
    assert main[2][6:] == ["24/24", "0", "content=embedded"]
    assert others[0] == ["#", "System", "Right ↑", "Words to delete (words) ↓"]
    assert "%" in others[1][2]
    assert "words" not in others[1][3]
    assert all(len(line) == len(table[0]) for table in found.tables for line in table)


def test_whatever_is_in_a_name_the_page_shows_it(tmp_path: Path) -> None:
    made = [Made(model=name, seed=seed, skill=0.9 - seed / 100) for seed, name in enumerate(NAMES)]
    _, found = page(tmp_path, *made)
    assert sorted(line[1] for line in found.tables[0][1:]) == sorted(shown(name) for name in NAMES)
    assert sorted(line[1] for line in found.tables[1][1:]) == sorted(shown(name) for name in NAMES)
    assert all(len(line) == 9 for line in found.tables[0])
    assert found.tags <= {
        *("h1", "h2", "h3", "p", "ul", "li", "code", "br"),
        *("table", "thead", "tbody", "tr", "th", "td"),
    }


def test_names_of_judges_data_and_strategies_are_shown_as_they_are(tmp_path: Path) -> None:
    odd = "a|b `c` *d* <i>e</i>\nf"
    made = Made(judges={"content": odd}, location=f"/data/{odd.replace('/', '-')}", strategy=odd)
    _, found = page(tmp_path, made, Made())
    lines = [line for table in found.tables[::2] for line in table[1:]]
    assert [odd, f"content={odd}"] in [[line[2], line[-1]] for line in lines]
    assert f"judges: content={odd}" in found.items


def test_settings_have_a_column_only_where_they_are_needed(tmp_path: Path) -> None:
    _, without = page(tmp_path, Made())
    assert "Settings" not in without.tables[0][0]
    _, with_them = page(tmp_path, Made(seed=1))
    assert with_them.tables[0][0][3] == "Settings"
    assert {line[3].split(",")[0] for line in with_them.tables[0][1:]} == {"seed=0", "seed=1"}


def test_groups_are_tables_of_their_own(tmp_path: Path) -> None:
    _, found = page(tmp_path, Made(), Made(judges={"content": "qwen3-8b"}), Made(instances=12, seed=9))
    assert [heading for heading in found.headings if heading.startswith("Table")] == [
        "Table 1 of 3",
        "Table 2 of 3",
        "Table 3 of 3",
    ]
    assert found.items[:2] == ["instances: 24 of 24", "judges: content=embedded"]


def test_folders_that_could_not_be_used_are_listed(tmp_path: Path) -> None:
    (tmp_path / "toy" / "odd|name" / "x-1").mkdir(parents=True)
    _, found = page(tmp_path)
    assert found.headings == ["Leaderboard: Toy drafting", "Not in a table"]
    assert found.items == [f"{Path('toy', 'odd|name', 'x-1')}: not a run: it has no run.json"]


def test_no_text_of_the_dataset_and_no_folder_of_the_machine(tmp_path: Path) -> None:
    text, _ = page(tmp_path, Made(), Made(model="b", pending=2), Made(judges={"content": "c"}))
    assert SENTINEL not in text
    assert "Sample" not in text
    assert "someone" not in text
    assert str(tmp_path) not in text


def _package(folder: Path, content: str, monkeypatch: pytest.MonkeyPatch, name: str) -> type[Toy]:
    package = folder / name
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "reported.toml").write_text(content, encoding="utf-8")
    monkeypatch.syspath_prepend(str(folder))

    class Told(Toy):
        reported = f"{name}:reported.toml"

    return Told


def test_reported_numbers_are_set_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task = _package(tmp_path, REPORTED, monkeypatch, "told_well")
    text, found = page(tmp_path / "runs", Made(), task=task)
    assert "Reported elsewhere" in found.headings
    assert "**Not comparable with the tables above**" in text
    assert "another judge, and perhaps another version of the data. Source: A paper (2025)." in text
    assert found.tables[-1] == [
        ["System", "Strategy", "Edit-F1", "Theme f1", "Table", "Note"],
        ["Model | one", "0-shot", "0.500 ± 0.02", "0.61", "Table 4", ""],
        ["Model two", "–", "0.437", "–", "Table 3", "Another table says .56."],
    ]


@pytest.mark.parametrize(
    ("made", "private", "told"),
    [
        (Made(), "", "**These numbers are of the paper's data, not of yours** (`messages.jsonl`)."),
        (Made(), "give them with --data", "(`messages.jsonl`), unless yours are the paper's."),
        (Made(kind="demo"), "", "**These numbers are of the paper's data, not of the demo data.**"),
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


@pytest.mark.parametrize("task", [SyPPM, IPPM, SoCPPM], ids=lambda task: task.name)
def test_what_the_drafting_paper_reports_can_be_shown(task: type[Task]) -> None:
    board = Leaderboard(task.name, task.title, task.version, [HEAD], [], [], FAST)
    found = Page(render_markdown(board, task))
    told = reported(task)
    assert len(found.tables) == 1
    assert [line[0] for line in found.tables[0][1:]] == [one.system for one in told.row]
    assert all(one.table for one in told.row)
    assert all(one.spread.keys() <= one.values.keys() for one in told.row)


def test_a_broken_file_of_reported_numbers_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task = _package(tmp_path, "[[row]]\nvalues = 3", monkeypatch, "told_badly")
    with pytest.raises(ConfigError, match=r"told_badly:reported\.toml: the numbers reported for toy"):
        page(tmp_path / "runs", Made(), task=task)
