"""The embedded judge answers with the nearest passage, the chat judge with what a model says, or neither."""

from __future__ import annotations

import asyncio
import contextlib
import json

import pytest
from given_judges import GivenThemes, RecordedModel, WordCounts
from hypothesis import given
from hypothesis import strategies as st

from pmbench import (
    Completion,
    Instance,
    JudgeParts,
    Options,
    RequestFailed,
    Response,
    Unscored,
    split_sentences,
)
from pmbench_tasks.drafting.judges import CONTENT
from pmbench_tasks.drafting.judging.candidates import candidates
from pmbench_tasks.drafting.judging.chat_content_judge import (
    SCHEMA,
    ChatContentJudge,
    Unreadable,
    parse_answer,
)
from pmbench_tasks.drafting.judging.embedded_content_judge import EmbeddedContentJudge
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


def test_a_passage_that_contradicts_the_sentence_is_not_answered_with() -> None:
    draft = "Take 5 mg of warfarin tonight. Your left knee shows no fracture. Rest at home."
    asked = ["Take 10 mg of warfarin tonight.", "Your right knee shows no fracture.", "Rest at home."]
    assert answers(asked, draft) == ["", "", "Rest at home."]
    assert answers(["Your left knee shows a fracture."], draft) == [""]


def test_a_condition_must_not_be_dropped() -> None:
    draft = "If the pain becomes severe, please go to the emergency room at once."
    assert answers(["Please go to the emergency room at once."], draft) == [""]
    assert answers(["If the pain becomes severe, go to the emergency room at once."], draft) == [draft]


def test_greetings_and_list_markers_are_left_in_the_draft() -> None:
    assert answers(["Your labs are normal."], "Hi Mrs. Lee, your labs are normal.") == [
        "your labs are normal."
    ]
    assert answers(["Rest at home."], "1. Rest at home.\n2. Drink water.") == ["Rest at home."]


def test_a_heading_stands_for_nothing_but_itself() -> None:
    draft = "Here are some recommendations:\n- Rest at home."
    assert answers(["Here are some recommendations."], draft) == [""]
    assert answers(["Here are some recommendations:"], draft) == ["Here are some recommendations:"]


@given(st.lists(st.text(min_size=1, max_size=60), min_size=1, max_size=3))
def test_a_draft_says_what_it_says_word_for_word(parts: list[str]) -> None:
    draft = "\n\n".join(parts)
    sentences = split_sentences(draft)
    found = answers(sentences, draft)
    assert all(found)
    assert all(span in draft for span in found)


@given(st.text(max_size=150), st.text(min_size=1, max_size=60))
def test_answers_are_passages_of_the_draft_whatever_is_asked(draft: str, sentence: str) -> None:
    assert all(span in draft for span in answers([sentence], draft))


@pytest.mark.parametrize(
    ("draft", "sentence", "span"),
    [
        ("Tome la pastilla con agua. Descanse en casa.", "Descanse en casa.", "Descanse en casa."),
        ("请多喝水。请在家休息。", "请在家休息。", "请在家休息。"),
        ("<p>Rest at home.</p>\n<p>Drink water.</p>", "Rest at home.", "<p>Rest at home.</p>"),
    ],
)
def test_other_languages_and_markup_pass_through(draft: str, sentence: str, span: str) -> None:
    assert answers([sentence], draft) == [span]


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


@pytest.mark.parametrize(
    "draft", ["1. Rest at home now.", "Dear Ms. O’Hara, Rest at home now.", "- Hello! Rest at home now."]
)
def test_a_list_marker_or_a_greeting_is_not_compared(draft: str) -> None:
    assert "Rest at home now." in [c.text for c in candidates(draft)]


def test_the_end_of_a_sentence_of_many_parts_is_a_clause() -> None:
    draft = (
        "In short, if you have pain, fever, chills, a cough, or a rash, please call us or go to the clinic."
    )
    assert "if you have pain, fever, chills, a cough, or a rash, please call us or go to the clinic." in {
        c.text for c in candidates(draft)
    }


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
    score = asyncio.run(SyPPM().score(instance, Response(half), {"content": judge, "theme": GivenThemes()}))
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
def test_when_one_sentence_fails_those_asked_for_come_to_their_end(failure: Exception) -> None:
    """They are paid for; nothing is left running afterwards."""
    model = Failing(failure)

    async def judged() -> None:
        with pytest.raises(type(failure)) as raised:
            await ChatContentJudge(model).match(["Rest.", "Fails.", "Call."], "Drink.")
        assert raised.value is failure
        assert len(model.ended) == model.asked == 3 and len(model.answered) == 2
        await asyncio.sleep(0.1)
        assert model.asked == 3

    asyncio.run(judged())


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


@pytest.mark.parametrize(
    "reply",
    [
        "Hi Maria, please rest and call us tomorrow.",
        "Hi Maria,\nplease rest and call us tomorrow.",
        "Hi Bob - the labs are fine. Hi Ann - they are not.",
        "1. Rest now.\n2. Call us.\n\nThank you!",
        "What to do:\n- rest\n- call us",
    ],
)
def test_a_draft_that_is_the_reply_needs_no_edit(reply: str) -> None:
    judges = {"content": EmbeddedContentJudge(WordCounts()), "theme": GivenThemes()}
    instance = Instance("1", {"message": "Hi"}, {"response": reply})
    stats = asyncio.run(SyPPM().score(instance, Response(reply), judges)).stats
    assert (stats["additions"], stats["deletions"], stats["usable"]) == (0, 0, 1)
