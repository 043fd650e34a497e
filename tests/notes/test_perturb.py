"""Perturbations by rule change what they say they change, and nothing else."""

from __future__ import annotations

from collections import Counter

import pytest
from given_notes import NOTE
from hypothesis import given
from hypothesis import strategies as st

from pmbench import ConfigError, UnknownName, split_sentences
from pmbench_tasks.notes.note_sentences import SentencePool, parts_of
from pmbench_tasks.notes.perturb import (
    LAST_DIVISION,
    NO_OTHER,
    NO_SENTENCE,
    NOT_THERE,
    ONE_DIVISION,
    ONE_SENTENCE,
    RULES,
    perturb,
)
from pmbench_tasks.notes.perturbed import counts
from pmbench_tasks.notes.sections import SECTIONS, sections_of

OTHER = """\
HPI: She coughs at night and after running.
EXAM
Wheezes on both sides of the chest.
RESULTS
Spirometry shows an obstruction that reverses.
PLAN
1. Start a steroid inhaler twice a day.
2. Ice for 20 minutes, three times a day.
"""
POOL = SentencePool({"one": NOTE, "two": OTHER})


def made(kind: str, note: str = NOTE, **more: object):  # type: ignore[no-untyped-def]
    return perturb(kind, note, ident="one", **{"pool": POOL, **more})  # type: ignore[arg-type]


def bag(note: str) -> Counter[str]:
    return Counter(sentence for part in parts_of(note) for sentence in part.sentences())


def sentence(name: str, place: int) -> str:
    return next(part for part in parts_of(NOTE) if part.section == name).sentence(place - 1)


def test_headings_are_no_sentences() -> None:
    parts = {part.section: part.sentences() for part in parts_of(NOTE)}
    assert parts["subjective"] == [
        "Knee pain.",
        "He fell on Monday.",
        "The knee is swollen.",
        "He denies fever.",
    ]
    assert parts["objective_exam"] == ["• Knee: Effusion.", "Full range of motion.", "• Skin: No wound."]
    assert parts["objective_results"] == ["X-ray shows no fracture."]
    text = "HPI: He fell. It hurts.\nMedications:\nNone.\nECG\nNormal.\nResults of the scan are normal. He is glad."
    found = {part.section: part.sentences() for part in parts_of(text)}
    assert found["subjective"] == ["He fell.", "It hurts.", "None.", "Normal."]
    assert found["objective_results"] == ["He is glad."]


def test_deleted_sentences_are_gone_and_no_division_is() -> None:
    gone = made("delete_sentence")
    assert bag(gone.note) == bag(NOTE) - Counter(change.text for change in gone.changes)
    assert [change.text for change in gone.changes] == [
        sentence(change.section, change.place) for change in gone.changes
    ]
    assert {change.section for change in gone.changes} == {
        "subjective",
        "objective_exam",
        "assessment_and_plan",
    }
    assert gone.untouched == {"objective_results": ONE_SENTENCE}
    assert gone.sections == sections_of(gone.note)
    assert "\n\n\n" not in gone.note


def test_repeated_sentences_stand_twice_in_a_row() -> None:
    twice = made("repeat_sentence")
    assert bag(twice.note) == bag(NOTE) + Counter(change.text for change in twice.changes)
    for change in twice.changes:
        there = split_sentences(twice.sections[change.section])
        at = there.index(change.text)
        assert there[at + 1] == change.text
    assert {change.section for change in twice.changes} == set(SECTIONS)


def test_shuffled_sentences_stay_in_their_division_or_leave_it() -> None:
    within = made("coherence_shuffle")
    for part in parts_of(within.note):
        before = next(one for one in parts_of(NOTE) if one.section == part.section)
        assert Counter(part.sentences()) == Counter(before.sentences())
        assert (part.sentences() != before.sentences()) == (part.section != "objective_results")
    across = made("section_shuffle")
    assert bag(across.note) == bag(NOTE)
    assert any(change.section != change.to_section for change in across.changes)
    for change in (*within.changes, *across.changes):
        assert change.text == sentence(change.section, change.place)
        assert change.text in (within if change in within.changes else across).sections[change.to_section]
    assert [len(part.spans) for part in parts_of(across.note)] == [len(part.spans) for part in parts_of(NOTE)]


def test_irrelevant_sentences_come_from_the_same_division_of_others() -> None:
    more = made("irrelevant_sentence")
    assert bag(more.note) - bag(NOTE) == Counter(change.text for change in more.changes)
    assert not bag(NOTE) - bag(more.note)
    assert {change.source for change in more.changes} == {"two"}
    by_section = {change.section: change.text for change in more.changes}
    assert by_section == {
        "subjective": "She coughs at night and after running.",
        "objective_exam": "Wheezes on both sides of the chest.",
        "objective_results": "Spirometry shows an obstruction that reverses.",
        "assessment_and_plan": "Start a steroid inhaler twice a day.",
    }  # and not the ice, which this note has, too
    alone = made("irrelevant_sentence", pool=SentencePool({"one": NOTE}))
    assert (alone.changed, alone.note) == (False, NOTE)
    assert alone.untouched == dict.fromkeys(SECTIONS, NO_OTHER)
    with pytest.raises(ConfigError, match="no other notes"):
        made("irrelevant_sentence", pool=None)


