"""Find the scored runs of a task below a runs folder, and records. What cannot be used is listed with the reason."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from pmbench.core.digest import SHORT, canonical_json, digest, digest_bytes
from pmbench.core.errors import StorageError
from pmbench.running.folder import UNREADABLE, RunFolder, read_json, read_lines
from pmbench.running.records import RunRecord, ScoreRecord, Scoring
from pmbench.running.results import Results

RESULTS, SCORING, SCORES = "results.json", "scoring.json", "scores.jsonl"


class ScoreLine(ScoreRecord, kw_only=True):
    """A line of `scores.jsonl` as a leaderboard needs it: the evidence is stepped over, not decoded."""

    evidence: msgspec.Raw = msgspec.Raw(b"null")


class LeftOut(msgspec.Struct, frozen=True):
    """A folder that is not in a table.

    Attributes:
        where: it is below the runs folder, or the folder of records; reason: why it is left out.
        damaged: whether it should have been in a table and cannot be read, or was changed by another hand.
    """

    where: str
    reason: str
    damaged: bool = False


@dataclass(frozen=True)
class Entry:
    """One scoring of one run.

    Attributes:
        where: its folder below the runs folder.
        record, results, scoring: as in `run.json`, `results.json`, `scoring.json`.
        scores: the scores that are there, the last of each instance and sample.
        ids: of a record, whether names in it are `plain` or `hashed`; empty: it is a run's folder.
    """

    where: str
    record: RunRecord
    results: Results
    scoring: Scoring
    scores: list[ScoreLine]
    ids: str = ""


class Unusable(Exception):
    """Why a folder cannot be used; `damaged` as in `LeftOut`."""

    def __init__(self, reason: str, *, damaged: bool = True) -> None:
        super().__init__(reason)
        self.damaged = damaged


Found = tuple[str, Entry | Unusable]
"""A folder and what is in it, or why that cannot be used."""


class _AskedRaw(msgspec.Struct):
    """What `run.json` holds of `asked`, as it is written."""

    asked: dict[str, Any]


def collect(
    task: str, runs: Path | None, *, include_incomplete: bool = False, records: Path | None = None
) -> tuple[list[Entry], list[LeftOut]]:
    """Read every scoring of every run of a task.

    Args:
        task: name of the task.
        runs: the runs folder; None: no runs.
        include_incomplete: also take runs whose status is `incomplete`.
        records: a folder with records of runs in it; None: no records.

    Returns:
        What can stand in a table, in order of the folders; and what cannot, with the reason.

    Raises:
        NewerRecord: a record that a newer version has made.
    """
    from pmbench.leaderboard.records import records_below

    found: list[Found] = []
    if runs is not None:
        found += (
            (str(path.relative_to(runs)), _tried(task, runs, path, run))
            for path, run in _folders(runs / task)
        )
    if records is not None:
        found += records_below(records, task)
    entries: dict[tuple[str, str], Entry] = {}
    left: list[LeftOut] = []
    for where, entry in found:
        if isinstance(entry, Unusable):
            left.append(LeftOut(where, str(entry), entry.damaged))
            continue
        if entry.results.status == "incomplete" and not include_incomplete:
            why = entry.results.reason or "work is left"
            left.append(LeftOut(where, f"incomplete ({why}); --include-incomplete takes it"))
            continue
        key = (entry.results.run, entry.results.scoring)
        twin = entries.get(key)
        if twin is not None:
            # A look at a few instances does not take the place of a whole run, however new it is.
            other, entry = sorted(
                (twin, entry), key=lambda one: (one.results.counts.scored, one.results.finished_at)
            )
            left.append(LeftOut(other.where, f"a copy of the run in {entry.where}"))
        entries[key] = entry
    return list(entries.values()), left


def _tried(task: str, runs: Path, path: Path, run: RunFolder) -> Entry | Unusable:
    try:
        return _read(task, str(path.relative_to(runs)), path, run)
    except Unusable as error:
        return error
    except OSError as error:
        return Unusable(f"cannot be read ({error.strerror or type(error).__name__})")


def _folders(below: Path) -> Iterator[tuple[Path, RunFolder]]:
    """Each scoring's folder with its run; a run without one, and a folder that is no run, as they are."""
    for path in sorted(below.glob("*/*/")):
        if path.name.startswith(".") or path.parent.name.startswith("."):
            continue
        run = RunFolder(path)
        scorings = sorted(folder for folder in path.glob("scores/*/") if not folder.name.startswith("."))
        for folder in scorings or [path]:
            yield folder, run


