"""A passage that a judge quotes is found in the draft as a reader would find it, and taken out of it."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pmbench import find_span, remove_spans

WORDS = st.sampled_from(["a", "ab", "rest", "Straße", "İzmir", "5", "mg", "well", "unwell"])


@pytest.mark.parametrize(
    ("text", "span", "found"),
    [
        (
            "Your  iron level\nlooks NORMAL.",
            "your iron level looks normal.",
            "Your  iron level\nlooks NORMAL.",
        ),
        ("We’ll call you.", "We'll call you", "We’ll call you"),
        ("Rest — or work – later.", "rest - or work - later", "Rest — or work – later"),
        ("Rest--or work.", "Rest—or work", "Rest--or work"),
        ("Please rest.", '"Please rest."', "Please rest."),
        ("Please rest.", "“ ‘Please rest.’ ”", "Please rest."),
        ("Die Straße ist zu.", "STRASSE IST", "Straße ist"),
        ("İzmir is far.", "i̇zmir is", "İzmir is"),
        ("Call us. Rest. Call us.", "call us.", "Call us."),
        ("unwell, well", "well", "well"),
        ("unwell", "well", None),
        ("wells", "well", None),
        ("ß", "s", None),
        ("Please rest.", "", None),
        ("Please rest.", ' "" ', None),
        ("", "rest", None),
        ("Please rest.", "rest well", None),
    ],
)
def test_examples(text: str, span: str, found: str | None) -> None:
    place = find_span(text, span)
    assert (None if place is None else text[place[0] : place[1]]) == found


def test_the_first_whole_word_counts() -> None:
    assert find_span("unwell, well, well", "well") == (8, 12)


@given(st.lists(WORDS, min_size=1, max_size=12), st.data())
def test_a_run_of_words_is_found_where_it_first_stands(words: list[str], data: st.DataObject) -> None:
    first = data.draw(st.integers(0, len(words) - 1))
    last = data.draw(st.integers(first, len(words) - 1))
    text, asked = "  ".join(words), "\n".join(words[first : last + 1]).swapcase()
    wanted = [word.casefold() for word in words[first : last + 1]]
    folded = [word.casefold() for word in words]
    expected = next(i for i in range(len(words)) if folded[i : i + len(wanted)] == wanted)
    place = find_span(text, asked)
    assert place is not None
    assert text[place[0] : place[1]].split() == words[expected : expected + len(wanted)]
    assert len(text[: place[0]].split()) == expected


@given(st.text(max_size=80), st.text(max_size=20))
def test_what_is_found_is_what_was_asked(text: str, span: str) -> None:
    place = find_span(text, span)
    if place is not None:
        start, end = place
        assert 0 <= start < end <= len(text)
        left, right = text[max(0, start - 1) : start + 1], text[end - 1 : end + 1]
        assert not re.fullmatch(r"[a-z]{2}", left)
        assert not re.fullmatch(r"[a-z]{2}", right)


@given(st.text(max_size=40), st.lists(st.tuples(st.integers(0, 45), st.integers(0, 45)), max_size=5))
def test_the_union_of_spans_is_removed(text: str, spans: list[tuple[int, int]]) -> None:
    gone = {i for start, end in spans for i in range(start, end)}
    kept = "".join(letter for i, letter in enumerate(text) if i not in gone)
    assert remove_spans(text, [span for span in spans if span[0] <= span[1]]) == kept


def test_long_drafts() -> None:
    text = "the patient should rest. " * 12_500 + "Finally call us."
    assert find_span(text, "FINALLY call us") == (312_500, 312_515)
    assert find_span("a" * 300_000, "a" * 1000) is None


@given(
    st.text("ab ", min_size=1, max_size=4),
    st.integers(1, 300),
    st.text("ab ", max_size=6),
    st.text("ab ", min_size=1, max_size=12),
    st.integers(0, 4),
)
def test_in_text_that_repeats_itself_the_first_place_at_word_boundaries_is_found(
    unit: str, times: int, end: str, span: str, doubled: int
) -> None:
    text, span = " ".join((unit * times + end).split()), " ".join((span * 2**doubled).split())
    expected = re.search(rf"(?<!\w){re.escape(span)}(?!\w)", text) if span else None
    assert find_span(text, span) == (expected.span() if expected else None)


def test_half_an_emoji_is_found_by_the_sign_that_stands_for_it() -> None:
    assert find_span("Call us \ud83d now.", "us \ufffd now") == (5, 13)


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("Take 1.5 mg daily.", "5 mg daily"),
        ("Take 1,500 mg.", "500 mg"),
        ("Take 1.5 mg.", "take 1"),
        ("İstanbul", "stanbul"),
        ("cafe\u0301s", "cafe"),
    ],
)
def test_a_part_of_a_number_or_of_a_letter_is_no_passage(text: str, span: str) -> None:
    assert find_span(text, span) is None


def test_a_number_at_the_end_of_a_sentence_is_a_passage() -> None:
    assert find_span("Take 5. Then rest.", "take 5") == (0, 6)
    assert find_span("See 3.", "3.") == (4, 6)
