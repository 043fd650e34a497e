"""What a page says beside its numbers, so that they are not taken for more than they are."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from made_runs import Made, Themed, Toy, scores, themed, write

from pmbench.cli.main import run
from pmbench.core.errors import UnknownName
from pmbench.core.metric import Mean, Metric
from pmbench.core.names import nearest_names
from pmbench.core.registry import load_task
from pmbench.leaderboard.board import leaderboard
from pmbench.leaderboard.groups import metric_heads, nearest
from pmbench.leaderboard.how import reading
from pmbench.leaderboard.html_page import render_html
from pmbench.leaderboard.json_page import render_json
from pmbench.leaderboard.latex import render_latex
from pmbench.leaderboard.markdown import render_markdown
from pmbench.leaderboard.reported import Reported, ReportedRow
from pmbench.leaderboard.several import several_tasks
from pmbench.leaderboard.table import Leaderboard, Table
from pmbench.leaderboard.tested import Resampling
from pmbench.running.columns import ScoreColumns
from pmbench.stats.power import power_of_pair

FAST = Resampling(resamples=300, permutations=300)


def board(runs: Path, *made: Made, task: type[Toy] = Toy, **options: object) -> Leaderboard:
    for one in made:
        write(runs, one, task)
    return leaderboard(task, runs, statistics=FAST, **options)  # type: ignore[arg-type]


def table(runs: Path, *made: Made, task: type[Toy] = Toy, **options: object) -> Table:
    [found] = board(runs, *made, task=task, **options).tables
    return found


def few(clusters: int, model: str, skill: float) -> Made:
    return Made(model=model, skill=skill, instances=clusters, dataset=clusters, clusters=clusters)


Printed = Callable[..., tuple[int, str, str]]


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Printed:
    """What the command prints of runs of `Toy`: its status, output and errors."""
    monkeypatch.setenv("COLUMNS", "250")
    monkeypatch.setattr("pmbench.core.registry.load_task", lambda name: Toy)

    def command(*arguments: object) -> tuple[int, str, str]:
        status = run(["leaderboard", "-t", "toy", "--resamples", "200", *map(str, arguments)])
        told = capsys.readouterr()
        return status, told.out, told.err

    return command


# --- chances of being best, overlap, ranks


def test_of_few_clusters_no_chance_of_being_best_is_told(tmp_path: Path) -> None:
    small = table(tmp_path / "small", few(9, "a", 0.9), few(9, "b", 0.5))
    assert [row.standing.best for row in small.rows] == [None, None]
    assert (
        "No chance of being best is told of 9 clusters: with fewer than 10 a single one may decide it."
        in small.notes
    )
    large = table(tmp_path / "large", few(10, "a", 0.9), few(10, "b", 0.5))
    assert all(row.standing.best is not None for row in large.rows)
    assert not any("No chance" in note for note in large.notes)


def test_a_chance_beside_systems_that_are_alike_is_said_to_be_no_proof(tmp_path: Path) -> None:
    alike = table(tmp_path / "alike", Made(model="a", skill=0.5), Made(model="b", skill=0.52, seed=1))
    best = max(alike.rows, key=lambda row: row.standing.best or 0)
    other = 3 - best.number
    told = f"row {best.number} has {best.standing.best_text}, and cannot be told apart from row {other}."
    assert f"A chance of being best is no proof: {told}" in alike.notes
    apart = table(tmp_path / "apart", Made(model="a", skill=0.9), Made(model="b", skill=0.1))
    assert not any("no proof" in note for note in apart.notes)


@pytest.mark.parametrize("clusters", [24, 60])
def test_how_to_read_it_says_what_is_drawn_what_overlap_means_and_who_ranks(
    tmp_path: Path, clusters: int
) -> None:
    words = "\n".join(reading(board(tmp_path, few(clusters, "a", 0.9), few(clusters, "b", 0.3))))
    # Below 50 clusters nothing is drawn for the intervals.
    assert "drawn again as for the intervals" not in words
    assert (
        "data sets a system leads this table (the clusters of these data drawn again, the same for all"
        in words
    )
    assert "It is no proof" in words and "With fewer than 10 clusters it is not told." in words
    assert "the intervals of two systems may overlap although the two differ" in words
    assert "overlap widely" not in words and "beyond doubt" not in words
    assert "behind those that the tests find better, before those that they find worse" in words


# --- marks


def test_what_all_come_as_near_to_has_no_mark() -> None:
    assert nearest({"a": 0.5, "b": 0.5}) == []
    assert nearest({"a": 0.5, "b": 0.5, "c": 0.6}) == ["a", "b"]
    assert nearest({"a": 0.5, "b": None}) == nearest({"a": 0.5}) == nearest({}) == []


def test_no_star_where_every_system_is_equal(tmp_path: Path) -> None:
    made = [Made(model="a", skill=0.8, more=themed(0, 3)), Made(model="b", skill=0.3, more=themed(0, 6))]
    found = table(tmp_path, *made, task=Themed).references["Shares"]
    assert found.nearest == {"draft_share_a": [], "draft_share_b": [2]}


# --- the paper's rows

PAPER = Reported(
    [
        ReportedRow("another clinician", "", "Table 3", {"f1": "0.24"}),
        ReportedRow("GPT", "0-shot", "Table 3", {"f1": "0.26"}),
        ReportedRow("another clinician", "", "Table 4", {"f1": "0.24"}),
        ReportedRow("GPT", "0-shot", "Table 4", {"f1": "0.27"}),
    ],
    source="A paper",
)


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("demo", "of the paper's data and not of these demo data, by other judges"),
        ("file", "of the paper's data and not of these (unless these are the paper's)"),
        ("hub", "by other judges and perhaps of another version of the data"),
    ],
)
def test_the_papers_rows_say_whose_data_they_are_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, told: str
) -> None:
    monkeypatch.setattr("pmbench.leaderboard.html_page.reported", lambda task: PAPER)
    found = board(tmp_path, Made(kind=kind), Made(model="b", skill=0.7, kind=kind))
    page = render_html(found, Toy).replace("&#39;", "'")
    text = render_latex(found, PAPER).replace(r"\textquotesingle{}", "'")
    for one in (page, text):
        assert told in one
        assert ("no system above is better or worse than these" in one) == (kind == "demo")


def test_each_row_of_the_paper_stands_once_under_the_first_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pmbench.leaderboard.html_page.reported", lambda task: PAPER)
    found = board(tmp_path, Made(), Made(model="b"), Made(judges={"content": "another"}))
    assert len(found.tables) == 2
    page, text = render_html(found, Toy), render_latex(found, PAPER)
    papers = re.findall(r'<tbody class="papers">.*?</tbody>', page, re.DOTALL)
    assert len(papers) == 1 and papers[0].count("another clinician</bdi>") == 1
    assert "Table 3, Table 4" in papers[0]
    assert papers[0].count("<bdi>GPT</bdi>") == 2  # other numbers: both stand, each with its table
    assert text.count("another clinician") == 1 and "another clinician (Table 3, Table 4)" in text
    assert (text.count("GPT (Table 3)"), text.count("GPT (Table 4)")) == (1, 1)


# --- why there is no interval


def one_theme(index: int) -> dict[str, float]:
    """As `themed`, with sentences of alpha in one instance alone and of beta in none."""
    return {**themed(3, 6)(index), "found_a": 0.0, "all_a": float(index == 0)}


def test_whatever_has_no_interval_has_a_reason_in_json_and_under_its_table(tmp_path: Path) -> None:
    found = board(tmp_path, Made(more=one_theme), Made(model="b", skill=0.8, more=one_theme), task=Themed)
    read = json.loads(render_json(found, Reported()))
    for line in read["tables"][0]["rows"]:
        for measure in line["measures"].values():
            assert (measure["low"] is None) <= bool(measure["note"])
    reasons = (
        "Rows 1 and 2, Alpha: no interval, for only one cluster has anything that counts for it.",
        "Rows 1 and 2, Beta: no value, for nothing that was scored counts for it.",
    )
    for page in (render_markdown(found, Themed), render_html(found, Themed)):
        for reason in reasons:
            under = page[: page.index(reason)]
            assert page.count(reason) == 1 and "Recall by theme" in under
            assert page.index(reason) < page.rindex("Shares")


def test_a_number_that_hangs_on_one_cluster_says_so(tmp_path: Path) -> None:
    def two(index: int) -> dict[str, float]:
        return {
            **themed(3, 6)(index),
            "found_a": float(index == 0),
            "all_a": (2.0 if index else 3.0) * (index < 2),
        }

    measure = table(tmp_path, Made(more=two), task=Themed).rows[0].measures["recall_a"]
    assert (measure.low is None) == bool(measure.note)


# --- words of the terminal


def test_the_terminal_explains_its_words_and_only_those_that_it_shows(
    tmp_path: Path, printed: Printed
) -> None:
    board(tmp_path, Made(skill=0.2), Made(model="b", skill=0.9))
    _, text, _ = printed("--runs", tmp_path)
    for word in (
        "letters: ",
        "places: ",
        "best in: ",
        "minus the best: ",
        "p: ",
        "cluster: ",
        "lost or odd: ",
    ):
        assert text.count(f"{word}") == 1, word
    assert "micro: " not in text
    _, text, _ = printed("--runs", tmp_path, "--columns", "f1,rank,lost")
    assert (
        "places: " in text and "lost or odd: " in text and "letters: " not in text and "best in: " not in text
    )


def test_chosen_columns_are_headed_as_the_others_are(tmp_path: Path, printed: Printed) -> None:
    board(tmp_path, Made(skill=0.2), Made(model="b", skill=0.9))
    chosen = "f1,letters,rank,best,difference,p,scored,lost"
    heads = [
        next(line for line in printed("--runs", tmp_path, *more)[1].splitlines() if "strategy" in line)
        for more in ((), ("--columns", chosen))
    ]
    assert re.split(r"\s{2,}", heads[0].strip()) == re.split(r"\s{2,}", heads[1].strip())
    assert "best in" in heads[0] and "Edit-F1 [95% interval]" in heads[0]


def test_few_clusters_are_said_with_the_size_that_they_can_show(tmp_path: Path) -> None:
    made = [
        Made(model="a", skill=0.8),
        Made(model="b", skill=0.5, seed=1),
        Made(model="c", skill=0.2, seed=2),
    ]
    found = table(tmp_path, *made)
    by_model = {one.model: ScoreColumns(scores(one)) for one in made}
    one, two = (by_model[row.model].rows(Toy.metrics[0]) for row in found.rows[:2])
    assert one is not None and two is not None and list(one.ids) == list(two.ids)
    wanted = power_of_pair(Toy.metrics[0], one.columns, two.columns, one.clusters).detectable
    assert found.detectable == pytest.approx(wanted)
    assert (
        f"Only 24 clusters: small differences cannot be shown; of rows 1 and 2, tested alone, a difference of"
        f" {wanted:.3f} in Edit-F1 would be found in 8 of 10 such data sets, a smaller one more rarely."
    ) in found.notes


def test_a_size_that_cannot_be_known_is_left_out(tmp_path: Path) -> None:
    found = table(tmp_path, Made(model="a"), Made(model="b"))  # the same scores
    assert found.detectable is None
    assert "Only 24 clusters: small differences cannot be shown." in found.notes


def test_systems_with_the_same_scores_are_said_to_have_them(tmp_path: Path) -> None:
    found = table(
        tmp_path, Made(model="a", skill=0.8), Made(model="b", skill=0.8), Made(model="c", skill=0.1)
    )
    assert not any("0 clusters" in note for note in found.notes)
    told = "Row 2 has the same scores as row 1 in every cluster: there is nothing to test."
    assert told in found.notes


def test_a_terminal_says_that_there_is_nothing_to_show(tmp_path: Path, printed: Printed) -> None:
    board(tmp_path, Made(failed=frozenset(range(24))))
    _, text, _ = printed("--runs", tmp_path, "--include-incomplete")
    assert text.startswith("No run can be shown yet.\n") and "it has no score" in text


def test_a_unit_of_a_hundred_stands_over_the_column(tmp_path: Path) -> None:
    archehr = load_task("archehr-qa")
    found = {head.name: head.heading for head in metric_heads(archehr.metrics)}
    assert found["strict_micro_f1"] == "Strict micro F1 (of 100)"

    class Share(Mean):
        scale = "of 100"

    class Scored(Toy):
        name = "scored"
        metrics: tuple[Metric, ...] = (Share("words", title="Score", digits=1), *Toy.metrics[:1])

    for task in (Scored, Toy):
        for model in "ab":
            write(tmp_path, Made(model=model), task)
    several = several_tasks([Scored, Toy], tmp_path, statistics=FAST)
    assert [head.heading for head in several.tasks] == ["scored: Score (of 100) ↑", "toy: Edit-F1 ↑"]
    text = render_markdown(leaderboard(Scored, tmp_path, statistics=FAST), Scored)
    assert "Score (of 100)&nbsp;↑" in text


# --- what is refused


def test_chosen_columns_and_strategies_are_not_asked_for_together(tmp_path: Path, printed: Printed) -> None:
    board(tmp_path, Made())
    status, out, err = printed("--runs", tmp_path, "--columns", "f1", "--aggregate", "strategy")
    assert (
        (status, out) == (2, "")
        and "--columns with --aggregate: " in err
        and "Leave one of the two out" in err
    )


@pytest.mark.parametrize("command", ["leaderboard", "compare"])
def test_resamples_have_an_end_and_are_whole_numbers(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ["-t", "syppm-editf1"] if command == "leaderboard" else ["a", "b"]
    for given, told in (("1000000000", "100<=x<=1000000"), ("1e9", "'1e9' is not a valid whole number")):
        assert run([command, *where, "--resamples", given]) == 2
        assert told in capsys.readouterr().err


def test_a_suggestion_is_made_only_where_one_is_near() -> None:
    known = ["notes-checklist", "syppm-editf1", "archehr-qa"]
    assert nearest_names("nosuch", known) == []
    assert "Did you mean" not in str(UnknownName("task", "nosuch", known))
    assert nearest_names("sypmm", known) == ["syppm-editf1"]  # like the beginning of one
    assert nearest_names("archer-qa", known) == ["archehr-qa"]


# --- incomplete runs

PART = Made(model="part", skill=1.0, pending=23)


def test_a_run_with_little_scored_is_never_what_others_are_compared_with(tmp_path: Path) -> None:
    made = [PART, Made(model="good", skill=0.8, seed=1), Made(model="poor", skill=0.1, seed=2)]
    whole = table(tmp_path / "whole", *made[1:])
    found = table(tmp_path / "all", *made, include_incomplete=True)
    assert [row.model for row in found.rows] == ["good", "poor", "part"]
    good, poor, part = found.rows
    assert (part.measures["f1"].value or 0) > (good.measures["f1"].value or 0)
    assert good.against is None and poor.against is not None
    assert poor.against.difference == pytest.approx((whole.rows[1].against or poor.against).difference)
    assert [row.standing.rank_text for row in found.rows] == ["1", "2", "–"]
    assert part.standing.low is None and part.standing.best is None
    assert [row.standing.best for row in found.rows[:2]] == [row.standing.best for row in whole.rows]
    assert found.common == 24
    assert (
        "Row 3 has scored too little to be the best: it stands below the others without a rank, and differences are"
        " from the best of the others."
    ) in found.notes
    page = render_html(board(tmp_path / "all", include_incomplete=True), Toy)
    assert ' aria-sort="descending">' not in page  # the rows are not in the order of that column


def test_where_no_run_is_whole_the_table_says_that_it_rests_on_little(tmp_path: Path) -> None:
    made = [PART, Made(model="b", pending=23, skill=0.2, seed=1)]
    for one in made:
        write(tmp_path, one)
    for found in leaderboard(Toy, tmp_path, statistics=FAST, include_incomplete=True).tables:
        if len(found.rows) == 2:
            assert any("No system here has scored enough" in note for note in found.notes)
            break
    else:
        raise AssertionError("the two stand in no table together")
