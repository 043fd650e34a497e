"""The runs of a runs folder: all of them, or the one that a name means."""

from __future__ import annotations

import errno
from pathlib import Path

from pmbench.core.errors import StorageError
from pmbench.running.folder import RUN, RUN_NAME, RunFolder
from pmbench.running.places import Unread, inside, reading, there, why_unread

_LONGEST = 80
"""Characters of a name that an error shows."""


def all_runs(runs: Path, task: str | None = None, unread: list[Unread] | None = None) -> list[RunFolder]:
    """Every run folder below a runs folder, or those of the task of this very name, sorted by path.

    Args:
        runs: the runs folder; task: name of a task; None: all.
        unread: takes what cannot be looked into, and files where folders of runs should be.
    """
    missed: list[Unread] = [] if unread is None else unread
    found = []
    for of_task, is_folder in inside(runs, missed):
        if not is_folder or (task is not None and of_task.name != task):
            continue
        models = [path for path, is_folder in inside(of_task, missed) if is_folder]
        for path, is_folder in (one for model in models for one in inside(model, missed)):
            try:
                if is_folder and there(path / RUN):
                    found.append(RunFolder(path))
            except OSError as error:
                missed.append(Unread(path, why_unread(error)))
            if not is_folder and RUN_NAME.fullmatch(path.name):
                missed.append(Unread(path, "is no folder, and a run's folder should be here"))
    return found


def find_run(runs: Path, name: str) -> RunFolder:
    """The run that `name` means: a folder, or a unique beginning of a run's digest.

    Raises:
        StorageError: there is none, or more than one.
    """
    if _is_run(Path(name)):
        return RunFolder(Path(name))
    shown = repr(name if len(name) <= _LONGEST else f"{name[:_LONGEST]}…")
    unread: list[Unread] = []
    found = [
        run
        for run in all_runs(runs, unread=unread)
        if _is_called(run.path.name.rpartition("-")[2], name.lower())
    ]
    if len(found) == 1:
        return found[0]
    if found and len({run.path.name.rpartition("-")[2] for run in found}) == 1:
        folders = ", ".join(str(run.path) for run in found)
        raise StorageError(
            f"{shown} is one run under {len(found)} names of its model", remedy=f"Give a folder: {folders}"
        )
    if found:
        names = ", ".join(run.path.name.rpartition("-")[2] for run in found[:8])
        raise StorageError(
            f"{shown} is the beginning of {len(found)} runs: {names}", remedy="Give more of the digest"
        )
    hidden = f" that can be read; {unread[0].path} {unread[0].why}" if unread else ""
    raise StorageError(f"no run {shown} in {runs}{hidden}", remedy="See: pmbench runs")


def _is_called(digest: str, name: str) -> bool:
    """Whether a name is the beginning of a digest of which a folder's name has the first digits, or all of it."""
    whole = bool(digest) and name.startswith(digest) and set(name) <= set("0123456789abcdef")
    return digest.startswith(name) or whole


def _is_run(path: Path) -> bool:
    with reading(path):
        try:
            return there(path / RUN)
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG:
                return False
            raise
