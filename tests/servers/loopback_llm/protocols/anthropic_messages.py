"""Anthropic's Messages."""

from __future__ import annotations

from collections.abc import Iterator

from ..ask import Answer, Ask, Finish, Reply
from ..vendors import ANTHROPIC, Vendor
from ..wire import Call, Json, Payload, Refused, encode, sse
from ..words import count_tokens
from .endpoint import Endpoint, ModelEndpoint, State, joined_text

EFFORTS = {"low": 32, "medium": 64, "high": 128, "xhigh": 256, "max": 256}
_FINISH = {
    Finish.STOP: "end_turn",
    Finish.STOP_SEQUENCE: "stop_sequence",
    Finish.LENGTH: "max_tokens",
    Finish.FILTERED: "refusal",
    Finish.REFUSED: "refusal",
}


class AnthropicMessages(ModelEndpoint):
    """`POST /v1/messages`."""

    vendor: Vendor = ANTHROPIC

    def read(self, call: Call) -> Ask:
        """What the call asks for."""
        body = call.json()
        messages = body.get("messages")
        if not isinstance(messages, list) or not messages:
            raise Refused(400, "messages: Field required")
        if not isinstance(body.get("max_tokens"), int):
            raise Refused(400, "max_tokens: Field required")
        blocks = [{"role": "system", "content": body["system"]}] if body.get("system") else []
        blocks += messages
        marked = [i for i, m in enumerate(blocks, 1) if _is_marked(m.get("content"))]
        thinking, output = body.get("thinking") or {}, body.get("output_config") or {}
        shape = output.get("format") or {}
        return Ask(
            model=str(body.get("model") or ""),
            turns=tuple((str(m.get("role")), joined_text(m.get("content"))) for m in blocks),
            stream=bool(body.get("stream")),
            max_tokens=body["max_tokens"],
            stop=tuple(body.get("stop_sequences") or ()),
            schema=shape.get("schema") if shape.get("type") == "json_schema" else None,
            reasoning=_thinking(thinking, output.get("effort")),
            show_reasoning=thinking.get("type") in ("enabled", "adaptive"),
            marked=marked[-1] if marked else 0,
        )

    def whole(self, reply: Reply) -> Json:
        """`message` with its blocks."""
        answer = reply.answers[0] if reply.answers else Answer(text="")
        content = _blocks(reply, answer) if reply.answers else []
        null = reply.answers and answer.text is None and not answer.refusal
        return {**_head(reply, answer), "content": None if null else content, "usage": _usage(reply)}

    def frames(self, reply: Reply) -> Iterator[bytes]:
        """Events from `message_start` to `message_stop`."""
        answer = reply.answers[0] if reply.answers else Answer(text="")
        begun = {**_head(reply, answer), "content": [], "stop_reason": None, "stop_sequence": None}
        begun["usage"] = {**_usage(reply), "output_tokens": 1}
        yield _event("message_start", message=begun)
        yield _event("ping")
        for i, block in enumerate(_blocks(reply, answer) if reply.answers else []):
            yield from _block_events(i, block, answer)
        delta = {"stop_reason": _FINISH[answer.finish], "stop_sequence": answer.stopped_by}
        yield _event("message_delta", delta=delta, usage={"output_tokens": reply.usage.completion})
        yield _event("message_stop")


class AnthropicCount(Endpoint):
    """`POST /v1/messages/count_tokens`."""

    vendor: Vendor = ANTHROPIC

    def answer(self, call: Call, state: State) -> Payload:
        """How many tokens the messages are, by the rule of thumb."""
        messages = call.json().get("messages") or []
        return Payload(
            encode({"input_tokens": sum(count_tokens(joined_text(m.get("content"))) for m in messages)})
        )


def _event(kind: str, **rest: object) -> bytes:
    return sse({"type": kind, **rest}, event=kind)


def _block_events(index: int, block: Json, answer: Answer) -> Iterator[bytes]:
    if block["type"] == "thinking":
        yield _event(
            "content_block_start", index=index, content_block={**block, "thinking": "", "signature": ""}
        )
        yield _event(
            "content_block_delta",
            index=index,
            delta={"type": "thinking_delta", "thinking": block["thinking"]},
        )
        signature = {"type": "signature_delta", "signature": block["signature"]}
        yield _event("content_block_delta", index=index, delta=signature)
    else:
        yield _event("content_block_start", index=index, content_block={"type": "text", "text": ""})
        for token in answer.tokens:
            yield _event("content_block_delta", index=index, delta={"type": "text_delta", "text": token})
    yield _event("content_block_stop", index=index)


def _thinking(thinking: Json, effort: object) -> int:
    """Tokens of thinking: half of the budget, or by the effort."""
    if thinking.get("type") == "enabled":
        budget = thinking.get("budget_tokens")
        if not isinstance(budget, int) or budget < 1024:
            raise Refused(
                400, "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024"
            )
        return budget // 2
    if thinking.get("type") == "adaptive":
        return EFFORTS.get(str(effort), 64)
    return 0


def _is_marked(content: object) -> bool:
    return isinstance(content, list) and any(
        isinstance(part, dict) and part.get("cache_control") for part in content
    )


def _head(reply: Reply, answer: Answer) -> Json:
    refused = answer.finish in (Finish.REFUSED, Finish.FILTERED)
    return {
        "id": f"msg_{reply.identifier}",
        "type": "message",
        "role": "assistant",
        "model": reply.model,
        "stop_reason": _FINISH[answer.finish],
        "stop_sequence": answer.stopped_by,
        "stop_details": {"type": "refusal", "category": None, "explanation": answer.refusal}
        if refused
        else None,
    }


def _blocks(reply: Reply, answer: Answer) -> list[Json]:
    blocks: list[Json] = []
    if answer.reasoning:
        signature = f"sig-{reply.identifier}"
        blocks.append({"type": "thinking", "thinking": answer.reasoning, "signature": signature})
    if answer.finish in (Finish.REFUSED, Finish.FILTERED):
        return blocks  # a refusal is a stop reason and no text
    if answer.text or answer.finish is not Finish.LENGTH:
        blocks.append({"type": "text", "text": answer.text, "citations": None})
    return blocks


def _usage(reply: Reply) -> Json:
    u = reply.usage
    return {
        "input_tokens": u.prompt - u.cached - u.written,  # the three add up to the prompt
        "cache_creation_input_tokens": u.written,
        "cache_read_input_tokens": u.cached,
        "cache_creation": {"ephemeral_5m_input_tokens": u.written, "ephemeral_1h_input_tokens": 0},
        "output_tokens": u.completion,
        "output_tokens_details": {"thinking_tokens": u.reasoning},
        "service_tier": "standard",
    }
