"""Responses: OpenAI's second interface (`?api=responses`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pmbench.core.errors import RequestFailed
from pmbench.core.model import Choice, Completion, FinishReason
from pmbench.models.backend import Request
from pmbench.models.backends.openai import wire
from pmbench.models.serving.payload import joined, mapping, objects

FEATURES = frozenset({"temperature", "schema", "logprobs", "thinking"})
"""It takes neither seeds nor stop texts."""

CHOICE_TOKENS = 16
"""Least number of tokens that the vendor allows as the limit of an answer."""

_CUT: Mapping[str, FinishReason] = {"max_output_tokens": "length", "content_filter": "refused"}


class Responses:
    """Bodies and answers of Responses.

    Args:
        manner: how the server is spoken to.
    """

    path = "/responses"

    def __init__(self, manner: wire.Manner) -> None:
        self._manner = manner

    def body(self, request: Request) -> dict[str, Any]:
        """See `Dialect.body`. The server is told to keep nothing: by default this interface does."""
        manner, choosing = self._manner, bool(request.options)
        body: dict[str, Any] = {
            "model": manner.model,
            "input": [dict(message) for message in request.messages],
            "max_output_tokens": (CHOICE_TOKENS if choosing else request.max_tokens) + manner.room,
            "store": False,
        }
        if not manner.reasons:
            body["temperature"] = 0.0 if choosing else request.temperature
        reasoning = {"effort": manner.effort} if manner.effort else {}
        if manner.summary:
            reasoning["summary"] = "auto"
        if reasoning:
            body["reasoning"] = reasoning
        if request.schema is not None:
            body["text"] = {"format": {"type": "json_schema", **wire.schema_format(request.schema)}}
        if choosing:
            body |= {"top_logprobs": wire.TOP, "include": ["message.output_text.logprobs"]}
        return body

    def read(self, payload: Mapping[str, Any], headers: Mapping[str, str]) -> Completion:
        """See `Dialect.read`.

        Raises:
            RequestFailed: `error`, `no-answer`.
            ModelUnavailable: an error that no further request can escape.
        """
        usage = wire.usage(payload, "input_tokens", "output_tokens")
        failure = self._manner.failure_in(payload, usage)
        if failure is not None:
            raise failure
        finish = _finish(payload)
        output = objects(payload.get("output"))
        if not output and finish == "stop":
            raise RequestFailed("no-answer", "an empty list of output", retryable=True, usage=usage)
        parts = _parts(output)
        text = joined([part for part in parts if part.get("type") == "output_text"], "text")
        refusal = joined([part for part in parts if part.get("type") == "refusal"], "refusal")
        if refusal and not text:
            text, finish = refusal, "refused"
        if text is None and finish != "stop":
            text = ""
        return Completion(
            # Nothing under `stop` is a failure of its own, which `answers.accept` tells by the missing text.
            text,  # type: ignore[arg-type]
            finish=finish,
            reasoning=_reasoning(output),
            usage=usage,
            raw=wire.raw(payload, headers),
        )

    def read_choice(self, payload: Mapping[str, Any], options: Sequence[str]) -> Choice:
        """See `Dialect.read_choice` and `wire.choice`."""
        completion = self.read(payload, {})
        parts = _parts(objects(payload.get("output")))
        tokens = [token for part in parts for token in objects(part.get("logprobs"))]
        # Where they were not asked for, or are not to be had, the list is there and empty.
        first = objects(tokens[0].get("top_logprobs")) if tokens else None
        return wire.choice(completion, first, options, self._manner)


def _finish(payload: Mapping[str, Any]) -> FinishReason:
    status = payload.get("status")
    if status == "incomplete":
        return _CUT.get(str(mapping(payload.get("incomplete_details")).get("reason")), "error")
    return "stop" if status == "completed" else "error"


def _parts(output: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [part for item in output if item.get("type") == "message" for part in objects(item.get("content"))]


def _reasoning(output: Sequence[Mapping[str, Any]]) -> str:
    """Summaries of reasoning, and its whole text where the server gives that."""
    items = [item for item in output if item.get("type") == "reasoning"]
    texts = [
        part["text"]
        for item in items
        for name in ("summary", "content")
        for part in objects(item.get(name))
        if isinstance(part.get("text"), str)
    ]
    return "\n\n".join(texts)
