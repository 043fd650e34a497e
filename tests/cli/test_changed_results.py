"""A run whose scores are not those of its results: an export refuses it, a report and `show` say so."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
from odd_runs import Odd

SOUND = ["0.1", "0.4", "0.3", "0.9", "0.5", "0.2"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Odd:
    odd = Odd(tmp_path_factory.mktemp("odd"))
    assert odd.run("m", SOUND).returncode == 0
    assert odd.run("n", SOUND[::-1]).returncode == 0
    return odd


@pytest.fixture
def odd(made: Odd, tmp_path: Path) -> Odd:
    return made.copied(tmp_path)


def _results(change: Callable[[dict], object]) -> Callable[[Path], object]:
    def spoil(scoring: Path) -> None:
        path = scoring / "results.json"
        found = json.loads(path.read_text())
        change(found)
        path.write_text(json.dumps(found))

    return spoil


def _scores(old: str, new: str) -> Callable[[Path], object]:
    def spoil(scoring: Path) -> None:
        path = scoring / "scores.jsonl"
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new))

    return spoil


SPOILT: dict[str, tuple[Callable[[Path], object], str]] = {
    "a value": (_results(lambda one: one["metrics"]["val"].update(value=0.99)), "come to another val than"),
    "no statistics": (_scores('"stats":{"v":0.9,"w":1.0},', ""), "come to another val than"),
    "a huge number": (_scores('"v":0.9', '"v":1e308'), "'v' of the instance 'i3' is beyond 1e+100"),
    "no scores": (lambda at: (at / "scores.jsonl").unlink(), "of 6 scores and scores.jsonl holds 0"),
    "a count": (_results(lambda one: one["counts"].update(scored=-1)), "counts.scored is -1"),
    "other counts": (_results(lambda one: one["counts"].update(instances=10**6)), "do not go together"),
    "no settings": (lambda at: (at / "scoring.json").unlink(), "it has no scoring.json"),
}


@pytest.mark.parametrize("what", SPOILT)
def test_it_is_refused_or_said_first(odd: Odd, what: str) -> None:
    spoil, reason = SPOILT[what]
    spoil(odd.scoring("m"))
    run = odd.at("m")
    for words in (
        ("export", run, "-o", "record"),
        ("export", run, "-f", "lines", "-o", "lines"),
        ("compare", run, odd.at("n")),
    ):
        done = odd(*words)
        assert done.returncode == 2, done.stdout
        [complaint] = done.stderr.splitlines()
        assert complaint.startswith("Error: ") and reason in complaint
    assert not (odd.folder / "record").exists()
    shown = odd("show", run)
    assert shown.returncode == 1
    assert shown.stdout.startswith("Not to be trusted: ") and reason in shown.stdout.splitlines()[0]
    report = odd("report", run, "-o", "page.html")
    assert report.returncode == 1 and reason in report.stderr
    page = (odd.folder / "page.html").read_text().replace("&#39;", "'")
    assert "Not to be trusted: " in page and reason in page
    board = odd("leaderboard", "-t", "odd")
    assert board.returncode == 1 and reason in board.stdout


def test_an_impossible_count_is_damage_in_the_list_of_runs(odd: Odd) -> None:
    SPOILT["a count"][0](odd.scoring("m"))
    listed = odd("runs")
    assert listed.returncode == 1 and "damaged: results.json: counts.scored is -1" in listed.stdout


def test_a_run_that_is_sound_is_not_doubted(odd: Odd) -> None:
    shown = odd("show", odd.at("m"))
    assert shown.returncode == 0 and "trusted" not in shown.stdout
    report = odd("report", odd.at("m"), "-o", "-")
    assert report.returncode == 0 and "Not to be trusted" not in report.stdout


def test_a_run_that_has_gone_on_since_is_said_and_is_no_damage(odd: Odd) -> None:
    def fewer(one: dict) -> None:
        one["counts"].update(instances=3, samples=3, scored=3, responded=3)

    _results(fewer)(odd.scoring("m"))
    shown = odd("show", odd.at("m"))
    assert shown.returncode == 0
    assert "as after a smaller --limit" in shown.stdout.splitlines()[0]
