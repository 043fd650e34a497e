"""One scored draft as blocks of lines: what stays, what would go, what would be added, and where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pmbench import Instance, Record, Response, Score, ViewBlock, ViewLine, find_span, split_sentences
from pmbench_tasks.drafting.pieces import Passage, pieces_of
from pmbench_tasks.drafting.views import edits_view

Match = tuple[str, str | None, float | None]
"""A sentence of the reply, the passage that the judge named, and how similar they are."""

EDITED = "The draft with its expected edits"
REPLY = "The clinician's reply, sentence by sentence"

STATS = {"matches": 3.0, "additions": 2.0, "deletions": 1.0, "words_to_add": 14.0, "words_to_delete": 1.0}


def record(
    draft: str,
    reply: Sequence[Match],
    themes: Mapping[str, list[str]] | None = None,
    stats: Mapping[str, float] = STATS,
) -> Record:
    """A record whose sentences have the themes of their last words; without any, as scores once were."""
    entries: list[dict[str, Any]] = []
    for sentence, answer, similarity in reply:
        start, end = (find_span(draft, answer) if answer else None) or (None, None)
        found = {"found": start is not None, "start": start, "end": end}
        entries.append({"sentence": sentence, "answer": answer, "similarity": similarity, **found})
    evidence: dict[str, Any] = {"reply": entries, "leftover": [], "draft": draft}
    if themes is not None:
        for entry in entries:
            entry["themes"] = themes.get(entry["sentence"].split()[-1], ["other"])
        evidence["draft_sentences"] = []
        at = 0
        for sentence in split_sentences(draft):
            at = draft.index(sentence, at)
            label = themes.get(sentence.split()[-1], ["other"])
            evidence["draft_sentences"].append({"start": at, "end": at + len(sentence), "themes": label})
            at += len(sentence)
    instance = Instance("m1", {"message": "I cough.\n\nWhy?"}, {"response": "x"}, slices={"length": "short"})
    return Record(instance, Response(draft), Score(stats, evidence=evidence))


def block(blocks: Sequence[ViewBlock], title: str) -> tuple[ViewLine, ...]:
    return next(one.lines for one in blocks if one.title == title)


def edited(draft: str, reply: Sequence[Match], themes: Mapping[str, list[str]] | None = None) -> list[str]:
    signs = {"": " ", "kept": "=", "deleted": "-", "added": "+"}
    lines = block(edits_view(record(draft, reply, themes)), EDITED)
    return [f"{signs[line.mark]} {line.text} | {line.beside}".rstrip(" |") for line in lines]


COUGH = (
    "Sorry your cough keeps you awake. Lisinopril may cause it, sometimes.\n\n- Do you have a fever?\n- Rest."
)
FIFTH = "We can switch it; please call to book a visit this week."
SECOND = "2: I am sorry the cough keeps you up. (0.81)"
ANSWERS: list[Match] = [
    ("Thanks for writing.", None, 0.2),
    ("I am sorry the cough keeps you up.", "Sorry your cough keeps you awake.", 0.81),
    ("Lisinopril can do that.", "Sorry your cough keeps you awake. Lisinopril may cause it", 0.77),
    ("Have you had fever or shortness of breath?", "do you have a fever", None),
    (FIFTH, None, None),
]
THEMES = {
    "writing.": ["empathy"],
    "up.": ["empathy"],
    "awake.": ["empathy"],
    "sometimes.": ["assessment"],
    "that.": ["assessment"],
    "breath?": ["symptom_questions"],
    "fever?": ["symptom_questions"],
    "week.": ["planning", "logistics"],
}


def test_the_draft_is_shown_in_its_order_with_what_each_piece_stands_for() -> None:
    assert edited(COUGH, ANSWERS, THEMES) == [
        "+ Thanks for writing. | empathy; sentence 1 of the reply",
        f"= Sorry your cough keeps you awake. | empathy; {SECOND}; 3: Lisinopril can do that. (0.77)",
        "= Lisinopril may cause it | assessment; 3: Lisinopril can do that. (0.77)",
        "- , sometimes. | assessment",
        "= - Do you have a fever? | symptom questions; 4: Have you had fever or shortness of breath?",
        f"+ {FIFTH} | planning; logistics; sentence 5 of the reply",
        "- - Rest. | other",
    ]


def test_a_sentence_of_the_draft_is_not_torn_by_what_is_added() -> None:
    reply: list[Match] = [("No red drinks.", "No red drinks", 0.9), ("Sip it.", None, None)]
    assert edited("No red drinks; juice is fine. Bye.", reply, {}) == [
        "= No red drinks | other; 1: No red drinks. (0.90)",
        "- ; juice is fine. | other",
        "+ Sip it. | other; sentence 2 of the reply",
        "- Bye. | other",
    ]


def test_counts_and_themes_are_told_in_words() -> None:
    blocks = edits_view(record(COUGH, ANSWERS, THEMES))
    assert [one.title for one in blocks] == [
        "Instance m1",
        "The patient's message",
        "Expected edits",
        EDITED,
        REPLY,
    ]
    assert [line.text for line in block(blocks, "The patient's message")] == ["I cough.", "Why?"]
    told = [line.text for line in block(blocks, "Expected edits")]
    assert told[:2] == [
        "5 sentences of the reply: 3 in the draft, 2 to add (14 words)",
        "1 sentence of the draft to delete (1 word)",
    ]
    assert told[2].split("; ") == [
        "themes in both: empathy, symptom questions, assessment",
        "only in the reply: planning, logistics",
        "only in the draft: other",
    ]


def test_the_reply_tells_of_each_sentence_what_became_of_it() -> None:
    lines = block(edits_view(record(COUGH, [*ANSWERS, ("Bye.", "See you", 0.6)], THEMES)), REPLY)
    assert [line.mark for line in lines] == ["added", "kept", "kept", "kept", "added", "kept"]
    assert lines[0] == ViewLine("1: Thanks for writing.", "added", "empathy; to add; nearest passage 0.20")
    assert lines[3].beside == "symptom questions; in the draft: “do you have a fever”"
    assert lines[5].beside == "other; not word for word in the draft: “See you” (0.60)"


def test_scores_made_before_there_were_themes_can_be_shown() -> None:
    assert edited(COUGH, ANSWERS)[3:] == [
        "- , sometimes.",
        "= - Do you have a fever? | 4: Have you had fever or shortness of breath?",
        f"+ {FIFTH} | sentence 5 of the reply",
        "- - Rest.",
    ]


def test_of_many_sentences_with_one_passage_a_few_are_quoted_and_the_others_counted() -> None:
    (line,) = edited("Please rest.", [(f"Rest {number}.", "Please rest.", None) for number in range(1, 9)])
    assert line == "= Please rest. | 1: Rest 1.; 2: Rest 2.; 3: Rest 3.; and 5 more"


@pytest.mark.parametrize(
    ("draft", "shown"),
    [
        ("", "  The draft is empty."),
        (" \n ", "  The draft is empty."),
        ("🎉 !", "  🎉 ! | no word, so nothing to delete"),
    ],
)
def test_a_draft_without_words(draft: str, shown: str) -> None:
    assert edited(draft, [("Rest.", None, None)]) == ["+ Rest. | sentence 1 of the reply", shown]


def test_what_is_odd_about_a_score_is_said() -> None:
    odd = {**STATS, "additions": 0.0, "deletions": 0.0, "nonverbatim": 2.0, "words_cut": 1.0, "usable": 1.0}
    told = [line.text for line in block(edits_view(record("Rest.", [], stats=odd)), "Expected edits")]
    assert told[2:] == [
        "matched, but not word for word in the draft, so that nothing is kept: 2",
        "left out before judging: 1 word of the response",
        "usable with no edit",
    ]


def test_a_record_without_answer_or_score_is_shown_as_such() -> None:
    whole = record("Rest.\n\nNow.", [])
    (line,) = edits_view(Record(whole.instance, None, None))[-1].lines
    assert "did not answer" in line.text
    last = edits_view(Record(whole.instance, whole.response, None))[-1]
    assert (last.title, [line.text for line in last.lines]) == ("The draft (not scored)", ["Rest.", "Now."])


TEXT = st.text(st.sampled_from("ab .,-\n🎉“漢"), max_size=60)


@given(TEXT, st.lists(st.tuples(st.integers(0, 60), st.integers(1, 30)), max_size=8), st.integers(1, 3))
def test_every_sign_of_a_draft_is_in_one_piece_and_every_word_is_what_it_is(
    draft: str, spans: list[tuple[int, int]], most: int
) -> None:
    passages = [
        Passage(start, min(start + length, len(draft)), number)
        for number, (start, length) in enumerate(spans, 1)
        if start < len(draft)
    ]
    sentences: list[tuple[int, int]] = []
    for sentence in split_sentences(draft):
        at = draft.index(sentence, sentences[-1][1] if sentences else 0)
        sentences.append((at, at + len(sentence)))
    pieces = pieces_of(draft, passages, sentences, most=most)
    shown = "".join(draft[piece.start : piece.end] for piece in pieces)
    assert "".join(shown.split()) == "".join(draft.split())
    for piece in pieces:
        for at in range(piece.start, piece.end):
            if draft[at].isalnum():
                over = sorted(p.number for p in passages if p.start <= at < p.end)
                assert (list(piece.matches), piece.of) == (over[:most], len(over))


def test_a_very_long_draft_whose_passages_overlap_is_shown_whole() -> None:
    draft = " ".join(f"Take tablet {number} now." for number in range(12_500))
    reply = [
        {
            "sentence": f"Tablet {k}.",
            "answer": "x",
            "similarity": None,
            "found": True,
            "start": k * 20,
            "end": -k,
        }
        for k in range(1, 4_000)
    ]
    for entry in reply:
        entry["end"] += len(draft)  # type: ignore[operator]
    score = Score(STATS, evidence={"reply": reply, "draft": draft, "leftover": []})
    lines = block(edits_view(Record(Instance("1", {}, {}), Response(draft), score)), EDITED)
    shown = "".join(line.text for line in lines)
    assert shown.replace(" ", "") == draft.replace(" ", "")
    assert {line.mark for line in lines} == {"kept", "deleted"}
