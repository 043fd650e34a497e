"""Google's generateContent, countTokens, embeddings and list of models."""

from __future__ import annotations

from collections.abc import Iterator

from ..ask import Answer, Ask, Finish, Reply
from ..vendors import GOOGLE, Vendor
from ..wire import Call, Json, Payload, Refused, encode, sse
from ..words import count_tokens, embedding
from .endpoint import Endpoint, ModelEndpoint, State, joined_text

LEVELS = {"MINIMAL": 8, "LOW": 32, "MEDIUM": 64, "HIGH": 128}
_FINISH = {
    Finish.STOP: "STOP",
    Finish.STOP_SEQUENCE: "STOP",
    Finish.LENGTH: "MAX_TOKENS",
    Finish.FILTERED: "SAFETY",
    Finish.REFUSED: "PROHIBITED_CONTENT",
}
_RATING = {"category": "HARM_CATEGORY_DANGEROUS_CONTENT", "probability": "HIGH", "blocked": True}


class GoogleGenerate(ModelEndpoint):
    """`POST /v1beta/models/X:generateContent` and `:streamGenerateContent`."""

    vendor: Vendor = GOOGLE

    def read(self, call: Call) -> Ask:
        """What the call asks for; the model is in the path."""
        body = call.json()
        contents = body.get("contents")
        if not isinstance(contents, list) or not contents:
            raise Refused(400, "GenerateContentRequest.contents: contents is not specified")
        config = body.get("generationConfig") or {}
        thinking = {_camel(k): v for k, v in (config.get("thinkingConfig") or {}).items()}
        system = body.get("systemInstruction") or body.get("system_instruction")
        turns = tuple((_role(c), joined_text(c.get("parts"))) for c in contents)
        if system:
            turns = (("system", joined_text(system.get("parts"))), *turns)
        return Ask(
            model=call.params["model"],
            turns=turns,
            stream=call.params["method"] == "streamGenerateContent",
            samples=int(config.get("candidateCount") or 1),
            max_tokens=config.get("maxOutputTokens"),
            stop=tuple(config.get("stopSequences") or ()),
            top=int(config.get("logprobs") or 0) if config.get("responseLogprobs") else None,
            schema=config.get("responseJsonSchema") or config.get("responseSchema"),
            reasoning=_thoughts(thinking),
            show_reasoning=bool(thinking.get("includeThoughts")),
            seed=config.get("seed"),
        )

    def whole(self, reply: Reply) -> Json:
        """`GenerateContentResponse`."""
        if reply.prompt_blocked:
            blocked = {"blockReason": "SAFETY", "safetyRatings": [_RATING]}
            usage = {"promptTokenCount": reply.usage.prompt, "totalTokenCount": reply.usage.prompt}
            return {"promptFeedback": blocked, "usageMetadata": usage, **_tail(reply)}
        candidates = [_candidate(i, answer) for i, answer in enumerate(reply.answers)]
        return {"candidates": candidates, "usageMetadata": _usage(reply), **_tail(reply)}

    def frames(self, reply: Reply) -> Iterator[bytes]:
        """A response per token; the last one has the reason for the end."""
        if reply.prompt_blocked or not reply.answers:
            yield sse(self.whole(reply))
        usage = _usage(reply)
        for i, answer in enumerate(reply.answers):
            parts: list[Json] = [{"text": token} for token in answer.tokens]
            if answer.reasoning:
                parts = [{"text": answer.reasoning, "thought": True}, *parts]
            for part in parts:
                piece = {"index": i, "content": {"role": "model", "parts": [part]}}
                yield sse({"candidates": [piece], "usageMetadata": usage, **_tail(reply)})
            last = {"index": i, "content": {"role": "model"}, "finishReason": _FINISH[answer.finish]}
            yield sse({"candidates": [last], "usageMetadata": usage, **_tail(reply)})


class GoogleCount(Endpoint):
    """`POST /v1beta/models/X:countTokens`."""

    vendor: Vendor = GOOGLE

    def answer(self, call: Call, state: State) -> Payload:
        """How many tokens the contents are, by the rule of thumb."""
        contents = call.json().get("contents") or []
        return Payload(
            encode({"totalTokens": sum(count_tokens(joined_text(c.get("parts"))) for c in contents)})
        )


