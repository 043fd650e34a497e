"""Asking a chat model as a judge of drafts: a structured answer, one repair, answers by sentence."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from pmbench import Message, Model, Unscored
from pmbench_tasks.asking import SIDE_BY_SIDE, Unreadable, first_object, portions, side_by_side, valid

Read = TypeVar("Read")

ATTEMPTS = 2
TOGETHER = 20
"""Sentences in one question at most, where several are asked about together."""


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


__all__ = [
    "ATTEMPTS",
    "SIDE_BY_SIDE",
    "TOGETHER",
    "Unreadable",
    "ask",
    "first_object",
    "list_schema",
    "numbered",
    "portions",
    "side_by_side",
]
