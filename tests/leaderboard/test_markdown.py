"""The page: what a reader of GitHub sees."""

from __future__ import annotations

from pathlib import Path

from made_runs import SENTINEL, Made, Page, Themed, Toy, themed, write
from test_escaping import NAMES, shown

from pmbench.core.metric import Mean
from pmbench.leaderboard.board import leaderboard
from pmbench.leaderboard.markdown import render_markdown
from pmbench.leaderboard.tested import Resampling

FAST = Resampling(resamples=300, permutations=300)


def page(runs: Path, *made: Made, task: type[Toy] = Toy) -> tuple[str, Page]:
    for one in made:
        write(runs, one, task)
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
        *["#", "System", "Strategy", "Edit-F1 ↑", "Letters", "Rank", "Chance of being best"],
        *["Difference to the best", "p (Holm)", "Scored", "Lost or odd"],
    ]
    assert [line[:3] for line in main[1:]] == [["1", "b", "zero-shot"], ["2", "smollm2-135m", "zero-shot"]]
    assert main[1][4] in ("a", "ab") and main[1][5].startswith("1 [1, ")
    assert main[1][6].rstrip("%").lstrip("<>").isdigit()
    assert main[1][7:] == ["–", "–", "23/24", "1 failed (timeout 1)"]
    assert main[2][7].startswith("-0.")
    assert main[2][9:] == ["24/24", "0"]
    assert others[0] == ["#", "System", "Strategy", "Right ↑", "Words to delete (words) ↓"]
    assert "%" in others[1][3]
    assert "words" not in others[1][4]
    assert all(len(line) == len(table[0]) for table in found.tables for line in table)


def test_whatever_is_in_a_name_the_page_shows_it(tmp_path: Path) -> None:
    made = [Made(model=name, seed=seed, skill=0.9 - seed / 100) for seed, name in enumerate(NAMES)]
    _, found = page(tmp_path, *made)
    assert sorted(line[1] for line in found.tables[0][1:]) == sorted(shown(name) for name in NAMES)
    assert sorted(line[1] for line in found.tables[1][1:]) == sorted(shown(name) for name in NAMES)
    assert all(len(line) == 11 for line in found.tables[0])
    assert found.tags <= {
        *("h1", "h2", "h3", "p", "ul", "li", "code", "br"),
        *("table", "thead", "tbody", "tr", "th", "td"),
    }


def test_names_of_judges_data_and_strategies_are_shown_as_they_are(tmp_path: Path) -> None:
    odd = "a|b `c` *d* <i>e</i>\nf"
    made = Made(judges={"content": odd}, location=f"/data/{odd.replace('/', '-')}", strategy=odd)
    _, found = page(tmp_path, made, Made())
    assert odd in [line[2] for table in found.tables for line in table[1:]]
    assert f"judges: content={odd}" in found.items
    assert any(line.endswith(f"task version 1; judges content={odd}.") for line in found.paragraphs)


def test_settings_stand_below_the_name_only_where_they_are_needed(tmp_path: Path) -> None:
    _, without = page(tmp_path, Made())
    assert without.tables[0][1][1] == "smollm2-135m"
    _, with_them = page(tmp_path, Made(seed=1))
    assert {line[1].split(",")[0] for line in with_them.tables[0][1:]} == {
        "smollm2-135m seed=0",
        "smollm2-135m seed=1",
    }


def test_runs_that_may_not_be_compared_stand_in_tables_of_their_own(tmp_path: Path) -> None:
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


def test_a_headline_metric_stands_in_the_main_table_and_groups_in_tables_of_their_own(tmp_path: Path) -> None:
    made = [
        Made(model="a", skill=0.8, more=themed(12, 9)),
        Made(model="b", skill=0.2, more=themed(3, 9, recall=0)),
    ]
    text, found = page(tmp_path, *made, task=Themed)
    main, others, recall, _ = found.tables
    assert found.headings[2:5] == ["Other metrics", "Recall by theme", "Shares"]
    assert main[0][3] == "Edit-F1 ↑" and main[0][7:10] == ["Difference to the best", "p (Holm)", "Calm ↑"]
    assert main[1][9].startswith("0.500 [")
    assert others[0] == ["#", "System", "Strategy", "Right ↑", "Words to delete (words) ↓"]
    assert "Of the sentences with each theme." in found.paragraphs
    assert recall[0] == ["#", "System", "Strategy", "Alpha ↑", "Beta ↑"]
    # Alike in all 24 clusters: a share of 1 − 0.025^(1/24) of others, 0.14, could be at 0 or at 1.
    assert recall[1] == ["1", "a", "zero-shot", "0.50 [0.43, 0.57]", "–"]
    assert recall[2][3].startswith("0.00 [0.00, ") and recall[2][4] == "–"
    assert "Tests are made of the primary metric alone." in text


def test_the_reference_is_a_row_and_the_nearest_are_bold(tmp_path: Path) -> None:
    made = [
        Made(model="a", skill=0.8, more=themed(13, 9)),
        Made(model="b", skill=0.5, more=themed(24, 3)),
        Made(model="c", skill=0.2, more=themed(4, 24)),
    ]
    _, found = page(tmp_path, *made, task=Themed)
    shares = found.tables[-1]
    assert [line[:3] for line in shares[1:3]] == [["", "people's replies", ""], ["1", "a", "zero-shot"]]
    values = [[cell.split(" [")[0] for cell in line[3:]] for line in shares[1:]]
    # Beta is in 6 of 24 replies: 9 and 3 drafts are as near.
    assert values == [["0.50", "0.25"], ["**0.54**", "**0.38**"], ["1.00", "**0.12**"], ["0.17", "1.00"]]
    assert any("nearest to people's replies" in line for line in found.paragraphs)


def test_runs_scored_before_the_metrics_were_there_are_shown_with_dashes(tmp_path: Path) -> None:
    write(tmp_path, Made())
    _, found = page(tmp_path, task=Themed)
    assert found.tables[0][0][9] == "Calm ↑"
    assert found.tables[0][1][9] == "–"
    assert len(found.tables) == 2
    assert "No system here has the numbers of these tables: Recall by theme; Shares." in found.paragraphs


def test_many_metrics_are_cut_into_tables_of_equal_rows(tmp_path: Path) -> None:
    class Wide(Toy):
        metrics = (*Toy.metrics, *(Mean("words", f"words_{n}", title=f"Words {n}") for n in range(10)))

    _, found = page(tmp_path, Made(), Made(model="b"), task=Wide)
    assert [len(table[0]) - 3 for table in found.tables[1:]] == [4, 4, 4]
    assert [line[1] for table in found.tables[1:] for line in table[1:]] == ["b", "smollm2-135m"] * 3
