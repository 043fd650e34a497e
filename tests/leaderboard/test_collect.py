"""Runs are found, and what cannot be used is listed with the reason."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from made_runs import Made, write

from pmbench.leaderboard.collect import collect
from pmbench.running.folder import RunFolder, read_json, write_json
from pmbench.running.results import Results

FILES = ("run.json", "results.json", "scoring.json")


def only_reason(runs: Path, **options: bool) -> str:
    entries, left = collect("toy", runs, **options)
    assert entries == []
    assert len(left) == 1
    return left[0].reason


def scoring(run: RunFolder) -> Path:
    return run.scorings()[0]


def test_runs_of_the_task_are_found_with_their_scores(tmp_path: Path) -> None:
    write(tmp_path, Made())
    write(tmp_path, Made(model="qwen3-8b", missing=frozenset({1, 2})))
    (tmp_path / "completions.sqlite").touch()
    (tmp_path / "other-task" / "m" / "s-1").mkdir(parents=True)
    entries, left = collect("toy", tmp_path)
    assert left == []
    assert sorted((entry.results.model, len(entry.scores)) for entry in entries) == [
        ("qwen3-8b", 22),
        ("smollm2-135m", 24),
    ]


def test_no_folder_is_no_run(tmp_path: Path) -> None:
    assert collect("toy", tmp_path / "nowhere") == ([], [])


def test_the_last_of_several_scores_counts(tmp_path: Path) -> None:
    run = write(tmp_path, Made(missing=frozenset({3})))
    path = scoring(run) / "scores.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines, *lines]))
    assert len(collect("toy", tmp_path)[0][0].scores) == 23


def test_a_torn_last_line_is_not_a_score(tmp_path: Path) -> None:
    run = write(tmp_path, Made())
    path = scoring(run) / "scores.jsonl"
    path.write_bytes(path.read_bytes() + b'{"id":"m9"')
    assert len(collect("toy", tmp_path)[0][0].scores) == 24


def test_incomplete_runs_are_left_out_unless_asked_for(tmp_path: Path) -> None:
    write(tmp_path, Made(pending=4))
    assert only_reason(tmp_path) == "incomplete (work is left: 4 not done); --include-incomplete takes it"
    entries, left = collect("toy", tmp_path, include_incomplete=True)
    assert (len(entries), left) == (1, [])


def test_a_copy_of_a_run_counts_once_and_the_newer_stays(tmp_path: Path) -> None:
    run = write(tmp_path, Made())
    copy = run.path.with_name("copied-000000000000")
    shutil.copytree(run.path, copy)
    path = next(copy.glob("scores/*/results.json"))
    newer = msgspec.structs.replace(read_json(path, Results), finished_at="2027-01-01T00:00:00+00:00")
    write_json(path, newer)
    entries, left = collect("toy", tmp_path)
    assert [Path(entry.where).parts[2] for entry in entries] == [copy.name]
    assert "a copy of the run in toy/smollm2-135m/copied" in left[0].reason


def _remove(name: str) -> Callable[[RunFolder], None]:
    return lambda run: next(run.path.glob(f"**/{name}")).unlink()


def _write(name: str, content: bytes) -> Callable[[RunFolder], object]:
    return lambda run: next(run.path.glob(f"**/{name}")).write_bytes(content)


def _change(**fields: object) -> Callable[[RunFolder], None]:
    def change(run: RunFolder) -> None:
        path = scoring(run) / "results.json"
        write_json(path, msgspec.structs.replace(read_json(path, Results), **fields))

    return change


def _break_line_5(run: RunFolder) -> None:
    path = scoring(run) / "scores.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:4], b'{"id": 1, \xff\n', *lines[5:]]))


def _folder_instead(run: RunFolder) -> None:
    path = scoring(run) / "scores.jsonl"
    path.unlink()
    path.mkdir()


def _drop_lines(run: RunFolder) -> None:
    path = scoring(run) / "scores.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:20]))


def _limit(run: RunFolder) -> None:
    path = scoring(run) / "results.json"
    old = read_json(path, Results)
    counts = msgspec.structs.replace(old.counts, instances=12, samples=12, scored=12)
    write_json(path, msgspec.structs.replace(old, counts=counts))


def _edit(name: str, old: str, new: str) -> Callable[[RunFolder], object]:
    def edit(run: RunFolder) -> None:
        path = next(run.path.glob(f"**/{name}"))
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))

    return edit


def _move_scoring(run: RunFolder) -> None:
    scoring(run).rename(run.path / "scores" / "000000000000")


def _nested(depth: int) -> bytes:
    return b'{"x":' + b"[" * depth + b"]" * depth + b"}"


def _nested_line(run: RunFolder) -> None:
    path = scoring(run) / "scores.jsonl"
    line = b'{"id":"m1","arrays":{"a":' + b"[" * 50_000 + b"]" * 50_000 + b"}}"
    path.write_bytes(path.read_bytes() + line + b"\n")


def _nested_evidence(run: RunFolder) -> None:
    path = scoring(run) / "scores.jsonl"
    line = b'{"id":"m1","evidence":' + b"[" * 50_000 + b"]" * 50_000 + b"}"
    path.write_bytes(path.read_bytes() + line + b"\n")


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (_remove("run.json"), "it has no run.json"),
        (_remove("results.json"), "it has no results.json; give the run's command again"),
        (_remove("scoring.json"), "it has no scoring.json"),
        (_remove("scores.jsonl"), "results.json is of 24 scores and scores.jsonl holds 0"),
        (lambda run: shutil.rmtree(run.path / "scores"), "not scored yet"),
        (_write("run.json", b"{"), "run.json: the file cannot be read"),
        (_write("run.json", b"[]"), "run.json: the file cannot be read"),
        (_write("run.json", b'{"\xff": 1}'), "run.json: "),
        (_write("results.json", b"{}"), "results.json: the file cannot be read"),
        (_write("results.json", b'{"format": 99}'), "results.json: the file has format 99"),
        (_break_line_5, "scores.jsonl, line 5: this line is not a record"),
        (_folder_instead, "scores.jsonl: cannot be read (it is a folder)"),
        (_drop_lines, "results.json is of 24 scores and scores.jsonl holds 20"),
        (_limit, "as after a smaller --limit; give the run's command again without --limit"),
        (_change(task="another"), "it says that it is a run of the task 'another'"),
        (_change(run="0" * 64), "results.json and run.json are of different runs"),
        *((_write(name, _nested(100_000)), f"{name}: the file cannot be read") for name in FILES),
        *((_write(name, b'{"format": ' + b"9" * 400 + b"}"), f"{name}: the file") for name in FILES),
        *((_write(name, b"\xff\xfe{}"), f"{name}: the file cannot be read") for name in FILES),
        (_nested_line, "scores.jsonl, line 25: this line is not a record"),
        (_nested_evidence, "scores.jsonl, line 25: this line is not a record"),
        (_edit("scoring.json", "0.6", "0.1"), "scoring.json was changed after it was written"),
        (_edit("scoring.json", "0.6", "9" * 40), "scoring.json was changed after it was written"),
        (_edit("run.json", '"temperature": null', '"temperature": 1.5'), "run.json was changed after"),
        (_change(scoring="0" * 64), "scoring.json was changed after it was written"),
        (_move_scoring, "results.json is of another scoring than its folder is named by"),
        (_change(strategy="another"), "results.json says another strategy"),
        (_change(round=1), "begun anew (--fresh) and not finished; give the run's command again"),
    ],
)
def test_what_cannot_be_used_is_listed_and_breaks_nothing(
    tmp_path: Path, spoil: Callable[[RunFolder], object], reason: str
) -> None:
    run = write(tmp_path, Made())
    spoil(run)
    found = only_reason(tmp_path)
    assert reason in found
    assert str(tmp_path) not in found
    write(tmp_path, Made(model="sound"))
    entries, left = collect("toy", tmp_path)
    assert [entry.results.model for entry in entries] == ["sound"]
    assert len(left) == 1


def test_a_run_without_any_score_is_left_out(tmp_path: Path) -> None:
    write(tmp_path, Made(missing=frozenset(range(24))))
    assert only_reason(tmp_path) == "it has no score"


def test_only_lines_of_the_current_round_count(tmp_path: Path) -> None:
    run = write(tmp_path, Made())
    record = run.record()
    assert record is not None
    record.round = 1
    run.write_record(record)
    path = scoring(run) / "scores.jsonl"
    old = path.read_bytes()
    path.write_bytes(old + old.replace(b'{"id"', b'{"round":1,"id"').replace(b'"tp":', b'"tp":10'))
    _change(round=1)(run)
    [entry] = collect("toy", tmp_path)[0]
    assert len(entry.scores) == 24
    assert all(score.stats["tp"] >= 100 for score in entry.scores)


def test_a_digest_of_fewer_settings_than_today_is_still_believed(tmp_path: Path) -> None:
    """A version that knew no `embedder` wrote neither the field nor its digest."""
    run = write(tmp_path, Made())
    folder = scoring(run)
    settings = msgspec.json.decode((folder / "scoring.json").read_bytes())
    del settings["embedder"]
    content = msgspec.json.encode(settings)
    (folder / "scoring.json").write_bytes(content)
    digest = hashlib.sha256(content).hexdigest()
    _change(scoring=digest)(run)
    folder.rename(folder.with_name(digest[:12]))
    assert [entry.results.scoring for entry in collect("toy", tmp_path)[0]] == [digest]


def test_a_look_at_a_few_instances_does_not_take_the_place_of_the_whole_run(tmp_path: Path) -> None:
    run = write(tmp_path, Made())
    copy = run.path.with_name("copied-000000000000")
    shutil.copytree(run.path, copy)
    path = next(copy.glob("scores/*/results.json"))
    results = read_json(path, Results)
    fewer = msgspec.structs.replace(results.counts, scored=1, samples=1, instances=1)
    write_json(path, msgspec.structs.replace(results, counts=fewer, finished_at="2027-01-01T00:00:00+00:00"))
    lines = path.with_name("scores.jsonl").read_text().splitlines()
    path.with_name("scores.jsonl").write_text(lines[0] + "\n")
    entries, left = collect("toy", tmp_path)
    assert [entry.results.counts.scored for entry in entries] == [results.counts.scored]
    assert "a copy of the run in" in left[0].reason and "copied" in left[0].where
