"""Putting a request to a backend until there is an answer that counts."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from pmbench.core.errors import RequestFailed
from pmbench.core.model import Choice, Completion, Usage
from pmbench.models.answers import accept, choice_from, is_blank, valid_choice
from pmbench.models.backend import Backend, Request
from pmbench.models.cost.prices import dollars
from pmbench.models.received import paid, received
from pmbench.models.serving.batch_desk import BatchDesk
from pmbench.models.serving.jobs import JobFolder
from pmbench.models.settings import Rates
from pmbench.models.traffic.budget import UNLIMITED, Budget
from pmbench.models.traffic.flights import Flight
from pmbench.models.traffic.lane import Lane, lane_for
from pmbench.models.traffic.patience import Patience, attempt, insist
from pmbench.models.traffic.prefix_gate import PrefixGate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

S = TypeVar("S", Completion, Choice)
T = TypeVar("T")

REMOTE_SECONDS = 600.0
"""How long one attempt may take at a backend that is not in this process and names no limit of its own."""

CHARACTERS_A_TOKEN = 3
"""Bytes of text that a token stands for at least, for what is set aside and counted before an answer is there."""

SERVERS_FAULTS = frozenset(
    ("rate-limit", "overloaded", "server", "connection", "timeout", "not-json", "no-answer", "null", "error")
)
"""Kinds of failures that many requests in a row share when a server is down."""


class Traffic(msgspec.Struct, frozen=True):
    """What bounds the requests of a run.

    Attributes:
        concurrency: most requests in flight at one model; None: what the backend thinks worth having.
        rates: limits per minute.
        budget: of the run.
    """

    concurrency: int | None = None
    rates: Rates = Rates()
    budget: Budget = UNLIMITED


class Asker:
    """Asks one backend: under the bounds of its traffic, patiently, until there is an answer that counts.

    Args:
        name: of the model, for messages.
        backend: what is asked.
        traffic: what bounds the requests.
        patience: bounds of each request.
        sleep: how to wait between attempts.

    Attributes:
        requests: requests sent, retries included.
    """

    def __init__(
        self,
        name: str,
        backend: Backend,
        *,
        traffic: Traffic,
        patience: Patience,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.name, self.backend, self.patience = name, backend, patience
        self.requests = 0
        self._budget, self._sleep = traffic.budget, sleep
        self.most = min(backend.parallel, traffic.concurrency or backend.parallel)
        self._lane: Lane | None = None
        self._gate = PrefixGate(self.most)
        self._ordered = "prefix" in backend.features
        if backend.endpoint is not None:
            self._lane = lane_for(backend.account(), self.most, traffic.rates)
            backend.hear = self._lane.hear
        self._desk: BatchDesk | None = None

    def submit_to(self, folder: JobFolder, *, again: bool = False) -> None:
        """Make every request from now on part of a job of the backend's batch API."""
        if self.backend.jobs is not None:
            # Not the key: whoever renews it still wants the answers.
            server = self.backend.endpoint.origin if self.backend.endpoint else self.backend.name
            jobs, budget = self.backend.jobs, self._budget
            self._desk = BatchDesk(self.name, jobs, server, folder, budget=budget, again=again)

    async def chat(self, request: Request, flight: Flight[Any]) -> Completion:
        """A completion that holds an answer; an empty one that ended by itself is asked for once more."""

        async def ask() -> Completion:
            completion = await self._completion(request, flight)
            if is_blank(completion) and self._asks_again and not flight.was_blank:
                flight.was_blank = True
                flight.spend(completion.usage, completion.cost)
                flight.retried()
                completion = await self._completion(request, flight)
            return completion

        return await self._insist(ask, flight)

    async def choose(self, request: Request, flight: Flight[Choice]) -> Choice:
        """A choice by the backend's own probabilities."""

        async def ask() -> Choice:
            choice = await self._answer(request, self.backend.choose, Choice, flight)
            try:
                return valid_choice(choice, request.options)
            except RequestFailed:
                flight.spend(choice.usage, choice.cost)
                raise

        return await self._insist(ask, flight)

    async def choose_in_words(self, request: Request, flight: Flight[Choice]) -> Choice:
        """A choice by what a completion begins with."""
        in_words = msgspec.structs.replace(request, options=())
        completion = await self.chat(in_words, flight)
        try:
            return choice_from(completion, request.options)
        except RequestFailed:
            flight.spend(completion.usage, completion.cost)
            raise

    async def reward(self, request: Request, flight: Flight[float]) -> float:
        """A finite reward."""

        async def number() -> float:
            return float(await self.backend.reward(request))

        async def ask() -> float:
            reward = await self._send(request, number)
            if not math.isfinite(reward):
                raise RequestFailed("not-a-number", "the reward is not a finite number")
            return reward

        return await self._insist(ask, flight)

    async def embed(self, texts: Sequence[str], flight: Flight[Any]) -> NDArray[np.float32]:
        """Vectors of texts."""
        request = Request(tuple({"role": "user", "content": text} for text in texts), max_tokens=0)

        async def ask() -> NDArray[np.float32]:
            return await self._send(request, lambda: self.backend.embed(texts))

        return await self._insist(ask, flight)

    @property
    def _asks_again(self) -> bool:
        """Whether an empty answer is asked for once more: recorded ones and those of jobs are what they are."""
        return self.backend.keeps and self._desk is None

    async def _insist(self, ask: Callable[[], Awaitable[T]], flight: Flight[Any]) -> T:
        def retried() -> None:
            if self._lane is not None:
                self._lane.check(self.name)
            flight.retried()

        try:
            answer = await insist(ask, self.patience, retried=retried, sleep=self._sleep)
        except RequestFailed as error:
            if self._lane is not None and error.kind in SERVERS_FAULTS:
                self._lane.gave_up(self.name, error.kind)
            raise
        if self._lane is not None:
            self._lane.answered()
        return answer

    async def _completion(self, request: Request, flight: Flight[Any]) -> Completion:
        completion = await self._answer(request, self.backend.chat, Completion, flight)
        try:
            return accept(completion)
        except RequestFailed:
            flight.spend(completion.usage, completion.cost)
            raise

    async def _answer(
        self,
        request: Request,
        ask: Callable[[Request], Awaitable[S]],
        shape: type[S],
        flight: Flight[Any],
    ) -> S:
        """One answer that can be stored, with its latency and price."""
        began = 0.0

        async def timed() -> S:
            nonlocal began
            began = time.perf_counter()
            return await ask(request)

        try:
            if self._desk is not None:
                answer = await self._of_job(self._desk, request, flight)
            else:
                answer = await self._send(request, timed, lambda answer: self._cost(*paid(answer)))
        except RequestFailed as error:
            if error.usage is not None:
                flight.spend(error.usage, self._cost(error.usage, None))
            raise
        seconds = time.perf_counter() - began if began else 0.0
        try:
            answer = received(answer, shape)
        except RequestFailed:
            usage, cost = paid(answer)
            flight.spend(usage, self._cost(usage, cost))
            raise
        answer = msgspec.structs.replace(answer, cost=self._cost(answer.usage, answer.cost))
        if self.backend.keeps and not answer.latency:
            answer = msgspec.structs.replace(answer, latency=seconds)
        return answer

    async def _send(
        self,
        request: Request,
        ask: Callable[[], Awaitable[T]],
        cost: Callable[[T], float | None] = lambda _answer: None,
    ) -> T:
        """Send one request when its turn comes, within its time and the budget."""
        async with self._turn(request):
            most = self._most_it_can_cost(request)
            if self.backend.keeps:
                await self._budget.take(most)
            self.requests += 1
            paid: float | None = None
            try:
                answer = await attempt(ask, self.backend.seconds(request) or self.patience.each)
                paid = cost(answer) if self._budget.max_cost is not None else None
                return answer
            except RequestFailed as error:
                paid = None if error.usage is None else self._cost(error.usage, None)
                raise
            finally:
                if self.backend.keeps:
                    self._budget.settle(most, paid)

    async def _of_job(self, desk: BatchDesk, request: Request, flight: Flight[Any]) -> Any:
        """The answer of a job; a request that is new to the desk counts towards the budget."""
        most = self._most_it_can_cost(request)
        if not await desk.knows(flight.key):
            self._budget.take_now(most)
            self.requests += 1
        return await desk.ask(flight.key, request, most or 0.0)

    def _turn(self, request: Request) -> AbstractAsyncContextManager[None]:
        if self._lane is not None:
            return self._lane.place(float(_prompt_tokens(request) + self.backend.answer_tokens(request)))
        return self._gate.turn(_prompt(request) if self._ordered else "")

    def _cost(self, usage: Usage, cost: float | None) -> float | None:
        return (
            dollars(self.backend.price, usage, batch=self._desk is not None)
            if cost is None and self.backend.price
            else cost
        )

    def _most_it_can_cost(self, request: Request) -> float | None:
        if self.backend.price is None or self._budget.max_cost is None:
            return None
        most = Usage(_prompt_tokens(request), self.backend.answer_tokens(request))
        return dollars(self.backend.price, most, batch=self._desk is not None)


def _prompt(request: Request) -> str:
    return "\0".join(message["content"] for message in request.messages)


def _prompt_tokens(request: Request) -> int:
    size = sum(len(message["content"].encode(errors="replace")) + 12 for message in request.messages)
    return size // CHARACTERS_A_TOKEN
