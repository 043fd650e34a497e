"""A backend as a stranger could write one: it fails as a plan says, and counts what it is asked."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from pmbench.core.errors import RequestFailed
from pmbench.core.model import Choice, Completion, Usage
from pmbench.models.backend import Backend, BackendOptions, Request
from pmbench.models.facade import FacadeModel
from pmbench.models.spec import parse_spec
from pmbench.models.store import CompletionStore
from pmbench.models.traffic.patience import Patience

PAID = Usage(prompt_tokens=10, completion_tokens=5)
HURRIED = Patience(first_wait=0.0)

TOO_MANY = RequestFailed("rate-limit", "429", retryable=True, retry_after=7.0)
BROKEN_DOWN = RequestFailed("server", "503", retryable=True)
REFUSED_KEY = RequestFailed("unauthorised", "401")


class Flaky(Backend):
    """Takes one entry of the plan for each request: an exception to raise or an answer; then it echoes."""

    name: ClassVar[str] = "flaky"
    local = True

    def __init__(self, plan: Iterable[Any] = (), *, identity: Mapping[str, str] | None = None) -> None:
        super().__init__(parse_spec("flaky:test"), BackendOptions())
        self.plan = list(plan)
        self.seen: list[Request] = []
        self.opened = self.closed = 0
        self.most_in_flight = self.in_flight = 0
        self.pause = 0.0
        self._said = {"weights": "abc"} if identity is None else identity

    def unavailable(self) -> str:
        return ""

    def identity(self) -> Mapping[str, str]:
        return self._said

    async def open(self) -> None:
        await asyncio.sleep(0)
        self.opened += 1

    async def close(self) -> None:
        self.closed += 1

    async def chat(self, request: Request) -> Completion:
        return await self._next(
            request, Completion(f"answer to {request.messages[-1]['content']}", usage=PAID)
        )

    async def choose(self, request: Request) -> Choice:
        n = len(request.options)
        return await self._next(request, Choice(tuple(1 / n for _ in range(n)), usage=PAID))

    async def reward(self, request: Request) -> float:
        return await self._next(request, 0.25)

    async def _next(self, request: Request, otherwise: Any) -> Any:
        self.seen.append(request)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            await asyncio.sleep(self.pause)
            entry = self.plan.pop(0) if self.plan else otherwise
            if isinstance(entry, BaseException):
                raise entry
            return entry
        finally:
            self.in_flight -= 1


def facade(backend: Backend, store: CompletionStore, **settings: Any) -> FacadeModel:
    """A facade whose waits are no waits."""
    return FacadeModel("flaky", backend, store, **{"patience": HURRIED, **settings})


def ask(text: str) -> list[Any]:
    """A conversation of one message."""
    return [{"role": "user", "content": text}]
