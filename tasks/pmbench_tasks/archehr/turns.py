"""One case after the other at a model that works on one request at a time.

The prompts of a case begin alike, tries and steps. An engine with one slot has read that beginning already if it was
asked about no other case in between; nothing else would be gained by asking about two cases at once.
"""

from __future__ import annotations

import asyncio
import contextlib
from contextlib import AbstractAsyncContextManager
from weakref import WeakKeyDictionary

from pmbench import Model

_TURNS: WeakKeyDictionary[Model, tuple[asyncio.AbstractEventLoop, asyncio.Lock]] = WeakKeyDictionary()


def turn_at(model: Model) -> AbstractAsyncContextManager[None]:
    """A case's turn at a model that says of itself (`parallel`) that it takes one request at a time; else nothing."""
    if getattr(model, "parallel", None) != 1:
        return contextlib.nullcontext()
    loop = asyncio.get_running_loop()
    known = _TURNS.get(model)
    if known is None or known[0] is not loop:  # a lock belongs to one loop
        known = _TURNS[model] = loop, asyncio.Lock()
    return known[1]
