"""Promises of what is no text: probabilities of options, rewards, vectors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pmbench.core.errors import RequestFailed
from pmbench.core.model import Choice, Message
from pmbench.models.answers import valid_choice
from pmbench.models.backend import Backend
from pmbench.models.facade import FacadeModel, tracking
from pmbench.models.store import CompletionStore
from pmbench.testing.suite import CANARY, Suite

_QUESTION = "Is chest pain after exercise urgent? Answer Yes or No only."
_OPTIONS = ("Yes", "No")


class Numbers(Suite):
    """Choosing, rewarding, embedding."""

    # Choosing.

    def test_a_choice_gives_every_option_a_probability(self) -> None:
        """The probabilities of a choice sum to 1, and its mass is one too."""
        self.needs("choose")
        choice = self._choose(_OPTIONS)
        assert math.fsum(choice.probabilities) == pytest.approx(1.0, abs=1e-6)
        assert 0.0 < choice.mass <= 1.0 + 1e-6
        if self.counts:
            assert choice.usage.prompt_tokens > 0

    def test_a_choice_is_in_the_order_of_the_options(self) -> None:
        """The probabilities of a choice are in the order of the options."""
        self.needs("choose")
        choice, turned = self._choose(_OPTIONS), self._choose(_OPTIONS[::-1])
        assert turned.probabilities == pytest.approx(choice.probabilities[::-1], abs=0.02)

    def test_a_choice_says_whether_it_is_exact(self) -> None:
        """A choice is exact where there are log-probabilities, else one-hot and said to be."""
        self.needs("choose")
        choice, exact = self._choose(_OPTIONS), "logprobs" in self.said().features
        assert choice.exact == exact, "exact where it has log-probabilities, and only there"
        if not exact:
            assert sorted(choice.probabilities) == [0.0, 1.0]

    def test_case_and_spaces_of_options_do_not_matter(self) -> None:
        """Letter case and spaces of options do not matter."""
        self.needs("choose", "logprobs")
        choice, other = self._choose(_OPTIONS), self._choose(("YES", " no"))
        assert other.probabilities == pytest.approx(choice.probabilities, abs=0.02)

    def test_options_that_cannot_be_told_apart_are_refused(self) -> None:
        """Options that begin with the same token are refused."""
        self.needs("choose", "logprobs")
        for options in (("1", "10"), ("yes", "Yes"), ("yes",), ("yes", "")):
            outcome = self._choice_or_failure(options)
            assert isinstance(outcome, RequestFailed), f"{options} were told apart"
            assert not outcome.retryable

    def test_options_that_nobody_says_fail_or_are_valid(self) -> None:
        """Options that a model never says fail, or have probabilities all the same."""
        self.needs("choose")
        outcome = self._choice_or_failure(("qqqq", "zzzz"))
        if isinstance(outcome, Choice):
            assert math.fsum(valid_choice(outcome, ("qqqq", "zzzz")).probabilities) == pytest.approx(
                1.0, abs=1e-6
            )

    def test_whatever_chats_can_choose_through_the_facade(self, tmp_path: Path) -> None:
        """Whatever chats can choose through the facade, if only in words."""
        self.needs("chat")
        request, store = self.request(_QUESTION), CompletionStore(tmp_path / "completions.sqlite")

        async def choose(backend: Backend) -> Choice | RequestFailed:
            with tracking(request.instance):
                model = FacadeModel("suite", backend, store)
                return await self.outcome(model.choose(request.messages, _OPTIONS))

        try:
            outcome = self.run(choose)
        finally:
            store.close()
        if isinstance(outcome, RequestFailed):
            assert outcome.kind in ("no-option", "refused", "no-mass"), outcome
        else:
            assert math.fsum(outcome.probabilities) == pytest.approx(1.0, abs=1e-6)
            assert outcome.exact == ("logprobs" in self.said().features)

    def _choose(self, options: Sequence[str]) -> Choice:
        outcome = self._choice_or_failure(options)
        assert isinstance(outcome, Choice), f"{options}: {outcome}"
        return valid_choice(self.valid(outcome, Choice), options)

    def _choice_or_failure(self, options: Sequence[str]) -> Choice | RequestFailed:
        request = self.request(_QUESTION, options=tuple(options), max_tokens=1)

        async def ask(backend: Backend) -> Choice | RequestFailed:
            return await self.outcome(backend.choose(request))

        return self.run(ask)

    # Rewarding.

    def test_a_reward_is_a_finite_number_and_the_same_again(self) -> None:
        """A reward is a finite number, the same for the same conversation."""
        self.needs("reward")
        one, again, other = (self._reward(text) for text in ("Take rest.", "Take rest.", "No. " * 30))
        assert math.isfinite(one) and math.isfinite(other)
        assert one == pytest.approx(again, rel=1e-3, abs=1e-4)
        assert one != other, "two different conversations are worth the same"

    def _reward(self, reply: str) -> float:
        asked: Message = {"role": "user", "content": f"How do I treat a cold? ({CANARY})"}
        request = self.conversation((asked, {"role": "assistant", "content": reply}))

        async def ask(backend: Backend) -> float:
            return await backend.reward(request)

        reward = self.run(ask)
        assert isinstance(reward, float)
        return reward

    # Embedding.

    def test_vectors_are_rows_of_unit_length(self) -> None:
        """Vectors are rows of 32-bit numbers and of unit length."""
        self.needs("embed")
        vectors = self._embed(["fever", "a cough since Monday", "fever"])
        assert vectors.ndim == 2 and vectors.shape[0] == 3 and vectors.shape[1] > 1
        assert str(vectors.dtype) == "float32"
        assert [float(row @ row) for row in vectors] == pytest.approx([1.0] * 3, abs=1e-3)

    def test_the_same_text_has_the_same_vector_whatever_stands_beside_it(self) -> None:
        """A text has the same vector whatever stands beside it."""
        self.needs("embed")
        texts = ["fever", "a cough since Monday", "My knee is swollen. " * 20]
        together = self._embed(texts)
        for place, text in enumerate(texts):
            assert float(together[place] @ self._embed([text])[0]) == pytest.approx(1.0, abs=1e-3)
        assert float(together[0] @ together[1]) < 0.999, "two texts have one vector"

    def test_no_texts_have_no_vectors_of_the_same_width(self) -> None:
        """No texts have no vectors, of the same width."""
        self.needs("embed")
        width = self._embed(["fever"]).shape[1]
        assert self._embed([]).shape == (0, width)

    def test_many_texts_keep_their_order(self) -> None:
        """Many texts keep their order."""
        self.needs("embed")
        texts = [f"{number} days of fever" for number in range(300)]
        vectors = self._embed(texts)
        assert vectors.shape[0] == len(texts)
        for place in (0, 137, 299):
            assert float(vectors[place] @ self._embed([texts[place]])[0]) == pytest.approx(1.0, abs=1e-3)

    def _embed(self, texts: list[str]) -> Any:
        async def ask(backend: Backend) -> Any:
            return await backend.embed(texts)

        return self.run(ask)
