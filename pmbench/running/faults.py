"""A plugin's own fault costs one response or one score, not the run; and it never shows text of a dataset."""

from __future__ import annotations

import asyncio
import traceback
from pathlib import Path

import msgspec

from pmbench.core.errors import UserError


def is_ours(error: BaseException) -> bool:
    """Whether an exception must go on: the user's interruption, or an error that the user can mend.

    A `CancelledError` that a plugin raised by itself is its fault; ours comes with a request to cancel this task.
    """
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is not None and task.cancelling() > 0
    return isinstance(error, UserError | KeyboardInterrupt | GeneratorExit)


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
