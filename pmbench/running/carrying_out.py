"""Carrying out a plan: lock, respond, score, aggregate. The same command again is the resume."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from pmbench.core.errors import StorageError
from pmbench.running.aggregating import aggregate
from pmbench.running.environment import environment
from pmbench.running.folder import RunFolder, make_folder, read_json, read_lines, storing, write_json
from pmbench.running.judging import score, stored_scores
from pmbench.running.plan import Plan
from pmbench.running.progress import Progress
from pmbench.running.records import DataRecord, ResponseRecord, Results, RunRecord, ScoreRecord
from pmbench.running.responding import Key, respond

RESULTS, SCORING = "results.json", "scoring.json"


@dataclass(frozen=True)
class Outcome:
    """What a command came to.

    Attributes:
        results: as in `results.json`.
        interrupted: whether it was stopped by the user.
        asked: requests that this process made to models and judges, retries included (recorded answers are
            not asked for); stored: answers taken from the store.
        kept: whether `results.json` keeps the results of more instances, made before.
        cut: texts that the embedder cut off at its limit in this process.
        folder: the folder of the scores.
    """

    results: Results
    interrupted: bool
    asked: int
    stored: int
    kept: bool
    cut: int
    folder: Path


def carry_out(plan: Plan, progress: Progress) -> Outcome:
    """Do what is missing of a run and return its results, which are also on disk.

    Raises:
        RunLocked: another process is in this run.
        UserError: the disk is full, a model cannot be opened; what was done is kept.
    """
    with plan.folder.locked():
        record = _begin(plan)
        plan.begin_round(record.round)
        return asyncio.run(_phases(plan, progress))


async def _phases(plan: Plan, progress: Progress) -> Outcome:
    responses: dict[Key, ResponseRecord] = {
        (r.id, r.sample): r for r in read_lines(plan.folder.responses, ResponseRecord)
    }
    scores: dict[Key, ScoreRecord] = stored_scores(plan)
    interrupted = False
    try:
        await respond(plan, responses, progress)
        await plan.model.close()
        await score(plan, responses, scores, progress)
    except asyncio.CancelledError:
        # The user's Ctrl-C reaches the coroutine as its cancellation; what is on disk is counted and shown.
        interrupted = True
    finally:
        await _quietly(plan.close)
    results = aggregate(plan, responses, scores, interrupted=interrupted)
    models = (plan.model, *plan.judge_models.values())
    kept = _write_results(plan, results)
    return Outcome(
        results=results,
        interrupted=interrupted,
        asked=sum(model.requests for model in models if model.backend.keeps),
        stored=sum(model.answered_from_store for model in models),
        kept=kept,
        cut=plan.embedder.truncated if plan.embedder else 0,
        folder=plan.folder.scores(plan.scoring_digest),
    )


async def _quietly(close: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Close even while being cancelled: a second Ctrl-C must not leave the store unflushed."""
    closing = asyncio.ensure_future(close())
    try:
        await asyncio.shield(closing)
    except asyncio.CancelledError:
        await closing


def _begin(plan: Plan) -> RunRecord:
    """Write `run.json` where the run is new or begun anew; otherwise return what it says."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    record = plan.folder.record()
    if record is not None and record.digest != plan.run_digest:
        raise StorageError(
            "this folder belongs to another run",
            where=str(plan.folder.path),
            remedy="Move the folder away, or use another --runs folder",
        )
    if record is not None and not plan.request.fresh:
        return record
    number = 0
    if record is not None:
        number = record.round + 1
        _put_aside(plan.folder, record.round)
    dataset = plan.dataset
    record = RunRecord(
        digest=plan.run_digest,
        asked=plan.asked,
        model=plan.request.model,
        spec=str(plan.model.spec),
        data=DataRecord(
            given=_absolute(plan.request.data),
            split=plan.request.split,
            kind=dataset.source.kind,
            location=dataset.source.location,
            revision=dataset.source.revision,
            files=dict(dataset.source.files),
            columns=dict(dataset.columns),
            sensitivity=dataset.sensitivity,
            instances=len(dataset.instances),
        ),
        round=number,
        command=list(plan.request.command),
        environment=environment(),
        created_at=now,
    )
    plan.folder.write_record(record)
    return record


def _absolute(data: str | None) -> str | None:
    return str(Path(data).resolve()) if data is not None and Path(data).exists() else data


def _put_aside(folder: RunFolder, number: int) -> None:
    """Keep what an earlier round answered and scored, out of the way: it was paid for."""
    earlier = folder.path / "earlier" / f"round-{number}"
    make_folder(earlier)
    for name in ("run.json", "responses.jsonl", "scores"):
        source = folder.path / name
        if source.exists():
            with storing(earlier):
                source.rename(earlier / name)


def _write_results(plan: Plan, results: Results) -> bool:
    """Write `results.json` and `scoring.json`, unless they say the same; whether they keep more instances."""
    folder = plan.folder.scores(plan.scoring_digest)
    path = folder / RESULTS
    if path.exists():
        try:
            old = read_json(path, Results)
        except StorageError:
            old = None
        if old is not None and msgspec.structs.replace(old, finished_at=results.finished_at) == results:
            return False
        if old is not None and old.counts.instances > results.counts.instances:
            # A part of the instances (`--limit`) does not take the place of more that were done before.
            return True
    write_json(folder / SCORING, plan.scoring)
    write_json(path, results)
    return False
