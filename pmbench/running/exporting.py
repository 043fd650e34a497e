"""Writing a run in a file format of its task."""

from __future__ import annotations

import os
from pathlib import Path

from pmbench.core.errors import StorageError, UnknownName, UserError
from pmbench.core.registry import PluginError
from pmbench.running.agreement import checked
from pmbench.running.faults import fault
from pmbench.running.places import storing, there
from pmbench.running.reading import StoredRun, read_records

_ELSEWHERE = "Name a file with --output where you can write"


def export_run(run: StoredRun, form: str, sample: int = 0) -> str:
    """A run in one of its task's formats, as text.

    Raises:
        UnknownName: the task has no such format.
        UserError: the run cannot be put into it; the exporter says why.
        StorageError: the data are no longer what the run was made on, or its scores not those of its results.
    """
    task = run.task()
    apart = checked(run)
    if apart is not None:
        remedy = apart.remedy[:1].upper() + apart.remedy[1:]
        raise StorageError(apart.why, where=str(run.folder.path), remedy=remedy)
    if form not in task.exporters:
        remedy = "" if task.exporters else f"{task.name} has none"
        raise UnknownName(f"format of {task.name}", form, task.exporters, remedy=remedy)
    records = read_records(run, sample)
    try:
        text: object = task.exporters[form](records)
        if not isinstance(text, str):
            raise TypeError
    except BaseException as error:
        if isinstance(error, UserError | KeyboardInterrupt | MemoryError):
            raise
        raise PluginError(
            f"the format {form!r} of the task {task.name!r} failed ({fault(error)})",
            remedy="This is a fault of the task's package",
        ) from None
    return text


def write_export(path: Path, text: str) -> None:
    """Write an export that only its owner can read, in one step; never over something that is there.

    Raises:
        StorageError: something is there, or it cannot be written.
    """
    with storing(path, _ELSEWHERE):
        if there(path):
            raise StorageError(
                "this is there already", where=str(path), remedy="Choose another name or remove it"
            )
        if not path.absolute().parent.is_dir():
            raise StorageError("there is no such folder", where=str(path.parent), remedy="Make it first")
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    with storing(path, _ELSEWHERE):
        try:
            with os.fdopen(
                os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8"
            ) as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
