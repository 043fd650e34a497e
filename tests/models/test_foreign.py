"""A stranger's backend: whatever it raises or returns costs the request it was asked, and nothing else."""

from __future__ import annotations

import asyncio
import gc
import logging
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from flaky_backend import BROKEN_DOWN, PAID, Flaky, ask, facade
from hypothesis import given
from hypothesis import strategies as st

from pmbench.core.errors import ModelUnavailable, RequestFailed
from pmbench.core.model import Choice, Completion, Usage
from pmbench.models.calls import tracking
from pmbench.models.facade import FacadeModel
from pmbench.models.received import encoded, whole_text
from pmbench.models.store import CompletionStore

SECRET = "the patient's words"


class Odd(BaseException):
    """An exception of nobody's family."""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[CompletionStore]:
    opened = CompletionStore(tmp_path / "completions.sqlite")
    yield opened
    opened.close()


def chat(model: FacadeModel, text: str = "hello") -> Completion:
    return asyncio.run(model.chat(ask(text), max_tokens=100))


def kind(model: FacadeModel, text: str = "hello") -> str:
    with pytest.raises(RequestFailed) as raised:
        chat(model, text)
    assert SECRET not in str(raised.value)
    return raised.value.kind


def rows(store: CompletionStore) -> int:
    connection = sqlite3.connect(store.path)
    count: int = connection.execute("SELECT count(*) FROM completions").fetchone()[0]
    connection.close()
    return count


def spoil(store: CompletionStore, value: bytes) -> None:
    connection = sqlite3.connect(store.path)
    connection.execute("UPDATE completions SET value = ?", (value,))
    connection.commit()
    connection.close()


def test_half_a_surrogate_pair_is_stored_as_the_sign_for_what_is_unknown(store: CompletionStore) -> None:
    odd = Completion("hello \ud83d there", reasoning="\udc00", raw={"id\ud800": "x\udfff"})
    backend = Flaky([odd])
    answer = chat(facade(backend, store))
    assert (answer.text, answer.reasoning, answer.raw) == ("hello � there", "�", {"id�": "x�"})
    # Paid once: the second time comes from the store, and is the same.
    assert chat(facade(backend, store)) == answer
    assert len(backend.seen) == 1


@given(st.text(st.characters(exclude_categories=[]) | st.sampled_from("\ud83d\ude00\udfff"), max_size=8))
def test_any_text_can_be_written_and_what_could_be_stays(text: str) -> None:
    mended = whole_text(text)
    mended.encode()
    try:
        text.encode()
    except UnicodeEncodeError:
        assert whole_text(mended) == mended
    else:
        assert mended == text
    assert whole_text(f"{text}\ud83d\ude00{text}") in (f"{mended}😀{mended}", whole_text(f"{text}😀{text}"))


INVALID = [
    None,
    "just text",
    Completion("x", cost=float("nan")),
    Completion("x", cost=float("inf")),
    Completion("x", latency=float("nan")),
    Completion("x", finish="tool_use"),  # type: ignore[arg-type]
    Completion(5),  # type: ignore[arg-type]
    Completion("x", usage=None),  # type: ignore[arg-type]
    Completion("x", usage=Usage(-5, -6)),
    Completion("x", usage=Usage(2**70)),
    Completion("x", cost=-1.0),
    Completion("x", raw={"a": object()}),  # type: ignore[dict-item]
    Completion("x", raw={"a": None}),  # type: ignore[dict-item]
    Completion("x", raw={1: "a"}),  # type: ignore[dict-item]
]


@pytest.mark.parametrize("answer", INVALID, ids=range(len(INVALID)))
def test_what_could_not_be_read_back_is_not_stored_and_hurts_no_other_request(
    store: CompletionStore, answer: Any
) -> None:
    model = facade(Flaky([answer]), store)
    assert kind(model) == "invalid-answer"
    assert rows(store) == 0
    assert model.requests == 1
    assert chat(model, "another").text == "answer to another"
    # The same command again asks again and can go on.
    assert chat(facade(Flaky(), store)).text == "answer to hello"


