"""What the tests of the suite share: what is said of a backend, an event loop to ask it in, and checks."""

from __future__ import annotations

import asyncio
import logging
import math
import os
import re
import traceback
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, TypeVar
from urllib.parse import urlencode

import msgspec
import pytest

from pmbench.core.errors import RequestFailed
from pmbench.core.model import Choice, Completion, Message
from pmbench.core.names import safe_kind
from pmbench.models import catalogue
from pmbench.models.backend import Backend, Request
from pmbench.models.received import decoded, encoded, received
from pmbench.models.spec import parse_spec

T = TypeVar("T")
S = TypeVar("S", Completion, Choice)

Value = str | Mapping[str, str]
"""A value of an option, or that of several options that belong together."""

TOKENS = 12
"""Most tokens of an answer where a test does not say otherwise."""

CANARY = "Zyzzyva-7731"
"""Stands in every message that the suite sends, and must stand in no error and in no log."""

_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSWORD")
_LEAST_SECRET = 8


class Life:
    """The event loop that the tests of one class share, and the backend that is open in it."""

    def __init__(self) -> None:
        self.runner = asyncio.Runner()
        self.backend: Backend | None = None

    def end(self) -> None:
        """Close the backend, if one is open, and the loop."""
        backend, self.backend = self.backend, None
        try:
            if backend is not None:
                self.runner.run(backend.close())
        finally:
            self.runner.close()