def test_a_deleted_division_is_gone_with_its_header() -> None:
    gone = made("delete_section", section="objective_results")
    assert (
        gone.sections["objective_results"] == "" and "X-ray" not in gone.note and "RESULTS" not in gone.note
    )
    (change,) = gone.changes
    assert (change.section, change.place, change.what) == ("objective_results", 0, "deleted")
    assert change.text == sections_of(NOTE)["objective_results"]
    assert len(gone.note) + len(change.text) == len(NOTE)
    drawn = {made("delete_section", seed=seed).changes[0].section for seed in range(40)}
    assert drawn == set(SECTIONS)


def test_a_note_too_small_says_so_and_stays_as_it_is() -> None:
    one = "PLAN: Rest."
    for kind, why in (
        ("delete_sentence", ONE_SENTENCE),
        ("delete_section", LAST_DIVISION),
        ("coherence_shuffle", ONE_SENTENCE),
        ("section_shuffle", ONE_DIVISION),
    ):
        same = made(kind, one)
        assert (same.note, same.changed) == (one, False)
        assert same.untouched == {"assessment_and_plan": why}
    assert made("delete_sentence", "RESULTS\n\n").untouched == {"objective_results": NO_SENTENCE}
    assert made("delete_section", one, section="subjective").untouched == {"subjective": NOT_THERE}
    assert made("coherence_shuffle", "PLAN\nRest.\nRest.").changed is False
    assert made("delete_sentence", "").untouched == {}
    found = {"a": made("delete_sentence", one), "b": made("delete_sentence")}
    assert counts(found) == {"changed": 1, "unchanged": 1}
    assert counts(found, "objective_results") == {"changed": 0, "unchanged": 2}


def test_the_same_seed_and_visit_give_the_same() -> None:
    for kind in RULES:
        assert made(kind) == made(kind)
        assert perturb(kind, NOTE, ident="one", pool=POOL, seed=1).kind == kind
    assert len({made("section_shuffle", seed=seed).note for seed in range(5)}) == 5
    others = SentencePool({"three": OTHER, "one": NOTE})
    assert made("delete_sentence", pool=others) == made("delete_sentence")
    assert made("delete_sentence").changes == (
        *made("delete_sentence", sections_of(NOTE)).changes,  # divisions instead of a note
    )
    # What is drawn is part of what a release promises.
    assert [(one.section, one.place) for one in made("delete_sentence").changes] == DRAWN


DRAWN = [("subjective", 2), ("objective_exam", 1), ("assessment_and_plan", 1)]


def test_unknown_kinds_and_divisions_are_refused() -> None:
    with pytest.raises(UnknownName, match="delete_sentence"):
        made("delete_sentences")
    with pytest.raises(UnknownName, match="section of a note"):
        made("delete_section", section="plan")


LINES = st.lists(
    st.one_of(
        st.sampled_from(
            [
                "HPI: He fell. It hurts.",
                "EXAM",
                "RESULTS",
                "PLAN",
                "- Ice.",
                "Rest. Come back.",
                "",
                "Results are fine",
            ]
        ),
        st.text(max_size=20),
    ),
    max_size=14,
)


@given(LINES.map("\n".join), st.sampled_from(RULES), st.integers(0, 9))
def test_any_note_is_changed_as_the_record_says_or_not_at_all(note: str, kind: str, seed: int) -> None:
    found = perturb(kind, note, ident="x", seed=seed, pool=POOL)
    assert found.changed == (found.note != note)
    assert "".join(found.sections[part.section] for part in parts_of(note)) == found.note
    before = sections_of(note)
    for name in SECTIONS:
        touched = any(name in (one.to_section or one.section,) for one in found.changes)
        assert touched == (found.sections[name] != before[name])
        assert not (touched and name in found.untouched)


def test_sixty_notes(aci_notes: dict[str, str]) -> None:
    pool = SentencePool(aci_notes)
    parts = {ident: {part.section: part for part in parts_of(note)} for ident, note in aci_notes.items()}
    one_sentence = sum(len(part.spans) == 1 for found in parts.values() for part in found.values())
    for kind in RULES:
        found = {ident: perturb(kind, note, ident=ident, pool=pool) for ident, note in aci_notes.items()}
        assert counts(found) == {"changed": 60, "unchanged": 0}
        for ident, one in found.items():
            for change in one.changes:
                if change.place and change.what != "inserted":
                    assert change.text == parts[ident][change.section].sentence(change.place - 1)
                if change.what == "inserted":
                    assert change.source != ident and change.text in aci_notes[change.source]
                    assert change.text not in aci_notes[ident]
        if kind in ("delete_sentence", "coherence_shuffle"):
            assert sum(len(one.untouched) for one in found.values()) == one_sentence
