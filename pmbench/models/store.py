"""The completion store: every answer that was paid for, on disk before anything refers to it."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import errno
import os
import re
import sqlite3
import threading
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple, TypeVar

from pmbench.core.errors import StorageError
from pmbench.models.journal import journal_mode

T = TypeVar("T")

FILE_NAME = "completions.sqlite"
"""Name of the store's file in the runs folder."""

SCHEMA = 1
APPLICATION = 0x706D6263
"""`application_id` of the file: "pmbc"."""

LONGEST_WAIT = 0.05
"""Most seconds between the arrival of a completion and the start of its commit."""

BUSY_SECONDS = 60.0
"""How long another process may hold the file before that is an error."""

_TABLE = """
CREATE TABLE completions (
    key TEXT PRIMARY KEY NOT NULL,
    value BLOB NOT NULL,
    model TEXT NOT NULL,
    kind TEXT NOT NULL,
    created_at TEXT NOT NULL
)"""
_INSERT = "INSERT OR IGNORE INTO completions VALUES (?, ?, ?, ?, ?)"
_SELECT = "SELECT value FROM completions WHERE key = ?"
_KEY = re.compile(r"[0-9a-f]{64}")

_AGAIN = "Then give the same command again: what is stored is kept"
_ELSEWHERE = "Nothing was changed. Choose another runs folder (--runs DIR) or move the file away"
_TROUBLES = {
    sqlite3.SQLITE_FULL: ("the disk is full", f"Free some space. {_AGAIN}"),
    sqlite3.SQLITE_IOERR: (
        "it cannot be written or read (disk full, over a quota or over a file-size limit)",
        f"Free some space or raise the limit. {_AGAIN}",
    ),
    sqlite3.SQLITE_READONLY: (
        "it cannot be written",
        "Make it writable or choose another folder (--runs DIR)",
    ),
    sqlite3.SQLITE_PERM: ("it cannot be written", "Make it writable or choose another folder (--runs DIR)"),
    sqlite3.SQLITE_CANTOPEN: (
        "it cannot be opened",
        "Make the folder writable or choose another one (--runs DIR)",
    ),
    sqlite3.SQLITE_BUSY: (
        "another process has kept it locked for a minute",
        f"Wait for that process or end it. {_AGAIN}",
    ),
    sqlite3.SQLITE_NOTADB: ("it is not a completion store (the file is not a database)", _ELSEWHERE),
    sqlite3.SQLITE_CORRUPT: (
        "it is damaged",
        "Nothing was deleted. Save what can be read (sqlite3 FILE .recover) or move it away, to ask again",
    ),
}


class _Pending(NamedTuple):
    """A completion on its way to the disk, and who waits for it."""

    row: tuple[str, bytes, str, str, str]
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[None]


