"""Recorded answers: what a file may hold, what each broken one says, which instances it covers."""

from __future__ import annotations

import asyncio
import csv
import json
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from flaky_backend import ask
from hypothesis import given, settings
from hypothesis import strategies as st

from pmbench.core.errors import ConfigError, DataError, RequestFailed
from pmbench.core.model import Completion
from pmbench.models.backends.replay import Columns, Replay, ReplayOptions
from pmbench.models.facade import FacadeModel, tracking
from pmbench.models.spec import parse_spec
from pmbench.models.store import CompletionStore


def replay(target: object, column: str = "", columns: Columns | None = None) -> Replay:
    return Replay(parse_spec(f"replay:{target}"), ReplayOptions(column=column), columns)


def written(path: Path, *rows: Any) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def answer(backend: Replay, tmp_path: Path, instance: str) -> Completion:
    store = CompletionStore(tmp_path / "completions.sqlite")
    try:
        with tracking(instance):
            return asyncio.run(FacadeModel("r", backend, store).chat(ask("anything"), max_tokens=1))
    finally:
        assert store.get("0" * 64) is None
        store.close()


def test_each_instance_gets_its_own_answer_whatever_it_is_asked(tmp_path: Path) -> None:
    backend = replay(written(tmp_path / "a.jsonl", {"id": "a", "text": "one"}, {"id": 2, "text": "two"}))
    assert answer(backend, tmp_path, "a").text == "one"
    assert answer(backend, tmp_path, "2").text == "two"
    with pytest.raises(RequestFailed, match="absent") as raised:
        answer(backend, tmp_path, "b")
    assert not raised.value.retryable


def test_an_empty_text_is_an_answer_and_a_null_is_none(tmp_path: Path) -> None:
    backend = replay(written(tmp_path / "a.jsonl", {"id": "a", "text": ""}, {"id": "b", "text": None}))
    empty = answer(backend, tmp_path, "a")
    assert (empty.text, empty.finish) == ("", "stop")
    with pytest.raises(RequestFailed, match="null") as raised:
        answer(backend, tmp_path, "b")
    assert not raised.value.retryable


def test_an_empty_recorded_answer_is_not_asked_for_twice(tmp_path: Path) -> None:
    store = CompletionStore(tmp_path / "completions.sqlite")
    model = FacadeModel("r", replay(written(tmp_path / "a.jsonl", {"id": "a", "text": ""})), store)
    with tracking("a") as calls:
        asyncio.run(model.chat(ask("x"), max_tokens=1))
    store.close()
    assert (model.requests, calls[0].retries) == (1, 0)


def test_structured_answers_come_along(tmp_path: Path) -> None:
    path = written(
        tmp_path / "a.jsonl",
        {"id": "a", "text": "one", "data": {"b": 1, "a": 2}},
        {"id": "b", "data": ["x"]},
    )
    backend = replay(path)
    assert answer(backend, tmp_path, "a") == Completion("one", raw={"data": '{"a":2,"b":1}'})
    assert answer(backend, tmp_path, "b").text == '["x"]'


