"""`pmbench triage levels`: from labels of pairs to an inbox that can be sorted."""

from __future__ import annotations

import itertools
import json
import math
from datetime import date
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pmbench.cli.main import run

IDS = [f"m{number}" for number in range(12)]
"""The most urgent first."""


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.chdir(tmp_path)

    def command(*arguments: str) -> tuple[int, str, str]:
        status = run(["triage", "levels", *arguments])
        return status, *capsys.readouterr()

    return command


def labels(path: Path, *more: str, header: str = "first,second,more_urgent", word: bool = False) -> None:
    rows = [f"{b},{a},{'second' if word else a}" for a, b in itertools.combinations(IDS, 2)]
    path.write_text("\n".join([header, *rows, *more]) + "\n")


@pytest.mark.parametrize(
    ("header", "word"), [("first,second,more_urgent", False), ("ID_A,ID B,Winner", True)]
)
def test_two_messages_in_each_sixth(told, tmp_path: Path, header: str, word: bool) -> None:
    labels(tmp_path / "l.csv", header=header, word=word)
    status, out, err = told("l.csv")
    rows = [json.loads(line) for line in out.splitlines()]
    assert status == 0
    assert [(row["id"], row["level"]) for row in rows] == [
        (name, 1 + place // 2) for place, name in enumerate(IDS)
    ]
    assert (rows[0]["win_rate"], rows[-1]["win_rate"]) == (1.0, 0.0)
    assert err == "12 messages, 66 labelled pairs\n"


def test_with_its_messages_it_is_an_inbox_that_can_be_sorted(told, tmp_path: Path) -> None:
    labels(tmp_path / "l.csv")
    rows = [
        {"id": name, "message": f"text of {name}", "chart": f"{30 + n} yo man"} for n, name in enumerate(IDS)
    ]
    (tmp_path / "messages.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert told("l.csv", "--messages", "messages.jsonl", "-o", "inbox.jsonl")[0] == 0
    assert (tmp_path / "inbox.jsonl").stat().st_mode & 0o077 == 0
    assert json.loads((tmp_path / "inbox.jsonl").read_text().splitlines()[0]) == {
        **rows[0],
        "level": 1,
        "win_rate": 1.0,
    }
    assert run(["run", "-q", "-t", "inbox-triage", "-s", "random", "-d", "inbox.jsonl"]) == 0
    again = told("l.csv", "-o", "inbox.jsonl")
    assert (again[0], again[2]) == (2, "Error: inbox.jsonl: is there already. Name another file\n")


def test_messages_keep_their_own_order_and_ids_may_have_another_name(told, tmp_path: Path) -> None:
    """The most urgent first would give the right order away to a model that is shown the file."""
    labels(tmp_path / "l.csv")
    rows = [{"No": name, "message": f"text of {name}"} for name in IDS[::-1]]
    (tmp_path / "messages.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    status, out, _ = told("l.csv", "--messages", "messages.jsonl", "--id", "No")
    assert status == 0 and [json.loads(line)["id"] for line in out.splitlines()] == IDS[::-1]


def test_what_the_labels_leave_open_is_counted(told, tmp_path: Path) -> None:
    labels(tmp_path / "l.csv", "m0,m1,m0")
    text = (tmp_path / "l.csv").read_text().splitlines()
    (tmp_path / "l.csv").write_text("\n".join(text[:2] + text[3:]) + "\n")
    err = told("l.csv")[2]
    assert "1 pairs nobody labelled" in err and "1 labels said what was said already" in err


def test_labels_may_be_places(told, tmp_path: Path) -> None:
    labels(tmp_path / "ids.csv")
    for words in (("1", "2"), ("A", "b"), ("first", "Message 2")):
        rows = [
            f"{b},{a},{words[1]}" if n % 2 else f"{a},{b},{words[0]}"
            for n, (a, b) in enumerate(itertools.combinations(IDS, 2))
        ]
        (tmp_path / "l.csv").write_text("\n".join(["id_1,id_2,winner", *rows]) + "\n")
        assert told("l.csv") == told("ids.csv")


def test_a_place_that_is_an_id_too_is_not_guessed_at(told, tmp_path: Path) -> None:
    """Messages numbered from 1: ids in every row are ids; places are refused where they could be ids."""
    pairs = list(itertools.combinations(range(1, 13), 2))
    head = "first,second,more_urgent"
    (tmp_path / "ids.csv").write_text("\n".join([head, *(f"{b},{a},{a}" for a, b in pairs)]) + "\n")
    status, out, _ = told("ids.csv")
    assert status == 0 and [json.loads(line)["id"] for line in out.splitlines()][:3] == ["1", "2", "3"]
    (tmp_path / "places.csv").write_text("\n".join([head, *(f"{b},{a},2" for a, b in pairs)]) + "\n")
    status, out, err = told("places.csv")
    assert (status, out) == (2, "")
    assert err.startswith(
        "Error: places.csv, row 1, column 'more_urgent': this is the id of one message and the"
    )


def test_patients_words_under_ids_are_in_no_error_and_no_remark(told, tmp_path: Path) -> None:
    """`message_1` may hold texts, which is no reason to print them."""
    texts = {name: f"my chest feels tight, {name}" for name in IDS}
    head = "message_1,message_2,label"
    circle = [(a, b) for a, b in itertools.combinations(texts.values(), 2)]
    for rows, words in (
        ([*circle, circle[0][::-1]], "the pair of (a long id) and (a long id) is labelled twice"),
        ([(circle[0][0], circle[0][0])], "the message (a long id) is compared with itself"),
        ([(*circle[0], "neither of them")], "is neither (a long id) nor (a long id)"),
    ):
        written = [",".join(f'"{cell}"' for cell in (*row[:2], row[-1])) for row in rows]
        (tmp_path / "l.csv").write_text("\n".join([head, *written]) + "\n")
        status, out, err = told("l.csv")
        assert (status, out) == (2, "") and words in err and "chest" not in err
    ring = [(texts[IDS[n]], texts[IDS[(n + 1) % 12]], texts[IDS[n]]) for n in range(12)]
    written = [",".join(f'"{cell}"' for cell in row) for row in ring]
    (tmp_path / "l.csv").write_text("\n".join([head, *written]) + "\n")
    status, out, err = told("l.csv")
    assert status == 0 and "at a border between two levels" in err and "chest" not in err
    assert "chest" in out, "the ids of what was asked for"


def test_messages_of_a_parquet_file_are_written_whatever_they_hold(told, tmp_path: Path) -> None:
    labels(tmp_path / "l.csv")
    table = pa.table(
        {
            "id": IDS,
            "message": [f"text of {name}" for name in IDS],
            "seen": [date(2026, 1, 2)] * 12,
            "score": [math.nan, *([0.5] * 11)],
            "cost": [Decimal("1.50")] * 12,
            "tags": [["a", None]] * 12,
        }
    )
    pq.write_table(table, tmp_path / "m.parquet")
    status, out, _ = told("l.csv", "--messages", "m.parquet")
    first = json.loads(out.splitlines()[0], parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
    assert status == 0
    assert (first["seen"], first["score"], first["cost"], first["tags"]) == (
        "2026-01-02",
        None,
        "1.50",
        ["a", None],
    )
    pq.write_table(table.append_column("raw", pa.array([b"x"] * 12)), tmp_path / "b.parquet")
    status, out, err = told("l.csv", "--messages", "b.parquet")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "b.parquet, row 1, column 'raw': cannot be written as JSON (bytes)" in err


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("m0,m1,m1", "l.csv, row 67: the pair of 'm0' and 'm1' is labelled twice"),
        ("m0,m0,m0", "compared with itself"),
        ("m0,m1,both", "the more urgent message is neither"),
        ("m0,,m0", "l.csv, row 67: a label without an id"),
    ],
)
def test_bad_labels_are_errors_of_one_line(told, tmp_path: Path, row: str, words: str) -> None:
    labels(tmp_path / "l.csv", row)
    status, out, err = told("l.csv")
    assert (status, out, err.count("\n")) == (2, "", 1) and words in err


def test_files_that_are_none_are_errors_of_one_line(told, tmp_path: Path) -> None:
    labels(tmp_path / "l.csv")
    (tmp_path / "odd.csv").write_text("x,y\n1,2\n")
    two = [{"id": name, "message": name, "inbox": "ab"[n % 2]} for n, name in enumerate(IDS)]
    (tmp_path / "two.jsonl").write_text("".join(json.dumps(row) + "\n" for row in two))
    (tmp_path / "few.jsonl").write_text('{"id": "m0", "message": "secret words"}\n')
    (tmp_path / "twice.jsonl").write_text('{"id": "m0"}\n{"id": "m0"}\n')
    for arguments, words in (
        (("none.csv",), "none.csv"),
        (("odd.csv",), "has no column 'first' and no column 'second' and no column 'more_urgent'"),
        (("l.csv", "--messages", "few.jsonl"), "no message of the inbox has the id"),
        (
            ("l.csv", "--messages", "twice.jsonl"),
            "twice.jsonl, row 2, column 'id': an id that another message has",
        ),
        (("l.csv", "-o", "nowhere/x.jsonl"), "cannot be written"),
        (("l.csv", "--messages", "two.jsonl"), "has messages of several inboxes"),
        (("l.csv", "-o", "x.csv"), "is to hold JSON lines"),
        (
            ("l.csv", "--messages", "odd.csv"),
            "has no column 'id'. Say which column holds the ids: --id COLUMN",
        ),
    ):
        status, out, err = told(*arguments)
        assert (status, out, err.count("\n")) == (2, "", 1), arguments
        assert words in err and "secret" not in err
