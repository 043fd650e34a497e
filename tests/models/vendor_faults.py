"""What every fault of the loopback server has to become, whichever protocol it speaks."""

from __future__ import annotations

import asyncio
import logging
import time
from pathlib import Path
from typing import Any

import pytest
from vendor_models import KEY, KINDS, SECRET, asked, at, chat, made, opened

from pmbench.core.errors import ModelUnavailable, RequestFailed
from pmbench.models.facade import FacadeModel
from pmbench.models.store import CompletionStore
from pmbench.models.traffic.patience import Patience

FAILURES: dict[Any, tuple[str, bool]] = {
    400: ("invalid", False),
    408: ("server", True),
    409: ("server", True),
    413: ("too-long", False),
    422: ("invalid", False),
    429: ("rate-limit", True),
    500: ("server", True),
    502: ("server", True),
    503: ("overloaded", True),
    529: ("overloaded", True),
    "disconnect": ("connection", True),
    "cut_body": ("connection", True),
    "reset": ("connection", True),
    "truncated_json": ("not-json", True),
    "html": ("not-json", True),
    "empty_answers": ("no-answer", True),
    "error_under_200": ("error", True),
}
"""Fault → kind, and whether the same request may succeed later."""

UNAVAILABLE = {
    401: "refuses the key",
    402: "quota is used up",
    403: "refuses the key",
    404: "no such model",
}
"""Status → what the error says that ends the run."""

ANSWERS: dict[str, tuple[str | None, str]] = {
    "null_content": (None, "stop"),
    "empty_text": ("", "stop"),
    "content_filter": ("", "refused"),
    "refusal": ("", "refused"),
    "prompt_blocked": ("", "refused"),
    "length_without_text": ("", "length"),
}
"""Fault → text and finish of the completion, of which `answers.accept` makes what it is."""


def fails_with(spec: str, server: Any, fault: Any) -> None:
    server.control(faults=[{"kind": fault}])
    with pytest.raises(RequestFailed) as caught:
        chat(spec, server)
    assert (caught.value.kind, caught.value.retryable) == FAILURES[fault]
    assert server.stats()["requests"] == 1, "a library asked again by itself"
    assert_bare(caught.value)


def assert_bare(error: BaseException) -> None:
    """Neither what was asked, nor the key, nor an exception of a library that holds both."""
    seen: BaseException | None = error
    while seen is not None:
        assert SECRET not in repr(seen) and KEY not in repr(seen) and KEY[:7] not in str(seen)
        assert not hasattr(seen, "request") and not hasattr(seen, "response")
        seen = seen.__cause__ or seen.__context__


def ends_the_run(spec: str, server: Any, fault: dict[str, Any], words: str) -> None:
    server.control(faults=[fault])
    with pytest.raises(ModelUnavailable, match=words) as caught:
        chat(spec, server)
    assert server.stats()["requests"] == 1 and spec.partition("?")[0] in str(caught.value)
    assert_bare(caught.value)


def quotes_nothing(spec: str, server: Any, caplog: Any, status: int) -> None:
    """A server that quotes the prompt in its error, and a log at its finest."""
    server.control(faults=[{"kind": status, "quote": True}])
    with caplog.at_level(logging.DEBUG), pytest.raises(RequestFailed) as caught:
        chat(spec, server)
    assert_bare(caught.value)
    server.control(answers={"knee": "REPLY"})
    with caplog.at_level(logging.DEBUG):
        assert chat(spec, server).text == "REPLY"
    logged = caplog.text + "".join(str(vars(record)) for record in caplog.records)
    assert SECRET not in logged and KEY not in logged and "REPLY" not in logged


def a_wrong_key(spec: str, server: Any, caplog: Any) -> None:
    """The server's refusal quotes a part of the key."""
    server.control(key="another")
    with caplog.at_level(logging.DEBUG), pytest.raises(ModelUnavailable, match="refuses the key") as caught:
        chat(spec, server)
    assert_bare(caught.value)
    assert KEY not in caplog.text and KEY[:7] not in caplog.text


def goes_nowhere_else(spec: str, server: Any, elsewhere: Any, path: str, status: int) -> None:
    server.control(faults=[{"kind": "redirect", "status": status, "to": elsewhere.url + path}])
    with pytest.raises(ModelUnavailable, match="redirects are not followed"):
        chat(spec, server)
    assert (elsewhere.stats()["connections"], elsewhere.stats()["bytes"]) == (0, 0)


def a_deadline_leaves_the_pool_usable(spec: str, server: Any, fault: str) -> None:
    """More requests than there are connections meet it; then as many go through."""
    server.control(faults=[{"kind": fault, "ms": 50, "contains": "slow"}])

    async def late(backend: Any, number: int) -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.4):
                await backend.chat(asked(f"slow {number}"))

    async def whole() -> None:
        backend_at = at(spec, server)
        async with opened(backend_at) as backend:
            await asyncio.gather(*(late(backend, number) for number in range(12)))
            answers = await asyncio.gather(*(backend.chat(asked(f"fast {n}")) for n in range(12)))
            assert all(answer.text for answer in answers)

    kind = KINDS[spec.partition(":")[0]]
    before, kind.parallel = kind.parallel, 4
    try:
        asyncio.run(whole())
    finally:
        kind.parallel = before
    for _ in range(100):  # the server learns a moment later that a client has left
        stats = server.stats()
        if stats["in_flight"] == 0:
            break
        time.sleep(0.1)
    assert stats["by_status"]["200"] == 12 and stats["in_flight"] == 0
    # The four that were left and the four that took their places, at most.
    assert stats["most_in_flight"] <= 8


def through_the_facade(spec: str, server: Any, folder: Path, fault: str) -> tuple[str, int]:
    """The kind of the failure, or the finish of the answer, and how many requests it took."""
    server.control(faults=[{"kind": fault, "ms": 50}])

    async def whole() -> str:
        store = CompletionStore(folder / "completions.sqlite")
        model = FacadeModel("m", made(at(spec, server)), store, patience=Patience(attempts=2, first_wait=0.0))
        try:
            return (await model.chat(asked().messages, max_tokens=50)).finish
        except RequestFailed as error:
            assert_bare(error)
            return error.kind
        finally:
            await model.close()
            store.close()

    return asyncio.run(whole()), server.stats()["requests"]


FACADE = {
    "hung": ("timeout", 2),
    "drip": ("timeout", 2),
    "null_content": ("null", 2),
    "empty_text": ("stop", 2),
    "length_without_text": ("cut-off", 1),
    "refusal": ("refused", 1),
    "error_under_200": ("error", 2),
    "empty_answers": ("no-answer", 2),
}
"""Fault → what the facade makes of it, and after how many requests if two are the most."""


def sixty_four_at_once(spec: str, server: Any) -> None:
    server.control(latency=200)

    async def whole() -> list[Any]:
        async with opened(at(spec, server)) as backend:
            asked_for = [asked(f"text {number}") for number in range(64)]
            return await asyncio.gather(*(backend.chat(request) for request in asked_for))

    answers = asyncio.run(whole())
    assert len({answer.text for answer in answers}) == 64
    stats = server.stats()
    assert (stats["most_in_flight"], stats["requests"]) == (64, 64)
