"""Anthropic's Messages: the body of a request, and the completion in an answer."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import msgspec

from pmbench.core.errors import RequestFailed
from pmbench.core.model import Completion, FinishReason, Usage
from pmbench.models.backend import Request
from pmbench.models.serving import failures, payload

LAST_SAMPLED = (4, 6)
"""The last generation of Claude that takes a temperature, and a budget of thinking."""

FIRST_ADAPTIVE = (4, 6)
"""The first one that decides by itself how much it thinks, if it is told to think."""

FIRST_THINKING = (5, 0)
"""The first one that thinks without being told to."""

FIRST_SCHEMA = (4, 5)
"""The first one all of whose models keep an answer to a JSON schema."""

_UNKNOWN = (99, 0)

_VERSION = re.compile(r"claude-(?:[a-z]+-|v)?(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)")

_FINISH: Mapping[str, FinishReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refused",
}


class Manner(msgspec.Struct, frozen=True):
    """How a model is spoken to.

    Attributes:
        model: as the server names it.
        samples: whether it is sent a temperature.
        thinking: what the request says of thinking; None: nothing.
        effort: of thinking and answering; empty: the model's own.
        room: tokens that thinking may take beside those of the answer.
        cache: whether the beginnings of prompts are marked to be kept by the server.
        where: the model, as an error names it.
        key: where the key comes from, in words.
    """

    model: str
    samples: bool = True
    thinking: Mapping[str, Any] | None = None
    effort: str = ""
    room: int = 0
    cache: bool = False
    where: str = ""
    key: str = ""


def version(model: str) -> tuple[int, int] | None:
    """The generation of a Claude by its name; None if it is no Claude. One without a number is a new one."""
    if "claude-" not in model:
        return None
    found = _VERSION.search(model)
    return (int(found[1]), int(found[2] or 0)) if found else _UNKNOWN


@functools.cache
def library() -> ModuleType:
    """Anthropic's library. A variable that would have it log whole requests is hidden while it is imported."""
    from pmbench.models.serving import connection

    with connection.environment_without("ANTHROPIC_"):
        import anthropic
    connection.quiet("anthropic")
    return anthropic


def body(request: Request, manner: Manner) -> dict[str, Any]:
    """The body of a request; of a batch job's entry, its `params`.

    Raises:
        RequestFailed: `invalid`, `unsupported`: it can be put to no server.
    """
    system = "\n\n".join(m["content"] for m in request.messages if m["role"] == "system")
    turns = [dict(message) for message in request.messages if message["role"] != "system"]
    if not turns:
        raise RequestFailed("invalid", "a conversation of nothing but system messages")
    if request.max_tokens < 1:
        raise RequestFailed("invalid", "an answer of less than one token")
    if not all(text.strip() for text in request.stop):
        raise RequestFailed("unsupported", "Anthropic takes no stop text of white space alone")
    sent: dict[str, Any] = {"model": manner.model, "max_tokens": request.max_tokens + manner.room}
    sent["messages"] = _marked(turns) if manner.cache else turns
    if system:
        sent["system"] = [_kept(system)] if manner.cache else system
    if manner.samples:
        sent["temperature"] = request.temperature
    if manner.thinking is not None:
        sent["thinking"] = dict(manner.thinking)
    if request.stop:
        sent["stop_sequences"] = list(request.stop)
    output: dict[str, Any] = {"effort": manner.effort} if manner.effort else {}
    if request.schema is not None:
        output["format"] = {"type": "json_schema", "schema": _schema(request.schema)}
    return sent | ({"output_config": output} if output else {})


def read(answer: Mapping[str, Any], headers: Mapping[str, str], manner: Manner) -> Completion:
    """The completion in an answer, or in the result of a batch job's entry.

    Raises:
        RequestFailed: `error`, `overloaded`, `no-answer`.
        ModelUnavailable: an error that no further request can escape.
    """
    usage = _usage(payload.mapping(answer.get("usage")))
    if answer.get("type") == "error" or (answer.get("error") and "content" not in answer):
        raise failures.from_object(answer, usage=usage, where=manner.where, key=manner.key)
    content, reason = answer.get("content"), answer.get("stop_reason")
    finish = _FINISH.get(str(reason), "error")
    blocks = payload.objects(content)
    if not blocks and content is not None and finish in ("stop", "error"):
        raise RequestFailed("no-answer", "an empty list of contents", retryable=True, usage=usage)
    spoken = [block for block in blocks if block.get("type") == "text"]
    text = payload.joined(spoken, "text")
    if text is None and (finish != "stop" or (blocks and not spoken)):
        text = ""
    thoughts = [block for block in blocks if block.get("type") == "thinking"]
    request_id = headers.get("request-id") or answer.get("request_id")
    return Completion(
        # Nothing under `stop` is a failure of its own, which `answers.accept` tells by the missing text.
        text,  # type: ignore[arg-type]
        finish=finish,
        reasoning=payload.joined(thoughts, "thinking") or "",
        usage=usage,
        raw=payload.named(model=answer.get("model"), request_id=request_id),
    )


def _marked(turns: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The turns; all but the last one are worth keeping, for another question after the same beginning."""
    if len(turns) < 2:
        return turns
    return [*turns[:-2], {**turns[-2], "content": [_kept(turns[-2]["content"])]}, turns[-1]]


def _kept(text: str) -> dict[str, Any]:
    """A text up to whose end the server is asked to keep what it has read."""
    return {"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}


def _schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema with what Anthropic does not take moved into descriptions, by its own library's rule."""
    try:
        adapted: dict[str, Any] = library().transform_schema(dict(schema))
    except (ValueError, TypeError, AssertionError):
        raise RequestFailed("unsupported", "a JSON schema that Anthropic cannot keep an answer to") from None
    return adapted


def _usage(told: Mapping[str, Any]) -> Usage:
    """The tokens. Anthropic counts those of the prompt in three parts that add up."""
    read, written = (payload.count(told.get(f"cache_{how}_input_tokens")) for how in ("read", "creation"))
    details = payload.mapping(told.get("output_tokens_details"))
    return Usage(
        prompt_tokens=payload.count(told.get("input_tokens")) + read + written,
        completion_tokens=payload.count(told.get("output_tokens")),
        cached_tokens=read,
        reasoning_tokens=payload.count(details.get("thinking_tokens")),
        written_tokens=written,
    )
