"""Chat Completions: OpenAI's first interface, and that of nearly every other server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pmbench.core.errors import RequestFailed
from pmbench.core.model import Choice, Completion, FinishReason
from pmbench.models.backend import Request
from pmbench.models.backends.openai import wire
from pmbench.models.serving.payload import joined, mapping, objects

FEATURES = frozenset({"temperature", "seed", "stop", "schema", "logprobs", "thinking"})

_FINISH: Mapping[str, FinishReason] = {
    "stop": "stop",
    "tool_calls": "stop",
    "function_call": "stop",
    "eos_token": "stop",
    "stop_sequence": "stop",
    "length": "length",
    "content_filter": "refused",
}


class Chat:
    """Bodies and answers of Chat Completions.

    Args:
        manner: how the server is spoken to.
    """

    path = "/chat/completions"

    def __init__(self, manner: wire.Manner) -> None:
        self._manner = manner

    def body(self, request: Request) -> dict[str, Any]:
        """See `Dialect.body`."""
        manner, choosing = self._manner, bool(request.options)
        limit = (1 if choosing else request.max_tokens) + manner.room
        body: dict[str, Any] = {
            "model": manner.model,
            "messages": [dict(message) for message in request.messages],
            "seed": request.engine_seed,
            "max_completion_tokens" if manner.vendors else "max_tokens": limit,
        }
        if not manner.reasons:
            body["temperature"] = 0.0 if choosing else request.temperature
        if manner.vendors and not manner.azure:
            body["store"] = False
        if manner.effort:
            body["reasoning_effort"] = manner.effort
        if request.stop:
            body["stop"] = list(request.stop)
        if request.schema is not None:
            body["response_format"] = {
                "type": "json_schema",
                "json_schema": wire.schema_format(request.schema),
            }
        if choosing:
            body |= {"logprobs": True, "top_logprobs": wire.TOP}
        thinks = self._thinks(choosing=choosing)
        if thinks is not None:
            body["chat_template_kwargs"] = {"enable_thinking": thinks}
        return body

    def read(self, payload: Mapping[str, Any], headers: Mapping[str, str]) -> Completion:
        """See `Dialect.read`.

        Raises:
            RequestFailed: `error`, `no-answer`.
            ModelUnavailable: an error that no further request can escape.
        """
        usage = wire.usage(payload, "prompt_tokens", "completion_tokens")
        choices = objects(payload.get("choices"))
        if not choices:
            failure = self._manner.failure_in(payload, usage)
            raise failure or RequestFailed(
                "no-answer", "an empty list of choices", retryable=True, usage=usage
            )
        message, reason = mapping(choices[0].get("message")), choices[0].get("finish_reason")
        text, finish = _text(message.get("content")), _FINISH.get(str(reason or "stop"), "error")
        refusal = message.get("refusal")
        if isinstance(refusal, str) and refusal and not text:
            text, finish = refusal, "refused"
        if text is None and finish != "stop":
            text = ""
        return Completion(
            # Nothing under `stop` is a failure of its own, which `answers.accept` tells by the missing text.
            text,  # type: ignore[arg-type]
            finish=finish,
            reasoning=_reasoning(message),
            usage=usage,
            raw=wire.raw(payload, headers),
        )

    def read_choice(self, payload: Mapping[str, Any], options: Sequence[str]) -> Choice:
        """See `Dialect.read_choice` and `wire.choice`."""
        completion = self.read(payload, {})
        told = mapping(objects(payload.get("choices"))[0].get("logprobs")).get("content")
        tokens = objects(told)
        first = objects(tokens[0].get("top_logprobs")) if tokens else []
        return wire.choice(completion, first if isinstance(told, list) else None, options, self._manner)

    def _thinks(self, *, choosing: bool) -> bool | None:
        """What the chat template of another server is told; a choice is made without thinking."""
        if self._manner.vendors:
            return None
        if choosing:
            return False
        return None if self._manner.thinking == "auto" else self._manner.thinking == "on"


def _text(content: object) -> str | None:
    """The text of a message, which some servers send in parts."""
    if isinstance(content, list):
        return joined([part for part in objects(content) if part.get("type") == "text"], "text")
    return content if isinstance(content, str) else None


def _reasoning(message: Mapping[str, Any]) -> str:
    """The thinking that other servers send beside the text, under one of two names."""
    for name in ("reasoning_content", "reasoning"):
        text = message.get(name)
        if isinstance(text, str) and text:
            return text
    return ""
