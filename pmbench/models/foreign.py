"""What the code of a backend may raise, and what of it goes on: a stranger's backend may raise anything.

Only Ctrl-C and the end of the task itself pass as they are. Whatever else there is becomes a failure of one
request or of one model, without its message, which may quote what was asked.
"""

from __future__ import annotations

import asyncio
import math
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from pmbench.core.errors import ModelUnavailable, RequestFailed, UserError
from pmbench.core.names import safe_kind

T = TypeVar("T")

FAULT = "backend-error"
"""Kind of a failure that is a fault of the backend."""


def is_backends_own(error: BaseException, task: asyncio.Task[Any] | None) -> bool:
    """Whether a backend's code raised this itself.

    Ctrl-C never counts as its own, nor does a cancellation that was asked for, nor the `GeneratorExit` of a
    coroutine that is thrown away. The same exceptions raised by the backend do.

    Args:
        error: what came out of the backend's code.
        task: in which that code ran.
    """
    if isinstance(error, KeyboardInterrupt):
        return False
    if isinstance(error, asyncio.CancelledError):
        return task is not None and not task.cancelling()
    if isinstance(error, GeneratorExit):
        return task is not None and task is _running()
    return True


def cleaned(error: RequestFailed) -> RequestFailed:
    """A backend's failure whose kind may stand in results and whose wait is a number of seconds."""
    after = error.retry_after
    waits = isinstance(after, int | float) and math.isfinite(after) and after >= 0.0
    if safe_kind(error.kind, FAULT) == error.kind and (after is None or waits):
        return error
    return RequestFailed(
        safe_kind(error.kind, FAULT), retryable=bool(error.retryable), retry_after=after if waits else None
    )


def told(tell: Callable[[], T], *, what: str, where: str) -> T:
    """What a backend says of itself, called outside of any request.

    Raises:
        UserError: as the backend raised it.
        ModelUnavailable: it raised anything else: `what`, with the exception's type and place.
    """
    try:
        return tell()
    except (UserError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise ModelUnavailable(f"{what} ({type_and_place(error)})", where=where) from error


def type_and_place(error: BaseException) -> str:
    """Type of an exception and where it was raised; never its message."""
    last = traceback.extract_tb(error.__traceback__)[-1:]
    place = f" at {Path(last[0].filename).name}:{last[0].lineno}" if last else ""
    return f"{type(error).__name__}{place}"


def _running() -> asyncio.Task[Any] | None:
    try:
        return asyncio.current_task()
    except RuntimeError:  # no event loop runs: the coroutine is closed from outside
        return None
