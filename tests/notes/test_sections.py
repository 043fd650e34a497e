"""Notes are divided as the published scripts of ACI-bench and MEDIQA-Chat 2023 divide them."""

from __future__ import annotations

import hashlib
import json
from collections import Counter

import pytest
from given_notes import NOTE
from hypothesis import given
from hypothesis import strategies as st

from pmbench import UnknownName
from pmbench_tasks.notes.sections import (
    EMPTY,
    HEADERS,
    SECTIONS,
    STANDARD_HEADERS,
    Headers,
    body_of,
    headers_of,
    is_empty,
    join_sections,
    known_section,
    pieces_of,
    sections_of,
)

S, E, R, A = SECTIONS

OFFSETS = "89f85f1c34a39fafb19bb121df38d2391d5ca728dc45f977087c11f5acea87fc"
"""SHA-256 of where the published scripts let the divisions of the 60 notes begin and end: the same for both lists."""

LINES: list[
    tuple[str, str | None, str | None]
] = [  # a line; what it opens by ACI-bench's list, by MEDIQA-Chat's
    ("CHIEF COMPLAINT", S, S),
    ("Chief complaint and more", S, None),
    ("chiefcomplaint:", S, S),
    ("History", S, S),
    ("History of falls", None, None),
    ("HISTORY OF PRESENT ILLNESS of today", S, S),
    ("hpi", S, S),
    ("HPIs are short", S, S),
    ("SOCIAL HISTORY", S, None),
    ("MEDICAL HISTORY", None, None),
    ("  Interval  Hx : stable", S, S),
    ("REVIEW OF SYSTEMS", S, S),
    ("ros: negative", S, S),
    ("ros negative", None, None),
    ("PE :", E, E),
    ("Physical exam normal", E, None),
    ("PHYSICAL EXAM", E, E),
    ("exam", E, E),
    ("exam today", None, None),
    ("VITALS REVIEWED", E, None),
    ("VITALS", None, None),
    ("- Examination: no oedema", None, None),
    ("RESULTS", R, R),
    ("Results of the scan", R, None),
    ("Findings: clear", R, R),
    ("findings are clear", None, None),
    ("IMPRESSION", A, A),
    ("IMPRESSIONS were good", A, A),
    ("Impression:", None, None),
    ("PLAN", A, A),
    ("PLAN for today", None, None),
    ("plan of care : rest", A, A),
    ("Summary plan", A, A),
    ("A", A, A),
    ("a:", A, A),
    ("a :", None, None),
    ("P: rest", A, A),
    ("A/P: rest", A, A),
    ("Assessment & Plan", A, A),
    ("ASSESSMENT AND PLAN today", A, None),
    ("assessment of the knee", None, None),
    ("INSTRUCTIONS", None, None),
]


def opened(line: str, headers: Headers) -> str | None:
    return next((header.section for header in headers_of(line, headers=headers)), None)


def test_the_divisions_of_sixty_notes_are_those_of_the_published_scripts(aci_notes: dict[str, str]) -> None:
    for headers in HEADERS:
        found = [
            [ident, [[one.section, one.start, one.end] for one in pieces_of(note, headers=headers)]]
            for ident, note in aci_notes.items()
        ]
        assert hashlib.sha256(json.dumps(found, separators=(",", ":")).encode()).hexdigest() == OFFSETS


def test_as_many_notes_have_each_division_as_is_published(aci_notes: dict[str, str]) -> None:
    there = {ident: sections_of(note) for ident, note in aci_notes.items()}
    test1 = Counter(
        name for ident, found in there.items() if ident >= "D2N088" for name in SECTIONS if found[name]
    )
    assert test1 == {S: 40, E: 40, R: 32, A: 40}
    every = Counter(name for found in there.values() for name in SECTIONS if found[name])
    assert every == {S: 60, E: 59, R: 50, A: 60}
    assert not any(is_empty(text) for found in there.values() for text in found.values() if text)


@pytest.mark.parametrize(("line", "aci", "mediqa"), LINES)
def test_lines_open_what_they_open_in_the_published_scripts(
    line: str, aci: str | None, mediqa: str | None
) -> None:
    assert (opened(line, "aci-bench"), opened(line, "mediqa-chat")) == (aci, mediqa)


def test_a_division_reaches_to_where_another_begins() -> None:
    note = "He fell.\nPE: Fine.\nSOCIAL HISTORY\nSmokes.\nPLAN: Rest.\nPHYSICAL EXAM\nAgain."
    assert sections_of(note) == {
        S: "He fell.\n",
        E: "PE: Fine.\nSOCIAL HISTORY\nSmokes.\n",
        R: "",
        A: "PLAN: Rest.\nPHYSICAL EXAM\nAgain.",
    }
    assert sections_of("Only words.")[S] == "Only words."
    assert sections_of("\nRESULTS\nGood.") == {S: "\n", E: "", R: "RESULTS\nGood.", A: ""}
    assert set(sections_of("").values()) == {""}


HEADINGS = st.sampled_from([line for line, _, _ in LINES])
TEXT = st.text(alphabet=st.sampled_from("aP:\n\r\t •\u2028\xa0ſé🙂"), max_size=12)
NOTES = st.lists(st.one_of(HEADINGS, TEXT, st.text()), max_size=12).map("\n".join)


@given(NOTES, st.sampled_from(HEADERS))
def test_divisions_are_pieces_of_the_note_in_order(note: str, headers: Headers) -> None:
    pieces = pieces_of(note, headers=headers)
    assert "".join(note[one.start : one.end] for one in pieces) == note
    assert len({one.section for one in pieces}) == len(pieces)
    found = sections_of(note, headers=headers)
    assert list(found) == list(SECTIONS)
    assert "".join(found[one.section] for one in pieces) == note


@given(st.dictionaries(st.sampled_from(SECTIONS), st.text(alphabet="xyz \n.", max_size=30)))
def test_a_note_put_together_comes_apart_by_both_lists(bodies: dict[str, str]) -> None:
    note = join_sections(bodies)
    for headers in HEADERS:
        found = sections_of(note, headers=headers)
        assert {name: body_of(text, headers=headers).strip() for name, text in found.items()} == {
            name: bodies.get(name, "").strip() for name in SECTIONS
        }


def test_what_says_nothing_is_empty() -> None:
    for text in (
        "",
        " \n",
        "RESULTS\n\n",
        "Results:",
        EMPTY,
        f"objective_results: {EMPTY}.\n",
        f"RESULTS\n{EMPTY}",
    ):
        assert is_empty(text), text
    for text in ("RESULTS\nNone.", "Nothing", f"RESULTS\n{EMPTY} but a word"):
        assert not is_empty(text), text
    assert body_of("HPI: He fell.") == " He fell."
    assert body_of("No header.\nHPI: He fell.") == "No header.\nHPI: He fell."


def test_very_long_lines_are_no_trouble() -> None:
    for line in (" " * 300_000 + "x", "history" + " " * 300_000 + "x", "x" * 300_000, "a\n" * 100_000):
        assert sum(map(len, sections_of(line).values())) == len(line)


def test_unknown_names_are_refused_with_those_that_there_are() -> None:
    with pytest.raises(UnknownName, match=r"no list of section headers called 'aci'.*aci-bench"):
        sections_of(NOTE, headers="aci")  # type: ignore[arg-type]
    with pytest.raises(UnknownName, match="assessment_and_plan"):
        known_section("assessment")
    assert known_section(" Objective-Exam ") == E
    assert list(STANDARD_HEADERS) == list(SECTIONS)
