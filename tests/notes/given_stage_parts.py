"""A model, an embedder and a progress for tests of single stages, all in this process."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from pmbench import Completion, Message, RequestFailed
from pmbench_tasks.notes.pipeline.records import FeedbackItem

T = TypeVar("T")


class Answering:
    """A model that answers by a function of the whole conversation.

    Attributes:
        asked: conversations, parts joined; attempts: the number of each.
    """

    name = "answering"
    offers = frozenset({"chat"})
    features: frozenset[str] = frozenset()
    parallel, chooses_in_words = 4, True

    def __init__(self, answer: Callable[[str], str | Completion | RequestFailed]) -> None:
        self.answer = answer
        self.asked: list[str] = []
        self.attempts: list[int] = []

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
        said = "\n".join(message["content"] for message in messages)
        self.asked.append(said)
        self.attempts.append(attempt)
        answer = self.answer(said)
        if isinstance(answer, RequestFailed):
            raise answer
        return Completion(answer) if isinstance(answer, str) else answer

    async def choose(self, messages: Sequence[Message], options: Sequence[str]) -> Any:
        raise AssertionError("nothing here chooses")

    async def reward(self, messages: Sequence[Message]) -> float:
        raise AssertionError("nothing here rewards")

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        raise AssertionError("nothing here embeds")


class BagOfWords:
    """Embeds a text as the letters and words that it has, hashed: like texts are near."""

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = np.zeros((len(texts), 256), dtype=np.float32)
        for row, text in enumerate(texts):
            for word in re.findall(r"\w+", text.casefold()):
                vectors[row, sum(map(ord, word)) % 256] += 1.0
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        return np.divide(vectors, lengths, out=vectors, where=lengths > 0)


class Quiet:
    """Says nothing and counts what failed."""

    def __init__(self) -> None:
        self.failed = 0
        self.notes: list[str] = []

    def start(self, phase: str, total: int, done: int = 0) -> None:
        pass

    def advance(self, *, failed: bool = False) -> None:
        self.failed += failed

    def finish(self) -> None:
        pass

    def note(self, text: str) -> None:
        self.notes.append(text)


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


def entries(said: str) -> dict[int, str]:
    """The numbered items of the last prompt in a conversation."""
    return {int(number): text for number, text in re.findall(r'<item n="(\d+)">(.*?)</item>', said)}


def numbered(said: str, entry: Callable[[str], dict[str, Any]]) -> str:
    """An answer with an entry for every item of a prompt."""
    return json.dumps({str(n): entry(text) for n, text in entries(said).items()})


def items(*texts: str, sections: tuple[str, ...] = ("assessment_and_plan",)) -> list[FeedbackItem]:
    return [FeedbackItem(f"f{n}", text, sections=sections) for n, text in enumerate(texts, 1)]
