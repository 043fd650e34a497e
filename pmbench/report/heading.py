"""What was run, and what a reader has to know of it before the numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pmbench.core.task import Task
from pmbench.leaderboard.plain_words import NOBODY
from pmbench.leaderboard.wording import counted, judges_text
from pmbench.running.agreement import checked
from pmbench.running.finite import unusable_lines
from pmbench.running.reading import StoredRun
from pmbench.running.results import Results
from pmbench.stats.bootstrap import FEW_CLUSTERS

Fact = tuple[str, str]
"""A label and what stands under it."""

_NARROW = "percentile bootstrap by cluster"
"""The method whose intervals are too narrow where clusters are few, as results name it."""

_SHORT = 12
"""Digits of a digest that are shown, as everywhere."""


def facts(run: StoredRun, results: Results, *, texts: bool) -> list[Fact]:
    """Task, data, system, judges and versions; places of files are left out where texts are."""
    record = run.record
    asked, data = record.asked, record.data
    system = (
        record.model if not texts or record.spec in ("", record.model) else f"{record.model}: {record.spec}"
    )
    if record.model == NOBODY:
        system = "none: the strategy asks no model"
    place = data.location if texts else data.kind
    told = {
        "Task": f"{asked.task}, version {asked.task_version}",
        "Options": _pairs(run.options, "="),
        "Data": f"{place}, {counted(data.instances, 'instance')}, {data.sensitivity}",
        "Fingerprint of the data": asked.fingerprint[:_SHORT],
        "System": system,
        "Identity of the model": _pairs(asked.model, " "),
        "Strategy": asked.strategy,
        "Sampling": _sampling(run),
        "Judges": judges_text(results.judges),
        "Embedder of the strategy": _pairs(asked.embedder, " "),
        "Run": f"{record.digest[:_SHORT]}, begun {record.created_at}"
        + (f", round {record.round}" * bool(record.round)),
        "Scoring": f"{results.scoring[:_SHORT]}, finished {results.finished_at}",
        "Versions": ", ".join(_versions(record.environment)),
    }
    return [(label, text) for label, text in told.items() if text]


def cautions(run: StoredRun, task: Task, results: Results) -> Iterator[str]:
    """What keeps the numbers from being taken at their word, the gravest first."""
    apart = checked(run)
    if apart is not None:
        yield f"Not to be trusted: {apart}."
    if run.record.data.kind == "demo":
        yield "Demo data, made up: this shows how a report reads, and nothing of how good the system is."
    if results.round != run.record.round:
        yield f"These results are of round {results.round}: the run was begun anew and is not finished."
    if results.status != "complete":
        yield f"The run is {results.status}" + (f": {results.reason.rstrip('.')}." if results.reason else ".")
    yield from _few(task, results)
    yield from _notes(task, results)
    yield from task.cautions(results.judges)
    yield from unusable_lines(results.unusable)
    for why in run.broken:
        yield f"A scoring of this run cannot be shown: {why}"


def _few(task: Task, results: Results) -> Iterator[str]:
    """What few clusters do to intervals; those of a plain percentile bootstrap are too narrow then."""
    by_cluster = [one.name for one in task.metrics if one.scheme == "cluster" and one.group is None]
    clusters = results.statistics.clusters
    found = [results.metrics[name] for name in by_cluster if name in results.metrics]
    if clusters >= FEW_CLUSTERS or all(one.low is None for one in found):
        return
    if results.statistics.method == _NARROW:
        yield f"Intervals from {clusters} clusters (fewer than {FEW_CLUSTERS}) are narrower than they should be."
    else:
        yield f"There are only {clusters} clusters (fewer than {FEW_CLUSTERS}): small differences cannot be shown."


def _notes(task: Task, results: Results) -> Iterator[str]:
    """What is special about metrics, each remark once."""
    told: dict[str, list[str]] = {}
    for metric in task.metrics:
        found = results.metrics.get(metric.name)
        if found is not None and found.note:
            told.setdefault(found.note, []).append(metric.title)
    for note, titles in told.items():
        of = ", ".join(titles) if len(titles) < 5 else f"{', '.join(titles[:3])} and {len(titles) - 3} others"
        yield f"{of}: {note}."


def _sampling(run: StoredRun) -> str:
    asked = run.record.asked
    limits = {"temperature": asked.temperature, "at most tokens": asked.max_tokens}
    told = [f"{name} {value}" for name, value in limits.items() if value is not None]
    return ", ".join([f"{counted(asked.samples, 'sample')} per instance", f"seed {asked.seed}", *told])


def _pairs(values: Mapping[str, Any], between: str) -> str:
    return ", ".join(f"{name}{between}{value}" for name, value in values.items())


def _versions(environment: Mapping[str, Any]) -> Iterator[str]:
    packages = environment.get("packages")
    if isinstance(packages, dict):
        yield from (f"{name} {version}" for name, version in packages.items())
    if "python" in environment:
        yield f"Python {environment['python']}"
