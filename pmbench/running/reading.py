"""Reading a run back: its record, its results, and any one instance with what was answered and scored."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pmbench.core.blank import says_nothing
from pmbench.core.errors import StorageError, UserError
from pmbench.core.instance import Instance, Response, Score
from pmbench.core.registry import load_task
from pmbench.core.task import Record, Task
from pmbench.data.fingerprint import id_shown
from pmbench.data.loading import Dataset, load
from pmbench.running.carrying_out import RESULTS
from pmbench.running.columns import ScoreColumns
from pmbench.running.finding import find_run
from pmbench.running.finite import explained
from pmbench.running.folder import RunFolder, read_json, read_lines
from pmbench.running.judging import SCORES
from pmbench.running.records import ResponseRecord, RunRecord, ScoreRecord
from pmbench.running.responding import Key
from pmbench.running.results import Results


@dataclass(frozen=True)
class StoredRun:
    """A run as it lies on disk: its folder, its record, the results of one scoring, other scorings.

    Attributes:
        scores: the folder of the scoring; None where the run is not scored.
        others: names of scorings that are not shown.
        broken: for each scoring whose results cannot be read, why.
    """

    folder: RunFolder
    record: RunRecord
    scores: Path | None
    results: Results | None
    others: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)

    def task(self) -> Task:
        """The task with the options of the run and of this scoring.

        Raises:
            UnknownName, PluginError: the task is not installed.
        """
        task = load_task(self.record.asked.task)
        return task(task.parse_options({name: str(value) for name, value in self.options.items()}))

    @property
    def options(self) -> dict[str, Any]:
        """The task's options: those of the run, and those that only scoring reads as this scoring was made with."""
        scored = self.results.options if self.results is not None else {}
        return {**scored, **self.record.asked.options}


def read_run(runs: Path, name: str, scoring: str | None = None) -> StoredRun:
    """The run that `name` means, with the scoring of the most instances or the one that begins with `scoring`.

    Raises:
        StorageError: there is no such run or scoring, or more than one, or none that can be read.
    """
    folder = find_run(runs, name)
    record = folder.record()
    if record is None:
        raise StorageError("this folder has no run.json", where=str(folder.path))
    scorings = folder.scorings()
    found = [path for path in scorings if path.name.startswith(scoring or "")]
    if scoring and len(found) != 1:
        names = ", ".join(path.name for path in scorings) or "none"
        raise StorageError(f"{len(found)} scorings begin with {scoring[:80]!r}", remedy=f"There are: {names}")
    if not found:
        return StoredRun(folder, record, None, None)
    read: list[tuple[Path, Results]] = []
    broken: list[StorageError] = []
    for path in found:
        try:
            read.append((path, read_json(path / RESULTS, Results)))
        except StorageError as error:
            broken.append(error)
    if not read:
        raise broken[0]
    # Of as many scores the newest: `scorings` is in order of time, and `max` takes the first of equals.
    path, results = max(reversed(read), key=lambda one: (one[1].round, one[1].counts.scored))
    others = [other.name for other, _ in read if other != path]
    return StoredRun(folder, record, path, results, others, [str(error) for error in broken])


def read_instance(run: StoredRun, instance_id: str, sample: int = 0) -> tuple[Record, list[str]]:
    """One instance with its response and score, and remarks on what is not there and why.

    Raises:
        StorageError: the run has nothing of that instance.
    """
    responses, scores = _responses(run), _scores(run)
    response = responses.get((instance_id, sample))
    if response is None:
        raise StorageError(
            f"no response to the instance {id_shown(instance_id)}, sample {sample}",
            where=str(run.folder.responses),
            remedy=f"There are: {_few([name for name, _ in responses])}",
        )
    score = scores.get((instance_id, sample))
    instance, remark = _instance(run, instance_id)
    remarks = [remark] if remark else []
    if response.status == "failed":
        remarks.append(f"No response: it failed ({response.failure}).")
    elif score is None:
        remarks.append("Not scored by these judges yet.")
    elif score.status == "missing":
        why = explained(score.evidence)
        remarks.append(f"No score: it is missing ({score.failure}{': ' if why else ''}{why}).")
    return _record(instance, response, score), remarks


