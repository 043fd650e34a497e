"""Labels of two systems: what the headline rests on, their judge-corrected difference, slips that are told."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from labelled_runs import Stats, drafted, filled, made_run, scores_of, written
from recorded_runs import FAST

from pmbench.cli.main import run as command
from pmbench.leaderboard.board import leaderboard
from pmbench.leaderboard.table import Table
from pmbench.running.labels import read_labels
from pmbench.stats.prediction_powered import prediction_powered_difference
from pmbench_tasks.drafting.metrics import METRICS
from pmbench_tasks.drafting.task import SyPPM

Row = dict[str, str]


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    return tmp_path / "runs"


def table(runs: Path, *files: Path) -> Table:
    return leaderboard(SyPPM, runs, statistics=FAST, labels=read_labels(files)).tables[0]


def note(found: Table, part: str) -> str:
    (line,) = [line for line in found.notes if part in line]
    return line


def better(place: int, stats: Stats) -> Stats:
    return {"matches": stats["matches"] + 1 + place % 3, "deletions": 1.0, "additions": stats["additions"]}


def as_judged(place: int, stats: Stats) -> Stats:
    return {**stats, "deletions": stats["deletions"] + place % 2}


def test_forms_of_one_seed_hold_the_same_instances(runs: Path) -> None:
    one, two = made_run(runs, drafted("one", 1)), made_run(runs, drafted("two", 2, missing=frozenset({3})))
    forms = [[row["id"] for row in filled(run, sample=60)] for run in (one, two)]
    assert [name for name in forms[0] if name != "m3"][:59] == forms[1][:59]
    assert "m3" not in forms[1]


def test_two_labelled_systems_have_a_difference_from_what_is_labelled_for_both(
    runs: Path, tmp_path: Path
) -> None:
    one, two = made_run(runs, drafted("one", 1)), made_run(runs, drafted("two", 2))
    first, second = filled(one, better), filled(two, as_judged)[5:]
    found = table(runs, written(tmp_path / "l.csv", first + second))
    line = note(found, "Judge-corrected, ")
    assert "from 35 responses labelled for both of 120" in line

    people = [{row["id"]: row for row in rows} for rows in (first, second)]
    judged = [scores_of(run) for run in (one, two)]
    ids = sorted(name for name, _ in judged[0])
    both = [name for name in ids if all(name in rows for rows in people)]
    rest = [name for name in ids if name not in both]

    def columns(of: list[Stats]) -> list[tuple[float, float]]:
        twice = [2 * float(stats["matches"]) for stats in of]
        return [
            (top / (top + float(stats["deletions"]) + float(stats["additions"])), 1.0)
            for top, stats in zip(twice, of, strict=True)
        ]

    wanted = prediction_powered_difference(
        METRICS[0],
        tuple(columns([rows[name] for name in both]) for rows in people),
        tuple(columns([stats[name, 0] for name in both]) for stats in judged),
        tuple(columns([stats[name, 0] for name in rest]) for stats in judged),
        [f"c{int(name[1:]) % 90}" for name in both],
        [f"c{int(name[1:]) % 90}" for name in rest],
    )
    ahead = 1 if found.rows[0].model == "one" else -1
    value, *ends = (ahead * number for number in (wanted.value, wanted.low, wanted.high))
    low, high = sorted(ends)
    names = " − ".join(row.model for row in found.rows)
    assert f"{names} (row 1 − row 2) in Content edit-F1 is {value:+.3f} [{low:+.3f}, {high:+.3f}]" in line
    assert ("stays open" in line) == (low <= 0 <= high)


def test_too_few_in_common_have_no_difference_and_a_note_says_why(runs: Path, tmp_path: Path) -> None:
    one, two = made_run(runs, drafted("one", 1)), made_run(runs, drafted("two", 2))
    labels = written(tmp_path / "l.csv", filled(one) + filled(two, seed=5))
    line = note(table(runs, labels), "no judge-corrected difference")
    assert re.search(r"\d+ responses labelled for both, in \d+ clusters, are too few .*one --seed", line)


def test_a_system_of_two_that_is_labelled_alone_has_no_difference(runs: Path, tmp_path: Path) -> None:
    one, _ = made_run(runs, drafted("one", 1)), made_run(runs, drafted("two", 2))
    found = table(runs, written(tmp_path / "l.csv", filled(one)))
    assert not any("difference" in line and "orrected" in line.split("difference")[0] for line in found.notes)


def test_the_headline_says_that_it_is_the_judges(runs: Path, tmp_path: Path) -> None:
    one, _ = made_run(runs, drafted("one", 1)), made_run(runs, drafted("two", 2))
    without = leaderboard(SyPPM, runs, statistics=FAST).tables[0]
    found = table(runs, written(tmp_path / "l.csv", filled(one)))
    assert found.words[0] == f"By the judge, {without.words[0]}"
    assert "sentence on which system is better" in note(found, "Letters, ranks")
    for model in "cdef":
        made_run(runs, drafted(model, 1 + ord(model)))
    assert not table(runs, tmp_path / "l.csv").words[0].startswith("By the judge, None")


SLIPS: dict[str, tuple[Row, str]] = {
    "a typo": ({"matches": "40"}, r"row 7: matches is 40, and 5 at most by the judge, matches \+ additions is \d+"),
    "another total": (
        {"matches": "9", "additions": "9"},
        r"row 7: matches \+ additions is 18, the reply has \d+ sentences by the program's count",
    ),
    "usable with edits": ({"usable": "1", "deletions": "2"}, r"row 7: usable is 1, and \w+ [1-9]"),
    "unusable without edits": (
        {"usable": "0", "additions": "0", "deletions": "0"},
        r"row 7: .*usable is 0, and additions and deletions are 0",
    ),
}  # fmt: skip


def with_usable(index: int) -> Stats:
    counts = {"matches": 1 + index % 5, "deletions": index % 3, "additions": index % 4}
    return {name: float(count) for name, count in counts.items()} | {"usable": float(index % 12 == 0)}


@pytest.mark.parametrize("what", SLIPS)
def test_what_looks_like_a_slip_is_told_with_its_row(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], what: str
) -> None:
    cells, message = SLIPS[what]
    one = made_run(runs, drafted("one", 1, more=with_usable))
    metrics = ("content_f1", "usable_share")
    rows = filled(one, lambda place, stats: stats, metrics=metrics)
    for row in rows[:3]:
        row["deletions"] = str(int(row["deletions"]) + 1) if row["usable"] == "0" else row["deletions"]
    assert not [line for line in table(runs, written(tmp_path / "clean.csv", rows)).notes if "slip" in line]
    rows[6] |= cells
    labels = written(tmp_path / "l.csv", rows)
    line = note(table(runs, labels), "1 row of labels looks like a slip")
    assert re.search(message, line), line
    assert command(["show", str(one), "--runs", str(runs), "--labels", str(labels)]) == 0
    assert line.rstrip(".") in " ".join(capsys.readouterr().out.split())


def test_of_many_slips_five_are_told(runs: Path, tmp_path: Path) -> None:
    one = made_run(runs, drafted("one", 1))
    rows = filled(one, lambda place, stats: {**stats, "matches": stats["matches"] + 20 * (place < 8)})
    line = note(table(runs, written(tmp_path / "l.csv", rows)), "8 rows of labels look like slips")
    assert line.count("row ") == 5 and "and 3 more" in line


def test_where_the_judge_was_never_wrong_no_weight_is_shown(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "250")
    one = made_run(runs, drafted("one", 1))

    def off_in_deletions(place: int, stats: Stats) -> Stats:
        return {**stats, "deletions": stats["deletions"] + place % 2}

    labels = written(tmp_path / "l.csv", filled(one, off_in_deletions))
    assert command(["show", str(one), "--runs", str(runs), "--labels", str(labels)]) == 0
    lines = capsys.readouterr().out.splitlines()
    shown = {
        line.split("  ")[0]: re.search(r"(–|\d\.\d\d) +40 of 120", line)[1]  # type: ignore[index]
        for line in lines
        if "40 of 120" in line
    }
    assert shown["Content recall"] == shown["Content recall (micro)"] == "–"
    assert re.fullmatch(r"0\.\d\d|1\.00", shown["Content precision"])
    (told,) = [line for line in lines if "agrees with people on every labelled row" in line]
    assert told.startswith("- Content recall and Content recall (micro): ")


def test_two_people_may_have_labelled_other_metrics_of_two_systems(runs: Path, tmp_path: Path) -> None:
    one, two = made_run(runs, drafted("one", 1)), made_run(runs, drafted("two", 2))
    recall = [{name: cell for name, cell in row.items() if name != "deletions"} for row in filled(two)]
    found = table(runs, written(tmp_path / "one.csv", filled(one)), written(tmp_path / "two.csv", recall))
    has = {
        row.model: {name for name, value in row.corrected.items() if value.value is not None}
        for row in found.rows
    }
    assert "content_f1" in has["one"] and has["two"] == {"content_recall", "content_recall_micro"}
    assert not any("only in part" in line for line in found.notes)


def test_one_response_labelled_for_both_is_too_few(runs: Path, tmp_path: Path) -> None:
    one, two = made_run(runs, drafted("one", 1)), made_run(runs, drafted("two", 2))
    first, second = filled(one, better), filled(two, as_judged, sample=70)
    found = table(runs, written(tmp_path / "l.csv", first + second[39:]))
    assert "1 response labelled for both, in 1 cluster, is too few" in note(found, "have no judge-corrected")


def test_two_corrected_metrics_are_both(runs: Path, tmp_path: Path) -> None:
    rows = filled(made_run(runs, drafted("one", 1)), better, metrics=["content_recall_micro"])
    found = table(runs, written(tmp_path / "l.csv", rows))
    assert "for both metrics)" in note(found, "rest on people's labels")