def test_what_an_invalid_answer_cost_is_counted(store: CompletionStore) -> None:
    model = facade(Flaky([Completion("x", finish="?", usage=PAID, cost=0.5)]), store)  # type: ignore[arg-type]
    with tracking("one") as calls:
        kind(model)
    assert (calls[0].failure, calls[0].usage, calls[0].cost) == ("invalid-answer", PAID, 0.5)


def test_numbers_of_numpy_are_numbers(store: CompletionStore) -> None:
    import numpy as np

    odd = Completion("x", usage=Usage(3, np.int64(4)), cost=np.float64(0.5), latency=np.float32(2))  # type: ignore[arg-type]
    first = chat(facade(Flaky([odd]), store))
    assert (first.usage, first.cost, first.latency) == (Usage(3, 4), 0.5, 2.0)
    assert chat(facade(Flaky(), store)) == first


@given(
    st.builds(Completion, text=st.text(), cost=st.none() | st.floats(), latency=st.floats(), raw=st.just({}))
)
def test_what_is_stored_comes_back_equal(answer: Completion) -> None:
    try:
        written = encoded(answer, Completion)
    except RequestFailed as error:
        assert error.kind == "invalid-answer"
    else:
        assert msgspec.json.decode(written, type=Completion) == answer


def test_a_choice_and_a_reward_of_another_type(store: CompletionStore) -> None:
    class Chooser(Flaky):
        offers = frozenset({"choose", "reward"})

    model = facade(Chooser([Choice((0.5, "0.5")), Choice((1.0, 0.0), mass=float("nan")), "high"]), store)  # type: ignore[arg-type]
    for _ in range(2):
        with pytest.raises(RequestFailed, match="invalid-answer"):
            asyncio.run(model.choose(ask("?"), ["A", "B"]))
    with pytest.raises(RequestFailed, match="backend-error"):
        asyncio.run(model.reward(ask("?")))


@pytest.mark.parametrize(
    "stored", [b"{", b'{"text":"x","finish":"new"}', b'{"text":"x","cost":"a"}', b"[" * 9999, b"\xff"]
)
def test_a_stored_row_that_cannot_be_read_is_kept_and_asked_for_again_once(
    store: CompletionStore, caplog: pytest.LogCaptureFixture, stored: bytes
) -> None:
    chat(facade(Flaky(), store))
    spoil(store, stored)
    backend = Flaky([Completion("anew")])
    model = facade(backend, store)
    with caplog.at_level(logging.WARNING):
        assert chat(model).text == "anew"
        assert chat(model).text == "anew"
    assert len(caplog.messages) == 1, "said once"
    assert str(store.path) in caplog.text
    assert (len(backend.seen), len(model.unreadable), rows(store)) == (1, 1, 2)
    (key,) = model.unreadable
    assert store.get(key) == stored
    # Another process finds the new answer too.
    assert chat(facade(Flaky(), store)).text == "anew"


RAISED = [SystemExit(3), GeneratorExit(), Odd(SECRET), asyncio.CancelledError(), MemoryError(SECRET)]


@pytest.mark.parametrize("error", RAISED, ids=lambda error: type(error).__name__)
def test_whatever_a_backend_raises_is_a_failure_of_its_request(
    store: CompletionStore, error: BaseException
) -> None:
    backend = Flaky([error])
    backend.parallel = 1
    model = facade(backend, store)

    async def two() -> list[Any]:
        asked = [model.chat(ask(text), max_tokens=9) for text in ("one", "two")]
        return await asyncio.gather(*asked, return_exceptions=True)

    failed, answered = asyncio.run(two())
    assert (failed.kind, failed.detail) == ("backend-error", type(error).__name__)
    assert answered.text == "answer to two"


def test_ctrl_c_in_a_backend_stays_ctrl_c(store: CompletionStore) -> None:
    with pytest.raises(KeyboardInterrupt):
        chat(facade(Flaky([KeyboardInterrupt()]), store))


def test_a_cancellation_that_was_asked_for_stays_one(store: CompletionStore) -> None:
    backend = Flaky()
    backend.pause = 60.0
    model = facade(backend, store)

    async def scene() -> None:
        asked = asyncio.create_task(model.chat(ask("hello"), max_tokens=9))
        vectors = asyncio.create_task(model.embed(["a"]))
        await asyncio.sleep(0.005)
        assert asked.cancel()
        vectors.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        await asyncio.gather(vectors, return_exceptions=True)

    asyncio.run(scene())


