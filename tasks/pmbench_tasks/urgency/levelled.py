"""The strategies that look at one message at a time: `multiclass` and `pointwise`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Literal

from pmbench import Model, Options, Prompt, RequestFailed, Response, StrategyContext
from pmbench_tasks.urgency.asking import ask_all, ask_each
from pmbench_tasks.urgency.comparators import LEAST_MASS, finite
from pmbench_tasks.urgency.messages import LEAST_URGENT, MOST_URGENT, PortalMessage, shown
from pmbench_tasks.urgency.options import inbox_options, pair_options

LEVELS = tuple(str(level) for level in range(MOST_URGENT, LEAST_URGENT + 1))

Reading = Literal["named", "expected"]
"""Of the probabilities of the six levels: the most probable one, or the mean."""


class Levels:
    """Has a model name the level of a message, with a probability for each of the six.

    Both readings make the same requests, so the second costs nothing.
    """

    needs = frozenset({"choose"})

    def __init__(self, prompt: Prompt, reading: Reading) -> None:
        self.prompt, self.reading = prompt, reading

    def describe(self) -> Mapping[str, Any]:
        """Digest of the prompt, and how its answer is read."""
        return {"prompt": self.prompt.digest, "reading": self.reading, "least_mass": LEAST_MASS}

    async def level(self, message: PortalMessage, model: Model, *, chart: bool) -> float:
        """The level that the model gives a message; of equally probable ones the more urgent.

        Raises:
            RequestFailed: `neither` where the model names no level, or it could not answer.
        """
        choice = await model.choose(self.prompt.messages(**shown(message, chart=chart)), LEVELS)
        if choice.mass < LEAST_MASS:
            raise RequestFailed("neither", "the answer is none of the levels")
        if self.reading == "expected":
            return finite(sum(level * p for level, p in enumerate(choice.probabilities, MOST_URGENT)))
        return float(MOST_URGENT + choice.probabilities.index(max(choice.probabilities)))


class LevelledInbox(Levels):
    """Scores every message of an inbox by the level that a model gives it."""

    def estimate(self, inputs: Mapping[str, Any], options: Options) -> tuple[int, int]:
        """One request for each message."""
        return (n := len(inputs["messages"])), n

    async def __call__(self, inputs: Mapping[str, Any], model: Model, context: StrategyContext) -> Response:
        """`scores`: 6 − level; with `multiclass` `levels` too. Null where the request failed for good.

        Raises:
            RequestFailed: every request failed.
        """
        chart = inbox_options(context).chart == "keep"
        messages = inputs["messages"]
        levels = await ask_all([partial(self.level, message, model, chart=chart) for message in messages])
        data: dict[str, Any] = {
            "ids": [message["id"] for message in messages],
            "scores": [None if level is None else round(LEAST_URGENT - level, 9) for level in levels],
            "asked": len(levels),
            "missing": sum(level is None for level in levels),
        }
        return Response(data=data | ({"levels": levels} if self.reading == "named" else {}))


class LevelledPair(Levels):
    """Compares the levels that a model gives to the two messages of a pair."""

    def estimate(self, inputs: Mapping[str, Any], options: Options) -> tuple[int, int]:
        """Two requests."""
        return 2, 2

    async def __call__(self, inputs: Mapping[str, Any], model: Model, context: StrategyContext) -> Response:
        """`levels`: of the first and of the second message.

        Raises:
            RequestFailed: one of the two could not be had.
        """
        chart = pair_options(context).chart == "keep"
        pair = (inputs["first"], inputs["second"])
        levels = await ask_each([partial(self.level, message, model, chart=chart) for message in pair])
        return Response(data={"levels": levels})
