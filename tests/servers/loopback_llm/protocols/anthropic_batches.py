"""Anthropic's batch jobs."""

from __future__ import annotations

from ..jobs import Job
from ..vendors import ANTHROPIC, Vendor
from ..wire import Call, Json, Payload, Refused, encode
from .endpoint import Endpoint, State
from .items import answer_item

_BEGUN, _DONE, _END = "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z", "2026-01-02T00:00:00Z"


class AnthropicBatches(Endpoint):
    """`/v1/messages/batches`, `/v1/messages/batches/X`, `…/X/results` and `…/X/cancel`."""

    vendor: Vendor = ANTHROPIC

    def answer(self, call: Call, state: State) -> Payload:
        """Submits, lists, describes or cancels a job, or gives out its results."""
        wanted = call.params.get("job")
        if wanted is None:
            if call.method == "POST":
                return Payload(encode(_batch(_submitted(call, state), call, ended=False)))
            page, more = state.jobs.page(int(call.query.get("limit", 20)), call.query.get("after_id"))
            jobs = [_batch(job, call, ended=job.poll()) for job in page]
            ends = {"first_id": page[0].identifier, "last_id": page[-1].identifier} if page else {}
            return Payload(encode({"data": jobs, "has_more": more, **ends}))
        job = state.jobs.jobs.get(wanted)
        if job is None:
            raise Refused(404, f"Message Batch with ID {wanted!r} not found.")
        if call.params.get("results"):
            return _results(job)
        if call.params.get("cancel"):
            job.ends, job.polls_left = "cancelled", 0
            return Payload(encode({**_batch(job, call, ended=False), "processing_status": "canceling"}))
        return Payload(encode(_batch(job, call, ended=job.poll())))


def _submitted(call: Call, state: State) -> Job:
    requests = call.json().get("requests")
    if not isinstance(requests, list) or not requests:
        raise Refused(400, "requests: Field required")
    results = []
    for request in requests:
        item = answer_item("/v1/messages", encode(request.get("params") or {}), state)
        result: Json = {"type": "succeeded", "message": item.body}
        if item.status != 200:
            result = {"type": "errored", "error": item.body}
        results.append({"custom_id": request.get("custom_id"), "result": result})
    batches = state.plan.batches
    # Anthropic's jobs do not fail as a whole; what the plan calls failed is one whose items all errored.
    job = Job(state.jobs.new_id("msgbatch_"), {}, len(results), results, batches.polls, batches.ends)
    state.jobs.jobs[job.identifier] = job
    return job


def _shown(job: Job) -> list[Json]:
    if job.ends == "completed":
        return job.results
    if job.ends == "failed":
        error = {"type": "error", "error": {"type": "api_error", "message": "Internal server error"}}
        return [{**r, "result": {"type": "errored", "error": error}} for r in job.results]
    other = {"type": "expired" if job.ends == "expired" else "canceled"}
    half = job.size // 2
    return [*job.results[:half], *({**r, "result": other} for r in job.results[half:])]


def _batch(job: Job, call: Call, *, ended: bool) -> Json:
    counts = dict.fromkeys(("processing", "succeeded", "errored", "canceled", "expired"), 0)
    if ended:
        for result in _shown(job):
            counts[result["result"]["type"]] += 1
    else:
        counts["processing"] = job.size
    root = f"http://{call.headers.get('Host', '')}/v1/messages/batches/{job.identifier}"
    return {
        "id": job.identifier,
        "type": "message_batch",
        "processing_status": "ended" if ended else "in_progress",
        "request_counts": counts,
        "created_at": job.created.isoformat(),
        "expires_at": _END,
        "ended_at": _DONE if ended else None,
        "archived_at": None,
        "cancel_initiated_at": None,
        "results_url": f"{root}/results" if ended else None,
    }


def _results(job: Job) -> Payload:
    if job.polls_left:
        raise Refused(404, f"Message Batch {job.identifier} has no available results.")
    # Backwards: the order of the lines is not promised, and nobody may count on it.
    lines = b"".join(encode(result) + b"\n" for result in reversed(_shown(job)))
    return Payload(lines, content_type="application/x-jsonl")
