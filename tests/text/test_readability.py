"""The grade of a text is the published formula over sentences that a decimal point does not end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pmbench.text.readability import flesch_kincaid_grade


@pytest.mark.parametrize(
    ("text", "words", "sentences", "syllables"),
    [
        ("The cat sat on the mat.", 6, 1, 6),
        ("This sentence, taken as a reading passage unto itself, is being used to prove a point.", 16, 1, 23),
        ("We stopped metformin because your kidneys were recovering.", 8, 1, 15),
        ("Your level was 2.6 today. It was 1.0 before.", 9, 2, 12),
        ("Don’t stop it.\nCall us.", 5, 2, 5),
        ("Take care 🙂", 2, 1, 2),
    ],
)
def test_by_hand(text: str, words: int, sentences: int, syllables: int) -> None:
    by_hand = 0.39 * words / sentences + 11.8 * syllables / words - 15.59
    assert flesch_kincaid_grade(text) == pytest.approx(by_hand, abs=1e-12)


@pytest.mark.parametrize("text", ["", "  \n", "🩺🩺", "… !?", "\x00\x1b"])
def test_a_text_without_a_word_has_no_grade(text: str) -> None:
    assert flesch_kincaid_grade(text) is None


def test_a_number_is_read_as_one_syllable() -> None:
    assert (
        flesch_kincaid_grade("Take 5.")
        == flesch_kincaid_grade("Take 500.")
        == flesch_kincaid_grade("Take 2.5.")
    )


def test_long_words_and_long_sentences_are_harder() -> None:
    easy = flesch_kincaid_grade("We stopped the pill. Your heart is fine now.")
    hard = flesch_kincaid_grade(
        "Anticoagulation was discontinued secondary to gastrointestinal haemorrhage, necessitating transfusion."
    )
    assert easy is not None
    assert hard is not None
    assert easy < 4 < 12 < hard


@given(st.text(max_size=300))
def test_any_text(text: str) -> None:
    grade = flesch_kincaid_grade(text)
    assert grade is None or grade > -16


@pytest.mark.parametrize(
    "text", ["שלום עולם.", "今天很好。", "\ud83d word", "a" * 100_000, "take two tablets. " * 6_000]
)
def test_hostile_text(text: str) -> None:
    assert flesch_kincaid_grade(text) is not None
