"""Files of recorded answers: JSON lines, CSV or TSV with an id and a text in each row.

No message here holds text of a file: places, columns and counts only.
"""

from __future__ import annotations

import codecs
import csv
import io
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from pmbench.core.delimiter import separator
from pmbench.core.digest import canonical_json
from pmbench.core.errors import DataError
from pmbench.core.instance import Response
from pmbench.core.names import name_shown
from pmbench.models.paths import shortened, why_no_file

Columns = Callable[[str], Mapping[str, str]]
"""From the name of a column of the run's own data to its text by instance id: what `replay:@draft` reads."""

Responses = Callable[[Path], Mapping[str, Response | None] | None]
"""Responses by instance id of a file in a shape of the task's own; None where it is in another one."""

_DELIMITED = (".csv", ".tsv")
_LINES = (".jsonl", ".ndjson")
_SPREADSHEETS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods", ".fods", ".numbers")

_AS_CSV = "In the spreadsheet, save it as CSV with the character set UTF-8, and give that file"

_MARKS = (
    (b"PK\x03\x04", "it is a spreadsheet or a zip file, whatever its name says", _AS_CSV),
    (codecs.BOM_UTF16_LE, "it is UTF-16, not UTF-8", "Save it as CSV UTF-8, or: iconv -f UTF-16 -t UTF-8"),
    (codecs.BOM_UTF16_BE, "it is UTF-16, not UTF-8", "Save it as CSV UTF-8, or: iconv -f UTF-16 -t UTF-8"),
)

_NUMBER = re.compile(r"0*([0-9]+)(?:[.,]0{1,2})?")
_ROUNDED = re.compile(r"[0-9](?:[.,][0-9]+)?E\+[0-9]+")


class Recorded(NamedTuple):
    """One recorded answer: its text, None where the file says null; and structured data, as JSON."""

    text: str | None
    data: str = ""


class RecordedRow(NamedTuple):
    """A row of the file: where it stands, its number from 1, its values."""

    where: str
    number: int
    values: Mapping[str, Any]


class RecordedRows(NamedTuple):
    """A file of answers as it is read.

    Attributes:
        names: every column that there is, in order.
        rows: those that hold anything.
        lines: whether it is JSON lines, whose `data` may take the place of a text.
    """

    names: tuple[str, ...]
    rows: list[RecordedRow]
    lines: bool


def read_rows(path: Path) -> RecordedRows:
    """Read a file; empty rows, such as a spreadsheet leaves at its end, are none.

    Raises:
        DataError: the file is missing, not UTF-8, empty or broken.
    """
    reason = why_no_file(path)
    if reason:
        raise DataError(reason, where=shortened(str(path)), remedy="Check the name")
    kind = path.suffix.lower()
    names: dict[str, None] = {}
    if kind in _DELIMITED:
        text = _text(path)
        rows = list(_csv_rows(path, text, separator(text) if kind == ".csv" else "\t", names))
    elif kind in _LINES:
        rows = list(_json_rows(path, _text(path), names))
    elif kind in _SPREADSHEETS:
        raise DataError("it is a spreadsheet in a format of its own", where=str(path), remedy=_AS_CSV)
    else:
        raise DataError(
            f"cannot replay a file called {kind or 'without an ending'}",
            where=str(path),
            remedy="Use .jsonl, .csv or .tsv with id and text",
        )
    if not rows:
        raise DataError("it holds no answers", where=str(path), remedy="Give it rows with id and text")
    return RecordedRows(tuple(names), rows, kind in _LINES)


def answers_of(found: RecordedRows, column: str, id_column: str) -> dict[str, Recorded]:
    """The answers by id.

    Args:
        found: the file's rows.
        column: of the text; id_column: of the ids, empty to number the rows from 1.

    Raises:
        DataError: a row without an id, with another one's id, or without a text.
    """
    answers: dict[str, Recorded] = {}
    places: dict[str, str] = {}
    for where, number, row in found.rows:
        id_ = _id(row, id_column, where) if id_column else str(number)
        if id_ in answers:
            line = places[id_].rpartition(", ")[2]
            rounded = _ROUNDED.fullmatch(id_)
            remedy = (
                "A spreadsheet has rounded its long numbers: format that column as text" if rounded else ""
            )
            raise DataError(f"the same id as in {line}", where=where, remedy=remedy or "Keep one of them")
        answers[id_], places[id_] = _recorded(row, column, where, found.lines), where
    return answers


def number_form(id_: str) -> str | None:
    """An id that is a whole number, as digits alone; None for any other.

    What goes through a spreadsheet or a table of numbers loses zeros before (`007`) or gets some behind (`7.0`).
    """
    found = _NUMBER.fullmatch(id_)
    return found[1] if found else None


