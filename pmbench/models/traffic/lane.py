"""How many requests a server is sent at once, and how fast: found out by trying, as TCP finds a network's room.

The number in flight grows while requests are answered, doubling each time all in flight were answered at first,
by one each time later, and is halved when the server refuses one for its rate or for overload (additive increase,
multiplicative decrease: Chiu and Jain 1989, Computer Networks and ISDN Systems 17). Refusals of requests that were
sent before the last halving do not halve again: they tell of the number that is given up already. Where a server says
how long to wait, nobody sends until then.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from types import TracebackType
from weakref import WeakValueDictionary

from pmbench.core.errors import Halted, RequestFailed
from pmbench.models.backend import Limits
from pmbench.models.settings import Rates
from pmbench.models.traffic.rates import Bucket

FIRST = 16
"""Requests in flight to begin with."""

LONGEST_PAUSE = 60.0
"""Seconds that a server's headers can hold everybody; a refusal with its own wait can hold them longer."""

PUSHED_BACK = frozenset({"rate-limit", "overloaded"})
"""Kinds of failures that ask for less."""

UNBOUNDED = Rates()

GIVEN_UP = 20
"""Requests in a row, none answered between, that failed after all their retries: the server is down."""


class Place:
    """One request's way through a lane; an asynchronous context manager around the sending of it."""

    __slots__ = ("_lane", "amount", "number", "wide")

    def __init__(self, lane: Lane, tokens: float) -> None:
        self._lane, self.amount = lane, tokens
        self.number = 0
        self.wide = False

    async def __aenter__(self) -> None:
        await self._lane.admit(self)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lane.leave(self, error)


