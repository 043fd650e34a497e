"""The facade: what is stored and what is not, retries, sharing, tracking."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flaky_backend import BROKEN_DOWN, PAID, REFUSED_KEY, TOO_MANY, Flaky, ask, facade

from pmbench.core.errors import ConfigError, ModelUnavailable, RequestFailed
from pmbench.core.model import Completion, Usage
from pmbench.models.facade import FacadeModel, Sampling, tracking
from pmbench.models.store import CompletionStore
from pmbench.models.traffic.patience import Patience


@pytest.fixture
def store(tmp_path: Path) -> Iterator[CompletionStore]:
    opened = CompletionStore(tmp_path / "completions.sqlite", commit_every=0.0)
    yield opened
    opened.close()


def chat(model: FacadeModel, text: str = "hello", **more: Any) -> Completion:
    return asyncio.run(model.chat(ask(text), **{"max_tokens": 100, **more}))


def failure(model: FacadeModel, text: str = "hello") -> RequestFailed:
    with pytest.raises(RequestFailed) as raised:
        chat(model, text)
    return raised.value


def rows(store: CompletionStore) -> list[tuple[Any, ...]]:
    with sqlite3.connect(store.path) as connection:
        found = connection.execute("SELECT key, value, model, kind FROM completions").fetchall()
    connection.close()
    return found


def test_the_second_time_comes_from_the_store_and_opens_nothing(store: CompletionStore) -> None:
    first = chat(facade(Flaky(), store))
    backend = Flaky()
    model = facade(backend, store)
    assert chat(model) == first
    assert (backend.opened, backend.seen) == (0, [])
    assert (model.asked, model.answered_from_store, model.requests) == (1, 1, 0)
    assert [row[2:] for row in rows(store)] == [("flaky", "chat")]


def test_an_answer_is_on_disk_before_anybody_has_it(store: CompletionStore) -> None:
    model = facade(Flaky(), store)
    chat(model)
    # The row is read through another connection, as after a crash.
    assert b"answer to hello" in rows(store)[0][1]


def test_a_429_is_waited_for_as_long_as_the_server_asked(store: CompletionStore) -> None:
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    backend = Flaky([TOO_MANY, BROKEN_DOWN])
    model = facade(backend, store, patience=Patience(), sleep=sleep)
    with_calls = _tracked_chat(model)
    assert with_calls[0].text == "answer to hello"
    assert waited[0] >= 7.0
    assert 1.0 <= waited[1] <= 2.0  # the second failure: between half of and the whole doubled first wait
    assert with_calls[1].retries == 2
    assert model.requests == 3


def test_a_longer_wait_than_there_is_patience_is_not_waited(store: CompletionStore) -> None:
    long = RequestFailed("rate-limit", retryable=True, retry_after=3600.0)
    model = facade(Flaky([long]), store, patience=Patience(total=60.0))
    assert failure(model).kind == "rate-limit"
    assert model.requests == 1


def test_attempts_are_bounded_and_a_failure_is_not_stored(store: CompletionStore) -> None:
    backend = Flaky([BROKEN_DOWN] * 99)
    model = facade(backend, store)
    assert failure(model).kind == "server"
    assert len(backend.seen) == 6
    assert rows(store) == []
    backend.plan.clear()
    assert chat(model).text == "answer to hello"


def test_what_will_not_pass_is_asked_once(store: CompletionStore) -> None:
    backend = Flaky([REFUSED_KEY])
    assert failure(facade(backend, store)).kind == "unauthorised"
    assert len(backend.seen) == 1


@pytest.mark.parametrize(
    ("answers", "kind", "requests"),
    [
        ([Completion("", "length", usage=PAID)], "cut-off", 1),
        ([Completion("<think>so let me see", "length", usage=PAID)], "cut-off", 1),
        ([Completion(" \n", "length", reasoning="so", usage=PAID)], "cut-off", 1),
        ([Completion(None, usage=PAID)] * 6, "null", 6),  # type: ignore[arg-type]
        ([Completion("upstream fault", "error", usage=PAID)] * 6, "error", 6),
    ],
)
def test_what_is_no_answer_fails_with_its_own_kind(
    store: CompletionStore, answers: list[Completion], kind: str, requests: int
) -> None:
    model = facade(Flaky(answers), store)
    with tracking("one") as calls:
        assert failure(model).kind == kind
    assert rows(store) == []
    assert model.requests == requests
    # What was paid for nothing is in the record all the same.
    assert calls[0].failure == kind
    assert calls[0].usage == Usage(10 * requests, 5 * requests)


def test_a_null_that_passes_is_no_failure(store: CompletionStore) -> None:
    null = Completion(None, usage=PAID, cost=0.5)  # type: ignore[arg-type]
    answer = chat(facade(Flaky([null, Completion("yes", usage=PAID, cost=0.25)]), store))
    assert (answer.text, answer.usage, answer.cost) == ("yes", PAID + PAID, 0.75)


def test_an_empty_answer_is_asked_for_once_more_then_taken(store: CompletionStore) -> None:
    backend = Flaky([Completion("", usage=PAID), Completion(" ", usage=PAID)])
    model = facade(backend, store)
    assert chat(model).text == " "
    assert len(backend.seen) == 2
    assert len(rows(store)) == 1
    assert chat(model).text == " "
    assert len(backend.seen) == 2


def test_an_empty_answer_that_passes_is_the_later_one_with_both_costs(store: CompletionStore) -> None:
    answer = chat(facade(Flaky([Completion("", usage=PAID)]), store))
    assert (answer.text, answer.usage) == ("answer to hello", PAID + PAID)


def test_empty_then_a_fault_then_empty_is_the_models_own(store: CompletionStore) -> None:
    backend = Flaky([Completion(""), BROKEN_DOWN, Completion("")])
    assert chat(facade(backend, store)).text == ""
    assert len(backend.seen) == 3


def test_a_refusal_is_an_answer(store: CompletionStore) -> None:
    backend = Flaky([Completion("", "refused")])
    assert chat(facade(backend, store)).finish == "refused"
    assert len(backend.seen) == len(rows(store)) == 1


def test_an_exception_of_a_strangers_backend_is_a_counted_failure_without_its_words(
    store: CompletionStore,
) -> None:
    error = failure(facade(Flaky([KeyError("the patient's words")]), store))
    assert (error.kind, error.detail) == ("backend-error", "KeyError")
    assert isinstance(error.__cause__, KeyError)


def test_a_user_error_of_a_backend_stays_one(store: CompletionStore) -> None:
    with pytest.raises(ConfigError, match="no key"):
        chat(facade(Flaky([ConfigError("no key")]), store))


def test_a_hung_request_times_out(store: CompletionStore) -> None:
    backend = Flaky()
    backend.pause = 60.0
    model = facade(backend, store, patience=Patience(attempts=2, first_wait=0.0, each=0.01))
    assert failure(model).kind == "timeout"
    assert len(backend.seen) == 2


def test_only_remote_attempts_are_bounded_by_default(store: CompletionStore) -> None:
    backend = Flaky()
    assert FacadeModel("m", backend, store).patience.each is None
    backend.local = False
    assert FacadeModel("m", backend, store).patience.each == 600.0


def test_equal_requests_at_once_are_sent_once(store: CompletionStore) -> None:
    backend = Flaky()
    model = facade(backend, store)

    async def twice() -> list[Completion]:
        with tracking("one") as calls:
            both = await asyncio.gather(*[model.chat(ask("hello"), max_tokens=9) for _ in range(3)])
        assert sorted(call.stored for call in calls) == [False, True, True]
        return both

    assert len(set(map(str, asyncio.run(twice())))) == 1
    assert len(backend.seen) == 1
    assert (model.asked, model.answered_from_store, model.requests) == (3, 2, 1)


def test_a_shared_failure_reaches_everybody(store: CompletionStore) -> None:
    model = facade(Flaky([REFUSED_KEY]), store)

    async def twice() -> list[Any]:
        asked = [model.chat(ask("hello"), max_tokens=9) for _ in range(2)]
        return await asyncio.gather(*asked, return_exceptions=True)

    assert [error.kind for error in asyncio.run(twice())] == ["unauthorised", "unauthorised"]


def test_cancelling_one_of_two_does_not_take_the_answer_from_the_other(store: CompletionStore) -> None:
    backend = Flaky()
    backend.pause = 0.02
    model = facade(backend, store)

    async def scene() -> Completion:
        leader = asyncio.create_task(model.chat(ask("hello"), max_tokens=9))
        follower = asyncio.create_task(model.chat(ask("hello"), max_tokens=9))
        await asyncio.sleep(0.005)
        leader.cancel()
        return await follower

    assert asyncio.run(scene()).text == "answer to hello"
    assert len(backend.seen) == 1


def test_cancelling_all_gives_the_request_up_and_a_new_one_is_not_hurt(store: CompletionStore) -> None:
    backend = Flaky()
    backend.pause = 0.02
    model = facade(backend, store)

    async def scene() -> Completion:
        only = asyncio.create_task(model.chat(ask("hello"), max_tokens=9))
        await asyncio.sleep(0.005)
        only.cancel()
        await asyncio.gather(only, return_exceptions=True)
        return await model.chat(ask("hello"), max_tokens=9)

    assert asyncio.run(scene()).text == "answer to hello"
    assert len(backend.seen) == 2
    assert backend.in_flight == 0


def test_no_more_are_in_flight_than_the_backend_wants_and_they_keep_their_order(
    store: CompletionStore,
) -> None:
    backend = Flaky()
    backend.parallel, backend.pause = 3, 0.001
    model = facade(backend, store)

    async def many() -> None:
        await asyncio.gather(*[model.chat(ask(f"{n}"), max_tokens=9) for n in range(20)])

    asyncio.run(many())
    assert backend.most_in_flight == 3
    assert [request.messages[0]["content"] for request in backend.seen] == [str(n) for n in range(20)]
    assert backend.opened == 1


def test_a_backend_that_cannot_open_says_so_to_all_and_is_opened_once(store: CompletionStore) -> None:
    class Broken(Flaky):
        async def open(self) -> None:
            self.opened += 1
            await asyncio.sleep(0)
            raise OSError("no such weights")

    backend = Broken()
    model = facade(backend, store)

    async def many() -> list[Any]:
        asked = [model.chat(ask(f"{n}"), max_tokens=9) for n in range(4)]
        return await asyncio.gather(*asked, return_exceptions=True)

    errors = asyncio.run(many())
    assert all(isinstance(error, ModelUnavailable) for error in errors)
    assert "no such weights" in str(errors[0])
    assert backend.opened == 1
    with pytest.raises(ModelUnavailable):
        chat(model)
    assert backend.opened == 1


def test_close_closes_what_was_opened_and_a_later_request_opens_again(store: CompletionStore) -> None:
    backend = Flaky()
    model = facade(backend, store)
    asyncio.run(model.close())
    assert backend.closed == 0
    chat(model, "a")
    asyncio.run(model.close())
    asyncio.run(model.close())
    chat(model, "b")
    assert (backend.opened, backend.closed) == (2, 1)


def test_close_ends_what_is_under_way(store: CompletionStore) -> None:
    backend = Flaky()
    backend.pause = 60.0
    model = facade(backend, store)

    async def scene() -> None:
        asked = asyncio.create_task(model.chat(ask("hello"), max_tokens=9))
        await asyncio.sleep(0.005)
        await model.close()
        with pytest.raises(asyncio.CancelledError):
            await asked

    asyncio.run(scene())
    assert backend.closed == 1


def test_the_runs_sampling_takes_the_place_of_what_is_asked(store: CompletionStore) -> None:
    backend = Flaky()
    chat(facade(backend, store, sampling=Sampling(max_tokens=7, temperature=0.5, seed=3)))
    request = backend.seen[0]
    assert (request.max_tokens, request.temperature, request.seed) == (7, 0.5, 3)


def test_calls_are_recorded_with_their_instance_and_sample(store: CompletionStore) -> None:
    backend = Flaky([Completion("yes", reasoning="since", usage=PAID, cost=0.5, latency=2.0)])
    model = facade(backend, store)

    async def one(instance: str) -> list[Any]:
        with tracking(instance, 2) as calls:
            await asyncio.create_task(model.chat(ask(instance), max_tokens=9))
            await asyncio.create_task(model.chat(ask(instance), max_tokens=9))
        return calls

    async def two() -> list[list[Any]]:
        return await asyncio.gather(one("a"), one("b"))

    (paid, again), other = asyncio.run(two())
    assert (paid.kind, paid.finish, paid.usage, paid.cost, paid.latency) == ("chat", "stop", PAID, 0.5, 2.0)
    assert (paid.reasoning, paid.stored, again.stored) == ("since", False, True)
    assert again.usage == PAID
    assert len(other) == 2
    assert {(request.instance, request.sample) for request in backend.seen} == {("a", 2), ("b", 2)}


def test_without_tracking_nothing_is_recorded_and_nothing_breaks(store: CompletionStore) -> None:
    assert chat(facade(Flaky(), store)).text == "answer to hello"


def test_a_faster_processs_answer_is_the_one_that_everybody_gets(store: CompletionStore) -> None:
    class Slow(Flaky):
        async def chat(self, request: Any) -> Completion:
            await other.chat(ask("hello"), max_tokens=9)
            return await super().chat(request)

    other = facade(Flaky([Completion("first")]), store)
    assert (
        asyncio.run(facade(Slow([Completion("second")]), store).chat(ask("hello"), max_tokens=9)).text
        == "first"
    )


def test_what_a_backend_cannot_do_is_a_failure_of_its_own_kind(store: CompletionStore) -> None:
    with tracking("one") as calls, pytest.raises(RequestFailed, match="unsupported"):
        asyncio.run(facade(Flaky(), store).embed(["a"]))
    assert [(call.kind, call.failure) for call in calls] == [("embed", "unsupported")]


def test_embeddings_pass_through(store: CompletionStore) -> None:
    class Embeds(Flaky):
        async def embed(self, texts: Any) -> Any:
            return [[1.0]] * len(texts)

    model = facade(Embeds(), store)
    assert asyncio.run(model.embed(["a", "b"])) == [[1.0], [1.0]]
    assert rows(store) == []


def _tracked_chat(model: FacadeModel) -> tuple[Completion, Any]:
    with tracking("one") as calls:
        answer = chat(model)
    return answer, calls[0]
