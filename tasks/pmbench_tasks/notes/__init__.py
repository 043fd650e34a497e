"""Clinical notes by checklists: scoring notes, growing checklists from feedback, telling good ones from bad.

Each name is imported when it is first asked for, so that importing the package does not import numpy.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pmbench_tasks.notes.checklist import Checklist, Item, read_checklist, validate
    from pmbench_tasks.notes.rubric import rubric_score
    from pmbench_tasks.notes.selection import coverage, diversity, duplicate_clusters, objective, select

_HOME = {
    "Checklist": "pmbench_tasks.notes.checklist",
    "Item": "pmbench_tasks.notes.checklist",
    "coverage": "pmbench_tasks.notes.selection",
    "diversity": "pmbench_tasks.notes.selection",
    "duplicate_clusters": "pmbench_tasks.notes.selection",
    "objective": "pmbench_tasks.notes.selection",
    "read_checklist": "pmbench_tasks.notes.checklist",
    "rubric_score": "pmbench_tasks.notes.rubric",
    "select": "pmbench_tasks.notes.selection",
    "validate": "pmbench_tasks.notes.checklist",
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


__all__ = [
    "Checklist",
    "Item",
    "coverage",
    "diversity",
    "duplicate_clusters",
    "objective",
    "read_checklist",
    "rubric_score",
    "select",
    "validate",
]
