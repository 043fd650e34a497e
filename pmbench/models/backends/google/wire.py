"""Google's generateContent: what is asked, and the completion or the choice in an answer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from pmbench.core.errors import ModelUnavailable, RequestFailed
from pmbench.core.model import Choice, Completion, FinishReason, Usage
from pmbench.models import first_token
from pmbench.models.backend import Request
from pmbench.models.serving import failures, payload

TOP = 20
"""How many of the most probable first tokens are asked for: the most that Google gives."""

_THINKING = re.compile(r"gemini-(2\.5|[3-9]|\d\d|(flash|pro)-latest)")
"""Models that think without being told to."""

_BLOCKED = dict.fromkeys(
    (
        "SAFETY",
        "RECITATION",
        "LANGUAGE",
        "BLOCKLIST",
        "PROHIBITED_CONTENT",
        "SPII",
        "ESCALATION",
        "MODEL_ARMOR",
    ),
    "refused",
)
_FINISH: Mapping[str, str] = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    "CONTINUATION": "length",
    **_BLOCKED,
}

_CLOSED = "PUP_LIMITED_DISABLED"
"""The reason of an answer that ended because the account was limited."""


class Manner(msgspec.Struct, frozen=True):
    """How a model is spoken to.

    Attributes:
        thinking: what the request says of thinking, as the library takes it; None: nothing.
        room: tokens that thinking may take beside those of the answer.
        where: the model, as an error names it.
        key: where the key comes from, in words.
    """

    thinking: Mapping[str, Any] | None = None
    room: int = 0
    where: str = ""
    key: str = ""


def thinks_by_itself(model: str) -> bool:
    """Whether a model of this name thinks without being told to."""
    return _THINKING.search(model) is not None


def body(request: Request, manner: Manner) -> dict[str, Any]:
    """The arguments of the library's `generate_content` besides the model; of a choice, if there are options.

    Raises:
        RequestFailed: `invalid`: it can be put to no server.
    """
    system = "\n\n".join(m["content"] for m in request.messages if m["role"] == "system")
    turns = [
        {"role": _ROLES[message["role"]], "parts": [{"text": message["content"]}]}
        for message in request.messages
        if message["role"] != "system"
    ]
    if not turns:
        raise RequestFailed("invalid", "a conversation of nothing but system messages")
    if request.max_tokens < 1:
        raise RequestFailed("invalid", "an answer of less than one token")
    config: dict[str, Any] = {
        "max_output_tokens": request.max_tokens + manner.room,
        "temperature": request.temperature,
        "seed": request.engine_seed,
    }
    if system:
        config["system_instruction"] = system
    if request.stop:
        config["stop_sequences"] = list(request.stop)
    if request.schema is not None:
        config["response_mime_type"] = "application/json"
        config["response_json_schema"] = dict(request.schema)
    if manner.thinking is not None:
        config["thinking_config"] = dict(manner.thinking)
    if request.options:
        config |= {"temperature": 0.0, "response_logprobs": True, "logprobs": TOP}
    return {"contents": turns, "config": config}


def read(answer: Mapping[str, Any], headers: Mapping[str, str], manner: Manner) -> Completion:
    """The completion in an answer.

    Raises:
        RequestFailed: `error`, `no-answer`.
        ModelUnavailable: an error that no further request can escape.
    """
    usage = _usage(payload.mapping(answer.get("usageMetadata")))
    candidates = payload.objects(answer.get("candidates"))
    raw = payload.named(
        model=answer.get("modelVersion"),
        request_id=headers.get("x-request-id") or answer.get("responseId"),
    )
    if answer.get("error") and not candidates:
        raise failures.from_object(answer, usage=usage, where=manner.where, key=manner.key)
    if payload.mapping(answer.get("promptFeedback")).get("blockReason"):
        return Completion("", finish="refused", usage=usage, raw=raw)
    if not candidates:
        raise RequestFailed("no-answer", "an empty list of candidates", retryable=True, usage=usage)
    reason = str(candidates[0].get("finishReason"))
    if reason == _CLOSED:
        raise ModelUnavailable("the account is limited by the vendor", where=manner.where)
    finish: FinishReason = _FINISH.get(reason, "error")  # type: ignore[assignment]
    content = candidates[0].get("content")
    parts = payload.objects(payload.mapping(content).get("parts"))
    text = payload.joined([part for part in parts if not part.get("thought")], "text")
    if text is None and (finish != "stop" or content is not None):
        # Of an answer in which nothing was said Google leaves out the parts.
        text = ""
    return Completion(
        # Nothing under `stop` is a failure of its own, which `answers.accept` tells by the missing text.
        text,  # type: ignore[arg-type]
        finish=finish,
        reasoning=payload.joined([part for part in parts if part.get("thought")], "text") or "",
        usage=usage,
        raw=raw,
    )


def read_choice(answer: Mapping[str, Any], options: Sequence[str], manner: Manner) -> Choice:
    """The choice in an answer, from the log-probabilities of its first token.

    Raises:
        RequestFailed: those of `read`; `refused`; `cut-off`: thinking left nothing for the answer; and those of
            `first_token.option_probabilities`.
        ModelUnavailable: there is an answer, but without log-probabilities.
    """
    completion = read(answer, {}, manner)
    paid = completion.usage
    if completion.finish == "refused":
        raise RequestFailed("refused", "the model declined to choose", usage=paid)
    told = payload.mapping(payload.objects(answer.get("candidates"))[0].get("logprobsResult"))
    places = payload.objects(told.get("topCandidates"))
    if not places and not completion.text:
        raise RequestFailed("cut-off", "nothing was answered within the limit of tokens", usage=paid)
    if not places:
        raise ModelUnavailable(
            "the model gives no log-probabilities",
            where=manner.where,
            remedy="Leave out ?logprobs=on: it then chooses by words",
        )
    try:
        first = _tokens(payload.objects(places[0].get("candidates")))
        probabilities, mass = first_token.option_probabilities(first, options)
    except RequestFailed as error:
        error.usage = paid
        raise
    return Choice(probabilities, mass=mass, usage=paid)


_ROLES = {"user": "user", "assistant": "model"}


def _tokens(first: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, float]]:
    for entry in first:
        text, logprob = entry.get("token"), entry.get("logProbability", 0.0)
        if isinstance(text, str) and isinstance(logprob, int | float) and logprob <= 0.0:
            yield text, float(logprob)


def _usage(told: Mapping[str, Any]) -> Usage:
    """The tokens. Google counts thoughts beside the answer, and leaves out what is 0."""
    thoughts = payload.count(told.get("thoughtsTokenCount"))
    return Usage(
        prompt_tokens=payload.count(told.get("promptTokenCount")),
        completion_tokens=payload.count(told.get("candidatesTokenCount")) + thoughts,
        cached_tokens=payload.count(told.get("cachedContentTokenCount")),
        reasoning_tokens=thoughts,
    )
