"""Which runs a path with wildcards means: single runs by their folders, or all runs of several runs folders."""

from __future__ import annotations

import glob
from collections.abc import Mapping
from pathlib import Path

from pmbench.core.errors import StorageError
from pmbench.running.folder import RUN
from pmbench.running.places import there

LEVELS = 3
"""A run's folder lies so far below the runs folder: task, model, strategy with digest."""


def has_wildcards(runs: Path) -> bool:
    """Whether a path is a pattern, and no folder that is called so."""
    return glob.has_magic(str(runs)) and not runs.is_dir()


def chosen_runs(pattern: Path) -> Mapping[Path, set[str] | None]:
    """The runs folders that a pattern leads to, and of each the runs that it matches, relative to it; None: all.

    Args:
        pattern: as `runs/syppm-editf1/*/thematic-*`, or `site-?/runs`.

    Raises:
        StorageError: nothing matches.
    """
    start = Path(pattern.anchor) if pattern.is_absolute() else Path()
    matched = sorted(start.glob(str(pattern.relative_to(start) if pattern.is_absolute() else pattern)))
    found: dict[Path, set[str] | None] = {}
    for path in matched:
        if there(path / RUN) and len(path.parts) > LEVELS:
            root = path.parents[LEVELS - 1]
            chosen = found.setdefault(root, set())
            if chosen is not None:
                chosen.add(str(path.relative_to(root)))
        elif path.is_dir():
            found[path] = None
    if not found:
        raise StorageError(
            "no run and no runs folder matches",
            where=f"--runs {pattern}",
            remedy="See: pmbench runs; put the pattern in quotes, as 'runs/syppm-editf1/*/thematic-*'",
        )
    return found
