"""Batches for a slow function that many coroutines call with one item each."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")

_QUIET_TURNS = 2
"""Turns of the event loop without a new item after which a batch that is not full goes out."""


class Gathering(Generic[T, R]):
    """Collects the items of coroutines in flight and runs a function on them, in a thread, one batch at a time.

    What comes while a batch is out makes the next one. An exception goes to those who had an item in the batch.

    Args:
        run: the results of a batch, as many as items and in their order.
        most: items in one batch at most.
    """

    def __init__(self, run: Callable[[Sequence[T]], Sequence[R]], *, most: int) -> None:
        self._run, self._most = run, most
        self._waiting: deque[tuple[T, asyncio.Future[R]]] = deque()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._working: asyncio.Task[None] | None = None

    async def __call__(self, item: T) -> R:
        """The result of one item.

        Raises:
            Exception: whatever `run` raised for the batch that held it.
        """
        loop = asyncio.get_running_loop()
        if loop is not self._loop:  # nobody waits any more for what was left in a loop that has ended
            self._loop, self._working = loop, None
            self._waiting.clear()
        future: asyncio.Future[R] = loop.create_future()
        self._waiting.append((item, future))
        if self._working is None:
            self._working = loop.create_task(self._work())
        return await future

    async def _work(self) -> None:
        try:
            while self._waiting:
                await self._until_quiet()
                if batch := self._next():
                    await self._answer(batch)
        finally:
            self._working = None
            _cancel(future for _, future in self._waiting)
            self._waiting.clear()

    async def _until_quiet(self) -> None:
        quiet, seen = 0, len(self._waiting)
        while quiet < _QUIET_TURNS and seen < self._most:
            await asyncio.sleep(0)
            quiet = quiet + 1 if len(self._waiting) == seen else 0
            seen = len(self._waiting)

    def _next(self) -> list[tuple[T, asyncio.Future[R]]]:
        batch: list[tuple[T, asyncio.Future[R]]] = []
        while self._waiting and len(batch) < self._most:
            entry = self._waiting.popleft()
            if not entry[1].done():  # its caller was cancelled
                batch.append(entry)
        return batch

    async def _answer(self, batch: list[tuple[T, asyncio.Future[R]]]) -> None:
        futures = [future for _, future in batch]
        try:
            results = await asyncio.to_thread(self._checked, [item for item, _ in batch])
        except asyncio.CancelledError:
            _cancel(futures)
            raise
        except Exception as error:  # noqa: BLE001 - it is handed to the callers
            for future in _open(futures):
                future.set_exception(error)
        else:
            for future, result in zip(futures, results, strict=True):
                if not future.done():
                    future.set_result(result)

    def _checked(self, items: list[T]) -> Sequence[R]:
        results = self._run(items)
        if len(results) != len(items):
            raise RuntimeError(f"a batch of {len(items)} items got {len(results)} results")
        return results


def _open(futures: Iterable[asyncio.Future[R]]) -> list[asyncio.Future[R]]:
    return [future for future in futures if not future.done()]


def _cancel(futures: Iterable[asyncio.Future[R]]) -> None:
    for future in _open(futures):
        future.cancel()
