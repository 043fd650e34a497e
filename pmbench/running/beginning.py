"""Beginning a run, going on with one, or beginning it anew with `--fresh`.

A round is a number in `run.json` and in every line of `responses.jsonl` and `scores.jsonl`; only lines of the
current round count. Raising it is one replacement of `run.json`, so there is no moment at which a kill could leave
half a round behind, and the lines of earlier rounds stay where they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from pmbench.core.errors import StorageError
from pmbench.running.environment import environment
from pmbench.running.folder import read_lines
from pmbench.running.judging import SCORES
from pmbench.running.plan import Plan
from pmbench.running.progress import Progress
from pmbench.running.records import DataRecord, ResponseRecord, RunRecord, ScoreRecord


def begin(plan: Plan) -> RunRecord:
    """What `run.json` says, written first where the run is new or, with `--fresh`, begun anew.

    Raises:
        StorageError: the folder belongs to another run, or `run.json` cannot be read and `--fresh` is not given.
    """
    try:
        record = plan.folder.record()
    except StorageError:
        if not plan.request.fresh:
            raise
        return _write(plan, _last_round(plan) + 1)
    if record is None:
        # What other runs have asked before is in the store: a new run that is to ask everything has a round too.
        return _write(plan, 1 if plan.request.fresh else 0)
    if record.digest != plan.run_digest:
        raise StorageError(
            "this folder belongs to another run",
            where=str(plan.folder.path),
            remedy="Move the folder away, or use another --runs folder",
        )
    if not plan.request.fresh:
        return record
    return _write(plan, max(record.round, _last_round(plan)) + 1)


def begin_anew(plans: Sequence[Plan], progress: Progress) -> None:
    """Begin a round of every run of a command with `--fresh`, before any of them is carried out.

    Where one of them has a round that an earlier `--fresh` began and that is not done, the command is a resume:
    nothing is begun anew, the parts that are done stay done, and the others are gone on with.

    Raises:
        RunLocked: another process is in one of the runs.
    """
    fresh = [plan for plan in plans if plan.request.fresh]
    if any(map(_under_way, fresh)):
        progress.note("going on with the round that --fresh began")
    else:
        for plan in {plan.folder.path: plan for plan in fresh}.values():
            with plan.folder.locked():
                begin(plan)
    for plan in fresh:
        plan.request = replace(plan.request, fresh=False)


def _under_way(plan: Plan) -> bool:
    """Whether a round that `--fresh` began is not done."""
    try:
        record = plan.folder.record()
    except StorageError:
        return False
    return record is not None and bool(record.round) and not _done(plan, record.round)


def _done(plan: Plan, number: int) -> bool:
    """Whether every response of a round is there, and scored by these judges or failed."""
    responses = {
        (r.id, r.sample): r for r in read_lines(plan.folder.responses, ResponseRecord) if r.round == number
    }
    path = plan.folder.scores(plan.scoring_digest) / SCORES
    scored = {(s.id, s.sample) for s in read_lines(path, ScoreRecord) if s.round == number}
    return all(
        (found := responses.get((instance.id, k))) is not None
        and (found.status == "failed" or (instance.id, k) in scored)
        for instance in plan.chosen
        for k in range(plan.request.samples)
    )


def _last_round(plan: Plan) -> int:
    return max((r.round for r in read_lines(plan.folder.responses, ResponseRecord)), default=0)


def _write(plan: Plan, number: int) -> RunRecord:
    dataset, request = plan.dataset, plan.request
    record = RunRecord(
        digest=plan.run_digest,
        asked=plan.asked,
        model=plan.system,
        spec=str(plan.model.spec),
        data=DataRecord(
            given=_absolute(request.data),
            split=request.split,
            asked_columns=dict(request.columns),
            kind=dataset.source.kind,
            location=dataset.source.location,
            revision=dataset.source.revision,
            files=dict(dataset.source.files),
            columns=dict(dataset.columns),
            sensitivity=dataset.sensitivity,
            instances=len(dataset.instances),
        ),
        round=number,
        remote=plan.remote,
        allow_remote=request.allow_remote,
        command=list(request.command),
        environment=environment(),
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    plan.folder.write_record(record)
    return record


def _absolute(data: str | None) -> str | None:
    if data is None or data == "demo" or not Path(data).exists():
        return data
    return str(Path(data).resolve())
