"""From a run to a judge-corrected value: a form, people's numbers, a table; nobody's text on the way."""

import csv
import json
import random
import re
from pathlib import Path

import pytest

DEMO = Path(__file__).parents[2] / "tasks/pmbench_tasks/drafting/demo/messages.jsonl"
COPIES = 3


def done(result) -> str:
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.fixture
def run(pmbench, tmp_path: Path) -> Path:
    """The demo's drafts, each three times under other names, scored by the judges that the task has."""
    rows = [json.loads(line) for line in DEMO.read_text().splitlines()]
    with (tmp_path / "data.jsonl").open("w") as file:
        for copy in range(COPIES):
            for row in rows:
                file.write(json.dumps(row | {"id": f"{row['id']}-{copy}"}) + "\n")
    done(pmbench("run", "-t", "syppm-editf1", "-d", "data.jsonl", "-m", "replay:@draft", "-q"))
    (path,) = (tmp_path / "runs").rglob("run.json")
    return path.parent


def test_from_a_run_to_a_judge_corrected_value(pmbench, run: Path, tmp_path: Path) -> None:
    digest = json.loads((run / "run.json").read_text())["digest"]
    told = done(pmbench("labels", digest[:12], "--sample", "40", "-o", "form.csv"))
    assert f"40 of {24 * COPIES} scored responses, drawn at random" in told
    assert "matches, deletions, additions" in told
    text = (tmp_path / "form.csv").read_text()
    answers = [json.loads(line)["text"] for line in (run / "responses.jsonl").read_text().splitlines()]
    assert not any(line and line in text for answer in answers for line in answer.splitlines())

    lines = [json.loads(line) for path in run.rglob("scores.jsonl") for line in path.read_text().splitlines()]
    judged = {line["id"]: line["stats"] for line in lines}
    rows = list(csv.DictReader(text.splitlines()))
    generator = random.Random(0)
    for row in rows[:-4]:  # whoever labels stops early
        for name in ("matches", "deletions", "additions"):
            row[name] = str(max(0, int(judged[row["id"]][name]) + generator.choice((0, 0, 0, 1))))
    with (tmp_path / "filled.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=";")
        writer.writeheader()
        writer.writerows(rows)

    asked = ("leaderboard", "-t", "syppm-editf1", "--labels", "filled.csv", "--resamples", "200")
    board = json.loads(done(pmbench(*asked, "-f", "json")))
    (row,) = board["tables"][0]["rows"]
    found = row["corrected"]["content_f1"]
    assert (found["labelled"], found["responses"]) == (36, 24 * COPIES)
    assert 0 <= found["low"] < found["value"] < found["high"] <= 1
    notes = "\n".join(board["tables"][0]["notes"])
    assert f"row 1, 36 of {24 * COPIES} responses" in notes and "4 rows of labels are not filled in." in notes

    shown = done(pmbench("show", digest[:12], "--labels", "filled.csv"))
    line = next(
        line for line in shown.splitlines() if line.startswith("Content edit-F1  ") and "of 72" in line
    )
    numbers = re.findall(r"(0\.\d{3}) \[0\.\d{3}, 0\.\d{3}\]", line)
    only, weight = found["labelled_only"], found["weight"]
    assert numbers[1:] == [f"{found['value']:.3f}", f"{only[0]:.3f}"] and f"{weight:.2f}" in line

    # Asked anew, the answers are others as far as anybody knows, and the labels are refused.
    responses = run / "responses.jsonl"
    changed = [json.loads(line) | {"text": "Please call us."} for line in responses.read_text().splitlines()]
    responses.write_text("".join(json.dumps(line) + "\n" for line in changed))
    done(pmbench("run", "-t", "syppm-editf1", "-d", "data.jsonl", "-m", "replay:@draft", "-q"))
    refused = pmbench(*asked)
    assert refused.returncode == 2 and "is not the one that was labelled" in refused.stderr


def test_metrics_by_another_scheme_are_not_corrected(pmbench) -> None:
    done(pmbench("run", "-t", "pmr-synth-inbox", "-d", "demo", "-s", "length", "-q"))
    digest = next(line.split()[0] for line in done(pmbench("runs")).splitlines() if " length " in line)
    refused = pmbench("labels", digest, "-o", "form.csv")
    assert refused.returncode == 2
    assert "is resampled by ranking, and labels correct metrics by cluster alone" in refused.stderr
    assert len(refused.stderr.splitlines()) == 1