class CompletionStore:
    """Answers of models by key, in one SQLite file that several threads and processes may use at once.

    A single thread writes. It commits as soon as something arrives, but not more often than every
    `commit_every` seconds: what arrives in between shares one commit. A key's first value stays for good.

    Args:
        path: the file; made, readable by its owner only, if it is not there.
        commit_every: least seconds between two commits, at most `LONGEST_WAIT`.

    Raises:
        StorageError: it cannot be opened or written, is damaged, newer, or no completion store.
    """

    def __init__(self, path: Path, *, commit_every: float = 0.0) -> None:
        self.path = Path(path)
        self._commit_every = min(max(commit_every, 0.0), LONGEST_WAIT)
        _make_file(self.path)
        self._writer = self._connect()
        try:
            self.journal = self._guarded(lambda: _prepare(self._writer, self.path))
            self._reader = self._connect()
        except BaseException:
            self._writer.close()
            raise
        self._reading = threading.Lock()
        self._wake = threading.Condition()
        self._waiting: list[_Pending] = []
        self._closing = threading.Event()
        self._failure: StorageError | None = None
        self._thread = threading.Thread(target=self._work, name="completion-store", daemon=True)
        self._thread.start()
        atexit.register(self._close_at_exit)

    def get(self, key: str) -> bytes | None:
        """The stored value of a key; None if there is none. From any thread.

        Raises:
            StorageError: the file cannot be read.
        """
        try:
            with self._reading:
                found = self._reader.execute(_SELECT, (key,)).fetchall()
        except sqlite3.DatabaseError as error:
            raise _trouble(self.path, error) from error
        return bytes(found[0][0]) if found else None

    async def put(self, key: str, value: bytes, *, about: Mapping[str, str]) -> None:
        """Store a value unless its key has one; returns once it is on disk.

        The write happens even if the waiting task is cancelled.

        Args:
            key: 64 hexadecimal digits.
            value: the answer's bytes.
            about: `model` and `kind`, kept beside it for people who look into the file.

        Raises:
            StorageError: it cannot be written; so does every later call.
            ValueError: the key is not a digest.
        """
        if not _KEY.fullmatch(key):
            raise ValueError("a key must be 64 hexadecimal digits")
        loop = asyncio.get_running_loop()
        now = datetime.now(UTC).isoformat(timespec="seconds")
        row = (key, value, about.get("model", ""), about.get("kind", ""), now)
        pending = _Pending(row, loop, loop.create_future())
        with self._wake:
            if self._failure is not None:
                raise _again(self._failure)
            if self._closing.is_set():
                raise RuntimeError("the completion store is closed")
            self._waiting.append(pending)
            if len(self._waiting) == 1:
                self._wake.notify()
        await pending.future

    def close(self) -> None:
        """Write what waits and let go of the file. May be called again, also after Ctrl-C in the middle."""
        with self._wake:
            self._closing.set()
            self._wake.notify()
        self._thread.join()
        with self._reading:
            self._reader.close()
        self._writer.close()
        atexit.unregister(self._close_at_exit)

    def _close_at_exit(self) -> None:
        # Python would print a traceback of Ctrl-C here. A commit it breaks off leaves no half of it on disk,
        # and nobody was handed an answer of it.
        with contextlib.suppress(KeyboardInterrupt):
            self.close()

    def _work(self) -> None:
        """The writer thread: gather, commit, tell those who wait; until closed and empty."""
        due = 0.0
        while True:
            with self._wake:
                self._wake.wait_for(lambda: self._waiting or self._closing.is_set())
                if not self._waiting:
                    return
            self._closing.wait(max(0.0, due - time.monotonic()))
            with self._wake:
                batch, self._waiting = self._waiting, []
            due = time.monotonic() + self._commit_every
            failure = self._commit(batch)
            _tell(batch, failure)

    def _commit(self, batch: list[_Pending]) -> StorageError | None:
        if self._failure is None:
            try:
                self._guarded(lambda: _insert(self._writer, [pending.row for pending in batch]))
            except StorageError as error:
                with self._wake:
                    self._failure = error
            except Exception as error:  # noqa: BLE001 - the thread must live on to tell those who wait
                with self._wake:
                    self._failure = StorageError(f"{type(error).__name__}: {error}", where=str(self.path))
        return self._failure

    def _connect(self) -> sqlite3.Connection:
        try:
            return sqlite3.connect(self.path, timeout=5.0, isolation_level=None, check_same_thread=False)
        except sqlite3.Error as error:
            raise _trouble(self.path, error) from error

    def _guarded(self, work: Callable[[], T]) -> T:
        """Do it again while another process holds the file; any other trouble becomes a StorageError."""
        until = time.monotonic() + BUSY_SECONDS
        while True:
            try:
                return work()
            except sqlite3.Error as error:
                with contextlib.suppress(sqlite3.Error):
                    self._writer.execute("ROLLBACK")
                if (
                    _code(error) not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
                    or time.monotonic() > until
                ):
                    raise _trouble(self.path, error) from error
                time.sleep(0.01)


