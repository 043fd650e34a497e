"""The backend `openai`: OpenAI, Azure and every server that speaks as they do, by OpenAI's own library.

The library brings keys, addresses, limits and errors; its models of requests and answers are passed by, which
halves the processor time of a request (`client.post(…, cast_to=Response)`, as its documentation has it).
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pmbench.core.errors import ConfigError, RequestFailed
from pmbench.core.model import Choice, Completion
from pmbench.models.backend import BackendOptions, Price, Request
from pmbench.models.backends.openai import (
    chat as openai_chat,
)
from pmbench.models.backends.openai import (
    embeddings as openai_embeddings,
)
from pmbench.models.backends.openai import (
    responses as openai_responses,
)
from pmbench.models.backends.openai.jobs import OpenAIJobs
from pmbench.models.backends.openai.wire import Dialect, Manner, is_reasoning
from pmbench.models.serving import failures
from pmbench.models.serving.endpoints import origin
from pmbench.models.serving.served import Served, ServedOptions, check_url
from pmbench.models.spec import ModelSpec

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_OPENAI = re.compile(r"https://([a-z0-9-]+\.)?api\.openai\.com:443")
_AZURE = re.compile(r"https://[a-z0-9-]+\.(openai|cognitiveservices|services\.ai)\.azure\.(com|us|cn):443")
"""Origins that are sent the vendors' usual keys, over TLS only; another one needs `?key=`."""

ROOM = 4096
"""Tokens that a reasoning model may reason for beside those of its answer: its limit counts both."""

_ROOMS = {"minimal": 1024, "low": 2048, "high": 16384, "xhigh": 32768, "max": 32768}


class OpenAIOptions(ServedOptions, frozen=True):
    """Options of `openai:`.

    Attributes:
        api: Chat Completions or Responses.
        kind: whether the model chats or embeds; `auto`: it embeds if its name says so.
        azure: the address of a resource of Azure; the model is then the name of a deployment.
        api_version: of Azure's interface, as in `2024-10-21`.
        reasoning: how much a reasoning model reasons; `auto`: as much as it does by itself. One of the vendor's
            has 4,096 tokens for it beside those of its answer, fewer or more with another effort than medium.
        summary: whether a summary of the reasoning is asked for (Responses).
        logprobs: whether choices are made by log-probabilities; `auto`: but for the vendor's reasoning models,
            which have none.
        thinking: whether the chat template of a server that is not the vendor's is told to let the model think;
            `auto`: as the template says. A choice by log-probabilities is always made without thinking.
        batches: whether a server that is not the vendor's has a batch API; the vendor's has.
    """

    api: Literal["chat", "responses"] = "chat"
    kind: Literal["auto", "chat", "embed"] = "auto"
    azure: str = ""
    api_version: str = ""
    reasoning: Literal["auto", "none", "minimal", "low", "medium", "high", "xhigh", "max"] = "auto"
    summary: Literal["on", "off"] = "off"
    logprobs: Literal["auto", "on", "off"] = "auto"
    thinking: Literal["auto", "on", "off"] = "auto"
    batches: Literal["auto", "on"] = "auto"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_url(self.azure, "azure")
        if self.azure and self.base_url:
            raise ValueError("`azure` and `base_url` both name a server: give one of them")
        if bool(self.azure) != bool(self.api_version):
            raise ValueError(
                "`azure` and `api_version` belong together: ?azure=https://…&api_version=2024-10-21"
            )
        if self.summary == "on" and self.api == "chat":
            raise ValueError("`summary` needs ?api=responses")
        if self.thinking != "auto" and self.api != "chat":
            raise ValueError("`thinking` needs ?api=chat; give ?reasoning= instead")