@pytest.mark.parametrize("ending", ["csv", "tsv"])
def test_tables_with_line_breaks_long_fields_and_a_byte_order_mark(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"a.{ending}"
    long = "word " * 50_000
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        rows = csv.writer(file, delimiter="," if ending == "csv" else "\t")
        rows.writerows(
            [["id", "text", "data"], ["a", 'one,\r\n"two"\t', "x"], ["b", long, ""], ["c", "", ""]]
        )
    before = csv.field_size_limit()
    recorded = replay(path).recorded()
    assert [recorded[id_].text for id_ in "abc"] == ['one,\r\n"two"\t', long, ""]
    assert recorded["a"].data == ""  # a column of a table that happens to be called so
    assert csv.field_size_limit() == before


def test_another_column_may_be_named_in_two_ways(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", {"id": "a", "text": "no", "draft": "yes"})
    for backend in (replay(f"{path}#draft"), replay(path, "draft"), replay(f"{path}#draft", "draft")):
        assert answer(backend, tmp_path, "a").text == "yes"
    with pytest.raises(ConfigError, match="two columns"):
        replay(f"{path}#draft", "text")
    hashed = written(tmp_path / "b#1.jsonl", {"id": "a", "text": "this"})
    assert answer(replay(hashed), tmp_path, "a").text == "this"


def test_a_column_of_the_data(tmp_path: Path) -> None:
    backend = replay("@draft", columns=lambda name: {"a": f"the {name}"})
    assert backend.unavailable() == ""
    assert answer(backend, tmp_path, "a").text == "the draft"
    with pytest.raises(ConfigError, match="no data"):
        replay("@draft")
    with pytest.raises(ConfigError, match="no column"):
        replay("@", columns=lambda name: {})


ROWS = st.dictionaries(
    st.text(min_size=1, max_size=5), st.none() | st.text(max_size=9), min_size=1, max_size=6
)


@settings(deadline=None)
@given(ROWS, st.randoms(use_true_random=False))
def test_the_identity_is_of_the_answers_not_of_the_file(rows: dict[str, str | None], dice: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        pairs = [{"id": id_, "text": text} for id_, text in rows.items()]
        first = replay(written(Path(folder) / "a.jsonl", *pairs))
        dice.shuffle(pairs)
        second = replay(written(Path(folder) / "b.ndjson", *pairs))
        assert first.identity() == second.identity()
        assert {id_: answer.text for id_, answer in first.recorded().items()} == rows
        pairs[0]["text"] = (pairs[0]["text"] or "") + "!"
        assert replay(written(Path(folder) / "c.jsonl", *pairs)).identity() != first.identity()


def test_what_is_missing_and_what_is_too_much_is_listed(tmp_path: Path) -> None:
    backend = replay(written(tmp_path / "a.jsonl", *[{"id": id_, "text": "x"} for id_ in "abc"]))
    assert backend.coverage(["c", "d", "a", "e", "d"]) == (["d", "e"], ["b"])


def test_ids_that_a_spreadsheet_rewrote_are_found_as_numbers(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('id,text\n7.0,seven\n12,twelve\n3,"three, 0"\n03.0,three\n1000,thousand\n')
    backend = replay(path)
    ids = ["007", "0012", "3", "1,000", "x"]
    assert backend.coverage(ids) == (["1,000", "x"], ["03.0", "1000"])
    assert backend.read_as_numbers(ids) == {"007": "7.0", "0012": "12"}
    assert answer(backend, tmp_path, "007").text == "seven"
    assert answer(backend, tmp_path, "3").text == "three, 0"
    with pytest.raises(RequestFailed, match="absent"):
        answer(backend, tmp_path, "0003")  # 3 or 03.0: nobody can tell
    with pytest.raises(DataError, match="two ids of the data are one number"):
        backend.coverage(["7", "007"])


def test_json_numbers_are_ids(tmp_path: Path) -> None:
    backend = replay(written(tmp_path / "a.jsonl", {"id": 7.0, "text": "seven"}, {"id": 8, "text": "eight"}))
    assert backend.coverage(["7", "8"]) == ([], [])


def test_rows_can_be_numbered(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("draft\none\n\ntwo\n", encoding="utf-8")
    options = ReplayOptions(column="draft", id="")
    backend = Replay(parse_spec(f"replay:{path}"), options)
    assert {id_: found.text for id_, found in backend.recorded().items()} == {"1": "one", "2": "two"}


def test_empty_rows_of_a_spreadsheet_are_none(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"\xef\xbb\xbfid;text;\r\na;one;\r\n;;\r\n ;;\r\n")
    assert list(replay(path).recorded()) == ["a"]


SECRET = "the patient's words"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", b"", "holds no answers"),
        ("a.jsonl", b"\n \n", "holds no answers"),
        ("a.csv", b"", "holds no answers"),
        ("a.csv", b"id,text\r\n", "holds no answers"),
        ("a.jsonl", b'{"id": "a", "text": "\xff"}', "not UTF-8"),
        (
            "a.jsonl",
            b'{"id": "a", "text": "x"}\n\n{"id": "b", "text": "the patient\'s words}',
            "line 3: the JSON",
        ),
        ("a.jsonl", b'["the patient\'s words"]', "line 1: it is no JSON object"),
        ("a.jsonl", b"[" * 100_000, "line 1: the JSON is broken"),
        ("a.jsonl", b'{"text": "the patient\'s words"}', "line 1: no id"),
        ("a.jsonl", b'{"id": true, "text": "x"}', "line 1: no id"),
        ("a.jsonl", b'{"id": "", "text": "x"}', "line 1: no id"),
        (
            "a.jsonl",
            b'{"id": "a", "draft": "the patient\'s words"}',
            r"no column 'text'.*Columns there: 'id', 'draft'",
        ),
        ("a.jsonl", b'{"id": "a", "text": 3}', "line 1: the column 'text' is no text"),
        (
            "a.jsonl",
            b'{"id": "a", "text": "x"}\n{"id": "a", "text": "y"}',
            "line 2: the same id as in line 1",
        ),
        (
            "a.jsonl",
            b'{"id": 1, "text": "x"}\n{"id": "1", "text": "y"}',
            "line 2: the same id as in line 1",
        ),
        ("a.csv", b'id,text\na,"x\ny"\nb\n', "line 4: 1 fields where the first line has 2"),
        ("a.csv", b"id,text\na,the patient's words,too\n", "line 2: 3 fields"),
        ("a.csv", b"id,text\na,\"the patient's words\n", "line 2: broken CSV|line 2.*broken CSV"),
        ("a.csv", b"id,draft\na,x\n", "no column 'text'"),
        ("a.csv", b"id,text, text\na,x,y\n", "line 1: columns 2 and 3 are both called 'text'"),
        (
            "a.tsv",
            b"the patient's words are many\tb\tthe patient's words are many\n",
            "line 1: columns 1 and 3",
        ),
        (
            "a.jsonl",
            b'{"id": "a", "text": "x"}\n{"id": "b", "text": "x", "text": "y"}',
            "line 2: the key 'text'",
        ),
        (
            "a.jsonl",
            b'{"id": "a", "text": "x", "data": {"b": 1, "b": 2}}',
            "line 1: the key 'b' stands twice",
        ),
        (
            "a.jsonl",
            b'{"id": "a", "the patient\'s words. I cough": 1, "the patient\'s words. I cough": 2}',
            "twice",
        ),
        # No header: what stands in the first line is no name.
        ("a.csv", b"id,the patient's words I cannot sleep\na,x\n", r"id', \(a name of 34 characters\)"),
        ("a.csv", b"id,the patient's words! Ow\na,x\n", r"id', \(a name of 23 characters\)"),
        (
            "a.jsonl",
            b'{"id": "the patient\'s words", "text": "x"}\n\n{"id": "the patient\'s words", "text": "y"}',
            "line 3: the same id as in line 1",
        ),
        ("a.xlsx", b"PK", "a spreadsheet in a format of its own. In the spreadsheet, save it as CSV"),
        ("a.txt", b"id,text", r"Use .jsonl, .csv or .tsv"),
        ("a.csv", b"PK\x03\x04", "a spreadsheet or a zip file, whatever its name says"),
        ("a.csv", "id;text\r\n".encode("utf-16"), "UTF-16, not UTF-8. Save it as CSV UTF-8"),
        ("a.jsonl", b"\x7fELF\0\0", "not text .a zero byte at byte 4"),
        ("a.csv", b"id;text\n1,5E+11;x\n1,5E+11;y\n", "A spreadsheet has rounded its long numbers"),
        ("a.jsonl", b'{"id": 1.5, "text": "x"}', "line 1: no id"),
    ],
)
def test_a_broken_file_is_named_with_its_line_and_without_its_text(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(DataError, match=message) as raised:
        replay(path).identity()
    assert str(path) in str(raised.value)
    assert SECRET not in str(raised.value)


def test_columns_without_a_name_do_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("id,text,,\na,one,,\n")
    assert answer(replay(path), tmp_path, "a").text == "one"


def test_a_failure_names_no_id(tmp_path: Path) -> None:
    backend = replay(written(tmp_path / "a.jsonl", {"id": SECRET, "text": None}))
    for instance in (SECRET, f"{SECRET}, and more"):
        with pytest.raises(RequestFailed) as raised:
            answer(backend, tmp_path, instance)
        assert SECRET not in str(raised.value)


def test_a_question_mark_in_a_files_name(tmp_path: Path) -> None:
    path = written(tmp_path / "what?who=me.jsonl", {"ID": "a", "draft": "yes", "text": "no"})
    assert parse_spec(f"replay:{path}").options == {}
    spec = parse_spec(f"replay:{path}?id=ID&column=draft")
    assert (spec.target, spec.options) == (str(path), {"id": "ID", "column": "draft"})
    assert parse_spec(f"replay:{path}#draft?id=ID").target == f"{path}#draft"
    with pytest.raises(ConfigError, match="option without a value"):
        parse_spec(f"replay:{tmp_path}/other?.jsonl")


def test_what_is_no_file_is_called_what_it_is(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    assert "it is a pipe" in replay(tmp_path / "pipe.jsonl").unavailable()
    assert "it is a folder" in replay(_folder(tmp_path / "folder.jsonl")).unavailable()
    long = replay("a" * 5000 + ".jsonl#draft").unavailable()
    assert "name too long" in long
    assert len(long) < 400


def test_a_missing_file_is_unavailable(tmp_path: Path) -> None:
    backend = replay(tmp_path / "none.jsonl")
    assert "no file" in backend.unavailable()
    with pytest.raises(DataError, match="no such file"):
        backend.identity()
    with pytest.raises(DataError, match="it is a folder"):
        replay(_folder(tmp_path / "folder.csv")).identity()


def _folder(path: Path) -> Path:
    path.mkdir()
    return path
