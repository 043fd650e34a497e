"""Files of labels: the form that is made, and what is refused in one line with its place."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from labelled_runs import COUNTS, drafted, filled, made_run, off_by_one, scores_of, written
from made_runs import SENTINEL

from pmbench.cli.main import run as command
from pmbench.running.folder import Appender
from pmbench.running.label_form import beginning_of, label_form
from pmbench.running.label_marks import KEY
from pmbench.running.labels import read_labels, shielded, unshielded
from pmbench.running.reading import read_run
from pmbench.running.records import ScoreRecord

Rows = list[dict[str, str]]


@pytest.fixture
def made(tmp_path: Path) -> Path:
    return made_run(tmp_path / "runs", drafted("one", 1))


def test_a_form_is_a_random_choice_in_random_order_without_text(made: Path) -> None:
    forms = [label_form(read_run(made.parent, str(made)), (), 40, seed).text for seed in (0, 0, 1)]
    assert forms[0] == forms[1] != forms[2]
    rows = list(csv.DictReader(io.StringIO(forms[0])))
    assert list(rows[0]) == ["run", "id", "sample", "response", *COUNTS]
    ids = [row["id"] for row in rows]
    assert len(set(ids)) == 40 and ids != sorted(ids) and {(one, 0) for one in ids} <= set(scores_of(made))
    assert all(not row[name] for row in rows for name in COUNTS)
    assert SENTINEL not in forms[0] and all(re.fullmatch("[a-z]{12}", row["response"]) for row in rows)
    assert made.name.rpartition("-")[2].startswith(rows[0]["run"][:12])


def test_every_response_is_as_likely_to_be_chosen(made: Path) -> None:
    run = read_run(made.parent, str(made))
    times: dict[str, int] = {}
    for seed in range(150):
        for row in csv.DictReader(io.StringIO(label_form(run, (), 40, seed).text)):
            times[row["id"]] = times.get(row["id"], 0) + 1
    # 50 times each are expected, with a standard deviation of 5.8.
    assert len(times) == 120 and 25 < min(times.values()) <= max(times.values()) < 75


def test_a_mark_tells_nothing_without_the_key_in_the_folder(made: Path, tmp_path: Path) -> None:
    copy = made_run(tmp_path / "elsewhere", drafted("one", 1))
    marks = [{row["id"]: row["response"] for row in filled(run)} for run in (made, copy)]
    assert marks[0].keys() == marks[1].keys() and not set(marks[0].values()) & set(marks[1].values())
    assert (made / KEY).stat().st_mode & 0o777 == 0o600


@given(st.text("0123456789abcdef", min_size=64, max_size=64))
def test_no_spreadsheet_takes_the_beginning_of_a_digest_for_a_number(digest: str) -> None:
    start = beginning_of(digest)
    assert digest.startswith(start) and len(start) >= 12
    if start != digest:
        with pytest.raises(ValueError):
            float(start)


@given(st.text("=+-@'a \uff1d", min_size=1, max_size=8))
def test_ids_come_back_as_they_were(name: str) -> None:
    assert unshielded(shielded(name)) == name
    assert not shielded(name).lstrip().startswith(("=", "+", "-", "@", "\uff1d"))


@pytest.mark.parametrize(("delimiter", "encoding"), [(",", "utf-8"), (";", "utf-8-sig"), ("\t", "utf-8-sig")])
def test_files_of_spreadsheets_are_read(made: Path, tmp_path: Path, delimiter: str, encoding: str) -> None:
    rows = filled(made)
    found = read_labels([written(tmp_path / "l.csv", rows, delimiter, encoding)])
    assert [label.id for label in found.filled] == [row["id"] for row in rows]
    assert found.filled[3].stats == {name: float(rows[3][name]) for name in COUNTS}


def changed(place: int, **cells: str) -> Callable[[Rows], None]:
    """Other cells in one row."""

    def change(rows: Rows) -> None:
        rows[place] |= cells

    return change


def each(change: Callable[[dict[str, str]], object]) -> Callable[[Rows], None]:
    """The same change in every row."""

    def of(rows: Rows) -> None:
        for row in rows:
            change(row)

    return of


def twice(rows: Rows) -> None:
    rows.append(dict(rows[4]))


def cut(rows: Rows) -> None:
    del rows[12:]


def one(rows: Rows) -> None:
    del rows[1:]


LONG = "Dear Mrs Sample your potassium is fine and you may go on with the tablets"

REFUSED: dict[str, tuple[Callable[[Rows], None], str]] = {
    "an unknown id": (
        changed(2, id="nobody"),
        r"row 3, column 'id': the run \w+ has no score of the id 'nobody'",
    ),
    "a text as id": (changed(2, id=LONG), r"no score of the id \(a long id\)"),
    "an unknown sample": (changed(2, sample="7"), r"row 3, column 'sample': .*sample 7 of 'm\d+'"),
    "no sample": (changed(2, sample="x"), r"row 3, column 'sample': no number of a sample"),
    "a run of nobody": (
        each(lambda row: row.update(run="0" * 12)),
        "the run that it has labels of is not in this leaderboard",
    ),
    "no digest": (changed(1, run="1.2E+15"), "row 2, column 'run': no beginning of a run's digest"),
    "a row twice": (twice, r"row 41: the response 'm\d+', sample 0, has a row already: row 5"),
    "a word": (changed(3, matches="many"), r"row 4, column 'matches': not a number"),
    "a text": (changed(3, matches=LONG), r"row 4, column 'matches': not a number"),
    "not a number": (changed(3, matches="nan"), "row 4, column 'matches': not a number"),
    "an infinity": (changed(3, matches="1e999"), "row 4, column 'matches': not a number"),
    "a comma": (changed(3, matches="0,5"), r"a number with a comma in it. Write decimals with a point"),
    "a negative count": (changed(3, additions="-1"), r"row 4, column 'additions': -1 is below 0"),
    "half a sentence": (
        changed(3, matches="2.5"),
        r"labels.csv, row 4, column 'matches': 2.5 cannot be: matches is counted in whole numbers",
    ),
    "another answer": (changed(5, response="bbbbbbbbbbbb"), r"row 6, column 'response': .*is not the one"),
    "no mark": (changed(5, response=""), r"row 6, column 'response': no mark of an answer"),
    "a column that is none": (
        each(lambda row: row.update(remark="")),
        r"the header: the column 'remark' is no statistic .*there are: matches",
    ),
    "a column too few": (each(lambda row: row.pop("response")), "the header: there is no column 'response'"),
    "a column of text": (
        each(lambda row: row.update(remark=LONG)),
        r"the header: the column 'remark' is no statistic .*there are: matches",
    ),
    "a number that no score may hold": (
        changed(3, matches="1e300"),
        r"row 4, column 'matches': 1e\+300 is too large by far .* matches may be 5000 at most",
    ),
    "the same in every row": (
        each(lambda row: row.update(deletions="1e155")),
        r"row 1, column 'deletions': 1e\+155 is too large by far",
    ),
    "a slip of many digits": (changed(3, matches="5001"), r"row 4, column 'matches': 5001 is too large"),
    "no statistic": (
        each(lambda row: [row.pop(name) for name in COUNTS]),
        "the header: there is no column of a statistic",
    ),
    "half a metric": (each(lambda row: row.pop("matches")), r"no metric can be made .* also needs matches"),
    "nothing": (
        each(lambda row: row.update(dict.fromkeys(COUNTS, " "))),
        "no statistic is filled in, in any of 40",
    ),
    "one": (one, "1 response in 1 cluster is too few to correct a judge by"),
    "too few": (
        cut,
        r"12 responses in \d+ clusters are too few to correct a judge by: it takes 20 responses in 15 clusters",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
@pytest.mark.parametrize("show", [False, True], ids=["leaderboard", "show"])
def test_what_does_not_fit_is_refused_in_one_line_with_its_place(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], what: str, show: bool
) -> None:
    change, message = REFUSED[what]
    rows = filled(made)
    change(rows)
    labels, runs = str(written(tmp_path / "labels.csv", rows)), str(tmp_path / "runs")
    asked = ["show", str(made)] if show else ["leaderboard", "-t", "syppm-editf1", "--resamples", "100"]
    assert command([*asked, "--runs", runs, "--labels", labels]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    if show and what == "a run of nobody":
        message = "it has no labels of the run"
    assert line.startswith("Error: ") and re.search(message, line), line
    assert "labels.csv" in line and "potassium" not in line


def test_an_answer_that_was_asked_for_anew_is_not_the_one_that_was_labelled(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    labels = written(tmp_path / "l.csv", filled(made))
    name = read_labels([labels]).filled[0].id
    (path,) = made.rglob("scores.jsonl")
    stats = dict(scores_of(made)[name, 0])
    cluster = f"c{int(name[1:]) % 90}"
    with Appender(path) as lines:
        lines.append(ScoreRecord(id=name, cluster=cluster, stats=stats, response="another12345"))
    asked = ["leaderboard", "-t", "syppm-editf1", "--runs", str(tmp_path / "runs"), "--labels", str(labels)]
    assert command([*asked, "--resamples", "100"]) == 2
    assert "is not the one that was labelled" in capsys.readouterr().err
    (made / KEY).unlink()
    assert command([*asked, "--resamples", "100"]) == 2
    assert "no form of labels was made from this copy" in capsys.readouterr().err


def test_a_run_without_a_judge_has_nothing_to_correct(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = made_run(tmp_path / "runs", drafted("one", 1, judges={}))
    assert command(["labels", str(run), "--runs", str(tmp_path / "runs"), "-o", "-"]) == 2
    assert "no judge has scored this run" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--sample", "10"), r"10 responses in \d+ clusters are too few"),
        (("--metric", "nothing"), "no metric called 'nothing'"),
    ],
)
def test_a_form_that_would_be_of_no_use_is_not_made(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], more: tuple[str, ...], message: str
) -> None:
    path = tmp_path / "l.csv"
    assert command(["labels", str(made), "--runs", str(tmp_path / "runs"), "-o", str(path), *more]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert re.search(message, line) and not path.exists()


def test_what_people_have_filled_in_is_not_written_over(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path / "l.csv", filled(made, off_by_one))
    before = path.read_bytes()
    assert command(["labels", str(made), "--runs", str(tmp_path / "runs"), "-o", str(path)]) == 2
    assert "there is such a file" in capsys.readouterr().err and path.read_bytes() == before
