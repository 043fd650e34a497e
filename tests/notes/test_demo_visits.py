"""The invented visits: their shape, and that what was planted in the drafts is where it says, and only there."""

from __future__ import annotations

import re
from itertools import combinations
from typing import Any

import pytest
from given_notes import ReadNotes

from pmbench import read_table
from pmbench.core.registry import resource
from pmbench.data.loading import load
from pmbench_tasks.notes.note_sentences import SentencePool
from pmbench_tasks.notes.perturb import RULES, perturb
from pmbench_tasks.notes.perturbed import counts
from pmbench_tasks.notes.sections import HEADERS, SECTIONS, sections_of

DRAFTS = ("draft_good", "draft_gaps", "draft_wrong")
KEYS = {"id", "dialogue", "note", *DRAFTS, "planted", "specialty", "sex", "age_band"}
BANDS = {"0-17": (0, 17), "18-39": (18, 39), "40-64": (40, 64), "65-79": (65, 79), "80+": (80, 120)}
VISITS: list[dict[str, Any]] = [
    dict(row.values) for row in read_table(str(resource("pmbench_tasks.notes:demo/visits.jsonl")))
]

SMALL = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
seventeen eighteen nineteen"""
TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
WORDS = {word: number for number, word in enumerate(SMALL.split())}
WORDS |= {word: 10 * tens for tens, word in enumerate(TENS.split(), 2)} | {"once": 1, "twice": 2}

each_visit = pytest.mark.parametrize("visit", VISITS, ids=[visit["id"] for visit in VISITS])


def numbers(text: str) -> set[str]:
    """Numbers in digits or words; those of a list, and of names such as A1c and B12, are none."""
    text = re.sub(r"^\d\. ", "", text, flags=re.MULTILINE)
    found = {f"{float(number):g}" for number in re.findall(r"(?<![A-Za-z\d.])\d+(?:\.\d+)?", text)}
    return found | {str(WORDS[word]) for word in re.findall(r"[a-z]+", text.lower()) if word in WORDS}


def flat(text: str) -> str:
    return " ".join(text.split()).lower()


def long_sentences(text: str) -> set[str]:
    return {flat(one) for one in re.split(r"(?<=[.?!])\s+|\n", text) if len(one.split()) >= 8}


def test_there_are_eight_of_different_specialties_and_ages() -> None:
    assert len(VISITS) == len({visit["id"] for visit in VISITS}) == 8
    assert len({visit["specialty"] for visit in VISITS}) == 8
    assert {visit["age_band"] for visit in VISITS} == set(BANDS)
    assert sorted(visit["sex"] for visit in VISITS) == ["female"] * 4 + ["male"] * 4
    for one, other in combinations(VISITS, 2):
        for key in ("dialogue", "note"):
            assert not long_sentences(one[key]) & long_sentences(other[key])


@each_visit
def test_dialogues_are_conversations(visit: dict[str, Any]) -> None:
    assert set(visit) == KEYS
    turns = visit["dialogue"].split("\n")
    assert 44 <= len(turns) <= 70 and len(set(turns)) == len(turns)
    assert all(re.fullmatch(r"\[(doctor|patient|patient_guest)\] \S.*", turn) for turn in turns)
    assert {"[doctor]", "[patient]"} <= {turn.split(" ")[0] for turn in turns}
    age = re.search(r"\b(\d+)-year-old", visit["note"])
    low, high = BANDS[visit["age_band"]]
    assert age and low <= int(age[1]) <= high


@each_visit
def test_notes_and_drafts_have_their_divisions_by_both_lists(visit: dict[str, Any]) -> None:
    assert 250 <= len(visit["note"].split()) <= 450
    texts = {name: visit[name] for name in ("note", *DRAFTS)}
    assert len(set(texts.values())) == 4
    for name, text in texts.items():
        gone = {plant["belongs"] for plant in visit["planted"].get(name, []) if plant.get("missing_section")}
        found = sections_of(text)
        assert {section for section in SECTIONS if not found[section]} == gone
    for headers in HEADERS:
        assert all(sections_of(visit["note"], headers=headers).values())
    items = re.findall(r"^(\d)\. ", sections_of(visit["note"])["assessment_and_plan"], re.MULTILINE)
    assert [int(item) for item in items] == list(range(1, len(items) + 1)) and 3 <= len(items) <= 6
    assert not long_sentences(visit["note"]) & long_sentences(visit["draft_good"])


@each_visit
def test_every_number_was_said_unless_it_was_planted(visit: dict[str, Any]) -> None:
    spoken = numbers(visit["dialogue"])
    for name in ("note", *DRAFTS):
        text = visit[name]
        for plant in visit["planted"].get(name, []):
            if plant["kind"] in ("inaccuracy", "hallucination"):
                text = text.replace(plant["quote"], " ")
        assert not numbers(text) - spoken


@each_visit
def test_what_was_planted_is_where_it_says(visit: dict[str, Any]) -> None:
    kinds = {draft: [plant["kind"] for plant in visit["planted"][draft]] for draft in DRAFTS}
    assert kinds["draft_good"] == []
    assert kinds["draft_gaps"].count("misplaced") == 1 and set(kinds["draft_gaps"]) == {
        "misplaced",
        "omission",
    }
    assert 3 <= kinds["draft_gaps"].count("omission") <= 4
    assert set(kinds["draft_wrong"]) == {"inaccuracy", "hallucination"}
    in_note = {name: flat(text) for name, text in sections_of(visit["note"]).items()}
    for draft in DRAFTS:
        for plant in visit["planted"][draft]:
            check(
                plant, visit, in_note, {name: flat(text) for name, text in sections_of(visit[draft]).items()}
            )


def check(
    plant: dict[str, Any], visit: dict[str, Any], in_note: dict[str, str], in_draft: dict[str, str]
) -> None:
    here = plant["section"]
    if plant["kind"] == "omission":
        terms = [flat(term) for term in plant["absent"]]
        assert not any(term in text for term in terms for text in in_draft.values()), plant["what"]
        assert any(term in in_note[here] for term in terms), plant["what"]
        return
    quote = flat(plant["quote"])
    assert quote in in_draft[here], plant["what"]
    if plant["kind"] == "misplaced":
        assert plant["belongs"] in SECTIONS and plant["belongs"] != here
        return
    assert quote not in flat(visit["note"]) and quote not in flat(visit["dialogue"]), plant["what"]
    if plant["kind"] == "inaccuracy":
        assert flat(plant["truth"]) in in_note[here], plant["what"]


def test_the_demo_is_read_like_any_table_and_its_drafts_can_be_replayed() -> None:
    task = ReadNotes()
    found = load(task, "demo")
    assert (len(found.instances), found.sensitivity) == (8, "public")
    assert found.columns["transcript"] == "dialogue"
    assert all({"specialty", "sex", "age_band", "length"} <= set(one.slices) for one in found.instances)
    assert not list(task.remarks(found.instances))
    for draft in DRAFTS:
        assert len(found.column(draft)) == 8


def test_every_demo_note_can_be_perturbed_by_every_rule() -> None:
    notes = {visit["id"]: visit["note"] for visit in VISITS}
    pool = SentencePool(notes)
    for kind in RULES:
        found = {ident: perturb(kind, note, ident=ident, pool=pool) for ident, note in notes.items()}
        assert counts(found, "" if kind == "delete_section" else "assessment_and_plan")["changed"] == 8
