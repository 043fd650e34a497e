"""What counts as an answer: thinking set apart, options found in words."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pmbench.core.errors import RequestFailed
from pmbench.core.model import Completion
from pmbench.models.answers import accept, choice_from, is_blank, separate_thinking


@pytest.mark.parametrize(
    ("given_text", "finish", "text", "reasoning"),
    [
        ("<think>\nhm\n</think>\n\nDear A", "stop", "Dear A", "hm"),
        (" \n<think></think>Dear A", "stop", "Dear A", ""),
        ("hm</think>Dear A", "stop", "Dear A", "hm"),  # the prompt ended with the opening tag
        ("<think>hm</think>Dear", "length", "Dear", "hm"),
        ("<think>hm", "length", "", "hm"),
        ("<think>hm", "stop", "<think>hm", ""),
        ("Dear A <think>hm</think>", "stop", "Dear A <think>hm</think>", ""),
        ("Dear A", "stop", "Dear A", ""),
    ],
)
def test_thinking_at_the_start_is_set_apart(given_text: str, finish: str, text: str, reasoning: str) -> None:
    done = separate_thinking(Completion(given_text, finish))  # type: ignore[arg-type]
    assert (done.text, done.reasoning) == (text, reasoning)


def test_thinking_joins_what_the_server_set_apart_already() -> None:
    assert separate_thinking(Completion("<think>b</think>c", reasoning="a")).reasoning == "a\nb"


@pytest.mark.parametrize("text", ["", " \n", "\u200b", "\u2060\ufeff\u200e", "\x00\x7f"])
def test_what_nobody_can_see_is_no_text(text: str) -> None:
    assert is_blank(Completion(text))
    with pytest.raises(RequestFailed, match="cut-off"):
        accept(Completion(text, "length"))


@pytest.mark.parametrize("text", [".", "\u200bno", "\N{THUMBS UP SIGN}\ufe0f", "\ue000"])
def test_what_can_be_seen_is_a_text(text: str) -> None:
    assert not is_blank(Completion(text))


@settings(deadline=None)
@given(st.text().filter(lambda text: "think>" not in text), st.sampled_from(["stop", "length", "refused"]))
def test_a_text_without_thinking_is_left_as_it_is(text: str, finish: str) -> None:
    completion = Completion(text, finish)  # type: ignore[arg-type]
    if not is_blank(Completion(text)) or finish != "length":
        assert accept(completion) == completion


@pytest.mark.parametrize(
    ("text", "options", "place"),
    [
        ("B", ["A", "B"], 1),
        (" **b**.", ["A", "B"], 1),
        ("(A) since", ["A", "B"], 0),
        ("Yes, certainly", ["no", "yes"], 1),
        ("not urgent at all", ["urgent", "not urgent"], 1),
        ("very urgent", ["very", "very urgent"], 1),
        ("Message 2", ["Message 1", "Message 2"], 1),
        ("Routine", ["routine care", "urgent care"], 0),
        ("10", ["1", "10"], 1),
        (">", ["<", ">"], 1),
    ],
)
def test_the_option_that_an_answer_starts_with_is_found(text: str, options: list[str], place: int) -> None:
    choice = choice_from(Completion(text), options)
    assert choice.probabilities.index(1.0) == place
    assert sum(choice.probabilities) == 1.0
    assert not choice.exact


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("", ["A", "B"]),
        ("Because", ["A", "B"]),
        ("Nothing", ["no", "yes"]),
        ("I would say A", ["A", "B"]),
        ("Message", ["Message 1", "Message 2"]),
    ],
)
def test_an_answer_with_no_option_is_none(text: str, options: list[str]) -> None:
    with pytest.raises(RequestFailed, match="no-option"):
        choice_from(Completion(text), options)


def test_who_declines_has_chosen_nothing() -> None:
    with pytest.raises(RequestFailed, match="refused"):
        choice_from(Completion("A", "refused"), ["A", "B"])
