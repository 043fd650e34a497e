"""What is wrong with an answer is found by program, and told in words."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path

import pytest
from given_answers import NOTE, PLAIN, RIGHT, SENTENCES
from hypothesis import given
from hypothesis import strategies as st

from pmbench import Completion
from pmbench_tasks.archehr.base import inputs_of
from pmbench_tasks.archehr.cases import Case
from pmbench_tasks.archehr.ids import ReadIds, read_ids
from pmbench_tasks.archehr.official_lines import official_line
from pmbench_tasks.archehr.problems import (
    CODES,
    Check,
    Problem,
    cited_answer_check,
    id_list_check,
    labelled_ids,
    labelled_ids_check,
    plain_answer_check,
    question_check,
)
from pmbench_tasks.archehr.reading import read_folder
from pmbench_tasks.archehr.tries import FEEDBACK

KNOWN = [sentence["id"] for sentence in SENTENCES]


def codes(check: Check, text: str, finish: str = "stop") -> list[str]:
    return [problem.code for problem in check(Completion(text, finish=finish))]  # type: ignore[arg-type]


LONG = " ".join(["word"] * 40)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (RIGHT, []),
        (RIGHT + "\nAsk your doctor.", []),
        ("  \n", ["empty"]),
        ("```", ["empty"]),
        (f"```answer\n{RIGHT}\n```", ["code-fence"]),
        ("- It made her dizzy. |5|\n- She had pneumonia. |2|", ["list-mark"]),
        ("1. It made her dizzy. |5|", ["list-mark"]),
        (f"Here is the answer:\n{RIGHT}", ["heading"]),
        (f"**Answer**\n{RIGHT}", ["heading"]),
        ("It made her dizzy. She had pneumonia. |5|", ["several-sentences"]),
        ("It made her dizzy. |5|\nIt made her dizzy. |5|", ["repeated-line"]),
        (f"{NOTE[4]} |5|\n{NOTE[2]} |3|", ["repeated-note"]),
        (f"{LONG}. |5|\n{LONG}. |3|", ["repeated-line", "over-length"]),
        ("It made her dizzy.", ["no-citation"]),
        ("It made her dizzy. ||", ["no-citation"]),
        ("It made her dizzy. |5, 3|", ["citation-form"]),
        ("It made her dizzy. |2-5|", ["citation-form"]),
        ("It made her dizzy. [5]", ["citation-form"]),
        ("It made her dizzy. |99|", ["unknown-id"]),
        ("It made her dizzy. |5,99|", ["unknown-id"]),
        ("```\nIt made her dizzy. She had pneumonia.", ["code-fence", "several-sentences", "no-citation"]),
    ],
)
def test_faults_of_a_cited_answer(text: str, expected: Sequence[str]) -> None:
    assert codes(cited_answer_check(SENTENCES), text) == expected


def test_an_answer_that_was_cut_off_is_told_so() -> None:
    assert codes(cited_answer_check(SENTENCES), RIGHT, "length") == ["cut-off"]
    assert codes(plain_answer_check(SENTENCES), PLAIN, "length") == ["cut-off"]


def test_only_sentences_that_were_shown_can_be_cited() -> None:
    assert codes(cited_answer_check(SENTENCES[4:]), "It made her dizzy. |5|") == []
    assert codes(cited_answer_check(SENTENCES[4:]), "It made her dizzy. |5,2|") == ["unknown-id"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (PLAIN, []),
        ("", ["empty"]),
        (RIGHT, ["early-citation"]),
        ("It made her dizzy [5].", ["early-citation"]),
        ("It made her dizzy, at 5 mg.", []),
        (f"{LONG} {LONG}.", ["over-length"]),
        (f"{NOTE[4]} {NOTE[2]}", ["repeated-note"]),
    ],
)
def test_faults_of_a_plain_answer(text: str, expected: Sequence[str]) -> None:
    assert codes(plain_answer_check(SENTENCES), text) == expected


@pytest.mark.parametrize(
    ("text", "expected", "found"),
    [
        ("A1: 5\nA2: 2,3", [], [("5",), ("2", "3")]),
        ("A1: 5\nA2: none", [], [("5",), ()]),
        ("A1: It made her dizzy. |5|\nA2: She had pneumonia [2, 3]", [], [("5",), ("2", "3")]),
        ("**A1**: 2-4", ["missing-sentence"], [("2", "3", "4"), None]),
        ("A1: none\nA2: none", ["no-citation"], [(), ()]),
        ("A1: 5\nA2: 77", ["unknown-id"], [("5",), ()]),
        ("A1: the fifth one\nA2: 3", ["not-a-list"], [(), ("3",)]),
        ("nothing", ["missing-sentence"], [None, None]),
        ("", ["empty"], [None, None]),
    ],
)
def test_faults_of_the_second_prompt(
    text: str, expected: Sequence[str], found: Sequence[tuple[str, ...] | None]
) -> None:
    assert codes(labelled_ids_check(KNOWN, 2), text) == expected
    assert [one.ids if one else None for one in labelled_ids(text, KNOWN, 2)] == found


def test_an_alignment_may_have_no_link() -> None:
    assert codes(labelled_ids_check(KNOWN, 1, some=False), "A1: none") == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2, 5", []),
        ("none", []),
        ("[2] [5]", []),
        ("Sentences 2 and 5.", []),
        ("2, 99", ["unknown-id"]),
        ("The answer needs [2], [5].", []),
        ("It is about 2 things.", ["not-a-list"]),
        ("", ["empty"]),
    ],
)
def test_faults_of_a_list_of_ids(text: str, expected: Sequence[str]) -> None:
    assert codes(id_list_check(KNOWN), text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Why was furosemide stopped?", []),
        ('"Why was furosemide stopped?"', []),
        ("", ["empty"]),
        ("Furosemide.", ["not-a-question"]),
        ("Why?\nWhat?", ["several-lines"]),
        ("why " * 16 + "?", ["over-length"]),
        ("```Why?```", ["code-fence"]),
    ],
)
def test_faults_of_a_question(text: str, expected: Sequence[str]) -> None:
    assert codes(question_check, text) == expected


@pytest.mark.parametrize("code", CODES)
def test_every_fault_is_told_in_words_of_its_own(code: str) -> None:
    told = FEEDBACK.render(previous="x", problems=[Problem(code, "99")], most_words=75)
    fault = told.partition("What is wrong with it:\n")[2].splitlines()
    assert len(fault) == 2 and fault[0].startswith("- ") and fault[1].startswith("Write it anew")


@given(st.text(max_size=80), st.sampled_from(["stop", "length"]))
def test_whatever_is_written_faults_have_known_codes_in_order(text: str, finish: str) -> None:
    order = list(CODES)
    for check in (
        cited_answer_check(SENTENCES),
        plain_answer_check(SENTENCES),
        labelled_ids_check(KNOWN, 3),
        id_list_check(KNOWN),
        question_check,
    ):
        found = codes(check, text, finish)
        assert found == sorted(set(found), key=order.index)


@given(st.lists(st.sampled_from(KNOWN), unique=True), st.sampled_from([",", ", ", " ", "; ", "\n"]))
def test_ids_are_read_back_however_they_are_parted(ids: list[str], between: str) -> None:
    assert read_ids(between.join(ids), KNOWN) == ReadIds(tuple(ids))


def test_ids_are_opaque() -> None:
    known = ["n-1", "n-2", "07"]
    assert read_ids("n-2, 07, n-9", known) == ReadIds(("n-2", "07"), ("n-9",))


DEMO = Path(str(files("pmbench_tasks.archehr") / "demo"))


def demo_cases() -> Mapping[str, Case]:
    return {row.values["id"]: row.values["case"] for row in read_folder(DEMO) or ()}


def test_nothing_is_wrong_with_answers_of_the_demo() -> None:
    submitted = {one["case_id"]: one["answer"] for one in json.loads((DEMO / "submission.json").read_text())}
    for ident, case in demo_cases().items():
        sentences = inputs_of(case)["sentences"]
        gold = "\n".join(official_line(one.text, one.citations) for one in case.answer_sentences)
        check = cited_answer_check(sentences)
        assert (codes(check, gold), codes(check, submitted[ident])) == ([], [])
        assert codes(plain_answer_check(sentences), case.answer) == []


def test_faults_of_the_demo_are_found() -> None:
    """Each case of the messy submission has the fault that the demo's README names."""
    expected = {
        "d1": "code-fence",
        "d2": "citation-form",
        "d3": "unknown-id",
        "d4": "over-length",
        "d5": "empty",
        "d6": "citation-form",
        "d7": "citation-form",
        "d8": "citation-form",
        "d9": "several-sentences",
        "d10": "list-mark",
        "d11": "heading",
        "d12": "citation-form",
    }
    cases = demo_cases()
    submitted = json.loads((DEMO / "submission-messy.json").read_text())
    found = {
        one["case_id"]: codes(
            cited_answer_check(inputs_of(cases[one["case_id"]])["sentences"]), one["answer"]
        )
        for one in submitted
    }
    assert {ident: code in found[ident] for ident, code in expected.items()} == dict.fromkeys(expected, True)
