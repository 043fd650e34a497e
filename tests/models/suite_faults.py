"""Backends that break one promise each, and one that breaks none. `test_backend_suite_catches` runs them."""

from __future__ import annotations

import asyncio
import logging
import math
import random
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from suite_honest import KEY, MOST, WORDS, Honest, HonestSuite

from pmbench.core.errors import RequestFailed
from pmbench.core.model import Choice, Completion, Usage
from pmbench.models.backend import Backend, Request
from pmbench.models.serving.endpoints import Endpoint


class TestHonest(HonestSuite):
    kind = Honest


def suite(kind: type[Backend], caught_by: str, **more: Any) -> type[HonestSuite]:
    """A suite that must fail in that very test."""
    return type(f"Test{kind.__name__}", (HonestSuite,), {"kind": kind, "caught_by": caught_by, **more})


class ImportsMuch(Honest):
    def __init__(self, *given: Any) -> None:
        import numpy  # noqa: F401

        super().__init__(*given)


class ReadsMuch(Honest):
    def unavailable(self) -> str:
        with tempfile.TemporaryDirectory() as folder:
            weights = Path(folder) / "model.gguf"
            weights.write_bytes(bytes(2_000_000))
            weights.read_bytes()
        return ""


class Boasts(Honest):
    features = frozenset({"telepathy"})


class LocalInName(Honest):
    endpoint = Endpoint("https://far.example", "https://far.example:443", "remote")


class ShowsItsKey(Honest):
    def account(self) -> str:
        return f"honest:{KEY}"


class ChangesItsName(Honest):
    def identity(self) -> Mapping[str, str]:
        return {"version": str(random.random())}


class ForgetsItsTone(Honest):
    def identity(self) -> Mapping[str, str]:
        return {"engine": "honest"}


class NamesItsThreads(Honest):
    def identity(self) -> Mapping[str, str]:
        return {"threads": str(self.option.threads), "tone": self.option.tone}


class NamesItsFolder(Honest):
    def identity(self) -> Mapping[str, str]:
        return {"tone": self.option.tone, "file": str(Path.home() / "model.bin")}


class ClosesWhatIsNotOpen(Honest):
    loaded: Any = None

    async def close(self) -> None:
        self.loaded.clear()

    async def open(self) -> None:
        self.loaded = {}


class OpensOnce(Honest):
    loaded = False

    async def open(self) -> None:
        assert not self.loaded
        self.loaded = True


class NeverAgain(Honest):
    shut = False

    async def close(self) -> None:
        self.shut = True

    async def chat(self, request: Request) -> Completion:
        if self.shut:
            raise RequestFailed("closed")
        return await super().chat(request)


class Null(Honest):
    async def chat(self, request: Request) -> Completion:
        return Completion(None)  # type: ignore[arg-type]


class Endless(Honest):
    def answer(self, request: Request) -> Completion:
        return Completion(" ".join(self.words(request)), usage=self.usage(request, 20))


class CountsNothing(Honest):
    def usage(self, request: Request, completion: int) -> Usage:
        return Usage()


class ReadsTheLastTurn(Honest):
    def usage(self, request: Request, completion: int) -> Usage:
        return Usage(len(request.messages[-1]["content"].split()) + 4, completion)


class Moody(Honest):
    def words(self, request: Request) -> list[str]:
        return [random.choice(WORDS) for _ in range(20)]


class OneSample(Honest):
    def words(self, request: Request) -> list[str]:
        return super().words(Request(request.messages))


class DropsStop(Honest):
    features = frozenset({"temperature", "seed", "schema", "logprobs"})


class NeverStops(Honest):
    def answer(self, request: Request) -> Completion:
        return super().answer(Request(request.messages, request.max_tokens))


class ForgetsSchemas(Honest):
    def answer(self, request: Request) -> Completion:
        return super().answer(Request(request.messages, request.max_tokens, stop=request.stop))


class MixesUp(Honest):
    last: Request

    async def chat(self, request: Request) -> Completion:
        self.check(request)
        self.last = request
        await asyncio.sleep(0)
        return self.answer(self.last)


class Wedges(Honest):
    busy = False

    async def chat(self, request: Request) -> Completion:
        while self.busy:
            await asyncio.sleep(0.01)
        self.busy = True
        if request.max_tokens > 300:
            await asyncio.sleep(0.5)
        self.busy = False  # not where it is cancelled
        self.check(request)
        return self.answer(request)


class FailsTogether(Honest):
    broken = False

    async def chat(self, request: Request) -> Completion:
        try:
            await asyncio.sleep(0.01)
            self.check(request)
        except RequestFailed:
            self.broken = True
            raise
        await asyncio.sleep(0.02)
        if self.broken:
            raise RequestFailed("server")
        return self.answer(request)


class Quotes(Honest):
    def check(self, request: Request) -> None:
        try:
            super().check(request)
        except RequestFailed as error:
            raise RequestFailed(error.kind, repr(request.messages)) from None


class QuotesInTheCause(Honest):
    def check(self, request: Request) -> None:
        try:
            if len(request.messages[0]["content"]) > MOST:
                raise ValueError(request.messages)
        except ValueError as error:
            raise RequestFailed("too-long") from error
        super().check(request)


class Logs(Honest):
    def check(self, request: Request) -> None:
        logging.getLogger("honest").debug("asked %s", request.messages)
        super().check(request)


