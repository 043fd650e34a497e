"""What lies on disk, looked at in one place: only regular files are read, and what cannot be looked into is said.

A pipe would never end, a device would fill the memory, and a folder without permission would look as if it were
empty.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pmbench.core.errors import StorageError

_FULL = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EFBIG: "a file is too large",
}

_WRITABLE = "Name a folder that you can write to with --runs DIR or PMBENCH_RUNS"

_DENIED = (errno.EACCES, errno.EPERM)

_AT_ONCE = getattr(os, "O_NONBLOCK", 0)
"""Opening a pipe waits for who writes to it, unless told not to."""


class Irregular(OSError):
    """No regular file, or one that is larger than it may be."""


@dataclass(frozen=True)
class Unread:
    """A place that should have been looked into and could not be.

    Attributes:
        path: of it; why: in words.
    """

    path: Path
    why: str


def content(path: Path, most: int | None = None) -> bytes:
    """What a regular file holds.

    Args:
        path: of the file, or of a link to it.
        most: bytes that it may have at most; None: any number.

    Raises:
        OSError: it cannot be read, is no regular file (`Irregular`) or is larger than it may be (`Irregular`).
    """
    _check_regular(path.stat().st_mode)  # Before: opening a device may set it to work.
    descriptor = os.open(path, os.O_RDONLY | _AT_ONCE)
    try:
        _check_regular(os.fstat(descriptor).st_mode)
        file = os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise
    with file:
        found = file.read() if most is None else file.read(most + 1)
    if most is not None and len(found) > most:
        raise Irregular(errno.EINVAL, f"it is larger than {most:,} bytes")
    return found


def _check_regular(mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise Irregular(errno.EINVAL, "it is a folder")
    if not stat.S_ISREG(mode):
        raise Irregular(errno.EINVAL, "it is a pipe, a socket or a device, not a regular file")


def there(path: Path) -> bool:
    """Whether something has this name, a link that leads nowhere too.

    Raises:
        OSError: that cannot be told.
    """
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def inside(folder: Path, unread: list[Unread]) -> list[tuple[Path, bool]]:
    """What lies in a folder, in order of the names, and whether each is a folder; nothing where there is none.

    Args:
        folder: to be looked into.
        unread: takes what cannot be; hidden entries are passed over.
    """
    try:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries if not entry.name.startswith("."))
    except FileNotFoundError:
        return []
    except OSError as error:
        unread.append(Unread(folder, why_unread(error)))
        return []
    found = []
    for name in names:
        path = folder / name
        try:
            found.append((path, stat.S_ISDIR(path.stat().st_mode)))
        except FileNotFoundError:  # A link that leads nowhere.
            found.append((path, False))
        except OSError as error:
            unread.append(Unread(path, why_unread(error)))
    return found


def folders_with(below: Path, names: tuple[str, ...], unread: list[Unread]) -> list[Path]:
    """Every folder at or below this one that has an entry of one of these names, in order; hidden ones are none.

    Links to folders are looked into, but not below: they may lead back.
    """
    found: list[Path] = []

    def missed(error: OSError) -> None:
        unread.append(Unread(Path(error.filename or below), why_unread(error)))

    for at, folders, files in os.walk(below, onerror=missed):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        if any(name in names for name in (*folders, *files)):
            found.append(Path(at))
        for name in folders:
            path = Path(at, name)
            if path.is_symlink():
                try:
                    found += [path] if any(there(path / one) for one in names) else []
                except OSError as error:
                    unread.append(Unread(path, why_unread(error)))
    return sorted(found)


def why_unread(error: OSError) -> str:
    """Why something cannot be read, in words."""
    return f"cannot be read ({error.strerror or type(error).__name__})"


@contextmanager
def reading(path: Path, remedy: str = "") -> Iterator[None]:
    """Turn what keeps a file or folder from being read into one line with the place and what to do about it.

    Args:
        path: that is shown.
        remedy: where it is neither the permission nor a link that fails.

    Raises:
        StorageError: in place of an OSError, or where there is no memory for it.
    """
    try:
        yield
    except OSError as error:
        if error.errno in _DENIED:
            remedy = "Give yourself the right to read it: chmod u+r FILE, or chmod u+rx FOLDER"
        elif error.errno == errno.ELOOP:
            remedy = "Mend the link"
        raise StorageError(
            why_unread(error), where=str(path), remedy=remedy or "Check the path and the disk"
        ) from None
    except MemoryError:
        raise StorageError("the file is too large to be read", where=str(path)) from None


@contextmanager
def storing(path: Path, remedy: str = _WRITABLE) -> Iterator[None]:
    """Turn what the file system refuses to write into one line with the place and the remedy.

    Args:
        path: that is shown.
        remedy: where the disk is not full.

    Raises:
        StorageError: in place of an OSError.
    """
    try:
        yield
    except OSError as error:
        what = _FULL.get(
            error.errno or 0, f"cannot be written or read ({error.strerror or type(error).__name__})"
        )
        if error.errno in _FULL:
            remedy = "Free some space and give the same command again: everything answered so far is kept"
        raise StorageError(what, where=str(path), remedy=remedy) from None
