"""Jobs of a batch API, below the command: servers that stay silent, and jobs among many others."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from typing import Any

import openai_models
import pytest
import vendor_models

from pmbench.core.errors import Halted
from pmbench.models.serving import batch_desk
from pmbench.models.serving.batch_desk import BatchDesk
from pmbench.models.serving.jobs import JobFolder

pytestmark = pytest.mark.usefixtures("plain_environment")


def desk(backend: Any, folder: Path) -> BatchDesk:
    return BatchDesk("model", backend.jobs, backend.endpoint.origin, JobFolder(folder))


def openai_at(server: Any) -> Any:
    return openai_models.opened(f"openai:gpt-x?base_url={server.v1}&batches=on")


def anthropic_at(server: Any) -> Any:
    return vendor_models.opened(f"anthropic:claude-x?base_url={server.url}&batches=on")


def asked(desk_: BatchDesk, text: str = "Hello") -> Any:
    return desk_.ask(text, openai_models.asked(text))


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_desk, "ANSWER_SECONDS", 0.4)
    monkeypatch.setattr(batch_desk, "QUIET_SECONDS", 0.05)


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("opened", [openai_at, anthropic_at], ids=["openai", "anthropic"])
def test_a_server_that_never_answers_does_not_hold_the_run(opened, llm_server, tmp_path: Path) -> None:
    def silent(is_silent: bool) -> None:
        llm_server.control(
            faults=[{"kind": "hung"}] if is_silent else [], batches={"polls": 2}
        )  # what is hung is polled too

    async def whole() -> None:
        async with opened(llm_server) as backend:
            silent(True)
            with pytest.raises(Halted, match=r"could not be submitted \(timeout\)"):
                await asked(desk(backend, tmp_path))
            # Whether it was accepted is not known: the job is looked for before anything is submitted again.
            with pytest.raises(Halted, match=r"could not be looked at \(timeout\)"):
                await asked(desk(backend, tmp_path))
            silent(False)
            with pytest.raises(Halted, match="batch job"):
                await asked(desk(backend, tmp_path))
            silent(True)
            with pytest.raises(Halted, match=r"could not be looked at \(timeout\)"):
                await asked(desk(backend, tmp_path))
            silent(False)
            with contextlib.suppress(Halted):  # it may still be under way
                await asked(desk(backend, tmp_path))
            assert (await asked(desk(backend, tmp_path))).text

    asyncio.run(whole())
    assert llm_server.stats()["batch_items"] == 1


@pytest.mark.parametrize("opened", [openai_at, anthropic_at], ids=["openai", "anthropic"])
def test_a_job_is_found_among_hundreds_of_later_ones(opened, llm_server) -> None:
    async def whole() -> tuple[str, list[str]]:
        async with opened(llm_server) as backend:
            jobs = backend.jobs
            body = jobs.body(openai_models.asked())
            first = await jobs.submit([("key", body)], "tag")
            for number in range(210):
                await jobs.submit([(f"other{number}", body)], f"other{number}")
            return first, [job.id for job in await jobs.recent(0.0)]

    first, found = asyncio.run(whole())
    assert len(found) == len(set(found)) == 211 and first in found
