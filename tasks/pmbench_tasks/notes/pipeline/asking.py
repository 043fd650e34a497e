"""Asking a model for structured answers: what cannot be read is asked for again, then counted."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from pmbench import Message, Model, Prompt, RequestFailed
from pmbench_tasks.drafting.judging.answer import valid
from pmbench_tasks.drafting.judging.asking import Unreadable, first_object
from pmbench_tasks.notes.answers import json_objects
from pmbench_tasks.notes.pipeline.told import one_line

T = TypeVar("T")
Item = TypeVar("Item")
Found = TypeVar("Found")

ATTEMPTS = 3
"""How often a model is asked for one thing when its answers cannot be read."""

TEMPERATURE = 0.7
"""Of further attempts; the first is greedy."""

TOGETHER = 10
"""Things that one request asks about, where each has an answer of its own."""

_MOST_NAMED = 200
"""Numbers up to which a schema names each of them; servers take no more than a few hundred."""

AT_ONCE = 8
"""Requests under way where a model does not say how many are worth having."""


class Progress(Protocol):
    """Hears of phases, counts and remarks; never of text."""

    def start(self, phase: str, total: int, done: int = 0) -> None:
        """A phase of so many begins."""
        ...

    def advance(self, *, failed: bool = False) -> None:
        """One is done."""
        ...

    def finish(self) -> None:
        """The phase is over."""
        ...

    def note(self, text: str) -> None:
        """A remark."""
        ...


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
            failure, said = "unreadable", _told(messages, answer.text, str(error))
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


def object_schema(properties: Mapping[str, Any]) -> dict[str, Any]:
    """JSON schema of an object with these properties, all required."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def _keyed(entry: Mapping[str, Any], count: int) -> dict[str, Any]:
    """JSON schema of `{"1": …, "2": …}`: whoever keeps to it leaves nothing out and comes to an end."""
    return object_schema({str(number): object_schema(entry) for number in range(1, count + 1)})


def numbers_schema(most: int, *, least: int = 0) -> dict[str, Any]:
    """JSON schema of a list of numbers from 1, at least so many; without an end, a small model would never stop."""
    number: dict[str, Any] = {"type": "integer"}
    if most <= _MOST_NAMED:
        number["enum"] = list(range(1, most + 1))
    return {"type": "array", "items": number, "minItems": least, "maxItems": most}


def said_yes(value: Any) -> bool:
    """A JSON boolean, or its word.

    Raises:
        Unreadable: anything else.
    """
    if isinstance(value, bool):
        return value
    word = value.strip().casefold() if isinstance(value, str) else ""
    if word in ("yes", "true"):
        return True
    if word in ("no", "false"):
        return False
    raise Unreadable("Write true or false.")


async def each(
    items: Sequence[Item],
    work: Callable[[Item], Awaitable[Found]],
    *,
    model: Model,
    progress: Progress,
    phase: str,
    failed: Callable[[Found], bool] = lambda _: False,
) -> list[Found]:
    """Do `work` for every item, as many at once as the model can use; results in the order of the items.

    After an error nothing more is begun; it is raised when what was under way has ended, since that was paid for.
    Cancellation calls off what is under way.
    """
    results: dict[int, Found] = {}
    waiting = iter(enumerate(items))
    trouble: list[Exception] = []

    async def worker() -> None:
        for place, item in waiting:
            if trouble:
                return
            try:
                results[place] = await work(item)
            except Exception as error:  # noqa: BLE001 - raised below, once what is under way has ended
                trouble.append(error)
                return
            progress.advance(failed=failed(results[place]))

    if not items:
        return []
    progress.start(phase, len(items))
    parallel = int(getattr(model, "parallel", AT_ONCE))
    workers = [
        asyncio.create_task(worker())
        for _ in range(min(len(items), parallel + max(1, min(parallel // 4, 64))))
    ]
    try:
        await asyncio.gather(*workers)
    finally:
        for task in workers:
            task.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
    if trouble:
        raise trouble[0]
    progress.finish()
    return [results[place] for place in range(len(items))]


def portions(items: Sequence[Item], size: int) -> list[Sequence[Item]]:
    """Items in portions of at most `size`, in order."""
    return [items[start : start + size] for start in range(0, len(items), size)]


__all__ = [
    "ATTEMPTS",
    "TOGETHER",
    "Asked",
    "Progress",
    "Unreadable",
    "ask",
    "ask_numbered",
    "each",
    "first_object",
    "numbers_schema",
    "object_schema",
    "portions",
    "said_yes",
]