def read_records(run: StoredRun, sample: int = 0) -> list[Record]:
    """Every instance of the dataset with its response and score, those that the run has none of too.

    Raises:
        StorageError: the dataset is no longer what the run was made on, or nothing has such a sample.
    """
    dataset, remark = _dataset(run)
    if dataset is None:
        raise StorageError(remark, where=str(run.folder.path), remedy="Put the dataset back where it was")
    responses, scores = _responses(run), _scores(run)
    if sample and not any(number == sample for _, number in responses):
        raise StorageError(f"there is no sample {sample}", where=str(run.folder.responses))
    return [
        _record(one, responses.get((one.id, sample)), scores.get((one.id, sample)))
        for one in dataset.instances
    ]


def _few(names: Sequence[str]) -> str:
    return ", ".join([*map(id_shown, list(dict.fromkeys(names))[:3]), "…"]) if names else "none"


def instance_values(run: StoredRun) -> list[tuple[str, float | None, str]]:
    """For each response id, the primary metric of it alone and what is odd about it; the worst first."""
    primary = run.task().metrics[0]
    responses, scores = _responses(run), _scores(run)
    rows: list[tuple[str, float | None, str]] = []
    for key, response in responses.items():
        name = response.id if not response.sample else f"{response.id}, sample {response.sample}"
        score = scores.get(key)
        good = score is not None and score.status == "ok"
        value = ScoreColumns([score]).value(primary) if score and good else math.nan
        odd = response.failure or (response.finish if response.finish != "stop" else "")
        if response.status == "ok" and says_nothing(response.text) and not response.data:
            odd = ", ".join(filter(None, (odd, "empty")))
        if response.status == "ok" and score is None:
            odd = "not scored yet"
        elif score is not None and not good:
            odd = score.failure
        elif score is not None and not primary.computable(score.stats):
            odd = f"its score lacks statistics of {primary.name}"
        rows.append((name, None if math.isnan(value) else value, odd))
    sign = -1 if primary.higher_is_better is False else 1
    return sorted(rows, key=lambda row: (row[1] is not None, sign * (row[1] or 0.0), row[0]))


def _responses(run: StoredRun) -> dict[Key, ResponseRecord]:
    """The responses of the run's current round, the last of each instance and sample."""
    lines = read_lines(run.folder.responses, ResponseRecord)
    return {(line.id, line.sample): line for line in lines if line.round == run.record.round}


def _scores(run: StoredRun) -> dict[Key, ScoreRecord]:
    """The scores of the run's current round, the last of each instance and sample."""
    lines = read_lines(run.scores / SCORES, ScoreRecord) if run.scores else []
    return {(line.id, line.sample): line for line in lines if line.round == run.record.round}


def _record(instance: Instance, response: ResponseRecord | None, score: ScoreRecord | None) -> Record:
    answered = response is not None and response.status == "ok"
    scored = score is not None and score.status == "ok"
    return Record(
        instance,
        Response(response.text, response.data) if response is not None and answered else None,
        Score(score.stats, score.units, score.arrays, score.evidence)
        if score is not None and scored
        else None,
    )


def _instance(run: StoredRun, instance_id: str) -> tuple[Instance, str]:
    """The instance from the dataset, if that is still where it was and the same."""
    unknown = Instance(instance_id, {}, {})
    dataset, remark = _dataset(run)
    if dataset is None:
        return unknown, f"{remark}; its texts are not shown."
    return next((i for i in dataset.instances if i.id == instance_id), unknown), ""


def _dataset(run: StoredRun) -> tuple[Dataset | None, str]:
    """The dataset, if it is still where it was and the same; else why not."""
    data = run.record.data
    revision = data.revision or None if data.kind == "hub" else None
    try:
        dataset = load(
            run.task(), data.given, columns=data.asked_columns, revision=revision, split=data.split
        )
    except UserError as error:
        return None, f"The dataset cannot be read again ({error})"
    if dataset.fingerprint != run.record.asked.fingerprint:
        return None, "The dataset has changed since the run"
    return dataset, ""
