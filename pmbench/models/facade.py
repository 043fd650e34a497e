"""The Model that strategies and judges are handed: a backend with its answers stored, retried, counted."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from pmbench.core.digest import digest
from pmbench.core.errors import ModelUnavailable, RequestFailed, UserError
from pmbench.core.model import Choice, Completion, Message
from pmbench.models.backend import Backend, Request
from pmbench.models.calls import Call, answered, tracked, tracking
from pmbench.models.foreign import is_backends_own, told, type_and_place
from pmbench.models.received import decoded, encoded, whole_text
from pmbench.models.sampling import Sampling
from pmbench.models.serving.jobs import JobFolder
from pmbench.models.spec import ModelSpec
from pmbench.models.store import CompletionStore
from pmbench.models.traffic.asking import REMOTE_SECONDS, Asker, Traffic
from pmbench.models.traffic.flights import Flight, Flights, OpenOnce
from pmbench.models.traffic.patience import Patience

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Call", "FacadeModel", "Sampling", "Traffic", "tracking"]

_LOG = logging.getLogger(__name__)

A = TypeVar("A", Completion, Choice, float)

CHOICE_TOKENS = 16
"""Most tokens of the answer where a backend without log-probabilities is asked to choose."""

LANDING_SECONDS = 60.0
"""How long answers that nobody waits for any more, but that cost something, are waited for."""

AS_ASKED, FREELY = Sampling(), Traffic()


class FacadeModel:
    """A backend as a `Model`: answers are looked up in the store first and stored before they are returned.

    Equal requests under way at the same time are sent once. The backend is opened before the first request
    that the store cannot answer. An answer that could not be read back from the store is not stored: its
    request fails (`invalid-answer`). A row of the store that cannot be read, from a damaged disk or a stranger,
    stays as it is: the request is sent again, and the new answer is stored under a key that follows from the
    first. The first such row of a model is logged as a warning, and all are counted.

    Args:
        name: as the user gave it.
        backend: what talks to the model.
        store: where its answers are kept.
        sampling: the run's own, in place of what is asked for.
        traffic: what bounds its requests.
        patience: bounds of each request; by default an attempt at a remote backend is bounded in time.
        sleep: how to wait between attempts.

    Attributes:
        asked: calls in this process; done: those that have come to their end, whatever it was.
        answered_from_store: how many of them no request was sent for.
        unreadable: keys of rows of the store that were passed over because they cannot be read.
        round: raised to ask anew what the store already has an answer to; the earlier answers stay.
    """

    def __init__(
        self,
        name: str,
        backend: Backend,
        store: CompletionStore,
        *,
        sampling: Sampling = AS_ASKED,
        traffic: Traffic = FREELY,
        patience: Patience | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.name, self.backend, self.store, self.sampling = name, backend, store, sampling
        patience = patience or Patience(each=None if backend.local else REMOTE_SECONDS)
        self._asker = Asker(name, backend, traffic=traffic, patience=patience, sleep=sleep)
        self.asked = self.done = self.answered_from_store = self.round = 0
        self.unreadable: set[str] = set()
        self._flights = Flights()
        self._opened = OpenOnce(self._open)
        self._identity: dict[str, str] | None = None

    @property
    def spec(self) -> ModelSpec:
        """The specification that its name stands for."""
        return self.backend.spec

    @property
    def local(self) -> bool:
        """False if a request leaves this machine."""
        return self.backend.local

    @property
    def parallel(self) -> int:
        """How many requests are worth having in flight."""
        return self._asker.most

    @property
    def requests(self) -> int:
        """Requests sent, retries included."""
        return self._asker.requests

    @property
    def patience(self) -> Patience:
        """Bounds of each request."""
        return self._asker.patience

    @property
    def offers(self) -> frozenset[str]:
        """What it can do. Whatever chats can choose, if only by saying so."""
        offers = self.backend.offers
        return offers | {"choose"} if "chat" in offers else offers

    @property
    def chooses_in_words(self) -> bool:
        """Whether it is asked for an option's name where its probabilities are wanted."""
        return "choose" not in self.backend.offers and "chat" in self.backend.offers

    @property
    def features(self) -> frozenset[str]:
        """What of a request its backend can heed."""
        return self.backend.features

    def identity(self) -> dict[str, str]:
        """What decides its answers, for a run's digest: the specification and the backend's own words.

        Raises:
            UserError: the backend cannot tell (a file is missing, it is at fault itself).
        """
        return {"spec": str(self.spec), **self._backend_identity()}

    def key(self, kind: str, request: Request) -> str:
        """Key of a request in the store: 64 hexadecimal digits over all that decides the answer."""
        # Every field is written out: a default that changes later must not change what an old key means.
        fields = msgspec.structs.asdict(request)
        if not self.backend.by_instance:
            del fields["instance"]
        if not request.shared:
            del fields["shared"]  # younger than the first stores
        backend = {"name": self.backend.name, "identity": self._backend_identity()}
        again = {"round": self.round} if self.round else {}
        return digest({"backend": backend, "kind": kind, "request": fields, **again})

    async def chat(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        temperature: float = 0.0,
        stop: Sequence[str] = (),
        schema: Mapping[str, Any] | None = None,
        attempt: int = 0,
    ) -> Completion:
        """See `Model.chat`."""
        request = self._request(
            messages,
            max_tokens=max_tokens if self.sampling.max_tokens is None else self.sampling.max_tokens,
            temperature=temperature if self.sampling.temperature is None else self.sampling.temperature,
            stop=tuple(stop),
            # A schema helps where it can be enforced; whoever cannot do without lists it among its needs.
            schema=schema if "schema" in self.backend.features else None,
            attempt=attempt,
        )
        return await self._answer("chat", request, self._asker.chat, Completion)

    async def choose(self, messages: Sequence[Message], options: Sequence[str]) -> Choice:
        """See `Model.choose`. A backend that only chats answers in words; see `choice_from`."""
        by_words = self.chooses_in_words
        tokens = CHOICE_TOKENS if self.sampling.max_tokens is None else self.sampling.max_tokens
        request = self._request(messages, options=tuple(options), max_tokens=tokens if by_words else 1)
        ask = self._asker.choose_in_words if by_words else self._asker.choose
        # A choice in words and one by log-probabilities are different answers to the same request.
        kind = "choose in words" if by_words else "choose"
        return await self._answer(kind, request, ask, Choice)

    async def reward(self, messages: Sequence[Message]) -> float:
        """See `Model.reward`."""
        # Neither sampling nor the number of the sample changes what a reward model says.
        request = Request(_plain(messages), instance=tracked().instance)
        return await self._answer("reward", request, self._asker.reward, float)

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """See `Model.embed`. Vectors are not stored."""
        self.asked += 1
        flight: Flight[Any] = Flight()
        began = time.perf_counter()
        try:
            await self._opened()
            vectors = await self._asker.embed(texts, flight)
        except RequestFailed as error:
            tracked().calls.append(Call("embed", retries=flight.retries, failure=error.kind))
            raise
        tracked().calls.append(Call("embed", latency=time.perf_counter() - began, retries=flight.retries))
        return vectors

    def submit_to(self, folder: JobFolder, *, again: bool = False) -> None:
        """Make every request from now on part of a job of the backend's batch API, if it has one."""
        self._asker.submit_to(folder, again=again)

    def let_land(self) -> None:
        """From now on let what is under way come to its end, whoever is gone: a server is paid for it."""
        self._flights.landing = True

    async def close(self, *, wait: bool = False) -> None:
        """End what is under way and let go of the backend. A later request opens it again.

        Args:
            wait: for what is under way, as long as that is no hung connection: it has been paid for.
        """
        if wait:
            await self._flights.land(LANDING_SECONDS)
        await self._flights.give_up()
        if not await self._opened.forget():
            return
        task = asyncio.current_task()
        try:
            await self.backend.close()
        except UserError:
            raise
        except BaseException as error:
            if not is_backends_own(error, task):
                raise
            # Every answer is safe already: this must not take the results from the user.
            _LOG.warning("model %s: its backend failed to close (%s)", self.name, type_and_place(error))

    def _request(self, messages: Sequence[Message], **fields: Any) -> Request:
        asked_for = tracked()
        if not all(_is_whole(message["content"]) for message in messages):
            raise RequestFailed("invalid", "half a surrogate pair in a message")
        return Request(
            _plain(messages),
            shared=min(messages[-1].get("shared", 0), len(messages[-1]["content"])) if messages else 0,
            seed=self.sampling.seed,
            sample=asked_for.sample,
            instance=asked_for.instance,
            **fields,
        )

    def _backend_identity(self) -> dict[str, str]:
        if self._identity is None:
            what = "its backend cannot say what decides its answers"
            said = told(lambda: dict(self.backend.identity()), what=what, where=f"model {self.name}")
            if not all(isinstance(text, str) for pair in said.items() for text in pair):
                raise ModelUnavailable(f"{what} (not in texts)", where=f"model {self.name}")
            # A backend that says nothing must not share its answers with another model of the same backend.
            self._identity = {_printable(k): _printable(v) for k, v in said.items()} or {
                "spec": str(self.spec)
            }
        return self._identity

    async def _answer(
        self,
        kind: str,
        request: Request,
        ask: Callable[[Request, Flight[A]], Awaitable[A]],
        shape: type[A],
    ) -> A:
        """From the store, from an equal request under way, or from the backend; recorded in each case."""
        self.asked += 1
        calls = tracked().calls
        key = self.key(kind, request)
        key, stored = self._stored(key, shape)
        if stored is not None:
            self.answered_from_store += 1
            self.done += 1
            calls.append(answered(kind, stored, stored=True))
            return stored

        def fly(flight: Flight[A]) -> Coroutine[Any, Any, A]:
            return self._fetch(key, kind, lambda: ask(request, flight), flight, shape)

        flight, shared = self._flights.board(key, fly)
        self.answered_from_store += shared
        try:
            answer = await self._flights.join(key, flight)
        except RequestFailed as error:
            calls.append(_failed(kind, flight, error.kind, shared=shared))
            raise
        finally:
            self.done += 1
        calls.append(answered(kind, answer, stored=shared, retries=0 if shared else flight.retries))
        return answer

    async def _fetch(
        self, key: str, kind: str, ask: Callable[[], Awaitable[A]], flight: Flight[A], shape: type[A]
    ) -> A:
        """Ask the backend; the answer is on disk when this returns."""
        await self._opened()
        answer = _with_spent(await ask(), flight)
        if not self.backend.keeps:
            return answer
        about = {"model": whole_text(self.name), "kind": kind}
        await self.store.put(key, encoded(answer, shape), about=about)
        # Another process may have been first: the answer that stays is the one that everybody gets.
        _, kept = self._stored(key, shape)
        return answer if kept is None else kept

    def _stored(self, key: str, shape: type[A]) -> tuple[str, A | None]:
        """The key under which an answer stands, or may be stored, and the answer if there is one."""
        while self.backend.keeps and (value := self.store.get(key)) is not None:
            answer = decoded(value, shape)
            if answer is not None:
                return key, answer
            if not self.unreadable:
                _LOG.warning(
                    "%s: the completion %s cannot be read. It stays as it is; the request is sent again",
                    self.store.path,
                    key,
                )
            self.unreadable.add(key)
            key = digest({"in place of": key})
        return key, None

    async def _open(self) -> None:
        task = asyncio.current_task()
        try:
            await self.backend.open()
        except UserError:
            raise
        except BaseException as error:
            if not is_backends_own(error, task):
                raise
            words = f": {error}" if isinstance(error, Exception) else ""
            raise ModelUnavailable(
                f"it cannot be opened ({type(error).__name__}{words})", where=f"model {self.name}"
            ) from error


def _plain(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The messages without marks, which no server knows."""
    return tuple({"role": message["role"], "content": message["content"]} for message in messages)


def _is_whole(text: str) -> bool:
    """Whether a text can be written as UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _printable(text: str) -> str:
    """A text of an identity; a file's name that is not UTF-8 has its bytes written out."""
    return text.encode("utf-8", "backslashreplace").decode()


def _failed(kind: str, flight: Flight[Any], failure: str, *, shared: bool) -> Call:
    if shared:
        return Call(kind, stored=True, failure=failure)
    return Call(kind, usage=flight.usage, cost=flight.cost, retries=flight.retries, failure=failure)


def _with_spent(answer: A, flight: Flight[A]) -> A:
    """The answer with what the answers before it, that did not count, have cost: totals stay true."""
    if isinstance(answer, float):
        return answer
    cost = answer.cost if flight.cost is None else flight.cost + (answer.cost or 0.0)
    return msgspec.structs.replace(answer, usage=flight.usage + answer.usage, cost=cost)
