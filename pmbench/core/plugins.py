"""Entry points by group and name: what `pmbench --help` needs of the registry, and nothing heavier."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points

TASKS, BACKENDS, COMMANDS = "pmbench.tasks", "pmbench.backends", "pmbench.commands"


def names(group: str) -> dict[str, EntryPoint]:
    """Entry points of a group by name, sorted; the first package found wins where two use one name."""
    return dict(_found(group))


@functools.cache
def _found(group: str) -> Mapping[str, EntryPoint]:
    """Looked for once: it takes 20 ms, and no package comes to a process that runs."""
    found: dict[str, EntryPoint] = {}
    for point in entry_points(group=group):
        found.setdefault(point.name, point)
    return dict(sorted(found.items()))