def _read(task: str, where: str, path: Path, run: RunFolder) -> Entry:
    if not run.run_json.is_file():
        raise Unusable("not a run: it has no run.json")
    if path == run.path:
        raise Unusable("not scored yet", damaged=False)
    if not (path / RESULTS).is_file():
        raise Unusable(f"not finished: it has no {RESULTS}; give the run's command again", damaged=False)
    if not (path / SCORING).is_file():
        raise Unusable(
            f"it has no {SCORING}; move the folder of the scoring away and give the run's command again"
        )
    record = _decoded(run.run_json, RunRecord)
    results = _decoded(path / RESULTS, Results)
    scoring = _decoded(path / SCORING, Scoring)
    _check_settings(path, run, record, results)
    try:
        lines = read_lines(path / SCORES, ScoreLine)
    except StorageError as error:
        # Only the line: the folders of this machine are nobody's business where the list is published.
        line = error.where.removeprefix(str(path / SCORES))
        raise Unusable(f"{SCORES}{line}: {error.what}") from None
    latest = {(line.id, line.sample): line for line in lines if line.round == record.round}
    scores = [line for line in latest.values() if line.status == "ok"]
    entry = Entry(where, record, results, scoring, scores)
    _check(task, entry)
    return entry


def _decoded(path: Path, kind: type[Any]) -> Any:
    try:
        return read_json(path, kind)
    except StorageError as error:
        remedy = error.remedy[:1].lower() + error.remedy[1:]
        raise Unusable(f"{path.name}: {error.what}; {remedy}") from None


def _check_settings(path: Path, run: RunFolder, record: RunRecord, results: Results) -> None:
    """Whether the settings are still those by whose digests the run and the scoring are named."""
    changed = (
        "was changed after it was written; move the folder of the {} away and give the run's command again"
    )
    if not _is_digest(record.digest, _decoded(run.run_json, _AskedRaw).asked, record.asked):
        raise Unusable(f"run.json {changed.format('run')}")
    scoring = _decoded(path / SCORING, dict[str, Any])
    if not _is_digest(results.scoring, scoring, _decoded(path / SCORING, Scoring)):
        raise Unusable(f"{SCORING} {changed.format('scoring')}")
    if path.name != results.scoring[:SHORT]:
        raise Unusable(f"{RESULTS} is of another scoring than its folder is named by")
    asked = record.asked
    if (results.task_version, results.strategy, results.fingerprint) != (
        asked.task_version,
        asked.strategy,
        asked.fingerprint,
    ):
        raise Unusable(f"{RESULTS} says another strategy, data or version of the task than run.json")


def _is_digest(said: str, written: dict[str, Any], read: msgspec.Struct) -> bool:
    """Whether a digest is that of settings: as this version reads them, or as the one that wrote them did."""
    try:
        # Fields that have since been added, with a default, are in no digest of that time.
        fields = [canonical_json(name) + b":" + canonical_json(value) for name, value in written.items()]
        return said in (digest(read), digest_bytes(b"{" + b",".join(fields) + b"}"))
    except UNREADABLE:
        return False


def _check(task: str, entry: Entry) -> None:
    """Whether the files of a run belong together."""
    results, again = entry.results, "give the run's command again"
    if results.task != task:
        raise Unusable(f"it says that it is a run of the task {results.task!r}")
    if results.run != entry.record.digest:
        raise Unusable(f"{RESULTS} and run.json are of different runs; {again}")
    if results.round != entry.record.round:
        raise Unusable(f"begun anew (--fresh) and not finished; {again}", damaged=False)
    have = len(entry.scores)
    if have > results.counts.scored:
        raise Unusable(
            f"{RESULTS} is of {results.counts.scored} scores and {SCORES} holds {have}, as after a smaller"
            f" --limit; {again} without --limit",
            damaged=False,
        )
    if have < results.counts.scored:
        raise Unusable(f"{RESULTS} is of {results.counts.scored} scores and {SCORES} holds {have}; {again}")
    if not have:
        raise Unusable("it has no score", damaged=False)
