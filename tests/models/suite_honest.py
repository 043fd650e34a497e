"""A backend that keeps every promise of the conformance suite, and the suite of it."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import pytest

from pmbench.core.errors import RequestFailed
from pmbench.core.model import Choice, Completion, Usage
from pmbench.models.backend import Backend, BackendOptions, Request
from pmbench.testing import BackendSuite

WORDS = (
    "amber",
    "birch",
    "cedar",
    "daisy",
    "ember",
    "fern",
    "grove",
    "hazel",
    "iris",
    "jade",
    "kale",
    "lily",
)
MOST = 200_000
KEY = "sk-suite-0123456789"


class HonestOptions(BackendOptions, frozen=True):
    """Options.

    Attributes:
        tone: what its words begin with.
        threads: how many.
    """

    tone: Literal["calm", "brisk"] = "calm"
    threads: int = 1


class Honest(Backend):
    name = "honest"
    options: ClassVar[type[BackendOptions]] = HonestOptions
    offers = frozenset({"chat", "choose", "reward", "embed"})
    features = frozenset({"temperature", "seed", "stop", "schema", "logprobs"})
    local = True
    parallel = 8

    def unavailable(self) -> str:
        return ""

    def identity(self) -> Mapping[str, str]:
        return {"engine": "honest", "version": "1", "tone": self.option.tone}

    async def chat(self, request: Request) -> Completion:
        self.check(request)
        await asyncio.sleep(0.05 if request.max_tokens > 300 else 0)
        return self.answer(request)

    def check(self, request: Request) -> None:
        text = "".join(message["content"] for message in request.messages)
        if not request.messages or request.max_tokens < 1:
            raise RequestFailed("invalid", "nothing is asked")
        if len(text) > MOST:
            raise RequestFailed("too-long", f"{len(text)} characters")

    def answer(self, request: Request) -> Completion:
        words = self.words(request)
        if request.schema is not None:
            return Completion(json.dumps({"urgent": True, "days": 3}), usage=self.usage(request, 9))
        kept = words[: request.max_tokens]
        text, finish = " ".join(kept), "length" if len(kept) < len(words) else "stop"
        places = [text.index(stop) for stop in request.stop if stop and stop in text]
        if places:
            text, finish = text[: min(places)], "stop"
        return Completion(text, finish, usage=self.usage(request, len(kept)))  # type: ignore[arg-type]

    def words(self, request: Request) -> list[str]:
        hot = (request.engine_seed,) if request.temperature > 0 else ()
        drawn = hashlib.sha256(
            repr((request.messages, hot, self.option.tone)).encode(errors="replace")
        ).digest()
        return [WORDS[byte % len(WORDS)] for byte in drawn[:20]]

    def usage(self, request: Request, completion: int) -> Usage:
        return Usage(sum(len(message["content"].split()) + 4 for message in request.messages), completion)

    async def choose(self, request: Request) -> Choice:
        self.check(request)
        names = [option.strip().casefold() for option in request.options]
        if len(names) < 2 or not all(names) or len({name[:1] for name in names}) < len(names):
            raise RequestFailed("ambiguous")
        weights = [float(ord(name[0])) for name in names]
        return Choice(tuple(w / sum(weights) for w in weights), usage=self.usage(request, 1))

    async def reward(self, request: Request) -> float:
        self.check(request)
        return float(sum(len(message["content"]) for message in request.messages))

    async def embed(self, texts: Sequence[str]) -> Any:
        import numpy as np

        seeds = [hashlib.sha256(text.encode(errors="replace")).digest() for text in texts]
        rows = np.array([list(seed) for seed in seeds], dtype=np.float32).reshape(
            len(texts), -1 if texts else 32
        )
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


class HonestSuite(BackendSuite):
    spec = "honest:any"
    deterministic = True
    seconds = 20.0
    deciding: ClassVar = {"tone": ("calm", "brisk")}
    not_deciding: ClassVar = {"threads": ("1", "2")}
    caught_by = ""

    @pytest.fixture(autouse=True)
    def _key(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("SUITE_KEY", KEY)
