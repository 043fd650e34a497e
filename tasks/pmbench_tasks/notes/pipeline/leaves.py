"""The folder that the stages leave their files in: for their owner's eyes, each written in one step."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from pmbench import ConfigError


class Leaves:
    """Writes files into one folder; they hold text of the data, so that only their owner can read them.

    Args:
        folder: made, with those above it, where it is not there.

    Raises:
        ConfigError: it cannot be made.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            for one in (*reversed(folder.parents), folder):
                if not one.exists():
                    one.mkdir(mode=0o700, exist_ok=True)
            if not folder.is_dir():
                raise NotADirectoryError(0, "it is no folder")
        except OSError as error:
            raise _refused(error, folder) from None

    def json(self, name: str, value: Any) -> Path:
        """Write indented JSON."""
        return self.bytes(name, msgspec.json.format(msgspec.json.encode(value), indent=1) + b"\n")

    def table(self, name: str, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> Path:
        """Write CSV; None is an empty cell."""
        written = io.StringIO(newline="")
        writer = csv.writer(written, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
        return self.bytes(name, written.getvalue().encode("utf-8", "replace"))

    def bytes(self, name: str, content: bytes) -> Path:
        """Write a file in place of the one before."""
        path = self.folder / name
        write_private(path, content)
        return path


def write_private(path: Path, content: bytes) -> None:
    """Write a file that only its owner can read, in one step: a reader sees the old one or the new one, whole.

    Raises:
        ConfigError: it cannot be written.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        try:
            with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise _refused(error, path) from None


def _refused(error: OSError, path: Path) -> ConfigError:
    return ConfigError(
        f"cannot be written ({(error.strerror or type(error).__name__).lower()})",
        where=str(path),
        remedy="What was answered so far is kept: mend it and give the same command again",
    )
