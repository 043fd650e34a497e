"""Where the variation of a score comes from, end to end: several samples, several judges, with known variances."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
from dice_task import noise

Command = Callable[..., subprocess.CompletedProcess[str]]

MESSAGES = 60
SAMPLED = ("run", "-t", "dice", "-d", "data.jsonl", "-m", "dice:grey", "--temperature", "0.7")


@pytest.fixture
def dice(tmp_path: Path) -> Command:
    """Runs `pmbench ARGUMENTS` where a stranger's task and backend are installed."""
    here = Path(__file__).resolve().parent
    package = tmp_path / "site"
    information = package / "dice_of_strangers-1.0.dist-info"
    information.mkdir(parents=True)
    (package / "dice_task.py").write_text((here / "dice_task.py").read_text())
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: dice-of-strangers\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text(
        "[pmbench.tasks]\ndice = dice_task:DiceTask\n[pmbench.backends]\ndice = dice_task:Dice\n"
    )
    rows = [{"id": f"m{i}", "message": f"message {i}", "patient": f"p{i}"} for i in range(MESSAGES)]
    (tmp_path / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    def command(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        paths = os.pathsep.join(filter(None, [str(package), os.environ.get("PYTHONPATH", "")]))
        return subprocess.run(
            [sys.executable, "-m", "pmbench", *map(str, arguments)],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": paths, "COLUMNS": "160"},
            capture_output=True,
            text=True,
            timeout=300,
        )

    return command


def results(folder: Path) -> list[dict[str, Any]]:
    found = [json.loads(path.read_text()) for path in folder.glob("runs/dice/*/*/scores/*/results.json")]
    return sorted(found, key=lambda one: str(one["judges"]))


def answers(samples: int) -> np.ndarray:
    """What the dice say of each message, shape (n, K)."""
    said = [f"say message {i}" for i in range(MESSAGES)]
    return np.array(
        [[round(0.5 + 0.2 * noise(one) + 0.1 * noise(one, k), 6) for k in range(samples)] for one in said]
    )


def test_several_samples_are_split_and_told_in_words_everywhere(dice: Command, tmp_path: Path) -> None:
    done = dice(*SAMPLED, "--samples", "3")
    assert done.returncode == 0, done.stderr
    (found,) = results(tmp_path)
    split, table = found["variation"], answers(3)
    # One-way analysis of variance, written out.
    inside = table.var(axis=1, ddof=1).mean()
    between = table.mean(axis=1).var(ddof=1) - inside / 3
    assert (split["sample"], split["instance"]) == pytest.approx((inside, between), rel=1e-5)
    assert split["sample_share"] == pytest.approx(inside / (inside + between), rel=1e-5)
    assert split["sample_share_low"] < 0.2 < split["sample_share_high"]  # .1² of .2² + .1²
    errors = [np.sqrt((between + inside / k) / MESSAGES) for k in (1, 3, 6)]
    assert [split[name] for name in ("se_single", "se", "se_double")] == pytest.approx(errors, rel=1e-5)
    assert "cluster" not in split and split["instances"] == MESSAGES
    per = round(100 * split["sample_share"])
    told = f"Variation of one response's Grade: {100 - per}% between instances, {per}% (95% interval "
    digest = found["run"][:12]
    shown, page = dice("show", digest), dice("report", digest, "-o", "page.html")
    assert page.returncode == 0, page.stderr
    for text in (done.stdout, shown.stdout, (tmp_path / "page.html").read_text()):
        assert told in text.replace("&#39;", "'")
        assert f"is {errors[1]:.4f}; one sample of each instance would make it {errors[0]:.4f}," in text
        assert "take more instances, not more samples" in text
    record = dice("export", digest, "-o", "record")
    assert record.returncode == 0, record.stderr
    assert json.loads((tmp_path / "record/record.json").read_text())["results"]["variation"] == split


def test_one_sample_is_not_split(dice: Command, tmp_path: Path) -> None:
    done = dice(*SAMPLED)
    assert done.returncode == 0, done.stderr
    assert results(tmp_path)[0]["variation"] is None
    assert "ariation" not in done.stdout


def test_messages_of_one_patient_are_a_part_of_their_own(dice: Command, tmp_path: Path) -> None:
    rows = [{"id": f"m{i}", "message": f"message {i}", "patient": f"p{i % 12}"} for i in range(MESSAGES)]
    (tmp_path / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = dice(*SAMPLED, "--samples", "2")
    assert done.returncode == 0, done.stderr
    split = results(tmp_path)[0]["variation"]
    assert split["clusters"] == 12 and split["cluster"] is not None
    assert "between clusters" in done.stdout and "between instances of one cluster" in done.stdout


def test_judges_of_one_run_are_set_beside_each_other(dice: Command, tmp_path: Path) -> None:
    judges = ("-j", "grader=dice:+0.3", "-j", "grader=dice:-0.1", "-j", "grader=dice:rough")
    done = dice(*SAMPLED, "--samples", "2", *judges)
    assert done.returncode == 0, done.stderr
    digest = results(tmp_path)[0]["run"][:12]
    text = dice("show", digest).stdout
    own = answers(2)
    rough = own + np.array([[0.1 * noise(f"{one:.6f}") for one in row] for row in own])
    scores = np.stack([own + 0.3, own - 0.1, rough], axis=-1)
    # Variances of two-way analysis with samples inside instances, by its model's own least squares.
    by_instance, by_judge, crossed = scores.mean((1, 2)), scores.mean((0, 1)), scores.mean(1)
    n, samples, count = scores.shape
    left = crossed - by_instance[:, None] - by_judge + scores.mean()
    squares = {
        "judge": n * samples * ((by_judge - scores.mean()) ** 2).sum() / (count - 1),
        "crossed": samples * (left**2).sum() / ((n - 1) * (count - 1)),
    }
    judge = (squares["judge"] - squares["crossed"]) / (n * samples)
    assert judge == pytest.approx(np.var([0.3, -0.1, 0], ddof=1), rel=0.2)
    found = re.search(
        r"Grade by each: (.*?)\. Variation of one response's score: (.*?) \(60 instances, 2", text
    )
    assert found is not None, text
    assert sorted(map(float, found[1].split(", "))) == pytest.approx(sorted(by_judge), abs=6e-4)
    shares = [float(one) for one in re.findall(r"(\d+)%", found[2])]
    assert sum(shares) == pytest.approx(100, abs=3)
    total = judge / (shares[2] / 100)
    assert total == pytest.approx(scores.var(axis=(0, 1), ddof=1).mean() + judge, rel=0.05)
    assert "From 3 judges the part between judges is very uncertain" in text
    assert "Hits by each" in text and "Hits is a formula of sums" in text
    assert "Length is the same by all of them" in text


def test_scorings_that_differ_otherwise_are_named_and_not_mixed(dice: Command, tmp_path: Path) -> None:
    for judge in ("dice:+0.3", "dice:+0.3?scale=half", "dice:-0.1", "dice:picky"):
        done = dice(*SAMPLED, "-j", f"grader={judge}", "--max-missing", "0.01" if "picky" in judge else "1")
        assert done.returncode == ("picky" in judge), done.stderr
    digest = results(tmp_path)[0]["run"][:12]
    text = dice("show", digest).stdout
    assert "The same responses by 2 judges:" in text
    assert "made with other options of a judge's role" in text and "(it is incomplete)" in text
    assert "between samples" not in text and "With one sample of each instance" in text
    (damaged,) = [one for one in results(tmp_path) if one["judges"] == {"grader": "dice:+0.3"}]
    scores = next(tmp_path.glob(f"runs/dice/*/*/scores/{damaged['scoring'][:12]}/scores.jsonl"))
    scores.write_text("{broken\n" + scores.read_text())
    done = dice("show", digest)
    assert done.returncode == 0 and "Traceback" not in done.stderr
    assert "No two scorings differ in their judges alone. Not taken: " in done.stdout
