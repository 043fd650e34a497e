"""What tasks have in common where they ask a chat model: questions side by side, and answers read from its text."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any, TypeVar

Read = TypeVar("Read")
Item = TypeVar("Item")

SIDE_BY_SIDE = 64
"""Questions about one text that are under way at the same time; each holds a prompt with the whole text."""
MOST_BRACES = 1_000
"""Opening braces of an answer at which its JSON object is looked for."""


class Unreadable(ValueError):
    """An answer that is not in the asked form; the message tells the model what to mend."""


async def side_by_side(questions: Sequence[Callable[[], Awaitable[Read]]]) -> list[Read]:
    """The answers to several questions, in order, asked side by side.

    When one cannot be answered nothing more is begun; what is under way comes to its end first, since it is paid for,
    and then the error is raised: the one of the first question that has one.
    """
    room = asyncio.Semaphore(SIDE_BY_SIDE)
    answers: dict[int, Read] = {}
    errors: dict[int, BaseException] = {}

    async def one(place: int, question: Callable[[], Awaitable[Read]]) -> None:
        async with room:
            if errors:
                return
            try:
                answers[place] = await question()
            except BaseException as error:
                errors[place] = error
                if not isinstance(error, Exception):  # an interruption goes on its way
                    raise

    # Not a TaskGroup: the caller counts a RequestFailed and an Unscored, not a group of them.
    await asyncio.gather(*(one(place, question) for place, question in enumerate(questions)))
    if errors:
        raise errors[min(errors)]
    return [answers[place] for place in range(len(questions))]


def json_objects(text: str, pairs: Callable[[list[tuple[str, Any]]], Any] | None = None) -> Iterator[Any]:
    """The JSON objects of a text from left to right; where one is broken, those inside it.

    Code fences and words around them are passed over.

    Args:
        text: an answer.
        pairs: makes an object of its names and values; None: a dict, of which what stands twice is the last.
    """
    decoder = json.JSONDecoder(strict=False, object_pairs_hook=pairs)
    at = text.find("{")
    for _ in range(MOST_BRACES):
        if at < 0:
            return
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):  # a ValueError of another kind: a number of thousands of digits
            end = at + 1
        else:
            yield value
        at = text.find("{", end)


def first_object(text: str, key: str) -> dict[str, Any] | None:
    """The first JSON object of a text that has the key."""
    return next((value for value in json_objects(text) if isinstance(value, dict) and key in value), None)


def portions(items: Sequence[Item], size: int) -> list[Sequence[Item]]:
    """Items in portions of at most `size`, in order."""
    return [items[start : start + size] for start in range(0, len(items), size)]


def valid(text: str) -> str:
    """The text as a file can hold it: half a surrogate pair becomes U+FFFD, two halves their sign."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
