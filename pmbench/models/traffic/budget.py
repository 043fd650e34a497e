"""What a run may cost: `--max-requests` and `--max-cost`. Reaching it stops the run cleanly."""

from __future__ import annotations

import asyncio
import math

from pmbench.core.errors import Halted

RAISE = "To go on, give the command again with a higher {}"


class Budget:
    """Counts what is spent and refuses what is too much.

    The cost of an answer is known afterwards only, so the most that it can cost is set aside while it is under way:
    a budget is never exceeded by more than such an estimate is wrong.

    Args:
        max_requests: most requests, retries included; None: any number.
        max_cost: most US dollars; None: any sum.
    """

    def __init__(self, max_requests: int | None = None, max_cost: float | None = None) -> None:
        self.max_requests, self.max_cost = max_requests, max_cost
        self.requests = 0
        self.cost = 0.0
        self._aside: list[float] = []
        self._waiting: list[asyncio.Future[None]] = []

    def spent(self, requests: int, cost: float) -> None:
        """Count what earlier commands have spent on the run."""
        self.requests += requests
        self.cost += cost

    async def take(self, most: float | None) -> None:
        """Count a request that is about to be sent, and set aside the most that it can cost (None: nothing known).

        Where that does not fit, what is under way is waited for: it mostly costs less than was set aside for it.

        Raises:
            Halted: it does not fit any more.
        """
        while not self._fits(most) and self._aside:
            settled: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(settled)
            await settled
        self.take_now(most)

    def take_now(self, most: float | None) -> None:
        """The same without waiting, for what will not be settled in this process.

        Raises:
            Halted: it does not fit.
        """
        if self.max_requests is not None and self.requests >= self.max_requests:
            raise Halted(
                f"the run has made the {self.max_requests} requests that --max-requests allows",
                to_go_on=RAISE.format("--max-requests"),
            )
        if self.max_cost is not None:
            if not self._fits(most):
                why = _too_dear(self.cost, most or 0.0, self.max_cost)
                raise Halted(why, to_go_on=RAISE.format("--max-cost"))
            self._aside.append(most or 0.0)
        self.requests += 1

    def end(self) -> None:
        """Let nothing more be sent."""
        self.max_requests = 0

    def _fits(self, most: float | None) -> bool:
        under_way = math.fsum(self._aside)
        return self.max_cost is None or self.cost + under_way + (most or 0.0) <= self.max_cost + 1e-12

    def settle(self, most: float | None, cost: float | None) -> None:
        """Put back what was set aside, and count what it really cost."""
        if self.max_cost is not None:
            self._aside.remove(most or 0.0)
        self.cost += cost or 0.0
        waiting, self._waiting = self._waiting, []
        for settled in waiting:
            if not settled.done():
                settled.set_result(None)


def _too_dear(cost: float, next_most: float, most: float) -> str:
    could = f"the next request could cost up to ${next_most:.4f}"
    return f"the run has cost ${cost:.4f} of --max-cost {most:g}, and {could}"


UNLIMITED = Budget()
"""For models outside of a run."""
