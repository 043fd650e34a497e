"""How often and how long a request is asked again."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

import msgspec

from pmbench.core.errors import Halted, RequestFailed, UserError
from pmbench.models.foreign import FAULT, cleaned, is_backends_own
from pmbench.models.traffic.lane import PUSHED_BACK

T = TypeVar("T")


class Patience(msgspec.Struct, frozen=True):
    """Bounds of one request.

    Attributes:
        attempts: how often it is asked at most, if what went wrong may pass. Refusals for the rate or for overload
            do not count: they say nothing against the request.
        first_wait, longest_wait: seconds before the second attempt, doubled each time, and their limit. Half
            of each wait is random, so that many requests refused together do not return together.
        total: seconds after which no further attempt starts; a server that asks for a longer wait is not
            waited for.
        each: seconds that one attempt may take where the backend does not say; None: as long as it takes.
    """

    attempts: int = 6
    first_wait: float = 1.0
    longest_wait: float = 60.0
    total: float = 900.0
    each: float | None = None

    def wait(self, failed: int, retry_after: float | None) -> float:
        """Seconds to wait after so many failed attempts; never less than what the server asked for."""
        wait = min(self.longest_wait, self.first_wait * 2.0 ** min(failed - 1, 30))
        wait *= 0.5 + random.random() / 2
        return wait if retry_after is None else retry_after + min(wait, self.first_wait) / 2


async def insist(
    ask: Callable[[], Awaitable[T]],
    patience: Patience,
    *,
    retried: Callable[[], None],
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> T:
    """Ask until there is an answer, a failure that will not pass, or no patience left.

    Args:
        ask: one attempt.
        patience: the bounds.
        retried: called before each attempt after the first.
        sleep: how to wait.

    Raises:
        RequestFailed: the last failure, its kind one that may stand in results.
        UserError, Halted: as they were raised.
    """
    began = time.monotonic()
    failed = refused = 0
    while True:
        try:
            return await ask()
        except RequestFailed as error:
            refused += error.kind in PUSHED_BACK
            failed += error.kind not in PUSHED_BACK
            wait = patience.wait(failed + refused, error.retry_after)
            spent = time.monotonic() - began
            if not error.retryable or failed >= patience.attempts or spent + wait > patience.total:
                raise
        retried()
        await sleep(wait)


async def attempt(ask: Callable[[], Awaitable[T]], seconds: float | None) -> T:
    """Ask once.

    Args:
        ask: the backend's own code.
        seconds: that it may take; None: as long as it takes.

    Raises:
        RequestFailed: of a kind that may stand in results. An attempt that took too long is a `timeout`; an
            exception that backends should not raise (whatever it is, but for Ctrl-C and the cancellation of this
            very task) is a `backend-error` that names its type only, for its text may quote the request.
        UserError, Halted: as they were raised.
    """
    task = asyncio.current_task()
    try:
        async with asyncio.timeout(seconds):
            return await ask()
    except (UserError, Halted):
        raise
    except RequestFailed as error:
        raise cleaned(error) from error.__cause__
    except TimeoutError as error:
        raise RequestFailed("timeout", "no answer in time", retryable=True) from error
    except BaseException as error:
        if not is_backends_own(error, task):
            raise
        raise RequestFailed(FAULT, type(error).__name__) from error
