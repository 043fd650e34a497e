"""An answer as the official scorer reads it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pmbench_tasks.archehr.answers import MOST_WORDS, Line, parse_official

SHARED = Path(os.environ.get("PMBENCH_SHARED") or Path(__file__).parents[3] / "shared")
CONFORMANCE = SHARED / "conformance" / "archehr"

needs_conformance = pytest.mark.skipif(
    not (CONFORMANCE / "expected.json").is_file(), reason="the conformance data are not here (PMBENCH_SHARED)"
)


@needs_conformance
@pytest.mark.parametrize(
    "name", ["submission_extract", "submission_human", "submission_long", "submission_messy"]
)
def test_text_and_citations_are_the_official_ones(name: str) -> None:
    expected = json.loads((CONFORMANCE / "expected.json").read_text())[name]
    submission = json.loads((CONFORMANCE / f"{name}.json").read_text())
    read = {case["case_id"]: parse_official(case["answer"]) for case in submission}
    assert {case: sorted(answer.citations) for case, answer in read.items()} == expected["citations"]
    assert {case: answer.text for case, answer in read.items()} == expected["answers"]


@pytest.mark.parametrize(
    ("line", "text", "citations"),
    [
        ("A b. |1, 2|", "A b.", {"1", " 2"}),  # not stripped: 2 is missed
        ("A |1| then B |2|", "A |1| then B.", {"2"}),  # the first mark is lost and stays in the text
        ("A |1|3|", "A |1.", {"3"}),
        ("A |1-3|", "A.", {"1-3"}),  # no range, no check against the note
        ("A |abc|", "A.", {"abc"}),
        ("A. ||", "A.", set()),
        ("A. | |", "A.", set()),
        ("A |1|.", "A.", {"1"}),  # what follows the last bar is dropped
        ("|4|", "", {"4"}),
        ("A | b", "A | b.", set()),  # a lone bar stays
        ("A? |1|", "A?", {"1"}),
        ("A, |1,1,2|", "A,.", {"1", "2"}),
        ("A [1].", "A [1].", set()),
        ("  A |1|\r", "A.", {"1"}),
    ],
)
def test_one_line(line: str, text: str, citations: set[str]) -> None:
    read = parse_official(line)
    assert read.text == text
    assert set(read.citations) == citations


def test_lines_keep_their_citations_and_blank_ones_are_no_lines() -> None:
    read = parse_official("\n A |2,1|\n\n  \nB\n|7|\n")
    assert read.lines == (Line("A.", ("2", "1")), Line("B.", ()), Line("", ("7",)))
    assert read.citations == ("2", "1", "7")
    assert read.text == "A. B."


def test_nothing_is_cut_at_75_words_and_one_at_76() -> None:
    exact = parse_official("w " * 74 + "w. |1|")
    assert (exact.words, exact.cut, len(exact.text.split(" "))) == (75, False, 75)
    longer = parse_official("w " * 75 + "w. |1|\nBeyond it. |2|")
    assert (longer.words, longer.cut) == (78, True)
    assert longer.text == " ".join("w" * 75)  # and no full stop is added after the cut
    assert longer.citations == ("1", "2")  # citations of what was cut off still count


def test_only_single_spaces_part_words() -> None:
    read = parse_official("one\ttwo\u00a0three  four |1|")
    assert read.words == 2
    assert read.text == "one\ttwo\u00a0three  four."  # kept as it is where nothing is cut


@pytest.mark.parametrize("answer", ["", " \n\n ", "|", "||", "|||", "\t"])
def test_an_answer_without_anything(answer: str) -> None:
    read = parse_official(answer)
    assert (read.citations, read.cut) == ((), False)


def test_a_very_long_answer_is_read() -> None:
    read = parse_official("word " * 10_000)
    assert (read.words, read.cut, len(read.text.split(" "))) == (10_000, True, MOST_WORDS)


@given(st.text(alphabet="ab1,| .!\n\t-[]\u00a0|", max_size=200))
def test_whatever_is_written_something_is_read(answer: str) -> None:
    read = parse_official(answer)
    assert len([word for word in read.text.split(" ") if word.strip()]) <= MOST_WORDS
    assert read.cut == (read.words > MOST_WORDS)
    assert set(read.citations) == {item for line in read.lines for item in line.citations}
    assert all(item.strip() and "," not in item and "|" not in item for item in read.citations)
    assert all(not line.text or line.text[-1] in ".!?" for line in read.lines)


@given(st.lists(st.tuples(st.text(alphabet="abc ", min_size=1), st.sets(st.integers(0, 30))), max_size=6))
def test_what_is_written_in_the_format_comes_back(lines: list[tuple[str, set[int]]]) -> None:
    written = [(f"x {text} x.", [str(one) for one in sorted(cited)]) for text, cited in lines]
    read = parse_official("\n".join(f"{text} |{','.join(cited)}|" for text, cited in written))
    assert [(line.text, list(line.citations)) for line in read.lines] == written