class GoogleEmbed(Endpoint):
    """`POST /v1beta/models/X:embedContent` and `:batchEmbedContents`."""

    vendor: Vendor = GOOGLE

    def answer(self, call: Call, state: State) -> Payload:
        """One vector, or one per request."""
        body = call.json()
        if call.params["method"] == "embedContent":
            return Payload(encode({"embedding": self._vector(body, state)}))
        return Payload(encode({"embeddings": [self._vector(r, state) for r in body.get("requests") or []]}))

    def _vector(self, request: Json, state: State) -> Json:
        dimensions = int(request.get("outputDimensionality") or state.plan.embedding_dimensions)
        return {"values": embedding(joined_text((request.get("content") or {}).get("parts")), dimensions)}


class GoogleModels(Endpoint):
    """`GET /v1beta/models` and `GET /v1beta/models/X`."""

    vendor: Vendor = GOOGLE

    def answer(self, call: Call, state: State) -> Payload:
        """The models of the plan; all or the named one."""
        wanted = call.params.get("model")
        if wanted is None:
            return Payload(encode({"models": [_model(m) for m in state.plan.models]}))
        if wanted not in state.plan.models:
            raise Refused(404, f"models/{wanted} is not found for API version v1beta")
        return Payload(encode(_model(wanted)))


def _camel(name: str) -> str:
    """Google takes names in both spellings, and its own library sends `thinking_budget` when given a dictionary."""
    first, *rest = name.split("_")
    return first + "".join(part.title() for part in rest)


def _model(name: str) -> Json:
    methods = ["generateContent", "countTokens", "embedContent"]
    return {"name": f"models/{name}", "displayName": name, "supportedGenerationMethods": methods}


def _role(content: Json) -> str:
    return {"model": "assistant"}.get(str(content.get("role")), str(content.get("role") or "user"))


def _thoughts(thinking: Json) -> int:
    """Tokens of thoughts: half of the budget, or by the level; a budget of -1 lets the model decide."""
    if "thinkingLevel" in thinking:
        return LEVELS.get(str(thinking["thinkingLevel"]).upper(), 64)
    budget = int(thinking.get("thinkingBudget") or 0)
    return 64 if budget < 0 else budget // 2


def _candidate(index: int, answer: Answer) -> Json:
    parts: list[Json] = [{"text": answer.reasoning, "thought": True}] if answer.reasoning else []
    if answer.text:
        parts.append({"text": answer.text})
    candidate: Json = {"index": index, "finishReason": _FINISH[answer.finish]}
    if answer.finish in (Finish.FILTERED, Finish.REFUSED):
        candidate["safetyRatings"] = [_RATING]
    elif answer.text is not None:  # a null content is left out, as Google does
        # Google sends a content without parts when nothing was said.
        candidate["content"] = {"role": "model", "parts": parts} if parts else {"role": "model"}
    if answer.tops is not None:
        candidate["logprobsResult"] = _logprobs(answer)
        candidate["avgLogprobs"] = sum(tops[0][1] for tops in answer.tops) / max(len(answer.tops), 1)
    return candidate


def _logprobs(answer: Answer) -> Json:
    tops = answer.tops or ()
    chosen = [
        (t, next((p for x, p in top if x == t), -9999.0)) for t, top in zip(answer.tokens, tops, strict=False)
    ]
    return {
        "chosenCandidates": [_token(t, p) for t, p in chosen],
        "topCandidates": [{"candidates": [_token(t, p) for t, p in top]} for top in tops],
    }


def _token(token: str, logprob: float) -> Json:
    return {"token": token, "tokenId": sum(token.encode(errors="replace")), "logProbability": logprob}


def _usage(reply: Reply) -> Json:
    u = reply.usage
    usage = {
        "promptTokenCount": u.prompt,
        "candidatesTokenCount": u.completion - u.reasoning,  # thoughts are counted beside, not within
        "totalTokenCount": u.prompt + u.completion,
    }
    if u.reasoning:
        usage["thoughtsTokenCount"] = u.reasoning
    if u.cached:
        usage["cachedContentTokenCount"] = u.cached
    return usage


def _tail(reply: Reply) -> Json:
    return {"modelVersion": reply.model, "responseId": reply.identifier}
