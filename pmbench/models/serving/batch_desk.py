"""Where requests become jobs of a batch API, and where the answers of earlier jobs are handed out.

Requests that nobody has submitted yet gather until no new one comes; then they go out as one job, or as several if
they are too many, and the run stops. The same command later finds the jobs by their keys, collects those that have
ended, and hands out their answers as if they had just come. What depends on such answers, a judge or the next
question of a strategy, gathers then, and goes out as the next job.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections import Counter
from collections.abc import Awaitable, Mapping
from typing import Any, TypeVar

import msgspec

from pmbench.core.errors import Halted, ModelUnavailable, RequestFailed, UserError
from pmbench.core.model import Choice, Completion
from pmbench.models.backend import Request
from pmbench.models.serving.jobs import JOBS, Job, JobFolder, JobRecord, Jobs, Line, now
from pmbench.models.traffic.budget import UNLIMITED, Budget

T = TypeVar("T")

QUIET_SECONDS = 1.0
"""Without a new request for so long, those that have gathered go out."""

ANSWER_SECONDS = 300.0
"""How long a server may take to accept a job, to tell of one, or to hand over its answers."""

SUBMISSIONS = 3
"""How often a request is submitted at most, where it expired or the server failed."""

_LATER = "To collect the answers, give the same command again later"


class BatchDesk:
    """The jobs of one model in one run.

    Args:
        name: of the model, for messages.
        jobs: the backend's batch API.
        account: the server: jobs of another one are not looked at.
        folder: of the run's jobs.
        budget: of the run; what is under way counts as spent.
        again: whether what failed for good is submitted once more.
    """

    def __init__(
        self,
        name: str,
        jobs: Jobs,
        account: str,
        folder: JobFolder,
        *,
        budget: Budget = UNLIMITED,
        again: bool = False,
    ) -> None:
        self._again, self._budget = again, budget
        self._most: dict[str, float] = {}
        self.name, self._jobs, self._account, self._folder = name, jobs, account, folder
        self._answers: dict[str, Line] = {}
        self._under_way: dict[str, Job] = {}
        self._submitted: Counter[str] = Counter()
        self._gathered: dict[str, Mapping[str, Any]] = {}
        self._waiting: list[asyncio.Future[None]] = []
        self._timer: asyncio.TimerHandle | None = None
        self._going_out: asyncio.Task[None] | None = None
        self._looked: asyncio.Task[None] | None = None

    async def knows(self, key: str) -> bool:
        """Whether a request is part of a job, or was.

        Raises:
            Halted: the server does not tell of its jobs now.
        """
        if self._looked is None:
            self._looked = asyncio.get_running_loop().create_task(self._look())
        try:
            await asyncio.shield(self._looked)
        except RequestFailed as error:
            raise Halted(f"{self.name}: its batch jobs could not be looked at ({error.kind})") from None
        return key in self._answers or key in self._under_way

    async def ask(self, key: str, request: Request, most: float = 0.0) -> Completion | Choice:
        """The answer to a request, if a job has brought it.

        Args:
            key: of the request in the completion store.
            request: what is asked.
            most: US dollars that it can cost.

        Raises:
            Halted: it has not yet; the request is part of a job that is under way.
            RequestFailed: what came of it was no answer.
        """
        await self.knows(key)
        line = self._answers.get(key)
        if line is not None:
            try:
                return self._jobs.read(request, line)
            except RequestFailed as error:
                passes = error.retryable and self._submitted[key] < SUBMISSIONS
                if not passes and not self._again:
                    raise RequestFailed(error.kind, error.detail, usage=error.usage) from None
        if key not in self._under_way:
            self._gathered[key], self._most[key] = self._jobs.body(request), most
        await self._wait()
        raise AssertionError("what waits here is halted")

    async def _look(self) -> None:
        """Find out what became of every job that is not done."""
        for record in self._folder.records():
            if record.account != self._account:
                continue
            if not record.job and not record.lost:
                await self._find(record)
            if record.job and not record.collected:
                await self._collect(record)
            if record.collected:
                for line in self._folder.results(record.job):
                    self._answers[line.key] = line
                self._submitted.update(record.keys)

    async def _find(self, record: JobRecord) -> None:
        """A job of which only the tag is known: the process ended while it was submitted."""
        claimed = {other.job for other in self._folder.records()}
        for job in await _in_time(self._jobs.recent(record.since)):
            if job.tag == record.tag or (
                not job.tag and job.id not in claimed and await self._fits(job, record)
            ):
                record.job = job.id
                break
        record.lost = not record.job
        self._folder.write(record)

    async def _fits(self, job: Job, record: JobRecord) -> bool:
        """Whether a job without a tag is the one that was submitted: told by what it brought.

        Raises:
            Halted: it has not ended, so that nobody can tell yet.
        """
        if job.total != len(record.keys):
            return False
        if not job.ended:
            raise Halted(
                f"{self.name}: a batch job was being submitted when pmbench was killed, and {job.id} may be it:"
                " that can be told when it has ended",
                to_go_on=_LATER,
                waiting=True,
            )
        lines = await _in_time(self._lines(job.id))
        return bool({line.key for line in lines} & set(record.keys))

    async def _lines(self, job: str) -> list[Line]:
        return [line async for line in self._jobs.results(job)]

    async def _collect(self, record: JobRecord) -> None:
        try:
            job = await _in_time(self._jobs.look(record.job))
            if not job.ended:
                self._under_way.update(dict.fromkeys(record.keys, job))
                self._budget.spent(len(record.keys), record.most)
                return
            lines = await _in_time(self._lines(record.job))
        except ModelUnavailable as error:
            raise ModelUnavailable(
                f"the batch job {record.job} cannot be collected: {error.what}",
                where=f"model {self.name}",
                remedy=f"To submit its requests anew, remove its lines from {self._folder.path / JOBS}",
            ) from None
        if len(lines) < min(job.done, len(record.keys)):
            raise Halted(
                f"{self.name}: of batch job {record.job} {job.done} requests are done, and {len(lines)} answers"
                " came: nothing is submitted again before the server has all",
                to_go_on=_LATER,
                waiting=True,
            )
        told = {line.key for line in lines}
        lines += [Line(key, 0) for key in record.keys if key not in told]
        self._folder.keep(record.job, lines)
        record.collected = True
        self._folder.write(record)
        with contextlib.suppress(RequestFailed, UserError):
            # All is on disk here. A server that does not delete it now keeps it as long as it likes.
            await _in_time(self._jobs.forget(record.job))

    async def _wait(self) -> None:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        self._waiting.append(future)
        if self._timer is not None:
            self._timer.cancel()
        self._timer = loop.call_later(QUIET_SECONDS, self._close_desk)
        await future

    def _close_desk(self) -> None:
        self._going_out = asyncio.get_running_loop().create_task(self._submit_all())

    async def _submit_all(self) -> None:
        """Submit what has gathered, and tell everybody who waits."""
        gathered, self._gathered = self._gathered, {}
        waiting, self._waiting = self._waiting, []
        told: Exception
        try:
            for part in self._parts(gathered):
                await self._submit(part)
            told = self._halted()
        except RequestFailed as error:
            told = Halted(f"{self.name}: the batch job could not be submitted ({error.kind})")
        except Exception as error:  # noqa: BLE001 - those who wait are told
            told = error
        for future in waiting:
            if not future.done():
                future.set_exception(_copy(told))

    async def _submit(self, part: list[tuple[str, Mapping[str, Any]]]) -> None:
        keys = [key for key, _ in part]
        record = JobRecord(
            tag=secrets.token_hex(16),
            account=self._account,
            keys=keys,
            submitted_at=now(),
            most=sum(self._most.get(key, 0.0) for key in keys),
        )
        self._folder.write(record)
        record.job = await _in_time(self._jobs.submit(part, record.tag))
        self._folder.write(record)
        job = Job(record.job, ended=False, status="submitted", total=len(keys))
        self._under_way.update(dict.fromkeys(keys, job))

    def _parts(self, gathered: Mapping[str, Mapping[str, Any]]) -> list[list[tuple[str, Mapping[str, Any]]]]:
        """What has gathered in parts that fit into a job each."""
        parts: list[list[tuple[str, Mapping[str, Any]]]] = []
        size = 0
        for key, body in gathered.items():
            more = len(msgspec.json.encode(body)) + 256
            if not parts or len(parts[-1]) >= self._jobs.most or size + more > self._jobs.most_bytes:
                parts.append([])
                size = 0
            parts[-1].append((key, body))
            size += more
        return parts

    def _halted(self) -> Halted:
        jobs = {job.id: job for job in self._under_way.values()}
        counts = Counter(job.id for job in self._under_way.values())
        told = ", ".join(
            f"{id_} ({job.status}, {job.done} of {job.total or counts[id_]} done)"
            for id_, job in jobs.items()
        )
        return Halted(f"{self.name}: under way as batch job {told}", to_go_on=_LATER, waiting=True)


async def _in_time(asking: Awaitable[T]) -> T:
    """What a server says of its jobs, or a failure if it does not say it in time.

    Raises:
        RequestFailed: `timeout`.
    """
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            return await asking
    except TimeoutError:
        raise RequestFailed("timeout", "the server says nothing of its jobs", retryable=True) from None


def _copy(error: Exception) -> Exception:
    """One exception object must not be raised in several tasks."""
    if isinstance(error, Halted):
        return Halted(error.why, to_go_on=error.to_go_on, waiting=error.waiting)
    return error.with_traceback(None)
