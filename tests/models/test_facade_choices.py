"""The facade: choosing between options, and rewards."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flaky_backend import PAID, Flaky, ask, facade

from pmbench.core.errors import RequestFailed
from pmbench.core.model import Choice, Completion
from pmbench.models.facade import tracking
from pmbench.models.store import CompletionStore


@pytest.fixture
def store(tmp_path: Path) -> Iterator[CompletionStore]:
    opened = CompletionStore(tmp_path / "completions.sqlite", commit_every=0.0)
    yield opened
    opened.close()


def rows(store: CompletionStore) -> list[tuple[Any, ...]]:
    with sqlite3.connect(store.path) as connection:
        found = connection.execute("SELECT key, value, model, kind FROM completions").fetchall()
    connection.close()
    return found


def test_choices_and_rewards_are_stored_and_checked(store: CompletionStore) -> None:
    class Chooser(Flaky):
        offers = frozenset({"choose", "reward"})

    backend = Chooser()
    model = facade(backend, store)

    async def both() -> tuple[Choice, float]:
        return await model.choose(ask("?"), ["A", "B"]), await model.reward(ask("!"))

    first = asyncio.run(both())
    assert asyncio.run(both()) == first
    assert (first[0].probabilities, first[1]) == ((0.5, 0.5), 0.25)
    assert len(backend.seen) == 2
    assert sorted(row[3] for row in rows(store)) == ["choose", "reward"]
    for bad, kind in ((Choice((1.0,)), "bad-choice"), (Choice((float("nan"), 1.0)), "invalid-answer")):
        backend.plan = [bad]
        with pytest.raises(RequestFailed, match=kind):
            asyncio.run(model.choose(ask("other"), ["A", "B"]))
    backend.plan = [float("nan")]
    with pytest.raises(RequestFailed, match="not-a-number"):
        asyncio.run(model.reward(ask("other")))


def test_a_backend_that_only_chats_chooses_in_words(store: CompletionStore) -> None:
    backend = Flaky([Completion("**no**, not today", usage=PAID), Completion("perhaps", usage=PAID)])
    model = facade(backend, store)
    assert "choose" in model.offers
    choice = asyncio.run(model.choose(ask("?"), ["Yes", "No"]))
    assert (choice.probabilities, choice.exact, choice.usage) == ((0.0, 1.0), False, PAID)
    assert (backend.seen[0].max_tokens, backend.seen[0].options) == (16, ())
    with tracking("one") as calls, pytest.raises(RequestFailed, match="no-option"):
        asyncio.run(model.choose(ask("other"), ["Yes", "No"]))
    assert (calls[0].failure, calls[0].usage) == ("no-option", PAID)
    assert len(rows(store)) == 1
