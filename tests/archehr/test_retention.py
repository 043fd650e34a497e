"""How much of an answer its editor kept."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pmbench import DataError
from pmbench_tasks.archehr.retention import lemmas, retention


def test_lemmas_of_a_sentence() -> None:
    text = "The patient's kidneys were injured, and 2.5 mg was NOT given twice |1,2| [3]."
    assert lemmas(text) == Counter(
        dict.fromkeys(("patient", "kidney", "injure", "2.5", "mg", "not", "give", "twice"), 1)
    )


def test_inflection_is_no_change_and_order_neither() -> None:
    found = retention({"1": "Antibiotics were given."}, {"1": "He was giving one antibiotic."})
    assert found.share.value == 1.0


def test_a_word_is_kept_as_often_as_both_have_it() -> None:
    found = retention({"1": "Pain, pain and pain. Fever."}, {"1": "Pain with pain."})
    assert (found.kept, found.lemmas) == (2, 4)
    assert found.share.value == 0.5


def test_all_together_and_the_mean_of_answers() -> None:
    original = {"1": "fever cough pain nausea", "2": "fever", "3": "it was", "4": "gone"}
    found = retention(original, {"1": "fever cough", "2": "fever", "3": "", "5": "new"})
    assert found.by_answer == {"1": 0.5, "2": 1.0, "3": None}
    assert found.share.value == 3 / 5
    assert found.mean.value == 0.75
    assert (found.answers, found.only_original, found.only_edited) == (3, 1, 1)


def test_nothing_in_common_is_an_error() -> None:
    with pytest.raises(DataError, match="no answer is in both"):
        retention({"1": "a"}, {"2": "a"})


@given(st.lists(st.text(max_size=30), min_size=1, max_size=4), st.lists(st.text(max_size=30), min_size=1))
def test_shares_are_shares(before: list[str], after: list[str]) -> None:
    original = {str(place): text for place, text in enumerate(before)}
    found = retention(original, {str(place): text for place, text in enumerate(after)}, resamples=10)
    assert 0 <= found.kept <= found.lemmas
    for one in (found.share, found.mean):
        assert one.value is None or 0 <= one.value <= 1
    same = retention(original, original, resamples=10)
    assert same.kept == same.lemmas
