"""Inputs of the tests of ArchEHR-QA strategies: a case, and models whose every answer is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pmbench import Choice, Completion, Message

NOTE = (
    "Brief Hospital Course:",
    "She was admitted with pneumonia and needed oxygen for two days.",
    "Ceftriaxone was given for five days.",
    "Her potassium was low and was repleted.",
    "Furosemide was stopped because of dizziness.",
    "She walked with the physical therapist every day.",
)

SENTENCES = [
    {"id": str(number), "text": text, "paragraph": "0" if number < 2 else "1"}
    for number, text in enumerate(NOTE, 1)
]

CASE: Mapping[str, Any] = {
    "narrative": "my mom came home with no water pill any more, why did they stop it??",
    "clinician_question": "Why was furosemide stopped?",
    "sentences": SENTENCES,
}

RIGHT = "The water pill was stopped because it made her dizzy. |5|\nShe also had pneumonia. |2,3|"
PLAIN = "The water pill was stopped because it made her dizzy. She also had pneumonia."


class ScriptedModel:
    """Gives its answers one after the other, and the last one for ever.

    Attributes:
        asked: the text of every request, parts joined; limits: its token limit.
    """

    name = "scripted"
    offers = frozenset({"chat"})

    def __init__(self, *answers: str | Completion | Exception) -> None:
        self._answers = [Completion(one) if isinstance(one, str) else one for one in answers]
        self.asked: list[str] = []
        self.limits: list[int] = []

    async def chat(self, messages: Sequence[Message], *, max_tokens: int, **asked: Any) -> Completion:
        self.asked.append("\n".join(message["content"] for message in messages))
        self.limits.append(max_tokens)
        answer = self._answers[min(len(self.asked), len(self._answers)) - 1]
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def choose(self, messages: Sequence[Message], options: Sequence[str]) -> Choice:
        raise NotImplementedError

    async def reward(self, messages: Sequence[Message]) -> float:
        raise NotImplementedError

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        raise NotImplementedError


class WordEmbedder:
    """Embeds a text as which of some words it has: two texts are similar by the words that they share."""

    def __init__(self, *words: str) -> None:
        self.words = words

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        counts = np.array(
            [[float(word in text.casefold()) for word in self.words] for text in texts], np.float32
        ).reshape(len(texts), len(self.words))
        lengths = np.linalg.norm(counts, axis=1, keepdims=True)
        return np.divide(counts, lengths, out=np.zeros_like(counts), where=lengths > 0)
