"""The phase `score`: every response a coroutine that asks the judges; each score a line, as it arrives."""

from __future__ import annotations

import msgspec

from pmbench.core.instance import Instance, Response
from pmbench.models.facade import tracking
from pmbench.running.faults import check_writable, is_ours, kind_of, leading
from pmbench.running.finite import UnusableScore, evidence_of, out_of_range, usable
from pmbench.running.folder import Appender, read_lines
from pmbench.running.plan import Plan
from pmbench.running.progress import Progress
from pmbench.running.records import ResponseRecord, ScoreRecord, slim
from pmbench.running.responding import Key, response_digest, totals
from pmbench.running.workers import Stop, over, width_for

SCORES = "scores.jsonl"
EMBEDDED_PARALLEL = 16
"""Responses in flight for judges that are no chat models: enough to fill batches of the embedder."""


def stored_scores(plan: Plan) -> dict[Key, ScoreRecord]:
    """Scores of this round that are on disk, the last of each instance and sample."""
    path = plan.folder.scores(plan.scoring_digest) / SCORES
    return {(r.id, r.sample): slim(r) for r in read_lines(path, ScoreRecord) if r.round == plan.round}


async def score(
    plan: Plan,
    responses: dict[Key, ResponseRecord],
    have: dict[Key, ScoreRecord],
    progress: Progress,
    stop: Stop,
) -> None:
    """Score what `have` does not hold yet, or holds for another response of the same instance.

    Args:
        plan: the run.
        responses: what is scored.
        have: scores that are there.
        progress: hears of it.
        stop: set when no further request can be sent; what is left stays open.

    Raises:
        UserError: the disk is full, a judge cannot be opened; what was scored is kept.
    """
    answered = [item for item in plan.items if item[0] in responses and responses[item[0]].status == "ok"]
    todo = [item for item in answered if _open(responses[item[0]], have, plan.request.retry_failed)]
    if not todo:
        return
    progress.start("score", len(answered), len(answered) - len(todo))
    path = plan.folder.scores(plan.scoring_digest) / SCORES
    parallel = max((model.parallel for model in plan.judge_models.values()), default=EMBEDDED_PARALLEL)
    with Appender(path) as lines:

        async def judge(item: tuple[Key, Instance]) -> None:
            key, instance = item
            record = await _score_one(plan, instance, responses[key])
            lines.append(record)
            have[key] = slim(record)
            progress.advance(failed=record.status == "missing")

        width = len(todo) if plan.request.batch_api else width_for(parallel)
        await over(todo, judge, width=width, stop=stop)
    progress.finish()


def _open(response: ResponseRecord, have: dict[Key, ScoreRecord], retry_failed: bool) -> bool:
    record = have.get((response.id, response.sample))
    if record is None or record.response != response_digest(response):
        return True
    if record.status == "ok" and out_of_range(record.stats):  # Kept by a version that took any number.
        return True
    return retry_failed and (record.status == "missing" or record.failed_requests > 0)


async def _score_one(plan: Plan, instance: Instance, response: ResponseRecord) -> ScoreRecord:
    base = ScoreRecord(
        id=instance.id,
        sample=response.sample,
        round=plan.round,
        cluster=instance.cluster or instance.id,
        slices=dict(instance.slices),
        response=response_digest(response),
    )
    with tracking(instance.id, response.sample) as calls:
        try:
            found = await plan.task.score(instance, Response(response.text, response.data), plan.judges)
            record = msgspec.structs.replace(
                base,
                stats=usable(found.stats, plan.task.metrics),
                units=list(found.units),
                arrays=dict(found.arrays),
                evidence=found.evidence,
            )
            check_writable(record)
        except BaseException as raised:  # noqa: BLE001 - what is ours goes on
            error = leading(raised)
            if is_ours(error):
                raise error from None
            kind = kind_of(error, "scoring-error")
            kept = evidence_of(error) if isinstance(error, UnusableScore) else None
            record = msgspec.structs.replace(base, status="missing", failure=kind, evidence=kept)
    # A task may make a score of what it got in spite of requests that failed: only these are not in the store.
    failed = sum(bool(call.failure) for call in calls)
    return msgspec.structs.replace(record, failed_requests=failed, **totals(calls))
