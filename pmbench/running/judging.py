"""The phase `score`: every response a coroutine that asks the judges; each score a line, as it arrives."""

from __future__ import annotations

from pmbench.core.errors import RequestFailed, Unscored, UserError
from pmbench.core.instance import Instance, Response, Score
from pmbench.models.facade import tracking
from pmbench.running.folder import Appender, read_lines
from pmbench.running.plan import Plan
from pmbench.running.progress import Progress
from pmbench.running.records import ResponseRecord, ScoreRecord
from pmbench.running.responding import Key, fault, response_digest, totals
from pmbench.running.workers import over, width_for

SCORES = "scores.jsonl"
EMBEDDED_PARALLEL = 16
"""Responses in flight for judges that are no chat models: enough to fill batches of the embedder."""


def stored_scores(plan: Plan) -> dict[Key, ScoreRecord]:
    """Scores that are on disk, the last of each instance and sample."""
    path = plan.folder.scores(plan.scoring_digest) / SCORES
    return {(record.id, record.sample): record for record in read_lines(path, ScoreRecord)}


async def score(
    plan: Plan, responses: dict[Key, ResponseRecord], have: dict[Key, ScoreRecord], progress: Progress
) -> None:
    """Score what `have` does not hold yet, or holds for another response of the same instance.

    Raises:
        UserError: the disk is full, a judge cannot be opened; what was scored is kept.
    """
    answered = [
        (instance, responses[instance.id, k])
        for instance in plan.chosen
        for k in range(plan.request.samples)
        if (instance.id, k) in responses and responses[instance.id, k].status == "ok"
    ]
    todo = [item for item in answered if _open(item[1], have, plan.request.retry_failed)]
    if not todo:
        return
    progress.start("score", len(answered), len(answered) - len(todo))
    path = plan.folder.scores(plan.scoring_digest) / SCORES
    parallel = max((model.parallel for model in plan.judge_models.values()), default=EMBEDDED_PARALLEL)
    with Appender(path) as lines:

        async def judge(item: tuple[Instance, ResponseRecord]) -> None:
            instance, response = item
            record = await _score_one(plan, instance, response)
            lines.append(record)
            have[instance.id, response.sample] = record
            progress.advance(failed=record.status == "missing")

        await over(todo, judge, width=width_for(parallel))
    progress.finish()


def _open(response: ResponseRecord, have: dict[Key, ScoreRecord], retry_failed: bool) -> bool:
    record = have.get((response.id, response.sample))
    if record is None or record.response != response_digest(response):
        return True
    return retry_failed and record.status == "missing"


async def _score_one(plan: Plan, instance: Instance, response: ResponseRecord) -> ScoreRecord:
    failure, found = "", Score({})
    with tracking(instance.id, response.sample) as calls:
        try:
            found = await plan.task.score(instance, Response(response.text, response.data), plan.judges)
        except (RequestFailed, Unscored) as error:
            failure = error.kind
        except UserError:
            raise
        except Exception as error:  # noqa: BLE001 - a plugin's fault costs one score, not the run
            failure = fault(error)
    return ScoreRecord(
        id=instance.id,
        sample=response.sample,
        cluster=instance.cluster or instance.id,
        slices=dict(instance.slices),
        status="missing" if failure else "ok",
        stats={name: float(value) for name, value in found.stats.items()},
        units=list(found.units),
        arrays=dict(found.arrays),
        failure=failure,
        response=response_digest(response),
        evidence=found.evidence,
        **totals(calls),
    )
