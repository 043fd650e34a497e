"""The embedded judge answers with the nearest passage, the chat judge with what a model says, or neither."""

from __future__ import annotations

import asyncio
import contextlib
import json
from pathlib import Path

import pytest
from given_judges import RecordedModel, WordCounts
from hypothesis import given
from hypothesis import strategies as st

from pmbench import Completion, Instance, JudgeParts, Options, RequestFailed, Response, Unscored
from pmbench_tasks.drafting.candidates import candidates
from pmbench_tasks.drafting.chat_judge import SCHEMA, ChatContentJudge, Unreadable, parse_answer
from pmbench_tasks.drafting.embedded_judge import CLAUSE_HANDICAP, THRESHOLD, EmbeddedContentJudge
from pmbench_tasks.drafting.judge_data.choose_threshold import ONE_WORD, choose, measure, read_pairs, rouge_l
from pmbench_tasks.drafting.judges import CONTENT
from pmbench_tasks.drafting.task import SyPPM

DRAFT = "You should stop taking ibuprofen, and we will check your kidneys next week. Call with questions."


def answers(sentences: list[str], draft: str) -> list[str]:
    return [a.span for a in asyncio.run(EmbeddedContentJudge(WordCounts()).match(sentences, draft))]


def chat(model: RecordedModel, sentences: list[str], draft: str = DRAFT) -> list[str]:
    return [a.span for a in asyncio.run(ChatContentJudge(model).match(sentences, draft))]


def test_a_clause_a_sentence_a_pair_or_nothing() -> None:
    draft = "Stop taking ibuprofen today, and we will check your kidneys. Rest at home. Drink enough water."
    asked = [
        "Stop taking ibuprofen today.",
        "Rest at home.",
        "Rest at home and drink enough water.",
        "Your knee is swollen.",
    ]
    assert answers(asked, draft) == [
        "Stop taking ibuprofen today",
        "Rest at home.",
        "Rest at home. Drink enough water.",
        "",
    ]


def test_a_question_is_no_match_for_a_statement() -> None:
    assert answers(["You are taking it daily."], "Are you taking it daily?") == [""]
    assert answers(["Are you taking it daily?"], "You are taking it daily.") == [""]
    assert answers(["Are you taking it daily?"], "Are you taking it daily?") == ["Are you taking it daily?"]


def test_a_request_may_be_put_either_way() -> None:
    assert answers(["Please call us today."], "Could you please call us today?") != [""]


def test_all_texts_of_a_reply_and_a_draft_go_to_the_embedder_in_one_call() -> None:
    embedder = WordCounts()
    judge = EmbeddedContentJudge(embedder)
    asyncio.run(judge.match(["Rest.", "Rest.", "Call."], "Rest. Rest. Call us now."))
    assert len(embedder.calls) == 1
    assert len(embedder.calls[0]) == len(set(embedder.calls[0]))


@pytest.mark.parametrize("draft", ["", "🎉 😀", " \n"])
def test_nothing_is_asked_about_a_draft_without_a_sentence(draft: str) -> None:
    embedder, model = WordCounts(), RecordedModel({})
    assert [a.span for a in asyncio.run(EmbeddedContentJudge(embedder).match(["Rest."], draft))] == [""]
    assert chat(model, ["Rest."], draft) == [""]
    assert (embedder.calls, model.requests) == ([], [])


def test_a_draft_of_50_000_words_is_judged() -> None:
    assert answers(["Call us."], "Please rest at home. " * 12_500 + "Call us.") == ["Call us."]


@given(st.text(max_size=200))
def test_candidates_lie_in_the_draft(draft: str) -> None:
    for found in candidates(draft):
        assert 0 <= found.start < found.end <= len(draft)
        if found.kind == "clause":
            assert found.text == draft[found.start : found.end]


def test_clauses_of_a_sentence() -> None:
    found = {c.text for c in candidates(DRAFT) if c.kind == "clause"}
    assert "You should stop taking ibuprofen" in found
    assert "we will check your kidneys next week." in found


