"""The batch API of OpenAI: a file of requests, a job over it, and one file of answers and one of errors."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from pmbench.core.errors import ModelUnavailable
from pmbench.core.model import Choice, Completion
from pmbench.models.backend import Request
from pmbench.models.serving import failures, payload
from pmbench.models.serving.jobs import Job, Jobs, Line, readable

if TYPE_CHECKING:
    from pmbench.models.backends.openai.backend import OpenAI

_WINDOW = "24h"
"""The only time within which OpenAI offers to answer."""

_TAG = "pmbench"

_ENDED = frozenset({"completed", "failed", "expired", "cancelled"})

_PAGES = 20
"""Of the list of jobs; a job that was submitted by a process that was killed is among the latest."""


class OpenAIJobs(Jobs):
    """Jobs of Chat Completions or of Responses.

    Args:
        backend: whose requests they are.
    """

    most = 50_000
    most_bytes = 190_000_000

    def __init__(self, backend: OpenAI) -> None:
        self._backend = backend

    def body(self, request: Request) -> Mapping[str, Any]:
        """See `Jobs.body`."""
        return self._backend.body(request)

    def read(self, request: Request, line: Line) -> Completion | Choice:
        """See `Jobs.read`."""
        backend = self._backend
        if line.status != 200 or not isinstance(line.body, dict):
            failure = _failure(line, backend)
            if getattr(failure, "kind", "") == failures.REFUSED:
                return Completion("", finish="refused")
            raise failure
        if request.options and "choose" in backend.offers:
            return backend.dialect.read_choice(line.body, request.options)
        return backend.read(line.body, {})

    async def submit(self, bodies: Sequence[tuple[str, Mapping[str, Any]]], tag: str) -> str:
        """See `Jobs.submit`."""
        path = f"/v1{self._backend.dialect.path}"
        rows = ({"custom_id": key, "method": "POST", "url": path, "body": dict(body)} for key, body in bodies)
        content = b"".join(msgspec.json.encode(row) + b"\n" for row in rows)
        client = self._backend.client
        file = await self._backend.asked(
            client.files.create(file=("requests.jsonl", content), purpose="batch")
        )
        job = await self._backend.asked(
            client.batches.create(
                input_file_id=file.id,
                endpoint=path,
                completion_window=_WINDOW,
                metadata={_TAG: tag},
            )
        )
        return str(job.id)

    async def look(self, job: str) -> Job:
        """See `Jobs.look`.

        Raises:
            ModelUnavailable: the server has thrown the job out as a whole.
        """
        found = await self._backend.asked(self._backend.client.batches.retrieve(job))
        if found.status == "failed":
            codes = ", ".join(sorted({error.code for error in _errors(found) if error.code}))
            raise ModelUnavailable(
                f"the server did not begin the batch job {job} ({codes or 'failed'})",
                where=f"model {self._backend.spec.given}",
                remedy="Run without --batch-api, or remove the job's lines from jobs/jobs.jsonl of the run",
            )
        return _job(found)

    async def results(self, job: str) -> AsyncIterator[Line]:
        """See `Jobs.results`."""
        client = self._backend.client
        found = await self._backend.asked(client.batches.retrieve(job))
        for file in filter(None, (found.output_file_id, found.error_file_id)):
            content = await self._backend.asked(client.files.content(file))
            for line in _lines(content.content):
                yield line

    async def forget(self, job: str) -> None:
        """See `Jobs.forget`. The job's own entry, which holds no text, stays in the server's list."""
        client = self._backend.client
        found = await self._backend.asked(client.batches.retrieve(job))
        for file in filter(None, (found.input_file_id, found.output_file_id, found.error_file_id)):
            await self._backend.asked(client.files.delete(file))

    async def recent(self, since: float) -> list[Job]:
        """See `Jobs.recent`. Jobs carry their tag, so the time decides nothing."""
        page = await self._backend.asked(self._backend.client.batches.list(limit=100))
        jobs = [_job(found) for found in page.data]
        for _ in itertools.repeat(None, _PAGES):
            if not page.has_next_page():
                break
            page = await self._backend.asked(page.get_next_page())
            jobs += [_job(found) for found in page.data]
        return jobs


def _job(found: Any) -> Job:
    counts = found.request_counts
    return Job(
        found.id,
        ended=found.status in _ENDED,
        status=str(found.status),
        done=(counts.completed + counts.failed) if counts else 0,
        total=counts.total if counts else 0,
        tag=(found.metadata or {}).get(_TAG, "-"),
        created=float(found.created_at),
    )


def _errors(found: Any) -> Iterable[Any]:
    return (found.errors.data or []) if found.errors else []


def _lines(content: bytes) -> Iterator[Line]:
    for row in content.splitlines():
        if not row.strip():
            continue
        # Of a line that cannot be read nobody knows whose it is; it counts as a line, and its request is asked again.
        told = payload.mapping(readable(row))
        answer = payload.mapping(told.get("response"))
        body = answer.get("body", told.get("error"))
        yield Line(str(told.get("custom_id")), payload.count(answer.get("status_code")), body)


def _failure(line: Line, backend: OpenAI) -> failures.Failure:
    where, key = backend.where, backend.key_told
    body = line.body if isinstance(line.body, dict) else {}
    # What was never answered, in a job that expired or was cancelled, can be submitted again.
    return failures.from_status(line.status or 503, {}, body, where=where, key=key)
