"""Inputs of the urgency tests: models whose every answer is known, and messages."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pmbench import Choice, Completion, Message, RequestFailed

Urgency = Callable[[str], float]


def marked(text: str) -> float:
    """The number behind `urgency` in a message of a test."""
    found = re.search(r"urgency (-?\d+(?:\.\d+)?)", text)
    assert found is not None
    return float(found[1])


class KnowingModel:
    """Reads how urgent messages are from a number in their text.

    Args:
        fails: whether a request fails, given its text.
        sure: how much probability a right answer gets.
    """

    name = "knowing"
    offers = frozenset({"chat", "choose", "reward"})

    def __init__(self, *, fails: Callable[[str], bool] = lambda text: False, sure: float = 0.9) -> None:
        self.fails, self.sure = fails, sure
        self.asked: list[str] = []

    async def chat(self, messages: Sequence[Message], **asked: Any) -> Completion:
        text = self._text(messages)
        shown = re.findall(r"\[(\d+)\]\n(.*?)(?=\n\[|\nPut all)", text, re.DOTALL)
        order = sorted(shown, key=lambda one: -marked(one[1]))
        return Completion(" > ".join(f"[{number}]" for number, _ in order))

    async def choose(self, messages: Sequence[Message], options: Sequence[str]) -> Choice:
        text = self._text(messages)
        if len(options) == 2:
            first, _, second = text.partition("SECOND MESSAGE")
            yes = marked(second) > marked(first)
            return Choice((self.sure, 1 - self.sure) if yes else (1 - self.sure, self.sure))
        named = min(6, max(1, 6 - round(marked(text))))
        return Choice(tuple(0.75 if int(option) == named else 0.05 for option in options))

    async def reward(self, messages: Sequence[Message]) -> float:
        first, second = (message["content"] for message in messages)
        self._text(messages)
        return 10 * (marked(second) - marked(first))

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        raise NotImplementedError

    def _text(self, messages: Sequence[Message]) -> str:
        text = messages[-1]["content"]
        self.asked.append("\n".join(message["content"] for message in messages))
        if self.fails(self.asked[-1]):
            raise RequestFailed("server", "it is down")
        return text


class StubbornModel(KnowingModel):
    """Gives the same probabilities whatever it is asked."""

    def __init__(self, *probabilities: float, mass: float = 1.0, text: str = "", value: float = 0.0) -> None:
        super().__init__()
        self.probabilities, self.mass, self.text, self.value = probabilities, mass, text, value

    async def chat(self, messages: Sequence[Message], **asked: Any) -> Completion:
        self._text(messages)
        return Completion(self.text)

    async def choose(self, messages: Sequence[Message], options: Sequence[str]) -> Choice:
        self._text(messages)
        return Choice(self.probabilities, mass=self.mass)

    async def reward(self, messages: Sequence[Message]) -> float:
        return self.value


def message(number: float, ident: str = "", chart: str = "") -> dict[str, str]:
    """A message that is so urgent."""
    return {"id": ident or f"m{number:g}", "message": f"I write with urgency {number:g}", "chart": chart}


def inbox(*numbers: float, chart: str = "") -> Mapping[str, Any]:
    """The inputs of an inbox."""
    return {"messages": [message(number, chart=chart) for number in numbers]}


def pair(first: float, second: float, chart: str = "") -> Mapping[str, Any]:
    """The inputs of a pair."""
    return {"first": message(first, chart=chart), "second": message(second, chart=chart)}
