"""Limits of a real server, met by the facade: shared by models of one account, found out, not overrun for long."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from pmbench.core.errors import Halted, RequestFailed
from pmbench.models.catalogue import backend_for
from pmbench.models.facade import FacadeModel, Traffic
from pmbench.models.settings import Rates
from pmbench.models.store import CompletionStore
from pmbench.models.traffic.budget import Budget
from pmbench.models.traffic.lane import GIVEN_UP
from pmbench.models.traffic.patience import Patience


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch, plain_environment: None, tmp_path: Path) -> None:
    """A key of the test's own: what was found out about another test's account must not count here."""
    monkeypatch.setenv("ITS_KEY", f"sk-{tmp_path.name}")


@asynccontextmanager
async def opened(
    folder: Path, *names: str, patience: Patience | None = None, traffic: Traffic | None = None
) -> AsyncIterator[list[FacadeModel]]:
    """Models of one process over one store."""
    store = CompletionStore(folder / "completions.sqlite")
    models = [
        FacadeModel(name, backend_for(name), store, traffic=traffic or Traffic(), patience=patience)
        for name in names
    ]
    try:
        yield models
    finally:
        for model in models:
            await model.close()
        store.close()


async def ask(model: FacadeModel, number: int) -> str:
    answer = await model.chat([{"role": "user", "content": f"message {number}"}], max_tokens=50)
    return answer.text


async def outcome(model: FacadeModel, number: int) -> str:
    try:
        return await ask(model, number)
    except (RequestFailed, Halted) as error:
        return f"{type(error).__name__} {error}"


def of(server: Any, name: str, options: str = "", key: str = "ITS_KEY") -> str:
    return f"openai:{name}?base_url={server.v1}&key={key}{options}"


def most_in_flight(server: Any) -> int:
    return int(server.stats(log=False)["most_in_flight"])


def test_two_models_at_one_server_with_one_key_share_its_limits(llm_server, tmp_path: Path) -> None:
    llm_server.control(latency=20)

    async def scene() -> None:
        names = of(llm_server, "one"), of(llm_server, "other")
        async with opened(tmp_path, *names, traffic=Traffic(concurrency=6)) as models:
            await asyncio.gather(*[ask(model, n) for n in range(40) for model in models])

    asyncio.run(scene())
    assert llm_server.stats()["requests"] == 80
    assert most_in_flight(llm_server) == 6


def test_models_with_keys_of_their_own_have_limits_of_their_own(
    llm_server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONE_KEY", "sk-one-0123456789")
    monkeypatch.setenv("OTHER_KEY", "sk-other-0123456789")
    llm_server.control(latency=50)

    async def scene() -> None:
        names = of(llm_server, "m", key="ONE_KEY"), of(llm_server, "m", key="OTHER_KEY")
        async with opened(tmp_path, *names, traffic=Traffic(concurrency=6)) as models:
            # The same model at the same server answers both alike: different questions, lest they share answers.
            await asyncio.gather(
                *[ask(model, 100 * i + n) for n in range(40) for i, model in enumerate(models)]
            )

    asyncio.run(scene())
    assert 6 < most_in_flight(llm_server) <= 12


@pytest.mark.parametrize("told", [True, False], ids=["retry_after", "no_retry_after"])
def test_two_models_together_keep_to_the_rate_of_their_server(llm_server, tmp_path: Path, told: bool) -> None:
    llm_server.control(latency=5, rate_limit={"per_second": 40, "burst": 10, "retry_after": told})

    async def scene() -> list[str]:
        names = of(llm_server, "one"), of(llm_server, "other")
        async with opened(tmp_path, *names) as models:
            return await asyncio.gather(*[outcome(model, n) for n in range(60) for model in models])

    assert all(text.endswith(".") for text in asyncio.run(scene()))
    seen = llm_server.stats()["rate_limit"]
    assert not seen["requests"]["above_for_over_a_second"], seen


def test_a_server_that_refuses_at_random_is_asked_for_less_and_everything_is_answered(
    llm_server, tmp_path: Path
) -> None:
    llm_server.control(latency=5, faults=[{"kind": "429", "probability": 0.2}])

    async def scene() -> tuple[list[str], float]:
        async with opened(tmp_path, of(llm_server, "m"), patience=Patience(first_wait=0.1)) as (model,):
            texts = await asyncio.gather(*[outcome(model, n) for n in range(300)])
            lane = model._asker._lane
            assert lane is not None
            return texts, lane.limit

    texts, limit = asyncio.run(scene())
    assert all(text.endswith(".") for text in texts)
    assert limit < 16


@pytest.mark.parametrize(
    ("fault", "kind"), [("429", "rate-limit"), ("503", "overloaded"), ("500", "server")], ids=str
)
def test_a_server_that_refuses_for_ever_is_given_up(
    llm_server, tmp_path: Path, fault: str, kind: str
) -> None:
    llm_server.control(faults=[{"kind": fault}])
    patience = Patience(attempts=3, first_wait=0.1, longest_wait=0.3, total=1.0)

    async def scene() -> list[str]:
        async with opened(tmp_path, of(llm_server, "m"), patience=patience) as (model,):
            return await asyncio.gather(*[outcome(model, n) for n in range(60)])

    told = asyncio.run(scene())
    assert len([text for text in told if text.startswith(f"RequestFailed {kind}")]) == GIVEN_UP - 1
    assert len([text for text in told if "in a row failed after all retries" in text]) == 61 - GIVEN_UP


def test_a_retry_after_holds_everybody_and_is_not_cut_short(llm_server, tmp_path: Path) -> None:
    llm_server.control(faults=[{"kind": "429", "ordinals": [1], "retry_after": 1}])

    async def scene() -> None:
        async with opened(tmp_path, of(llm_server, "m"), traffic=Traffic(concurrency=1)) as (model,):
            await asyncio.gather(*[ask(model, n) for n in range(5)])

    asyncio.run(scene())
    times = [line[0] for line in llm_server.stats()["log"]]
    assert len(times) == 6 and times[1] - times[0] >= 0.99


def test_a_hung_request_holds_up_nobody_else(llm_server, tmp_path: Path) -> None:
    llm_server.control(faults=[{"kind": "hung", "contains": "message 3", "attempts": [1]}])

    async def scene() -> tuple[float, float]:
        async with opened(tmp_path, of(llm_server, "m", "&timeout=1")) as (model,):
            await ask(model, 0)  # the library is imported
            began = time.monotonic()
            hung = asyncio.create_task(ask(model, 3))
            await asyncio.gather(*[ask(model, n) for n in range(100, 150)])
            others = time.monotonic() - began
            await hung
            return others, time.monotonic() - began

    others, all_ = asyncio.run(scene())
    assert others < 1.0 < all_
    assert llm_server.stats()["by_fault"] == {"hung": 1}


def test_what_is_under_way_is_waited_for_before_a_sum_is_called_used_up(
    llm_server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Each answer could cost 5,000 tokens and costs about 10: side by side they would be refused, one by one not.
    (tmp_path / "pmbench.toml").write_text('[prices."openai:m"]\ninput = 0.0\noutput = 100.0\n')
    monkeypatch.setenv("PMBENCH_CONFIG", str(tmp_path / "pmbench.toml"))
    llm_server.control(latency=10)
    budget = Budget(max_cost=0.025)

    async def scene() -> list[str]:
        async with opened(tmp_path, of(llm_server, "m"), traffic=Traffic(budget=budget)) as (model,):
            return await asyncio.gather(*[outcome(model, n) for n in range(20)])

    told = asyncio.run(scene())
    assert [text for text in told if not text.endswith(".")] == []
    assert budget.cost <= 0.025


def test_the_users_rates_hold_for_all_models_of_an_account(llm_server, tmp_path: Path) -> None:
    llm_server.control(rate_limit={"per_second": 10, "burst": 10, "enforced": False})

    async def scene() -> None:
        names = of(llm_server, "one"), of(llm_server, "other")
        traffic = Traffic(rates=Rates(requests_per_minute=600))
        async with opened(tmp_path, *names, traffic=traffic) as models:
            await asyncio.gather(*[ask(model, n) for n in range(15) for model in models])

    asyncio.run(scene())
    seen = llm_server.stats()["rate_limit"]["requests"]
    assert seen["most_in_a_second"] <= 20 and seen["longest_above"] == 0.0
