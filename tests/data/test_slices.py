"""Results name subgroups by their labels, so what is no label never becomes one, whatever the task."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from letters_task import SECRET, Letters, lines

from pmbench import Instance, Row
from pmbench.core.errors import UserError
from pmbench.data.loading import Dataset, load
from pmbench.data.slices import LONGEST_LABEL, MOST_LABELS, MOST_WORDS, usable_slices


def of(tmp_path: Path, *labels: Any, column: str = "clinic") -> Dataset:
    rows = [{"id": str(n), "message": "a", column: label} for n, label in enumerate(labels)]
    return load(Letters(), str(lines(tmp_path, *rows)))


@pytest.mark.parametrize(
    "label",
    [
        f"Mrs Jane Doe has {SECRET} since Tuesday",
        "a b c d e f",
        "x" * (LONGEST_LABEL + 1),
        f"{SECRET}\nagain",
    ],
)
def test_a_column_with_one_label_as_long_as_text_is_no_slice(tmp_path: Path, label: str) -> None:
    found = of(tmp_path, "north", "north", label)
    assert all("clinic" not in instance.slices for instance in found.instances)
    assert found.notes == ["'clinic' is not used as a slice: labels that look like text"]
    assert found.column("clinic")["2"] == label


def test_labels_at_the_limits_are_kept(tmp_path: Path) -> None:
    labels = ["x" * LONGEST_LABEL, " ".join("x" * MOST_WORDS), "65 and over"]
    found = of(tmp_path, *labels)
    assert [instance.slices["clinic"] for instance in found.instances] == labels
    assert found.notes == []


@pytest.mark.parametrize(
    ("different", "instances", "why"),
    [
        (MOST_LABELS, 200, ""),
        (MOST_LABELS + 1, 200, "51 different labels"),
        (10, 10, ""),
        (11, 22, ""),
        (11, 21, "11 different labels in 21 instances"),
    ],
)
def test_too_many_labels_make_no_slice(tmp_path: Path, different: int, instances: int, why: str) -> None:
    found = of(tmp_path, *(f"ward {number % different}" for number in range(instances)))
    assert [note for note in found.notes if "slice" in note] == (
        [f"'clinic' is not used as a slice: {why}"] if why else []
    )
    assert all(("clinic" in instance.slices) == (not why) for instance in found.instances)


def test_the_note_names_the_files_column(tmp_path: Path) -> None:
    found = of(tmp_path, "a " * 6, "b", column="Age_Band")
    assert "column 'Age_Band' is not used as slice 'age band': labels that look like text" in found.notes


def test_other_slices_stay_and_the_fingerprint_is_of_what_is_run(tmp_path: Path) -> None:
    rows = [{"id": str(n), "message": "a", "clinic": "x" * 50, "age band": "old"} for n in range(2)]
    found = load(Letters(), str(lines(tmp_path, *rows)))
    assert [instance.slices for instance in found.instances] == [{"age band": "old"}] * 2
    bare = [{name: value for name, value in row.items() if name != "clinic"} for row in rows]
    assert load(Letters(), str(lines(tmp_path, *bare))).fingerprint == found.fingerprint


class Made(Letters):
    """A stranger's task, which makes its instances and slices as it likes."""

    def __init__(self, *made: Any) -> None:
        super().__init__()
        self.made = made

    def instances(self, rows: Iterable[Row]) -> Iterator[Instance]:
        yield from self.made


def test_slices_that_a_task_makes_up_are_checked_too() -> None:
    made = [Instance(str(n), {}, {}, None, {"words": f"{SECRET} {n}", SECRET * 3: "a"}) for n in range(60)]
    found = load(Made(*made), "demo")
    assert not any(instance.slices for instance in found.instances)
    assert found.notes == [
        "2 slices are not used: 'words' (60 different labels), (a name of 57 characters) (its name looks like text)"
    ]


def test_many_slices_that_are_none_are_one_line_with_five_names() -> None:
    made = [
        Instance(str(n), {}, {}, None, {f"s{k}": f"{SECRET} {n}" for k in range(200)} | {"a": "", "b": " "})
        for n in range(60)
    ]
    made += [Instance("x", {}, {}, None, {"a": "north", "b": "south"})]
    notes = load(Made(*made), "demo").notes
    assert len(notes) == 2 and not any(SECRET in note for note in notes)
    assert notes[0].startswith("200 slices are not used: 's0' (") and notes[0].endswith(") and 195 more")
    assert "'s4'" in notes[0] and "'s5'" not in notes[0]
    assert "'a' (60), 'b' (60)" in notes[1] and "of 61 " in notes[1]


def test_rows_without_a_label_are_told_of(tmp_path: Path) -> None:
    notes = of(tmp_path, "north", "", "south", None).notes
    assert notes == [
        "slice 'clinic': 2 of 4 instances have no label and are in none of its subgroups",
    ]


@pytest.mark.parametrize(
    ("made", "what"),
    [
        ({"id": "1"}, "is of type dict"),
        (Instance(1, {}, {}), "its id is of type int"),  # type: ignore[arg-type]
        (Instance("1", {}, {}, 7), "its cluster is of type int"),  # type: ignore[arg-type]
        (Instance("1", {}, {}, None, {"ward": 3}), "a slice's name or label"),  # type: ignore[dict-item]
        (Instance("1", {}, {}, None, ["ward"]), "its slices are of type list"),  # type: ignore[arg-type]
    ],
)
def test_instances_of_another_shape_are_the_tasks_fault(made: Any, what: str) -> None:
    with pytest.raises(UserError, match=f"instance 1 of letters: {what}"):
        load(Made(made), "demo")


@given(st.lists(st.text(max_size=50), min_size=1, max_size=80))
def test_no_note_quotes_a_label_and_what_is_kept_is_short(labels: list[str]) -> None:
    instances = [
        Instance(str(n), {}, {}, None, {"ward": f"{SECRET}{label}"}) for n, label in enumerate(labels)
    ]
    kept, notes = usable_slices(instances, {"ward": "ward"})
    assert [instance.id for instance in kept] == [instance.id for instance in instances]
    assert not any(SECRET in note for note in notes)
    shown = {label for instance in kept for label in instance.slices.values()}
    assert len(shown) <= MOST_LABELS
    assert all(len(label) <= LONGEST_LABEL and len(label.split()) <= MOST_WORDS for label in shown)
    assert bool(shown) != any("not used" in note for note in notes)
