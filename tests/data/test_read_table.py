"""What a user sees when one file is read: good files of every kind, and the place of what is broken."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import socket
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from letters_task import SECRET, as_nobody, said, write
from pyarrow import parquet

from pmbench.core.errors import DataError, MissingExtra
from pmbench.data.tables import read_table

ROWS = [{"id": "1", "message": "a, b"}, {"id": "2", "message": 'line one\r\nline "two"\nthree'}]


def values(path: Path) -> list[dict[str, Any]]:
    return [dict(row.values) for row in read_table(path)]


def as_csv(rows: list[dict[str, str]], delimiter: str = ",") -> bytes:
    stream = io.StringIO(newline="")
    writer = csv.DictWriter(stream, list(rows[0]), delimiter=delimiter)
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue().encode()


def as_lines(rows: list[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows)


GOOD = {
    "a.csv": as_csv(ROWS),
    "a.tsv": as_csv(ROWS, "\t"),
    "a.jsonl": as_lines(ROWS),
    "a.ndjson": as_lines(ROWS).replace(b"\n", b"\r\n"),
    "a.json": json.dumps(ROWS, indent=1).encode(),
    "A.CSV": b"\xef\xbb\xbf" + as_csv(ROWS),
    "bom.jsonl": b"\xef\xbb\xbf" + as_lines(ROWS),
    "a.csv.gz": gzip.compress(as_csv(ROWS)),
    "a.jsonl.gz": gzip.compress(as_lines(ROWS)),
}


@pytest.mark.parametrize("name", GOOD)
def test_every_kind_of_text_file_gives_the_same_rows(tmp_path: Path, name: str) -> None:
    assert values(write(tmp_path, name, GOOD[name])) == ROWS


def test_parquet_gives_the_same_rows_and_keeps_types(tmp_path: Path) -> None:
    rows = [{"id": 1, "tags": ["a", "b"], "more": {"x": None}}, {"id": 2, "tags": None, "more": {"x": 2.5}}]
    parquet.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet")
    assert values(tmp_path / "a.parquet") == rows


def test_a_folder_called_key_equals_value_adds_no_column_to_parquet(tmp_path: Path) -> None:
    (tmp_path / "year=2020").mkdir()
    parquet.write_table(pa.table({"id": ["1"]}), tmp_path / "year=2020" / "a.parquet")
    assert values(tmp_path / "year=2020" / "a.parquet") == [{"id": "1"}]


def test_record_numbers_do_not_count_line_breaks_in_quotes_or_empty_lines(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", 'id,message\n1,"a\nb\nc"\n\n2,d\n')
    assert [row.number for row in read_table(path)] == [1, 2]


def test_line_numbers_of_json_lines_count_empty_lines(tmp_path: Path) -> None:
    path = write(tmp_path, "a.jsonl", '{"id": 1}\n\n  {"id": "\u2028"}  \n')
    assert [row.number for row in read_table(path)] == [1, 3]


def test_a_field_larger_than_the_csv_module_takes_by_default(tmp_path: Path) -> None:
    before = csv.field_size_limit()
    path = write(tmp_path, "a.csv", f"id,message\n1,{'x' * 400_000}\n")
    assert len(values(path)[0]["message"]) == 400_000
    assert csv.field_size_limit() == before


def test_nested_json_is_kept(tmp_path: Path) -> None:
    rows = [{"id": 1, "thread": [{"from": "nurse", "text": "hello"}], "seen": True, "at": 1.5}]
    assert values(write(tmp_path, "a.jsonl", as_lines(rows))) == rows


DEEP = "[" * 100_000 + "]" * 100_000
BAD: dict[str, tuple[str, str | bytes, tuple[str, ...]]] = {
    "empty": ("a.csv", "", ("a.csv: ", "empty")),
    "only blank": ("a.jsonl", " \n\n", ("empty",)),
    "only a byte order mark": ("a.jsonl", b"\xef\xbb\xbf", ("empty",)),
    "only a header": ("a.csv", "id,message\n", ("no rows",)),
    "an empty list": ("a.json", "[ ]", ("no rows",)),
    "Latin-1 CSV": (
        "a.csv",
        f"id,m\n1,{SECRET}\n2,caf\u00e9\n".encode("latin-1"),
        ("line 3", "iconv", "byte 32"),
    ),
    "Latin-1 JSONL": ("a.jsonl", b'{"m": "' + SECRET.encode() + b'"}\n{"m": "\xe9"}', ("line 2", "byte 36")),
    "Latin-1 JSON": ("a.json", b'[{"m": "\xe9"}]', ("line 1", "byte 8", "iconv")),
    "cut off in a character": ("a.csv", b"id,m\n1,\xe2\x82", ("line 2", "byte 7")),
    "byte counted with the mark": ("a.csv", b"\xef\xbb\xbfid\n\xff", ("line 2", "byte 6")),
    "UTF-16": ("a.csv", f"id,m\n1,{SECRET}".encode("utf-16"), ("UTF-16", "iconv -f UTF-16")),
    "UTF-32": ("a.csv", f"id,m\n1,{SECRET}".encode("utf-32"), ("UTF-32", "iconv -f UTF-32")),
    "UTF-16 without a mark": ("a.csv", f"id,m\n1,{SECRET}".encode("utf-16-le"), ("NUL", "line 1", "iconv")),
    "NUL": ("a.csv", f"id,m\n1,{SECRET}\n2,a\0b\n", ("NUL byte", "line 3")),
    "too many fields": (
        "a.csv",
        f"id,m\n1,a\n2,{SECRET},x\n",
        ("row 2", "line 3", "3 fields", "header has 2"),
    ),
    "too few fields": ("a.csv", f'id,m\n1,"{SECRET}\n"\n2\n', ("row 2", "line 4", "1 field where")),
    "a quote never closed": ("a.csv", f'id,m\n1,a\n2,"{SECRET}\n3,b\n', ("row 2", "never closed", "twice")),
    "text behind a quote": ("a.csv", f'id,m\n1,"a" {SECRET}\n', ("row 1", "line 2", "closing quote")),
    "two columns of one name": ("a.csv", f"id,m,m\n1,a,{SECRET}\n", ("columns 2 and 3", "'m'", "header")),
    "two columns without a name": ("a.csv", f"id,,,m\n1,a,{SECRET},b\n", ("columns 2 and 3", "no name")),
    "a headerless file": ("a.csv", f"{SECRET} {'and so on ' * 9},{SECRET}\n1\n", ("row 1",)),
    "broken JSON line": ("a.jsonl", f'{{"m": "a"}}\n{{"m": "{SECRET}",}}\n', ("line 2", "character", "JSON")),
    "cut-off JSON line": (
        "a.jsonl",
        f'{{"m": "a"}}\n{{"m": "{SECRET}',
        ("line 2, character 7", "unterminated"),
    ),
    "two objects on a line": (
        "a.jsonl",
        f'{{"m": "{SECRET}"}} {{"m": 1}}\n',
        ("line 1, character 30", "extra"),
    ),
    "bad escape": ("a.jsonl", f'{{"m": "{SECRET}\\q"}}', ("line 1, character 27", "escape")),
    "control character": ("a.jsonl", f'{{"m": "{SECRET}\t"}}', ("line 1, character 27", "control character")),
    "text on a line": ("a.jsonl", f'{{"m": 1}}\n"{SECRET}"\n', ("row 2", "is text, not an object")),
    "list on a line": ("a.jsonl", f'["{SECRET}"]\n', ("row 1", "is a list, not an object")),
    "null on a line": ("a.jsonl", "null\n", ("row 1", "is null")),
    "number on a line": ("a.jsonl", "3\n", ("row 1", "is a number")),
    "broken JSON list": (
        "a.json",
        f'[\n {{"m": 1}},\n {{"m" "{SECRET}"}}\n]',
        ("line 3, character 7", "':'"),
    ),
    "no comma in a list": ("a.json", f'[{{"m": 1}}\n{{"m": "{SECRET}"}}]', ("line 2, character 1", "','")),
    "list never closed": ("a.json", f'[{{"m": "{SECRET}"}}', ("line 1, character 30",)),
    "list with a last comma": ("a.json", '[{"m": 1},]', ("line 1, character 11",)),
    "more behind the list": ("a.json", f'[{{"m": 1}}]\n{SECRET}', ("line 2, character 1", "extra data")),
    "one object": ("a.json", f'{{"m": "{SECRET}"}}', ("not a list", ".jsonl")),
    "item that is no object": ("a.json", f'[{{"m": 1}}, "{SECRET}"]', ("row 2", "is text")),
    "NaN": ("a.jsonl", f'{{"m": "{SECRET}"}}\n{{"m": "{SECRET}", "n": NaN}}', ("row 2, column 'n'", "NaN")),
    "Infinity in a list": ("a.json", '[{"n": [1, {"o": -Infinity}]}]', ("row 1, column 'n'", "infinity")),
    "too large a number": ("a.jsonl", '{"n": 1e999}', ("row 1, column 'n'", "infinity")),
    "too many digits": ("a.jsonl", f'{{"n": {"9" * 5000}}}', ("row 1", "digits")),
    "half a surrogate": ("a.jsonl", f'{{"m": "{SECRET} \\ud83d"}}', ("row 1, column 'm'", "surrogate")),
    "half a surrogate, capitals": ("a.json", '[{"m": ["\\uD83D"]}]', ("row 1, column 'm'", "surrogate")),
    "half a surrogate in a key": ("a.jsonl", '{"m": {"\\udc00": 1}}', ("row 1, column 'm'", "surrogate")),
    "a key twice": ("a.jsonl", f'{{"m": "{SECRET}", "m": "b"}}', ("row 1", "'m' twice")),
    "a key twice, inside": ("a.jsonl", f'{{"m": {{"{SECRET}": 1, "{SECRET}": 2}}}}', ("row 1", "key twice")),
    "deep JSON line": ("a.jsonl", f'{{"m": 1}}\n{{"m": {DEEP}}}', ("row 2", "too deeply")),
    "deep JSON list": ("a.json", f'[{{"m": {DEEP}}}]', ("row 1", "too deeply")),
    "no gzip": ("a.csv.gz", f"id,m\n1,{SECRET}\n", ("not a whole gzip",)),
    "half a gzip": ("a.csv.gz", gzip.compress(b"id,m\n1,a\n" * 99)[:-9], ("not a whole gzip",)),
    "no Parquet": ("a.parquet", f"id,m\n1,{SECRET}\n", ("no Parquet",)),
    "empty Parquet": ("a.parquet", b"", ("no Parquet",)),
    "spreadsheet": ("a.xlsx", b"PK", ("'.xlsx'", ".csv")),
    "no ending": ("letters", b"id", ("no ending", ".csv")),
}


@pytest.mark.parametrize("case", BAD)
def test_a_broken_file_is_named_with_place_and_remedy_and_without_its_text(tmp_path: Path, case: str) -> None:
    name, content, parts = BAD[case]
    with pytest.raises(DataError) as caught:
        read_table(write(tmp_path, name, content))
    said(caught.value, name, *parts)


def test_the_byte_that_is_not_utf8_is_found_far_into_a_large_file(tmp_path: Path) -> None:
    # Three-byte characters lie across every border of the steps in which the file is searched.
    content = b"id,message\n1," + "\u20ac".encode() * 900_000 + b"\n2,\xff\n"
    with pytest.raises(DataError) as caught:
        read_table(write(tmp_path, "a.csv", content))
    said(caught.value, "line 3", f"byte {content.index(0xFF)}.")


def test_damaged_parquet(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"message": [SECRET] * 1000}), path, compression="zstd")
    content = bytearray(path.read_bytes())
    content[8:60] = b"\xff" * 52
    path.write_bytes(content)
    with pytest.raises(DataError) as caught:
        read_table(path)
    said(caught.value, "a.parquet", "damaged")


def test_parquet_with_two_columns_of_one_name(tmp_path: Path) -> None:
    table = pa.Table.from_arrays([pa.array([SECRET]), pa.array(["b"])], names=["m", "m"])
    parquet.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(DataError) as caught:
        read_table(tmp_path / "a.parquet")
    said(caught.value, "a.parquet", "two columns are called 'm'")


def test_parquet_without_rows(tmp_path: Path) -> None:
    parquet.write_table(pa.table({"m": pa.array([], pa.string())}), tmp_path / "a.parquet")
    with pytest.raises(DataError) as caught:
        read_table(tmp_path / "a.parquet")
    said(caught.value, "no rows")


def test_parquet_text_that_is_not_utf8(tmp_path: Path) -> None:
    bad = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\x02\0\0\0"), pa.py_buffer(b"\xff\xfe")]
    )
    parquet.write_table(pa.table({"id": ["1"], "m": bad}), tmp_path / "a.parquet")
    with pytest.raises(DataError) as caught:
        read_table(tmp_path / "a.parquet")
    said(caught.value, "column 'm'", "UTF-8")


def test_parquet_without_pyarrow_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtra) as caught:
        read_table(write(tmp_path, "a.parquet", b"PAR1"))
    said(caught.value, 'pip install "pmbench[parquet]"')


def test_what_is_no_regular_file_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "broken.csv").symlink_to(tmp_path / "gone.csv")
    (tmp_path / "loop.csv").symlink_to(tmp_path / "loop.csv")
    (tmp_path / "zero.csv").symlink_to("/dev/zero")
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(tmp_path / "socket.csv"))
    server.close()
    expected = {
        "pipe.csv": "pipe",
        "folder.csv": "is a folder",
        "broken.csv": "link to a file that is not there",
        "loop.csv": "leads back to itself",
        "zero.csv": "device",
        "socket.csv": "socket",
        "gone.csv": "no such file",
        "x" * 300 + ".csv": "cannot be read",
    }
    for name, part in expected.items():
        with pytest.raises(DataError) as caught:
            read_table(tmp_path / name)
        said(caught.value, name, part)


def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", "id\n1\n")
    path.chmod(0)
    tmp_path.chmod(0o755)
    for folder in list(tmp_path.parents)[:3]:
        folder.chmod(0o755)
    with as_nobody(), pytest.raises(DataError) as caught:
        read_table(path)
    said(caught.value, "a.csv", "may not be read")


# What can stand in a cell: any text that UTF-8 can hold; NUL is refused, see above.
CELL = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
NAME = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1)


@st.composite
def tables(draw: st.DrawFn, cells: st.SearchStrategy[Any] = CELL) -> list[dict[str, Any]]:
    names = draw(st.lists(NAME, min_size=2, max_size=4, unique=True))
    return draw(st.lists(st.fixed_dictionaries(dict.fromkeys(names, cells)), min_size=1, max_size=5))


@given(rows=tables())
def test_round_trip_through_csv_and_tsv(tmp_path_factory: pytest.TempPathFactory, rows: Any) -> None:
    folder = tmp_path_factory.mktemp("csv")
    header = next(iter(rows[0]))
    if header.startswith("\ufeff"):  # then the file begins with what reads as a byte order mark
        return
    assert values(write(folder, "a.csv", as_csv(rows))) == rows
    assert values(write(folder, "a.tsv", as_csv(rows, "\t"))) == rows


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | CELL,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(CELL, inner, max_size=3),
    max_leaves=8,
)


@given(rows=tables(JSON), ascii_only=st.booleans())
def test_round_trip_through_json(
    tmp_path_factory: pytest.TempPathFactory, rows: Any, ascii_only: bool
) -> None:
    folder = tmp_path_factory.mktemp("json")
    lines = "".join(json.dumps(row, ensure_ascii=ascii_only) + "\n" for row in rows)
    assert values(write(folder, "a.jsonl", lines)) == rows
    assert values(write(folder, "a.json", json.dumps(rows, ensure_ascii=ascii_only))) == rows


@given(rows=tables(st.none() | CELL))
def test_round_trip_through_parquet(tmp_path_factory: pytest.TempPathFactory, rows: Any) -> None:
    path = tmp_path_factory.mktemp("parquet") / "a.parquet"
    schema = pa.schema([(name, pa.string()) for name in rows[0]])
    parquet.write_table(pa.Table.from_pylist(rows, schema), path)
    assert values(path) == rows


@given(
    content=st.binary(max_size=300), ending=st.sampled_from([".csv", ".tsv", ".jsonl", ".json", ".parquet"])
)
def test_any_bytes_at_all_are_rows_or_a_data_error(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, ending: str
) -> None:
    path = write(tmp_path_factory.mktemp("any"), f"a{ending}", content)
    try:
        assert read_table(path)
    except DataError as error:
        said(error, path.name)


def test_unnamed_columns_at_the_end_of_a_spreadsheet_are_left_out_if_they_are_empty(tmp_path: Path) -> None:
    path = tmp_path / "sheet.csv"
    path.write_text("id;message;;\n1;Hello;;\n2;Hi;; \n")
    assert [row.values for row in read_table(path)] == [
        {"id": "1", "message": "Hello"},
        {"id": "2", "message": "Hi"},
    ]
    path.write_text("id;message;;\n1;Hello;;\n2;Hi;;secret words\n")
    with pytest.raises(DataError) as raised:
        read_table(path)
    assert "sheet.csv, row 2: column 4 has no name in the header and is not empty here" in str(raised.value)
    assert "secret" not in str(raised.value)
    path.write_text("id;;message\n1;;Hello\n")
    assert read_table(path)[0].values == {"id": "1", "": "", "message": "Hello"}
