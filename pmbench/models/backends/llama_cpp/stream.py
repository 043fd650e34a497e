"""One request to llama.cpp's server in process, as a stream that can be left at any token.

No message of the engine is passed on: it may quote what it was asked.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import msgspec

from pmbench.core.errors import RequestFailed
from pmbench.core.model import Usage
from pmbench.models.backends.llama_cpp.beginnings import Beginning
from pmbench.models.backends.llama_cpp.text import Prompt, Speaker, as_text


class Stopped(Exception):
    """The request was left because nobody waits for its answer."""


class Answer(msgspec.Struct):
    """What one request brought.

    Attributes:
        text, reasoning: the answer, and the thinking that the template's own parser set apart.
        finish: as the engine says it.
        first: text and log-probability of the most probable first tokens, where asked for.
        usage: tokens.
        seconds: from handing the request over to its last token.
    """

    text: str = ""
    reasoning: str = ""
    finish: str = ""
    first: list[tuple[str, float]] = []
    usage: Usage = Usage()
    seconds: float = 0.0


def ask(
    server: Any,
    speaker: Speaker,
    body: dict[str, Any],
    room: int,
    stop: Callable[[], bool],
    shared: int = 0,
    beginning: Beginning | None = None,
) -> Answer:
    """Put one request to the engine and wait for the answer; called in a worker thread.

    Args:
        server: an `xllamacpp.Server`.
        speaker: another way to the same engine.
        body: a chat request in the form of OpenAI's interface, with llama.cpp's additions.
        room: tokens of the context.
        stop: asked at every token and every batch of the prompt; True leaves the request.
        shared: characters of the last message that other requests begin with too.
        beginning: what the one slot holds; None where beginnings are not kept, or kept by the engine.

    Raises:
        RequestFailed: `too-long`, `schema`, `server`, `invalid`, `control-tokens`.
        Stopped: `stop` said so.
    """
    if stop():
        raise Stopped
    reader = _Reader(stop)
    wanted = body | {"stream": True, "return_progress": True, "stream_options": {"include_usage": True}}
    begun = time.monotonic()
    prompt = _prompt(server, speaker, wanted, room, stop, shared, beginning)
    if stop():
        raise Stopped
    try:
        if prompt is None:
            server.handle_chat_completions(wanted, reader)
        else:
            server.handle_completions(_of_prompt(wanted, prompt), reader)
    except (ValueError, RuntimeError, TypeError):
        # Raised before the model is asked: the schema, or messages that the chat template cannot take. A TypeError
        # is orjson's for half a surrogate pair; xllamacpp writes with it where it is installed.
        if "response_format" in body:
            raise RequestFailed("schema", "the engine cannot enforce this JSON schema") from None
        raise RequestFailed("invalid", "the model's chat template cannot take these messages") from None
    if reader.error is not None:
        raise _failure(reader.error)
    if reader.left:
        raise Stopped
    if reader.broken or not reader.answer.finish:
        raise RequestFailed("server", "the engine's answer could not be read", retryable=True)
    reader.answer.seconds = time.monotonic() - begun
    return reader.answer


def _prompt(
    server: Any,
    speaker: Speaker,
    wanted: dict[str, Any],
    room: int,
    stop: Callable[[], bool],
    shared: int,
    beginning: Beginning | None,
) -> Prompt | None:
    """The prompt where the engine cannot be left to make it of the messages; what it shares is read by then."""
    prompt = as_text(speaker, wanted, room)
    if beginning is None:
        return prompt
    if prompt is not None or not shared:
        beginning.drop()
        return prompt
    whole = beginning.prepare(
        speaker, wanted, shared, lambda tokens, kept: read(server, tokens, kept=kept, stop=stop)
    )
    if whole is None:
        beginning.drop()
        return None
    wanted["cache_prompt"] = True
    return list(whole)


def read(server: Any, tokens: list[int], *, kept: bool, stop: Callable[[], bool]) -> bool:
    """Read tokens into the slot, keeping what it has of them or not; False where it was left or failed."""
    reader = _Reader(stop)
    asked = {"prompt": tokens, "max_tokens": 0, "temperature": 0.0, "stream": True, "return_progress": True}
    try:
        server.handle_completions(asked | {"cache_prompt": kept}, reader)
    except (ValueError, RuntimeError, TypeError):
        return False
    return reader.error is None and not reader.left and not reader.broken


def _of_prompt(body: dict[str, Any], prompt: Prompt) -> dict[str, Any]:
    """A chat request as one of a prompt: what the chat interface spells in another way, spelt so."""
    asked = {key: value for key, value in body.items() if key not in ("messages", "chat_template_kwargs")}
    if "top_logprobs" in asked:
        asked["logprobs"] = asked.pop("top_logprobs")
    if "response_format" in asked:
        asked["json_schema"] = asked.pop("response_format")["json_schema"]["schema"]
    return asked | {"prompt": prompt}


class _Reader:
    """Gathers the pieces of one stream. The engine calls it; an exception in it would be lost there."""

    def __init__(self, stop: Callable[[], bool]) -> None:
        self.answer = Answer()
        self.error: dict[str, Any] | None = None
        self.left = self.broken = False
        self._stop = stop

    def __call__(self, piece: dict[str, Any]) -> bool:
        """Take one piece; True ends the request."""
        try:
            self._take(piece)
        except (KeyError, TypeError, ValueError, AttributeError, msgspec.ValidationError):
            self.broken = True
        if not self.answer.finish and self._stop():
            self.left = True
        return self.left or self.broken or self.error is not None

    def _take(self, piece: dict[str, Any]) -> None:
        if "error" in piece or "choices" not in piece:
            self.error = piece.get("error", piece)
            return
        usage = piece.get("usage")
        if usage:
            cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens", 0)
            self.answer.usage = Usage(usage["prompt_tokens"], usage["completion_tokens"], cached)
        for choice in piece["choices"]:
            delta = choice.get("delta") or {}
            self.answer.text += delta.get("content") or choice.get("text") or ""
            self.answer.reasoning += delta.get("reasoning_content") or ""
            self.answer.finish = choice.get("finish_reason") or self.answer.finish
            self._first(choice.get("logprobs"))

    def _first(self, logprobs: dict[str, Any] | None) -> None:
        tokens = (logprobs or {}).get("content") or []
        if tokens and not self.answer.first:
            self.answer.first = [(top["token"], float(top["logprob"])) for top in tokens[0]["top_logprobs"]]


def _failure(error: dict[str, Any]) -> RequestFailed:
    if error.get("type") == "exceed_context_size_error":
        size, room = error.get("n_prompt_tokens", "?"), error.get("n_ctx", "?")
        return RequestFailed("too-long", f"a prompt of {size} tokens, a context of {room}")
    code = error.get("code", 500)
    if isinstance(code, int) and code < 500:
        return RequestFailed("invalid", f"the engine refused the request ({code})")
    return RequestFailed("server", f"the engine failed ({code})", retryable=True)
