"""Doing the same for many things: as many at once as a model can use, heard of by whoever shows progress."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeVar

from pmbench import Model

Item = TypeVar("Item")
Found = TypeVar("Found")


class Progress(Protocol):
    """Hears of phases, counts and remarks; never of text."""

    def start(self, phase: str, total: int, done: int = 0) -> None:
        """A phase of so many begins."""
        ...

    def advance(self, *, failed: bool = False) -> None:
        """One is done."""
        ...

    def finish(self) -> None:
        """The phase is over."""
        ...

    def note(self, text: str) -> None:
        """A remark."""
        ...


async def each(
    items: Sequence[Item],
    work: Callable[[Item], Awaitable[Found]],
    *,
    model: Model,
    progress: Progress,
    phase: str,
    failed: Callable[[Found], bool] = lambda _: False,
) -> list[Found]:
    """Do `work` for every item, as many at once as the model can use; results in the order of the items.

    After an error nothing more is begun; it is raised when what was under way has ended, since that was paid for.
    Cancellation calls off what is under way.
    """
    results: dict[int, Found] = {}
    waiting = iter(enumerate(items))
    trouble: list[Exception] = []

    async def worker() -> None:
        for place, item in waiting:
            if trouble:
                return
            try:
                results[place] = await work(item)
            except Exception as error:  # noqa: BLE001 - raised below, once what is under way has ended
                trouble.append(error)
                return
            progress.advance(failed=failed(results[place]))

    if not items:
        return []
    progress.start(phase, len(items))
    # A few more than are worth having in flight, so that the next one is ready whenever one is answered.
    width = model.parallel + max(1, min(model.parallel // 4, 64))
    workers = [asyncio.create_task(worker()) for _ in range(min(len(items), width))]
    try:
        await asyncio.gather(*workers)
    finally:
        for task in workers:
            task.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
    if trouble:
        raise trouble[0]
    progress.finish()
    return [results[place] for place in range(len(items))]