class OpenAI(Served):
    """A model of OpenAI, of Azure, or of a server that speaks as they do."""

    name: ClassVar[str] = "openai"
    options: ClassVar[type[BackendOptions]] = OpenAIOptions
    requires: ClassVar[Mapping[str, str]] = {"openai": "openai", "aiohttp": "openai"}
    vendor_url: ClassVar[str] = "https://api.openai.com/v1"
    key_variables: ClassVar[tuple[str, ...]] = ("OPENAI_API_KEY",)
    azure_key_variables: ClassVar[tuple[str, ...]] = ("AZURE_OPENAI_API_KEY",)

    def __init__(self, spec: ModelSpec, options: BackendOptions) -> None:
        super().__init__(spec, options)
        if not isinstance(options, OpenAIOptions):
            raise TypeError("options of openai are OpenAIOptions")
        self._options = options
        self._width = 0  # of vectors, told by the first one
        self.api = options.api
        vendors = self.own or bool(options.azure)
        if vendors and options.thinking != "auto":
            raise ConfigError(
                "is for other servers than the vendor's", where="option `thinking`", remedy="Give ?reasoning="
            )
        named = is_reasoning(spec.target) or options.reasoning != "auto"
        reasons = vendors and named and options.reasoning != "none"
        self.manner = Manner(
            model=spec.target,
            vendors=vendors,
            azure=bool(options.azure),
            reasons=reasons,
            room=_ROOMS.get(options.reasoning, ROOM) if reasons else 0,
            effort="" if options.reasoning == "auto" else options.reasoning,
            summary=options.summary == "on",
            thinking=options.thinking,
            where=self.where,
            key=self.key_told,
        )
        self.dialect: Dialect = (
            openai_chat.Chat(self.manner) if self.api == "chat" else openai_responses.Responses(self.manner)
        )
        self.price = Price("openai", spec.target) if vendors else Price(self.place, spec.target)
        self.offers, self.features = self._abilities()
        if "batch-api" in self.features:
            self.jobs = OpenAIJobs(self)

    @property
    def url(self) -> str:
        """The server's address."""
        return self._options.azure or super().url

    @property
    def own(self) -> bool:
        """Whether the server is the vendor's own: OpenAI's, of any region, or one of Azure's names."""
        return (_AZURE if self._options.azure else _OPENAI).fullmatch(origin(self.url)) is not None

    def decides(self) -> Mapping[str, str]:
        """The options that can change an answer."""
        option = self._options
        return {
            "api_version": option.api_version,
            "reasoning": option.reasoning,
            "room": str(self.manner.room),
            "summary": option.summary,
            "thinking": option.thinking,
        }

    @property
    def room(self) -> int:
        """Tokens that thinking may take beside those of the answer."""
        return self.manner.room

    async def open(self) -> None:
        """Make the library's client; nothing is connected yet."""
        if self._client is not None:
            return
        from pmbench.models.serving import connection

        await self.reach()
        key, organization = self.secret(), os.environ.get("OPENAI_ORG_ID") if self.own else None
        async with contextlib.AsyncExitStack() as undone:
            thin = connection.client(self.endpoint, self.parallel)
            undone.push_async_callback(thin.aclose)
            given: dict[str, Any] = {"api_key": key, "http_client": thin, "max_retries": 0, "timeout": None}
            with connection.environment_without("OPENAI_", "AZURE_OPENAI_"):
                import openai

                if self._options.azure:
                    self._client = openai.AsyncAzureOpenAI(
                        azure_endpoint=self.endpoint.url, api_version=self._options.api_version, **given
                    )
                else:
                    self._client = openai.AsyncOpenAI(
                        base_url=self.endpoint.url, organization=organization, **given
                    )
            undone.pop_all()
        connection.quiet("openai")

    def body(self, request: Request) -> dict[str, Any]:
        """The body of a request, as it is sent to the path `dialect.path`.

        Raises:
            RequestFailed: `unsupported`: it asks for what this model cannot do; `invalid`.
        """
        wanted = {"temperature": request.temperature > 0, "stop": request.stop, "schema": request.schema}
        for feature, asked in wanted.items():
            if asked and feature not in self.features:
                raise RequestFailed("unsupported", f"{self.spec.target} takes no {feature}")
        if request.max_tokens < 1:
            raise RequestFailed("invalid", "an answer of less than one token")
        return self.dialect.body(request)

    def read(self, payload: Mapping[str, Any], headers: Mapping[str, str]) -> Completion:
        """The completion in an answer.

        Raises:
            RequestFailed, ModelUnavailable: it holds none.
        """
        return self.dialect.read(payload, headers)

    async def chat(self, request: Request) -> Completion:
        """Answer one request. A prompt that the server's filter blocks is an answer: `refused`."""
        if "chat" not in self.offers:
            return await super().chat(request)
        try:
            return self.read(*await self.post(self.dialect.path, self.body(request)))
        except RequestFailed as error:
            if error.kind != failures.REFUSED:
                raise
        return Completion("", finish="refused")

    async def choose(self, request: Request) -> Choice:
        """Probabilities of the options as the answer's first token."""
        if "choose" not in self.offers:
            return await super().choose(request)
        payload, _ = await self.post(self.dialect.path, self.body(request))
        return self.dialect.read_choice(payload, request.options)

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """L2-normalised vectors of texts, shape (n, d)."""
        if "embed" not in self.offers:
            return await super().embed(texts)
        import numpy as np

        found = []
        for start in range(0, len(texts), openai_embeddings.MOST_TEXTS):
            some = texts[start : start + openai_embeddings.MOST_TEXTS]
            payload, _ = await self.post(
                openai_embeddings.PATH, openai_embeddings.body(self.spec.target, some)
            )
            found.append(openai_embeddings.read(payload, len(some), self.manner))
        if not found:
            return np.zeros((0, self._width), dtype=np.float32)
        self._width = found[0].shape[1]
        return np.concatenate(found)

    def _usual_keys(self) -> tuple[str, ...]:
        return self.azure_key_variables if self._options.azure else self.key_variables

    def _abilities(self) -> tuple[frozenset[str], frozenset[str]]:
        """What it offers and which features it has."""
        option, manner = self._options, self.manner
        if option.kind == "embed" or (option.kind == "auto" and "embed" in self.spec.target.lower()):
            return frozenset({"embed"}), frozenset()
        features = openai_chat.FEATURES if self.api == "chat" else openai_responses.FEATURES
        if (self.own and not manner.azure) or option.batches == "on":
            features |= {"batch-api"}
        if manner.vendors and not manner.reasons:
            features -= {"thinking"}
        if manner.reasons:
            features -= {"temperature", "stop"}
        if option.logprobs == "off" or (option.logprobs == "auto" and manner.reasons):
            features -= {"logprobs"}
        return frozenset({"chat"} | ({"choose"} if "logprobs" in features else set())), features
