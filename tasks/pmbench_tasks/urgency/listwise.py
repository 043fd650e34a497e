"""The strategy that shows a model the whole inbox at once and has it write the order."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pmbench import Model, Options, Prompt, RequestFailed, Response, StrategyContext
from pmbench_tasks.urgency.messages import shown
from pmbench_tasks.urgency.options import inbox_options

TOKENS_EACH, TOKENS_BESIDE = 8, 64
"""Tokens of an answer: for each message, and beside that."""

ATTEMPTS = 2

READING = 2
"""Raised when answers are read in another way, so that no run goes on with orders read in two ways."""

_ORDER = re.compile(r"""["']order["']\s*:\s*\[([\d,\s"']*)(?:\]|$)""")  # one that was cut off has no end
_LIST = re.compile(r"""\[(\s*["']?\d{1,6}["']?(?:\s*,\s*["']?\d{1,6}["']?)+\s*)\]""")
_BRACKETED = re.compile(r"\[\s*(\d{1,6})\s*\]")
_BARE = re.compile(r"(?<![\w.])(\d{1,6})(?![\w%])(?!\.\d)")
_LIST_MARK = re.compile(r"^[ \t]*\d{1,6}[.):][ \t]+(?=\S)", re.MULTILINE)


SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"order": {"type": "array", "items": {"type": "integer"}}},
    "required": ["order"],
    "additionalProperties": False,
}
"""What an answer is, where the engine can be held to it. Not how long the list is: not all engines take that."""


class Listwise:
    """One prompt with all messages, one answer with their numbers in order."""

    needs = frozenset({"chat"})

    def __init__(self, prompt: Prompt) -> None:
        self.prompt = prompt

    def describe(self) -> Mapping[str, Any]:
        """Digest of the prompt, the token limits, and how answers are read."""
        tokens = [TOKENS_EACH, TOKENS_BESIDE]
        return {"prompt": self.prompt.digest, "tokens": tokens, "attempts": ATTEMPTS, "reading": READING}

    def estimate(self, inputs: Mapping[str, Any], options: Options) -> tuple[int, int]:
        """One request, and another where the first answer names no message."""
        return 1, ATTEMPTS

    async def __call__(self, inputs: Mapping[str, Any], model: Model, context: StrategyContext) -> Response:
        """`scores` from the order named: n for the first to 1; messages that it leaves out share 0, the last place.

        `left_out` counts them, `repeated` numbers that stand twice or belong to no message.

        Raises:
            RequestFailed: `unparsed` where no answer names a message, or the model could not answer.
        """
        chart = inbox_options(context).chart == "keep"
        messages = inputs["messages"]
        n = len(messages)
        asked = self.prompt.messages(messages=[shown(message, chart=chart) for message in messages])
        for attempt in range(ATTEMPTS):
            answer = await model.chat(
                asked,
                max_tokens=TOKENS_BESIDE + TOKENS_EACH * n,
                temperature=0.0,
                schema=SCHEMA,
                attempt=attempt,
            )
            order, wrong = order_in(answer.text, n)
            if order:
                break
        else:
            raise RequestFailed("unparsed", "the answer names no message")
        scores = [0.0] * n
        for place, index in enumerate(order):
            scores[index] = float(n - place)
        return Response(
            text=answer.text,
            data={
                "ids": [message["id"] for message in messages],
                "scores": scores,
                "asked": attempt + 1,
                "missing": 0,
                "left_out": n - len(order),
                "repeated": wrong,
            },
        )


def order_in(text: str, n: int) -> tuple[list[int], int]:
    """The order of messages that an answer names.

    The last list under `"order"` counts, whatever stands beside it, else the only list of numbers in square
    brackets. Without one, numbers in brackets of their own count where there are any, else numbers by themselves,
    the marks of a numbered list left aside where something else follows them. A number counts where it stands first.

    Args:
        text: the answer; n: messages, numbered from 1.

    Returns:
        Places from 0, each once, most urgent first; and how many numbers were repeated or belong to no message.
    """
    alone = _BRACKETED.findall(text)
    lists = _ORDER.findall(text) or ([] if alone else _LIST.findall(text))
    if _ORDER.search(text) or len(lists) == 1:
        named = re.findall(r"(?<!\d)\d{1,6}(?!\d)", lists[-1])
    else:
        named = alone or _BARE.findall(_unmarked(text))
    numbers = [int(number) - 1 for number in named]
    order = list(dict.fromkeys(number for number in numbers if 0 <= number < n))
    return order, len(numbers) - len(order)


def _unmarked(text: str) -> str:
    """Without the marks of a numbered list, if what is left still names something."""
    bare = _LIST_MARK.sub("", text)
    return bare if _BARE.search(bare) else text
