"""The run folder: where its files lie, how lines are appended and read back, and the lock.

`runs/<task>/<model>/<strategy>-<digest>/` holds `run.json`, `responses.jsonl` and `scores/<digest>/`. Folders
and files can be read by their owner only: they hold text of a dataset.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from pmbench.core.digest import SHORT
from pmbench.core.errors import RunLocked, StorageError
from pmbench.running.places import Unread, content, inside, reading, storing, there
from pmbench.running.records import FORMAT, RunRecord, Scoring
from pmbench.running.results import Results

Line = TypeVar("Line", bound=msgspec.Struct)

RUN = "run.json"

RUN_NAME = re.compile(rf".+-[0-9a-f]{{{SHORT}}}")
"""What a run's folder is called."""

SCORING_NAME = re.compile(rf"[0-9a-f]{{{SHORT}}}")
"""What a scoring's folder is called."""

UNREADABLE = (msgspec.MsgspecError, ValueError, OverflowError, RecursionError, MemoryError)
"""All that decoding raises: no JSON, another shape, no UTF-8, a number too large, nested too deeply."""

_REMEDIES = {
    RUN: "Give the run's command again with --fresh, which asks the model anew",
    "scoring.json": "Move its folder away and give the run's command again",
}
"""What to do about a file that cannot be read."""


class RunFolder:
    """Paths of one run, and what is read from and written to them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.run_json = path / RUN
        self.responses = path / "responses.jsonl"

    def scores(self, scoring_digest: str) -> Path:
        """The folder of one scoring."""
        return self.path / "scores" / scoring_digest[:SHORT]

    def scorings(self) -> list[Path]:
        """The folders of all scorings that have results, oldest first; those whose results cannot be read too.

        Raises:
            StorageError: the folder of the scorings cannot be looked into.
        """
        unread: list[Unread] = []
        at = self.path / "scores"
        found = inside(at, unread)
        if any(one.path == at for one in unread):
            raise StorageError(unread[0].why, where=str(at), remedy="Give yourself the right to read it")
        times = {one.path: 0.0 for one in unread}
        for path, is_folder in found:
            if not is_folder and not SCORING_NAME.fullmatch(path.name):
                continue
            try:
                times[path] = (path / "results.json").lstat().st_mtime
            except FileNotFoundError:
                continue
            except OSError:
                times[path] = 0.0
        return sorted(times, key=lambda path: (times[path], path))

    def record(self) -> RunRecord | None:
        """`run.json`, or None where the folder is new."""
        with reading(self.run_json):
            found = there(self.run_json)
        return read_json(self.run_json, RunRecord) if found else None

    def write_record(self, record: RunRecord) -> None:
        """Replace `run.json` in one step."""
        write_json(self.run_json, record)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep every other process out of this run.

        Raises:
            RunLocked: another process is in it.
        """
        from filelock import FileLock, Timeout

        make_folder(self.path)
        lock = FileLock(self.path / ".lock", timeout=0, mode=0o600)
        with storing(self.path):
            try:
                lock.acquire()
            except Timeout:
                raise RunLocked(
                    "another process is at work in this run",
                    where=str(self.path),
                    remedy="Wait for it to end, or stop it; nothing is lost either way",
                ) from None
        try:
            yield
        finally:
            lock.release()


