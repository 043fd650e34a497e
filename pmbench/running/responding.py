"""The phase `respond`: every instance a coroutine asking the model; each response a line, as it arrives."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from typing import Any

import msgspec

from pmbench.core.digest import SHORT, digest
from pmbench.core.instance import Instance
from pmbench.core.model import Usage
from pmbench.core.task import StrategyContext
from pmbench.models.facade import Call, tracking
from pmbench.running.faults import check_writable, is_ours, kind_of, leading
from pmbench.running.folder import Appender
from pmbench.running.plan import Plan
from pmbench.running.progress import Progress
from pmbench.running.records import ResponseRecord, slim
from pmbench.running.workers import Stop, over, width_for

Key = tuple[str, int]
"""Id of an instance and number of a sample."""

MANY = 10
"""Requests of one instance from which on the user is told how many are answered."""

_WORST = ("error", "refused", "length")


async def respond(plan: Plan, have: dict[Key, ResponseRecord], progress: Progress, stop: Stop) -> None:
    """Answer what `have` does not hold yet, adding each record to it and to `responses.jsonl`.

    Args:
        plan: the run.
        have: records that are there.
        progress: hears of it.
        stop: set when no further request can be sent; what is left stays open.

    Raises:
        UserError: the disk is full, the model cannot be opened; what was answered is kept.
    """
    wanted = plan.items
    todo = [item for item in wanted if _open(have.get(item[0]), plan.request.retry_failed)]
    if not todo:
        return
    progress.start("respond", len(wanted), len(wanted) - len(todo))
    with Appender(plan.folder.responses) as lines:

        async def answer(item: tuple[Key, Instance]) -> None:
            key, instance = item
            record = await _respond_one(plan, instance, key[1])
            lines.append(record)
            have[key] = slim(record)
            progress.advance(failed=record.status == "failed")

        width = width_for(plan.model.parallel, _at_once(plan, todo[0][1]))
        if plan.request.batch_api:
            # A job is made of what is asked at the same time.
            width = len(todo)
        async with _telling_of_requests(plan, [instance for _, instance in todo], progress):
            await over(todo, answer, width=width, stop=stop)
    progress.finish()


@contextlib.asynccontextmanager
async def _telling_of_requests(
    plan: Plan, instances: Sequence[Instance], progress: Progress
) -> AsyncIterator[None]:
    """Tell every second how many requests are answered, where an instance takes many."""
    estimates = [plan.strategy.estimate(instance.inputs, plan.task.option) for instance in instances]
    if max(most for _, most in estimates) < MANY:
        yield
        return
    wanted = sum(most for _, most in estimates) if all(low == high for low, high in estimates) else 0
    began = plan.model.done

    async def tell() -> None:
        while True:
            await asyncio.sleep(1.0)
            progress.requests(plan.model.done - began, wanted)

    telling = asyncio.create_task(tell())
    try:
        yield
        progress.requests(plan.model.done - began, wanted)
    finally:
        telling.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await telling


def _at_once(plan: Plan, instance: Instance) -> int:
    """Requests that an instance makes at once: an inbox asks hundreds of comparisons."""
    return plan.strategy.estimate(instance.inputs, plan.task.option)[0]


def response_digest(response: ResponseRecord) -> str:
    """Which response a score is of: a response made anew is scored anew."""
    return digest([response.text, response.data])[:SHORT]


def _open(record: ResponseRecord | None, retry_failed: bool) -> bool:
    return record is None or (retry_failed and record.status == "failed")


async def _respond_one(plan: Plan, instance: Instance, sample: int) -> ResponseRecord:
    context = StrategyContext(plan.task.option, plan.embedder, plan.request.seed)
    base = ResponseRecord(id=instance.id, sample=sample, round=plan.round)
    with tracking(instance.id, sample) as calls:
        try:
            response = await plan.strategy(instance.inputs, plan.model, context)
            record = msgspec.structs.replace(base, text=response.text, data=dict(response.data))
            check_writable(record)
        except BaseException as raised:  # noqa: BLE001 - what is ours goes on
            error = leading(raised)
            if is_ours(error):
                raise error from None
            kind = kind_of(error, "strategy-error")
            record = msgspec.structs.replace(base, status="failed", failure=kind)
    return msgspec.structs.replace(
        record,
        finish=_worst_finish(calls),
        reasoning=[call.reasoning for call in calls if call.reasoning],
        **totals(calls),
        retries=sum(call.retries for call in calls),
    )


def _worst_finish(calls: Sequence[Call]) -> str:
    finishes = {call.finish for call in calls}
    return next((reason for reason in _WORST if reason in finishes), "stop")


def totals(calls: Sequence[Call]) -> dict[str, Any]:
    """Calls, usage, seconds and cost of calls, added up; the cost is None where one has no known price."""
    usage = Usage()
    for call in calls:
        usage = usage + call.usage
    prices = [call.cost for call in calls]
    cost = None if not prices or None in prices else sum(price for price in prices if price is not None)
    return {
        "calls": len(calls),
        "usage": usage,
        "seconds": round(sum(call.latency for call in calls), 4),
        "cost": cost,
        "one_hot": sum(call.one_hot for call in calls),
        "served": sorted({call.served for call in calls if call.served}),
    }