class Lane:
    """Lets the requests of one account through: those of all models that share its limits.

    It may be used in one event loop after another, not in two at the same time.

    Args:
        most: requests in flight at most.
        rates: limits that the user sets.
        clock: seconds, never going back.
    """

    def __init__(
        self, most: int, rates: Rates = UNBOUNDED, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.most, self._clock = max(1, most), clock
        self.limit = float(min(FIRST, self.most))
        self.in_flight = 0
        self.refused = 0
        self._doubling = True
        self._sent = self._cut = self._given_up = 0
        self._closed_until = 0.0
        self._kind = ""
        self._requests = _bucket(rates.requests_per_minute)
        self._tokens = _bucket(rates.tokens_per_minute)
        self._waiting: deque[tuple[Place, asyncio.Future[None]]] = deque()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None

    def place(self, tokens: float = 0.0) -> Place:
        """A place for one request of so many tokens."""
        return Place(self, tokens)

    def narrow(self, most: int, rates: Rates) -> None:
        """Further bounds, of another model on the same account: the tighter ones hold."""
        self.most = min(self.most, max(1, most))
        self.limit = min(self.limit, float(self.most))
        self._requests = _tighter(self._requests, _bucket(rates.requests_per_minute))
        self._tokens = _tighter(self._tokens, _bucket(rates.tokens_per_minute))

    def hear(self, limits: Limits) -> None:
        """Heed what a server's headers say: nobody sends while nothing is left."""
        for left, reset in ((limits.requests, limits.requests_reset), (limits.tokens, limits.tokens_reset)):
            if left is not None and left <= 0:
                self._close_for(min(reset, LONGEST_PAUSE))

    def answered(self) -> None:
        """A request was answered: the server is there."""
        self._given_up = 0

    def gave_up(self, name: str, kind: str) -> None:
        """A request failed after all its retries.

        Raises:
            Halted: so did many in a row.
        """
        self._given_up += 1
        self._kind = kind
        self.check(name)

    def check(self, name: str) -> None:
        """Nothing is asked once more of a server that is down.

        Raises:
            Halted: many requests in a row failed after all their retries.
        """
        if self._given_up >= GIVEN_UP:
            raise Halted(
                f"{name}: {GIVEN_UP} requests in a row failed after all retries ({self._kind})",
                to_go_on="To go on when the server answers, give the same command with --retry-failed",
            )

    async def admit(self, place: Place) -> None:
        """Wait until the request may be sent."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._begin_in(loop)
        if self._waiting or not self._may_pass(place):
            future: asyncio.Future[None] = loop.create_future()
            self._waiting.append((place, future))
            self._let_through()
            try:
                await future
            except asyncio.CancelledError:
                if future.done() and not future.cancelled():
                    self.leave(place, None)  # it was let through at the moment at which it was given up
                raise
        else:
            self._pass(place)

    def leave(self, place: Place, error: BaseException | None) -> None:
        """The request is over."""
        self.in_flight -= 1
        if isinstance(error, RequestFailed) and error.kind in PUSHED_BACK:
            self._push_back(place, error)
        elif error is None:
            self._grow(place)
        self._let_through()

    def _push_back(self, place: Place, error: RequestFailed) -> None:
        self.refused += 1
        if place.number > self._cut:
            self.limit = max(1.0, self.limit / 2)
            self._cut, self._doubling = self._sent, False
        if error.retry_after:
            self._close_for(error.retry_after)

    def _grow(self, place: Place) -> None:
        # Only what was tried tells that more can be borne.
        if place.wide and place.number > self._cut:
            self.limit = min(float(self.most), self.limit + (1.0 if self._doubling else 1.0 / self.limit))

    def _close_for(self, seconds: float) -> None:
        self._closed_until = max(self._closed_until, self._clock() + seconds)

    def _may_pass(self, place: Place) -> bool:
        return self.in_flight < int(self.limit) and self._pause(place) <= 0.0

    def _pause(self, place: Place) -> float:
        now = self._clock()
        waits = [self._closed_until - now]
        if self._requests is not None:
            waits.append(self._requests.wait(1.0, now))
        if self._tokens is not None:
            waits.append(self._tokens.wait(place.amount, now))
        return max(waits)

    def _pass(self, place: Place) -> None:
        now = self._clock()
        self._sent += 1
        self.in_flight += 1
        place.number, place.wide = self._sent, self.in_flight >= int(self.limit)
        if self._requests is not None:
            self._requests.take(1.0, now)
        if self._tokens is not None:
            self._tokens.take(place.amount, now)

    def _let_through(self) -> None:
        """Let through those who wait, in their order, as far as they may; wake up when a pause ends."""
        while self._waiting:
            place, future = self._waiting[0]
            if future.done():  # given up while it waited
                self._waiting.popleft()
                continue
            if self.in_flight >= int(self.limit):
                return
            pause = self._pause(place)
            if pause > 0.0:
                self._wake_in(pause)
                return
            self._waiting.popleft()
            self._pass(place)
            future.set_result(None)

    def _wake_in(self, seconds: float) -> None:
        assert self._loop is not None  # somebody waits in it
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_later(seconds, self._let_through)

    def _begin_in(self, loop: asyncio.AbstractEventLoop) -> None:
        """What was found out stays; whoever waited or was in flight in another event loop is gone."""
        self._loop, self._timer = loop, None
        self._waiting.clear()
        self.in_flight = self._given_up = 0


_LANES: WeakValueDictionary[str, Lane] = WeakValueDictionary()


def lane_for(account: str, most: int, rates: Rates) -> Lane:
    """The lane of an account: one for all models of this process that share it."""
    lane = _LANES.get(account)
    if lane is None:
        lane = _LANES[account] = Lane(most, rates)
    else:
        lane.narrow(most, rates)
    return lane


def _bucket(per_minute: float | None) -> Bucket | None:
    return None if per_minute is None else Bucket(per_minute)


def _tighter(one: Bucket | None, other: Bucket | None) -> Bucket | None:
    if one is None or other is None:
        return one or other
    return min(one, other, key=lambda bucket: bucket.per_second)
