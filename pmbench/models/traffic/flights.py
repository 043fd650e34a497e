"""Requests under way: equal ones are sent once and shared."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from pmbench.core.model import Usage

A = TypeVar("A")

NOTHING = Usage()


@dataclass(slots=True, eq=False)
class Flight(Generic[A]):
    """One request under way.

    Attributes:
        key: of the request in the completion store.
        waiters: how many coroutines wait for it.
        retries: further requests after the first.
        usage, cost: of answers that did not count (null, cut off, empty for the first time).
        was_blank: whether an empty answer has been asked for again already.
    """

    task: asyncio.Task[A] = field(init=False)
    key: str = ""
    waiters: int = 0
    retries: int = 0
    usage: Usage = NOTHING
    cost: float | None = None
    was_blank: bool = False

    def spend(self, usage: Usage, cost: float | None) -> None:
        """Count an answer that was paid for and is not one."""
        self.usage += usage
        if cost is not None:
            self.cost = (self.cost or 0.0) + cost

    def retried(self) -> None:
        """Count a further request."""
        self.retries += 1


class Flights:
    """The requests under way of one model, by key.

    Attributes:
        landing: whether requests that nobody waits for any more are let come to their end all the same.
    """

    def __init__(self) -> None:
        self._by_key: dict[str, Flight[Any]] = {}
        self.landing = False

    def board(self, key: str, fly: Callable[[Flight[A]], Coroutine[Any, Any, A]]) -> tuple[Flight[A], bool]:
        """The flight of that key, and whether it had left already; `fly` starts it if there is none."""
        under_way = self._by_key.get(key)
        if under_way is not None:
            return under_way, True
        flight: Flight[A] = Flight(key)
        flight.task = asyncio.get_running_loop().create_task(fly(flight))
        flight.task.add_done_callback(lambda _task: self._land(key, flight))
        flight.task.add_done_callback(looked_at)
        self._by_key[key] = flight
        return flight, False

    async def join(self, key: str, flight: Flight[A]) -> A:
        """Its answer. When the last who waits for it is cancelled, the request is given up."""
        flight.waiters += 1
        try:
            answer = await asyncio.shield(flight.task)
        except asyncio.CancelledError:
            if flight.waiters == 1 and not self.landing:
                self._land(key, flight)  # nobody may join a request that is being given up
                flight.task.cancel()
            raise
        finally:
            flight.waiters -= 1
        return answer

    async def land(self, seconds: float) -> None:
        """Wait until all that is under way is over, but no longer than so many seconds."""
        tasks = [flight.task for flight in self._by_key.values()]
        if tasks:
            await asyncio.wait(tasks, timeout=seconds)

    async def give_up(self) -> None:
        """Cancel all that is under way and wait until it is over."""
        tasks = [flight.task for flight in self._by_key.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _land(self, key: str, flight: Flight[Any]) -> None:
        if self._by_key.get(key) is flight:
            del self._by_key[key]


def looked_at(task: asyncio.Task[Any]) -> None:
    """Take note of how a task ended. What failed while nobody waited any more would be printed otherwise."""
    if not task.cancelled():
        task.exception()


class OpenOnce:
    """Opens something when it is first needed, once, for all who need it.

    Args:
        opener: opens it; only raises errors that everybody who needs it should get.
    """

    def __init__(self, opener: Callable[[], Awaitable[None]]) -> None:
        self._opener = opener
        self._task: asyncio.Task[None] | None = None
        self._failure: Exception | None = None
        self.is_open = False

    async def __call__(self) -> None:
        """Return when it is open.

        Raises:
            Exception: it cannot be opened; raised again to everybody who asks later.
        """
        while not self.is_open:
            if self._failure is not None:
                raise self._failure.with_traceback(None)
            if self._task is None or self._task.done():
                self._task = asyncio.get_running_loop().create_task(self._open())
                self._task.add_done_callback(looked_at)
            await asyncio.shield(self._task)

    async def forget(self) -> bool:
        """Wait until an opening under way is over; True if it is open, and counted as closed from now on."""
        if self._task is not None and not self._task.done():
            await asyncio.wait([self._task])
        was_open, self.is_open, self._task = self.is_open, False, None
        return was_open

    async def _open(self) -> None:
        try:
            await self._opener()
            self.is_open = True
        except Exception as error:  # noqa: BLE001 - kept for everybody who asks
            self._failure = error