class Suite:
    """What a subclass says of its backend.

    Attributes:
        spec: the model, as on the command line: `mine:small?slots=2`.
        kind: the class of a backend that is not installed under an entry point; else it is found by its name.
        deciding: options that can change an answer, each with two values of which the identity must tell. Where
            an option needs others beside it, each value is a mapping of all of them.
        not_deciding: all other options, each with two values that the identity must not tell apart.
        bad_options: options, each with a value that must be refused; values of the wrong type are tried anyway.
        deterministic: whether the same request at temperature 0 gives the same text, whatever is asked meanwhile.
        varies: whether samples at a high temperature differ; False for a server that plays a model.
        counts: whether it counts tokens.
        exact_limit: whether the token limit holds for the answer alone, to the token; False for a model whose
            thinking shares it.
        control_tokens: texts that would control the model if they were not a part of a message.
        instances: of recorded answers (`by_instance`), ids that have one.
        seconds: how long anything may take.
    """

    spec: str = ""
    kind: type[Backend] | None = None
    deciding: Mapping[str, tuple[Value, Value]] = {}
    not_deciding: Mapping[str, tuple[Value, Value]] = {}
    bad_options: Mapping[str, str] = {}
    deterministic: bool = False
    varies: bool = True
    counts: bool = True
    exact_limit: bool = True
    control_tokens: Sequence[str] = ()
    instances: Sequence[str] = ()
    seconds: float = 300.0

    _life: ClassVar[Life]

    def backend(self, **options: str) -> Backend:
        """A new backend of the model, with these options besides those of `spec`; nothing of it loaded."""
        asked = urlencode(options)
        text = f"{self.spec}{'&' if '?' in self.spec else '?'}{asked}" if asked else self.spec
        if self.kind is None:
            return catalogue.backend_for(text)
        spec = parse_spec(text)
        return self.kind(spec, catalogue.options_of(self.kind, spec))

    def tells(self, request: Request, completion: Completion) -> bool:
        """Whether an answer is one to that very request; override it where that can be told."""
        return True

    @classmethod
    def setup_class(cls) -> None:
        """Begin the life of this class's backend; it is opened with the first test that asks it."""
        cls._life = Life()

    @classmethod
    def teardown_class(cls) -> None:
        """End it."""
        cls._life.end()

    @pytest.fixture(autouse=True)
    def _nothing_of_a_request_in_logs(self, caplog: pytest.LogCaptureFixture) -> Iterator[None]:
        caplog.set_level(logging.DEBUG)
        yield
        write = logging.Formatter("%(name)s %(levelname)s %(message)s").format
        for record in (*caplog.get_records("setup"), *caplog.get_records("call")):
            self.discreet(write(record), f"a log record of {record.name} ({record.levelname})")

    # What tests are made of.

    def said(self) -> Backend:
        """A backend to read what it says of itself, not opened."""
        return self.backend()

    def needs(self, offered: str, feature: str = "") -> None:
        """Skip the test where the backend does not offer that, or has not that feature."""
        backend = self.said()
        if offered not in backend.offers:
            pytest.skip(f"it does not offer `{offered}`")
        if feature and feature not in backend.features:
            pytest.skip(f"it has not the feature `{feature}`")

    def needs_prompts(self) -> None:
        """Skip the test of a backend of recorded answers: neither messages nor sampling decide those."""
        if self.said().by_instance:
            pytest.skip("its answers are recorded: neither messages nor sampling decide them")

    def request(self, text: str = "How do I treat a cold?", *, place: int = 0, **fields: Any) -> Request:
        """A request whose one message is the text and the canary."""
        return self.conversation(({"role": "user", "content": f"{CANARY}: {text}"},), place=place, **fields)

    def bare(self, text: str, **fields: Any) -> Request:
        """A request whose one message is the text and nothing else."""
        return self.conversation(({"role": "user", "content": text},), **fields)

    def conversation(self, messages: Sequence[Message], *, place: int = 0, **fields: Any) -> Request:
        """A request of these messages; of recorded answers, that of the instance in this place."""
        if self.said().by_instance:
            if not self.instances:
                pytest.fail("say which `instances` have a recorded answer")
            fields["instance"] = self.instances[place % len(self.instances)]
        return Request(tuple(messages), **{"max_tokens": TOKENS, **fields})

    def run(self, work: Callable[[Backend], Awaitable[T]]) -> T:
        """Do something with the open backend that the tests of this class share."""
        life = self._life
        if life.backend is None:
            backend = self.ready()
            life.runner.run(self._bounded(backend.open()))
            life.backend = backend
        return life.runner.run(self._bounded(work(life.backend)))

    def run_new(self, work: Callable[[Backend], Awaitable[T]]) -> T:
        """Do something with a backend of one's own, not opened; it is closed in the end."""
        backend = self.ready()

        async def closing() -> T:
            try:
                return await self._bounded(work(backend))
            finally:
                await backend.close()

        return asyncio.run(closing())

    def ready(self) -> Backend:
        """A backend that can run here; else the test fails with the reason."""
        backend = self.backend()
        reason = backend.unavailable()
        if reason:
            pytest.fail(f"it cannot run here: {reason}")
        return backend

    async def _bounded(self, work: Awaitable[T]) -> T:
        async with asyncio.timeout(self.seconds):
            return await work

    def chat(self, request: Request) -> Completion:
        """The answer to a request, checked to be one that can be stored."""

        async def ask(backend: Backend) -> Completion:
            return await backend.chat(request)

        return self.valid(self.run(ask), Completion)

    def chat_or_failure(self, request: Request) -> Completion | RequestFailed:
        """The answer to a request or its failure, each checked."""

        async def ask(backend: Backend) -> Completion | RequestFailed:
            return await self.outcome(backend.chat(request))

        outcome = self.run(ask)
        return outcome if isinstance(outcome, RequestFailed) else self.valid(outcome, Completion)

    async def outcome(self, asked: Awaitable[T]) -> T | RequestFailed:
        """What came of a request: the answer, or the failure, checked. Any other exception goes on."""
        try:
            return await asked
        except RequestFailed as error:
            self.proper(error)
            return error

    # Checks.

    def valid(self, answer: object, shape: type[S]) -> S:
        """The answer as it comes back from the store; an answer of another type or with wild numbers fails."""
        assert isinstance(answer, shape), f"an answer of the type {type(answer).__name__}"
        clean = received(answer, shape)
        is_kept = decoded(encoded(clean, shape), shape) == clean
        assert is_kept, "what is read from the store is not what was put there"
        if isinstance(clean, Completion):
            assert isinstance(clean.text, str), "an answer without a text: raise RequestFailed('null')"
            assert clean.finish != "error", "raise RequestFailed in place of an answer"
        assert math.isfinite(clean.latency)
        return clean

    def proper(self, error: RequestFailed) -> None:
        """Check a failure: a kind that can be counted, a wait that can be waited, no word of the request."""
        assert safe_kind(error.kind, "") == error.kind, f"{error.kind!r} is no kind that can be counted"
        assert isinstance(error.retryable, bool)
        if error.retry_after is not None:
            assert math.isfinite(error.retry_after) and error.retry_after >= 0
        assert "\n" not in str(error), "the message of a failure is one line"
        self.discreet("".join(traceback.format_exception(error)), f"the failure {error.kind!r} or its cause")

    def discreet(self, text: str, where: str) -> None:
        """Check that a text holds no word of a request and no key."""
        # Told apart from the assertion: pytest would show the secret, and compare megabytes letter by letter.
        quoted = CANARY in text
        assert not quoted, f"a word of the request stands in {where}"
        for name, secret in secrets().items():
            quoted = secret in text
            assert not quoted, f"the value of {name} stands in {where}"


def secrets() -> dict[str, str]:
    """The keys and passwords in the environment, by variable."""
    return {
        name: value
        for name, value in os.environ.items()
        if _SECRET.search(name.upper()) and len(value) >= _LEAST_SECRET
    }


def option_fields(backend: Backend) -> tuple[msgspec.structs.FieldInfo, ...]:
    """The options that a backend takes."""
    return msgspec.structs.fields(type(backend).options)
