"""Names that are long or hold what is not seen: cut in a terminal, whole in files, and never steering anything."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from made_runs import Made, Toy, write

from pmbench.cli.main import run
from pmbench.leaderboard.board import leaderboard
from pmbench.leaderboard.csv_page import render_csv
from pmbench.leaderboard.json_page import render_json
from pmbench.leaderboard.markdown import render_markdown
from pmbench.leaderboard.reported import Reported
from pmbench.leaderboard.table import Leaderboard
from pmbench.leaderboard.tested import Resampling

FAST = Resampling(resamples=300, permutations=300)


def board(runs: Path, *made: Made) -> Leaderboard:
    for one in made:
        write(runs, one)
    return leaderboard(Toy, runs, statistics=FAST)


def test_a_long_name_is_cut_in_a_terminal_and_whole_in_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("pmbench.core.registry.load_task", lambda name: Toy)
    long = "n" * 150
    found = board(tmp_path, Made(model=long), Made(model="b", skill=0.9))
    assert run(["leaderboard", "-t", "toy", "--resamples", "200", "--runs", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert f"{'n' * 60}…" in text and "n" * 61 not in text.split("not in a table")[0]
    assert long in render_markdown(found, Toy) and long in render_csv(found, Reported())


def test_runs_are_listed_with_names_cut(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, Made(model="n" * 150))
    assert run(["runs", "--runs", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert f"{'n' * 60}…" in text and "n" * 61 not in text


STEERING = "a\u202eb\u2066c\u009bd\u200be"


def test_nothing_unseen_steers_the_reading_of_csv_and_json(tmp_path: Path) -> None:
    found = board(tmp_path, Made(model=STEERING), Made(model="b", skill=0.9))
    text, document = render_csv(found, Reported()), render_json(found, Reported())
    for character in STEERING[1::2]:
        assert character not in text and character not in document
    names = {line["system"] for line in csv.DictReader(io.StringIO(text))}
    assert names == {"b", r"a\u202eb\u2066c d\u200be"}
    assert r"\u009b" in document and r"\u202e" in document
    assert STEERING in {row["model"] for row in json.loads(document)["tables"][0]["rows"]}
