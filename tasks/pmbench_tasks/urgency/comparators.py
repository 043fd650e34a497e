"""Comparators: how much the second of two messages is held to be more urgent than the first.

`f(first, second)` is a probability from 0 to 1, or the score of a reward model, which has no bounds and no zero. A
model that gives no answer raises `RequestFailed`: that comparison is missing, never a tie.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal, Protocol

from pmbench import Message, Model, Prompt, RequestFailed, StrategyContext, digest
from pmbench_tasks.urgency.messages import PortalMessage, shown
from pmbench_tasks.urgency.options import pair_options

Scale = Literal["probability", "reward", "rule"]
"""`rule`: 1, 0 or ½ by a rule that no position can sway."""

LEAST_MASS = 0.01
"""Where both answers together have less of the probability than this, the model has answered neither yes nor no."""


class Comparator(Protocol):
    """Compares two messages."""

    @property
    def needs(self) -> frozenset[str]:
        """What the model must offer; empty: no model is asked."""
        ...

    @property
    def scale(self) -> Scale:
        """What its values are."""
        ...

    def describe(self) -> Mapping[str, Any]:
        """What decides its values, for a run's digest."""
        ...

    async def __call__(
        self, first: PortalMessage, second: PortalMessage, model: Model, context: StrategyContext
    ) -> float:
        """How much `second` is held to be more urgent than `first` when they are shown in that order.

        Raises:
            RequestFailed: there is no answer that counts.
        """
        ...


class Choosing:
    """Asks a chat model whether the second patient needs attention sooner; the probability of yes against no.

    The first message stands first in the prompt, so that all prompts about one first message begin alike.
    """

    needs = frozenset({"choose"})
    scale: Scale = "probability"

    def __init__(self, prompt: Prompt) -> None:
        self.prompt = prompt

    def describe(self) -> Mapping[str, Any]:
        """Digest of the prompt."""
        return {"comparator": "choose", "prompt": self.prompt.digest, "least_mass": LEAST_MASS}

    async def __call__(
        self, first: PortalMessage, second: PortalMessage, model: Model, context: StrategyContext
    ) -> float:
        """P(yes) / (P(yes) + P(no)), over spellings; 1 or 0 of a model without log-probabilities.

        Raises:
            RequestFailed: `neither` where the model says something else than yes or no, or it could not answer.
        """
        chart = pair_options(context).chart == "keep"
        messages = self.prompt.messages(first=shown(first, chart=chart), second=shown(second, chart=chart))
        choice = await model.choose(messages, ("yes", "no"))
        if choice.mass < LEAST_MASS:
            raise RequestFailed("neither", "the answer is neither yes nor no")
        return finite(choice.probabilities[0])


class Rewarding:
    """Asks a reward model how well the second message completes the request for one more urgent than the first.

    The UrgentReward of the paper (section 3.4): f(a, b) against f(b, a) decides; a score alone says nothing.
    """

    needs = frozenset({"reward"})
    scale: Scale = "reward"

    def __init__(self, prompt: Prompt, completion: Prompt) -> None:
        self.prompt, self.completion = prompt, completion

    def describe(self) -> Mapping[str, Any]:
        """Digests of both prompts."""
        return {
            "comparator": "reward",
            "prompt": self.prompt.digest,
            "completion": self.completion.digest,
        }

    async def __call__(
        self, first: PortalMessage, second: PortalMessage, model: Model, context: StrategyContext
    ) -> float:
        """The score of the second message as an answer.

        Raises:
            RequestFailed: `not-a-number`, or the model could not answer.
        """
        chart = pair_options(context).chart == "keep"
        asked: list[Message] = [
            {"role": "user", "content": self.prompt.render(first=shown(first, chart=chart))},
            {"role": "assistant", "content": self.completion.render(second=shown(second, chart=chart))},
        ]
        return finite(await model.reward(asked))


class Longer:
    """No model: the message with more words is held to be more urgent, equal lengths are equal."""

    needs: frozenset[str] = frozenset()
    scale: Scale = "rule"

    def describe(self) -> Mapping[str, Any]:
        """Its name."""
        return {"comparator": "length in words"}

    async def __call__(
        self, first: PortalMessage, second: PortalMessage, model: Model, context: StrategyContext
    ) -> float:
        """1, 0 or ½."""
        return _against(words_in(first), words_in(second))


class Lot:
    """No model: every message draws a lot, by its text and the option `seed`."""

    needs: frozenset[str] = frozenset()
    scale: Scale = "rule"

    def describe(self) -> Mapping[str, Any]:
        """Its name."""
        return {"comparator": "by lot"}

    async def __call__(
        self, first: PortalMessage, second: PortalMessage, model: Model, context: StrategyContext
    ) -> float:
        """1 or 0; ½ for the same words."""
        seed = pair_options(context).seed
        return _against(lot_of(first, seed), lot_of(second, seed))


CHOOSE = Choosing(Prompt("pmbench_tasks.urgency:prompts/compare.txt"))
REWARD = Rewarding(
    Prompt("pmbench_tasks.urgency:prompts/reward_prompt.txt"),
    Prompt("pmbench_tasks.urgency:prompts/reward_completion.txt"),
)


def words_in(message: Mapping[str, str]) -> int:
    """Words of a message, its chart not counted."""
    return len(message["message"].split())


def lot_of(message: Mapping[str, str], seed: int) -> float:
    """A number from 0 to 1 that chart, message and seed decide."""
    return int(digest([seed, message["message"], message.get("chart", "")])[:13], 16) / 16**13


def first_shown(one: Mapping[str, str], other: Mapping[str, str], seed: int) -> bool:
    """By lot, whether `one` is shown before `other`: the same whatever file and order they come in."""
    own, its = ([m["message"], m.get("chart", "")] for m in (one, other))
    heads = int(digest([seed, *sorted((own, its))])[0], 16) % 2 == 0
    return (own <= its) == heads


def finite(value: float) -> float:
    """The value.

    Raises:
        RequestFailed: `not-a-number`.
    """
    if not math.isfinite(value):
        raise RequestFailed("not-a-number", "the comparison is not a finite number")
    return value


def _against(first: float, second: float) -> float:
    return 0.5 if first == second else float(second > first)
