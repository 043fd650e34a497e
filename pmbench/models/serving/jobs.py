"""Jobs of a batch API: many requests handed over at once, answered within a day, at half the price.

What a job was submitted with, and what came of it, lies in the folder `jobs` of the run, so that any later command
can collect it. A line is written before a job is submitted and another one after it: a process that is killed
between the two leaves a line by whose tag the job is found again.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from pmbench.core.errors import StorageError
from pmbench.core.model import Choice, Completion
from pmbench.models.backend import Request

JOBS = "jobs.jsonl"


class Job(msgspec.Struct, frozen=True):
    """How far a job has come.

    Attributes:
        id: as the server named it.
        ended: whether its answers can be collected.
        status: in the server's word.
        done, total: requests; 0 where the server does not say.
        tag: what it was submitted with, where the server tells; else empty.
        created: when it was submitted, in seconds since 1970; 0 where the server does not say.
    """

    id: str
    ended: bool
    status: str
    done: int = 0
    total: int = 0
    tag: str = ""
    created: float = 0.0


class Line(msgspec.Struct, frozen=True):
    """What came of one request of a job.

    Attributes:
        key: what it was submitted under.
        status: as of HTTP; 0 where the request was never answered (expired, cancelled).
        body: the answer, or the error.
    """

    key: str
    status: int
    body: Any = None


class Jobs(ABC):
    """The batch API of a backend that has one.

    Attributes:
        most: requests of one job; most_bytes: of all its bodies together.
    """

    most: int
    most_bytes: int

    @abstractmethod
    def body(self, request: Request) -> Mapping[str, Any]:
        """The body of one request of a job."""

    @abstractmethod
    def read(self, request: Request, line: Line) -> Completion | Choice:
        """The answer to a request.

        Raises:
            RequestFailed, ModelUnavailable: the line holds none.
        """

    @abstractmethod
    async def submit(self, bodies: Sequence[tuple[str, Mapping[str, Any]]], tag: str) -> str:
        """Submit requests, each with its key; returns the job's id."""

    @abstractmethod
    async def look(self, job: str) -> Job:
        """How far a job has come."""

    @abstractmethod
    def results(self, job: str) -> AsyncIterator[Line]:
        """What came of each request of a job that has ended, in any order."""

    async def forget(self, job: str) -> None:  # noqa: B027 - a server may keep nothing
        """Have the server delete what it keeps of a job: its requests and its answers hold text of the data."""

    @abstractmethod
    async def recent(self, since: float) -> list[Job]:
        """Jobs that were submitted since a moment, in seconds since 1970."""


class JobRecord(msgspec.Struct, kw_only=True):
    """A line of `jobs.jsonl`. Of several lines with one tag the last counts.

    Attributes:
        tag: of pmbench's own making, unique.
        account: the server.
        job: the server's id; empty while that is not known.
        keys: what its requests were submitted under: keys of the completion store.
        most: US dollars that they can cost together, where a budget asked for it.
        submitted_at: ISO 8601, UTC.
        collected: whether its answers lie in `<job>.jsonl` beside this file.
        lost: whether no such job is known to the server: its requests are submitted anew.
    """

    tag: str
    account: str
    job: str = ""
    keys: list[str] = []
    most: float = 0.0
    submitted_at: str = ""
    collected: bool = False
    lost: bool = False

    @property
    def since(self) -> float:
        """When it was submitted, in seconds since 1970, with a minute for clocks that differ."""
        try:
            return datetime.fromisoformat(self.submitted_at).timestamp() - 60.0
        except ValueError:
            return 0.0


def readable(row: bytes) -> Any:
    """A line of results as it decodes; None for one that is broken."""
    try:
        return msgspec.json.decode(row)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def now() -> str:
    """This moment, ISO 8601, UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")


class JobFolder:
    """The jobs of one run on disk, for their owner only."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def records(self) -> list[JobRecord]:
        """Every job, as its last line says."""
        return list({record.tag: record for record in _lines(self.path / JOBS, JobRecord)}.values())

    def under_way(self) -> int:
        """How many requests are part of jobs whose answers are not here yet."""
        return sum(len(record.keys) for record in self.records() if not (record.collected or record.lost))

    def write(self, record: JobRecord) -> None:
        """Add a line; it is on disk when this returns."""
        _write(self.path / JOBS, [record], append=True)

    def results(self, job: str) -> Iterator[Line]:
        """The collected answers of a job."""
        return _lines(self._file(job), Line)

    def keep(self, job: str, lines: Iterable[Line]) -> None:
        """Write all answers of a job, or none."""
        part = self._file(job).with_suffix(".part")
        part.unlink(missing_ok=True)
        _write(part, lines, append=False)
        part.replace(self._file(job))

    def _file(self, job: str) -> Path:
        # What a server calls its jobs must not lead out of the folder.
        return self.path / f"{''.join(c if c.isalnum() or c in '-_' else '_' for c in job)}.jsonl"


def _lines(path: Path, shape: type[Any]) -> Iterator[Any]:
    if not path.exists():
        return
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                return  # torn off by a kill
            try:
                yield msgspec.json.decode(line, type=shape)
            except msgspec.DecodeError:
                raise StorageError("cannot be read", where=f"{path}, line {number}") from None


def _write(path: Path, rows: Iterable[Any], *, append: bool) -> None:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | (os.O_APPEND if append else os.O_TRUNC)
        with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
            _cut_torn(path, file.fileno())
            file.writelines(msgspec.json.encode(row) + b"\n" for row in rows)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise StorageError(f"cannot be written ({error.strerror})", where=str(path)) from None


def _cut_torn(path: Path, file: int) -> None:
    """Cut off a last line without its end, which a kill left behind."""
    written = path.read_bytes()
    if written and not written.endswith(b"\n"):
        os.ftruncate(file, written.rfind(b"\n") + 1)
