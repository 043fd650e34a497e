"""Replies and drafts are split where a reader would end a sentence, whatever they hold."""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pmbench import SPLITTER, split_sentences

GOLD = Path(__file__).parents[2] / "benchmarks" / "data" / "sentences.jsonl"

ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=()), max_size=200)


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        (
            "Dr. Lee called. Take 2.5 mg b.i.d. with food.",
            ["Dr. Lee called.", "Take 2.5 mg b.i.d. with food."],
        ),
        ("Increase to 5 mg. daily.", ["Increase to 5 mg. daily."]),
        ("Come at 8 a.m. tomorrow. Fast first.", ["Come at 8 a.m. tomorrow.", "Fast first."]),
        ("It looks fine.Please rest.", ["It looks fine.", "Please rest."]),
        ("Write to a.Lee@example.Org or see www.example.Org/Go.", None),
        ("Really?! Good.", ["Really?!", "Good."]),
        ("Do this:\n1. Rest.\n2) Drink\n- Sleep", ["Do this:", "1. Rest.", "2) Drink", "- Sleep"]),
        ("1.\n2.\nRest.", ["Rest."]),
        ("Hi Ana\n\nAll is well", ["Hi Ana", "All is well"]),
        ("😀 🎉 ... !!", []),
        ("", []),
        (" \n\t ", []),
    ],
)
def test_examples(text: str, sentences: list[str] | None) -> None:
    assert split_sentences(text) == ([text] if sentences is None else sentences)


def test_a_long_line_that_was_wrapped_is_one_sentence() -> None:
    text = (
        "Please keep the dressing dry for two full days after the procedure and\nthen change it once a day."
    )
    assert split_sentences(text) == [text]


def test_most_of_the_hand_split_passages_come_out_right() -> None:
    passages = [json.loads(line)["marked"] for line in GOLD.read_text(encoding="utf-8").splitlines()]
    right = [
        len(split_sentences(marked.replace("¦", "")))
        == len([p for p in marked.split("¦") if p.strip(" 🎉👍🙂")])
        for marked in passages
    ]
    assert sum(right) / len(right) > 0.9


@given(ANY_TEXT)
def test_any_text_splits_into_substrings_in_order(text: str) -> None:
    at = 0
    for sentence in split_sentences(text):
        assert any(letter.isalnum() for letter in sentence)
        assert sentence == sentence.strip()
        at = text.index(sentence, at) + len(sentence)


@given(
    st.lists(
        st.sampled_from(["rest", "Call us.", "5 mg.", "fever?", "\n", "e.g. this", "😀", "Yes!"]), max_size=20
    )
)
def test_no_word_is_lost(parts: list[str]) -> None:
    text = " ".join(parts)
    words = [word for word in text.split() if any(letter.isalnum() for letter in word)]
    found = [w for s in split_sentences(text) for w in s.split() if any(letter.isalnum() for letter in w)]
    assert found == words


@pytest.mark.parametrize(
    "line", ["Please rest at home. ", "rest at home and ", "- rest at home\n", "! 😀 ", "Ab.Cd "]
)
def test_a_draft_of_50_000_words_is_split(line: str) -> None:
    text = line * 12_500
    assert len(split_sentences(text + "x")) in (1, 12_500, 12_501)


@pytest.mark.parametrize("mark", ["“", "'", "«", "好。", "“Rest. ", "(", "rest at home\n", "a\r"])
def test_text_that_opens_quotes_without_end_is_split_soon(mark: str) -> None:
    text = f"x {mark * (400_000 // len(mark))} y"
    assert "".join(split_sentences(text)).startswith("x")


@pytest.mark.parametrize("unit", ["Please rest at home, Dr. Lee says. ", "Is it 5 p.m. or 6 p.m. today? "])
def test_a_very_long_line_is_split_as_a_short_one_is(unit: str) -> None:
    assert split_sentences(unit * 3) == [unit.strip()] * 3
    for times in (100, 1_000, 3_000):
        assert split_sentences(unit * times) == [unit.strip()] * times


def test_a_very_long_sentence_stays_one() -> None:
    text = "and rest at home " * 2_000 + "now."
    assert split_sentences(text) == [text]
    assert split_sentences("x" * 50_000) == ["x" * 50_000]


@given(
    st.lists(st.sampled_from(["Rest.", "Call Dr. Lee today!", "at 5 p.m.", "ok", "Why?"]), min_size=1),
    st.integers(1, 12_000),
)
def test_where_a_long_line_begins_does_not_matter(parts: list[str], before: int) -> None:
    sentences = split_sentences(" ".join(["Fine."] * 2 + parts))
    filler = "Fine. " * (before // 6)
    assert split_sentences(filler + " ".join(["Fine."] * 2 + parts))[before // 6 :] == sentences


def test_the_splitter_says_its_name_and_version() -> None:
    name, number, rules = SPLITTER.split(" ", 2)
    assert number == f"{version(name)},"
    assert rules.startswith("rules ")
