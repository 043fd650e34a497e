"""What a backend is: the one seam between pmbench and whatever talks to a model."""

from __future__ import annotations

import hashlib
import importlib.util
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec

from pmbench.core.errors import MissingExtra, RequestFailed
from pmbench.core.model import Choice, Completion, Message
from pmbench.models.serving.endpoints import Endpoint
from pmbench.models.spec import ModelSpec

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pmbench.models.serving.jobs import Jobs


class Request(msgspec.Struct, frozen=True, omit_defaults=True):
    """One request to a model: everything that decides its answer besides the backend's identity.

    Attributes:
        messages: the conversation.
        max_tokens, temperature, stop, schema, seed: sampling.
        options: the options of a `choose` request; empty for `chat`.
        sample: number of the sample of this instance, from 0.
        attempt: number of the repair retry, from 0.
        instance: id of the instance it is asked for. Decides nothing unless the backend is `by_instance`.
        shared: characters at the beginning of the last message's content that other requests have too; 0: none
            are marked.
    """

    messages: tuple[Message, ...]
    max_tokens: int = 512
    temperature: float = 0.0
    stop: tuple[str, ...] = ()
    schema: Mapping[str, Any] | None = None
    seed: int = 0
    options: tuple[str, ...] = ()
    sample: int = 0
    attempt: int = 0
    instance: str = ""
    shared: int = 0

    @property
    def engine_seed(self) -> int:
        """A seed of 31 bits for this sample and attempt: samples of one instance differ, runs do not."""
        text = msgspec.json.encode((self.seed, self.sample, self.attempt))
        return int.from_bytes(hashlib.sha256(text).digest()[:4]) & 0x7FFFFFFF


FEATURES: Mapping[str, str] = {
    "temperature": "samples at the temperature that it is asked for",
    "seed": "equal seeds give equal samples",
    "stop": "texts that end an answer",
    "schema": "keeps an answer to a JSON schema",
    "logprobs": "chooses by the log-probabilities of the answer's first token, not by words",
    "thinking": "thinking can be switched, or given a budget",
    "adapter": "LoRA adapters",
    "prefix": "reuses what prompts have in common",
    "batch-api": "jobs that are collected later, at half the price",
}
"""What a backend may be able to do besides what it offers; `docs/backends.md` has who does what."""

REQUESTED = ("temperature", "seed", "stop", "schema", "logprobs")
"""The features that a strategy, a judge or the user can ask for."""


class Limits(msgspec.Struct, frozen=True):
    """What a server said of its rate limits, in the headers of an answer or of a refusal.

    Attributes:
        requests, tokens: what is left of each; None where it did not say.
        requests_reset, tokens_reset: seconds until they are full again.
    """

    requests: float | None = None
    requests_reset: float = 0.0
    tokens: float | None = None
    tokens_reset: float = 0.0


class Price(msgspec.Struct, frozen=True):
    """Under which names the price of a model is looked up.

    Attributes:
        provider: `openai`, `anthropic`, `google`…
        model: as the provider names it.
    """

    provider: str
    model: str


class BackendOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Options of a backend, as in `backend:name?option=value`. Subclass and add fields with defaults."""


class Backend(ABC):
    """Talks to one model. Creating one is light: nothing is loaded or connected before `open`.

    Attributes:
        name: as in the specification (`llama-cpp`).
        offers: which of `chat`, `choose`, `reward`, `embed` it can do.
        features: which of `FEATURES` it has.
        local: False if a request leaves this machine; a backend that does not say otherwise is not local.
        endpoint: where its requests go; None: nowhere, it computes in this process.
        price: what its price is looked up by; None: it has none (the machine is the user's own).
        jobs: its batch API, where it has one (the feature `batch-api`).
        hear: called by the backend with what a server says of its rate limits; set by the facade.
        keeps: whether its completions are worth storing (False where asking again is free and exact).
        by_instance: whether the instance decides the answer instead of the messages (recorded answers).
        notes: lines for the user on how recorded answers were read.
        parallel: how many requests are worth having in flight; of one that is not in this process the most
            that are ever tried, the number that its server bears is found out.
        requires: modules it imports when opened, each with the extra of pmbench that brings it.
    """

    name: ClassVar[str]
    options: ClassVar[type[BackendOptions]] = BackendOptions
    requires: ClassVar[Mapping[str, str]] = {}
    offers: frozenset[str] = frozenset({"chat"})
    features: frozenset[str] = frozenset()
    local: bool = False
    endpoint: Endpoint | None = None
    price: Price | None = None
    jobs: Jobs | None = None
    hear: Callable[[Limits], None] = staticmethod(lambda _limits: None)
    keeps: bool = True
    by_instance: bool = False
    notes: Sequence[str] = ()
    parallel: int = 1

    def __init__(self, spec: ModelSpec, options: BackendOptions) -> None:
        self.spec, self.option = spec, options

    @classmethod
    def lacking(cls) -> str | None:
        """The first module of `requires` that is not installed. Imports nothing."""
        return next((module for module in cls.requires if not _is_there(module)), None)

    def missing_extra(self) -> MissingExtra | None:
        """The error for a module of `requires` that is not installed. Imports nothing."""
        module = self.lacking()
        return (
            None
            if module is None
            else MissingExtra(f"the backend {self.name!r}", self.requires[module], module)
        )

    @abstractmethod
    def unavailable(self) -> str:
        """Why this model cannot run here, with the remedy, in one line; empty if it can. Loads nothing."""

    @abstractmethod
    def identity(self) -> Mapping[str, str]:
        """What decides its answers: engine, version, SHA-256 or revision, options. Loads nothing."""

    def coverage(self, ids: Iterable[str]) -> tuple[list[str], list[str]]:
        """For recorded answers: ids that have none, and recorded ids that are not among these. Else nothing."""
        return [], []

    def read_as_numbers(self, ids: Iterable[str]) -> dict[str, str]:
        """For recorded answers: ids that stand there as another text of the same number, with that text."""
        return {}

    def account(self) -> str:
        """Whose rate limits its requests count towards: equal for backends that share them. No key in clear."""
        return f"{self.name}:{self.spec.target}"

    def answer_tokens(self, request: Request) -> int:
        """Most tokens that an answer can have: the request's limit, and room for thinking where there is some."""
        return request.max_tokens

    def seconds(self, request: Request) -> float | None:
        """Seconds that one attempt may take; None: as long as it takes, or as the caller likes."""
        return None

    async def open(self) -> None:  # noqa: B027 - many backends have nothing to open
        """Load or connect. Called once, before the first request that the store cannot answer."""

    async def close(self) -> None:  # noqa: B027
        """Let go of memory and connections."""

    async def chat(self, request: Request) -> Completion:
        """Answer one request.

        Raises:
            RequestFailed: with its kind, and whether the same request may succeed later.
        """
        raise RequestFailed("unsupported", f"{self.name} cannot chat")

    async def choose(self, request: Request) -> Choice:
        """Probability of each of `request.options` as the first token of the answer."""
        raise RequestFailed("unsupported", f"{self.name} cannot choose")

    async def reward(self, request: Request) -> float:
        """Scalar reward of a conversation."""
        raise RequestFailed("unsupported", f"{self.name} cannot reward")

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """L2-normalised vectors of texts, shape (n, d)."""
        raise RequestFailed("unsupported", f"{self.name} cannot embed")


def _is_there(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # of a.b not even a
        return False
