"""`pmbench leaderboard` in a terminal, with runs of a drafting task."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from made_runs import Made, write

from pmbench.cli.main import run
from pmbench_tasks.drafting.task import SyPPM
from pmbench_tasks.drafting.themes import THEMES

TASK = ("leaderboard", "--task", "syppm-editf1", "--resamples", "200")
PLACES = {theme: place for place, theme in enumerate(THEMES)}


def drafting(skill: float) -> Callable[[int], Mapping[str, float]]:
    """Counts of a drafting task: replies have the first themes often, `other` never; drafts all of them."""

    def of(index: int) -> dict[str, float]:
        stats = {"matches": float(index % 3 < 3 * skill), "additions": 1.0, "deletions": 1.0}
        stats |= {"theme_matches": 2.0, "theme_additions": 1.0, "theme_deletions": 1.0}
        for theme, place in PLACES.items():
            has = float(theme != "other" and index % 10 > place)
            stats |= {f"reply_has_{theme}": has, f"draft_has_{theme}": 1.0, f"both_have_{theme}": has}
            stats |= {f"sentences_{theme}": has, f"matched_{theme}": has * float(index % 2)}
        return stats

    return of


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Two models by two strategies, and a run that was scored without a judge of themes."""
    for number, (model, strategy) in enumerate(
        (model, strategy) for model in ("small", "large") for strategy in ("zero-shot", "thematic")
    ):
        judges = {"content": "embedded", "theme": "embedded"}
        made = Made(model=model, strategy=strategy, judges=judges, more=drafting(0.3 + number / 5))
        write(tmp_path, made, SyPPM)
    old = drafting(0.5)(0)
    before = {name: old[name] for name in ("matches", "additions", "deletions")}
    write(tmp_path, Made(model="old", more=lambda index: before), SyPPM)
    return tmp_path


@pytest.fixture
def shown(
    runs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., str]:
    """What the command prints, at a width."""

    def command(*arguments: str, width: int = 200) -> str:
        monkeypatch.setenv("COLUMNS", str(width))
        assert run([*TASK, "--runs", str(runs), *arguments]) == 0
        return capsys.readouterr().out

    return command


def section(text: str, title: str) -> list[str]:
    """The lines below a title, until the next blank line."""
    lines = text.splitlines()
    start = next(place for place, line in enumerate(lines) if line.startswith(title))
    return [line.rstrip() for line in lines[start + 1 : lines.index("", start)]]


def test_systems_have_the_headline_metric_beside_the_primary_one(shown: Callable[..., str]) -> None:
    text = shown(width=260)
    lines = section(text, "Reply drafting on SyPPM (edit-F1): messages.jsonl, 24 of 24 instances")
    assert "judges content=embedded, theme=embedded" in text
    head = next(line for line in lines if "system" in line)
    assert (
        head.index("Content edit-F1")
        < head.index("letters")
        < head.index("Theme edit-F1 (micro) [95% interval]")
    )
    # Alike in all 24 clusters: 0.1425 of others could be at 0 or at 1, 0.667 · 0.1425 below and 0.333 · 0.1425 above.
    assert sum("0.667 [0.572, 0.714]" in line for line in lines) == 4


def test_groups_are_tables_with_the_reference_and_marks(shown: Callable[..., str]) -> None:
    text = shown()
    recall = section(text, "Content recall by theme")
    assert recall[0].split()[:3] == ["system", "strategy", "Empathy"]
    assert all(line.endswith("–") for line in recall[1:5])  # No reply has a sentence of `other`.
    assert recall[5:] == ["- Rows 1, 2, 3 and 4, Other: no value, for nothing that was scored counts for it."]
    shares = section(text, "Share of drafts with each theme")
    assert shares[1].startswith("   clinicians' replies")
    assert shares[1].split()[-1] == "0.00"
    # All drafts have all themes: where all are as near, none is the nearest.
    assert all(line.split()[3] == "1.00" for line in shares[2:6])
    assert "* nearest to clinicians' replies" not in shares


def test_a_run_scored_before_the_metrics_were_there_has_dashes(shown: Callable[..., str]) -> None:
    text = shown()
    row = next(line for line in text.splitlines() if line.startswith("1  old"))
    assert row.rstrip().endswith(" 0")
    assert " – " in row
    assert "No system here has the numbers of these tables: Theme edit-F1 by theme; " in text


def test_strategies_are_shown_below_the_systems_and_take_their_place_in_groups(
    shown: Callable[..., str],
) -> None:
    text = shown("--aggregate", "strategy")
    assert sum(line.startswith(("1  ", "4  ")) for line in text.splitlines()) == 3
    strategies = section(text, "Strategies: mean ± standard deviation over models (how much models differ")
    assert [line.split()[:2] for line in strategies[-2:]] == [["thematic", "2"], ["zero-shot", "2"]]
    shares = section(text, "Share of drafts with each theme, mean ± standard deviation over models")
    assert [line.split("  ")[0] for line in shares[1:4]] == ["clinicians' replies", "thematic", "zero-shot"]
    assert "1.00 ± 0.00" in shares[2] and "*" not in "".join(shares)


@pytest.mark.parametrize("width", [60, 80, 100, 130])
def test_no_number_is_cut_in_a_narrow_terminal(shown: Callable[..., str], width: int) -> None:
    for arguments in ((), ("--aggregate", "strategy")):
        text = shown(*arguments, width=width)
        tables = text.split("Theme edit-F1 by theme")[1].split("Reply drafting")[0]
        lines = [line for line in tables.splitlines() if not line.startswith(("-", "*"))]
        assert max(map(len, lines)) <= width
        words = {word for line in lines for word in line.split() if word[:1].isdigit() and "." in word}
        assert words
        assert all(len(word.rstrip("*").split(".")[1]) == 2 for word in words)
        for word in ("Coordination", "Contingency", "Assessment"):
            assert tables.count(word) == 3


def test_the_page_has_all_that_the_terminal_has_not(shown: Callable[..., str], tmp_path: Path) -> None:
    assert "-o FILE writes all metrics" in shown()
    page = shown("--aggregate", "strategy", "-o", "-")
    for part in ("### Other metrics", "### Strategies over models", "## Reported elsewhere", "Table&nbsp;17"):
        assert part in page


def test_an_aggregate_that_is_none_is_the_users_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*TASK, "--aggregate", "model"]) == 2
    assert "'model' is not 'strategy'" in capsys.readouterr().err
