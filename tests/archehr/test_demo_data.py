"""The demo data: what a reader of its README may rely on, checked with the standard library."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import pmbench_tasks.archehr

DEMO = Path(pmbench_tasks.archehr.__path__[0]) / "demo"
WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
NUMBERS = {word: str(number) for number, word in enumerate(WORDS)}
ROUNDED = {("d8", "6000")}
"""Figures of an answer that stand for figures of the note: 6840 and 7210 are both above 6,000."""


def read(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((DEMO / name).read_text(encoding="utf-8"))
    return found


CASES = {str(one.get("id")): one for one in ET.parse(DEMO / "archehr-qa.xml").getroot().findall("case")}
KEY = {one["case_id"]: one for one in read("archehr-qa_key.json")}
MAPPING = {one["case_id"]: one for one in read("archehr-qa_mapping.json")}

each_case = pytest.mark.parametrize("ident", CASES)


def text(ident: str, name: str) -> str:
    (found,) = CASES[ident].findall(name)
    return str(found.text).strip()


def sentences(ident: str) -> dict[str, str]:
    return {str(one.get("id")): str(one.text).strip() for one in CASES[ident].iter("sentence")}


def labels(ident: str) -> dict[str, str]:
    return {one["sentence_id"]: one["relevance"] for one in KEY[ident]["answers"]}


def essential(ident: str) -> set[str]:
    return {name for name, label in labels(ident).items() if label == "essential"}


def figures(words: str) -> set[str]:
    found = re.findall(r"\d+(?:\.\d+)?|[a-z]+", re.sub(r"(?<=\d),(?=\d{3}\b)", "", words.lower()))
    return {NUMBERS.get(one, one) for one in found if one in NUMBERS or one[0].isdigit()}


def test_all_files_are_of_the_same_twelve_cases() -> None:
    assert list(CASES) == list(KEY) == list(MAPPING) == [f"d{n}" for n in range(1, 13)]
    for name in ("submission.json", "submission-messy.json"):
        assert [one["case_id"] for one in read(name)] == list(CASES)


def test_both_splits_hold_every_setting_and_each_case_another_specialty() -> None:
    of = {
        split: [one for one in MAPPING if MAPPING[one]["split"] == split] for split in ("development", "test")
    }
    assert {split: len(idents) for split, idents in of.items()} == {"development": 4, "test": 8}
    settings = {split: Counter(MAPPING[one]["setting"] for one in idents) for split, idents in of.items()}
    assert settings == {"development": {"ICU": 2, "ED": 1, "ward": 1}, "test": {"ICU": 5, "ED": 2, "ward": 1}}
    assert len({text(ident, "clinical_specialty") for ident in CASES}) == 12


def test_the_readme_names_the_development_split_and_every_file() -> None:
    readme = (DEMO / "README.md").read_text(encoding="utf-8")
    development = " ".join(one for one in MAPPING if MAPPING[one]["split"] == "development")
    assert f"**development** is {development} (" in readme
    others = {file.name for file in DEMO.iterdir()} - {"README.md"}
    assert set(re.findall(r"`([\w-]+\.\w+)`", readme)) == others


@each_case
def test_questions_are_of_the_size_that_the_readme_says(ident: str) -> None:
    narrative, question = text(ident, "patient_narrative"), text(ident, "clinician_question")
    assert 60 <= len(narrative.split()) <= 150
    assert question.endswith("?")
    assert 12 <= len(question.split()) <= 18
    for phrase in CASES[ident].findall("patient_question/phrase"):
        assert narrative.startswith(str(phrase.text).strip(), int(str(phrase.get("start_char_index"))))


@each_case
def test_the_sentences_make_up_the_note(ident: str) -> None:
    paragraphs = text(ident, "note_excerpt").split("\n\n")
    covered = [0] * len(paragraphs)
    for one in CASES[ident].iter("sentence"):
        place, start = int(str(one.get("paragraph_id"))), int(str(one.get("start_char_index")))
        assert paragraphs[place].startswith(str(one.text).strip(), start), one.get("id")
        covered[place] += len(str(one.text).strip()) + 1
    assert covered == [len(paragraph) + 1 for paragraph in paragraphs]
    assert 15 <= len(sentences(ident)) <= 40
    assert list(sentences(ident)) == [str(n) for n in range(1, len(sentences(ident)) + 1)]
    assert sum(one.endswith(":") for one in sentences(ident).values()) >= 2


@each_case
def test_every_sentence_has_a_label(ident: str) -> None:
    assert list(labels(ident)) == list(sentences(ident))
    assert len(KEY[ident]["answers"]) == len(labels(ident))
    counts = Counter(labels(ident).values())
    assert set(counts) == {"essential", "supplementary", "not-relevant"}
    assert counts["essential"] >= 2
    assert counts["not-relevant"] > 0.4 * len(labels(ident))
    headings = [name for name, words in sentences(ident).items() if words.endswith(":")]
    assert {labels(ident)[name] for name in headings} == {"not-relevant"}


@each_case
def test_the_answer_stands_on_what_it_cites(ident: str) -> None:
    answer, note = KEY[ident]["clinician_answer_sentences"], sentences(ident)
    whole = KEY[ident]["clinician_answer_without_citations"]
    assert whole == " ".join(one["text"] for one in answer)
    assert whole == re.sub(r" \[[\d, ]+\]", "", KEY[ident]["clinician_answer"])
    inline = re.findall(r"\[([\d, ]+)\]", KEY[ident]["clinician_answer"])
    assert [one.replace(" ", "") for one in inline] == [one["citations"] for one in answer]
    assert 64 <= len(whole.split()) <= 74
    cited: set[str] = set()
    for one in answer:
        links = set(one["citations"].split(","))
        assert links <= set(note)
        assert links & essential(ident)
        there = figures(" ".join(note[name] for name in links))
        assert {figure for figure in figures(one["text"]) - there if (ident, figure) not in ROUNDED} == set()
        cited |= links
    assert essential(ident) <= cited
    assert "not-relevant" not in {labels(ident)[name] for name in cited}


def test_no_long_sentence_stands_in_two_cases() -> None:
    alls = [words for ident in CASES for words in sentences(ident).values() if len(words.split()) > 7]
    assert len(alls) == len(set(alls))


def test_the_good_submission_scores_what_the_readme_says() -> None:
    hits = false = missed = 0
    for one in read("submission.json"):
        ident, links = one["case_id"], set()
        words = 0
        for line in one["answer"].split("\n"):
            part = re.fullmatch(r"([^|]+[.!?]) \|(\d+(?:,\d+)*)\|", line)
            assert part is not None, line
            words += len(part[1].split())
            links |= set(part[2].split(","))
        assert words <= 75
        assert links <= set(sentences(ident))
        hits += len(links & essential(ident))
        false += len(links - essential(ident))
        missed += len(essential(ident) - links)
        assert not any(own["text"] in one["answer"] for own in KEY[ident]["clinician_answer_sentences"])
    precision, recall = hits / (hits + false), hits / (hits + missed)
    readme = (DEMO / "README.md").read_text(encoding="utf-8")
    assert f"strict micro precision {precision:.3f}, recall {recall:.3f}" in readme


@pytest.mark.parametrize(
    ("ident", "fault"),
    [
        ("d1", r"^```$"),
        ("d2", r"\|\d+-\d+\|"),
        ("d3", r",99\|"),
        ("d3", r"\|[A-Za-z ]+\|$"),
        ("d5", r"\A\Z"),
        ("d6", r"\|\d+, \d+\|"),
        ("d7", r"\[\d+\]"),
        ("d8", r"\|\d+\| .+\|\d+\|"),
        ("d8", r"\|\.$"),
        ("d9", r"\A[^\n]+\|\Z"),
        ("d10", r"^[-*] "),
        ("d10", r"\|\|$"),
        ("d10", r"^\|\d+\|$"),
        ("d11", r"^\*\*"),
        ("d11", r"\|\d+;\d+\|"),
        ("d11", r"\|S\d+\|"),
        ("d12", r"\|\d+\|\d+\|$"),
        ("d12", r" \|\d+$"),
    ],
)
def test_the_messy_submission_has_each_fault(ident: str, fault: str) -> None:
    answers = {one["case_id"]: one["answer"] for one in read("submission-messy.json")}
    assert re.search(fault, answers[ident], re.MULTILINE)


def test_the_messy_submission_has_an_answer_over_75_words() -> None:
    answers = {one["case_id"]: one["answer"] for one in read("submission-messy.json")}
    assert len(re.sub(r"\|.*?\|", "", answers["d4"]).split()) > 75