class Opened:
    """A file that must still be there when the work is done: what is written to a removed file is lost."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with storing(path):
            self._inode = path.stat().st_ino

    def check(self) -> None:
        """Check that it is.

        Raises:
            StorageError: it was removed or replaced.
        """
        try:
            same = self.path.stat().st_ino == self._inode
        except OSError:
            same = False
        if not same:
            raise StorageError(
                "the file was removed or replaced while it was written",
                where=str(self.path),
                remedy="Leave the runs folder alone while a run is at work; give the same command again",
            )


class Appender:
    """Appends records to a JSON-lines file, each as one write; a torn last line is cut off first."""

    def __init__(self, path: Path) -> None:
        self.path = path
        make_folder(path.parent)
        with storing(path):
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
            self._cut_torn_line()
        self._opened = Opened(path)

    def append(self, record: msgspec.Struct) -> None:
        """Append one record.

        Raises:
            StorageError: it could not be written whole; what was written of it is taken back.
        """
        line = msgspec.json.encode(record) + b"\n"
        with storing(self.path):
            end = os.lseek(self._file, 0, os.SEEK_END)
            written = 0
            try:
                while written < len(line):
                    written += os.write(self._file, line[written:])
            except OSError:
                os.ftruncate(self._file, end)
                raise

    def close(self) -> None:
        """Flush to disk and close.

        Raises:
            StorageError: it cannot be flushed, or was removed meanwhile.
        """
        try:
            with storing(self.path):
                os.fsync(self._file)
        finally:
            os.close(self._file)
        self._opened.check()

    def __enter__(self) -> Appender:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _cut_torn_line(self) -> None:
        end = os.lseek(self._file, 0, os.SEEK_END)
        at, block = end, 65_536
        while at > 0:
            start = max(0, at - block)
            newline = os.pread(self._file, at - start, start).rfind(b"\n")
            if newline >= 0:
                at = start + newline + 1
                break
            at = start
        if at < end:
            os.ftruncate(self._file, at)


def read_lines(path: Path, kind: type[Line]) -> list[Line]:
    """Read a JSON-lines file of the run folder; an unfinished last line is left out.

    Raises:
        StorageError: a line in the middle is broken.
    """
    with reading(path):
        if not there(path):
            return []
    decoder = msgspec.json.Decoder(kind)
    lines = _content(path).split(b"\n")
    records = []
    for number, line in enumerate(lines[:-1], start=1):
        try:
            records.append(decoder.decode(line))
        except UNREADABLE:
            raise StorageError(
                "this line is not a record of a run",
                where=f"{path}, line {number}",
                remedy="Delete the line (it will be done again), or begin anew with --fresh",
            ) from None
    return records


def read_json(path: Path, kind: type[Line]) -> Line:
    """Read one JSON file of the run folder.

    Raises:
        StorageError: it is broken, or of a newer format.
    """
    found = _content(path)
    try:
        version = msgspec.json.decode(found, type=dict[str, Any]).get("format", FORMAT)
        if isinstance(version, int) and version > FORMAT:
            raise StorageError(
                f"the file has format {version}; this pmbench reads up to {FORMAT}",
                where=str(path),
                remedy="Update pmbench",
            )
        return msgspec.json.decode(found, type=kind)
    except UNREADABLE:
        raise StorageError(
            "the file cannot be read as a record of a run",
            where=str(path),
            remedy=_REMEDIES.get(path.name, "Give the run's command again, or begin anew with --fresh"),
        ) from None


def _content(path: Path) -> bytes:
    with reading(path, _REMEDIES.get(path.name, "Move it away and give the run's command again")):
        return content(path)


def write_json(path: Path, value: msgspec.Struct) -> None:
    """Write indented JSON in one step: a reader sees the old file or the new one, never half."""
    make_folder(path.parent)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    with storing(path):
        try:
            descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(msgspec.json.format(_encoded(value), indent=2) + b"\n")
                file.flush()
                os.fsync(file.fileno())
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)


def _encoded(value: msgspec.Struct) -> bytes:
    """As JSON. A path or argument that is not UTF-8 comes with surrogates, which JSON cannot hold: replaced."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return msgspec.json.encode(_utf8(msgspec.to_builtins(value)))


def _utf8(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_utf8(name): _utf8(part) for name, part in value.items()}
    return [_utf8(part) for part in value] if isinstance(value, list | tuple) else value


def make_folder(path: Path) -> None:
    """Make a folder that only its owner can read.

    Raises:
        StorageError: it cannot be made or written to.
    """
    with storing(path):
        for folder in (*reversed(path.parents), path):
            # `parents=True` would make the folders above with the modes of the umask.
            if not folder.exists():
                folder.mkdir(mode=0o700, exist_ok=True)
        if not path.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        if not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


def slug(name: str) -> str:
    """A folder's name for a model or strategy: letters, digits, `.`, `_`, `-`; at most 80 characters."""
    return (re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") or "model")[:80]


def folder_for(runs: Path, task: str, model: str, strategy: str, digest: str) -> RunFolder:
    """The folder of a run."""
    return RunFolder(runs / task / slug(model) / f"{slug(strategy)}-{digest[:SHORT]}")


__all__ = [
    "Appender",
    "Results",
    "RunFolder",
    "Scoring",
    "folder_for",
    "make_folder",
    "read_json",
    "read_lines",
    "slug",
    "storing",
    "write_json",
]
