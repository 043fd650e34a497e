"""OpenAI's embeddings and its list of models (which Anthropic asks for under the same path)."""

from __future__ import annotations

import base64
import struct

from ..vendors import ANTHROPIC, OPENAI, Vendor
from ..wire import Call, Payload, Refused, encode
from ..words import count_tokens, embedding
from .endpoint import Endpoint, State
from .openai_chat import CREATED


class OpenAIEmbeddings(Endpoint):
    """`POST /v1/embeddings`."""

    vendor: Vendor = OPENAI

    def answer(self, call: Call, state: State) -> Payload:
        """One vector per input, as numbers or in base64 (what OpenAI's own library asks for)."""
        body = call.json()
        given = body.get("input")
        texts = [given] if isinstance(given, str) else given
        if not isinstance(texts, list) or not texts or not all(isinstance(text, str) for text in texts):
            raise Refused(400, "'input' has to be a text or a list of texts.")
        dimensions = int(body.get("dimensions") or state.plan.embedding_dimensions)
        vectors = [embedding(text, dimensions) for text in texts]
        if body.get("encoding_format") == "base64":
            packed = [base64.b64encode(struct.pack(f"<{dimensions}f", *v)).decode() for v in vectors]
            data = [{"object": "embedding", "index": i, "embedding": p} for i, p in enumerate(packed)]
        else:
            data = [{"object": "embedding", "index": i, "embedding": v} for i, v in enumerate(vectors)]
        tokens = sum(count_tokens(text) for text in texts)
        model = call.params.get("model") or body.get("model")
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        return Payload(encode({"object": "list", "data": data, "model": model, "usage": usage}))


class OpenAIModels(Endpoint):
    """`GET /v1/models` and `GET /v1/models/X`."""

    vendor: Vendor = OPENAI

    def answer(self, call: Call, state: State) -> Payload:
        """The models of the plan; all or the named one."""
        wanted = call.params.get("model")
        models = [
            {"id": m, "object": "model", "created": CREATED, "owned_by": "loopback"}
            for m in state.plan.models
        ]
        if wanted is None:
            return Payload(encode({"object": "list", "data": models}))
        for model in models:
            if model["id"] == wanted:
                return Payload(encode(model))
        raise Refused(404, f"The model '{wanted}' does not exist or you do not have access to it.")


class AnthropicModels(Endpoint):
    """`GET /v1/models` and `GET /v1/models/X` with a header `anthropic-version`."""

    vendor: Vendor = ANTHROPIC

    def answer(self, call: Call, state: State) -> Payload:
        """The models of the plan; all or the named one."""
        wanted = call.params.get("model")
        date = "2026-01-01T00:00:00Z"
        models = [
            {"type": "model", "id": m, "display_name": m, "created_at": date} for m in state.plan.models
        ]
        if wanted is None:
            ends = {"first_id": state.plan.models[0], "last_id": state.plan.models[-1]} if models else {}
            return Payload(encode({"data": models, "has_more": False, **ends}))
        for model in models:
            if model["id"] == wanted:
                return Payload(encode(model))
        raise Refused(404, f"model: {wanted}")
