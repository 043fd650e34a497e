"""The folder that the stages leave their files in: for their owner's eyes, each written in one step."""

from __future__ import annotations

import contextlib
import csv
import hashlib
import io
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from pmbench import ConfigError
from pmbench_tasks.notes.pipeline.claims import (
    MARK,
    STAGES,
    Kind,
    Mark,
    check_folder,
    content_digest,
    read_mark,
)

NOTHING_ASKED = "Nothing was asked yet: mend it, or name another place"
KEPT = "What was answered so far is kept: mend it and give the same command again"
"""What to do where something cannot be written, before the first request and after it."""


class Leaves:
    """Writes files into one folder; they hold text of the data, so that only their owner can read them.

    Args:
        folder: made, with those above it, where it is not there.
        kind: what it is for.

    Raises:
        ConfigError: it cannot be made.
    """

    def __init__(self, folder: Path, kind: Kind = STAGES) -> None:
        self.folder, self.kind = folder, kind
        self._mark = Mark(kind.by)
        try:
            for one in (*reversed(folder.parents), folder):
                if not one.exists():
                    one.mkdir(mode=0o700, exist_ok=True)
            if not folder.is_dir():
                raise NotADirectoryError(0, "it is no folder")
        except OSError as error:
            raise _refused(error, folder, NOTHING_ASKED) from None

    @contextlib.contextmanager
    def locked(self, option: str) -> Iterator[None]:
        """Take possession of the folder, and keep every other process out of it: two would write each other's files.

        Args:
            option: by which another folder is named, for the message.

        Raises:
            ConfigError: another process is in it, it cannot be written to, or see `check_folder`.
        """
        from filelock import FileLock, Timeout

        lock = FileLock(self.folder / ".lock", timeout=0, mode=0o600)
        try:
            lock.acquire()
        except Timeout:
            raise ConfigError(
                "another process is at work in this folder",
                where=str(self.folder),
                remedy=f"Wait for it to end, or name another one: {option}",
            ) from None
        except OSError as error:
            raise _refused(error, self.folder, NOTHING_ASKED) from None
        try:
            check_folder(self.folder, self.kind, option)
            self._mark = read_mark(self.folder) or self._mark
            write_private(self.folder / MARK, self._mark.encoded(), NOTHING_ASKED)
            yield
            self._settle()
        finally:
            lock.release()

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
        if name not in self.kind.names:
            raise ValueError(f"{name!r} is no file of {self.kind.by}")
        written = hashlib.sha256(content).hexdigest()
        before = self._mark.files.get(name, [])
        if before != [written]:
            # On the mark before it is there: whenever this is stopped, the mark knows what it finds.
            self._mark.files[name] = list(dict.fromkeys([*before, written]))
            self._remember()
        write_private(path, content)
        return path

    def remove(self, name: str) -> None:
        """Take away a file that is our own; whatever else has its name stays."""
        path = self.folder / name
        if content_digest(path) in self._mark.files.get(name, ()):
            try:
                path.unlink()
            except OSError as error:
                raise _refused(error, path, KEPT) from None

    def _settle(self) -> None:
        """Forget what was written over or taken away."""
        self._mark.files = {
            name: [found]
            for name, known in self._mark.files.items()
            if (found := content_digest(self.folder / name)) in known
        }
        self._remember()

    def _remember(self) -> None:
        write_private(self.folder / MARK, self._mark.encoded())


def check_writable(path: Path) -> None:
    """See before anything is asked whether a file can be written, without touching it.

    Raises:
        ConfigError: it cannot.
    """
    part = _part_of(path)
    try:
        os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600))
        part.unlink()
    except OSError as error:
        raise _refused(error, path, NOTHING_ASKED) from None


def write_private(path: Path, content: bytes, remedy: str = KEPT) -> None:
    """Write a file that only its owner can read, in one step: a reader sees the old one or the new one, whole.

    Args:
        path: its place.
        content: of it.
        remedy: what to do where it cannot be written.

    Raises:
        ConfigError: it cannot be written.
    """
    part = _part_of(path)
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
        raise _refused(error, path, remedy) from None


def _part_of(path: Path) -> Path:
    return path.with_name(f".{path.name}.{os.getpid()}.part")


def _refused(error: OSError, path: Path, remedy: str) -> ConfigError:
    reason = (error.strerror or type(error).__name__).lower()
    return ConfigError(f"cannot be written ({reason})", where=str(path), remedy=remedy)
