"""An answer read with goodwill: what a clinician would take its citations to mean."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pmbench_tasks.archehr.answers import Line, parse_official
from pmbench_tasks.archehr.clean_answers import parse_clean

KNOWN = [str(number) for number in range(1, 41)]


def lines(answer: str, known: list[str] = KNOWN) -> list[tuple[str, tuple[str, ...]]]:
    return [(line.text, line.citations) for line in parse_clean(answer, known).lines]


@pytest.mark.parametrize(
    ("mark", "citations"),
    [
        ("|1,2|", ("1", "2")),
        ("|1, 2|", ("1", "2")),
        ("| 1 ,2 |.", ("1", "2")),
        ("|1;2|", ("1", "2")),
        ("|1 2|", ("1", "2")),
        ("|1 and 2|", ("1", "2")),
        ("|1|2|", ("1", "2")),
        ("|1| |2|", ("1", "2")),
        ("[1, 2]", ("1", "2")),
        ("[1, 2].", ("1", "2")),
        ("[1][2]", ("1", "2")),
        ("(sentences 1 and 2)", ("1", "2")),
        ("(see sentence 4)", ()),  # words that say something are text
        ("(sentence 4).", ("4",)),
        ("|1-3|", ("1", "2", "3")),
        ("|1–3, 9|", ("1", "2", "3", "9")),
        ("[1 to 3]", ("1", "2", "3")),
        ("|S1, s. 2|", ("1", "2")),
        ("|sentence 4, Sentence 5|", ("4", "5")),
        ("|[1], [2]|", ("1", "2")),
        ('|"1", "2"|', ("1", "2")),
        ("|#3|", ("3",)),
        ("|07|", ("7",)),
        ("|12", ("12",)),  # the closing bar was forgotten
        ("12|", ("12",)),  # the opening one
        ("\\|1,2\\|", ("1", "2")),
        ("||", ()),
    ],
)
def test_ways_to_cite(mark: str, citations: tuple[str, ...]) -> None:
    ((_, found),) = lines(f"He had a fever. {mark}")
    assert found == citations


@pytest.mark.parametrize(
    ("answer", "sentences"),
    [
        ("```answer\nA. |1|\n```", [("A.", ("1",))]),
        ("```\nA. |1|\nB. |2|\n```", [("A.", ("1",)), ("B.", ("2",))]),
        ("```answer. It was given |5,6|. It helped |6|.```", [("It was given.", ("5", "6")), ("It helped.", ("6",))]),
        ("- A |1|\n* B |2|\n• C |3|", [("A.", ("1",)), ("B.", ("2",)), ("C.", ("3",))]),
        ("1. A |1|\n2) B |2|", [("A.", ("1",)), ("B.", ("2",))]),
        ("# Answer\nA |1|", [("A.", ("1",))]),
        ("**Why it was stopped**\nA |1|", [("A.", ("1",))]),
        ("**He should call.**", [("He should call.", ())]),  # bold, but a sentence
        ("Sure! Here is the answer:\nA |1|", [("A.", ("1",))]),
        ("Answer: A |1|", [("A.", ("1",))]),
        ("One thing |1| Another thing |2|", [("One thing.", ("1",)), ("Another thing.", ("2",))]),
        ("A drip |1| which helped |2|.", [("A drip which helped.", ("1", "2"))]),
        ("A drip |1|, then tablets |2|.", [("A drip, then tablets.", ("1", "2"))]),
        ("A fever [1]. A cough [2].", [("A fever.", ("1",)), ("A cough.", ("2",))]),
        ("A fever.\n|3|\nA cough.", [("A fever.", ("3",)), ("A cough.", ())]),
        ("A fever.\nCitations: |3|", [("A fever.", ("3",))]),
        ("|3|\nA fever.", [("", ("3",)), ("A fever.", ())]),
        ("Ask your doctor | if unsure", [("Ask your doctor | if unsure.", ())]),
        ("It was 100 [100 mg] or (2) more", [("It was 100 [100 mg] or (2) more.", ())]),
        ("", []),
        (" \n ", []),
    ],
)  # fmt: skip
def test_what_surrounds_sentences(answer: str, sentences: list[tuple[str, tuple[str, ...]]]) -> None:
    assert lines(answer) == sentences


def test_what_is_no_sentence_of_the_note_is_returned_apart() -> None:
    read = parse_clean("A. |1,99|\nB. |CT head|\nC. [98-99]", KNOWN)
    assert read.citations == ("1",)
    assert read.unknown == ("99", "CT head", "98")
    assert [line.text for line in read.lines] == ["A.", "B.", "C."]


def test_ids_are_opaque() -> None:
    read = parse_clean("A. |s-1, b2|\nB. |2-3|\nC. |note 4|", ["s-1", "B2", "2-3", "note 4"])
    assert read.citations == ("s-1", "B2", "2-3", "note 4")
    assert read.unknown == ()


def test_a_range_has_only_what_is_there() -> None:
    read = parse_clean("A. |1-4|\nB. |5-1|\nC. |1-999999999|", ["1", "3"])
    assert read.citations == ("1", "3")
    assert read.unknown == ("2", "4", "5-1", "1-999999999")


def test_citations_of_what_was_cut_off_do_not_count() -> None:
    half = " ".join("w" * 40)
    read = parse_clean(f"{half}. |1|\n{half}. |2|\nBeyond it. |3|\n|4|", KNOWN)
    assert (read.cut, read.words) == (True, 82)
    assert read.citations == ("1", "2")  # a word of the second is left
    assert read.text == parse_official(f"{half}. |1|\n{half}. |2|\nBeyond it. |3|").text
    exact = " ".join("w" * 75)
    assert parse_clean(f"{exact}. |1|\nBeyond it. |2|", KNOWN).citations == ("1",)


def test_long_answers_of_odd_signs_take_no_time() -> None:
    for answer in (
        "word " * 10_000,
        "|" * 10_000,
        "[" * 10_000,
        "1 " * 10_000 + "x|",
        "a |1| " * 2_000,
        "w |1-500|, " * 1_000,
        "|1|\n" * 10_000,
        "|" + "1-40," * 5_000 + "|",
        "(" * 5_000,
    ):
        parse_clean(answer, KNOWN)


def test_what_nobody_sees_is_no_sentence() -> None:
    assert lines("\u200b |1|\nA. |2|\n\u2060.\n") == [("", ("1",)), ("A.", ("2",))]
    assert lines("\u200b") == []


SENTENCES = st.builds(
    lambda words, end: " ".join(words) + end,
    st.lists(
        st.from_regex(r"[A-Za-z]{2,7}[,;]?|[0-9]{1,3} mg|[A-Z]\.", fullmatch=True), min_size=1, max_size=8
    ),
    st.sampled_from(["", ".", "!", "?"]),
)
CITATIONS = st.lists(st.sampled_from(KNOWN), max_size=5)


@given(st.lists(st.tuples(SENTENCES, CITATIONS), max_size=8))
def test_answers_in_the_format_are_read_alike(written: list[tuple[str, list[str]]]) -> None:
    answer = "\n".join(f"{text} |{','.join(cited)}|" for text, cited in written)
    official, clean = parse_official(answer), parse_clean(answer, KNOWN)
    assert (clean.text, clean.lines) == (official.text, official.lines)
    assert (clean.words, clean.cut, clean.unknown) == (official.words, official.cut, ())
    if not official.cut:
        assert clean.citations == official.citations


@given(st.text(alphabet="aB1279,;| .!?\n-[]()*#`:\\", max_size=120))
def test_no_citation_that_counts_officially_is_lost(answer: str) -> None:
    known = ["1", "2", "7", "9", "12", "a", "B1"]
    official, clean = parse_official(answer), parse_clean(answer, known)
    assert set(clean.citations) <= set(known)
    assert not set(clean.unknown) & set(known)
    if not clean.cut:
        assert set(official.citations) & set(known) <= set(clean.citations)
    assert all(isinstance(line, Line) and (line.text or line.citations) for line in clean.lines)
