"""The one JSON file of a zipped submission, read in memory: nothing of an archive is ever written to disk."""

from __future__ import annotations

import io
import stat
import zipfile
import zlib
from pathlib import Path, PurePosixPath

from pmbench import DataError
from pmbench_tasks.archehr.entries import read_bytes

NAME = "submission.json"
"""What the official scorers want a submission to be called."""

MOST_BYTES = 64 << 20
"""Bytes that a submission may have when unpacked: as many as 1,000 answers of 10,000 words."""

_MOST_ENTRIES = 1000
_ENCRYPTED = 0x1
_PACK = f"Zip {NAME} alone"


def read_zipped(path: Path) -> tuple[bytes, str]:
    """The JSON file in an archive: `submission.json` at its root or in one folder, or the only JSON file there.

    Returns:
        Its content, and its name in the archive without folders.

    Raises:
        DataError: no whole zip file; an entry with a path outside, an encrypted, linked or oversized one; no JSON
            file or several.
    """
    where = str(path)
    try:
        with zipfile.ZipFile(io.BytesIO(read_bytes(path))) as archive:
            entry = _chosen(archive.infolist(), where)
            with archive.open(entry) as stream:
                data = stream.read()  # never more than the size that the entry states, even if that is a lie
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError):
        raise DataError("is not a whole zip file", where=where, remedy="Pack or copy it again") from None
    except (NotImplementedError, RuntimeError):
        raise DataError(
            "is packed in a way that cannot be read", where=where, remedy=f"{_PACK}, as usual (deflate)"
        ) from None
    return data, PurePosixPath(entry.filename).name


def _chosen(infos: list[zipfile.ZipInfo], where: str) -> zipfile.ZipInfo:
    if len(infos) > _MOST_ENTRIES:
        raise DataError(f"holds {len(infos)} entries", where=where, remedy=_PACK)
    for number, info in enumerate(infos, 1):
        _check_path(info, f"{where}, entry {number}")
    files = [info for info in infos if not info.is_dir() and not _of_system(info.filename)]
    found = [info for info in files if PurePosixPath(info.filename).suffix.lower() == ".json"]
    if len(found) != 1:
        nested = any(PurePosixPath(info.filename).suffix.lower() == ".zip" for info in files)
        what = f"holds {len(found)} JSON files" if found else "holds no JSON file"
        raise DataError(
            f"{what}{', but another archive' if nested and not found else ''}", where=where, remedy=_PACK
        )
    entry = found[0]
    if len(PurePosixPath(entry.filename).parts) > 2:
        raise DataError("has its JSON file in a folder of a folder", where=where, remedy=_PACK)
    if entry.flag_bits & _ENCRYPTED:
        raise DataError("is encrypted", where=where, remedy="Pack it without a password")
    if entry.file_size > MOST_BYTES:
        raise DataError(
            f"holds more than {MOST_BYTES >> 20} MiB when unpacked",
            where=where,
            remedy="Check that it is a submission",
        )
    return entry


def _check_path(info: zipfile.ZipInfo, place: str) -> None:
    """Raises DataError for what only an archive made to do harm holds."""
    # `orig_filename`: zipfile itself cuts names at a NUL and turns the separators of the system.
    name = info.orig_filename.replace("\\", "/")
    if name.startswith("/") or ":" in name or "\0" in name or ".." in name.split("/"):
        raise DataError("has a path outside the archive", where=place, remedy=_PACK)
    if stat.S_ISLNK(info.external_attr >> 16):
        raise DataError("is a link", where=place, remedy=_PACK)


def _of_system(name: str) -> bool:
    """Whether an entry is what a desktop puts into archives by itself."""
    parts = PurePosixPath(name).parts
    return "__MACOSX" in parts or parts[-1].startswith("._") or parts[-1] in (".DS_Store", "Thumbs.db")
