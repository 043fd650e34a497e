"""Promises of an answer: whole, counted, cut where it was asked to be cut, the same again where that is promised."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from pmbench.core.errors import RequestFailed
from pmbench.core.model import Completion, Message
from pmbench.models.backend import Backend, Request
from pmbench.models.facade import FacadeModel, tracking
from pmbench.models.store import CompletionStore
from pmbench.testing.suite import CANARY, TOKENS, Suite

_MORE = 24
_WHILE = 10.0
"""Seconds."""


class Chatting(Suite):
    """Answers to one request at a time."""

    def test_an_answer_can_be_stored_and_comes_back_the_same(self) -> None:
        """An answer has text, a finish reason and plain numbers, and comes back equal from the store."""
        self.needs("chat")
        answer = self.chat(self.request())
        assert answer.text.strip(), "an answer to an ordinary question says something"
        assert answer.finish in ("stop", "length")
        assert self.tells(self.request(), answer)

    def test_the_second_time_the_store_answers(self, tmp_path: Path) -> None:
        """Through the facade, as strategies ask, an answer that was paid for comes from the store."""
        self.needs("chat")
        request, store = self.request(), CompletionStore(tmp_path / "completions.sqlite")

        async def twice(backend: Backend) -> tuple[FacadeModel, list[Completion]]:
            model = FacadeModel("suite", backend, store)
            with tracking(request.instance):
                asked = [await model.chat(request.messages, max_tokens=TOKENS) for _ in range(2)]
            return model, asked

        try:
            model, answers = self.run(twice)
        finally:
            store.close()
        if self.said().keeps:
            assert answers[0] == answers[1]
            assert model.answered_from_store == 1
        else:
            assert answers[0].text == answers[1].text, "what is not kept must be free and exact to ask again"

    def test_latency_is_a_time_that_passed(self) -> None:
        """Latency is a time that really passed, or 0 where the backend does not measure it."""
        self.needs("chat")
        began = time.perf_counter()
        answer = self.chat(self.request())
        # 0 where it does not measure: the facade does then.
        assert 0.0 <= answer.latency <= time.perf_counter() - began + 0.1

    @pytest.mark.parametrize("most", [1, 3])
    def test_an_answer_ends_at_the_token_limit_and_says_so(self, most: int) -> None:
        """An answer is cut at the token limit, and its finish reason is then `length`."""
        self.needs("chat")
        self.needs_prompts()
        answer = self.chat(self.request("Count from one to twenty in words.", max_tokens=most))
        if not self.exact_limit:
            pytest.skip("the limit is that of thinking and answer together")
        assert answer.finish == "length"
        if self.counts:
            assert answer.usage.completion_tokens <= most

    def test_tokens_are_counted(self) -> None:
        """Tokens of prompt and answer are counted, and a longer prompt has more."""
        self.needs("chat")
        self.needs_prompts()
        if not self.counts:
            pytest.skip("it does not count tokens")
        answer = self.chat(self.request())
        usage = answer.usage
        assert usage.prompt_tokens > 0 and usage.completion_tokens > 0
        if self.exact_limit:
            assert usage.completion_tokens <= TOKENS
        assert usage.cached_tokens + usage.written_tokens <= usage.prompt_tokens
        assert usage.reasoning_tokens <= usage.completion_tokens
        longer = self.chat(self.request("How do I treat a cold? " * 8)).usage
        assert longer.prompt_tokens > usage.prompt_tokens

    def test_a_conversation_has_turns_and_may_begin_with_the_system(self) -> None:
        """A conversation of several turns, the system's among them, is read as a whole."""
        self.needs("chat")
        messages: tuple[Message, ...] = (
            {"role": "system", "content": "You answer patients."},
            {"role": "user", "content": f"I have a cough. ({CANARY})"},
            {"role": "assistant", "content": "Since when?"},
            {"role": "user", "content": "Since Monday."},
        )
        answer = self.chat(self.conversation(messages))
        assert answer.finish in ("stop", "length")
        if self.counts and not self.said().by_instance:
            fewer = self.chat(self.conversation(messages[3:]))
            assert fewer.usage.prompt_tokens < answer.usage.prompt_tokens, (
                "earlier turns are part of the prompt"
            )

    def test_the_same_again_at_temperature_0(self) -> None:
        """At temperature 0 the same request has the same answer, where that is claimed."""
        self.needs("chat")
        if not self.deterministic:
            pytest.skip("it does not claim to be deterministic")
        one, other = (self.chat(self.request(max_tokens=_MORE)) for _ in range(2))
        assert (one.text, one.finish, one.reasoning) == (other.text, other.finish, other.reasoning)

    def test_control_tokens_of_a_message_are_text(self) -> None:
        """Control tokens that stand in a message are text: it cannot end its own turn or begin the system's."""
        self.needs("chat")
        if not self.control_tokens:
            pytest.skip("no text is known that would control the model")
        plain = self.chat(self.request("a  b", max_tokens=1)).usage.prompt_tokens
        for text in self.control_tokens:
            asked = self.request(f"a {text} b", max_tokens=1)
            more = self.chat(asked).usage.prompt_tokens - plain
            assert more > 1, f"{text} is one token: it was read as a control token, or not at all"

    def test_more_tokens_than_anybody_has_are_no_other_than_many(self) -> None:
        """A token limit beyond all bounds wraps around to nothing; one below 1 is no answer."""
        self.needs("chat")
        # The largest may run for as long as the model has something to say: it is left after a while.
        for most in (2**31 - 1, 0, -1):
            request = self.request("Say yes.", max_tokens=most)

            async def ask(backend: Backend, request: Request = request) -> Completion | RequestFailed | None:
                try:
                    async with asyncio.timeout(_WHILE):
                        return await self.outcome(backend.chat(request))
                except TimeoutError:
                    return None

            outcome = self.run(ask)
            if isinstance(outcome, Completion):
                self.valid(outcome, Completion)
                assert most > 0 or self.said().by_instance, "an answer of no tokens was asked for"
