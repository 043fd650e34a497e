"""Batch jobs and the files that OpenAI's are given in and collected from."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime

from .wire import Json


@dataclass(slots=True)
class StoredFile:
    """A file that was uploaded or written."""

    identifier: str
    name: str
    purpose: str
    content: bytes


@dataclass(slots=True)
class Job:
    """A batch job; its results are made when it is submitted, and shown when it has ended.

    Args:
        identifier: its id.
        description: what the client said of it (endpoint, file, metadata).
        size: how many items it has.
        results: the items' results in the vendor's form.
        polls_left: how often it still answers that it is in progress.
        ends: how it ends; see `plan.BatchJobs`.
        ended: the vendor's description of the ended job, kept once made.
        created: when it was submitted.
    """

    identifier: str
    description: Json
    size: int
    results: list[Json]
    polls_left: int
    ends: str
    ended: Json | None = None
    created: datetime = field(default_factory=lambda: datetime.now(UTC))

    def poll(self) -> bool:
        """Counts a question for its state; whether it has ended."""
        if self.polls_left > 0:
            self.polls_left -= 1
            return False
        return True


@dataclass(slots=True)
class JobStore:
    """All files and jobs since the last reset."""

    files: dict[str, StoredFile] = field(default_factory=dict)
    jobs: dict[str, Job] = field(default_factory=dict)
    _made: int = 0

    def new_id(self, prefix: str) -> str:
        """An id that was not given before."""
        self._made += 1
        return f"{prefix}{self._made:06d}"

    def page(self, limit: int, after: str | None) -> tuple[list[Job], bool]:
        """Jobs, the newest first, after one of an id; whether there are more."""
        newest = list(self.jobs.values())[::-1]
        begin = 1 + next((n for n, job in enumerate(newest) if job.identifier == after), -1)
        return newest[begin : begin + limit], begin + limit < len(newest)

    def keep_file(self, name: str, purpose: str, content: bytes) -> StoredFile:
        """Stores a file under a new id."""
        stored = StoredFile(self.new_id("file-"), name, purpose, content)
        self.files[stored.identifier] = stored
        return stored
