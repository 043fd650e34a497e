"""Files of JSON that tasks read: the place of whatever is broken in them, and never their text."""

from __future__ import annotations

import codecs
import json
import os
from pathlib import Path
from typing import Any

from pmbench import DataError, json_reason

_MARKS = (
    (codecs.BOM_UTF32_LE, "UTF-32"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)


def read_bytes(path: Path, *, shown: str = "", most: int | None = None) -> bytes:
    """The content of a regular file.

    Args:
        path: the file; shown: how messages call it, by default its path.
        most: bytes that are read; None: all.

    Raises:
        DataError: there is none, or it cannot be read.
    """
    where = shown or str(path)
    if not os.path.lexists(path):
        raise DataError("there is no such file", where=where, remedy="Check the path")
    if not path.is_file():  # a pipe or a device could hang
        raise DataError("is no regular file", where=where, remedy="Check the path")
    try:
        with path.open("rb") as stream:
            return stream.read() if most is None else stream.read(most)
    except OSError as error:
        reason = (error.strerror or "unknown reason").lower()
        raise DataError(
            f"cannot be read ({reason})", where=where, remedy="Check its permissions and the disk"
        ) from None


def utf8_text(data: bytes, where: str) -> str:
    """A text in UTF-8, without a byte order mark.

    Raises:
        DataError: it is not UTF-8 (the line).
    """
    try:
        return data.removeprefix(codecs.BOM_UTF8).decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DataError("not UTF-8", where=f"{where}, line {line}", remedy=to_utf8(data)) from None


def to_utf8(data: bytes) -> str:
    """What to do about a text that is not UTF-8; what it is instead is told by how it begins."""
    found = next((name for mark, name in _MARKS if data.startswith(mark)), "")
    if not found and 0 in data[:4]:  # no mark: where the zeros are beside the first letter, which is ASCII
        wide, order = 32 if data[:4].count(0) == 3 else 16, "LE" if data[0] else "BE"
        found = f"UTF-{wide}{order}"
    return f"Convert it: iconv -f {found or 'WINDOWS-1252'} -t UTF-8"


def json_value(text: str, where: str, *, flat: str) -> Any:
    """What a JSON text holds.

    Args:
        text: the JSON.
        where: the file as messages name it.
        flat: what to write where it is nested too deeply (`a list of items`).

    Raises:
        DataError: it is broken (line and column), nested too deeply, has a key twice in an object, or holds what
            JSON does not have.
    """
    try:
        return json.loads(text, object_pairs_hook=_object, parse_constant=_refuse, parse_float=_finite)
    except json.JSONDecodeError as error:
        reason = json_reason(error.msg) or "broken"
        place = f"{where}, line {error.lineno}, column {error.colno}"
        raise DataError(f"no valid JSON: {reason}", where=place, remedy="Mend the file") from None
    except RecursionError:
        raise DataError("JSON nested too deeply", where=where, remedy=f"Write {flat}") from None
    except ValueError as error:  # _Refused, or an integer of more digits than Python turns into a number
        what = str(error) if isinstance(error, _Refused) else "a number with too many digits"
        raise DataError(what, where=where, remedy="Mend the file") from None


class _Refused(ValueError):
    """What JSON cannot hold, though the json module would let it pass."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise _Refused("an object has the same key twice")
    return made


def _refuse(_name: str) -> Any:
    raise _Refused("NaN or an infinity, which JSON does not have")


def _finite(digits: str) -> float:
    number = float(digits)
    if number in (float("inf"), float("-inf")):
        raise _Refused("a number that is too large")
    return number
