"""Asking many things at once, where one that fails for good costs only itself."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias, TypeVar

from pmbench import RequestFailed

A = TypeVar("A")

Ask: TypeAlias = Callable[[], Awaitable[A]]

AT_ONCE = 4096
"""Asked at the same time: all pairs of 64 messages. More would only fill the memory."""


async def ask_each(asks: Sequence[Ask[A]]) -> list[A]:
    """Await all, begun in their order; everything comes to its end before anything is raised.

    Raises:
        RequestFailed: one of them failed.
        Exception: whatever else one of them raised.
    """
    answers = await _ended(asks)
    failed = [answer for answer in answers if isinstance(answer, RequestFailed)]
    if failed:
        raise failed[0]
    return [answer for answer in answers if not isinstance(answer, RequestFailed)]


async def ask_all(asks: Sequence[Ask[A]]) -> list[A | None]:
    """Await all, begun in their order; what failed for good is None.

    How many of them are in flight is the model's affair. Everything begun comes to its end before anything is
    raised: what is in flight has been paid for.

    Raises:
        RequestFailed: every one failed (the first failure).
        Exception: whatever else one of them raised: a budget that is used up, a full disk.
    """
    answers = await _ended(asks)
    failures = [answer for answer in answers if isinstance(answer, RequestFailed)]
    if failures and len(failures) == len(answers):
        raise failures[0]
    return [None if isinstance(answer, RequestFailed) else answer for answer in answers]


async def _ended(asks: Sequence[Ask[A]]) -> list[A | RequestFailed]:
    """Answers and failed requests, once there is nothing in flight; any other exception is raised.

    After one, nothing more is begun.
    """
    answers: dict[int, A | RequestFailed] = {}
    raised: list[Exception] = []
    waiting = iter(enumerate(asks))

    async def work() -> None:
        for place, ask in waiting:
            if raised:
                return
            try:
                answers[place] = await ask()
            except RequestFailed as error:
                answers[place] = error
            except Exception as error:  # noqa: BLE001 - it is raised below, when all in flight has ended
                raised.append(error)

    await asyncio.gather(*(work() for _ in range(min(AT_ONCE, len(asks)))))
    if raised:
        raise raised[0]
    return [answers[place] for place in range(len(asks))]
