"""Reading a run back: its record, its results, and any one instance with what was answered and scored."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pmbench.core.errors import StorageError, UserError
from pmbench.core.instance import Instance, Response, Score
from pmbench.core.registry import load_task
from pmbench.core.task import Record, Task
from pmbench.data.loading import load
from pmbench.running.carrying_out import RESULTS
from pmbench.running.folder import RunFolder, find_run, read_json, read_lines
from pmbench.running.judging import SCORES
from pmbench.running.records import ResponseRecord, Results, RunRecord, ScoreRecord


@dataclass(frozen=True)
class StoredRun:
    """A run as it lies on disk: its folder, its record, and the results of one scoring if there is one."""

    folder: RunFolder
    record: RunRecord
    scores: Path | None
    results: Results | None

    def task(self) -> Task:
        """The task with the run's options.

        Raises:
            UnknownName, PluginError: the task is not installed.
        """
        task = load_task(self.record.asked.task)
        return task(
            task.parse_options({name: str(value) for name, value in self.record.asked.options.items()})
        )


def read_run(runs: Path, name: str, scoring: str | None = None) -> StoredRun:
    """The run that `name` means, with its newest scoring or the one whose digest begins with `scoring`.

    Raises:
        StorageError: there is no such run or scoring, or more than one.
    """
    folder = find_run(runs, name)
    record = folder.record()
    if record is None:
        raise StorageError("this folder has no run.json", where=str(folder.path))
    found = [path for path in folder.scorings() if path.name.startswith(scoring or "")]
    if scoring and len(found) != 1:
        names = ", ".join(path.name for path in folder.scorings()) or "none"
        raise StorageError(f"{len(found)} scorings begin with {scoring!r}", remedy=f"There are: {names}")
    if not found:
        return StoredRun(folder, record, None, None)
    return StoredRun(folder, record, found[-1], read_json(found[-1] / RESULTS, Results))


def read_instance(run: StoredRun, instance_id: str, sample: int = 0) -> tuple[Record, str]:
    """One instance with its response and score, and a remark where the dataset could not be read again.

    Raises:
        StorageError: the run has nothing of that instance.
    """
    responses = {(r.id, r.sample): r for r in read_lines(run.folder.responses, ResponseRecord)}
    response = responses.get((instance_id, sample))
    if response is None:
        raise StorageError(
            f"no response to the instance {instance_id!r}, sample {sample}",
            where=str(run.folder.responses),
            remedy="The ids are those of the dataset",
        )
    scores = {(s.id, s.sample): s for s in read_lines(run.scores / SCORES, ScoreRecord)} if run.scores else {}
    score = scores.get((instance_id, sample))
    instance, remark = _instance(run, instance_id)
    record = Record(
        instance,
        Response(response.text, response.data) if response.status == "ok" else None,
        Score(score.stats, score.units, score.arrays, score.evidence)
        if score and score.status == "ok"
        else None,
    )
    return record, remark


def _instance(run: StoredRun, instance_id: str) -> tuple[Instance, str]:
    """The instance from the dataset, if that is still where it was and the same."""
    unknown = Instance(instance_id, {}, {})
    data = run.record.data
    try:
        dataset = load(run.task(), data.given, columns=_renamed(data.columns), split=data.split)
    except UserError as error:
        return unknown, f"The dataset cannot be read again: {error}"
    if dataset.fingerprint != run.record.asked.fingerprint:
        return unknown, "The dataset has changed since the run; its texts are not shown."
    return next((i for i in dataset.instances if i.id == instance_id), unknown), ""


def _renamed(columns: dict[str, str]) -> dict[str, str]:
    return {name: column for name, column in columns.items() if name != column}
