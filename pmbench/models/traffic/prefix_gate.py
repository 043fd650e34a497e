"""In which order requests reach an engine that reuses what prompts have in common.

Those who wait stand sorted by their prompts, and whoever comes next after the last one served goes first, as a lift
stops at the next floor on its way: neighbours in the sorted order have the longest beginnings in common, whatever
the order in which they came. At the end it begins again at the start, so nobody waits for more than one round.
"""

from __future__ import annotations

import asyncio
import bisect
import itertools
from types import TracebackType

_Waiting = tuple[str, int, asyncio.Future[None]]


class _Turn:
    """One request's turn; an asynchronous context manager."""

    __slots__ = ("_gate", "_prompt")

    def __init__(self, gate: PrefixGate, prompt: str) -> None:
        self._gate, self._prompt = gate, prompt

    async def __aenter__(self) -> None:
        await self._gate.admit(self._prompt)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._gate.leave()


class PrefixGate:
    """Lets so many requests through at once, neighbours by their prompts one after the other.

    It may be used in one event loop after another, not in two at the same time.

    Args:
        parallel: how many may be inside; less than one counts as one.
    """

    def __init__(self, parallel: int) -> None:
        self.parallel = max(1, parallel)
        self._inside = 0
        self._last = ""
        self._waiting: list[_Waiting] = []
        self._numbers = itertools.count()
        self._loop: asyncio.AbstractEventLoop | None = None

    def turn(self, prompt: str) -> _Turn:
        """A turn for a request whose prompt reads so."""
        return _Turn(self, prompt)

    async def admit(self, prompt: str) -> None:
        """Wait for one's turn."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._loop, self._waiting, self._inside = loop, [], 0
        if self._inside < self.parallel and not self._waiting:
            # Others of the same turn of the loop are on their way: the first to come is as good as any.
            self._inside += 1
            self._last = prompt
            return
        future: asyncio.Future[None] = loop.create_future()
        entry = (prompt, next(self._numbers), future)
        bisect.insort(self._waiting, entry, key=_place)
        try:
            await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled():
                self.leave()  # its turn came at the moment at which it was given up
            else:
                self._waiting.remove(entry)
            raise

    def leave(self) -> None:
        """A request is over: the next one's turn."""
        self._inside -= 1
        while self._waiting and self._inside < self.parallel:
            at = bisect.bisect_left(self._waiting, (self._last, -1), key=_place)
            prompt, _, future = self._waiting.pop(at if at < len(self._waiting) else 0)
            if future.done():
                continue
            self._inside += 1
            self._last = prompt
            future.set_result(None)


def _place(entry: _Waiting) -> tuple[str, int]:
    return entry[0], entry[1]
