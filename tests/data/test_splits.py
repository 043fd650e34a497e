"""Splits of a dataset in a task's own shape: never joined unasked."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pmbench.core.dataset import Row
from pmbench.core.errors import ConfigError
from pmbench.data.splits import of_split


def rows(*splits: str) -> list[Row]:
    return [Row({"id": str(n), **({"split": one} if one else {})}, "f", n) for n, one in enumerate(splits, 1)]


def ids(found: list[Row]) -> list[str]:
    return [row.text("id") for row in found]


def test_the_usual_split_is_taken_and_that_is_said() -> None:
    found, (note,) = of_split(rows("dev", "test", "test"), None, "test", "folder")
    assert ids(found) == ["2", "3"]
    assert note == "split test: 2 of 3 (--split decides; there are dev (1), test (2))"


def test_several_splits_are_joined_when_asked_for() -> None:
    assert ids(of_split(rows("dev", "test", "more"), "dev+more", "test", "folder")[0]) == ["1", "3"]
    assert of_split(rows("dev", "test"), "dev+test", "test", "folder")[1] == []


def test_one_split_or_none_is_taken_as_it_is() -> None:
    assert of_split(rows("dev", "dev"), None, "test", "folder") == (rows("dev", "dev"), [])
    assert of_split(rows("", ""), None, "test", "folder") == (rows("", ""), [])


@pytest.mark.parametrize(
    ("splits", "asked", "usual", "told"),
    [
        (("dev", "test"), "train", "test", "there is no split 'train', but dev (1), test (1)"),
        (("dev", "more"), None, "test", "there are several splits: dev (1), more (1)"),
        (("", ""), "test", "", "there is no split 'test': the data have no splits"),
    ],
)
def test_what_is_not_there_is_refused_with_what_is(splits, asked, usual, told) -> None:
    with pytest.raises(ConfigError) as refused:
        of_split(rows(*splits), asked, usual, "folder")
    assert told in str(refused.value)
    assert "--data folder" in str(refused.value)


@given(st.lists(st.sampled_from(["dev", "test", "more"]), min_size=1))
def test_the_splits_asked_one_by_one_are_all_rows(splits: list[str]) -> None:
    every = rows(*splits)
    parts = [ids(of_split(every, name, "test", "f")[0]) for name in dict.fromkeys(splits)]
    assert sorted(int(one) for part in parts for one in part) == list(range(1, len(every) + 1))


def test_rows_of_no_split_are_told_and_never_joined_to_a_half() -> None:
    found, (note,) = of_split(rows("dev", "test", ""), None, "test", "folder")
    assert ids(found) == ["2"]
    assert "and 1 of no split" in note
    with pytest.raises(ConfigError, match=r"several splits: dev \(1\), and 2 of no split"):
        of_split(rows("dev", "", ""), None, "test", "folder")
