"""How a run tells what it is doing; the command line chooses between a bar and plain lines."""

from __future__ import annotations

import contextlib
import sys
import time
from typing import Protocol, TextIO


class Progress(Protocol):
    """Hears of every phase, every instance done and every remark. Never any text of a dataset."""

    def start(self, phase: str, total: int, done: int = 0) -> None:
        """A phase of `total` items begins, `done` of them already there."""
        ...

    def advance(self, *, failed: bool = False) -> None:
        """One item is done."""
        ...

    def requests(self, done: int, wanted: int) -> None:
        """So many requests of the phase have been answered, of so many; 0: nobody knows of how many."""
        ...

    def finish(self) -> None:
        """The phase is over."""
        ...

    def note(self, text: str) -> None:
        """A remark for the user."""
        ...


def requests_text(done: int, wanted: int) -> str:
    """`212 of 870 requests`."""
    return f"{done} of {wanted} requests" if wanted else f"{done} requests"


class Silent:
    """Says nothing."""

    def start(self, phase: str, total: int, done: int = 0) -> None:
        """Nothing."""

    def advance(self, *, failed: bool = False) -> None:
        """Nothing."""

    def requests(self, done: int, wanted: int) -> None:
        """Nothing."""

    def finish(self) -> None:
        """Nothing."""

    def note(self, text: str) -> None:
        """Nothing."""


class PlainLines:
    """Lines for a log file: at the start and end of a phase, and one every `every` seconds between."""

    def __init__(self, stream: TextIO | None = None, *, every: float = 10.0) -> None:
        self.stream, self.every = stream or sys.stderr, every
        self._phase, self._total, self._done, self._failed, self._first = "", 0, 0, 0, 0
        self._began = self._told = 0.0

    def start(self, phase: str, total: int, done: int = 0) -> None:
        """Say what begins."""
        self._phase, self._total, self._done, self._failed, self._first = phase, total, done, 0, done
        self._began = self._told = time.monotonic()
        there = f", {done} already there" if done else ""
        self.note(f"{phase}: {total} to do{there}")

    def advance(self, *, failed: bool = False) -> None:
        """Count, and say so now and then."""
        self._done += 1
        self._failed += failed
        now = time.monotonic()
        if now - self._told >= self.every:
            self._told = now
            rate = (self._done - self._first) / max(now - self._began, 1e-9)
            pace = f"{rate:.1f} a second" if rate >= 0.5 else f"{1 / rate:.0f} s each"
            self.note(f"{self._state()}, {pace}, {(self._total - self._done) / rate:.0f} s left")

    def requests(self, done: int, wanted: int) -> None:
        """Say so now and then: an inbox takes hundreds of them."""
        now = time.monotonic()
        if now - self._told >= self.every:
            self._told = now
            self.note(f"{self._state()}; {requests_text(done, wanted)}, {now - self._began:.0f} s so far")

    def finish(self) -> None:
        """Say how it ended."""
        self.note(f"{self._state()} in {time.monotonic() - self._began:.1f} s")

    def note(self, text: str) -> None:
        """One line, at once. A reader that has gone (`| head`) does not stop the run."""
        with contextlib.suppress(BrokenPipeError):
            print(text, file=self.stream, flush=True)

    def _state(self) -> str:
        failed = f", {self._failed} failed" if self._failed else ""
        return f"{self._phase}: {self._done} of {self._total}{failed}"
