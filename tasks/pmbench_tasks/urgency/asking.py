"""Asking many things at once, where one that fails for good costs only itself."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from typing import TypeVar

from pmbench import RequestFailed

A = TypeVar("A")


async def ask_each(asks: Sequence[Awaitable[A]]) -> list[A]:
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


async def ask_all(asks: Sequence[Awaitable[A]]) -> list[A | None]:
    """Await all, begun in their order; what failed for good is None.

    How many are in flight is the model's affair. Everything comes to its end before anything is raised: what is in
    flight has been paid for.

    Raises:
        RequestFailed: every one failed (the first failure).
        Exception: whatever else one of them raised: a budget that is used up, a full disk.
    """
    answers = await _ended(asks)
    failures = [answer for answer in answers if isinstance(answer, RequestFailed)]
    if failures and len(failures) == len(answers):
        raise failures[0]
    return [None if isinstance(answer, RequestFailed) else answer for answer in answers]


async def _ended(asks: Sequence[Awaitable[A]]) -> list[A | RequestFailed]:
    """Answers and failed requests, once there is nothing in flight; any other exception is raised."""
    answers = await asyncio.gather(*asks, return_exceptions=True)
    kept: list[A | RequestFailed] = []
    for answer in answers:
        if isinstance(answer, BaseException) and not isinstance(answer, RequestFailed):
            raise answer
        kept.append(answer)
    return kept
