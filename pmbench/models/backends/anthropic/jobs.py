"""The batch API of Anthropic: one list of requests, one list of results."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pmbench.core.model import Choice, Completion
from pmbench.models.backend import Request
from pmbench.models.serving import failures, payload
from pmbench.models.serving.jobs import Job, Jobs, Line, readable

if TYPE_CHECKING:
    from pmbench.models.backends.anthropic.backend import Anthropic

PATH = "/v1/messages/batches"

_STATUS = {"errored": 500, "expired": 0, "canceled": 0}


class AnthropicJobs(Jobs):
    """Jobs of Messages.

    Args:
        backend: whose requests they are.
    """

    most = 100_000
    most_bytes = 240_000_000

    def __init__(self, backend: Anthropic) -> None:
        self._backend = backend

    def body(self, request: Request) -> Mapping[str, Any]:
        """See `Jobs.body`."""
        return self._backend.body(request)

    def read(self, request: Request, line: Line) -> Completion | Choice:
        """See `Jobs.read`."""
        backend = self._backend
        if line.status == 200 and isinstance(line.body, dict):
            return backend.read(line.body, {})
        body = line.body if isinstance(line.body, dict) else {}
        where, key = backend.where, backend.key_told
        if line.status:
            # The error's own type says which status it would have had.
            failure = failures.from_object(body, where=where, key=key)
        else:
            failure = failures.from_status(503, {}, body, where=where, key=key)
        if getattr(failure, "kind", "") == failures.REFUSED:
            return Completion("", finish="refused")
        raise failure

    async def submit(self, bodies: Sequence[tuple[str, Mapping[str, Any]]], tag: str) -> str:
        """See `Jobs.submit`. There is no place for a tag."""
        requests = [{"custom_id": key, "params": dict(body)} for key, body in bodies]
        told, _ = await self._backend.post(PATH, {"requests": requests})
        return str(told["id"])

    async def look(self, job: str) -> Job:
        """See `Jobs.look`."""
        return _job(await self._backend.asked(self._backend.client.messages.batches.retrieve(job)))

    async def results(self, job: str) -> AsyncIterator[Line]:
        """See `Jobs.results`."""
        import httpx2

        # Not by the address that the server gives: only its own is reached.
        path = f"{PATH}/{job}/results"
        answer = await self._backend.asked(self._backend.client.get(path, cast_to=httpx2.Response))
        for row in answer.content.splitlines():
            if row.strip():
                yield _line(payload.mapping(readable(row)))

    async def forget(self, job: str) -> None:
        """See `Jobs.forget`."""
        await self._backend.asked(self._backend.client.messages.batches.delete(job))

    async def recent(self, since: float) -> list[Job]:
        """See `Jobs.recent`. The newest come first."""
        page = await self._backend.asked(self._backend.client.messages.batches.list(limit=100))
        jobs = [_job(found) for found in page.data]
        while jobs and jobs[-1].created >= since and page.has_next_page():
            page = await self._backend.asked(page.get_next_page())
            jobs += [_job(found) for found in page.data]
        return [job for job in jobs if job.created >= since]


def _job(found: Any) -> Job:
    counts = found.request_counts
    done = counts.succeeded + counts.errored + counts.canceled + counts.expired
    return Job(
        found.id,
        ended=found.processing_status == "ended",
        status=str(found.processing_status),
        done=done,
        total=done + counts.processing,
        created=found.created_at.timestamp(),
    )


def _line(told: Mapping[str, Any]) -> Line:
    key, result = str(told.get("custom_id")), payload.mapping(told.get("result"))
    kind = str(result.get("type"))
    if kind == "succeeded":
        return Line(key, 200, result.get("message"))
    return Line(key, _STATUS.get(kind, 500), result.get("error"))
