"""A plugin's own fault costs one response or one score, not the run; and it never shows text of a dataset."""

from __future__ import annotations

import asyncio
import traceback
from pathlib import Path

import msgspec

from pmbench.core.errors import Halted, RequestFailed, Unscored, UserError
from pmbench.core.names import safe_kind


def is_ours(error: BaseException) -> bool:
    """Whether an exception must go on: the user's interruption, or an error that the user can mend.

    A `CancelledError` that a plugin raised by itself is its fault; ours comes with a request to cancel this task.
    """
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is not None and task.cancelling() > 0
    return isinstance(error, UserError | Halted | KeyboardInterrupt | GeneratorExit)


def leading(error: BaseException) -> BaseException:
    """Of a group of exceptions, as a task group raises one, the one that says what happened; else the exception.

    What must go on comes first, then a failed request, then whatever stands first.
    """
    if not isinstance(error, BaseExceptionGroup):
        return error
    leaves = [leading(part) for part in error.exceptions]
    ranked = [
        *filter(is_ours, leaves),
        *(leaf for leaf in leaves if isinstance(leaf, RequestFailed)),
        *leaves,
    ]
    return ranked[0]


def kind_of(error: BaseException, otherwise: str) -> str:
    """The kind that is counted: a failure's own, if it may stand in results, else where the exception came from."""
    if isinstance(error, RequestFailed | Unscored):
        return safe_kind(error.kind, otherwise)
    return fault(error)


def fault(error: BaseException) -> str:
    """Kind of a plugin's own error: its type and where it was raised, never its message (may hold text)."""
    last = traceback.extract_tb(error.__traceback__)[-1:]
    place = f" at {Path(last[0].filename).name}:{last[0].lineno}" if last else ""
    return f"{type(error).__name__}{place}"


def check_writable(record: msgspec.Struct) -> None:
    """Check that a record can be written and read back.

    Raises:
        ValueError, TypeError, OverflowError, RecursionError: it holds what JSON or its own type cannot hold.
    """
    msgspec.json.decode(msgspec.json.encode(record), type=type(record))
