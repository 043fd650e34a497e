"""Promises of features: what is claimed holds, what is not claimed is refused and never dropped."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pmbench.core.errors import RequestFailed
from pmbench.core.model import Completion
from pmbench.models.backend import Backend, Request
from pmbench.testing.suite import Suite

SCHEMA = {
    "type": "object",
    "properties": {"urgent": {"type": "boolean"}, "days": {"type": "integer"}},
    "required": ["urgent", "days"],
    "additionalProperties": False,
}

HOT = 1.0
"""A temperature that every server takes."""

_QUESTIONS = ("Count from one to ten in words.", "Tell a story.", "How do I treat a cold?")
_TOKENS = 24


class Features(Suite):
    """Stop texts, sampling, JSON schemas."""

    # Stop texts.

    def test_a_stop_text_ends_the_answer_and_is_not_in_it(self) -> None:
        """A stop text ends an answer before it."""
        self.needs("chat", "stop")
        question, whole = self._wordy()
        stop = whole.split()[2]
        stopped = self.chat(self.request(question, max_tokens=_TOKENS, stop=(stop,)))
        assert stop not in stopped.text
        if self.deterministic:
            assert stopped.finish == "stop"
            assert stopped.text.rstrip() == whole[: whole.index(stop)].rstrip()

    def test_of_several_stop_texts_the_first_that_comes_counts(self) -> None:
        """Of several stop texts the one that comes first ends the answer."""
        self.needs("chat", "stop")
        question, whole = self._wordy()
        first, second = whole.split()[1:3]
        stopped = self.chat(self.request(question, max_tokens=_TOKENS, stop=("%%never%%", second, first)))
        assert first not in stopped.text and second not in stopped.text
        if self.deterministic:
            end = min(whole.index(first), whole.index(second))
            assert stopped.text.rstrip() == whole[:end].rstrip()

    def test_a_stop_text_that_never_comes_changes_nothing(self) -> None:
        """A stop text that never comes changes nothing."""
        self.needs("chat", "stop")
        question, whole = self._wordy()
        stopped = self.chat(self.request(question, max_tokens=_TOKENS, stop=("%%never%%",)))
        assert stopped.text.strip()
        if self.deterministic:
            assert stopped.text == whole

    def _wordy(self) -> tuple[str, str]:
        """A question with an answer of three words or more, and that answer."""
        for question in _QUESTIONS:
            whole = self.chat(self.request(question, max_tokens=_TOKENS)).text
            if len(whole.split()) > 2:
                return question, whole
        pytest.fail("none of its answers has three words, so that none can be stopped")

    # Sampling.

    def test_samples_differ(self) -> None:
        """Samples at a temperature differ."""
        self.needs("chat", "temperature")
        if not self.varies:
            pytest.skip("its samples do not differ: it plays a model")
        texts = {self._sample(sample=sample).text for sample in range(4)}
        assert len(texts) > 1, "four samples at a high temperature are one"

    def test_equal_seeds_give_equal_samples_and_others_others(self) -> None:
        """Equal seeds give equal samples; another seed, sample or attempt gives another."""
        self.needs("chat", "seed")
        first = self._sample(sample=1, seed=7)
        assert self._sample(sample=1, seed=7).text == first.text
        if self.varies:
            others = [{"sample": n, "seed": 7} for n in (2, 3, 4)]
            others += [{"sample": 1, "seed": 8}, {"sample": 1, "seed": 7, "attempt": 1}]
            texts = {self._sample(**other).text for other in others}
            assert texts - {first.text}, "another seed, sample or attempt is no other sample"

    def test_any_seed_is_a_seed(self) -> None:
        """Every whole number of 64 bits is a seed."""
        self.needs("chat", "seed")
        for seed in (-(2**63), -1, 2**63 - 1):
            self._sample(seed=seed)

    def _sample(self, **fields: Any) -> Completion:
        return self.chat(self.request("Tell a story.", temperature=HOT, **fields))

    # JSON schemas.

    def test_an_answer_keeps_to_its_schema(self) -> None:
        """An answer keeps to the JSON schema that it was asked for with."""
        self.needs("chat", "schema")
        answer = self.chat(self.request("Is chest pain urgent?", schema=SCHEMA, max_tokens=80))
        assert answer.finish == "stop"
        found = json.loads(answer.text)
        assert set(found) == {"urgent", "days"}
        assert isinstance(found["urgent"], bool)
        assert isinstance(found["days"], int) and not isinstance(found["days"], bool)

    # What is not claimed.

    @pytest.mark.parametrize("feature", ["temperature", "stop", "schema"])
    def test_what_it_cannot_do_is_refused_and_not_dropped(self, feature: str) -> None:
        """A feature that is not claimed is refused as `unsupported` and never dropped."""
        self.needs("chat")
        self.needs_prompts()
        if feature in self.said().features:
            pytest.skip(f"it has the feature `{feature}`")
        asked: dict[str, Any] = {"temperature": HOT, "stop": ("and",), "schema": SCHEMA}
        self._unsupported("chat", self.request(**{feature: asked[feature]}))

    @pytest.mark.parametrize("offered", ["chat", "choose", "reward", "embed"])
    def test_what_it_does_not_offer_is_refused(self, offered: str) -> None:
        """What is not offered is refused as `unsupported`."""
        if offered in self.said().offers:
            pytest.skip(f"it offers `{offered}`")
        options = ("yes", "no") if offered == "choose" else ()
        self._unsupported(offered, ["fever"] if offered == "embed" else self.request(options=options))

    def _unsupported(self, kind: str, asked: Request | list[str]) -> None:
        async def ask(backend: Backend) -> object:
            return await self.outcome(getattr(backend, kind)(asked))

        outcome = self.run(ask)
        assert isinstance(outcome, RequestFailed), "it was answered as if it had not been asked for"
        assert (outcome.kind, outcome.retryable) == ("unsupported", False)
