"""OpenAI's Chat Completions, also as Azure serves them."""

from __future__ import annotations

from collections.abc import Iterator

from ..ask import Answer, Ask, Finish, Reply
from ..vendors import OPENAI, Vendor
from ..wire import Call, Json, Refused, sse
from .endpoint import ModelEndpoint, joined_text

EFFORTS = {"none": 0, "minimal": 8, "low": 32, "medium": 64, "high": 128, "xhigh": 256, "max": 256}
CREATED = 1_760_000_000  # one moment for all answers: an equal request gets an equal answer
FINGERPRINT = "fp_loopback_1"
_FINISH = {
    Finish.STOP: "stop",
    Finish.STOP_SEQUENCE: "stop",
    Finish.LENGTH: "length",
    Finish.FILTERED: "content_filter",
    Finish.REFUSED: "stop",
}


class OpenAIChat(ModelEndpoint):
    """`POST /v1/chat/completions`."""

    vendor: Vendor = OPENAI

    def read(self, call: Call) -> Ask:
        """What the call asks for; Azure names the model in the path."""
        body = call.json()
        messages = body.get("messages")
        if not isinstance(messages, list) or not messages:
            raise Refused(400, "Missing required parameter: 'messages'.")
        stop = body.get("stop") or ()
        return Ask(
            model=call.params.get("model") or str(body.get("model") or ""),
            turns=tuple((str(m.get("role")), joined_text(m.get("content"))) for m in messages),
            stream=bool(body.get("stream")),
            usage_in_stream=bool((body.get("stream_options") or {}).get("include_usage")),
            samples=int(body.get("n") or 1),
            max_tokens=body.get("max_completion_tokens") or body.get("max_tokens"),
            stop=(stop,) if isinstance(stop, str) else tuple(stop),
            top=int(body.get("top_logprobs") or 0) if body.get("logprobs") else None,
            schema=_schema(body.get("response_format")),
            reasoning=effort(body.get("reasoning_effort")),
            show_reasoning=True,
            seed=body.get("seed"),
        )

    def whole(self, reply: Reply) -> Json:
        """`chat.completion`."""
        choices = [
            {
                "index": i,
                "message": _message(answer, reply),
                "logprobs": _logprobs(answer, answer.tokens, 0),
                "finish_reason": _FINISH[answer.finish],
            }
            for i, answer in enumerate(reply.answers)
        ]
        return {**_head(reply, "chat.completion"), "choices": choices, "usage": usage(reply)}

    def frames(self, reply: Reply) -> Iterator[bytes]:
        """`chat.completion.chunk`s: the role, a chunk per token, the reason for the end, the usage, `[DONE]`."""
        head = _head(reply, "chat.completion.chunk")
        if not reply.answers:
            yield sse({**head, "choices": []})
        for i, answer in enumerate(reply.answers):
            yield _chunk(head, i, {"role": "assistant", "content": "", "refusal": None})
            if reply.reasoning_field and answer.reasoning:
                yield _chunk(head, i, {reply.reasoning_field: answer.reasoning})
            if answer.refusal:
                yield _chunk(head, i, {"refusal": answer.refusal})
            elif answer.text is None:
                yield _chunk(head, i, {"content": None})
            for place, token in enumerate(answer.tokens):
                yield _chunk(head, i, {"content": token}, logprobs=_logprobs(answer, (token,), place))
            yield _chunk(head, i, {}, finish=_FINISH[answer.finish])
        if reply.ask.usage_in_stream:
            yield sse({**head, "choices": [], "usage": usage(reply)})
        yield b"data: [DONE]\n\n"


def effort(name: object) -> int:
    """Tokens of reasoning for OpenAI's words for effort; none without a word."""
    if name is None:
        return 0
    if name not in EFFORTS:
        raise Refused(400, f"Unsupported value: 'reasoning_effort' does not support {name!r}.")
    return EFFORTS[str(name)]


def usage(reply: Reply) -> Json:
    """The usage object of Chat Completions."""
    u = reply.usage
    return {
        "prompt_tokens": u.prompt,
        "completion_tokens": u.completion,
        "total_tokens": u.prompt + u.completion,
        "prompt_tokens_details": {"cached_tokens": u.cached, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": u.reasoning, "audio_tokens": 0},
    }


def _schema(response_format: object) -> Json | None:
    if not isinstance(response_format, dict):
        return None
    if response_format.get("type") == "json_object":
        return {"type": "object", "properties": {"answer": {"type": "string"}}}
    if response_format.get("type") != "json_schema":
        return None
    schema = (response_format.get("json_schema") or {}).get("schema")
    if not isinstance(schema, dict):
        raise Refused(400, "Missing required parameter: 'response_format.json_schema.schema'.")
    return schema


def _head(reply: Reply, kind: str) -> Json:
    return {
        "id": f"chatcmpl-{reply.identifier}",
        "object": kind,
        "created": CREATED,
        "model": reply.model,
        "system_fingerprint": FINGERPRINT,
        "service_tier": "default",
    }


def _message(answer: Answer, reply: Reply) -> Json:
    message: Json = {"role": "assistant", "content": answer.text, "refusal": answer.refusal}
    if reply.reasoning_field and answer.reasoning:
        message[reply.reasoning_field] = answer.reasoning
    return message


def _chunk(
    head: Json, index: int, delta: Json, *, finish: str | None = None, logprobs: Json | None = None
) -> bytes:
    choice = {"index": index, "delta": delta, "logprobs": logprobs, "finish_reason": finish}
    return sse({**head, "choices": [choice]})


def _logprobs(answer: Answer, tokens: tuple[str, ...], first: int) -> Json | None:
    if answer.tops is None:
        return None
    content = []
    for place, token in enumerate(tokens, first):
        tops = answer.tops[place] if place < len(answer.tops) else ()
        chosen = next((p for t, p in tops if t == token), -9999.0)
        content.append(
            {**token_logprob(token, chosen), "top_logprobs": [token_logprob(t, p) for t, p in tops]}
        )
    return {"content": content, "refusal": None}


def token_logprob(token: str, logprob: float) -> Json:
    """One token with its log-probability and bytes."""
    return {"token": token, "logprob": logprob, "bytes": list(token.encode(errors="replace"))}
