"""Where rows come from: the hub, the demo data, a file, a folder."""

from __future__ import annotations

import difflib
import importlib.resources
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import msgspec

from pmbench.core.dataset import DatasetSpec, HubDataset, Row
from pmbench.core.errors import ConfigError, DataError
from pmbench.core.registry import resource
from pmbench.core.task import Task
from pmbench.data import hub, tables
from pmbench.data.splits import of_split


class Source(msgspec.Struct, frozen=True):
    """Where a dataset came from.

    Attributes:
        kind: what was read.
        location: as it is shown to the user.
        revision: the commit of a hub dataset, where it is known.
        files: SHA-256 of each file by its name.
    """

    kind: Literal["demo", "file", "folder", "datasets", "hub"]
    location: str
    revision: str = ""
    files: dict[str, str] = {}


@dataclass(frozen=True, slots=True)
class Found:
    """Rows as they were found.

    Attributes:
        own: whether it is the task's own dataset, whose sensitivity the task knows.
        notes: lines for the user.
    """

    rows: list[Row]
    source: Source
    own: bool = False
    notes: list[str] = field(default_factory=list)


def find(task: Task, data: str | None, *, revision: str | None = None, split: str | None = None) -> Found:
    """Find and read the rows that `--data` names; see `loading.load`.

    Raises:
        DataError, ConfigError, MissingExtra: nothing there, broken, or options that do not fit it.
    """
    if data is not None and not data.strip():
        raise ConfigError(
            "names no file", where="--data", remedy="Write --data FILE, or --data . for this folder"
        )
    if data is None or data.startswith("hub:"):
        return _from_hub(task, data, revision, split)
    if revision is not None:
        raise ConfigError(
            "--revision is for a dataset of the hub", where=f"--data {data}", remedy="Leave it out"
        )
    if data == "demo":
        return _from_demo(task, split)
    path = Path(data)
    if not os.path.lexists(path):
        raise _missing(path, data)
    return _from_path(task, path, data, split)


def _from_hub(task: Task, data: str | None, revision: str | None, split: str | None) -> Found:
    spec = task.dataset
    config = None
    if data is None:
        if spec.private or spec.hub is None:
            raise _no_data(task)
        chosen = spec.hub
    else:
        parts = data.removeprefix("hub:").split("/")
        if len(parts) not in (2, 3) or not all(parts):
            raise DataError(
                "is no dataset of the hub", where=f"--data {data}", remedy="Write hub:ORGANISATION/NAME"
            )
        ident, config = "/".join(parts[:2]), parts[2] if len(parts) == 3 else None
        chosen = spec.hub if spec.hub is not None and spec.hub.id == ident else HubDataset(ident)
    chosen = HubDataset(chosen.id, revision or chosen.revision, split or chosen.split)
    loaded = hub.load_hub(chosen, config)
    own = spec.hub is not None and spec.hub.id == chosen.id
    notes = list(loaded.notes)
    return Found(loaded.rows, Source("hub", loaded.location, loaded.revision), own, notes)


def _from_demo(task: Task, split: str | None) -> Found:
    spec = task.dataset
    if spec.demo is None:
        raise DataError(
            f"{task.name} has no demo data",
            where="--data demo",
            remedy=f"Give your own: --data FILE. {_format(spec)}",
        )
    with importlib.resources.as_file(resource(spec.demo)) as path:
        shown = f"demo ({path.name})"
        found = _from_path(task, path, shown, split)
    notes = [note for note in found.notes if note != spec.credentialed]
    return Found(found.rows, Source("demo", shown, files=found.source.files), True, notes)


def _from_path(task: Task, path: Path, shown: str, split: str | None) -> Found:
    folder = path.is_dir()
    if not folder:
        tables.check_regular(path, shown)
    entries = _entries(path, shown) if folder else [path]
    own_shape = task.read(path)
    if own_shape is None and folder and hub.is_saved_dataset(path):
        loaded = hub.load_saved(path, split, shown)
        return Found(loaded.rows, Source("datasets", loaded.location, files=_sums(path)), notes=loaded.notes)
    if own_shape is not None:
        rows = list(own_shape)
        if not rows:
            raise DataError("holds no rows", where=shown, remedy="Give at least one")
        files = {
            entry.name: tables.sha256_of(entry) for entry in entries if tables.kind_of(entry)[0] or not folder
        }
        rows, notes = of_split(rows, split, task.dataset.split, shown)
        credentialed = task.dataset.credentialed
        if credentialed:
            notes.append(credentialed)
        return Found(
            rows, Source("folder" if folder else "file", shown, files=files), bool(credentialed), notes
        )
    if split is not None:
        raise ConfigError(
            "--split is for a dataset of the hub or a `datasets` folder",
            where=f"--data {shown}",
            remedy="Leave it out",
        )
    file = _only_file(entries, shown) if folder else path
    name = str(Path(shown) / file.name) if folder else shown
    rows = tables.read_table(file, shown=name)
    notes = [f"read from {name}"] if folder else []
    source = Source("folder" if folder else "file", shown, files={file.name: tables.sha256_of(file, name)})
    return Found(rows, source, notes=notes)


def _entries(folder: Path, shown: str) -> list[Path]:
    """The regular files right in a folder, hidden ones left out."""
    try:
        return sorted(
            entry for entry in folder.iterdir() if not entry.name.startswith(".") and entry.is_file()
        )
    except OSError as error:
        raise tables.unreadable(error, folder, shown) from None


def _only_file(entries: Sequence[Path], shown: str) -> Path:
    files = [entry for entry in entries if tables.kind_of(entry)[0]]
    if len(files) == 1:
        return files[0]
    if not files:
        raise DataError(
            "no file in this folder can be read",
            where=shown,
            remedy=f"Put one of {', '.join(tables.KINDS)} there",
        )
    names = ", ".join(repr(file.name) for file in files[:5]) + (", …" if len(files) > 5 else "")
    raise DataError(
        f"{len(files)} files in this folder could be the dataset: {names}",
        where=shown,
        remedy=f"Name one: --data {Path(shown) / files[0].name}",
    )


def _sums(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): tables.sha256_of(path) for path in files}


def _missing(path: Path, data: str) -> DataError:
    """The error for a path that is not there, with the nearest names in its folder."""
    folder = path.parent
    try:
        names = sorted(entry.name for entry in folder.iterdir())
    except OSError:
        hint = f"There is no readable folder {str(folder)!r} either."
    else:
        near = difflib.get_close_matches(path.name, names, n=3, cutoff=0.5)
        readable = [name for name in names if tables.kind_of(Path(name))[0]][:5]
        if near:
            hint = f"Did you mean {' or '.join(str(folder / name) for name in near)}?"
        else:
            hint = f"Files there: {', '.join(readable)}." if readable else "No file there can be read."
    if data.count("/") == 1 and not path.suffix:
        hint += f" For a dataset of the hub write hub:{data}"
    return DataError("no such file or folder", where=data, remedy=hint)


def _no_data(task: Task) -> DataError:
    spec = task.dataset
    why = spec.private or "its dataset is not on the hub"
    demo = " Or try it with --data demo." if spec.demo else ""
    return DataError(
        f"{task.name} needs --data FILE: {why.rstrip('.')}", remedy=f"{_format(spec)}{demo}".strip()
    )


def _format(spec: DatasetSpec) -> str:
    """The columns of a task and its example, for an error message."""
    columns = ", ".join(f"{column.name}{'' if column.required else ' (optional)'}" for column in spec.columns)
    example = f" As JSON lines: {spec.example.strip()}" if spec.example.strip() else ""
    return f"Columns: {columns}.{example}"