def test_a_list_marker_is_not_compared() -> None:
    assert [c.text for c in candidates("1. Rest at home now.")] == ["Rest at home now."]


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ('{"match": true, "span": "Rest."}', "Rest."),
        ('{"match": false, "span": ""}', ""),
        ('{"match": false}', ""),
        ('```json\n{"match": true, "span": "Rest {now}."}\n```', "Rest {now}."),
        ('Sure! The answer {as JSON} is: {"span": "Rest.", "match": true}. Done.', "Rest."),
        ('{"why": {"a": 1}} {"match": true, "span": "Line\none"}', "Line\none"),
        (r'{"match": true, "span": "Rest \ud83d"}', "Rest \ufffd"),
        (r'{"match": true, "span": "Rest \ude00\ud83d now"}', "Rest \ufffd\ufffd now"),
        (r'{"match": true, "span": "Rest \ud83d\ude00"}', "Rest 😀"),
    ],
)
def test_answers_that_can_be_read(text: str, span: str) -> None:
    assert parse_answer(text) == span


@pytest.mark.parametrize(
    "text",
    [
        "",
        "NO MATCH",
        "{",
        "{" * 5_000,
        '{"match": "yes", "span": "Rest."}',
        '{"match": true}',
        '{"match": true, "span": ""}',
        '{"match": true, "span": ["Rest."]}',
        '[{"match"]',
        "[" * 5_000,
        '{"a":' * 5_000,
    ],
)
def test_answers_that_cannot(text: str) -> None:
    with pytest.raises(Unreadable):
        parse_answer(text)


@given(st.text(max_size=100))
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(Unreadable):
        assert isinstance(parse_answer(text), str)


def test_the_chat_judge_asks_once_per_sentence_with_a_schema() -> None:
    model = RecordedModel(
        {
            "Stop ibuprofen.": ['{"match": true, "span": "You should stop taking ibuprofen"}'],
            "Your knee {{ hurts }}.": ['{"match": false, "span": ""}'],
        }
    )
    assert chat(model, ["Stop ibuprofen.", "Your knee {{ hurts }}."]) == [
        "You should stop taking ibuprofen",
        "",
    ]
    assert [(attempt, schema) for _, attempt, schema in model.requests] == [(0, SCHEMA)] * 2
    assert all(DRAFT in messages[-1]["content"] for messages, _, _ in model.requests)


def test_an_answer_that_cannot_be_read_is_asked_for_once_more() -> None:
    model = RecordedModel({"Rest.": ["It matches!", '{"match": true, "span": "Call with questions."}']})
    assert chat(model, ["Rest."]) == ["Call with questions."]
    messages, attempt, _ = model.requests[1]
    assert attempt == 1
    assert messages[-2] == {"role": "assistant", "content": "It matches!"}
    assert "JSON" in messages[-1]["content"]


def test_after_two_answers_that_cannot_be_read_there_is_no_score() -> None:
    model = RecordedModel({"Rest.": ["It matches!", '{"match": true, "span": ""}']})
    with pytest.raises(Unscored) as raised:
        chat(model, ["Rest."])
    assert raised.value.kind == "unparsed"
    assert "matches!" not in str(raised.value)


@given(st.text(st.characters(codec=None, exclude_categories=()), max_size=20), st.booleans())
def test_whatever_a_judge_answers_can_be_written_to_a_file(span: str, escaped: bool) -> None:
    answer = json.dumps({"match": True, "span": f"x{span}"}, ensure_ascii=escaped)
    assert parse_answer(answer).encode()


@pytest.mark.parametrize("method", ["chat", "embedded"])
def test_half_an_emoji_in_answer_or_draft_leaves_a_score_that_can_be_written(method: str) -> None:
    half = "Call us. \ud83d Rest."
    judge = (
        EmbeddedContentJudge(WordCounts())
        if method == "embedded"
        else ChatContentJudge(RecordedModel({"Rest.": [r'{"match": true, "span": "\ud83d Rest."}']}))
    )
    instance = Instance("1", {"message": "Hi"}, {"response": "Rest."})
    score = asyncio.run(SyPPM().score(instance, Response(half), {"content": judge}))
    assert (score.stats["matches"], score.stats["nonverbatim"]) == (1, 0)
    assert json.dumps(score.evidence, ensure_ascii=False).encode()


