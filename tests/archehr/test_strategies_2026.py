"""Strategies of the four subtasks of 2026."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
from given_answers import CASE, NOTE, PLAIN, ScriptedModel, WordEmbedder

from pmbench import Options, Response, Strategy, StrategyContext
from pmbench_tasks.archehr.options import AlignmentOptions, EvidenceOptions, TextOptions
from pmbench_tasks.archehr.strategies_2026 import (
    ALIGNMENT_STRATEGIES,
    ANSWERS_STRATEGIES,
    EVIDENCE_STRATEGIES,
    QUESTIONS_STRATEGIES,
)

WORDS = WordEmbedder("furosemide", "stop", "pneumonia", "ceftriaxone", "potassium", "walk")

ALIGNED: Mapping[str, Any] = {
    **CASE,
    "answer_sentences": [
        {"id": "s1", "text": "Furosemide was stopped."},
        {"id": "s2", "text": "Pneumonia was treated."},
    ],
}


def answered(
    strategy: Strategy, options: Options, *answers: str, inputs: Mapping[str, Any] = CASE
) -> tuple[Response, ScriptedModel]:
    model = ScriptedModel(*answers)
    context = StrategyContext(options, WORDS)
    return asyncio.run(strategy(inputs, model, context)), model


def test_a_question_is_asked_for_from_the_narrative_alone() -> None:
    narrative = {"narrative": CASE["narrative"]}
    response, model = answered(
        QUESTIONS_STRATEGIES["zero-shot"],
        TextOptions(),
        "Why " + "oh " * 20 + "why?",
        "Why was furosemide stopped?",
        inputs=narrative,
    )
    assert response.text == "Why was furosemide stopped?"
    assert [one["problems"] for one in response.data["tries"]] == [["over-length"], []]
    assert "has 22 words, and 15 are allowed" in model.asked[1]
    assert model.limits == [48, 48]


def test_an_answer_has_no_citations() -> None:
    response, model = answered(ANSWERS_STRATEGIES["zero-shot"], TextOptions(), "It did. |5|", PLAIN)
    assert response.text == PLAIN
    assert [one["problems"] for one in response.data["tries"]] == [["early-citation"], []]
    assert all(text in model.asked[0] for text in NOTE)


def test_evidence_is_a_list_of_ids_of_the_note() -> None:
    strategy = EVIDENCE_STRATEGIES["zero-shot"]
    response, _ = answered(strategy, EvidenceOptions(), "5, 99", "2-3, 5")
    assert response.text == "2, 3, 5"
    assert response.data["evidence"] == ["2", "3", "5"] and response.data["dropped"] == []
    wrong, model = answered(strategy, EvidenceOptions(tries=2), "5, 99")
    assert (wrong.data["evidence"], wrong.data["dropped"]) == (["5"], ["99"])
    assert wrong.data["problems"] == ["unknown-id"]
    assert "no sentence 99" in model.asked[1]
    nothing, _ = answered(strategy, EvidenceOptions(), "none")
    assert nothing.data["evidence"] == [] and len(nothing.data["tries"]) == 1


def test_evidence_by_similarity_asks_no_model() -> None:
    strategy = EVIDENCE_STRATEGIES["similarity"]
    response, model = answered(strategy, EvidenceOptions(cutoff=0.9))
    assert response.data["evidence"] == ["2", "3", "4", "5", "6"] and not model.asked
    assert strategy.needs == {"embed"} and strategy.estimate(CASE, EvidenceOptions()) == (0, 0)


def test_each_sentence_of_an_answer_gets_its_links_under_its_own_id() -> None:
    strategy = ALIGNMENT_STRATEGIES["zero-shot"]
    response, model = answered(strategy, AlignmentOptions(), "A1: 5", "A1: 5\nA2: 2, 3", inputs=ALIGNED)
    assert response.data["links"] == {"s1": ["5"], "s2": ["2", "3"]}
    assert [one["problems"] for one in response.data["tries"]] == [["missing-sentence"], []]
    assert "[A2] Pneumonia was treated." in model.asked[0]
    assert response.text == "s1: 5\ns2: 2, 3"
    none, _ = answered(strategy, AlignmentOptions(), "A1: none\nA2: 99", inputs=ALIGNED)
    assert none.data["links"] == {"s1": [], "s2": []} and none.data["dropped"] == 1


def test_an_answer_without_sentences_has_no_links() -> None:
    nothing = {**CASE, "answer_sentences": []}
    for strategy in ALIGNMENT_STRATEGIES.values():
        response, model = answered(strategy, AlignmentOptions(), "A1: 5", inputs=nothing)
        assert response.data["links"] == {} and not model.asked
    assert ALIGNMENT_STRATEGIES["zero-shot"].estimate(nothing, AlignmentOptions()) == (0, 0)


def test_links_by_similarity_have_at_least_the_most_similar_sentence() -> None:
    strategy = ALIGNMENT_STRATEGIES["similarity"]
    response, _ = answered(strategy, AlignmentOptions(cutoff=0.5), inputs=ALIGNED)
    assert response.data["links"] == {"s1": ["5"], "s2": ["2"]}


@pytest.mark.parametrize(
    ("strategies", "names"),
    [
        (QUESTIONS_STRATEGIES, ["zero-shot"]),
        (EVIDENCE_STRATEGIES, ["zero-shot", "similarity"]),
        (ANSWERS_STRATEGIES, ["zero-shot"]),
        (ALIGNMENT_STRATEGIES, ["zero-shot", "similarity"]),
    ],
)
def test_names(strategies: Mapping[str, Strategy], names: list[str]) -> None:
    assert list(strategies) == names
    assert all(strategy.describe() for strategy in strategies.values())
