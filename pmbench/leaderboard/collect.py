"""Find the scored runs of a task below a runs folder, and records. What cannot be used is listed with the reason."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pmbench.core.errors import StorageError
from pmbench.leaderboard.chosen_runs import chosen_runs, has_wildcards
from pmbench.leaderboard.copies import once_each
from pmbench.leaderboard.entry import Entry, LeftOut, ScoreLine
from pmbench.running.agreement import of_counts, of_number, of_settings, of_statistics
from pmbench.running.folder import (
    RUN_NAME,
    SCORING_NAME,
    RunFolder,
    read_json,
    read_lines,
)
from pmbench.running.places import Unread, inside, there, why_unread
from pmbench.running.records import RunRecord, Scoring
from pmbench.running.results import Results

RESULTS, SCORING, SCORES = "results.json", "scoring.json", "scores.jsonl"


class Unusable(Exception):
    """Why a folder cannot be used; `damaged` as in `LeftOut`."""

    def __init__(self, reason: str, *, damaged: bool = True) -> None:
        super().__init__(reason)
        self.damaged = damaged


Found = tuple[str, Entry | Unusable]
"""A folder and what is in it, or why that cannot be used."""


def collect(
    task: str, runs: Path | None, *, include_incomplete: bool = False, records: Path | None = None
) -> tuple[list[Entry], list[LeftOut]]:
    """Read every scoring of every run of a task.

    Args:
        task: name of the task.
        runs: the runs folder, or a path with wildcards (`chosen_runs`); None: no runs.
        include_incomplete: also take runs whose status is `incomplete`.
        records: a folder with records of runs in it; None: no records.

    Returns:
        What can stand in a table, in order of the folders; and what cannot, with the reason.

    Raises:
        StorageError: nothing matches the wildcards.
        NewerRecord: a record that a newer version has made.
    """
    from pmbench.leaderboard.records import records_below

    found: list[Found] = []
    if runs is not None and has_wildcards(runs):
        for folder, chosen in chosen_runs(runs).items():
            found += [one for one in _runs_below(task, folder) if chosen is None or _is_of(one[0], chosen)]
    elif runs is not None:
        found += _runs_below(task, runs)
    if records is not None:
        found += records_below(records, task)
    entries: list[Entry] = []
    left: list[LeftOut] = []
    for where, entry in found:
        if isinstance(entry, Unusable):
            left.append(LeftOut(where, str(entry), entry.damaged))
            continue
        if entry.results.status == "incomplete" and not include_incomplete:
            why = entry.results.reason or "work is left"
            left.append(LeftOut(where, f"incomplete ({why}); --include-incomplete takes it"))
            continue
        entries.append(entry)
    return once_each(entries, left), left


def _is_of(where: str, chosen: set[str]) -> bool:
    """Whether a place below a runs folder is one of the chosen runs, or below it."""
    return any(where == run or where.startswith(f"{run}/") for run in chosen)


def _tried(task: str, runs: Path, path: Path, run: RunFolder) -> Entry | Unusable:
    try:
        return _read(task, str(path.relative_to(runs)), path, run)
    except Unusable as error:
        return error
    except OSError as error:
        return Unusable(why_unread(error))


def _runs_below(task: str, runs: Path) -> Iterator[Found]:
    """Each scoring of each run; a run without one, what is no run, and what cannot be looked into too."""
    unread: list[Unread] = []
    for model, is_folder in inside(runs / task, unread):
        if not is_folder:
            yield _where(model, runs), Unusable("not a run: it is no folder", damaged=False)
            continue
        for path, is_folder in inside(model, unread):
            if is_folder:
                yield from _scorings(task, runs, path, unread)
            else:
                yield _where(path, runs), _no_folder("run", RUN_NAME.fullmatch(path.name) is not None)
    for one in unread:
        yield _where(one.path, runs), Unusable(one.why)


def _scorings(task: str, runs: Path, path: Path, unread: list[Unread]) -> Iterator[Found]:
    run, before = RunFolder(path), len(unread)
    found = inside(path / "scores", unread)
    for folder, is_folder in found:
        if is_folder:
            yield _where(folder, runs), _tried(task, runs, folder, run)
        else:
            damaged = SCORING_NAME.fullmatch(folder.name) is not None
            yield _where(folder, runs), _no_folder("scoring", damaged)
    if not any(is_folder for _, is_folder in found) and len(unread) == before:
        yield _where(path, runs), _tried(task, runs, path, run)


def _where(path: Path, runs: Path) -> str:
    return str(path.relative_to(runs))


def _no_folder(what: str, damaged: bool) -> Unusable:
    """A file where a folder belongs; by its name it is told from a file that somebody put there."""
    if damaged:
        return Unusable(f"it is no folder, and a {what}'s folder should be here")
    return Unusable(f"not a {what}: it is no folder", damaged=False)


def _read(task: str, where: str, path: Path, run: RunFolder) -> Entry:
    if not there(run.run_json):
        raise Unusable("not a run: it has no run.json")
    if path == run.path:
        raise Unusable("not scored yet", damaged=False)
    if not there(path / RESULTS):
        raise Unusable(f"not finished: it has no {RESULTS}; give the run's command again", damaged=False)
    record = _decoded(run.run_json, RunRecord)
    results = _decoded(path / RESULTS, Results)
    try:
        apart = of_settings(run, path, record, results)
    except StorageError as error:
        raise _unusable(error) from None
    if apart is not None:
        raise Unusable(str(apart))
    scoring = _decoded(path / SCORING, Scoring)
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
        raise _unusable(error) from None


def _unusable(error: StorageError) -> Unusable:
    """Without the folders of this machine, which are nobody's business where the list is published."""
    remedy = error.remedy[:1].lower() + error.remedy[1:]
    return Unusable(f"{Path(error.where).name}: {error.what}; {remedy}")


def _check(task: str, entry: Entry) -> None:
    """Whether the files of a run belong together."""
    results, again = entry.results, "give the run's command again"
    if results.task != task:
        raise Unusable(f"it says that it is a run of the task {results.task!r}")
    if results.run != entry.record.digest:
        raise Unusable(f"{RESULTS} and run.json are of different runs; {again}")
    if results.round != entry.record.round:
        raise Unusable(f"begun anew (--fresh) and not finished; {again}", damaged=False)
    apart = (
        of_counts(results.counts, entry.record.asked.samples)
        or of_number(results, len(entry.scores))
        or of_statistics(entry.scores)
    )
    if apart is not None:
        raise Unusable(str(apart), damaged=apart.damaged)
    if not entry.scores:
        raise Unusable("it has no score", damaged=False)


__all__ = ["Entry", "Found", "LeftOut", "ScoreLine", "Unusable", "collect"]
