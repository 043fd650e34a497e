"""The served backends against a mock server that is not ours (llmock), with its faults."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from pmbench.models.catalogue import backend_for
from pmbench.models.facade import FacadeModel
from pmbench.models.store import CompletionStore
from pmbench.models.traffic.patience import Patience

pytestmark = pytest.mark.usefixtures("plain_environment")

FAULTS = ["--error-rate", "429=0.1", "--error-rate", "500=0.1", "--error-rate", "503=0.05"]
QUICK = Patience(first_wait=0.02, attempts=12)
MODELS = {
    "openai": "openai:gpt-4o?base_url={}/v1",
    "responses": "openai:gpt-4o?base_url={}/v1&api=responses",
    "anthropic": "anthropic:claude-sonnet-4-5?base_url={}/anthropic",
    "google": "google:gemini-2.5-flash?base_url={}/gemini&api_version=v1beta",
}


@pytest.fixture(scope="module")
def independent() -> Iterator[str]:
    """The address of the server, in a process of its own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    script = "from llmock.cli import app; app()"
    serve = ["serve", "--port", str(port), "--log-level", "error", "--response-style", "echo", *FAULTS]
    process = subprocess.Popen([sys.executable, "-c", script, *serve], stdout=subprocess.DEVNULL)
    try:
        _await(port)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


def _await(port: int) -> None:
    for _ in range(600):
        connection = HTTPConnection("127.0.0.1", port, timeout=5)
        try:
            connection.request("GET", "/health")
            connection.getresponse().read()
            return
        except OSError:
            time.sleep(0.1)
        finally:
            connection.close()
    raise RuntimeError("the server did not start")


@pytest.mark.parametrize("api", MODELS)
def test_every_request_is_answered_in_spite_of_its_faults(independent: str, tmp_path: Path, api: str) -> None:
    name = MODELS[api].format(independent)

    async def scene() -> tuple[list[Any], FacadeModel]:
        store = CompletionStore(tmp_path / "completions.sqlite")
        model = FacadeModel(name, backend_for(name), store, patience=QUICK)
        try:
            asked = [[{"role": "user", "content": f"message {number}"}] for number in range(60)]
            return await asyncio.gather(*[model.chat(one, max_tokens=50) for one in asked]), model
        finally:
            await model.close()
            store.close()

    answers, model = asyncio.run(scene())
    assert [f"message {number}" in answer.text for number, answer in enumerate(answers)] == [True] * 60
    assert all(answer.usage.prompt_tokens > 0 for answer in answers)
    assert model.requests > 60  # a quarter of them failed the first time