class Failing(RecordedModel):
    """Fails for one sentence once all have been asked about; answers the others only much later."""

    def __init__(self, failure: Exception) -> None:
        super().__init__({})
        self.failure = failure
        self.asked = 0
        self.answered: list[str] = []
        self.ended: list[str] = []

    async def chat(self, messages, **asked):  # type: ignore[no-untyped-def, override]
        text = messages[-1]["content"]
        self.asked += 1
        try:
            if "Fails." in text:
                while self.asked < 3:
                    await asyncio.sleep(0)
                raise self.failure
            await asyncio.sleep(0.05)
            self.answered.append(text)
            return Completion('{"match": false}')
        finally:
            await asyncio.sleep(0)  # as a backend does that has to let go of a connection
            self.ended.append(text)


@pytest.mark.parametrize("failure", [RequestFailed("timeout"), Unscored("unparsed")])
def test_when_one_sentence_fails_nothing_goes_on_about_the_others(failure: Exception) -> None:
    model = Failing(failure)

    async def judged() -> None:
        with pytest.raises(type(failure)) as raised:
            await ChatContentJudge(model).match(["Rest.", "Fails.", "Call."], "Drink.")
        assert raised.value is failure
        assert len(model.ended) == model.asked == 3
        await asyncio.sleep(0.1)

    asyncio.run(judged())
    assert model.answered == []


def test_a_judge_that_is_interrupted_ends_what_it_had_asked() -> None:
    model = Failing(RequestFailed("timeout"))

    async def interrupted() -> None:
        task = asyncio.ensure_future(ChatContentJudge(model).match(["Rest.", "Call."], "Drink."))
        while model.asked < 2:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert len(model.ended) == 2

    asyncio.run(interrupted())
    assert model.answered == []


def test_the_role_builds_the_judge_that_it_is_given() -> None:
    assert isinstance(CONTENT.build(JudgeParts(None, WordCounts(), Options())), EmbeddedContentJudge)
    built = CONTENT.build(JudgeParts(RecordedModel({}), None, Options()))
    assert isinstance(built, ChatContentJudge)
    assert len(built.describe()["prompt"]) == 64


def test_rouge_l_of_a_worked_example() -> None:
    # Lin 2004, section 3.1: the longest common subsequence is "police the gunman", 3 words of 4 and 4.
    assert rouge_l("police killed the gunman", "police kill the gunman") == 0.75
    assert rouge_l("police killed the gunman", "the gunman kill police") == 0.5
    assert rouge_l("", "x") == 0.0


@pytest.mark.model
def test_the_chosen_numbers_are_those_that_the_script_chooses(models: dict[str, list[Path]]) -> None:
    from pmbench import open_embedder

    async def read() -> object:
        embedder = open_embedder()
        try:
            return await read_pairs(embedder)
        finally:
            await embedder.close()

    pairs: list = asyncio.run(read())  # type: ignore[type-arg, assignment]
    decide, numbers = choose(pairs)["embedded judge"]
    assert numbers == f"{THRESHOLD:g} / {CLAUSE_HANDICAP:g}"
    held_back = measure([p for p in pairs if p.fold == "held-back" and p.kind not in ONE_WORD], decide)
    assert held_back.pairs == 58
    assert held_back.agreement == pytest.approx(0.69, abs=0.02)


def test_every_annotated_span_is_in_its_draft() -> None:
    folder = Path(__file__).parents[2] / "tasks/pmbench_tasks/drafting/judge_data"
    rows = [
        json.loads(line) for line in (folder / "content_pairs.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    pairs = asyncio.run(read_pairs(WordCounts()))
    assert len(pairs) == len(rows)
    assert {row["draft_id"] for row in rows if row["fold"] == "tune"}.isdisjoint(
        row["draft_id"] for row in rows if row["fold"] == "held-back"
    )
