"""`pmbench export RUN -o record/`: a hospital sees what it would publish, and none of it is text."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

DEMOS = Path(__file__).parents[2] / "tasks/pmbench_tasks"
ARCHEHR = DEMOS / "archehr/demo/submission.json"
SALT = {"PMBENCH_SALT": "no salt that anybody guesses"}


def done(result) -> str:
    assert result.returncode == 0, result.stderr
    return result.stdout


def ranked(pmbench, strategy: str = "length") -> str:
    """The digest of a run that asks no model."""
    done(pmbench("run", "-t", "pmr-synth-inbox", "-d", "demo", "-s", strategy, "-q"))
    listed = done(pmbench("runs")).splitlines()
    return next(line.split()[0] for line in listed if f" {strategy} " in line)


def answered(pmbench, *more: str) -> str:
    done(pmbench("score", "-t", "archehr-qa", "-d", "demo", "-r", str(ARCHEHR), "-q", *more))
    return next(line.split()[0] for line in done(pmbench("runs")).splitlines() if "archehr-qa" in line)


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield name
            yield from strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner)


def held(record: Path) -> list[str]:
    """Every string in a record."""
    lines = [json.loads(line) for line in (record / "instances.jsonl").read_text().splitlines()]
    return list(strings([json.loads((record / "record.json").read_text()), lines]))


def texts_below(run: Path) -> set[str]:
    """All that was answered and all evidence of a run, in pieces of a line."""
    found = set()
    for file in run.rglob("*.jsonl"):
        for line in file.read_text().splitlines():
            record = json.loads(line)
            parts = [record.get(name) for name in ("text", "data", "reasoning", "evidence")]
            found |= {piece for text in strings(parts) for piece in text.splitlines()}
    return found


def check_no_text(record: Path, texts: set[str]) -> None:
    """No sentence, no part of one and no name of the texts is in a record, but for labels of subgroups."""
    own = held(record)
    lines = [json.loads(line) for line in (record / "instances.jsonl").read_text().splitlines()]
    labels = {label for line in lines for label in line.get("slices", {}).values()}
    assert all(len(label) <= 40 for label in labels)
    pieces = {piece.strip() for text in texts for piece in re.split(r"(?<=[.!?:;,])\s+", text)} - labels
    sentences = {piece.casefold() for piece in pieces if " " in piece and len(piece) >= 12}
    assert len(sentences) > 40
    together = "\n".join(own).casefold()
    assert not [piece for piece in sentences if piece in together]
    # Names: what is written with a capital wherever it stands.
    words = {word for text in texts for word in re.findall(r"\b[A-Za-z][a-z]{3,}\b", text)}
    names = {word for word in words if word[0].isupper() and word.lower() not in words}
    names -= {word for label in labels for word in label.split()}
    assert len(names) > 5
    assert not names & set(re.findall(r"\w+", "\n".join(own)))


def test_no_text_of_the_inbox_is_in_its_record(pmbench, tmp_path: Path) -> None:
    run = ranked(pmbench)
    done(pmbench("export", run, "-o", "record/"))
    rows = [json.loads(line) for line in (DEMOS / "urgency/demo/inbox.jsonl").read_text().splitlines()]
    check_no_text(
        tmp_path / "record", {row["message"] for row in rows} | {row.get("chart", "") for row in rows}
    )


def test_no_text_of_a_record_and_no_answer_is_in_its_record(pmbench, tmp_path: Path) -> None:
    run = answered(pmbench)
    done(pmbench("export", run, "-o", "record"))
    texts = texts_below(next(tmp_path.glob("runs/archehr-qa/*/*")))
    for file in (DEMOS / "archehr/demo").glob("*.xml"):
        texts |= set(re.sub(r"<[^>]+>", "\n", file.read_text()).splitlines())
    check_no_text(tmp_path / "record", texts)


def test_the_owner_is_told_what_is_in_it_and_what_is_not(pmbench, tmp_path: Path) -> None:
    out = done(pmbench("export", answered(pmbench), "-o", "record"))
    assert "written: record/ (2 files, " in out
    assert "in it: archehr-qa version 1, " in out
    assert "in it: a line for each of 8 responses (8 scored)" in out
    assert "not in it: messages, charts, references, prompts, answers, thinking, evidence" in out
    assert "ids: as they are in the data, such as 'd1" in out
    assert "subgroups: setting, specialty" in out
    assert "warning: some labels stand at fewer than 5 instances" in out
    assert re.search(
        r"checked: \d{3,} texts of the run and of its data were looked for in it, and none is", out
    )
    assert sorted(file.name for file in (tmp_path / "record").iterdir()) == ["instances.jsonl", "record.json"]


def test_another_site_builds_the_same_page(pmbench, tmp_path: Path) -> None:
    (tmp_path / "records").mkdir()
    for strategy in ("length", "random"):
        done(pmbench("export", ranked(pmbench, strategy), "-o", f"records/{strategy}"))
    task = ("leaderboard", "-t", "pmr-synth-inbox", "--resamples", "500")
    for more in (("-o", "-"), ("-f", "csv"), ("-f", "latex"), ()):
        here = done(pmbench(*task, *more))
        (tmp_path / "runs").rename(tmp_path / "away")
        assert done(pmbench(*task, *more, "--records", "records")) == here
        (tmp_path / "away").rename(tmp_path / "runs")


def test_hashed_ids_clusters_and_units_name_nobody(pmbench, tmp_path: Path) -> None:
    run = ranked(pmbench)
    out = done(pmbench("export", run, "-o", "hashed", "--hash-ids", env=SALT))
    assert "ids: hashed" in out and "Keep the salt secret" in out
    assert SALT["PMBENCH_SALT"] not in out + "".join(held(tmp_path / "hashed"))
    plain = {json.loads(line)["id"] for line in (DEMOS / "urgency/demo/inbox.jsonl").read_text().splitlines()}
    assert not plain & set(held(tmp_path / "hashed"))
    done(pmbench("export", run, "-o", "plain"))
    assert plain <= set(held(tmp_path / "plain"))
    values = [
        json.loads(done(pmbench("leaderboard", "-t", "pmr-synth-inbox", "--records", name, "-f", "json")))
        for name in ("plain", "hashed")
    ]
    one, other = (
        {name: measure["value"] for name, measure in found["tables"][0]["rows"][0]["measures"].items()}
        for found in values
    )
    assert one == other


def test_ids_of_data_that_are_not_public_come_with_a_warning(pmbench, tmp_path: Path) -> None:
    shutil.copy(DEMOS / "urgency/demo/inbox.jsonl", tmp_path / "mine.jsonl")
    done(pmbench("run", "-t", "pmr-synth-inbox", "-d", "mine.jsonl", "-s", "length", "-q"))
    (run,) = tmp_path.glob("runs/pmr-synth-inbox/*/*")
    out = done(pmbench("export", run, "-o", "record"))
    assert "warning: ids: as they are in the data, such as 'a'; if they could name anybody" in out
    assert str(tmp_path) not in "".join(held(tmp_path / "record"))


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (("-o", "-"), "a record is a folder"),
        (("-o", "x", "--sample", "0"), "a record holds all samples"),
        (("-o", "x", "--hash-ids"), "--hash-ids needs a salt"),
        (("-o", "x", "--salt-file", "salt"), "Add --hash-ids"),
        (("-o", "x", "--hash-ids", "--salt-file", "nowhere"), "nowhere"),
        (("-o", "full"), "is no empty folder"),
        (("-o", "file"), "is no empty folder"),
        (("-o", "file/below"), "file/below: "),
        (("-o", "x", "-f", "archehr", "--no-slices"), "this is for records only"),
        (("-o", "x", "-f", "nonsense"), "no format of pmr-synth-inbox called 'nonsense'"),
    ],
)
def test_what_cannot_be_written_is_one_line(
    pmbench, tmp_path: Path, more: tuple[str, ...], told: str
) -> None:
    run = ranked(pmbench)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").touch()
    (tmp_path / "file").touch()
    refused = pmbench("export", run, *more, env={"PMBENCH_SALT": ""})
    assert refused.returncode == 2, refused.stderr
    [line] = refused.stderr.splitlines()
    assert told in line
    assert not (tmp_path / "x").exists() and not list(tmp_path.glob(".*part"))


def test_a_record_is_not_written_over_another(pmbench, tmp_path: Path) -> None:
    run = ranked(pmbench)
    (tmp_path / "record").mkdir()
    done(pmbench("export", run, "-o", "record"))
    before = (tmp_path / "record" / "record.json").read_bytes()
    again = pmbench("export", run, "-o", "record")
    assert again.returncode == 2 and "a record is there already" in again.stderr
    assert (tmp_path / "record" / "record.json").read_bytes() == before


def test_text_in_a_label_is_found_and_nothing_is_written(pmbench, tmp_path: Path) -> None:
    run = answered(pmbench)
    (file,) = tmp_path.glob("runs/archehr-qa/*/*/scores/*/scores.jsonl")
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    quoted = lines[0]["evidence"]["clean"]["lines"][0]["text"][:36]
    assert len(quoted.split()) > 4
    lines[0]["slices"]["setting"] = quoted
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    refused = pmbench("export", run, "-o", "record")
    assert refused.returncode == 2 and "this would hold text" in refused.stderr
    assert quoted not in refused.stderr and not (tmp_path / "record").exists()
    done(pmbench("export", run, "-o", "record", "--no-slices"))
    assert quoted not in "".join(held(tmp_path / "record"))


def test_ids_that_look_like_text_are_not_shown(pmbench, tmp_path: Path) -> None:
    rows = [json.loads(line) for line in (DEMOS / "urgency/demo/inbox.jsonl").read_text().splitlines()]
    for row in rows:
        row["inbox"] = "the inbox of Mrs Sample"
    (tmp_path / "mine.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done(pmbench("run", "-t", "pmr-synth-inbox", "-d", "mine.jsonl", "-s", "length", "-q"))
    (run,) = tmp_path.glob("runs/pmr-synth-inbox/*/*")
    refused = pmbench("export", run, "-o", "record")
    assert refused.returncode == 2 and "Replace ids with --hash-ids" in refused.stderr
    assert "Sample" not in refused.stderr
    done(pmbench("export", run, "-o", "record", "--hash-ids", env=SALT))
    assert "Sample" not in "".join(held(tmp_path / "record"))


def test_the_run_needs_its_score_and_not_its_data(pmbench, tmp_path: Path) -> None:
    shutil.copy(DEMOS / "urgency/demo/inbox.jsonl", tmp_path / "mine.jsonl")
    done(pmbench("run", "-t", "pmr-synth-inbox", "-d", "mine.jsonl", "-s", "length", "-q"))
    (run,) = tmp_path.glob("runs/pmr-synth-inbox/*/*")
    (tmp_path / "mine.jsonl").unlink()
    out = done(pmbench("export", run, "-o", "record"))
    assert "not checked: the texts of the data" in out
    shutil.rmtree(run / "scores")
    refused = pmbench("export", run, "-o", "second")
    assert refused.returncode == 2 and "not scored" in refused.stderr
