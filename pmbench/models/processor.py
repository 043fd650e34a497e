"""How much of the processor this process may use."""

from __future__ import annotations

import os


def usable_cores() -> int:
    """Cores that this process may run on: fewer than the machine has where it is confined to some of them."""
    confined = getattr(os, "sched_getaffinity", None)
    return len(confined(0)) if confined is not None else os.cpu_count() or 1
