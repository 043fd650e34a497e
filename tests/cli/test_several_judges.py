"""Several judges over the same responses in one command, with the real embedded models."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.model, pytest.mark.usefixtures("models")]

RUN = ["run", "-t", "syppm-editf1", "-d", "demo", "-m", "replay:@draft", "-n", "1"]
JUDGES = ["-j", "theme=embedded", "-j", "theme=embedded?multi=true", "-j", "theme=smollm2-135m"]


def pmbench(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pmbench", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600)


def test_each_judge_has_a_folder_of_scores_and_nothing_is_asked_twice(tmp_path: Path) -> None:
    done = pmbench(tmp_path, *RUN, *JUDGES, "--json", "all.json")
    assert done.returncode == 0, done.stderr
    results: list[dict[str, Any]] = json.loads((tmp_path / "all.json").read_text())
    names = ["embedded", "embedded?multi=true", "smollm2-135m"]
    assert [one["judges"] for one in results] == [{"content": "embedded", "theme": name} for name in names]
    assert len({one["run"] for one in results}) == 1
    folders = list(tmp_path.glob("runs/syppm-editf1/*/*/scores/*/results.json"))
    assert len(folders) == len({one["scoring"] for one in results}) == 3
    # The content judge is the same, so its numbers are; each different sentence was asked about once.
    assert len({json.dumps(one["metrics"]["content_f1"]) for one in results}) == 1
    sentences = {
        part
        for entry in map(json.loads, next(tmp_path.glob("runs/**/scores.jsonl")).read_text().splitlines())
        for part in (
            *(reply["sentence"] for reply in entry["evidence"]["reply"]),
            *(
                entry["evidence"]["draft"][s["start"] : s["end"]]
                for s in entry["evidence"]["draft_sentences"]
            ),
        )
    }
    usage = results[2]["usage"]["judges"]
    assert len(sentences) <= usage["calls"] <= 2 * len(sentences)
    assert usage["prompt_tokens"] > 100 * usage["calls"] and usage["unpriced"] == usage["calls"]
    again = pmbench(tmp_path, *RUN, *JUDGES)
    assert again.stdout.count("requests made now: 0;") == 3
    board = pmbench(tmp_path, "leaderboard", "-t", "syppm-editf1", "-o", "-")
    assert board.stdout.count("Set apart from the other tables by:") == 3
    assert "theme=smollm2-135m" in board.stdout
