"""The registry: tasks, backends and commands of this and other packages, found by entry points.

Nothing is imported until it is asked for, and a plugin that cannot be imported is listed with its error and
breaks nothing else. The built-in tasks come the same way as a stranger's.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import EntryPoint
from typing import Any

from pmbench.core.errors import UnknownName, UserError
from pmbench.core.plugins import BACKENDS, COMMANDS, TASKS, names
from pmbench.core.task import Task


class PluginError(UserError):
    """A plugin that was found and cannot be used."""


@dataclass(frozen=True, slots=True)
class Listing:
    """One entry of a registry: name, the package that brings it, what it is or why it cannot be used."""

    name: str
    package: str
    loaded: Any = None
    error: str = ""


def load(group: str, kind: str, name: str) -> Any:
    """Import one plugin.

    Args:
        group: one of `TASKS`, `BACKENDS`, `COMMANDS`.
        kind: what to call it in an error (`task`).
        name: its name.

    Raises:
        UnknownName: there is none of that name.
        PluginError: it cannot be imported.
    """
    points = names(group)
    if name not in points:
        raise UnknownName(
            kind, name, points, remedy=f"See: pmbench {kind}s" if kind in ("task", "model") else ""
        )
    listing = _try(points[name])
    if listing.error:
        raise PluginError(
            f"the {kind} {name!r} of the package {listing.package!r} cannot be loaded: {listing.error}",
            remedy="Mend or uninstall that package",
        )
    return listing.loaded


def load_task(name: str) -> type[Task]:
    """The task class of that name.

    Raises:
        UnknownName, PluginError: no such task, or it cannot be loaded or is no task.
    """
    found = load(TASKS, "task", name)
    if not (isinstance(found, type) and issubclass(found, Task)):
        raise PluginError(f"the entry point {name!r} of {TASKS} is not a subclass of pmbench.Task")
    return found


def listing(group: str) -> list[Listing]:
    """Every plugin of a group, imported one by one, with the error of each that cannot be."""
    return [_try(point) for point in names(group).values()]


def resource(reference: str) -> Any:
    """A file that a package ships, by `package:path`, as a `Traversable`."""
    import importlib
    import importlib.resources

    package, _, path = reference.partition(":")
    return importlib.resources.files(importlib.import_module(package)).joinpath(path)


def _try(point: EntryPoint) -> Listing:
    package = point.dist.name if point.dist else ""
    try:
        return Listing(point.name, package, point.load())
    except Exception as error:  # noqa: BLE001 - a stranger's plugin may raise anything; it is shown, not hidden
        return Listing(point.name, package, error=f"{type(error).__name__}: {error}")


__all__ = [
    "BACKENDS",
    "COMMANDS",
    "TASKS",
    "Listing",
    "PluginError",
    "listing",
    "load",
    "load_task",
    "names",
    "resource",
]
