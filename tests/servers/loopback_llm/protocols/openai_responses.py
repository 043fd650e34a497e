"""OpenAI's Responses."""

from __future__ import annotations

from collections.abc import Iterator

from ..ask import Answer, Ask, Finish, Reply
from ..vendors import OPENAI, Vendor
from ..wire import Call, Json, Refused, sse
from .endpoint import ModelEndpoint, joined_text
from .openai_chat import CREATED, effort, token_logprob

_CUT_BY = {Finish.LENGTH: "max_output_tokens", Finish.FILTERED: "content_filter"}


class OpenAIResponses(ModelEndpoint):
    """`POST /v1/responses`."""

    vendor: Vendor = OPENAI

    def read(self, call: Call) -> Ask:
        """What the call asks for."""
        body = call.json()
        turns = _turns(body.get("input"))
        if not turns:
            raise Refused(400, "Missing required parameter: 'input'.")
        if body.get("instructions"):
            turns = (("system", str(body["instructions"])), *turns)
        reasoning = body.get("reasoning") or {}
        shape = (body.get("text") or {}).get("format") or {}
        wants_logprobs = "message.output_text.logprobs" in (body.get("include") or ())
        return Ask(
            model=str(body.get("model") or ""),
            turns=turns,
            stream=bool(body.get("stream")),
            max_tokens=body.get("max_output_tokens"),
            top=int(body.get("top_logprobs") or 0) if wants_logprobs else None,
            schema=shape.get("schema") if shape.get("type") == "json_schema" else None,
            reasoning=effort(reasoning.get("effort")),
            show_reasoning=bool(reasoning.get("summary")),
        )

    def whole(self, reply: Reply) -> Json:
        """`response` with its output items."""
        answer = reply.answers[0] if reply.answers else None
        reason = _CUT_BY.get(answer.finish) if answer else None
        output = _items(reply, answer) if answer else []
        status = "incomplete" if reason else "completed"
        return {**_head(reply, status), "output": output, "incomplete_details": reason and {"reason": reason}}

    def frames(self, reply: Reply) -> Iterator[bytes]:
        """Events from `response.created` to `response.completed` or `response.incomplete`, numbered."""
        for number, (kind, rest) in enumerate(self._events(reply)):
            yield sse({"type": kind, "sequence_number": number, **rest}, event=kind)

    def _events(self, reply: Reply) -> Iterator[tuple[str, Json]]:
        final = self.whole(reply)
        begun = {**_head(reply, "in_progress"), "output": [], "usage": None, "incomplete_details": None}
        yield "response.created", {"response": begun}
        yield "response.in_progress", {"response": begun}
        for index, item in enumerate(final["output"]):
            at = {"output_index": index, "item_id": item["id"]}
            empty = {**item, "status": "in_progress", "content": []} if item["type"] == "message" else item
            yield "response.output_item.added", {"output_index": index, "item": empty}
            if item["type"] == "message":
                yield from _text_events(item["content"], reply.answers[0].tokens, at)
            yield "response.output_item.done", {"output_index": index, "item": item}
        yield f"response.{final['status']}", {"response": final}


def _text_events(parts: list[Json], tokens: tuple[str, ...], at: Json) -> Iterator[tuple[str, Json]]:
    for i, part in enumerate(parts):
        here = {**at, "content_index": i}
        name, field = ("refusal", "refusal") if part["type"] == "refusal" else ("output_text", "text")
        logprobs: Json = {} if field == "refusal" else {"logprobs": []}
        whole = part[field] or ""
        yield "response.content_part.added", {**here, "part": {**part, field: ""}}
        for token in tokens if field == "text" else (whole,):
            yield f"response.{name}.delta", {**here, "delta": token, **logprobs}
        yield f"response.{name}.done", {**here, field: whole, **logprobs}
        yield "response.content_part.done", {**here, "part": part}


def _turns(given: object) -> tuple[tuple[str, str], ...]:
    if isinstance(given, str):
        return (("user", given),)
    if not isinstance(given, list):
        return ()
    messages = [item for item in given if isinstance(item, dict) and "role" in item]
    return tuple((str(m["role"]), joined_text(m.get("content"))) for m in messages)


def _head(reply: Reply, status: str) -> Json:
    u = reply.usage
    return {
        "id": f"resp_{reply.identifier}",
        "object": "response",
        "created_at": CREATED,
        "status": status,
        "error": None,
        "model": reply.model,
        "instructions": None,
        "metadata": {},
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "top_p": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": u.prompt,
            "input_tokens_details": {"cached_tokens": u.cached, "cache_write_tokens": u.written},
            "output_tokens": u.completion,
            "output_tokens_details": {"reasoning_tokens": u.reasoning},
            "total_tokens": u.prompt + u.completion,
        },
    }


def _items(reply: Reply, answer: Answer) -> list[Json]:
    items: list[Json] = []
    if reply.usage.reasoning:
        summary = [{"type": "summary_text", "text": answer.reasoning}] if answer.reasoning else []
        items.append({"type": "reasoning", "id": f"rs_{reply.identifier}", "summary": summary})
    if answer.finish is Finish.LENGTH and not answer.text:
        return items  # the reasoning used everything up: there is no message at all
    part: Json
    if answer.refusal:
        part = {"type": "refusal", "refusal": answer.refusal}
    else:
        part = {"type": "output_text", "text": answer.text, "annotations": [], "logprobs": _logprobs(answer)}
    status = "incomplete" if answer.finish in _CUT_BY else "completed"
    message = {"type": "message", "id": f"msg_{reply.identifier}", "role": "assistant", "status": status}
    return [*items, {**message, "content": [part]}]


def _logprobs(answer: Answer) -> list[Json]:
    return [
        {
            **token_logprob(token, next((p for t, p in tops if t == token), -9999.0)),
            "top_logprobs": [token_logprob(t, p) for t, p in tops],
        }
        for token, tops in zip(answer.tokens, answer.tops or (), strict=False)
    ]
