"""The model cache: one folder per source, a manifest in each, files that are whole or not there.

A file comes under a temporary name, its SHA-256 is checked, and only then it takes its place with one rename.
Hashing gigabytes at every start would be slow, so a hash is remembered with the size and the modification
time of the file it belongs to, and computed again only when one of them has changed.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

import msgspec

from pmbench.core.errors import ConfigError, StorageError
from pmbench.models.paths import expanded
from pmbench.models.presets import known_file
from pmbench.models.received import READING

MANIFEST = "manifest.json"
_DIGESTS = "digests.json"


class CachedFile(msgspec.Struct, frozen=True):
    """What is known of one file.

    Attributes:
        sha256: of the file whose size (bytes) and modification time (nanoseconds) stand beside it.
        source: where it came from, in words: package and version, or hub repository.
        revision: commit of a hub repository, empty otherwise.
        fetched_at: UTC, ISO 8601.
    """

    sha256: str
    size: int
    mtime_ns: int
    source: str = ""
    revision: str = ""
    fetched_at: str = ""

    def describes(self, status: os.stat_result) -> bool:
        """Whether a file with this status is the one that was hashed."""
        return (self.size, self.mtime_ns) == (status.st_size, status.st_mtime_ns)


class Manifest(msgspec.Struct):
    """What was fetched into one folder: file name to facts."""

    name: str
    files: dict[str, CachedFile] = {}


def cache_folder() -> Path:
    """The model cache: `PMBENCH_CACHE`, or the user's cache folder. Not created by asking.

    Raises:
        ConfigError: `PMBENCH_CACHE` begins with a home folder that there is not.
    """
    named = os.environ.get("PMBENCH_CACHE", "").strip()
    if named:
        return expanded(named, f"PMBENCH_CACHE {named!r}").absolute()
    import platformdirs

    return Path(platformdirs.user_cache_path("pmbench"))


def cached_path(folder: str, name: str) -> Path:
    """Where a file of a folder of the cache lies, whether it is there or not.

    Raises:
        ConfigError: the folder or the name would lead out of the cache.
    """
    place = PurePosixPath(folder, name)
    odd = place.is_absolute() or "\\" in str(place) or ":" in str(place) or ".." in place.parts
    if (
        odd
        or not folder
        or not name
        or "/" in name
        or name == MANIFEST
        or any(p.startswith(".") for p in place.parts)
    ):
        raise ConfigError(f"{str(place)!r} is no place in the model cache", remedy="See: pmbench models")
    return cache_folder().joinpath(*place.parts)


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a folder; an empty one where there is none or it cannot be read."""
    try:
        return msgspec.json.decode((folder / MANIFEST).read_bytes(), type=Manifest)
    except (OSError, *READING):
        return Manifest(folder.name)


@contextlib.contextmanager
def locked(folder: Path, waiting: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Hold a folder of the cache, created if need be; another process that fetches into it waits.

    Args:
        folder: of the cache.
        waiting: called once if another process holds it.

    Raises:
        StorageError: the folder cannot be created or written.
    """
    import filelock

    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        lock = filelock.FileLock(folder / ".lock")
        try:
            lock.acquire(timeout=0)
        except filelock.Timeout:
            waiting()
            lock.acquire()
    try:
        yield
    finally:
        lock.release()


@contextlib.contextmanager
def writing(place: Path) -> Iterator[None]:
    """Turn what the file system says while writing into a StorageError of one line."""
    try:
        yield
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise StorageError(
            f"the model cache cannot be written: {reason}",
            where=str(place),
            remedy="Free some space there, or set PMBENCH_CACHE to another folder",
        ) from None


def place(part: Path, path: Path, *, sha256: str, source: str, revision: str = "") -> None:
    """Move a checked file to its place and note it in the manifest. The caller holds the folder's lock.

    Args:
        part: the file under its temporary name, on the same file system.
        path: its place.
        sha256: of the file, as computed.
        source, revision: for the manifest.
    """
    with writing(path.parent):
        part.replace(path)
        status = path.stat()
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        manifest = read_manifest(path.parent)
        manifest.files[path.name] = CachedFile(
            sha256, status.st_size, status.st_mtime_ns, source, revision, now
        )
        _write(path.parent / MANIFEST, manifest)


def hash_file(path: Path) -> str:
    """SHA-256 (64 hexadecimal digits) of a file, read in pieces."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def file_sha256(path: Path) -> str:
    """SHA-256 of a file of the cache or of any other, remembered while its size and time stay the same.

    Raises:
        OSError: the file cannot be read.
    """
    path = path.absolute()
    status = path.stat()
    fetched = read_manifest(path.parent).files.get(path.name)
    if fetched is not None and fetched.describes(status):
        return fetched.sha256
    notes = cache_folder() / _DIGESTS
    known = _read_digests(notes)
    noted = known.get(str(path))
    if noted is not None and noted.describes(status):
        return noted.sha256
    digest = hash_file(path)
    known[str(path)] = CachedFile(digest, status.st_size, status.st_mtime_ns)
    with contextlib.suppress(OSError):  # a cache that cannot be written costs time, not the answer
        notes.parent.mkdir(parents=True, exist_ok=True)
        _write(notes, known)
    return digest


def damaged(path: Path) -> bool:
    """Whether a file of the cache is not what it has to be.

    That is what the preset pins, whether the manifest knows of the file or not, else what was fetched. A file
    of neither kind is never damaged. The hash is computed where none was noted for a file of this size and
    modification time; who changes a file and puts both back, or writes into our notes, is not found out.
    """
    wanted = _pinned(path)
    if not wanted:
        fetched = read_manifest(path.parent).files.get(path.name)
        wanted = fetched.sha256 if fetched is not None else ""
    return bool(wanted) and file_sha256(path) != wanted


def _pinned(path: Path) -> str:
    """SHA-256 that a preset states for a file of the cache; empty if there is none."""
    path, folder = path.absolute(), cache_folder()
    if not path.is_relative_to(folder):
        return ""
    known = known_file(path.relative_to(folder).as_posix())
    return known.sha256 if known is not None else ""


def _read_digests(notes: Path) -> dict[str, CachedFile]:
    try:
        return msgspec.json.decode(notes.read_bytes(), type=dict[str, CachedFile])
    except (OSError, *READING):
        return {}


def _write(path: Path, value: object) -> None:
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        part.write_bytes(msgspec.json.format(msgspec.json.encode(value), indent=2))
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
