"""The backend `anthropic`: Claude, and every server that speaks Anthropic's Messages, by Anthropic's own library.

The library brings keys, addresses and errors; its models of requests and answers are passed by, which halves the
processor time of a request (`client.post(…, cast_to=Response)`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pmbench.core.errors import ConfigError, RequestFailed
from pmbench.core.model import Completion
from pmbench.models.backend import BackendOptions, Price, Request
from pmbench.models.backends.anthropic import wire
from pmbench.models.backends.anthropic.jobs import AnthropicJobs
from pmbench.models.serving import failures
from pmbench.models.serving.served import Served, ServedOptions
from pmbench.models.spec import ModelSpec

PATH = "/v1/messages"

LEAST_BUDGET = 1024
"""Tokens: the smallest budget of thinking that Anthropic takes."""

ROOM = 4096
"""Tokens added to those of the answer where a model thinks as much as it likes."""


class AnthropicOptions(ServedOptions, frozen=True):
    """Options of `anthropic:`.

    Attributes:
        thinking: `auto`: as the model does by itself; `off`; `on`: as much as the model likes; or a number: a
            budget of so many tokens, 1024 or more, for Claude up to 4.6. Thinking has tokens of its own, beside
            those of the answer. A model that is told to think takes no temperature.
        effort: how much is put into thinking and answering; `auto`: as the model does by itself.
        sampling: whether the model takes a temperature; `auto`: Claude up to 4.6 and all that is no Claude.
        cache: whether the server is asked to keep the beginnings of prompts, the system messages and all turns
            but the last: what questions have in common is then paid for in full once.
        batches: whether a server that is not the vendor's has a batch API; the vendor's has.
    """

    thinking: str = "auto"
    effort: Literal["auto", "low", "medium", "high", "xhigh", "max"] = "auto"
    sampling: Literal["auto", "on", "off"] = "auto"
    cache: Literal["on", "off"] = "off"
    batches: Literal["auto", "on"] = "auto"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.thinking not in ("auto", "off", "on") and self.budget < LEAST_BUDGET:
            raise ValueError(
                f"`thinking` must be auto, off, on or a number of tokens from {LEAST_BUDGET} upwards"
            )

    @property
    def budget(self) -> int:
        """Tokens of thinking; 0 where no number was given."""
        digits = self.thinking.isascii() and self.thinking.isdigit() and len(self.thinking) < 10
        return int(self.thinking) if digits else 0


class Anthropic(Served):
    """A model of Anthropic, or of a server that speaks as it does."""

    name: ClassVar[str] = "anthropic"
    options: ClassVar[type[BackendOptions]] = AnthropicOptions
    requires: ClassVar[Mapping[str, str]] = {"anthropic": "anthropic", "aiohttp": "anthropic"}
    vendor_url: ClassVar[str] = "https://api.anthropic.com"
    key_variables: ClassVar[tuple[str, ...]] = ("ANTHROPIC_API_KEY",)
    api = "messages"

    def __init__(self, spec: ModelSpec, options: BackendOptions) -> None:
        super().__init__(spec, options)
        if not isinstance(options, AnthropicOptions):
            raise TypeError("options of anthropic are AnthropicOptions")
        self._options = options
        self.manner = self._manner()
        self.price = Price("anthropic" if self.own else self.place, spec.target)
        features = {"stop", "thinking"}
        if self.manner.samples:
            features.add("temperature")
        if (wire.version(spec.target) or (0, 0)) >= wire.FIRST_SCHEMA:
            features.add("schema")
        if self.own or options.batches == "on":
            features.add("batch-api")
            self.jobs = AnthropicJobs(self)
        self.features = frozenset(features)

    @property
    def url(self) -> str:
        """The server's root: what is typed may end with `/v1`, as other servers' addresses do."""
        return super().url.rstrip("/").removesuffix("/v1")

    def decides(self) -> Mapping[str, str]:
        """The options that can change an answer."""
        return {
            "thinking": self._options.thinking,
            "effort": self._options.effort,
            "temperature": "sent" if self.manner.samples else "not sent",
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
        key, library = self.secret(), wire.library()
        async with contextlib.AsyncExitStack() as undone:
            thin = connection.client(self.endpoint, self.parallel)
            undone.push_async_callback(thin.aclose)
            with connection.environment_without("ANTHROPIC_"):
                self._client = library.AsyncAnthropic(
                    api_key=key,
                    base_url=self.endpoint.url,
                    http_client=thin,
                    max_retries=0,
                    timeout=None,
                    open_telemetry=False,
                )
            undone.pop_all()
        connection.quiet("anthropic")

    def body(self, request: Request) -> dict[str, Any]:
        """The body of a request, as it is sent.

        Raises:
            RequestFailed: `unsupported`: it asks for what this model cannot do; `invalid`.
        """
        if request.temperature > 0 and "temperature" not in self.features:
            raise RequestFailed("unsupported", f"{self.spec.target} takes no temperature as it is asked for")
        if request.schema is not None and "schema" not in self.features:
            raise RequestFailed("unsupported", f"{self.spec.target} takes no schema")
        return wire.body(request, self.manner)

    def read(self, answer: Mapping[str, Any], headers: Mapping[str, str]) -> Completion:
        """The completion in an answer.

        Raises:
            RequestFailed, ModelUnavailable: it holds none.
        """
        return wire.read(answer, headers, self.manner)

    async def chat(self, request: Request) -> Completion:
        """Answer one request. A prompt that the server's filter blocks is an answer: `refused`."""
        try:
            return self.read(*await self.post(PATH, self.body(request)))
        except RequestFailed as error:
            if error.kind != failures.REFUSED:
                raise
        return Completion("", finish="refused")

    def _manner(self) -> wire.Manner:
        option, model = self._options, self.spec.target
        version = wire.version(model)
        sampled = version is None or version <= wire.LAST_SAMPLED
        if option.budget and not sampled:
            raise ConfigError(
                f"{model} takes no budget",
                where="option `thinking`",
                remedy="Give ?thinking=on, and ?effort= for how much",
            )
        if option.thinking == "on" and version is not None and version < wire.FIRST_ADAPTIVE:
            raise ConfigError(
                f"{model} thinks by a budget only",
                where="option `thinking`",
                remedy=f"Give a number of tokens: ?thinking={ROOM}",
            )
        unasked = option.thinking == "auto" and version is not None and version >= wire.FIRST_THINKING
        told = {
            "off": {"type": "disabled"},
            "on": {"type": "adaptive", "display": "summarized"},
            "auto": None,
        }
        return wire.Manner(
            model=model,
            samples=(sampled if option.sampling == "auto" else option.sampling == "on")
            and option.thinking in ("auto", "off"),
            thinking=told.get(option.thinking, {"type": "enabled", "budget_tokens": option.budget}),
            effort="" if option.effort == "auto" else option.effort,
            room=ROOM if option.thinking == "on" or unasked else option.budget,
            cache=option.cache == "on",
            where=self.where,
            key=self.key_told,
        )
