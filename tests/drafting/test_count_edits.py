"""Matches, additions and deletions are counted as the paper's Algorithm 1 says."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pmbench import split_sentences
from pmbench_tasks.drafting import EditCounts, count_edits
from pmbench_tasks.drafting.metrics import METRICS

NAMES = ("matches", "additions", "deletions", "nonverbatim")
SENTENCE = st.lists(st.sampled_from(["rest", "call", "us", "today", "please"]), min_size=1, max_size=5).map(
    lambda words: " ".join(words).capitalize() + "."
)


def on_full_stops(text: str) -> list[str]:
    return re.split(r"(?<=[.!?])\s+", text)


def counted(shared: Path, split: object) -> list[tuple[dict[str, int], EditCounts]]:
    cases = json.loads((shared / "conformance" / "editf1.json").read_text(encoding="utf-8"))["content"][
        "cases"
    ]
    return [
        (case["expect"], count_edits(case["expert"], case["draft"], case["judge"], split))  # type: ignore[arg-type]
        for case in cases
    ]


@pytest.mark.parametrize("split", [on_full_stops, None], ids=["on full stops", "split_sentences"])
def test_every_conformance_case(shared: Path, split: object) -> None:
    cases = counted(shared, split)
    assert len(cases) >= 16
    for expected, counts in cases:
        assert {name: getattr(counts, name) for name in NAMES} == expected


def test_the_metrics_over_the_conformance_cases(shared: Path) -> None:
    expected = json.loads((shared / "conformance" / "editf1.json").read_text(encoding="utf-8"))["content"]
    cases = [counts for _, counts in counted(shared, on_full_stops)]
    stats = {name: np.array([float(getattr(c, name)) for c in cases]) for name in NAMES}
    metrics = {metric.name: metric for metric in METRICS}
    for part in ("precision", "recall", "f1"):
        micro, mean = expected["expected"]["micro"][part], expected["expected"]["mean_per_response"][part]
        assert metrics[f"content_{part}_micro"](stats) == pytest.approx(micro, abs=1e-12)
        assert metrics[f"content_{part}"](stats) == pytest.approx(mean, abs=1e-12)


@given(st.lists(SENTENCE, max_size=6), st.text(max_size=60), st.data())
def test_whatever_the_answers_the_counts_add_up(expert: list[str], draft: str, data: st.DataObject) -> None:
    answer = st.one_of(st.just("NO MATCH"), st.text(max_size=20), st.sampled_from([draft, *expert]))
    answers = data.draw(st.lists(answer, min_size=len(expert), max_size=len(expert)))
    counts = count_edits(expert, draft, answers)
    assert counts.matches + counts.additions == len(expert)
    assert 0 <= counts.nonverbatim <= counts.matches
    assert 0 <= counts.deletions == len(counts.leftover)
    assert len(counts.rest) <= len(draft)


@given(st.lists(SENTENCE, min_size=1, max_size=6))
def test_a_reply_as_its_own_draft_needs_no_edit(expert: list[str]) -> None:
    draft = " ".join(expert)
    distinct = len(set(expert)) == len(expert) and all(draft.lower().count(s.lower()) == 1 for s in expert)
    counts = count_edits(expert, draft, expert)
    assert (counts.matches, counts.additions, counts.nonverbatim) == (len(expert), 0, 0)
    if distinct:
        assert counts.deletions == 0


@given(st.lists(SENTENCE, min_size=1, max_size=6), st.text(max_size=80))
def test_with_no_match_all_is_added_and_all_deleted(expert: list[str], draft: str) -> None:
    counts = count_edits(expert, draft, ["no match."] * len(expert))
    assert counts == EditCounts(0, len(expert), len(split_sentences(draft)), 0)


@pytest.mark.parametrize(
    "answer", ["NO MATCH", "no match.", ' "No  Match" ', "“no match”.", "", " ", '""', "."]
)
def test_ways_to_say_no_match(answer: str) -> None:
    assert count_edits(["Rest."], "Drink.", [answer]) == EditCounts(0, 1, 1, 0)


def test_no_match_inside_a_longer_answer_is_an_answer() -> None:
    assert count_edits(["Rest."], "No match was found.", ["No match was found."]).matches == 1


@pytest.mark.parametrize(("draft", "deletions"), [("", 0), ("🎉 😀 !!", 0), ("Rest. " * 25_000, 25_000)])
def test_drafts_that_are_empty_only_emoji_or_very_long(draft: str, deletions: int) -> None:
    counts = count_edits(["Call us."], draft, ["NO MATCH"])
    assert (counts.additions, counts.deletions) == (1, deletions)


def test_a_long_draft_is_searched_for_every_sentence() -> None:
    draft = "Please rest at home. " * 12_500 + "Call us."
    counts = count_edits(["Call us."] * 50, draft, ["call us."] * 50)
    assert (counts.matches, counts.deletions) == (50, 12_500)


def test_answers_and_sentences_must_be_as_many() -> None:
    with pytest.raises(ValueError, match="2 sentences and 1 answers"):
        count_edits(["A.", "B."], "C.", ["NO MATCH"])
