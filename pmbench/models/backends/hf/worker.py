"""One thread that computes, and what it is handed: requests, gathered until they are many enough or none follows."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Protocol

from pmbench.core.errors import RequestFailed
from pmbench.models.traffic.gatherer import Gatherer

if TYPE_CHECKING:
    from pmbench.models.backend import Request
    from pmbench.models.backends.hf.groups import Tokens

MOST_AT_ONCE = 256
"""Requests whose prompts are made into tokens in one go."""


class Job:
    """One request on its way.

    Attributes:
        kind: `chat`, `choose`, `reward` or `embed`.
        request: as it was asked; None for a text to embed.
        text: to embed.
        tokens: of its prompt, once they are known.
        state: what an engine notes about it.
        begun: when work on it began, by the monotonic clock; 0: not yet.
        gone: whether nobody waits for it any more. Set in the event loop, read in the thread.
    """

    __slots__ = ("_loop", "begun", "future", "gone", "kind", "request", "state", "text", "tokens")

    def __init__(self, kind: str, request: Request | None = None, text: str = "") -> None:
        self._loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Any] = self._loop.create_future()
        self.kind, self.request, self.text = kind, request, text
        self.tokens: Tokens
        self.state: Any = None
        self.begun = 0.0
        self.gone = False

    @property
    def seconds(self) -> float:
        """Since work on it began; the time it waited for a place in a batch is not in it."""
        return time.monotonic() - self.begun

    def done(self, result: Any) -> None:
        """Hand over its result; from the thread."""
        self._settle(self.future.set_result, result)

    def failed(self, error: Exception) -> None:
        """Hand over why there is none; from the thread."""
        self._settle(self.future.set_exception, error)

    def _settle(self, settle: Callable[[Any], None], value: Any) -> None:
        def in_the_loop() -> None:
            if not self.future.done():
                settle(value)

        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits
            self._loop.call_soon_threadsafe(in_the_loop)


class Engine(Protocol):
    """What computes, step by step, in the worker's thread."""

    def encode(self, job: Job) -> None:
        """Set the tokens of its prompt; in another thread than `turn`. RequestFailed: it cannot be done."""
        ...

    def turn(self, waiting: list[Job]) -> bool:
        """Do one step; jobs that it takes leave `waiting`. True if there is more to do."""
        ...

    def give_up(self, error: Exception) -> None:
        """Fail what is under way."""
        ...


class Worker:
    """Runs an engine in a thread of its own, which only exists while there is work.

    Prompts are made into tokens in another thread, so that the model does not wait for that.

    Args:
        build: makes the engine, in the thread that will run it.
        mode: what the thread computes in (torch's inference mode).
    """

    def __init__(
        self, build: Callable[[], Engine], mode: Callable[[], contextlib.AbstractContextManager[Any]]
    ) -> None:
        self._build, self._mode = build, mode
        self._engine: Engine | None = None
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="pmbench-hf")
        self._lock = threading.Lock()
        self._handed: list[Job] = []
        self._working = self._closing = False
        self._gather: Gatherer[Job, None] = Gatherer(self._hand_over, most=MOST_AT_ONCE)

    async def open(self) -> None:
        """Build the engine; raises what building it raises."""
        self._engine = await asyncio.get_running_loop().run_in_executor(self._pool, self._build)

    async def __call__(self, job: Job) -> Any:
        """The result of a job.

        Raises:
            RequestFailed: as the engine says, or `closed`.
        """
        try:
            await self._gather([job])
            return await job.future
        finally:
            job.gone = True

    async def close(self) -> None:
        """End what is under way, at the next step, and let go of the engine."""
        self._closing = True
        await asyncio.to_thread(self._pool.shutdown, wait=True)
        self._engine = None

    async def _hand_over(self, jobs: list[Job]) -> list[None]:
        ready = await asyncio.to_thread(self._encoded, jobs)
        with self._lock:
            if self._closing:
                _fail(ready, _closed())
            else:
                self._handed += ready
                if not self._working:
                    self._working = True
                    self._pool.submit(self._work)
        return [None] * len(jobs)

    def _encoded(self, jobs: list[Job]) -> list[Job]:
        """Those whose prompts could be made into tokens; the others are failed."""
        ready, engine = [], self._engine
        for job in jobs:
            try:
                if engine is None or self._closing:
                    raise _closed()
                engine.encode(job)
            except RequestFailed as error:
                job.failed(error)
            except Exception as error:  # noqa: BLE001 - of a tokenizer; its message may quote the prompt
                job.failed(RequestFailed("server", f"the tokenizer failed ({type(error).__name__})"))
            else:
                ready.append(job)
        return ready

    def _work(self) -> None:
        """Step after step, until nothing is left to do."""
        engine, waiting, busy = self._engine, list[Job](), False
        assert engine is not None
        with self._mode():
            while not self._closing:
                with self._lock:
                    waiting += self._handed
                    self._handed.clear()
                    waiting = [job for job in waiting if not job.gone]
                    if not waiting and not busy:
                        self._working = False
                        return
                try:
                    busy = engine.turn(waiting)
                except Exception as error:  # noqa: BLE001 - a fault of the engine fails what is under way, not the run
                    busy = False
                    engine.give_up(RequestFailed("server", f"the engine failed ({type(error).__name__})"))
        engine.give_up(_closed())
        with self._lock:
            _fail(waiting + self._handed, _closed())


def _fail(jobs: list[Job], error: Exception) -> None:
    for job in jobs:
        job.failed(error)


def _closed() -> RequestFailed:
    return RequestFailed("closed", "the model was closed during the request")