class Prints(Honest):
    def check(self, request: Request) -> None:
        sys.stderr.write(repr(request.messages))
        super().check(request)


class Chatters(Honest):
    def check(self, request: Request) -> None:
        try:
            super().check(request)
        except RequestFailed:
            raise RequestFailed("Far too long!") from None


class BreaksOnZero(Honest):
    def check(self, request: Request) -> None:
        super().check(request)
        if any("\0" in message["content"] for message in request.messages):
            raise ValueError("embedded null byte")


class BreaksOnStops(Honest):
    def answer(self, request: Request) -> Completion:
        for stop in request.stop:
            stop.encode()
        return super().answer(request)


class SumsWrong(Honest):
    async def choose(self, request: Request) -> Choice:
        choice = await super().choose(request)
        return Choice(tuple(p * 0.9 for p in choice.probabilities), usage=choice.usage)


class SortsOptions(Honest):
    async def choose(self, request: Request) -> Choice:
        choice = await super().choose(request)
        return Choice(tuple(sorted(choice.probabilities)), usage=choice.usage)


class GuessesExactly(Honest):
    async def choose(self, request: Request) -> Choice:
        choice = await super().choose(request)
        return Choice(choice.probabilities, exact=False, usage=choice.usage)


class TellsAllApart(Honest):
    async def choose(self, request: Request) -> Choice:
        return Choice((1.0, *[0.0] * (len(request.options) - 1)), usage=self.usage(request, 1))


class WorthNothing(Honest):
    async def reward(self, request: Request) -> float:
        return math.nan


class LongVectors(Honest):
    async def embed(self, texts: Sequence[str]) -> Any:
        return await super().embed(texts) * 2


class NoWidth(Honest):
    async def embed(self, texts: Sequence[str]) -> Any:
        import numpy as np

        return await super().embed(texts) if texts else np.zeros((0, 0), np.float32)


class SortsTexts(Honest):
    async def embed(self, texts: Sequence[str]) -> Any:
        return await super().embed(sorted(texts))


class EmbedsUnasked(Honest):
    offers = frozenset({"chat", "choose", "reward"})


_HOSTILE = "test_a_hostile_text_is_answered_or_fails_its_own_request"

for _kind, _caught_by in {
    ImportsMuch: "test_creating_is_light",
    ReadsMuch: "test_creating_is_light",
    Boasts: "test_what_it_says_of_itself_holds_together",
    LocalInName: "test_it_is_local_where_its_requests_stay",
    ShowsItsKey: "test_its_account_is_stable_and_no_key",
    ChangesItsName: "test_its_identity_is_text_and_stable",
    ForgetsItsTone: "test_its_identity_changes_with_what_decides_answers",
    NamesItsThreads: "test_its_identity_does_not_change_with_what_decides_nothing",
    NamesItsFolder: "test_its_identity_holds_no_secret_and_no_place_of_this_machine",
    ClosesWhatIsNotOpen: "test_closing_what_was_never_opened_does_nothing",
    OpensOnce: "test_opening_twice_is_opening_once",
    NeverAgain: "test_it_can_be_opened_again",
    Null: "test_an_answer_can_be_stored_and_comes_back_the_same",
    Endless: "test_an_answer_ends_at_the_token_limit_and_says_so[1]",
    CountsNothing: "test_tokens_are_counted",
    ReadsTheLastTurn: "test_a_conversation_has_turns_and_may_begin_with_the_system",
    Moody: "test_the_same_again_at_temperature_0",
    OneSample: "test_samples_differ",
    DropsStop: "test_what_it_cannot_do_is_refused_and_not_dropped[stop]",
    NeverStops: "test_a_stop_text_ends_the_answer_and_is_not_in_it",
    ForgetsSchemas: "test_an_answer_keeps_to_its_schema",
    MixesUp: "test_many_at_once_get_each_its_own_answer",
    Wedges: "test_a_request_that_is_cancelled_leaves_the_others_and_the_backend",
    FailsTogether: "test_a_request_that_fails_fails_alone",
    Quotes: f"{_HOSTILE}[a megabyte]",
    QuotesInTheCause: f"{_HOSTILE}[a megabyte]",
    Logs: "test_an_answer_can_be_stored_and_comes_back_the_same",
    Prints: f"{_HOSTILE}[emoji]",
    Chatters: f"{_HOSTILE}[a megabyte]",
    BreaksOnZero: f"{_HOSTILE}[zero bytes]",
    BreaksOnStops: "test_hostile_stop_texts_and_schemas_are_answered_or_fail",
    SumsWrong: "test_a_choice_gives_every_option_a_probability",
    SortsOptions: "test_a_choice_is_in_the_order_of_the_options",
    GuessesExactly: "test_a_choice_says_whether_it_is_exact",
    TellsAllApart: "test_options_that_cannot_be_told_apart_are_refused",
    WorthNothing: "test_a_reward_is_a_finite_number_and_the_same_again",
    LongVectors: "test_vectors_are_rows_of_unit_length",
    NoWidth: "test_no_texts_have_no_vectors_of_the_same_width",
    SortsTexts: "test_many_texts_keep_their_order",
    EmbedsUnasked: "test_what_it_does_not_offer_is_refused[embed]",
}.items():
    globals()[f"Test{_kind.__name__}"] = suite(
        _kind, _caught_by, **({"seconds": 2.0} if _kind is Wedges else {})
    )
