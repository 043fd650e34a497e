"""Judge-corrected values beside the judge's: the same numbers in every format, and what is said of them."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pytest
from labelled_runs import COUNTS, Stats, drafted, filled, made_run, scores_of, written
from made_runs import Page
from recorded_runs import FAST, SALT, record

from pmbench.cli.main import run as command
from pmbench.core.errors import UserError
from pmbench.core.metric import F1, Macro
from pmbench.leaderboard.board import leaderboard
from pmbench.leaderboard.csv_page import render_csv
from pmbench.leaderboard.html_page import render_html
from pmbench.leaderboard.json_page import render_json
from pmbench.leaderboard.latex import render_latex
from pmbench.leaderboard.markdown import render_markdown
from pmbench.leaderboard.reported import Reported
from pmbench.leaderboard.table import Leaderboard, SystemRow
from pmbench.running.labels import read_labels
from pmbench.stats.prediction_powered import prediction_powered_metric
from pmbench_tasks.drafting.task import SyPPM

F1_NAME, TITLE = "content_f1", "Content edit-F1, judge-corrected"


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    return tmp_path / "runs"


def board(runs: Path | None, *files: Path, records: Path | None = None, **more: object) -> Leaderboard:
    return leaderboard(
        SyPPM,
        runs,
        records=records,
        statistics=FAST,
        labels=read_labels(files),
        **more,  # type: ignore[arg-type]
    )


def systems(found: Leaderboard) -> dict[str, SystemRow]:
    return {row.model: row for row in found.tables[0].rows}


def notes(found: Leaderboard) -> str:
    return "\n".join(found.tables[0].notes)


def columns_of(stats: Stats) -> tuple[float, float]:
    """F1 of one reply and 1, as a mean per instance sums them."""
    twice = 2 * stats["matches"]
    return twice / (twice + stats["deletions"] + stats["additions"]), 1.0


def test_a_labelled_system_has_the_value_that_its_labels_give(runs: Path, tmp_path: Path) -> None:
    one, _ = made_run(runs, drafted("one", 1)), made_run(runs, drafted("two", 2))
    rows = filled(one)
    found = systems(board(runs, written(tmp_path / "l.csv", rows)))

    judged = scores_of(one)
    people = {row["id"]: {name: float(row[name]) for name in COUNTS} for row in rows}
    rest = [name for name, _ in judged if name not in people]

    def clusters(names: list[str]) -> list[str]:
        return [f"c{int(name[1:]) % 90}" for name in names]

    wanted = prediction_powered_metric(
        Macro(F1("a", "b", "c"), "m", limits=(0, 1)),
        [columns_of(stats) for stats in people.values()],
        [columns_of(judged[name, 0]) for name in people],
        [columns_of(judged[name, 0]) for name in rest],
        clusters(list(people)),
        clusters(rest),
    )
    got, shown = found["one"].corrected[F1_NAME], found["one"].measures[f"{F1_NAME}_corrected"]
    assert (got.value, got.low, got.high) == pytest.approx((wanted.value, wanted.low, wanted.high), rel=1e-9)
    assert got.weight == pytest.approx(wanted.weight, rel=1e-7)
    assert got.labelled_only == pytest.approx(wanted.labelled_only, rel=1e-9)
    assert (got.labelled, got.responses) == (40, 120)
    assert shown.text == f"{wanted.value:.3f} [{wanted.low:.3f}, {wanted.high:.3f}]"
    # Every metric that is made of the three counts has one; those of words, of which nobody was asked, have none.
    assert {"content_precision", "content_f1_micro", "content_recall_micro"} <= set(found["one"].corrected)
    assert not {name for name in found["one"].corrected if not name.startswith("content_")}
    assert found["two"].corrected == {} and found["two"].measures[f"{F1_NAME}_corrected"].text == "–"


def test_labels_move_nothing_that_is_the_judges(runs: Path, tmp_path: Path) -> None:
    paths = [made_run(runs, drafted(name, seed)) for seed, name in enumerate("abc")]
    labels = written(tmp_path / "l.csv", filled(paths[0], lambda place, stats: dict.fromkeys(COUNTS, 1.0)))
    with_labels, without = board(runs, labels), leaderboard(SyPPM, runs, statistics=FAST)
    assert with_labels.tables[0].pairs == without.tables[0].pairs
    assert with_labels.tables[0].words[1:] == without.tables[0].words[1:]
    for one, other in zip(with_labels.tables[0].rows, without.tables[0].rows, strict=True):
        assert one.standing == other.standing and one.against == other.against
        assert other.measures.items() <= one.measures.items()


def test_every_format_has_the_column_right_after_its_metric(runs: Path, tmp_path: Path) -> None:
    one, _ = made_run(runs, drafted("one", 1)), made_run(runs, drafted("two", 2))
    found = board(runs, written(tmp_path / "l.csv", filled(one)))
    text = systems(found)["one"].measures[f"{F1_NAME}_corrected"].text

    page = Page(render_markdown(found, SyPPM))
    head, *lines = page.tables[0]
    place = head.index(f"{TITLE} ↑")
    assert head[place - 1 : place + 2] == ["Content edit-F1 ↑", f"{TITLE} ↑", "Letters"]
    assert {line[1]: line[place] for line in lines} == {"one": text, "two": "–"}
    assert any("precision, judge-corrected" in title for table in page.tables[1:] for title in table[0])

    line = next(
        row for row in csv.DictReader(io.StringIO(render_csv(found, Reported()))) if row["system"] == "one"
    )
    names = list(line)
    assert names.index(f"{F1_NAME}_corrected") == names.index(f"{F1_NAME}_high") + 1
    assert float(line[f"{F1_NAME}_corrected_weight"]) == systems(found)["one"].corrected[F1_NAME].weight
    assert line[f"{F1_NAME}_corrected_labelled"] == "40"

    document = json.loads(render_json(found, Reported()))
    head_of = {head["name"]: head for head in document["metrics"]}
    assert head_of[f"{F1_NAME}_corrected"]["corrects"] == F1_NAME and head_of[F1_NAME]["corrects"] == ""
    row = next(row for row in document["tables"][0]["rows"] if row["model"] == "one")
    assert row["corrected"][F1_NAME]["value"] == row["measures"][f"{F1_NAME}_corrected"]["value"]

    latex = render_latex(found, Reported())
    own = latex.index("judge{-}corrected")
    assert latex.index("F1") < own < latex.index("Letters")
    assert systems(found)["one"].measures[f"{F1_NAME}_corrected"].number in latex
    html = render_html(found, SyPPM)
    cells = re.findall(r"<th[^>]*>(.*?)</th>", html, re.DOTALL)
    titles = [" ".join(re.sub("<[^>]*>", " ", cell).split()).split(" ↑")[0] for cell in cells]
    place = titles.index(TITLE)
    assert (
        titles[place - 2] == "Content edit-F1" and titles[place + 1] == "Letters"
    )  # between them the drawing
    assert text.split()[0] in html


def test_the_terminal_shows_it_and_says_what_it_rests_on(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "250")
    one, _ = made_run(runs, drafted("one", 1)), made_run(runs, drafted("two", 2))
    rows = filled(one)
    for row in rows[-5:]:
        row |= dict.fromkeys(COUNTS, "")
    rows[0]["deletions"] = ""
    labels = written(tmp_path / "l.csv", rows)
    asked = [
        "leaderboard",
        "-t",
        "syppm-editf1",
        "--runs",
        str(runs),
        "--labels",
        str(labels),
        "--resamples",
        "200",
    ]
    assert command(asked) == 0
    shown = capsys.readouterr().out
    assert "judge-corrected" in shown
    # Recall needs no deletions; F1 does.
    assert re.search(r"row \d, 34 of 120 responses \(λ [01]\.\d\d; .*\) and 35 of 120 responses", shown)
    for part in (
        "Letters, ranks, differences and p are from the judge's scores",
        "chosen at random; that they were is the word of those who labelled them",
        "5 rows of labels are not filled in.",
        "1 row is filled in only in part, and counts for the metrics that it suffices for",
        "has no labels, and a dash",
    ):
        assert part in shown
    assert command([*asked, "--columns", "content_f1,corrected,content_recall_corrected,p"]) == 0
    assert "recall, judge-corrected" in capsys.readouterr().out
    assert command([*asked[:5], "--columns", "corrected"]) == 2
    assert "--labels" in capsys.readouterr().err


def test_labels_that_are_the_judges_own_numbers_add_nothing_to_trust(runs: Path, tmp_path: Path) -> None:
    one = made_run(runs, drafted("one", 1))
    found = board(runs, written(tmp_path / "l.csv", filled(one, lambda place, stats: stats)))
    got = systems(found)["one"].corrected[F1_NAME]
    assert "agrees with people on every labelled row" in got.note and got.note in notes(found)
    assert (got.value, got.low, got.high) == got.labelled_only


def test_order_of_rows_and_files_changes_nothing(runs: Path, tmp_path: Path) -> None:
    one, two = made_run(runs, drafted("one", 1)), made_run(runs, drafted("two", 2))
    first, second = filled(one), filled(two)
    together = board(runs, written(tmp_path / "a.csv", first + second))
    apart = board(
        runs, written(tmp_path / "b.csv", second[::-1]), written(tmp_path / "c.csv", sorted(first, key=str))
    )
    for name in ("one", "two"):
        values = [systems(found)[name].corrected[F1_NAME] for found in (together, apart)]
        assert values[0].value == pytest.approx(values[1].value, rel=1e-12)
        assert values[0].low == pytest.approx(values[1].low, rel=1e-12)


def test_samples_of_an_instance_weigh_as_one(runs: Path, tmp_path: Path) -> None:
    """Two samples each: with all of them labelled the corrected value is people's mean over instances of means."""
    one = made_run(runs, drafted("one", 1, samples=2, instances=30, dataset=30, clusters=30))
    rows = filled(one, sample=60)
    got = systems(board(runs, written(tmp_path / "l.csv", rows)))["one"].corrected[F1_NAME]
    values = [columns_of({name: float(row[name]) for name in COUNTS})[0] for row in rows]
    assert (got.labelled, got.responses, got.clusters) == (60, 60, 30)
    assert got.value == pytest.approx(sum(values) / 60)
    assert "people have labelled all" in got.note


