"""Strategies over models: the spread that papers give, against numpy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from made_runs import Made, Page, Themed, themed, write

from pmbench.leaderboard.board import leaderboard
from pmbench.leaderboard.markdown import render_markdown
from pmbench.leaderboard.table import Leaderboard, StrategyRow, Table
from pmbench.leaderboard.tested import Resampling

FAST = Resampling(resamples=300, permutations=300)
MODELS = ("one", "two", "three")


def made() -> list[Made]:
    """Two strategies with three models each, and one recording."""
    found = [
        Made(model=model, strategy=strategy, seed=seed, skill=0.3 + 0.2 * better + seed / 20, more=more)
        for better, strategy in enumerate(("zero-shot", "thematic"))
        for seed, model in enumerate(MODELS)
        for more in [themed(4 + 3 * seed + 6 * better, 6, recall=0.25 * (1 + better))]
    ]
    return [*found, Made(model="replay:@draft", strategy="recorded", skill=0.1, more=themed(0, 0))]


def board(runs: Path, *more: Made, of: list[Made] | None = None) -> Leaderboard:
    for one in [*(made() if of is None else of), *more]:
        write(runs, one, Themed)
    return leaderboard(Themed, runs, statistics=FAST, aggregate="strategy")


def by_name(table: Table) -> dict[str, StrategyRow]:
    return {one.strategy: one for one in table.strategies}


def test_mean_and_deviation_are_those_of_numpy_for_every_metric(tmp_path: Path) -> None:
    table = board(tmp_path).tables[0]
    assert [(one.strategy, one.models) for one in table.strategies] == [
        ("thematic", 3),
        ("zero-shot", 3),
        ("recorded", 1),
    ]
    for one in table.strategies[:2]:
        rows = [row for row in table.rows if row.strategy == one.strategy]
        assert one.rows == [row.number for row in rows]
        for name, spread in one.spreads.items():
            values = [row.measures[name].value for row in rows]
            if None in values:
                assert (name, spread.text) == ("recall_b", "–")
                continue
            assert spread.mean == pytest.approx(np.mean(values))  # type: ignore[arg-type]
            assert spread.deviation == pytest.approx(np.std(values, ddof=1), abs=1e-12)  # type: ignore[arg-type]
            assert spread.models == 3
    first = table.strategies[0].spreads["f1"]
    assert first.text == f"{first.mean:.3f} ± {first.deviation:.3f}"


def test_one_model_has_no_deviation(tmp_path: Path) -> None:
    spread = by_name(board(tmp_path).tables[0])["recorded"].spreads["f1"]
    assert spread.deviation is None
    assert spread.text == f"{spread.mean:.3f} ± –"


def test_two_settings_of_a_model_count_once(tmp_path: Path) -> None:
    twin = Made(model="one", strategy="zero-shot", seed=5, skill=0.9, more=themed(9, 9))
    table = board(tmp_path, twin).tables[0]
    values: dict[str, list[float]] = {}
    for row in table.rows:
        if row.strategy == "zero-shot":
            values.setdefault(row.model, []).append(row.measures["f1"].value or 0)
    means = [np.mean(found) for found in values.values()]
    one = by_name(table)["zero-shot"]
    assert (one.models, len(one.rows)) == (3, 4)
    assert one.spreads["f1"].mean == pytest.approx(np.mean(means))
    assert one.spreads["f1"].deviation == pytest.approx(np.std(means, ddof=1))
    twins = [row.number for row in table.rows if (row.model, row.strategy) == ("one", "zero-shot")]
    assert len(table.strategy_notes) == 1
    assert table.strategy_notes[0].startswith(
        f"Rows {twins[0]} and {twins[1]} are the same model and strategy"
    )


def test_a_model_without_the_metric_is_not_counted_for_it(tmp_path: Path) -> None:
    of = [Made(model="a", more=themed(2, 2)), Made(model="b", more=themed(4, 4)), Made(model="c")]
    one = board(tmp_path, of=of).tables[0].strategies[0]
    assert (one.models, one.spreads["draft_share_a"].models) == (3, 2)
    assert one.spreads["draft_share_a"].text == "0.12 ± 0.06 (of 2)"
    assert one.spreads["f1"].models == 3


def test_the_nearest_strategy_is_the_one_whose_mean_is(tmp_path: Path) -> None:
    found = board(tmp_path).tables[0].references["Shares"].nearest_strategies
    # Alpha is in 12 of 24 replies; in 7 drafts of zero-shot on average, in 13 of thematic, in none recorded.
    assert found == {"draft_share_a": ["thematic"], "draft_share_b": ["thematic", "zero-shot"]}


def test_without_being_asked_for_there_are_none(tmp_path: Path) -> None:
    board(tmp_path)
    table = leaderboard(Themed, tmp_path, statistics=FAST).tables[0]
    assert (table.strategies, table.strategy_notes) == ([], [])
    assert table.references["Shares"].nearest_strategies == {"draft_share_a": [], "draft_share_b": []}


def test_the_page_has_them_below_the_systems_and_says_what_the_spread_is(tmp_path: Path) -> None:
    found = Page(render_markdown(board(tmp_path), Themed))
    assert found.headings[1:6] == [
        "Systems",
        "Strategies over models",
        "Other metrics",
        "Recall by theme",
        "Shares",
    ]
    said = next(line for line in found.paragraphs if line.startswith("Mean ± sample standard deviation"))
    assert "**It is no interval**" in said
    systems, strategies, _, _, recall, shares, by_strategy = found.tables
    assert [line[:2] for line in strategies] == [
        ["Strategy", "Models"],
        ["thematic", "3"],
        ["zero-shot", "3"],
        ["recorded", "1"],
    ]
    assert strategies[0][2:] == ["Rows", "Edit-F1 ↑", "Calm ↑", "Right ↑", "Words to delete (words) ↓"]
    assert len(systems) == len(shares) - 1 == 8
    assert recall[1] == ["thematic", "0.50 ± 0.00", "–"]
    assert by_strategy[1] == ["people's replies", "0.50", "0.25"]
    assert by_strategy[2] == ["thematic", "**0.54 ± 0.12**", "**0.25 ± 0.00**"]
    assert by_strategy[4] == ["recorded", "0.00 ± –", "0.00 ± –"]