@pytest.mark.parametrize("name", [SECRET, "", "Server", "a" * 41, "a\n", 5, None])
def test_a_kind_that_could_be_text_is_not_handed_on(store: CompletionStore, name: Any) -> None:
    with tracking("one") as calls:
        assert kind(facade(Flaky([RequestFailed(name, SECRET)]), store)) == "backend-error"
    assert calls[0].failure == "backend-error"


@pytest.mark.parametrize("after", [float("nan"), -1.0, "soon"])
def test_a_wait_that_is_no_number_of_seconds_is_not_waited(store: CompletionStore, after: Any) -> None:
    refused = RequestFailed("rate-limit", retryable=True, retry_after=after)
    model = facade(Flaky([refused, BROKEN_DOWN]), store)
    assert chat(model).text == "answer to hello"
    assert model.requests == 3


@pytest.mark.parametrize("error", [SystemExit(3), Odd(SECRET), asyncio.CancelledError()])
def test_a_backend_that_cannot_open_or_close(
    store: CompletionStore, caplog: pytest.LogCaptureFixture, error: BaseException
) -> None:
    class Stuck(Flaky):
        async def open(self) -> None:
            if not fine:
                raise error

        async def close(self) -> None:
            raise error

    fine = False
    with pytest.raises(ModelUnavailable, match=rf"cannot be opened \({type(error).__name__}\)") as raised:
        chat(facade(Stuck(), store))
    assert SECRET not in str(raised.value)
    fine = True
    model = facade(Stuck(), store)

    async def scene() -> Completion:
        answer = await model.chat(ask("hello"), max_tokens=9)
        await model.close()
        return answer

    # The answers are safe: a backend that cannot close does not take them back.
    assert asyncio.run(scene()).text == "answer to hello"
    assert f"failed to close ({type(error).__name__}" in caplog.text
    assert SECRET not in caplog.text


@pytest.mark.parametrize("said", [SystemExit(3), ValueError(SECRET), {"engine": 5}, 7])
def test_a_backend_that_cannot_say_what_it_is(store: CompletionStore, said: Any) -> None:
    class Mute(Flaky):
        def identity(self) -> Any:
            if isinstance(said, BaseException):
                raise said
            return said

    with pytest.raises(ModelUnavailable, match="cannot say what decides its answers") as raised:
        facade(Mute(), store).identity()
    assert SECRET not in str(raised.value)


def test_a_file_name_that_is_not_utf_8_is_no_hindrance(store: CompletionStore) -> None:
    backend = Flaky(identity={"file": "d\udcff.gguf"})
    model = FacadeModel("flaky:d\udcff.gguf", backend, store)
    assert chat(model).text == "answer to hello"
    assert model.identity()["file"] == "d\\udcff.gguf"


def test_closing_twice_at_once_and_being_cancelled_meanwhile_prints_nothing(
    store: CompletionStore, capfd: pytest.CaptureFixture[str]
) -> None:
    class Sulks(Flaky):
        async def chat(self, request: Any) -> Completion:
            try:
                return await super().chat(request)
            except asyncio.CancelledError:
                await asyncio.sleep(0.02)
                raise ValueError(SECRET) from None

    backend = Sulks()
    backend.pause = 60.0
    model = facade(backend, store)
    printed: list[Any] = []

    async def scene() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _loop, context: printed.append(context))
        asked = [asyncio.create_task(model.chat(ask(f"{n}"), max_tokens=9)) for n in range(3)]
        await asyncio.sleep(0.005)
        for task in asked:
            task.cancel()
        closing = asyncio.create_task(model.close())
        await asyncio.sleep(0.005)
        closing.cancel()
        await asyncio.gather(*asked, closing, return_exceptions=True)
        await model.close()
        await asyncio.sleep(0.05)

    asyncio.run(scene())
    gc.collect()
    assert printed == []
    assert capfd.readouterr() == ("", "")
    assert backend.closed == 1
