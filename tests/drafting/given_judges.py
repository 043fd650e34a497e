"""Inputs of tests: a chat model that answers from a table, and an embedder that counts words."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pmbench import Choice, Completion, Message


class RecordedModel:
    """Answers each sentence of a reply with its recorded texts, one per attempt."""

    name = "recorded"
    offers = frozenset({"chat"})

    def __init__(self, answers: Mapping[str, Sequence[str]]) -> None:
        self.answers = answers
        self.requests: list[tuple[list[Message], int, Mapping[str, Any] | None]] = []

    async def chat(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        temperature: float = 0.0,
        stop: Sequence[str] = (),
        schema: Mapping[str, Any] | None = None,
        attempt: int = 0,
    ) -> Completion:
        self.requests.append((list(messages), attempt, schema))
        asked = next(m["content"] for m in messages if m["role"] == "user")
        found = re.search(r"<sentence>\n(.*?)\n</sentence>", asked, re.DOTALL)
        key = found[1] if found else ""
        return Completion(text=self.answers[key][attempt])

    async def choose(self, messages: Sequence[Message], options: Sequence[str]) -> Choice:
        raise NotImplementedError

    async def reward(self, messages: Sequence[Message]) -> float:
        raise NotImplementedError

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        raise NotImplementedError


class WordCounts:
    """Embeds a text as the counts of its words, so that a cosine can be worked out by hand."""

    def __init__(self) -> None:
        self.calls: list[list[str]] = []

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.calls.append(list(texts))
        words = [re.findall(r"\w+", text.lower()) for text in texts]
        place = {word: i for i, word in enumerate(dict.fromkeys(w for found in words for w in found))}
        vectors = np.zeros((len(texts), max(1, len(place))), dtype=np.float32)
        for row, found in enumerate(words):
            for word in found:
                vectors[row, place[word]] += 1
        return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)


class GivenThemes:
    """A theme judge that looks labels up by the first word of a sentence; `other` for what it does not know."""

    def __init__(self, labels: Mapping[str, Sequence[str]] | None = None) -> None:
        self.labels = labels or {}
        self.asked: list[list[str]] = []

    def describe(self) -> Mapping[str, Any]:
        return {"method": "by the first word"}

    async def label(self, sentences: Sequence[str]) -> list[tuple[str, ...]]:
        self.asked.append(list(sentences))
        return [tuple(self.labels.get(sentence.split()[0], ("other",))) for sentence in sentences]