def test_other_runs_in_the_file_are_counted(runs: Path, tmp_path: Path) -> None:
    one, two = made_run(runs, drafted("one", 1)), made_run(runs, drafted("two", 2))
    labels = written(tmp_path / "l.csv", filled(one) + filled(two))
    digest = two.name.rpartition("-")[2]
    found = board(runs, labels, exclude=[digest])
    assert "Labels of 1 other run that are in no table here were not used." in notes(found)


def test_a_record_with_plain_ids_takes_labels_and_says_what_it_cannot_check(
    runs: Path, tmp_path: Path
) -> None:
    one = made_run(runs, drafted("one", 1))
    labels = written(tmp_path / "l.csv", filled(one))
    for name in ("records", "hashed"):
        (tmp_path / name).mkdir()
    record(one, tmp_path / "records" / "one")
    found = board(None, labels, records=tmp_path / "records")
    assert systems(found)["one"].corrected == systems(board(runs, labels))["one"].corrected
    assert "Row 1 is a record, without the answers: whether they are those that were labelled" in notes(found)
    record(one, tmp_path / "hashed" / "one", salt=SALT)
    with pytest.raises(UserError, match="has them hashed"):
        board(None, labels, records=tmp_path / "hashed")


def test_strategies_over_models_have_a_mean_of_what_is_labelled(runs: Path, tmp_path: Path) -> None:
    one, _ = made_run(runs, drafted("one", 1)), made_run(runs, drafted("two", 2))
    found = board(runs, written(tmp_path / "l.csv", filled(one)), aggregate="strategy")
    spread = found.tables[0].strategies[0].spreads[f"{F1_NAME}_corrected"]
    assert spread.mean == systems(found)["one"].corrected[F1_NAME].value and "(of 1)" in spread.text


def test_a_response_that_other_judges_could_not_score_is_left_out_for_them_alone(
    runs: Path, tmp_path: Path
) -> None:
    one = made_run(runs, drafted("one", 1))
    rows = filled(one)
    number = int(rows[0]["id"][1:])
    again = drafted("one", 1, judges={"content": "another"}, missing=frozenset({number}))
    assert made_run(runs, again) == one
    found = board(runs, written(tmp_path / "l.csv", rows))
    assert sorted(
        (row.corrected[F1_NAME].labelled, row.corrected[F1_NAME].responses)
        for table in found.tables
        for row in table.rows
    ) == [(39, 119), (40, 120)]
