"""What OpenAI's two interfaces to a model have in common: how a server is spoken to, and parts of its answers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from pmbench.core.errors import ModelUnavailable, RequestFailed
from pmbench.core.model import Choice, Completion, Usage
from pmbench.models import first_token
from pmbench.models.backend import Request
from pmbench.models.serving import failures
from pmbench.models.serving.payload import count, mapping, named

TOP = 20
"""How many of the most probable first tokens are asked for: the most that the vendor gives."""

_REASONING = re.compile(r"(ft:)?(o1|o3|o4|gpt-5)(?![a-z0-9])(?!.*-chat)")


class Manner(msgspec.Struct, frozen=True):
    """How a server is spoken to.

    Attributes:
        model: as the server names it.
        vendors: whether it is OpenAI's own or Azure's; others know other fields.
        azure: whether it is Azure's.
        reasons: whether it is one of the vendor's reasoning models, which take no temperature and no stop texts
            and give no log-probabilities.
        room: tokens that reasoning may take beside those of the answer.
        effort: of reasoning; empty: the model's own.
        summary: whether a summary of the reasoning is asked for.
        thinking: whether the chat template of another server is told to let the model think.
        where: the model, as an error names it.
        key: where the key comes from, in words.
    """

    model: str
    vendors: bool = False
    azure: bool = False
    reasons: bool = False
    room: int = 0
    effort: str = ""
    summary: bool = False
    thinking: str = "auto"
    where: str = ""
    key: str = ""

    def failure_in(self, payload: Mapping[str, Any], usage: Usage) -> failures.Failure | None:
        """The failure that stands in an answer under status 200, if one does."""
        error = payload.get("error")
        if not error and payload.get("object") != "error":
            return None
        told = {"error": error} if error else payload
        return failures.from_object(told, usage=usage, where=self.where, key=self.key)


class Dialect(Protocol):
    """One of the vendor's interfaces. Making a body and reading an answer need no connection."""

    path: str
    """Below the server's address."""

    def body(self, request: Request) -> dict[str, Any]:
        """The body of a request; of a choice, if the request has options."""
        ...

    def read(self, payload: Mapping[str, Any], headers: Mapping[str, str]) -> Completion:
        """The completion in an answer."""
        ...

    def read_choice(self, payload: Mapping[str, Any], options: Sequence[str]) -> Choice:
        """The choice in an answer."""
        ...


def is_reasoning(model: str) -> bool:
    """Whether OpenAI's own model of this name reasons before it answers: o1, o3, o4, gpt-5 and their like."""
    return _REASONING.match(model) is not None


def schema_format(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Name, schema and strictness of a structured answer."""
    return {"name": "answer", "schema": schema, "strict": True}


def raw(payload: Mapping[str, Any], headers: Mapping[str, str]) -> dict[str, str]:
    """The identifiers of an answer, as far as the server gives them."""
    return named(
        model=payload.get("model"),
        fingerprint=payload.get("system_fingerprint"),
        request_id=headers.get("x-request-id") or headers.get("apim-request-id"),
    )


def usage(payload: Mapping[str, Any], prompt: str, completion: str) -> Usage:
    """The tokens of an answer.

    Args:
        payload: the answer.
        prompt: the name of the prompt's count: `prompt_tokens` or `input_tokens`.
        completion: the name of the answer's: `completion_tokens` or `output_tokens`.
    """
    told = mapping(payload.get("usage"))
    given, made = mapping(told.get(f"{prompt}_details")), mapping(told.get(f"{completion}_details"))
    return Usage(
        prompt_tokens=count(told.get(prompt)),
        completion_tokens=count(told.get(completion)),
        cached_tokens=count(given.get("cached_tokens", told.get("prompt_cache_hit_tokens"))),
        reasoning_tokens=count(made.get("reasoning_tokens")),
        written_tokens=count(given.get("cache_write_tokens")),
    )


def choice(
    completion: Completion, first: Sequence[Mapping[str, Any]] | None, options: Sequence[str], manner: Manner
) -> Choice:
    """The choice in an answer, from the log-probabilities of its first token.

    Args:
        completion: what the answer holds otherwise.
        first: its most probable first tokens; None where the answer has no log-probabilities.
        options: what may be chosen.
        manner: how the server was spoken to.

    Raises:
        RequestFailed: `refused`; `null`: it holds no text; `cut-off`: thinking came before the answer; and those
            of `first_token.option_probabilities`.
        ModelUnavailable: there is an answer, but the server gives no log-probabilities.
    """
    paid = completion.usage
    if completion.finish == "refused":
        raise RequestFailed("refused", "the model declined to choose", usage=paid)
    if not (completion.text or "").strip() and completion.reasoning:
        raise RequestFailed(
            "cut-off", "thinking came before the answer; ?thinking=off or ?logprobs=off", usage=paid
        )
    if first is None:
        if not completion.text:
            raise RequestFailed("null", "the answer holds no text", retryable=True, usage=paid)
        raise ModelUnavailable(
            "the server gives no log-probabilities",
            where=manner.where,
            remedy="Add ?logprobs=off to the model: it then chooses by words",
        )
    try:
        probabilities, mass = first_token.option_probabilities(_tokens(first), options)
    except RequestFailed as error:
        error.usage = paid
        raise
    return Choice(probabilities, mass=mass, usage=paid)


def _tokens(first: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, float]]:
    for entry in first:
        text, logprob = entry.get("token"), entry.get("logprob")
        if isinstance(text, str) and isinstance(logprob, int | float) and logprob <= 0.0:
            yield text, float(logprob)
