"""JSON files that are lists of objects, one for each case, with the place of whatever is wrong and never its text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pmbench import DataError, id_shown, says_nothing
from pmbench_tasks import json_files
from pmbench_tasks.archehr.cases import id_text
from pmbench_tasks.json_files import read_bytes, to_utf8, utf8_text


def json_value(data: bytes, where: str) -> Any:
    """What a JSON file in UTF-8 holds.

    Raises:
        DataError: it is broken (line and column), not UTF-8, nested too deeply, or has a key twice in an object.
    """
    return json_files.json_value(utf8_text(data, where), where, flat="a list of flat objects")


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


__all__ = [
    "check_case_id",
    "checked_text",
    "entries",
    "json_value",
    "read_bytes",
    "text_of",
    "to_utf8",
]
