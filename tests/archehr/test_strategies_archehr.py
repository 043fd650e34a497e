"""Strategies of archehr-qa: which prompt sees what, and how lines are put together."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
from given_answers import CASE, NOTE, PLAIN, RIGHT, SENTENCES, ScriptedModel, WordEmbedder
from hypothesis import given
from hypothesis import strategies as st

from pmbench import ConfigError, Options, Response, StrategyContext, Task, open_embedder
from pmbench_tasks.archehr.answer_task import AnswersWithCitations
from pmbench_tasks.archehr.answers import parse_official
from pmbench_tasks.archehr.heuristic import fitting
from pmbench_tasks.archehr.options import AnswerOptions
from pmbench_tasks.archehr.similarity import LEAST_KEPT, kept
from pmbench_tasks.archehr.strategies import ANSWER_STRATEGIES
from pmbench_tasks.archehr.tasks_2026 import Alignment, Evidence

WORDS = WordEmbedder("furosemide", "stop", "pneumonia", "ceftriaxone", "potassium", "walk")


def answered(
    name: str, model: Any = None, inputs: Mapping[str, Any] = CASE, embedder: Any = WORDS, **options: Any
) -> Response:
    context = StrategyContext(AnswerOptions(**options), embedder)
    return asyncio.run(ANSWER_STRATEGIES[name](inputs, model or ScriptedModel(RIGHT), context))


def test_together_is_the_default() -> None:
    assert list(ANSWER_STRATEGIES) == ["together", "answer-first", "evidence-first", "heuristic"]


def test_answer_first_asks_for_the_answer_and_then_for_what_it_rests_on() -> None:
    model = ScriptedModel(PLAIN, "A1: 5\nA2: 2, 3")
    response = answered("answer-first", model)
    assert response.text == RIGHT
    assert [one["step"] for one in response.data["tries"]] == ["answer", "cite"]
    answer, cite = model.asked
    assert "<answer>" not in answer
    assert "[A2] She also had pneumonia.\n</answer>" in cite
    assert all(text in prompt for text in NOTE for prompt in model.asked)
    assert model.limits[1] == 16 + 2 * 16


def test_answer_first_has_five_tries_for_each_prompt() -> None:
    model = ScriptedModel(*["One. |5|"] * 4, PLAIN, *["no idea"] * 4, "A1: 5")
    response = answered("answer-first", model)
    assert len(model.asked) == len(response.data["tries"]) == 10
    assert response.text == RIGHT.replace(" |2,3|", "")
    assert response.data["problems"] == ["missing-sentence"]
    assert ANSWER_STRATEGIES["answer-first"].estimate(CASE, AnswerOptions()) == (2, 10)


def test_an_answer_without_a_sentence_is_not_asked_for_citations() -> None:
    model = ScriptedModel("--")
    response = answered("answer-first", model)
    assert (len(model.asked), response.text, response.data["problems"]) == (5, "--", ["empty"])


def test_ids_that_the_note_has_not_are_kept_as_the_model_named_them() -> None:
    model = ScriptedModel(PLAIN, "A1: 5, 99\nA2: see 12 lines above")
    response = answered("answer-first", model, tries=1)
    assert response.text.splitlines()[0].endswith(" |5,99|")
    assert response.text.splitlines()[1].endswith("pneumonia.")
    assert response.data["problems"] == ["unknown-id", "not-a-list"]


def test_evidence_first_shows_only_similar_sentences_under_their_own_ids() -> None:
    case = {
        **CASE,
        "sentences": [*SENTENCES, {"id": "x9", "text": "Furosemide will be stopped.", "paragraph": "2"}],
    }
    model = ScriptedModel("It was stopped for good. |x9|")
    response = answered("evidence-first", model, case, cutoff=0.5)
    assert response.data["shown"] == ["2", "3", "4", "5", "x9"]  # at least five, no heading
    prompt = model.asked[0]
    assert "[x9] Furosemide will be stopped." in prompt and "[5] " in prompt
    assert NOTE[0] not in prompt and NOTE[5] not in prompt
    everything = answered("evidence-first", ScriptedModel("It was stopped. |5|"), case, cutoff=-1)
    assert everything.data["shown"] == ["2", "3", "4", "5", "6", "x9"]


@pytest.mark.parametrize("cutoff", ["-1.1", "1.5", "inf", "nan"])
@pytest.mark.parametrize("task", [AnswersWithCitations, Evidence, Alignment])
def test_a_cutoff_that_is_no_cosine_is_refused_by_the_option(task: type[Task], cutoff: str) -> None:
    with pytest.raises(ConfigError, match=r"option cutoff of archehr-.*: it must be"):
        task.parse_options({"cutoff": cutoff})


@pytest.mark.parametrize("name", ANSWER_STRATEGIES)
def test_options_of_another_task_are_refused(name: str) -> None:
    if name != "heuristic":  # which has none
        with pytest.raises(ConfigError, match="ArchEHR-QA"):
            ANSWER_STRATEGIES[name].estimate(CASE, Options())


def test_what_a_strategy_needs() -> None:
    needs = {name: set(strategy.needs) for name, strategy in ANSWER_STRATEGIES.items()}
    assert needs == {
        "together": {"chat"},
        "answer-first": {"chat"},
        "evidence-first": {"chat", "embed"},
        "heuristic": {"embed"},
    }


def test_heuristic_takes_the_most_similar_sentences_in_document_order() -> None:
    case = {
        **CASE,
        "sentences": [
            {"id": "1", "text": "Furosemide:", "paragraph": ""},
            {"id": "2", "text": "Furosemide was " + "really " * 66 + "begun", "paragraph": ""},
            {"id": "3", "text": "Furosemide was stopped.", "paragraph": ""},
            {"id": "4", "text": "Pneumonia was  treated\nfor a long time.", "paragraph": ""},
        ],
    }
    response = answered("heuristic", inputs=case)
    parsed = parse_official(response.text)
    assert parsed.citations == (
        "2",
        "3",
    )  # the third would be the 76th word and more, and a heading says nothing
    assert parsed.words <= 75
    assert response.data == {"tries": [], "problems": []}
    assert ANSWER_STRATEGIES["heuristic"].estimate(case, AnswerOptions()) == (0, 0)


def test_heuristic_without_anything_similar_still_answers() -> None:
    only_headings = {**CASE, "sentences": [{"id": "7", "text": "Plan:", "paragraph": ""}]}
    assert answered("heuristic", inputs=only_headings).text == "Plan: |7|"
    assert answered("heuristic", inputs={**CASE, "sentences": []}).text == ""


@given(st.lists(st.tuples(st.integers(1, 100), st.floats(-1, 1)), max_size=30))
def test_heuristic_keeps_to_the_limit(given_: list[tuple[int, float]]) -> None:
    texts, values = [" ".join(["w"] * words) for words, _ in given_], [value for _, value in given_]
    places = fitting(texts, values)
    assert places == sorted(set(places))
    words = sum(given_[place][0] for place in places)
    assert words <= 75 or len(places) == 1
    left_out = [value for place, value in enumerate(values) if place not in places]
    assert not left_out or min(values[place] for place in places) >= max(left_out)


@given(st.lists(st.floats(-1, 1), max_size=30), st.floats(-1, 1))
def test_the_filter_keeps_what_is_similar_and_never_fewer_than_five(
    values: list[float], cutoff: float
) -> None:
    places = kept(values, cutoff)
    assert places == sorted(places)
    assert len(places) >= min(LEAST_KEPT, len(values))
    assert {place for place, value in enumerate(values) if value >= cutoff} <= set(places)
    assert len(places) == max(min(LEAST_KEPT, len(values)), sum(value >= cutoff for value in values))


@pytest.mark.model
def test_the_embedded_embedder_finds_what_the_question_is_about(models: Any) -> None:
    async def both() -> tuple[Response, Response]:
        embedder = open_embedder()
        context = StrategyContext(AnswerOptions(cutoff=1.0), embedder)
        try:
            heuristic = await ANSWER_STRATEGIES["heuristic"](CASE, ScriptedModel(""), context)
            filtered = await ANSWER_STRATEGIES["evidence-first"](CASE, ScriptedModel(RIGHT), context)
        finally:
            await embedder.close()
        return heuristic, filtered

    heuristic, filtered = asyncio.run(both())
    assert "5" in parse_official(heuristic.text).citations
    assert filtered.data["shown"] == ["2", "3", "4", "5", "6"]
