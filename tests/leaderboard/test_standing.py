"""Letters, ranks and chances say what the tests of the same table say, by each correction."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_runs import Made, Page, Toy, scores, write

from pmbench.cli.main import run
from pmbench.core.metric import Mean
from pmbench.leaderboard.board import leaderboard
from pmbench.leaderboard.json_page import render_json
from pmbench.leaderboard.markdown import render_markdown
from pmbench.leaderboard.reported import Reported
from pmbench.leaderboard.standing import standings
from pmbench.leaderboard.table import Table
from pmbench.leaderboard.tested import CORRECTIONS, PairTested, Resampling, Standing
from pmbench.running.columns import ScoreColumns
from pmbench.stats.many_systems import compare_all
from pmbench.stats.rank_intervals import ranks_from_differences

FAST = Resampling(resamples=300, permutations=2000)
UP, DOWN = Mean("x"), Mean("x", higher_is_better=False)
STEPS = [
    Made(model=f"m{seed}", seed=seed, skill=0.25 + seed / 8, instances=60, dataset=60, clusters=60)
    for seed in range(5)
]


def made_table(runs: Path, *made: Made, correction: str = "holm") -> Table:
    for one in made:
        write(runs, one)
    how = msgspec.structs.replace(FAST, correction=correction)
    [found] = leaderboard(Toy, runs, statistics=how).tables
    return found


def pairs_of(values: list[float], p: dict[tuple[int, int], float | None]) -> list[PairTested]:
    return [
        PairTested(a, b, values[b - 1] - values[a - 1], p.get((a, b), 1.0), p.get((a, b), 1.0), 9)
        for a, b in itertools.combinations(range(1, len(values) + 1), 2)
    ]


def test_a_worked_example() -> None:
    """A and B alike, C worse than A only, D worse than all: by hand."""
    found = standings(
        UP,
        [0.9, 0.8, 0.7, 0.2],
        pairs_of([0.9, 0.8, 0.7, 0.2], {(1, 3): 0.01, (1, 4): 0.01, (2, 4): 0.01, (3, 4): 0.05}),
        {0: 0.75, 1: 0.25, 2: 0.0},
        alpha=0.05,
    )
    assert [one.letters for one in found] == ["a", "ab", "b", "c"]
    assert [(one.rank, one.low, one.high) for one in found] == [(1, 1, 2), (2, 1, 3), (3, 2, 3), (4, 4, 4)]
    assert [one.best_text for one in found] == ["75%", "25%", "0%", "–"]
    assert (found[1].rank_text, found[1].places_text) == ("2", "[1, 3]")


def test_a_system_that_is_better_where_both_have_scored_stands_before() -> None:
    pairs = [PairTested(1, 2, 0.2, 0.001, 0.001, 5)]  # second minus first, though its own value is lower
    first, second = standings(UP, [0.9, 0.5], pairs, {}, alpha=0.05)
    assert (first.low, first.high, second.low, second.high) == (2, 2, 1, 1)
    assert (first.letters, second.letters) == ("a", "b")


def test_what_was_not_tested_has_no_letter_and_no_rank() -> None:
    pairs = pairs_of([0.9, 0.5, math.nan], {(1, 3): None, (2, 3): None})
    found = standings(UP, [0.9, 0.5, math.nan], pairs, {}, alpha=0.05)
    assert found[2] == Standing()
    assert found[0].high == found[1].high == 2


def test_of_a_metric_of_which_neither_end_is_better_there_are_letters_alone() -> None:
    found = standings(
        Mean("x", higher_is_better=None), [0.9, 0.5], pairs_of([0.9, 0.5], {}), {0: 1.0}, alpha=0.05
    )
    assert found == [Standing("a"), Standing("a")]


@given(st.data())
def test_letters_ranks_and_tests_say_the_same(data: st.DataObject) -> None:
    n = data.draw(st.integers(2, 7))
    down = data.draw(st.booleans())
    values = sorted(
        data.draw(st.lists(st.integers(0, 10**6), min_size=n, max_size=n, unique=True)), reverse=not down
    )
    p = {
        pair: data.draw(st.sampled_from([0.001, 0.2])) for pair in itertools.combinations(range(1, n + 1), 2)
    }
    pairs = pairs_of([float(value) for value in values], p)
    found = standings(DOWN if down else UP, [float(value) for value in values], pairs, {}, alpha=0.05)
    for pair in pairs:
        together = set(found[pair.first - 1].letters) & set(found[pair.second - 1].letters)
        assert bool(together) != (p[pair.first, pair.second] <= 0.05)
    wanted = ranks_from_differences(
        [float(value) for value in values],
        [(a - 1, b - 1) for (a, b), one in p.items() if one <= 0.05],
        not down,
    )
    assert [(one.rank, one.low, one.high) for one in found] == [
        (one.rank, one.low, one.high) for one in wanted
    ]


@pytest.mark.parametrize("correction", CORRECTIONS)
def test_the_table_has_what_the_statistics_of_many_systems_come_to(tmp_path: Path, correction: str) -> None:
    found = made_table(tmp_path, *STEPS, correction=correction)
    columns = [ScoreColumns(scores(STEPS[int(row.model[1:])])) for row in found.rows]
    rows = [one.rows(Toy.metrics[0]) for one in columns]
    assert all(one is not None for one in rows)
    wanted = compare_all(
        Toy.metrics[0],
        [one for one in rows if one is not None],
        correction=correction,  # type: ignore[arg-type]
        permutations=2000,
        resamples=300,
    )
    assert found.correction == wanted.correction == correction
    assert [row.standing.letters for row in found.rows] == wanted.letters
    assert len(set(wanted.letters)) > 1
    for row, rank in zip(found.rows, wanted.ranks, strict=True):
        assert (row.standing.rank, row.standing.low, row.standing.high) == (rank.rank, rank.low, rank.high)
        assert row.standing.best == pytest.approx(rank.best, abs=1e-12)
    adjusted = dict(zip(wanted.pairs, wanted.adjusted, strict=True))
    assert {(one.first - 1, one.second - 1): one.p_adjusted for one in found.pairs} == pytest.approx(adjusted)
    assert sum(row.standing.best or 0 for row in found.rows) == pytest.approx(1)


def test_the_chance_of_being_best_is_the_share_of_resamples_that_a_system_leads(tmp_path: Path) -> None:
    """Against a plain loop over resamples of its own."""
    pair = [skilled(STEPS[3], 0.50), skilled(STEPS[4], 0.52)]
    found = made_table(tmp_path, *pair)
    systems = {one.model: ScoreColumns(scores(one)).of(Toy.metrics[0]) for one in pair}
    generator = np.random.default_rng(1)
    leads = 0.0
    for _ in range(3000):
        drawn = generator.integers(0, 60, 60)
        values = [float(Toy.metrics[0].value(systems[row.model][drawn].sum(axis=0))) for row in found.rows]
        leads += 1.0 if values[0] > values[1] else 0.5 if values[0] == values[1] else 0.0
    assert found.rows[0].standing.best == pytest.approx(leads / 3000, abs=0.09)  # 300 draws: 0.03 each way


def skilled(made: Made, skill: float) -> Made:
    return Made(**{**vars(made), "skill": skill})


def test_max_t_gives_way_where_systems_have_scored_other_instances(tmp_path: Path) -> None:
    made = [*STEPS[:2], Made(**{**vars(STEPS[2]), "failed": frozenset({1})})]
    found = made_table(tmp_path, *made, correction="max-t")
    assert found.correction == "holm"
    assert any(
        "Holm's method in place of max-T, which needs systems that have scored" in one for one in found.notes
    )
    assert "Chances of being best are those on the 59 instances that all systems have scored." in found.notes
    assert found.common == 59


def test_max_t_gives_way_to_holm_with_few_clusters(tmp_path: Path) -> None:
    found = made_table(tmp_path, Made(), Made(model="b", skill=0.7), correction="max-t")
    assert found.correction == "holm"
    assert "Holm's method in place of max-T, which finds too little in 24 clusters." in found.notes


def test_systems_without_a_common_instance_have_no_chance_and_no_letters(tmp_path: Path) -> None:
    halves = [frozenset(range(12)), frozenset(range(12, 24))]
    made = [Made(model=name, missing=half, skill=0.5) for name, half in zip("ab", halves, strict=True)]
    found = made_table(tmp_path, *made)
    assert [row.standing for row in found.rows] == [Standing(), Standing()]
    assert "No instance was scored by all systems: there is no chance of being best." in found.notes


@pytest.mark.parametrize(("correction", "called"), CORRECTIONS.items())
def test_every_format_says_by_which_correction(
    tmp_path: Path, correction: str, called: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for one in STEPS:
        write(tmp_path, one)
    board = leaderboard(Toy, tmp_path, statistics=msgspec.structs.replace(FAST, correction=correction))
    text = render_markdown(board, Toy)
    assert f"p ({called})" in Page(text).tables[0][0]
    assert f"adjusted for all pairs of systems in the table ({called})" in text
    assert f"adjusted over all pairs of each table ({called})." in text
    read = json.loads(render_json(board, Reported()))
    assert read["statistics"]["correction"] == read["tables"][0]["correction"] == correction
    assert [set(row["standing"]) for row in read["tables"][0]["rows"]] == [
        {"letters", "rank", "low", "high", "best"}
    ] * 5
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "250")
        arguments = ["--runs", str(tmp_path), "--correction", correction, "--resamples", "300"]
        patch.setattr("pmbench.core.registry.load_task", lambda name: Toy)
        assert run(["leaderboard", "-t", "toy", *arguments]) == 0
        assert f"p ({called})" in capsys.readouterr().out
        assert run(["leaderboard", "-t", "toy", *arguments, "-f", "csv"]) == 0
        assert f"p_{correction.replace('-', '_')}" in capsys.readouterr().out.splitlines()[0].split(",")


def test_two_hundred_systems_have_letters(tmp_path: Path) -> None:
    """Letters of so many agree with their tests, and nothing takes long."""
    made = [
        Made(model=f"m{n}", seed=n, instances=12, dataset=12, clusters=12, skill=n / 200) for n in range(200)
    ]
    found = made_table(tmp_path, *made)
    for pair in found.pairs[::97]:
        one, other = (found.rows[number - 1].standing.letters for number in (pair.first, pair.second))
        assert bool(set(one) & set(other)) != pair.differs(0.05)
    assert found.words[1] == (
        "This table cannot show a difference, whatever the systems: no two systems differ in more than 12 instances,"
        " so that no p can be below 0.00049, and after adjustment for 19,900 pairs none below 1; it takes more data"
        " or fewer systems."
    )
