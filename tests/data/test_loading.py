"""Loading for a task: sources, columns, ids, validation, notes, sensitivity, fingerprint."""

from __future__ import annotations

import datetime
import hashlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from letters_task import SECRET, Letters, Private, as_nobody, lines, said, write
from pyarrow import parquet

from pmbench import Column, ConfigError, DataError, DatasetSpec, Instance, Row, Task, UnknownName, UserError
from pmbench.data.loading import Dataset, load, parse_columns


def refused(path: object, *parts: str, task: Task | None = None, **options: Any) -> UserError:
    with pytest.raises(UserError) as caught:
        load(task or Letters(), None if path is None else str(path), **options)
    said(caught.value, *parts)
    return caught.value


def of(tmp_path: Path, content: str, name: str = "a.csv", **options: Any) -> Dataset:
    return load(Letters(), str(write(tmp_path, name, content)), **options)


class TestSources:
    def test_demo_data_are_public_whatever_the_dataset_is(self) -> None:
        dataset = load(Letters(), "demo")
        assert [instance.id for instance in dataset.instances] == ["d1", "d2"]
        assert (dataset.source.kind, dataset.sensitivity) == ("demo", "public")
        assert dataset.source.location == "demo (demo_letters.jsonl)"

    def test_a_task_without_demo_data(self) -> None:
        refused("demo", "has no demo data", "--data FILE", task=Private())

    def test_a_users_file_is_phi_unless_they_say(self, tmp_path: Path) -> None:
        path = str(lines(tmp_path, {"id": "1", "message": "a"}))
        assert load(Letters(), path).sensitivity == "phi"
        assert load(Letters(), path, sensitivity="public").sensitivity == "public"
        assert load(Letters(), "demo", sensitivity="phi").sensitivity == "phi"

    def test_the_sum_of_the_file_is_recorded(self, tmp_path: Path) -> None:
        path = lines(tmp_path, {"id": "1", "message": "a"})
        source = load(Letters(), str(path)).source
        assert (source.kind, source.location) == ("file", str(path))
        assert source.files == {"a.jsonl": hashlib.sha256(path.read_bytes()).hexdigest()}

    def test_a_folder_with_one_readable_file_is_that_file(self, tmp_path: Path) -> None:
        lines(tmp_path, {"id": "1", "message": "a"})
        write(tmp_path, "README.md", "about")
        write(tmp_path, ".hidden.csv", "x")
        dataset = load(Letters(), str(tmp_path))
        assert dataset.source.kind == "folder"
        assert list(dataset.source.files) == ["a.jsonl"]
        assert dataset.notes == [f"read from {tmp_path / 'a.jsonl'}"]

    def test_a_folder_with_none_or_several(self, tmp_path: Path) -> None:
        refused(tmp_path, "no file in this folder", ".csv")
        lines(tmp_path, {"id": "1", "message": "a"})
        lines(tmp_path, {"id": "1", "message": "a"}, name="b.jsonl")
        refused(tmp_path, "'a.jsonl', 'b.jsonl'", f"--data {tmp_path / 'a.jsonl'}")

    def test_a_path_that_is_not_there_suggests_the_nearest_names(self, tmp_path: Path) -> None:
        path = lines(tmp_path, {"id": "1", "message": "a"}, name="messages.jsonl")
        refused(tmp_path / "mesages.jsonl", "no such file", f"Did you mean {path}?")
        refused(tmp_path / "quux", "no such file", "Files there: messages.jsonl")
        refused(tmp_path / "gone" / "x.csv", "no such file", "no readable folder")
        refused("org/letters", "hub:org/letters")

    @pytest.mark.parametrize("data", ["", "  "])
    def test_an_empty_data_option_is_not_this_folder(
        self, tmp_path: Path, data: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        lines(tmp_path, {"id": "1", "message": "a"})
        monkeypatch.chdir(tmp_path)
        refused(data, "--data: names no file")
        assert load(Letters(), ".").source.kind == "folder"

    def test_what_is_no_file_or_folder(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe.csv")
        (tmp_path / "broken.csv").symlink_to("gone")
        refused(tmp_path / "pipe.csv", "pipe.csv", "pipe")
        refused(tmp_path / "broken.csv", "link to a file that is not there")
        refused("/dev/stdin" if Path("/dev/stdin").is_char_device() else "/dev/null", "device")

    def test_a_folder_that_may_not_be_read(self, tmp_path: Path) -> None:
        folder = tmp_path / "closed"
        folder.mkdir()
        for outer in (tmp_path, *list(tmp_path.parents)[:3]):
            outer.chmod(0o755)
        folder.chmod(0)
        with as_nobody():
            refused(folder, "closed", "may not be read")
        folder.chmod(0o700)

    def test_a_private_set_needs_data_and_shows_the_format(self) -> None:
        error = refused(
            None, "private-letters needs --data FILE", "belongs to a hospital", "May I swim?", task=Private()
        )
        assert "message, chart (optional)" in str(error)

    def test_options_that_do_not_fit_the_source(self, tmp_path: Path) -> None:
        path = lines(tmp_path, {"id": "1", "message": "a"})
        refused(path, "--revision", "hub", revision="main")
        refused(path, "--split", "hub", split="test")
        refused("hub:letters", "hub:ORGANISATION/NAME")

    def test_the_task_reads_its_own_shape_first(self, tmp_path: Path) -> None:
        class Own(Letters):
            def read(self, path: Path) -> Iterable[Row] | None:
                if not path.is_dir():
                    return None
                texts = sorted(path.glob("*.txt"))
                return [Row({"id": t.stem, "message": t.read_text()}, str(t), 1) for t in texts]

        write(tmp_path, "x.txt", "one")
        write(tmp_path, "y.txt", "two")
        dataset = load(Own(), str(tmp_path))
        assert dataset.column("message") == {"x": "one", "y": "two"}
        assert dataset.source.kind == "folder"
        write(tmp_path, "y.txt", " ")
        refused(tmp_path, f"{tmp_path / 'y.txt'}, row 1, column 'message'", "blank", task=Own())
        (tmp_path / "none").mkdir()
        refused(tmp_path / "none", "no rows", task=Own())


class TestColumns:
    def test_asked_for_beats_own_name_beats_guess(self, tmp_path: Path) -> None:
        dataset = of(tmp_path, "id,message,msg\n1,own,guess\n")
        assert (dataset.column("message"), dataset.guessed, dataset.notes) == (
            {"1": "own"},
            frozenset(),
            ["not read by letters: 'msg'"],
        )
        dataset = of(tmp_path, "id,message,msg\n1,own,guess\n", columns={"message": "msg"})
        assert dataset.column("message") == {"1": "guess"}
        assert dataset.guessed == frozenset()
        assert dataset.notes == ["the file's own column 'message' is not used"]

    @pytest.mark.parametrize(
        "found", ["Message", " MESSAGE ", "msg", "MSG", "patient_message", "Patient-Message"]
    )
    def test_guesses_ignore_case_and_joining_signs_and_are_printed(self, tmp_path: Path, found: str) -> None:
        dataset = of(tmp_path, f"id,{found}\n1,hello\n")
        assert dataset.columns == {"id": "id", "message": found}
        assert dataset.guessed == {"message"}
        assert dataset.notes == [
            f"column 'message' is read from {found!r} (a guess; --columns decides)",
        ]
        assert dataset.column("message") == dataset.column(found) == {"1": "hello"}

    def test_columns_that_the_task_does_not_read_are_named_unless_they_look_like_text(
        self, tmp_path: Path
    ) -> None:
        names = ["language", f"I have {SECRET} since Tuesday morning", *"abcde"]
        dataset = of(tmp_path, f"id,message,{','.join(names)}\n1,own{',x' * 7}\n")
        assert dataset.notes == [
            f"not read by letters: 'language', (a name of {len(names[1])} characters), 'a', 'b', 'c' and 2 more"
        ]

    def test_own_name_in_another_spelling_beats_a_guess(self, tmp_path: Path) -> None:
        assert of(tmp_path, "id,msg,Message\n1,guess,own\n").columns["message"] == "Message"

    def test_two_columns_that_fit_are_not_chosen_between(self, tmp_path: Path) -> None:
        path = write(tmp_path, "a.csv", f"id,msg,patient message\n1,{SECRET},b\n")
        refused(path, "a.csv", "'msg', 'patient message'", "--columns message=msg")
        path = write(tmp_path, "b.csv", f"id,text\n1,{SECRET}\n")
        refused(path, "'text' could be 'message' or 'reply'", "--columns message=text")
        assert load(Letters(), str(path), columns={"reply": ""}).column("message") == {"1": SECRET}

    def test_a_required_column_that_is_not_there(self, tmp_path: Path) -> None:
        path = write(tmp_path, "a.csv", f"id,question,ehr\n1,{SECRET},b\n")
        refused(path, "no column 'message'", "'id', 'question', 'ehr'", "--columns message=COLUMN")
        assert load(Letters(), str(path), columns={"message": "question"}).columns == {
            "id": "id",
            "message": "question",
            "chart": "ehr",
        }

    def test_a_column_asked_for_that_is_not_there(self, tmp_path: Path) -> None:
        path = write(tmp_path, "a.csv", f"id,message,question\n1,{SECRET},b\n")
        refused(path, "no column 'questoin'", "Did you mean 'question'?", columns={"message": "questoin"})

    def test_a_column_that_the_task_has_not(self, tmp_path: Path) -> None:
        path = lines(tmp_path, {"id": "1", "message": "a"})
        error = refused(path, "column of letters", "'mesage'", "--columns", columns={"mesage": "m"})
        assert "Did you mean message?" in str(error)
        assert isinstance(error, UnknownName)

    def test_the_first_row_of_a_headerless_file_is_not_shown(self, tmp_path: Path) -> None:
        text = f"I wanted to ask you whether {SECRET} is to be expected after a week"
        refused(write(tmp_path, "a.csv", f"1,{text}\n2,{text}\n"), "characters)", "have a header")

    def test_other_separators_are_recognised(self, tmp_path: Path) -> None:
        for mark in (";", "\t"):
            text = f'id{mark}message\n1{mark}"a, quoted{mark} {SECRET}"\n'
            found = load(Letters(), str(write(tmp_path, "a.csv", text))).instances
            assert [(i.id, i.inputs["message"]) for i in found] == [("1", f"a, quoted{mark} {SECRET}")]

    @pytest.mark.parametrize(
        ("name", "mark"), [("a.csv", "|"), ("a.csv", "^"), ("a.tsv", ","), ("a.tsv", ";")]
    )
    def test_a_separator_that_is_not_known_is_pointed_at(self, tmp_path: Path, name: str, mark: str) -> None:
        path = write(tmp_path, name, f"id{mark}message\n1{mark}{SECRET}\n")
        hint = "" if mark == "^" else f"'{mark}' separates no columns: save the file as .csv"
        refused(path, f"'id{mark}message'", hint)

    def test_slices_are_found_and_numbers_become_text(self, tmp_path: Path) -> None:
        path = lines(
            tmp_path,
            {"id": 7, "message": "a", "clinic": 3, "Age_Band": "40-50"},
            {"id": 8, "message": "b", "clinic": None, "Age_Band": "50-60"},
        )
        dataset = load(Letters(), str(path))
        assert [i.slices for i in dataset.instances] == [
            {"clinic": "3", "age band": "40-50"},
            {"clinic": "", "age band": "50-60"},
        ]
        assert dataset.guessed == {"age band"}

    def test_parse_columns(self) -> None:
        assert parse_columns("message=msg, chart=ehr") == {"message": "msg", "chart": "ehr"}
        assert parse_columns("message=a=b,id=") == {"message": "a=b", "id": ""}
        assert parse_columns(r"message=last\, first\\x,") == {"message": r"last, first\x"}
        assert parse_columns("") == {}
        for bad in ("message", "=msg", "a=b,a=c"):
            with pytest.raises(ConfigError) as caught:
                parse_columns(bad)
            said(caught.value, "--columns")


class TestRows:
    @pytest.mark.parametrize("blank", [None, "", "  \n"])
    def test_a_required_value_that_is_missing(self, tmp_path: Path, blank: str | None) -> None:
        good = {"id": "1", "msg": SECRET}
        path = lines(tmp_path, good, {"id": "2", "msg": blank})
        refused(path, "a.jsonl, row 2, column 'msg'", "required", "Fill it in")

    def test_the_other_bad_rows_are_counted(self, tmp_path: Path) -> None:
        rows = [{"id": str(n), "message": SECRET if n == 1 else None} for n in range(1, 15)]
        refused(lines(tmp_path, *rows), "row 2, column 'message'", "(and 12 more rows)")
        refused(lines(tmp_path, *rows[:3]), "row 2, column 'message'", "(and 1 more row)")

    def test_a_column_that_some_rows_lack(self, tmp_path: Path) -> None:
        refused(lines(tmp_path, {"id": "1", "message": "a"}, {"id": "2"}), "row 2, column 'message'")

    @pytest.mark.parametrize(
        ("value", "called"),
        [(3, "a number"), ([SECRET], "a list"), ({SECRET: 1}, "an object"), (True, "true or false")],
    )
    def test_a_message_that_is_no_text(self, tmp_path: Path, value: Any, called: str) -> None:
        refused(lines(tmp_path, {"id": "1", "message": value}), "row 1, column 'message'", called)
        refused(lines(tmp_path, {"id": "1", "message": "a", "chart": value}), "column 'chart'", called)

    def test_a_slice_that_is_a_list(self, tmp_path: Path) -> None:
        path = lines(tmp_path, {"id": "1", "message": "a", "clinic": [SECRET]})
        refused(path, "row 1, column 'clinic'", "a list")

    def test_columns_of_any_kind_keep_lists_and_labels_take_numbers(self, tmp_path: Path) -> None:
        class Inbox(Task):
            name = "inbox"
            dataset = DatasetSpec(
                columns=(Column("thread", "", kind="any"), Column("level", "", kind="label"))
            )

            def instances(self, rows: Iterable[Row]) -> Iterator[Instance]:
                for row in rows:
                    yield Instance(row.text("id"), {"t": row.values["thread"]}, {"l": row.values["level"]})

        path = lines(tmp_path, {"id": "1", "thread": ["a", {"b": 1}], "level": 4})
        instance = load(Inbox(), str(path)).instances[0]
        assert (instance.inputs, instance.target) == ({"t": ["a", {"b": 1}]}, {"l": "4"})


class TestIds:
    def test_rows_without_ids_are_numbered_and_that_is_said(self, tmp_path: Path) -> None:
        dataset = of(tmp_path, "message\na\n\nb\n")
        assert [instance.id for instance in dataset.instances] == ["1", "2"]
        assert dataset.notes == ["no column of ids: rows are numbered 1 to 2"]

    def test_ids_are_guessed_and_can_be_declined(self, tmp_path: Path) -> None:
        content = "Message-ID,message\nx,a\ny,b\n"
        assert list(of(tmp_path, content).column("message")) == ["x", "y"]
        assert list(of(tmp_path, content, columns={"id": ""}).column("message")) == ["1", "2"]

    def test_numbers_become_text(self, tmp_path: Path) -> None:
        dataset = load(
            Letters(), str(lines(tmp_path, {"id": 1, "message": "a"}, {"id": 2.5, "message": "b"}))
        )
        assert [instance.id for instance in dataset.instances] == ["1", "2.5"]

    def test_numbers_become_text_where_the_task_names_the_column_itself_too(self, tmp_path: Path) -> None:
        class Named(Letters):
            dataset = DatasetSpec(columns=(Column("id", "its number"), *Letters.dataset.columns))

        assert load(Named(), str(lines(tmp_path, {"id": 1, "message": "a"}))).column("id") == {"1": "1"}
        refused(lines(tmp_path, {"message": "a"}), "no column 'id' (its number)", task=Named())

    def test_numbers_and_dates_of_parquet(self, tmp_path: Path) -> None:
        when = [datetime.date(2024, 5, 6), datetime.date(2024, 5, 7)]
        path = tmp_path / "a.parquet"
        parquet.write_table(pa.table({"id": when, "message": ["a", "b"], "clinic": [1.5, None]}), path)
        first, second = load(Letters(), str(path)).instances
        assert (first.id, first.slices, second.slices) == ("2024-05-06", {"clinic": "1.5"}, {"clinic": ""})
        parquet.write_table(pa.table({"id": [1.0, float("nan")], "message": ["a", "b"]}), path)
        refused(path, "row 2, column 'id'", "NaN")

    def test_the_same_id_twice_names_both_rows(self, tmp_path: Path) -> None:
        row = {"message": "a"}
        path = lines(tmp_path, {"id": SECRET, **row}, {"id": "2", **row}, {"id": SECRET, **row})
        refused(path, "a.jsonl, row 3, column 'id'", "same id as row 1", "--columns id=")
        path = lines(tmp_path, {"id": 1, **row}, {"id": "1", **row}, {"id": 1, **row})
        refused(path, "row 2", "same id as row 1", "(and 1 more row)")

    @pytest.mark.parametrize("ident", [None, "", " "])
    def test_a_row_without_its_id(self, tmp_path: Path, ident: str | None) -> None:
        path = lines(tmp_path, {"uid": "1", "message": SECRET}, {"uid": ident, "message": "b"})
        refused(path, "a.jsonl, row 2, column 'uid'", "no id")

    def test_an_id_that_is_a_list(self, tmp_path: Path) -> None:
        refused(lines(tmp_path, {"id": [SECRET], "message": "a"}), "row 1, column 'id'", "a list")


class Given(Letters):
    """Makes the instances that it was given, whatever the rows."""

    def __init__(self, *instances: Instance) -> None:
        super().__init__()
        self.given = instances

    def instances(self, rows: Iterable[Row]) -> Iterator[Instance]:
        yield from self.given


DEEP: list[Any] = []
for _ in range(100_000):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    ("instances", "parts"),
    [
        ([], ("make no instance",)),
        ([Instance("x", {}, {}), Instance("x", {}, {})], ("2 instances have the id 'x'", "unique")),
        ([Instance(f"{SECRET} it hurts", {}, {})] * 2, ("a long id",)),
        ([Instance("x", {"m": object()}, {})], ("instance 'x'", "JSON")),
        ([Instance("x", {}, {"m": [1.0, {"n": float("nan")}]})], ("instance 'x'", "NaN")),
        ([Instance("x", {"m": f"{SECRET}\ud800"}, {})], ("instance 'x'", "JSON")),
        ([Instance("x", {"m": DEEP}, {})], ("instance 'x'", "nested too deeply")),
    ],
)
def test_instances_are_checked(instances: list[Instance], parts: tuple[str, ...]) -> None:
    refused("demo", *parts, task=Given(*instances))


class TestColumnOfTheDataset:
    def test_any_column_by_the_tasks_name_or_the_files(self, tmp_path: Path) -> None:
        path = lines(
            tmp_path,
            {"id": "1", "msg": "a", "draft": "d", "n": 3},
            {"id": "2", "msg": "b", "draft": None, "n": 4},
            {"id": "3", "msg": "c", "draft": "", "n": None},
        )
        dataset = load(Letters(), str(path))
        assert dataset.column("message") == dataset.column("msg") == {"1": "a", "2": "b", "3": "c"}
        assert dataset.column("draft") == {"1": "d", "3": ""}
        assert dataset.column("n") == {"1": "3", "2": "4"}

    def test_no_such_column(self, tmp_path: Path) -> None:
        dataset = load(Letters(), str(lines(tmp_path, {"id": "1", "message": SECRET, "draft": [SECRET]})))
        with pytest.raises(DataError) as caught:
            dataset.column("drafts")
        said(caught.value, "a.jsonl", "'drafts'", "'draft'")
        with pytest.raises(DataError) as caught:
            dataset.column("draft")
        said(caught.value, "a.jsonl, row 1, column 'draft'", "not text")
