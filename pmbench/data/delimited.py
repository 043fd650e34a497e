"""CSV and TSV: one header, then records; quoted fields may hold line breaks."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from itertools import count

from pmbench.core.dataset import Row
from pmbench.core.delimiter import separator
from pmbench.core.errors import DataError
from pmbench.data.columns import name_shown

_LONGEST_FIELD = 2**31 - 1
"""Characters; the most that the csv module takes on every platform."""


_HEAD = 65_536
"""Bytes in which the header is looked for."""


def read_csv(data: bytes, shown: str) -> list[Row]:
    """Rows of comma-separated text, or of text separated by semicolons or tabs if its header is.

    Raises:
        DataError: broken quoting, a record of another length than the header, columns of one name.
        UnicodeDecodeError: not UTF-8.
    """
    return _read(data, shown, separator(data[:_HEAD].decode("utf-8-sig", errors="replace")))


def read_tsv(data: bytes, shown: str) -> list[Row]:
    """Rows of tab-separated text, quoted like CSV; errors as in `read_csv`."""
    return _read(data, shown, "\t")


def _read(data: bytes, shown: str, delimiter: str) -> list[Row]:
    # newline="" leaves line breaks inside quoted fields as they are. The csv module's limit belongs to the
    # process, so it is put back.
    stream = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", newline="")
    before = csv.field_size_limit(_LONGEST_FIELD)
    try:
        records = _records(stream, shown, delimiter)
        _, header = next(records)
        named = header[: max((place for place, name in enumerate(header, 1) if name), default=len(header))]
        _check_header(named, shown)
        return [
            _row(named, _within(len(named), len(header), fields, shown, number), shown, number, line)
            for number, (line, fields) in enumerate(records, 1)
        ]
    finally:
        csv.field_size_limit(before)


def _records(stream: io.TextIOWrapper, shown: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """The line a record ends on and its fields, the header first. Empty lines are no records."""
    # strict: a quote that is never closed would otherwise swallow the rest of the file without a word.
    reader = csv.reader(stream, delimiter=delimiter, strict=True)
    for number in count():
        try:
            fields = next(reader)
            while not fields:
                fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            place = f"row {number}" if number else "the header"
            raise DataError(
                _quoting(str(error)),
                where=f"{shown}, {place} (read up to line {reader.line_num})",
                remedy='Put a field that holds quotes in quotes, and write each quote in it twice ("")',
            ) from None
        yield reader.line_num, fields


def _quoting(message: str) -> str:
    if "unexpected end of data" in message:
        return "a quoted field that begins here is never closed"
    if "field larger" in message:
        return f"a field of more than {_LONGEST_FIELD} characters"
    return "a quoted field goes on after its closing quote"


def _check_header(header: list[str], shown: str) -> None:
    first: dict[str, int] = {}
    for place, name in enumerate(header, 1):
        if name in first:
            what = f"are both called {name_shown(name)}" if name else "have no name"
            raise DataError(
                f"columns {first[name]} and {place} {what}",
                where=f"{shown}, the header",
                remedy="Give each column a name of its own",
            )
        first[name] = place


def _within(named: int, columns: int, fields: list[str], shown: str, number: int) -> list[str]:
    """The fields without those of unnamed columns at the end, which spreadsheets write for cells once used.

    Raises:
        DataError: one of them holds something.
    """
    if len(fields) != columns or named == columns:
        return fields
    for place, field in enumerate(fields[named:], named + 1):
        if field.strip():
            raise DataError(
                f"column {place} has no name in the header and is not empty here",
                where=f"{shown}, row {number}",
                remedy="Give the column a name, or empty it",
            )
    return fields[:named]


def _row(header: list[str], fields: list[str], shown: str, number: int, line: int) -> Row:
    if len(fields) != len(header):
        raise DataError(
            f"{len(fields)} {'field' if len(fields) == 1 else 'fields'} where the header has {len(header)}",
            where=f"{shown}, row {number} (ends on line {line})",
            remedy="Put a field that holds the separator or a line break in quotes",
        )
    return Row(dict(zip(header, fields, strict=True)), shown, number)
