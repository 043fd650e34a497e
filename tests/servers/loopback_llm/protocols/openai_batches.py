"""OpenAI's files and batch jobs."""

from __future__ import annotations

from email import message_from_bytes
from email.policy import HTTP
from typing import Any

import msgspec

from ..jobs import Job, StoredFile
from ..vendors import OPENAI, Vendor
from ..wire import Call, Json, Payload, Refused, encode
from .endpoint import Endpoint, State
from .items import answer_item
from .openai_chat import CREATED


class OpenAIFiles(Endpoint):
    """`/v1/files`, `/v1/files/X` and `/v1/files/X/content`."""

    vendor: Vendor = OPENAI

    def answer(self, call: Call, state: State) -> Payload:
        """Uploads, lists, describes, gives out or deletes a file."""
        wanted = call.params.get("file")
        if wanted is None:
            if call.method == "POST":
                return Payload(encode(_describe(_uploaded(call, state))))
            return Payload(
                encode({"object": "list", "data": [_describe(f) for f in state.jobs.files.values()]})
            )
        stored = state.jobs.files.get(wanted)
        if stored is None:
            raise Refused(404, f"No such File object: {wanted}")
        if call.params.get("content"):
            return Payload(stored.content, content_type="application/octet-stream")
        if call.method == "DELETE":
            del state.jobs.files[wanted]
            return Payload(encode({"id": wanted, "object": "file", "deleted": True}))
        return Payload(encode(_describe(stored)))


class OpenAIBatches(Endpoint):
    """`/v1/batches`, `/v1/batches/X` and `/v1/batches/X/cancel`."""

    vendor: Vendor = OPENAI

    def answer(self, call: Call, state: State) -> Payload:
        """Submits, lists, describes or cancels a job."""
        wanted = call.params.get("job")
        if wanted is None:
            if call.method == "POST":
                return Payload(encode(_batch(_submitted(call, state), state, ended=False)))
            page, more = state.jobs.page(int(call.query.get("limit", 20)), call.query.get("after"))
            jobs = [_batch(job, state, ended=job.poll()) for job in page]
            return Payload(encode({"object": "list", "data": jobs, "has_more": more}))
        job = state.jobs.jobs.get(wanted)
        if job is None:
            raise Refused(404, f"No batch found with id '{wanted}'.")
        if call.params.get("cancel"):
            job.ends, job.polls_left = "cancelled", 0
            return Payload(encode({**_batch(job, state, ended=False), "status": "cancelling"}))
        return Payload(encode(_batch(job, state, ended=job.poll())))


def _uploaded(call: Call, state: State) -> StoredFile:
    head = f"Content-Type: {call.headers.get('Content-Type', '')}\r\n\r\n".encode()
    form = message_from_bytes(head + call.raw, policy=HTTP)
    fields: dict[str, Any] = {}
    for part in form.iter_parts() if form.is_multipart() else ():
        name = part.get_param("name", header="content-disposition")
        fields[str(name)] = part
    if "file" not in fields:
        raise Refused(400, "'file' is a required property")
    purpose = fields["purpose"].get_content().strip() if "purpose" in fields else "batch"
    name = fields["file"].get_filename() or "upload"
    return state.jobs.keep_file(name, purpose, fields["file"].get_payload(decode=True))


def _describe(stored: StoredFile) -> Json:
    size = len(stored.content)
    head = {"id": stored.identifier, "object": "file", "bytes": size, "created_at": CREATED}
    return {**head, "filename": stored.name, "purpose": stored.purpose, "status": "processed"}


def _submitted(call: Call, state: State) -> Job:
    body = call.json()
    stored = state.jobs.files.get(str(body.get("input_file_id")))
    if stored is None:
        raise Refused(400, f"File {body.get('input_file_id')} not found.")
    try:
        lines: list[Json] = [
            msgspec.json.decode(line) for line in stored.content.splitlines() if line.strip()
        ]
    except msgspec.DecodeError:
        raise Refused(400, "The input file is not JSON lines.") from None
    results = [_result(line, state) for line in lines]
    batches = state.plan.batches
    job = Job(state.jobs.new_id("batch_"), body, len(lines), results, batches.polls, batches.ends)
    state.jobs.jobs[job.identifier] = job
    return job


def _result(line: Json, state: State) -> Json:
    # OpenAI's lines name the path that they would have been sent to.
    item = answer_item(str(line.get("url")), encode(line.get("body")), state)
    response = {"status_code": item.status, "request_id": state.jobs.new_id("req_"), "body": item.body}
    identifier = state.jobs.new_id("batch_req_")
    return {"id": identifier, "custom_id": line.get("custom_id"), "response": response, "error": None}


def _batch(job: Job, state: State, *, ended: bool) -> Json:
    if job.ended is None and ended:
        job.ended = _ended(job, state)
    body = job.description
    described = {
        "id": job.identifier,
        "object": "batch",
        "endpoint": body.get("endpoint"),
        "errors": None,
        "input_file_id": body.get("input_file_id"),
        "completion_window": body.get("completion_window", "24h"),
        "created_at": CREATED,
        "expires_at": CREATED + 86400,
        "metadata": body.get("metadata"),
        "output_file_id": None,
        "error_file_id": None,
        "status": "in_progress",
        "request_counts": {"total": job.size, "completed": 0, "failed": 0},
    }
    return {**described, **(job.ended or {})}


def _ended(job: Job, state: State) -> Json:
    if job.ends == "failed":  # the job was not even begun: the input is at fault
        error = {
            "code": "invalid_json_line",
            "message": "This line is not parseable as valid JSON.",
            "line": 1,
        }
        return {"status": "failed", "errors": {"object": "list", "data": [error]}, "failed_at": CREATED + 60}
    done = job.results if job.ends == "completed" else job.results[: job.size // 2]
    left = [] if job.ends == "completed" else job.results[job.size // 2 :]
    good = [r for r in done if r["response"]["status_code"] == 200]
    bad = [r for r in done if r["response"]["status_code"] != 200]
    error = {"code": f"batch_{job.ends}", "message": f"This request was not executed: the batch {job.ends}."}
    bad += [{**r, "response": None, "error": error} for r in left]
    return {
        "status": job.ends,
        f"{job.ends}_at": CREATED + 60,
        "output_file_id": _written(good, "output", state),
        "error_file_id": _written(bad, "error", state),
        "request_counts": {"total": job.size, "completed": len(good), "failed": len(bad)},
    }


def _written(results: list[Json], kind: str, state: State) -> str | None:
    if not results:
        return None
    # Backwards: the order of the lines is not promised, and nobody may count on it.
    content = b"".join(encode(result) + b"\n" for result in reversed(results))
    return state.jobs.keep_file(f"batch_{kind}.jsonl", "batch_output", content).identifier
