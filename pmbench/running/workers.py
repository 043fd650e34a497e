"""Many coroutines over one list: bounded in number, begun in order, all ended before an error goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from pmbench.core.errors import Halted, UserError

Item = TypeVar("Item")


class Stop:
    """Why nothing more is begun; empty while there is no reason.

    A budget that is used up, or a server that is down, stops a phase: what is in flight was paid for and comes to
    its end, what has not begun is left for the next time.
    """

    def __init__(self) -> None:
        self.reason = self.to_go_on = ""
        self.waiting = False

    def because(self, halted: Halted) -> None:
        """Begin nothing more; the first reason stays, but one that passes by itself goes before another."""
        if not self.reason or (halted.waiting and not self.waiting):
            self.reason, self.to_go_on, self.waiting = halted.why, halted.to_go_on, halted.waiting


async def over(
    items: Sequence[Item], work: Callable[[Item], Awaitable[None]], *, width: int, stop: Stop
) -> None:
    """Do `work` for every item, at most `width` at once, begun in the order of the list.

    `Halted` stops the phase and is not raised. An error that the user can mend stops it too, and is raised when what
    was in flight has ended. Any other exception, and cancellation, cancels and awaits what is in flight first.
    """
    waiting = iter(items)
    failure: UserError | None = None

    async def worker() -> None:
        nonlocal failure
        for item in waiting:
            if stop.reason or failure is not None:
                return
            try:
                await work(item)
            except Halted as halted:
                stop.because(halted)
            except UserError as error:
                failure = failure or error

    workers = [asyncio.create_task(worker()) for _ in range(min(width, len(items)))]
    try:
        await asyncio.gather(*workers)
    finally:
        for task in workers:
            task.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
    if failure is not None:
        raise failure


def width_for(parallel: int, requests: int = 1) -> int:
    """Instances in flight for a model that can use `parallel` requests at once.

    A few more than that, so that the next request is ready whenever one returns; not many more, so that
    requests reach a local model in the order of the dataset. Two at least where one instance alone asks enough.

    Args:
        parallel: requests in flight.
        requests: that one instance makes at the same time, as far as that is known.
    """
    wanted = parallel + max(1, min(parallel // 4, 64))
    return max(min(2, wanted), -(-wanted // max(1, requests)))
