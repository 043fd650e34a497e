"""The loopback server for tests: `llm_server`, and `llm_servers` for those that need more than one.

`plain_environment` goes with them: it takes away the variables that lead a client elsewhere.

    def test_…(llm_server):
        llm_server.control(latency=50, faults=[{"kind": "429", "probability": 0.1, "retry_after": 1}])
        …  # any client, at llm_server.url
        assert llm_server.stats()["by_status"] == {"200": 90, "429": 10}

Every test finds the server without a plan and with empty statistics; the process is started once.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent

LEADS_ELSEWHERE = re.compile(
    r"(http|https|all|no)_proxy|(openai|anthropic|azure|google|gemini)_\w+|gcloud_\w+|netrc|pmbench_config",
    re.IGNORECASE,
)
"""Variables that name servers, keys, proxies and headers for the vendors' libraries or for pmbench."""


class CommandRefused(ValueError):
    """The server does not understand a command."""


class LoopbackLLM:
    """A server in a process of its own; a context manager that stops it.

    Args:
        host: the address to listen on; another one than 127.0.0.1 plays the remote host.
        arguments: further arguments of `python -m loopback_llm`.
    """

    def __init__(self, host: str = "127.0.0.1", *arguments: str) -> None:
        command = [
            sys.executable,
            "-m",
            "loopback_llm",
            "--until-eof",
            "--host",
            host,
            "--port",
            "0",
            *arguments,
        ]
        # Under coverage the child would only be slowed down by what is switched on through the environment.
        environment = {k: v for k, v in os.environ.items() if not k.startswith("COVERAGE_")}
        environment["PYTHONPATH"] = str(HERE)
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, cwd=HERE
        )
        self.host = host
        try:
            assert self._process.stdout is not None
            self.port = int(json.loads(self._process.stdout.readline())["port"])
        except ValueError:
            self.stop()
            raise RuntimeError("the loopback server did not start") from None

    @property
    def url(self) -> str:
        """The root: Anthropic's and Google's base URL."""
        return f"http://{self.host}:{self.port}"

    @property
    def v1(self) -> str:
        """OpenAI's base URL."""
        return f"{self.url}/v1"

    @property
    def pid(self) -> int:
        """The server's process."""
        return self._process.pid

    def control(self, **plan: Any) -> None:
        """Sets the plan (see `loopback_llm.plan.Plan`), in place of the one before.

        Raises:
            CommandRefused: when the server does not know a key or a fault.
        """
        self._ask("POST", "/__control__", json.dumps(plan).encode())

    def stats(self, *, log: bool = True) -> dict[str, Any]:
        """What reached the server since the last reset; without the list of requests if `log` is false."""
        return self._ask("GET", "/__stats__" if log else "/__stats__?log=0")

    def reset(self) -> None:
        """Forgets the plan, the statistics, files and jobs; lets hanging answers go."""
        self._ask("POST", "/__reset__")

    def stop(self) -> None:
        """Stops the server: at once, its clients see their connections closed."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()

    def _ask(self, method: str, path: str, body: bytes = b"") -> dict[str, Any]:
        # http.client follows no proxy variables and no redirects, which tests may have set up for others.
        connection = HTTPConnection(self.host, self.port, timeout=60)
        try:
            connection.request(method, path, body=body)
            response = connection.getresponse()
            told: dict[str, Any] = json.loads(response.read())
        finally:
            connection.close()
        if response.status != 200:
            raise CommandRefused(told["error"])
        return told

    def __enter__(self) -> LoopbackLLM:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self.stop()


@pytest.fixture(scope="session")
def one_llm_server() -> Iterator[LoopbackLLM]:
    """The process that `llm_server` hands to every test."""
    with LoopbackLLM() as server:
        yield server


@pytest.fixture
def llm_server(one_llm_server: LoopbackLLM) -> Iterator[LoopbackLLM]:
    """A server without a plan and with empty statistics."""
    one_llm_server.reset()
    yield one_llm_server
    one_llm_server.reset()  # nothing hangs on into the next test


@pytest.fixture
def llm_servers() -> Iterator[Callable[..., LoopbackLLM]]:
    """Starts further servers; they stop with the test."""
    started: list[LoopbackLLM] = []

    def start(host: str = "127.0.0.1", *arguments: str) -> LoopbackLLM:
        started.append(LoopbackLLM(host, *arguments))
        return started[-1]

    yield start
    for server in started:
        server.stop()


@pytest.fixture
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment without keys, and without anything that leads a client elsewhere."""
    for name in list(os.environ):
        if LEADS_ELSEWHERE.fullmatch(name):
            monkeypatch.delenv(name)
