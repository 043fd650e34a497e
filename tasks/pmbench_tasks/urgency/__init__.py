"""Putting patient messages in order of urgency: pairs, whole inboxes, and what the order is worth.

Each name is imported when it is first asked for, so that importing the package does not import numpy.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pmbench_tasks.urgency.levels import levels_from_pairs
    from pmbench_tasks.urgency.ndcg import expected_t_ndcg, ideal_t_ndcg, t_ndcg
    from pmbench_tasks.urgency.ranking import win_rate

_HOME = {
    "expected_t_ndcg": "pmbench_tasks.urgency.ndcg",
    "ideal_t_ndcg": "pmbench_tasks.urgency.ndcg",
    "levels_from_pairs": "pmbench_tasks.urgency.levels",
    "t_ndcg": "pmbench_tasks.urgency.ndcg",
    "win_rate": "pmbench_tasks.urgency.ranking",
}
"""The module that each public name comes from."""


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return __all__


__all__ = ["expected_t_ndcg", "ideal_t_ndcg", "levels_from_pairs", "t_ndcg", "win_rate"]
