"""JSON lines and JSON lists of objects, with the line and column of whatever is broken, never its text."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

from pmbench.core.dataset import Row
from pmbench.core.errors import DataError
from pmbench.data.columns import name_shown

_BLANK = " \t\r\n"

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


def read_lines(data: bytes, shown: str) -> list[Row]:
    """Rows of JSON lines: one object a line; empty lines are passed over. A row's number is its line.

    Raises:
        DataError: a line that is no JSON object, or that holds what JSON cannot.
        UnicodeDecodeError: not UTF-8.
    """
    rows = []
    reader = _ObjectReader(shown)
    # Only "\n" ends a line: JSON allows U+2028 and its kin inside strings.
    for number, raw in enumerate(_lines(data), 1):
        text = raw.decode()
        start = _skip(text, 0)
        if start < len(text):
            value, end = reader.read(text, start, number, line=number)
            end = _skip(text, end)
            if end != len(text):
                raise _broken("Extra data", shown, number, end + 1)
            rows.append(Row(value, shown, number))
    return rows


def read_list(data: bytes, shown: str) -> list[Row]:
    """Rows of a JSON list of objects. A row's number is its place in the list, from 1.

    Raises:
        DataError: no list, an item that is no object, or what JSON cannot hold.
        UnicodeDecodeError: not UTF-8.
    """
    text = data.decode()
    at = _skip(text, 0)
    if text[at] != "[":
        raise DataError(
            "is not a list of objects",
            where=shown,
            remedy="Write [{…}, {…}], or call it .jsonl if each line is an object",
        )
    rows: list[Row] = []
    reader = _ObjectReader(shown)
    at = _skip(text, at + 1)
    closed = text[at : at + 1] == "]"
    while not closed:
        value, at = reader.read(text, at, len(rows) + 1)
        rows.append(Row(value, shown, len(rows) + 1))
        at = _skip(text, at)
        closed = text[at : at + 1] == "]"
        if not closed and text[at : at + 1] != ",":
            raise _broken("Expecting ',' delimiter", shown, *_place(text, at))
        at = at if closed else _skip(text, at + 1)
    at = _skip(text, at + 1)
    if at != len(text):
        raise _broken("Extra data", shown, *_place(text, at))
    return rows


class _ObjectReader:
    """Reads one object after another and refuses what the json module would let pass.

    That is NaN and infinities, two keys of one name in an object, and half a surrogate pair.
    """

    def __init__(self, shown: str) -> None:
        self._shown = shown
        self._suspect = False
        self._twice: str | None = None
        self._decoder = json.JSONDecoder(
            parse_constant=self._constant, parse_float=self._float, object_pairs_hook=self._object
        )

    def read(self, text: str, start: int, row: int, line: int | None = None) -> tuple[dict[str, Any], int]:
        """The object that begins at `start`, and where it ends. `line`: `text` is that line of the file."""
        where = f"{self._shown}, row {row}"
        self._suspect, self._twice = False, None
        try:
            value, end = self._decoder.raw_decode(text, start)
            if not isinstance(value, dict):
                raise DataError(
                    f"is {_called(value)}, not an object", where=where, remedy='Write {"column": value, …}'
                )
            surrogates = any(text.find(mark, start, end) >= 0 for mark in ("\\ud", "\\uD"))
            self._check(value, where, surrogates)
        except json.JSONDecodeError as error:
            place = (line, error.colno) if line is not None else (error.lineno, error.colno)
            raise _broken(error.msg, self._shown, *place) from None
        except RecursionError:
            raise DataError(
                "JSON nested too deeply", where=where, remedy="Flatten its lists and objects"
            ) from None
        except ValueError:  # an integer of more digits than Python turns into a number
            raise DataError("a number with too many digits", where=where, remedy="Write it as text") from None
        return value, end

    def _check(self, value: dict[str, Any], where: str, surrogates: bool) -> None:
        if self._twice is not None:
            name = f" {name_shown(self._twice)}" if self._twice in value else ""
            raise DataError(
                f"an object has the key{name} twice", where=where, remedy="Give each key a name of its own"
            )
        if self._suspect or surrogates:
            for column, item in value.items():
                problem = _problem(column) or _problem(item)
                if problem:
                    raise DataError(
                        problem, where=f"{where}, column {name_shown(column)}", remedy="Write null or mend it"
                    )

    def _constant(self, name: str) -> float:
        self._suspect = True
        return float(name)

    def _float(self, digits: str) -> float:
        number = float(digits)
        self._suspect = self._suspect or math.isinf(number)
        return number

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) != len(pairs):
            seen: set[str] = set()
            for key, _ in pairs:
                if key in seen:
                    self._twice = key
                seen.add(key)
        return made


def _problem(value: Any) -> str:
    """What a value holds that JSON or UTF-8 cannot; `""` for nothing."""
    if isinstance(value, float):
        return "" if math.isfinite(value) else "NaN or an infinity, which JSON does not have"
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            return "half of a surrogate pair (\\ud800 to \\udfff), which is no character"
    if isinstance(value, list):
        return next(filter(None, map(_problem, value)), "")
    if isinstance(value, dict):
        return next(filter(None, (_problem(key) or _problem(item) for key, item in value.items())), "")
    return ""


def _lines(data: bytes) -> Iterator[bytes]:
    start = 0
    while start < len(data):
        end = data.find(b"\n", start)
        end = len(data) if end < 0 else end
        yield data[start:end]
        start = end + 1


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _BLANK:
        at += 1
    return at


def _place(text: str, at: int) -> tuple[int, int]:
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)


def json_reason(message: str) -> str:
    """What Python's json module has against a text, without what its message quotes of it; empty if not known."""
    return next((known for known in _REASONS if message.startswith(known)), "")


def _broken(message: str, shown: str, line: int, column: int) -> DataError:
    reason = json_reason(message)
    what = f"broken JSON ({reason[0].lower()}{reason[1:]})" if reason else "broken JSON"
    return DataError(
        what,
        where=f"{shown}, line {line}, character {column}",
        remedy="Mend that line or write the file again",
    )


def _called(value: Any) -> str:
    names = {list: "a list", str: "text", bool: "true or false", int: "a number", float: "a number"}
    return names.get(type(value), "null")
