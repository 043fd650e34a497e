"""Work on several parts of the data at once: numpy lets threads run side by side while it draws and multiplies."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Found = TypeVar("Found")

MOST_THREADS = 4
"""More would wait for memory, each of them having blocks of resamples of its own."""


def in_threads(work: Callable[[Item], Found], items: Sequence[Item]) -> list[Found]:
    """What `work` makes of each item, in their order: the same as without threads.

    Args:
        work: a function that changes nothing that another call of it reads.
        items: what it is called with.

    Raises:
        Exception: what the first of the calls that failed raised.
    """
    threads = min(MOST_THREADS, os.cpu_count() or 1, len(items))
    if threads < 2:
        return [work(item) for item in items]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, items))
