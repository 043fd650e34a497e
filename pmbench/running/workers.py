"""Many coroutines over one list: bounded in number, begun in order, all ended before an error goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

Item = TypeVar("Item")


async def over(items: Sequence[Item], work: Callable[[Item], Awaitable[None]], *, width: int) -> None:
    """Do `work` for every item, at most `width` at once, begun in the order of the list.

    The first exception stops the rest: nothing new is begun, what is in flight is cancelled and awaited, then
    the exception is raised.
    """
    waiting = iter(items)

    async def worker() -> None:
        for item in waiting:
            await work(item)

    workers = [asyncio.create_task(worker()) for _ in range(min(width, len(items)))]
    try:
        await asyncio.gather(*workers)
    finally:
        for task in workers:
            task.cancel()
        await asyncio.gather(*workers, return_exceptions=True)


def width_for(parallel: int) -> int:
    """Instances in flight for a model that can use `parallel` requests at once.

    A few more than that, so that the next request is ready whenever one returns; not many more, so that
    requests reach a local model in the order of the dataset.
    """
    return parallel + max(1, min(parallel // 4, 64))
