"""A model that never stops still gets its score, and soon: each of these took minutes to hours once.

Nothing is timed. What grows with the square of the length would not come back within the suite's own limit.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import numpy as np
import pytest
from given_judges import GivenThemes, RecordedModel, WordCounts
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from pmbench import Instance, Response, Score, Unscored, find_span, split_sentences
from pmbench_tasks.drafting import count_edits
from pmbench_tasks.drafting.judging.candidates import candidates
from pmbench_tasks.drafting.judging.chat_content_judge import ChatContentJudge, Unreadable, parse_answer
from pmbench_tasks.drafting.judging.embedded_content_judge import MOST_TEXTS, EmbeddedContentJudge
from pmbench_tasks.drafting.oncqa import drop_preamble
from pmbench_tasks.drafting.task import SyPPM

LENGTH = 150_000

RUNS = (" ", "\t", "\u00a0", ")", ".)", "(", ",", ", ", "-", " - ", "–", "– ", "and ", "so so ", ", and ")
PHRASES = (
    "a",
    "a ",
    "1. ",
    "? ",
    "Rest. ",
    "rest, ",
    "because ",
    "could you ",
    "a,\n",
    "\n",
    "“",
    "'",
    "好。",
)


class Unembeddable(WordCounts):
    """Must not be asked."""

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        raise AssertionError(f"{len(texts)} texts to embed")


def repeated(phrase: str) -> str:
    return phrase * (LENGTH // len(phrase))


def scored(draft: str, response: str = "Please rest at home. Any fever?") -> Score:
    instance = Instance("1", {"message": "Hi"}, {"response": response})
    judge = EmbeddedContentJudge(WordCounts())
    return asyncio.run(SyPPM().score(instance, Response(draft), {"content": judge, "theme": GivenThemes()}))


@pytest.mark.parametrize("run", [*RUNS, *PHRASES])
def test_a_draft_that_repeats_itself_is_scored(run: str) -> None:
    stats = scored(f"Hello{repeated(run)}world is fine").stats
    assert stats["matches"] + stats["additions"] == 2
    assert stats["deletions"] >= 1


def test_a_reply_that_repeats_itself_is_scored_against_itself() -> None:
    reply = repeated("Please rest at home. ")
    stats = scored(reply, reply).stats
    assert stats["matches"] == len(split_sentences(reply)) == LENGTH // 21
    # The first occurrence counts, for every sentence.
    assert stats["deletions"] == stats["matches"] - 1


def test_a_draft_of_very_many_different_sentences_is_counted_as_too_long() -> None:
    draft = " ".join(f"Take tablet number {number} now." for number in range(MOST_TEXTS))
    with pytest.raises(Unscored) as raised:
        asyncio.run(EmbeddedContentJudge(Unembeddable()).match(["Rest."], draft))
    assert raised.value.kind == "too-long"
    assert "tablet" not in str(raised.value)


def test_a_long_reply_against_itself_is_counted_as_too_long_before_all_pairs_are_compared() -> None:
    reply = [f"Take tablet number {number} now." for number in range(4_000)]
    with pytest.raises(Unscored, match="too many to compare"):
        asyncio.run(EmbeddedContentJudge(Unembeddable()).match(reply, " ".join(reply)))


def test_thousands_of_answers_are_looked_for_in_a_long_draft() -> None:
    draft = " ".join(f"Take tablet number {number} now." for number in range(20_000))
    answers = [f"take tablet number {number} now" for number in range(18_000, 20_000)]
    counts = count_edits(answers, draft, answers)
    assert (counts.matches, counts.nonverbatim) == (2_000, 0)
    again = count_edits(answers[:1] * 100_000, draft, ["you should take another tablet"] * 100_000)
    assert (again.matches, again.nonverbatim) == (100_000, 100_000)


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("ab " * 100_000, "ab " * 1_000 + "a"),
        ("word " * 100_000, "ord " + "word " * 1_000),
        ('"' * LENGTH,) * 2,
    ],
    ids=["cut end", "cut beginning", "quotes"],
)
def test_a_span_that_nearly_stands_everywhere_is_not_found(text: str, span: str) -> None:
    assert find_span(text, span) is None


@pytest.mark.parametrize("text", ["{" * LENGTH, '{"a' * 100_000, '{"match": ' + "1" * 5_000 + "}"])
def test_an_endless_answer_of_a_judge_is_unreadable(text: str) -> None:
    with pytest.raises(Unreadable):
        parse_answer(text)


def test_a_chat_judge_is_not_handed_thousands_of_prompts_at_once() -> None:
    class Slow(RecordedModel):
        under_way = most = 0

        async def chat(self, messages, **asked):  # type: ignore[no-untyped-def, override]
            self.under_way += 1
            self.most = max(self.most, self.under_way)
            await asyncio.sleep(0)
            self.under_way -= 1
            return await super().chat(messages, **asked)

    sentences = [f"Rest {n}." for n in range(300)]
    model = Slow({sentence: ['{"match": false}'] for sentence in sentences})
    found = asyncio.run(ChatContentJudge(model).match(sentences, "Drink."))
    assert len(found) == len(model.requests) == 300
    assert 1 < model.most <= 64


def test_other_readers_of_a_draft() -> None:
    assert drop_preamble("The provided information is sufficient." + repeated(" \n") + "Rest.") == "Rest."
    assert drop_preamble("Yes, the provided information is" + repeated("Dear ,\t")).startswith("Yes")


@given(
    st.lists(st.sampled_from([*RUNS, *PHRASES, "Call us", ".", "\ud83d", "😀"]), max_size=12).map("".join),
    st.integers(1, 400),
)
def test_no_repetition_raises(unit: str, times: int) -> None:
    draft = unit * (1 + times // (1 + len(unit)))
    for found in candidates(draft):
        assert 0 <= found.start < found.end <= len(draft)
    counts = count_edits(["Rest."], draft, [unit])
    assert counts.matches + counts.additions == 1
