"""What gathers requests that are in flight into batches."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")

QUIET_TURNS = 2
"""Turns of the event loop without a new item after which a batch that is not full goes out."""


class _Caller(Generic[R]):
    """One call of a gatherer: the results that came, and the future that its coroutine awaits."""

    __slots__ = ("future", "missing", "results")

    def __init__(self, count: int, future: asyncio.Future[None]) -> None:
        self.results: list[R | None] = [None] * count
        self.missing = count
        self.future = future

    def deliver(self, place: int, result: R) -> None:
        self.results[place] = result
        self.missing -= 1
        if self.missing == 0 and not self.future.done():
            self.future.set_result(None)

    def fail(self, error: BaseException) -> None:
        if not self.future.done():
            self.future.set_exception(error)


class Gatherer(Generic[T, R]):
    """Collects items from many coroutines in flight into batches.

    A batch goes out when `most` items wait, or when nothing new came for a few turns of the event loop;
    while `parallel` batches are out, items wait and make the next batch fuller. Every caller gets the
    results of its own items in its own order. An exception of a batch goes to the callers who had an item
    in it, to no other. Items of a caller who was cancelled are dropped if they have not gone out.

    Args:
        run: answers a batch: as many results as items, in their order.
        most: most items in one batch.
        parallel: how many batches may be out at once.
    """

    def __init__(self, run: Callable[[list[T]], Awaitable[list[R]]], *, most: int, parallel: int = 1) -> None:
        if most < 1 or parallel < 1:
            raise ValueError("most and parallel must be at least 1")
        self._run, self._most, self._parallel = run, most, parallel
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiting: deque[tuple[_Caller[R], int, T]] = deque()
        self._out: set[asyncio.Task[None]] = set()
        self._arrived = 0
        self._watching = False

    async def __call__(self, items: Sequence[T]) -> list[R]:
        """The results of these items, in their order.

        Raises:
            Exception: whatever `run` raised for a batch that held one of them.
        """
        if not items:
            return []
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._forget(loop)
        caller: _Caller[R] = _Caller(len(items), loop.create_future())
        self._waiting.extend((caller, place, item) for place, item in enumerate(items))
        self._arrived += 1
        self._send_full()
        if self._waiting and not self._watching:
            self._watching = True
            loop.call_soon(self._watch, self._arrived, 0)
        await caller.future
        return caller.results  # type: ignore[return-value]  # all were delivered

    def _forget(self, loop: asyncio.AbstractEventLoop) -> None:
        """Start anew in another event loop: what waited in the last one has nobody to wait for it."""
        self._loop = loop
        self._waiting.clear()
        self._out = set()
        self._watching = False

    def _watch(self, seen: int, quiet: int) -> None:
        """One turn of the loop: send what waits once enough turns were quiet."""
        quiet = quiet + 1 if seen == self._arrived else 0
        if quiet < QUIET_TURNS and self._waiting:
            asyncio.get_running_loop().call_soon(self._watch, self._arrived, quiet)
            return
        self._watching = False
        self._send_all()

    def _send_full(self) -> None:
        while len(self._waiting) >= self._most and len(self._out) < self._parallel:
            self._send()

    def _send_all(self) -> None:
        while self._waiting and len(self._out) < self._parallel:
            self._send()

    def _send(self) -> None:
        batch: list[tuple[_Caller[R], int, T]] = []
        while self._waiting and len(batch) < self._most:
            entry = self._waiting.popleft()
            if not entry[0].future.done():  # cancelled, or an earlier batch of the same caller failed
                batch.append(entry)
        if batch:
            task = asyncio.get_running_loop().create_task(self._answer(batch))
            self._out.add(task)
            task.add_done_callback(self._returned)

    async def _answer(self, batch: list[tuple[_Caller[R], int, T]]) -> None:
        try:
            results = await self._run([item for _, _, item in batch])
            if len(results) != len(batch):
                raise RuntimeError(f"a batch of {len(batch)} items got {len(results)} results")
        except asyncio.CancelledError:
            for caller, _, _ in batch:
                caller.future.cancel()
            raise
        except Exception as error:  # noqa: BLE001 - it is handed to the callers
            for caller, _, _ in batch:
                caller.fail(error)
        else:
            for (caller, place, _), result in zip(batch, results, strict=True):
                caller.deliver(place, result)

    def _returned(self, task: asyncio.Task[None]) -> None:
        self._out.discard(task)
        if not self._watching:
            self._send_all()
