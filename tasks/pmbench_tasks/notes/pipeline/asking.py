"""Asking a model for structured answers: what cannot be read is asked for again, then counted."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pmbench import Message, Model, Prompt, RequestFailed
from pmbench_tasks.asking import Unreadable, first_object, portions, valid
from pmbench_tasks.notes.answers import json_objects
from pmbench_tasks.notes.pipeline.answer_forms import numbers_schema, object_schema, said_yes
from pmbench_tasks.notes.pipeline.told import one_line
from pmbench_tasks.notes.pipeline.working import Progress, each

T = TypeVar("T")
Item = TypeVar("Item")


class Useless(Unreadable):
    """An answer that is in the asked form and still none.

    Args:
        kind: of failure, such as `unchanged`.
        wrong: tells the model what to mend.
    """

    def __init__(self, kind: str, wrong: str) -> None:
        super().__init__(wrong)
        self.kind = kind


ATTEMPTS = 3
"""How often a model is asked for one thing when its answers cannot be read."""

TEMPERATURE = 0.7
"""Of further attempts; the first is greedy."""

TOGETHER = 10
"""Things that one request asks about, where each has an answer of its own."""


@dataclass(frozen=True, slots=True)
class Asked(Generic[T]):
    """What came of asking: a value, or the kind of failure where there is none."""

    value: T | None
    failure: str = ""


async def ask(
    model: Model,
    messages: Sequence[Message],
    read: Callable[[str], T],
    *,
    schema: Mapping[str, Any],
    max_tokens: int,
    attempts: int = ATTEMPTS,
) -> Asked[T]:
    """Ask until the answer can be read; each further attempt is told what was wrong with the one before.

    An answer that the token limit cut off is not asked for again: as much would be asked of it once more.

    Args:
        model: is asked.
        messages: the question.
        read: turns the answer's text into what is wanted, or raises Unreadable.
        schema: JSON schema of the answer, where the backend can enforce it.
        max_tokens: most tokens of an answer.
        attempts: at least 1.
    """
    failure = "unreadable"
    said = list(messages)
    for attempt in range(attempts):
        try:
            answer = await model.chat(
                said,
                max_tokens=max_tokens,
                temperature=TEMPERATURE if attempt else 0.0,
                schema=schema,
                attempt=attempt,
            )
        except RequestFailed as error:
            return Asked(None, error.kind)
        if answer.finish == "refused":
            failure = "refused"
            continue
        try:
            return Asked(read(answer.text))
        except Unreadable as error:
            if answer.finish == "length":
                return Asked(None, "cut-off")
            failure = error.kind if isinstance(error, Useless) else "unreadable"
            said = _told(messages, answer.text, str(error))
    return Asked(None, failure)


def _told(messages: Sequence[Message], text: str, wrong: str) -> list[Message]:
    said = valid(text).strip()
    if not said:
        return list(messages)  # some servers refuse an empty turn
    return [
        *messages,
        {"role": "assistant", "content": said},
        {"role": "user", "content": f"{wrong} Answer again, with the JSON object only."},
    ]


async def ask_numbered(
    model: Model,
    prompt: Prompt,
    texts: Sequence[str],
    read: Callable[[Mapping[str, Any]], T],
    *,
    entry: Mapping[str, Any],
    tokens_each: int,
    **values: Any,
) -> list[Asked[T]]:
    """Ask about several things in one request; those without a usable answer are asked about again, at last alone.

    Args:
        model: is asked.
        prompt: is given `entries` (pairs of number and text) and `values`.
        texts: the things, each shown as one line.
        read: turns an entry of the answer into what is wanted, or raises Unreadable.
        entry: JSON schemas of the properties of an entry.
        tokens_each: most tokens of an entry.
        values: further values of the prompt.

    Returns:
        One for each text, in order.
    """
    found: list[Asked[T]] = [Asked(None, "unreadable")] * len(texts)
    todo = list(range(len(texts)))
    for attempt in range(ATTEMPTS):
        groups = [[place] for place in todo] if attempt == ATTEMPTS - 1 else [todo]
        for group in groups:
            messages = prompt.messages(
                entries=[(number, one_line(texts[place])) for number, place in enumerate(group, 1)], **values
            )
            # Each attempt at a smaller group is a request of its own; the number keeps equal ones apart.
            answers = await _entries(
                model, messages, len(group), read, _keyed(entry, len(group)), tokens_each, attempt
            )
            for place, answer in zip(group, answers, strict=True):
                found[place] = answer
        todo = [place for place in todo if found[place].failure]
        if not todo:
            break
    return found


async def in_groups(
    items: Sequence[Item],
    work: Callable[[Sequence[Item]], Awaitable[Sequence[Asked[T]]]],
    *,
    model: Model,
    progress: Progress,
    phase: str,
) -> list[tuple[Item, Asked[T]]]:
    """Each item with what came of asking about it, `TOGETHER` of them in a request; in the order of the items.

    Args:
        items: to be asked about.
        work: asks about one group; one answer for each of its items, in order.
        model, progress, phase: see `each`.
    """
    groups = portions(items, TOGETHER)
    answers = await each(
        groups,
        work,
        model=model,
        progress=progress,
        phase=phase,
        failed=lambda found: any(one.failure for one in found),
    )
    return [
        pair for group, found in zip(groups, answers, strict=True) for pair in zip(group, found, strict=True)
    ]


async def _entries(
    model: Model,
    messages: Sequence[Message],
    count: int,
    read: Callable[[Mapping[str, Any]], T],
    schema: Mapping[str, Any],
    tokens_each: int,
    attempt: int,
) -> list[Asked[T]]:
    try:
        answer = await model.chat(
            messages,
            max_tokens=64 + count * tokens_each,
            temperature=TEMPERATURE if attempt else 0.0,
            schema=schema,
            attempt=attempt,
        )
    except RequestFailed as error:
        return [Asked(None, error.kind)] * count
    missing = {"refused": "refused", "length": "cut-off"}.get(answer.finish, "unreadable")
    numbers = [str(number) for number in range(1, count + 1)]
    found = next((one for one in json_objects(answer.text) if one.keys() & set(numbers)), {})
    return [_entry(found.get(number), read, missing) for number in numbers]


def _entry(given: Any, read: Callable[[Mapping[str, Any]], T], missing: str) -> Asked[T]:
    if not isinstance(given, Mapping):
        return Asked(None, missing)
    try:
        return Asked(read(given))
    except Unreadable:
        return Asked(None, "unreadable")


def _keyed(entry: Mapping[str, Any], count: int) -> dict[str, Any]:
    """JSON schema of `{"1": …, "2": …}`: whoever keeps to it leaves nothing out and comes to an end."""
    return object_schema({str(number): object_schema(entry) for number in range(1, count + 1)})


__all__ = [
    "ATTEMPTS",
    "TOGETHER",
    "Asked",
    "Progress",
    "Unreadable",
    "Useless",
    "ask",
    "ask_numbered",
    "each",
    "first_object",
    "in_groups",
    "numbers_schema",
    "object_schema",
    "portions",
    "said_yes",
]