def _text(path: Path) -> str:
    try:
        content = path.read_bytes()
        for mark, what, remedy in _MARKS:
            if content.startswith(mark):
                raise DataError(what, where=str(path), remedy=remedy)
        if b"\0" in content:
            at = content.index(b"\0")
            raise DataError(f"it is not text (a zero byte at byte {at})", where=str(path), remedy=_AS_CSV)
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(
            f"it is not UTF-8 (byte {error.start})",
            where=str(path),
            remedy="Save it as UTF-8 (in a spreadsheet: CSV UTF-8)",
        ) from None
    except OSError as error:
        raise DataError(f"it cannot be read ({error.strerror})", where=str(path)) from None
    except MemoryError:
        raise DataError(
            "it does not fit into memory", where=str(path), remedy="Replay a smaller file"
        ) from None


def _json_rows(path: Path, text: str, names: dict[str, None]) -> Iterator[RecordedRow]:
    number = 0
    for line, content in enumerate(io.StringIO(text, newline=None), start=1):
        if not content.strip():
            continue
        where = f"{path}, line {line}"
        twice: list[str] = []
        try:
            row = msgspec.json.decode(content)
            json.loads(content, object_pairs_hook=partial(_without_twins, twice))
        except (msgspec.DecodeError, ValueError, RecursionError):
            # The decoder's own words may quote the text.
            raise DataError("the JSON is broken", where=where, remedy="Write one object per line") from None
        if twice:
            raise DataError(
                f"the key {name_shown(twice[0])} stands twice in one object",
                where=where,
                remedy="Keep one of them",
            )
        if not isinstance(row, dict):
            raise DataError("it is no JSON object", where=where, remedy='Write {"id": "…", "text": "…"}')
        names.update(dict.fromkeys(row))
        number += 1
        yield RecordedRow(where, number, row)


def _without_twins(twice: list[str], pairs: list[tuple[str, Any]]) -> None:
    """Note the keys that an object has more than once: which of them counts, nobody could tell."""
    seen: set[str] = set()
    for name, _ in pairs:
        if name in seen:
            twice.append(name)
        seen.add(name)


def _csv_rows(path: Path, text: str, delimiter: str, names: dict[str, None]) -> Iterator[RecordedRow]:
    # One field may be as long as the file; the module's limit is the same for everybody, so it is put back.
    limit = csv.field_size_limit(max(len(text) + 1, 131_072))
    try:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        header: list[str] | None = None
        line, number = 1, 0
        for fields in reader:
            if fields and header is None:
                header = _header(fields, f"{path}, line {line}")
                names.update(dict.fromkeys(name for name in header if name))
            elif fields and header is not None:
                if len(fields) != len(header):
                    raise DataError(
                        f"{len(fields)} fields where the first line has {len(header)}",
                        where=f"{path}, line {line}",
                        remedy="Check the quotes",
                    )
                number += 1
                if any(field.strip() for field in fields):
                    yield RecordedRow(f"{path}, line {line}", number, dict(zip(header, fields, strict=True)))
            line = reader.line_num + 1
    except csv.Error as error:
        raise DataError(
            f"broken CSV ({error})", where=f"{path}, line {line}", remedy="Check the quotes"
        ) from None
    finally:
        csv.field_size_limit(limit)


def _header(fields: Sequence[str], where: str) -> list[str]:
    names = [name.strip() for name in fields]
    for place, name in enumerate(names, start=1):
        # Columns without a name cannot be asked for, so several of them do no harm.
        if name and name in names[: place - 1]:
            raise DataError(
                f"columns {names.index(name) + 1} and {place} are both called {name_shown(name)}",
                where=where,
                remedy="Give each column a name of its own",
            )
    return names


def _id(row: Mapping[str, Any], column: str, where: str) -> str:
    id_ = row.get(column)
    if isinstance(id_, float) and math.isfinite(id_) and id_.is_integer():
        return str(id_)
    if isinstance(id_, int) and not isinstance(id_, bool):
        return str(id_)
    if not isinstance(id_, str) or not id_:
        raise DataError(
            "no id",
            where=where,
            remedy=f"Every row needs a column {column!r}, a text or a whole number. Name another one: "
            "replay:FILE?id=COLUMN, or --response-columns id=COLUMN",
        )
    return id_


def _recorded(row: Mapping[str, Any], column: str, where: str, with_data: bool) -> Recorded:
    data = row.get("data") if with_data and column != "data" else None
    data = "" if data is None else canonical_json(data).decode()
    if column not in row:
        if data:
            return Recorded(data, data)
        names = ", ".join(map(name_shown, row)) or "none"
        raise DataError(
            f"there is no column {column!r}",
            where=where,
            remedy=f"Columns there: {names}. Name another one: replay:FILE#column, or --response-columns "
            "text=COLUMN. A table needs a first line with the names of its columns",
        )
    text = row[column]
    if text is not None and not isinstance(text, str):
        raise DataError(
            f"the column {column!r} is no text",
            where=where,
            remedy="Put the text in quotes; null for no answer",
        )
    return Recorded(text, data)
