"""Asking a chat model as a judge: a structured answer, one repair, the questions of one text side by side."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

from pmbench import Message, Model, Unscored
from pmbench_tasks.drafting.judging.answer import valid

Read = TypeVar("Read")

ATTEMPTS = 2
SIDE_BY_SIDE = 64
"""Questions about one text that are under way at the same time; each holds a prompt with the whole text."""
TOGETHER = 20
"""Sentences in one question at most, where several are asked about together."""
MOST_BRACES = 1_000
"""Opening braces of an answer at which its JSON object is looked for."""


class Unreadable(ValueError):
    """An answer that is not in the asked form; the message tells the model what to mend."""


async def ask(
    model: Model,
    messages: Sequence[Message],
    read: Callable[[str], Read],
    *,
    schema: Mapping[str, Any],
    max_tokens: int,
    judge: str,
) -> Read:
    """Ask once, and once more where the answer cannot be read, with what is wrong with it.

    Args:
        model: the judge.
        messages: the question.
        read: turns the answer's text into what is wanted, or raises Unreadable.
        schema: JSON schema of the answer, where the backend can enforce it.
        max_tokens: most tokens of the answer.
        judge: its role, for the error.

    Raises:
        RequestFailed: the model could not answer.
        Unscored: `unparsed`, no answer could be read.
    """
    said = list(messages)
    for attempt in range(ATTEMPTS):
        completion = await model.chat(
            said, max_tokens=max_tokens, temperature=0.0, schema=schema, attempt=attempt
        )
        try:
            return read(completion.text)
        except Unreadable as error:
            said += [
                {"role": "assistant", "content": valid(completion.text)},
                {"role": "user", "content": f"{error} Answer again, with the JSON object only."},
            ]
    raise Unscored("unparsed", f"the {judge} judge's answer could not be read in {ATTEMPTS} attempts")


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


def first_object(text: str, key: str) -> dict[str, Any] | None:
    """The first JSON object of a text that has the key; code fences and words around it are passed over."""
    decoder = json.JSONDecoder(strict=False)
    at = text.find("{")
    for _ in range(MOST_BRACES):
        if at < 0:
            break
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):  # a ValueError of another kind: a number of thousands of digits
            end = at + 1
        else:
            if isinstance(value, dict) and key in value:
                return value
        at = text.find("{", end)
    return None


def numbered(text: str, count: int) -> list[dict[str, Any]]:
    """The entries of `{"answers": [{"sentence": 1, …}, …]}`, by number; one for each of `count` sentences.

    Raises:
        Unreadable: there is no such object, or a sentence has no answer or two.
    """
    found = first_object(text, "answers")
    entries = found["answers"] if found else None
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise Unreadable('There was no JSON object {"answers": [...]} in your answer.')
    by_number: dict[int, dict[str, Any]] = {}
    for entry in entries:
        number = entry.get("sentence")
        if not isinstance(number, int) or isinstance(number, bool) or not 1 <= number <= count:
            raise Unreadable(f'"sentence" must be a number from 1 to {count}.')
        if number in by_number:
            raise Unreadable(f"Sentence {number} is answered twice.")
        by_number[number] = entry
    lacking = [str(number) for number in range(1, count + 1) if number not in by_number]
    if lacking:
        raise Unreadable(
            f"There must be {count} answers; there is none for sentence {', '.join(lacking[:5])}."
        )
    return [by_number[number] for number in range(1, count + 1)]


def list_schema(entry: Mapping[str, Any], required: Sequence[str]) -> dict[str, Any]:
    """JSON schema of `{"answers": [{"sentence": n, …}]}` with these properties of an entry."""
    one = {
        "type": "object",
        "properties": {"sentence": {"type": "integer"}, **entry},
        "required": ["sentence", *required],
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {"answers": {"type": "array", "items": one}},
        "required": ["answers"],
        "additionalProperties": False,
    }


def portions(sentences: Sequence[str], size: int) -> list[Sequence[str]]:
    """Sentences in portions of at most `size`, in order."""
    return [sentences[start : start + size] for start in range(0, len(sentences), size)]
