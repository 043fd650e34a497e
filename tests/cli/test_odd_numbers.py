"""Numbers of a task that cannot be reported, or lie beyond its own limits: refused or said, with the instance."""

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
from odd_runs import Odd

SOUND = ["0.1", "0.4", "0.3", "0.9", "0.5", "0.2"]


@pytest.fixture
def odd(tmp_path: Path) -> Odd:
    return Odd(tmp_path)


def results(odd: Odd, name: str) -> dict:
    return json.loads((odd.scoring(name) / "results.json").read_text())


def test_a_score_that_is_no_number_names_its_instance_and_its_statistic(odd: Odd) -> None:
    done = odd.run("m", [*SOUND, "nan", "0.5 inf", "inf", *["nan"] * 5])
    assert done.returncode == 0 and done.stderr.count("Warning") == 0, done.stderr
    told = "not-finite: 'i6', 'i7', 'i8', 'i9', 'i10' and 3 more"
    assert "kinds: not-finite 8" in done.stdout
    assert told in done.stdout
    shown = odd("show", odd.at("m"))
    assert told in shown.stdout and shown.returncode == 0
    report = odd("report", odd.at("m"), "-o", "-")
    assert told in report.stdout.replace("&#39;", "'")
    for name, words in (("i6", "'v' is NaN"), ("i7", "'w' is infinite")):
        one = odd("show", odd.at("m"), "-i", name)
        assert f"No score: it is missing (not-finite: {words})." in one.stderr


@pytest.mark.parametrize("large", ["1e308", "-1e200", "1" + "0" * 400, "1e100 1e-300"])
def test_a_number_that_no_sum_can_bear_is_missing_under_a_name_of_its_own(odd: Odd, large: str) -> None:
    done = odd.run("m", [*SOUND, large, large])
    assert done.returncode == 0 and "Warning" not in done.stderr, done.stderr
    found = results(odd, "m")
    assert found["counts"]["failures"] == {"out-of-range": 2}
    assert found["unusable"] == {"out-of-range": ["i6", "i7"]}
    assert found["metrics"]["val"]["value"] == pytest.approx(0.4)
    assert "out-of-range: 'i6', 'i7'" in done.stdout
    one = odd("show", odd.at("m"), "-i", "i6")
    assert "beyond 1e+100" in one.stderr
    board = odd("leaderboard", "-t", "odd", "--max-missing", "1")
    assert board.returncode == 0 and "1  m" in board.stdout and "0.400" in board.stdout
    # What says which statistic it was stays here.
    assert odd("export", odd.at("m"), "-o", "record").returncode == 0
    record = (odd.folder / "record" / "record.json").read_text()
    assert json.loads(record)["results"].get("unusable", {}) == {}


def test_scores_that_an_earlier_version_kept_are_made_again(odd: Odd) -> None:
    odd.run("m", SOUND)
    path = odd.scoring("m") / "scores.jsonl"
    path.write_text(path.read_text().replace('"v":0.9', '"v":1e308'))
    board = odd("leaderboard", "-t", "odd")
    assert board.returncode == 1
    assert "'v' of the instance 'i3' is beyond 1e+100; give the run's command again" in board.stdout
    again = odd.run("m", SOUND)
    assert again.returncode == 0 and "Warning" not in again.stderr
    assert odd("leaderboard", "-t", "odd").returncode == 0


def test_a_value_beyond_the_metrics_own_limits_is_said_with_its_instances(odd: Odd) -> None:
    done = odd.run("m", [*SOUND, "5.0", "-0.5", "1.0", "0"])
    told = "val: the value goes beyond its own limits, 0 to 1, in 'i6', 'i7'"
    assert told in done.stdout
    assert results(odd, "m")["findings"] == [told]
    assert told in odd("show", odd.at("m")).stdout
    assert results(odd, "m")["metrics"]["val"]["value"] == pytest.approx((2.4 + 5.5) / 10)
