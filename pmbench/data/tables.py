"""Reading one file of rows: CSV, TSV, JSON lines, JSON and Parquet, with the place of whatever is broken."""

from __future__ import annotations

import codecs
import errno
import gzip
import hashlib
import io
import os
import stat
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pmbench.core.dataset import Row
from pmbench.core.errors import DataError
from pmbench.data import delimited, jsonrows

KINDS: tuple[str, ...] = (".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".parquet")
"""Endings of the files that can be read; those of text also with `.gz` behind them."""

_TEXT_READERS: dict[str, Callable[[bytes, str], list[Row]]] = {
    ".csv": delimited.read_csv,
    ".tsv": delimited.read_tsv,
    ".jsonl": jsonrows.read_lines,
    ".ndjson": jsonrows.read_lines,
    ".json": jsonrows.read_list,
}

_OTHER_ENCODINGS = (
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)

_CHUNK = 1 << 20


@dataclass(frozen=True)
class Most:
    """How large a file of rows may be.

    Attributes:
        size: bytes, unpacked ones too; rows: of it.
        what: the file is, in the plural, for the error.
    """

    size: int
    rows: int
    what: str

    def check(self, rows: int, size: int = 0, *, shown: str) -> None:
        """Refuse a file of more rows or bytes.

        Raises:
            DataError: it has more.
        """
        if rows > self.rows or size > self.size:
            raise DataError(
                f"{self.what} have at most {self.rows:,} rows and {self.size // 10**6} MB, and this one has more",
                where=shown,
                remedy="Check that it is the file that you meant, or split it",
            )


def read_table(
    path: str | os.PathLike[str], *, shown: str | None = None, most: Most | None = None
) -> list[Row]:
    """Read every row of one file, under the column names of the file.

    Text files are UTF-8, with or without a byte order mark. Values of CSV and TSV are text; those of JSON and
    Parquet keep their types, nested ones too. The number of a row is its line in JSON lines and its record,
    from 1 and without the header, in the other formats.

    Args:
        path: a `.csv`, `.tsv`, `.jsonl`, `.ndjson`, `.json` (a list of objects) or `.parquet` file; all but
            the last may be compressed (`.csv.gz`).
        shown: how to call the file in `Row.file` and in errors; by default the path itself.
        most: how large it may be, which is seen before its rows are made; None: as large as memory allows.

    Raises:
        DataError: the file cannot be read, is broken, too large or holds no rows; the message has the place and no
            text.
        MissingExtra: a Parquet file, and pyarrow is not installed.
    """
    file = Path(path)
    name = shown if shown is not None else str(path)
    kind, packed = kind_of(file)
    if not kind:
        raise DataError(
            f"files ending in {file.suffix!r} cannot be read"
            if file.suffix
            else "the file's name has no ending",
            where=name,
            remedy=f"Save it as one of {', '.join(KINDS)}",
        )
    check_regular(file, name)
    if kind == ".parquet":
        from pmbench.data import arrow

        return arrow.read_parquet(file, name, None if most is None else partial(most.check, shown=name))
    data = _content(file, name, packed, None if most is None else most.size)
    if most is not None:
        most.check(_lines(data) - 1, len(data), shown=name)
    rows = _read_text(data, kind, name)
    if most is not None:
        most.check(len(rows), shown=name)
    return rows


def _lines(data: bytes) -> int:
    """Line breaks: a text has no more rows, but for a list of JSON in one line."""
    return max(data.count(b"\n"), data.count(b"\r"))


def kind_of(path: Path) -> tuple[str, bool]:
    """The ending that says how a file is read (`""` for none that can be), and whether it is compressed."""
    name = path.name.lower()
    packed = name.endswith(".gz")
    ending = Path(name.removesuffix(".gz")).suffix
    if ending not in KINDS or (packed and ending not in _TEXT_READERS):
        return "", packed
    return ending, packed


def check_regular(path: Path, shown: str) -> None:
    """Refuse whatever is no regular file, without opening it: a pipe or a device could hang.

    Raises:
        DataError: there is no such file, or it is a folder, a broken link, a pipe, a socket or a device.
    """
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError) as error:
        raise unreadable(error, path, shown) from None
    if stat.S_ISDIR(mode):
        raise DataError("is a folder, not a file", where=shown, remedy="Name a file in it")
    if not stat.S_ISREG(mode):
        raise DataError(
            "is a pipe, a socket or a device, not a regular file",
            where=shown,
            remedy="Save its content to a file first",
        )


