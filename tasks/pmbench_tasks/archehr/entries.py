"""JSON files that are lists of objects, one for each case, with the place of whatever is wrong and never its text."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pmbench import DataError, id_shown, says_nothing
from pmbench_tasks.archehr.cases import id_text

_REASONS = (
    "Expecting ',' delimiter",
    "Expecting ':' delimiter",
    "Expecting property name enclosed in double quotes",
    "Expecting value",
    "Extra data",
    "Illegal trailing comma before end of",
    "Invalid control character",
    "Invalid \\escape",
    "Invalid \\uXXXX escape",
    "Unterminated string",
)
"""What the json module says, without the character that it may quote from the file."""


_MARKS = (
    (codecs.BOM_UTF32_LE, "UTF-32"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)


def read_bytes(path: Path) -> bytes:
    """The content of a regular file.

    Raises:
        DataError: there is none, or it cannot be read.
    """
    if not path.is_file():  # a pipe or a device could hang
        raise DataError("is no regular file", where=str(path), remedy="Check the path")
    try:
        return path.read_bytes()
    except OSError as error:
        reason = (error.strerror or "unknown reason").lower()
        raise DataError(
            f"cannot be read ({reason})", where=str(path), remedy="Check its permissions and the disk"
        ) from None


def json_value(data: bytes, where: str) -> Any:
    """What a JSON file in UTF-8 holds.

    Raises:
        DataError: it is broken (line and column), not UTF-8, nested too deeply, or has a key twice in an object.
    """
    try:
        text = data.removeprefix(codecs.BOM_UTF8).decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DataError("not UTF-8", where=f"{where}, line {line}", remedy=to_utf8(data)) from None
    try:
        return json.loads(text, object_pairs_hook=_object, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        reason = next((one for one in _REASONS if error.msg.startswith(one)), "broken")
        place = f"{where}, line {error.lineno}, column {error.colno}"
        raise DataError(f"no valid JSON: {reason}", where=place, remedy="Mend the file") from None
    except RecursionError:
        raise DataError(
            "JSON nested too deeply", where=where, remedy="Write a list of flat objects"
        ) from None
    except ValueError as error:  # _Refused, or an integer of more digits than Python turns into a number
        what = str(error) if isinstance(error, _Refused) else "a number with too many digits"
        raise DataError(what, where=where, remedy="Mend the file") from None


def to_utf8(data: bytes) -> str:
    """What to do about a text that is not UTF-8; what it is instead is told by how it begins."""
    found = next((name for mark, name in _MARKS if data.startswith(mark)), "")
    if not found and 0 in data[:4]:  # no mark: where the zeros are beside the first letter, which is ASCII
        wide, order = 32 if data[:4].count(0) == 3 else 16, "LE" if data[0] else "BE"
        found = f"UTF-{wide}{order}"
    return f"Convert it: iconv -f {found or 'WINDOWS-1252'} -t UTF-8"


def entries(value: Any, where: str, kind: str) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """The entries of a list by case: id, place for a message (`FILE, entry 3, case '7'`) and object.

    Args:
        value: what `json_value` gave.
        where: the file as messages name it.
        kind: what the file is (`the key`), for messages.

    Raises:
        DataError: no list, an item that is no object or has no `case_id`, a `case_id` that cannot be one, or a
            case twice.
    """
    if not isinstance(value, list):
        raise DataError(
            f"{kind} is not a list", where=where, remedy='Write [{"case_id": "1", …}, …], one for each case'
        )
    seen: dict[str, int] = {}
    for number, entry in enumerate(value, 1):
        place = f"{where}, entry {number}"
        if not isinstance(entry, dict):
            raise DataError("is not an object", where=place, remedy='Write {"case_id": "1", …}')
        ident = id_text(entry.get("case_id"))
        if ident is None:
            raise DataError("has no case_id", where=place, remedy="Write the case's id as text")
        check_case_id(ident, f"{place}, case_id")
        if ident in seen:
            raise DataError(
                f"case {id_shown(ident)} is entry {seen[ident]} already", where=place, remedy="Leave one out"
            )
        seen[ident] = number
        yield ident, f"{place}, case {id_shown(ident)}", entry


def check_case_id(ident: str, place: str) -> None:
    """Raises DataError where the id of a case is no text, or has white space around it, which nobody sees."""
    checked_text(ident, place)
    if ident != ident.strip():
        raise DataError(
            f"there is white space around the id {id_shown(ident.strip())}", where=place, remedy="Remove it"
        )


def text_of(entry: Mapping[str, Any], name: str, place: str) -> str:
    """The text under a name, without white space around it; `""` where it is absent, null or says nothing.

    Raises:
        DataError: it is no text, or half a character.
    """
    value = entry.get(name)
    text = "" if value is None else checked_text(value, f"{place}, {name}").strip()
    return "" if says_nothing(text) else text


def checked_text(value: object, place: str) -> str:
    """The value, if it is text that can be written as UTF-8.

    Raises:
        DataError: it is not.
    """
    if not isinstance(value, str):
        raise DataError("text is expected", where=place, remedy='Write it in quotes: "…"')
    try:
        value.encode()
    except UnicodeEncodeError:
        raise DataError(
            "half of a surrogate pair (\\ud800 to \\udfff), which is no character",
            where=place,
            remedy="Write it anew",
        ) from None
    return value


class _Refused(ValueError):
    """What JSON cannot hold, though the json module would let it pass."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise _Refused("an object has the same key twice")
    return made


def _refuse(_name: str) -> Any:
    raise _Refused("NaN or an infinity, which JSON does not have")
