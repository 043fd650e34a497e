"""Promises of many requests at once, and of those that nobody waits for any more."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pmbench.core.errors import RequestFailed
from pmbench.core.model import Completion
from pmbench.models.backend import Backend, Request
from pmbench.testing.suite import Suite

MANY = 32
_SOME = (0, 7, MANY - 1)
_LONG = 400
"""Tokens of an answer that is still under way when it is given up."""


class Crowds(Suite):
    """Many at once, cancelled, closed."""

    def test_many_at_once_get_each_its_own_answer(self) -> None:
        """Of 32 requests at once each gets its own answer, and no other than alone where that is claimed."""
        self.needs("chat")
        requests = [self._numbered(number) for number in range(MANY)]

        async def all_at_once(backend: Backend) -> list[Completion]:
            return list(await asyncio.gather(*(backend.chat(request) for request in requests)))

        answers = [self.valid(answer, Completion) for answer in self.run(all_at_once)]
        for request, answer in zip(requests, answers, strict=True):
            assert self.tells(request, answer), "an answer to another request"
        if self.counts and not self.said().by_instance:
            sizes = [answer.usage.prompt_tokens for answer in answers]
            assert sizes == sorted(set(sizes)), "each question is longer than the one before"
        if self.deterministic:
            for number in _SOME:
                assert self.chat(requests[number]).text == answers[number].text

    def test_a_request_that_fails_fails_alone(self) -> None:
        """A request that is far too long fails alone among others."""
        self.needs("chat")
        requests = [self._numbered(number) for number in range(4)]
        requests.insert(2, self.request("pain " * 400_000))

        async def all_at_once(backend: Backend) -> list[Completion | RequestFailed]:
            return list(await asyncio.gather(*(self.outcome(backend.chat(one)) for one in requests)))

        outcomes = self.run(all_at_once)
        for place, outcome in enumerate(outcomes):
            if place != 2:
                assert isinstance(outcome, Completion), f"failed with it: {outcome}"
                assert self.tells(requests[place], outcome)

    def test_a_request_that_is_cancelled_leaves_the_others_and_the_backend(self) -> None:
        """A request that is cancelled harms neither those beside it nor those after it."""
        self.needs("chat")
        requests = [self._numbered(number) for number in range(3)]
        long = self.request("Tell a very long story.", max_tokens=_LONG)

        async def scene(backend: Backend) -> list[Completion]:
            given_up = asyncio.create_task(backend.chat(long))
            others = [asyncio.create_task(backend.chat(request)) for request in requests[:2]]
            await asyncio.sleep(0.2)
            given_up.cancel()
            await asyncio.gather(given_up, return_exceptions=True)
            return [*await asyncio.gather(*others), await backend.chat(requests[2])]

        for request, answer in zip(requests, self.run(scene), strict=True):
            assert self.tells(request, self.valid(answer, Completion))

    def test_closing_during_a_request_ends_it(self) -> None:
        """Closing ends what is under way, and the backend can be opened again."""
        self.needs("chat")
        long = self.request("Tell a very long story.", max_tokens=_LONG)

        async def scene(backend: Backend) -> Any:
            await backend.open()
            under_way = asyncio.create_task(self.outcome(backend.chat(long)))
            await asyncio.sleep(0.2)
            await backend.close()
            (outcome,) = await asyncio.gather(under_way, return_exceptions=True)
            await backend.open()
            await backend.chat(self._numbered(0))
            return outcome

        outcome = self.run_new(scene)
        assert isinstance(outcome, Completion | RequestFailed | asyncio.CancelledError), repr(outcome)

    def test_rewards_and_vectors_of_many_at_once(self) -> None:
        """Rewards and vectors asked for at once are those of the same texts alone."""
        offers = self.said().offers & {"reward", "embed"}
        if not offers:
            pytest.skip("it offers neither `reward` nor `embed`")
        texts = [f"fever for {number} days" + " and more" * number for number in range(MANY)]

        async def scene(backend: Backend) -> None:
            if "reward" in offers:
                asked = [self.request(text) for text in texts]
                rewards = await asyncio.gather(*(backend.reward(one) for one in asked))
                for place in _SOME:
                    assert await backend.reward(asked[place]) == pytest.approx(
                        rewards[place], rel=1e-2, abs=1e-3
                    )
            if "embed" in offers:
                vectors = await asyncio.gather(*(backend.embed([text]) for text in texts))
                for place in _SOME:
                    (alone,) = await backend.embed([texts[place]])
                    assert float(alone @ vectors[place][0]) == pytest.approx(1.0, abs=1e-3)

        self.run(scene)

    def _numbered(self, number: int) -> Request:
        text = "How do I treat a" + " very" * number + " bad cold?"
        return self.request(text, place=number, max_tokens=6)