def unreadable(error: Exception, path: Path, shown: str) -> DataError:
    """The error for a path that the operating system would not open or list."""
    code = error.errno if isinstance(error, OSError) else None
    if code == errno.ENOENT and path.is_symlink():
        return DataError("is a link to a file that is not there", where=shown, remedy="Mend the link")
    if code in (errno.ENOENT, errno.ENOTDIR):
        return DataError("no such file", where=shown, remedy="Check the path")
    if code in (errno.EACCES, errno.EPERM):
        return DataError("may not be read by you", where=shown, remedy="Ask for read permission (chmod u+r)")
    if code == errno.ELOOP:
        return DataError("is a link that leads back to itself", where=shown, remedy="Mend the link")
    reason = os.strerror(code).lower() if code else "not a path"
    return DataError(f"cannot be read ({reason})", where=shown, remedy="Check the path and the disk")


def sha256_of(path: Path, shown: str | None = None) -> str:
    """SHA-256 (64 hexadecimal digits) of a file as it lies on disk.

    Raises:
        DataError: it cannot be read.
    """
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise unreadable(error, path, shown or str(path)) from None


def _content(path: Path, shown: str, packed: bool, most: int | None = None) -> bytes:
    """What a file holds, unpacked; where that is more than `most` bytes, so many and one."""
    read = -1 if most is None else most + 1
    try:
        with path.open("rb") as file:
            data = file.read(read)
    except OSError as error:
        raise unreadable(error, path, shown) from None
    if not packed or (most is not None and len(data) > most):
        return data
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            return file.read(read)
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise DataError(
            "is not a whole gzip file", where=shown, remedy="Copy it again, or unpack it with gunzip"
        ) from None


def _read_text(data: bytes, kind: str, shown: str) -> list[Row]:
    for mark, encoding in _OTHER_ENCODINGS:
        if data.startswith(mark):
            raise DataError(
                f"is {encoding}, not UTF-8", where=shown, remedy=f"Convert it: iconv -f {encoding} -t UTF-8"
            )
    at = data.find(b"\0")
    if at >= 0:
        raise DataError(
            f"a NUL byte at byte {at}",
            where=_line(data, at, shown),
            remedy="If it is UTF-16, convert it: iconv -f UTF-16 -t UTF-8; else it is damaged: save it again",
        )
    plain = data.removeprefix(codecs.BOM_UTF8)
    if not plain or plain.isspace():
        raise DataError("the file is empty", where=shown, remedy="Give a file with at least one row")
    try:
        rows = _TEXT_READERS[kind](plain, shown)
    except UnicodeDecodeError:
        raise _not_utf8(data, shown) from None
    except MemoryError:
        raise DataError(
            "does not fit into memory", where=shown, remedy="Split it, or use a machine with more memory"
        ) from None
    if not rows:
        raise DataError("the file holds no rows", where=shown, remedy="Give a file with at least one row")
    return rows


def _line(data: bytes, at: int, shown: str) -> str:
    line = data.count(b"\n", 0, at) + 1
    return f"{shown}, line {line}"


def _not_utf8(data: bytes, shown: str) -> DataError:
    at = _first_undecodable(data)
    return DataError(
        f"not UTF-8 at byte {at}",
        where=_line(data, at, shown),
        remedy="Convert it, if it is Windows text: iconv -f WINDOWS-1252 -t UTF-8 FILE > NEW",
    )


def _first_undecodable(data: bytes) -> int:
    """Offset of the first byte that is not UTF-8, found in steps to make no second copy of the text."""
    start = 0
    while start < len(data):
        chunk = data[start : start + _CHUNK]
        try:
            chunk.decode()
        except UnicodeDecodeError as error:
            at_end = error.reason == "unexpected end of data" and start + len(chunk) < len(data)
            if not at_end:
                return start + error.start
            start += error.start
        else:
            start += len(chunk)
    return len(data)
