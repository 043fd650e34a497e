"""One line for each run and scoring in a runs folder."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pmbench.core.errors import StorageError
from pmbench.running.agreement import of_counts
from pmbench.running.carrying_out import RESULTS
from pmbench.running.finding import all_runs
from pmbench.running.folder import RunFolder, read_json
from pmbench.running.places import Unread
from pmbench.running.records import RunRecord
from pmbench.running.results import Results


@dataclass(frozen=True)
class Line:
    """What a listing shows of one run and scoring, as text; `begun` is a date, `damaged`: it cannot be read."""

    digest: str
    task: str
    model: str
    strategy: str
    data: str = ""
    scoring: str = ""
    judges: str = ""
    status: str = "not scored"
    scored: str = ""
    primary: str = ""
    begun: str = ""
    damaged: bool = False


def overview(runs: Path, task: str | None = None) -> Iterator[Line]:
    """Every run below a folder; one that cannot be read is listed with the reason."""
    unread: list[Unread] = []
    for run in all_runs(runs, task, unread):
        yield from _lines(run)
    for one in unread:
        places = [*one.path.relative_to(runs).parts[:3], "", "", ""]
        yield Line(
            places[2].rpartition("-")[2],
            places[0],
            places[1],
            "",
            status=f"{one.path} {one.why}",
            damaged=True,
        )


def _lines(run: RunFolder) -> Iterator[Line]:
    digest = run.path.name.rpartition("-")[2]
    try:
        record, folders = run.record(), run.scorings()
    except StorageError as error:
        yield Line(
            digest,
            run.path.parent.parent.name,
            run.path.parent.name,
            "",
            status=f"unreadable: {error}",
            damaged=True,
        )
        return
    if record is None:
        return
    asked, begun = record.asked, record.created_at[:10]
    if not folders:
        data = Path(record.data.location).name
        yield Line(digest, asked.task, record.model, asked.strategy, data, begun=begun)
    for folder in folders:
        try:
            found = read_json(folder / RESULTS, Results)
        except StorageError as error:
            status = f"unreadable: {error}"
            yield Line(
                digest, asked.task, record.model, asked.strategy, status=status, begun=begun, damaged=True
            )
            continue
        apart = of_counts(found.counts, asked.samples)
        yield Line(
            digest,
            asked.task,
            record.model,
            asked.strategy,
            Path(record.data.location).name + _options(record, found),
            folder.name,
            ", ".join(f"{role}={name}" for role, name in found.judges.items()),
            found.status if apart is None else f"damaged: {apart}",
            f"{found.counts.scored}/{found.counts.samples}",
            _primary(found),
            begun,
            apart is not None,
        )


def _options(record: RunRecord, results: Results) -> str:
    """The task's options, those of the scoring among them."""
    options = {**results.options, **record.asked.options}
    return "".join(f" {name}={value}" for name, value in options.items())


def _primary(results: Results) -> str:
    metric = results.metrics.get(results.primary)
    if metric is None or metric.value is None:
        return f"{results.primary} –"
    spread = (
        f" ({metric.low:.3f} to {metric.high:.3f})"
        if metric.low is not None and metric.high is not None
        else ""
    )
    return f"{results.primary} {metric.value + 0.0:z.3f}{spread}"
