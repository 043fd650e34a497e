"""Whether the scores of a run are those that its results are of. Who shows, exports or compares results asks here."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from pmbench.core.digest import SHORT, canonical_json, digest, digest_bytes
from pmbench.core.errors import StorageError, UserError
from pmbench.core.metric import Metric
from pmbench.data.fingerprint import id_shown
from pmbench.running.columns import ScoreColumns
from pmbench.running.finite import out_of_range
from pmbench.running.folder import UNREADABLE, RunFolder, read_json, read_lines
from pmbench.running.judging import SCORES
from pmbench.running.places import content, reading, there
from pmbench.running.reading import StoredRun
from pmbench.running.records import RunRecord, ScoreRecord, Scoring
from pmbench.running.results import Counts, MetricResult, Results

RESULTS, SCORING = "results.json", "scoring.json"
AGAIN = "give the run's command again"


@dataclass(frozen=True)
class Apart:
    """What is not as it should be.

    Attributes:
        why: in words; remedy: what to do about it.
        damaged: whether something was changed or lost; else the run has gone on, or been cut short, since.
    """

    why: str
    remedy: str = AGAIN
    damaged: bool = True

    def __str__(self) -> str:
        return f"{self.why}; {self.remedy}"


def checked(run: StoredRun) -> Apart | None:
    """What keeps the results of a run from being shown as what its scores come to; None: nothing.

    Raises:
        StorageError: a file of it cannot be read.
    """
    if run.results is None or run.scores is None or run.results.round != run.record.round:
        return None
    lines = read_lines(run.scores / SCORES, ScoreRecord)
    latest = {(line.id, line.sample): line for line in lines if line.round == run.record.round}
    good = [line for line in latest.values() if line.status == "ok"]
    return of_scores(run, good)


def of_scores(run: StoredRun, good: Sequence[ScoreRecord]) -> Apart | None:
    """The same for scores that were read already."""
    if run.results is None:
        return None
    return (
        (of_settings(run.folder, run.scores, run.record, run.results) if run.scores else None)
        or of_counts(run.results.counts, run.record.asked.samples)
        or of_number(run.results, len(good))
        or of_statistics(good)
        or of_values(_metrics(run), run.results, ScoreColumns(good))
    )


def _metrics(run: StoredRun) -> Sequence[Metric]:
    """Those of the run's task; none where it is not installed: what they come to cannot be told then."""
    try:
        return run.task().metrics
    except UserError:
        return ()


def check_scores(run: StoredRun, good: Sequence[ScoreRecord]) -> None:
    """Raises StorageError where the scores are not those that `results.json` is of."""
    found = of_scores(run, good)
    if found is not None:
        remedy = found.remedy[:1].upper() + found.remedy[1:]
        raise StorageError(found.why, where=str(run.folder.path), remedy=remedy)


def of_settings(folder: RunFolder, scores: Path, record: RunRecord, results: Results) -> Apart | None:
    """Whether the settings are still those by whose digests the run and the scoring are named.

    Args:
        folder: of the run, with its record.
        scores: the folder of a scoring, with its results.

    Raises:
        StorageError: a file of settings cannot be read.
    """
    anew = "move the folder of the {} away and give the run's command again"
    with reading(scores):
        if not there(scores / SCORING):
            return Apart(f"it has no {SCORING}", anew.format("scoring"))
    if not _is_digest(record.digest, read_json(folder.run_json, _AskedRaw).asked, record.asked):
        return Apart("run.json was changed after it was written", anew.format("run"))
    scoring = read_json(scores / SCORING, Scoring)
    with reading(scores / SCORING):
        written = msgspec.json.decode(content(scores / SCORING), type=dict[str, Any])
    if not _is_digest(results.scoring, written, scoring):
        return Apart(f"{SCORING} was changed after it was written", anew.format("scoring"))
    if scores.name != results.scoring[:SHORT]:
        return Apart(f"{RESULTS} is of another scoring than its folder is named by")
    asked = record.asked
    said = (results.task_version, results.strategy, results.fingerprint)
    if said != (asked.task_version, asked.strategy, asked.fingerprint):
        return Apart(f"{RESULTS} says another strategy, data or version of the task than run.json")
    return None


class _AskedRaw(msgspec.Struct):
    """What `run.json` holds of `asked`, as it is written."""

    asked: dict[str, Any]


def _is_digest(said: str, written: dict[str, Any], read: msgspec.Struct) -> bool:
    """Whether a digest is that of settings: as this version reads them, or as the one that wrote them did."""
    try:
        # Fields that have since been added, with a default, are in no digest of that time.
        fields = [canonical_json(name) + b":" + canonical_json(value) for name, value in written.items()]
        return said in (digest(read), digest_bytes(b"{" + b",".join(fields) + b"}"))
    except UNREADABLE:
        return False


def of_counts(counts: Counts, samples: int) -> Apart | None:
    """Whether counts can be those of a run.

    Args:
        counts: of its results.
        samples: responses that were asked for of each instance.
    """
    numbers = {name: getattr(counts, name) for name in counts.__struct_fields__ if name != "failures"}
    numbers |= {f"failures.{name}": number for name, number in counts.failures.items()}
    for name, number in numbers.items():
        if number < 0:
            return Apart(f"{RESULTS}: counts.{name} is {number}, so it was changed after it was written")
    done = counts.scored + counts.failed + counts.missing
    if (
        counts.instances > counts.dataset
        or counts.samples != counts.instances * samples
        or done + counts.pending != counts.samples
    ):
        return Apart(f"{RESULTS}: its counts do not go together, so it was changed after it was written")
    return None


def of_number(results: Results, have: int) -> Apart | None:
    """Whether there are as many scores as the results are of."""
    said = results.counts.scored
    if have == said:
        return None
    told = f"{RESULTS} is of {said} scores and {SCORES} holds {have}"
    if have > said:
        return Apart(f"{told}, as after a smaller --limit", f"{AGAIN} without --limit", damaged=False)
    return Apart(told)


def of_statistics(good: Iterable[ScoreRecord]) -> Apart | None:
    """Whether the numbers of all scores can be added up."""
    for score in good:
        for name, what in out_of_range(score.stats).items():
            return Apart(f"{SCORES}: {name[:40]!r} of the instance {id_shown(score.id)} {what}")
    return None


def of_values(metrics: Sequence[Metric], results: Results, columns: ScoreColumns) -> Apart | None:
    """Whether the scores come to the values of the metrics, but for one that the task has come to have since."""
    for place, metric in enumerate(metrics):
        if place and metric.name not in results.metrics:
            continue
        said = results.metrics.get(metric.name, MetricResult(None)).value
        found = columns.value(metric) if columns.ids else math.nan
        if said is None and math.isnan(found):
            continue
        if said is None or not math.isclose(said, found, rel_tol=1e-6, abs_tol=1e-9):
            return Apart(
                f"its scores come to another {metric.name} than {RESULTS} says: the scores, the results or the"
                " task's formula were changed after they were written",
                "the run's command given again takes the scores as they are now",
            )
    return None
