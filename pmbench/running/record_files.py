"""Writing a record in one step, and reading one back: a newer one is refused, a damaged one is said to be damaged."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from pmbench.core.digest import digest_bytes
from pmbench.core.errors import StorageError
from pmbench.running.folder import UNREADABLE
from pmbench.running.places import Unread, content, folders_with, storing
from pmbench.running.record import LINES, RECORD, RECORD_FORMAT, RecordLine, RunInRecord, seal_of
from pmbench.running.record_shape import shape

_ELSEWHERE = "Name a folder with --output where you can write"


class NewerRecord(StorageError):
    """A record that a newer version has made."""


class DamagedRecord(Exception):
    """Why a record cannot be used, in words."""


class ForeignRecord(Exception):
    """A record of a newer format that is of another task, or of which that cannot be told.

    Attributes:
        unknown: whether its task cannot be told.
    """

    def __init__(self, unknown: bool) -> None:
        of = "" if unknown else " and of another task"
        super().__init__(
            f"a record of a newer format{of}; this pmbench reads up to format {RECORD_FORMAT}: update pmbench"
        )
        self.unknown = unknown


class _Head(msgspec.Struct):
    """What tells whether the rest can be read."""

    format: int


class _Asked(msgspec.Struct):
    task: str


class _Of(msgspec.Struct):
    """What tells which task a record is of."""

    asked: _Asked


def write_record(folder: Path, record: RunInRecord, lines: Sequence[RecordLine]) -> RunInRecord:
    """Write a record into a folder that is not there yet or empty: whole, or not at all.

    Returns:
        The record as it was written, with its digests.

    Raises:
        StorageError: something is there, or it cannot be written.
    """
    encoder = msgspec.json.Encoder()
    encoded = b"".join(encoder.encode(line) + b"\n" for line in lines)
    record = msgspec.structs.replace(record, lines=len(lines), lines_digest=digest_bytes(encoded))
    seal = seal_of(msgspec.json.decode(encoder.encode(record)))
    record = msgspec.structs.replace(record, seal=seal)
    check_free(folder)
    parent = folder.absolute().parent
    with storing(folder, _ELSEWHERE):
        parent.mkdir(parents=True, exist_ok=True)
        part = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=".part", dir=parent))
        try:
            (part / RECORD).write_bytes(msgspec.json.format(encoder.encode(record), indent=1) + b"\n")
            (part / LINES).write_bytes(encoded)
            for file in part.iterdir():
                with file.open("rb") as written:
                    os.fsync(written.fileno())
            part.chmod(0o777 & ~_umask())
            if folder.exists():
                folder.rmdir()
            part.rename(folder)
        finally:
            shutil.rmtree(part, ignore_errors=True)
    return record


def check_free(folder: Path) -> None:
    """Check that a record may be written here; better before the work than after.

    Raises:
        StorageError: something is there.
    """
    with storing(folder, _ELSEWHERE):
        if folder.is_dir() and (folder / RECORD).exists():
            raise StorageError(
                "a record is there already",
                where=str(folder),
                remedy=f"Name a folder for this one, as {folder / 'NAME'}, or remove that one",
            )
        if os.path.lexists(folder) and not (folder.is_dir() and not any(folder.iterdir())):
            raise StorageError(
                "this is there already and is no empty folder",
                where=str(folder),
                remedy="Name a new folder for the record",
            )


def record_folders(below: Path, unread: list[Unread] | None = None) -> Iterator[Path]:
    """Every folder at or below this one that holds a record, or one of its two files, in order of their names.

    Args:
        below: hidden folders in it are none.
        unread: takes what cannot be looked into.
    """
    yield from folders_with(below, (RECORD, LINES), [] if unread is None else unread)


def read_record(folder: Path, task: str | None = None) -> tuple[RunInRecord, list[RecordLine]] | None:
    """A record; None where it is of another task than asked for.

    Raises:
        NewerRecord: a newer pmbench has made it.
        ForeignRecord: the same, where it is not of the task that was asked for.
        DamagedRecord: it cannot be read, or was changed after it was made.
    """
    encoded = _content(folder / RECORD)
    try:
        newer = msgspec.json.decode(encoded, type=_Head).format > RECORD_FORMAT
    except UNREADABLE:
        raise DamagedRecord(f"{RECORD}: it cannot be read as a record of a run") from None
    if newer:
        of = _task_of(encoded)
        if task is not None and of != task:
            raise ForeignRecord(of is None)
        raise NewerRecord(
            f"this record is of a newer format; this pmbench reads up to format {RECORD_FORMAT}",
            where=str(folder),
            remedy="Update pmbench",
        )
    try:
        if task is not None and msgspec.json.decode(encoded, type=_Of).asked.task != task:
            return None
        record = msgspec.json.decode(encoded, type=RunInRecord)
        sealed = seal_of(msgspec.json.decode(encoded)) == record.seal
    except UNREADABLE:
        raise DamagedRecord(f"{RECORD}: it cannot be read as a record of a run") from None
    if not sealed:
        raise DamagedRecord(f"{RECORD}: it was changed after it was made")
    lines = _lines(folder / LINES, record)
    wrong = shape(record, lines)
    if wrong:
        raise DamagedRecord(wrong)
    return record, lines


def _task_of(encoded: bytes) -> str | None:
    try:
        return msgspec.json.decode(encoded, type=_Of).asked.task
    except UNREADABLE:
        return None


def _lines(path: Path, record: RunInRecord) -> list[RecordLine]:
    encoded = _content(path)
    if digest_bytes(encoded) != record.lines_digest:
        raise DamagedRecord(f"{path.name}: it was changed or cut off after it was made")
    decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(RecordLine)
    try:
        return [decoder.decode(line) for line in encoded.split(b"\n")[:-1]]
    except UNREADABLE:
        raise DamagedRecord(f"{path.name}: it cannot be read as a record of a run") from None


def _content(path: Path) -> bytes:
    try:
        return content(path)
    except (OSError, MemoryError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is too large"
        raise DamagedRecord(f"{path.name}: it cannot be read ({why or type(error).__name__})") from None


def _umask() -> int:
    """The umask, which can only be read by setting it."""
    found = os.umask(0o077)
    os.umask(found)
    return found