def _make_file(path: Path) -> None:
    """Make the file, and its folder, for their owner only; close a file that others may read."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # A file that is there is not opened here: to close it would drop every lock that this process holds on it,
        # those of another store too, and another process would then take itself for the last one and delete its log.
        with contextlib.suppress(FileExistsError):
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if path.stat().st_mode & 0o077:
            path.chmod(0o600)
        if not os.access(path, os.R_OK | os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        raise StorageError(
            f"the completion store cannot be opened for writing ({error.strerror})",
            where=str(path),
            remedy="Make the folder writable or choose another one (--runs DIR)",
        ) from error


def _prepare(writer: sqlite3.Connection, path: Path) -> str:
    """Check whose file it is, make the table if it is new, set the journal; returns the journal's mode."""
    if not _is_ours(writer, path):
        writer.execute("BEGIN IMMEDIATE")
        if not _is_ours(writer, path):  # another process may have been faster
            writer.execute(_TABLE)
            writer.execute(f"PRAGMA application_id = {APPLICATION}")
            writer.execute(f"PRAGMA user_version = {SCHEMA}")
        writer.execute("COMMIT")
    wanted = journal_mode(path)
    if _pragma(writer, f"journal_mode = {wanted}") != wanted:
        _pragma(writer, "journal_mode = truncate")
    writer.execute("PRAGMA synchronous = FULL")
    return str(_pragma(writer, "journal_mode"))


def _is_ours(writer: sqlite3.Connection, path: Path) -> bool:
    """True for a store of this schema, False for an empty file.

    Raises:
        StorageError: anything else.
    """
    application, schema = _pragma(writer, "application_id"), _pragma(writer, "user_version")
    if application == APPLICATION and schema == SCHEMA:
        return True
    if application == APPLICATION:
        raise StorageError(
            f"it was written by another version of pmbench (schema {schema}; this one knows {SCHEMA})",
            where=str(path),
            remedy="Update pmbench or choose another runs folder (--runs DIR). Nothing was changed",
        )
    if application or schema or writer.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchall():
        raise StorageError(
            "it is not a completion store but another program's database", where=str(path), remedy=_ELSEWHERE
        )
    return False


def _pragma(connection: sqlite3.Connection, statement: str) -> int | str:
    value: int | str = connection.execute(f"PRAGMA {statement}").fetchall()[0][0]
    return value


def _insert(writer: sqlite3.Connection, rows: list[tuple[str, bytes, str, str, str]]) -> None:
    writer.execute("BEGIN IMMEDIATE")
    writer.executemany(_INSERT, rows)
    writer.execute("COMMIT")


def _tell(batch: list[_Pending], failure: StorageError | None) -> None:
    """Wake those who wait, with one call into each event loop."""
    loops: dict[asyncio.AbstractEventLoop, list[asyncio.Future[None]]] = {}
    for pending in batch:
        loops.setdefault(pending.loop, []).append(pending.future)
    for loop, futures in loops.items():
        with contextlib.suppress(RuntimeError):  # that loop was closed: nobody waits any more
            loop.call_soon_threadsafe(_settle, futures, failure)


def _settle(futures: list[asyncio.Future[None]], failure: StorageError | None) -> None:
    for future in futures:
        if future.done():  # its task was cancelled
            continue
        if failure is None:
            future.set_result(None)
        else:
            future.set_exception(_again(failure))


def _again(failure: StorageError) -> StorageError:
    """A copy: one exception object must not be raised in several tasks."""
    return StorageError(failure.what, where=failure.where, remedy=failure.remedy)


def _code(error: sqlite3.Error) -> int:
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def _trouble(path: Path, error: sqlite3.Error) -> StorageError:
    what, remedy = _TROUBLES.get(_code(error), (f"the completion store fails ({error})", _AGAIN))
    return StorageError(what, where=str(path), remedy=remedy)
