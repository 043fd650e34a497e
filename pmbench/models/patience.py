"""How often and how long a request is asked again."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

import msgspec

from pmbench.core.errors import RequestFailed, UserError
from pmbench.models.foreign import FAULT, cleaned, is_backends_own

if TYPE_CHECKING:
    from tenacity import RetryCallState

T = TypeVar("T")


class Patience(msgspec.Struct, frozen=True):
    """Bounds of one request.

    Attributes:
        attempts: how often it is asked at most, if what went wrong may pass.
        first_wait, longest_wait: seconds before the second attempt, doubled each time, and their limit. Half
            of each wait is random, so that many requests refused together do not return together.
        total: seconds after which no further attempt starts; a server that asks for a longer wait is not
            waited for.
        each: seconds that one attempt may take; None: as long as it takes.
    """

    attempts: int = 5
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
        RequestFailed: the last failure, its kind one that may stand in results. An attempt that took too
            long is a `timeout`; an exception that backends should not raise (whatever it is, but for Ctrl-C
            and the cancellation of this very task) is a `backend-error` that names its type only, for its
            text may quote the request.
        UserError: as the backend raised it.
    """
    from tenacity import AsyncRetrying, retry_if_exception, stop_after_attempt, stop_before_delay

    def wait(state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        return patience.wait(state.attempt_number, getattr(error, "retry_after", None))

    retrying = AsyncRetrying(
        retry=retry_if_exception(lambda error: isinstance(error, RequestFailed) and error.retryable),
        stop=stop_after_attempt(patience.attempts) | stop_before_delay(patience.total),
        wait=wait,
        before_sleep=lambda _state: retried(),
        sleep=sleep,
        reraise=True,
    )
    answer: T = await retrying(_attempt, ask, patience.each)
    return answer


async def _attempt(ask: Callable[[], Awaitable[T]], seconds: float | None) -> T:
    task = asyncio.current_task()
    try:
        async with asyncio.timeout(seconds):
            return await ask()
    except UserError:
        raise
    except RequestFailed as error:
        raise cleaned(error) from error.__cause__
    except TimeoutError as error:
        raise RequestFailed("timeout", "no answer in time", retryable=True) from error
    except BaseException as error:
        if not is_backends_own(error, task):
            raise
        raise RequestFailed(FAULT, type(error).__name__) from error
