"""Which column of a file of responses holds the ids and which the text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from pmbench.core.errors import ConfigError, DataError, UnknownName, UserError
from pmbench.models.answer_columns import find_columns
from pmbench.models.recordings import read_rows


def found(folder: Path, header: str, asked: Mapping[str, str] | None = None, **more: Any) -> Sequence[str]:
    """Text, id and notes for a table with that header."""
    path = folder / "a.csv"
    path.write_text(f"{header}\n{','.join('x' for _ in header.split(','))}\n", encoding="utf-8")
    columns = find_columns(read_rows(path), "a.csv", asked or {}, id_names=("uid", "message id"), **more)
    return (columns.text, columns.id, *columns.notes)


@pytest.mark.parametrize(
    "name", ["response", "Draft", "reply", "ANSWER", "output", "completion", "LLM draft"]
)
def test_a_usual_name_is_guessed_and_the_guess_is_told(tmp_path: Path, name: str) -> None:
    text, id_, note = found(tmp_path, f"id,{name},seconds")
    assert (text, id_) == (name, "id")
    assert note == f"responses are read from {name!r} (a guess; --response-columns decides)"


def test_the_plain_names_are_no_guess(tmp_path: Path) -> None:
    assert found(tmp_path, "text,id") == ("text", "id")


@pytest.mark.parametrize("name", ["ID", "Message_ID", "UID"])
def test_ids_under_another_usual_name(tmp_path: Path, name: str) -> None:
    assert found(tmp_path, f"{name},text")[:2] == ("text", name)


def test_what_is_asked_for_decides(tmp_path: Path) -> None:
    header = "id,uid,text,draft,reply"
    assert found(tmp_path, header, {"text": "reply", "id": "uid"}) == ("reply", "uid")
    assert found(tmp_path, header, {"text": "draft", "id": ""}) == ("draft", "")


@pytest.mark.parametrize(
    ("header", "asked", "kind", "parts"),
    [
        (
            "id,draft,reply",
            {},
            DataError,
            ("2 columns could be the responses: 'draft', 'reply'", "text=COLUMN"),
        ),
        ("id,text,draft", {}, DataError, ("2 columns could be the responses: 'text', 'draft'",)),
        ("id,words", {}, DataError, ("no column of responses", "Columns found: 'id', 'words'.")),
        ("text,words", {}, DataError, ("no column of ids", "Columns found: 'text', 'words'.")),
        ("uid,Message ID,text", {}, DataError, ("2 columns could be the ids: 'uid', 'Message ID'", "id=uid")),
        ("id,text", {"text": "txt"}, DataError, ("no column 'txt'", "Did you mean 'text'?")),
        ("id,text", {"id": "key"}, DataError, ("no column 'key'", "names for 'id'")),
        ("id,text", {"text": ""}, ConfigError, ("no column is named for 'text'",)),
        ("id,text", {"txt": "text"}, UnknownName, ("called 'txt'", "Did you mean text?")),
        ("id,I cannot sleep any more since May", {}, DataError, ("(a name of 33 characters)",)),
    ],
)
def test_what_cannot_be_told_is_an_error_with_the_columns(
    tmp_path: Path, header: str, asked: dict[str, str], kind: type[UserError], parts: Sequence[str]
) -> None:
    with pytest.raises(kind) as raised:
        found(tmp_path, header, asked)
    for part in parts:
        assert part in str(raised.value)
    assert "cannot sleep" not in str(raised.value)


def test_a_reference_is_not_taken_for_the_response(tmp_path: Path) -> None:
    needed = ("message", "response")
    assert found(tmp_path, "id,message,response,draft", of_data=needed)[0] == "draft"
    assert found(tmp_path, "id,response", of_data=needed)[0] == "response"
    with pytest.raises(DataError, match="no column of responses"):
        found(tmp_path, "id,message,response", of_data=needed)


def test_a_file_that_is_the_data_is_not_guessed_in_but_numbered(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"it holds the data too.*'message', 'draft'"):
        found(tmp_path, "message,draft", is_data=True)
    assert found(tmp_path, "message,draft", {"text": "draft"}, is_data=True) == ("draft", "")
    assert found(tmp_path, "id,message,draft", {"text": "draft"}, is_data=True) == ("draft", "id")


def test_structured_answers_need_no_text(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"id": "a", "data": {"x": 1}}\n')
    assert find_columns(read_rows(path), "a.jsonl", {}).text == "text"
