"""What the environment and the logs of a program would do to the vendors' libraries if nothing were done about it.

Each of these could carry words or keys to where they must not go. The backends have a remedy for each; these tests
say that the remedy is still needed, and that it still works.
"""

from __future__ import annotations

import asyncio
import logging
import os
import subprocess
import sys
from typing import Any

import anthropic
import openai
import pytest
from google import genai
from google.genai import types
from sdk_clients import (
    KEY,
    LIBRARIES,
    SECRET,
    anthropic_client,
    ask_anthropic,
    ask_google,
    ask_openai,
    asked,
    close_google,
    openai_client,
)
from server_fixture import HERE
from spans import Spans

pytestmark = pytest.mark.slow
NAMES = list(LIBRARIES)


def by_default(url: str, name: str, **more: Any) -> None:
    """Asks by a library as it comes."""

    async def run() -> None:
        if name == "google":
            client = genai.Client(api_key=KEY, http_options=types.HttpOptions(base_url=url, timeout=5000))
            try:
                await ask_google(client)
            finally:
                await close_google(client)
            return
        make, ask = {"openai": (openai_client, ask_openai), "anthropic": (anthropic_client, ask_anthropic)}[
            name
        ]
        async with make(url, **more) as client:
            await ask(client)

    asyncio.run(run())


@pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")
@pytest.mark.parametrize("name", NAMES)
def test_a_redirect_takes_the_words_along_unless_switched_off(llm_server, llm_servers, name):
    elsewhere = llm_servers("127.0.0.2")
    llm_server.control(
        faults=[{"kind": "redirect", "status": 307, "to": elsewhere.url + LIBRARIES[name].path}]
    )
    by_default(llm_server.url, name)
    assert elsewhere.stats()["bytes"] > len(SECRET)
    elsewhere.reset()
    with pytest.raises((openai.APIStatusError, anthropic.APIStatusError, genai.errors.APIError)):
        asked(name, llm_server.url)
    assert elsewhere.stats()["connections"] == 0


@pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")
@pytest.mark.parametrize("name", NAMES)
def test_a_proxy_variable_takes_the_words_along_unless_switched_off(
    llm_server, llm_servers, monkeypatch, name
):
    proxy = llm_servers("127.0.0.2")
    monkeypatch.setenv("HTTP_PROXY", proxy.url)
    by_default(llm_server.url, name)
    assert (proxy.stats()["through_proxy"], llm_server.stats()["requests"]) == (1, 0)
    proxy.reset()
    asked(name, llm_server.url)
    assert (proxy.stats()["connections"], llm_server.stats()["requests"]) == (0, 1)


def test_anthropic_takes_headers_from_the_environment_and_they_beat_the_key(llm_server, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "Authorization: Bearer smuggled")
    llm_server.control(key="smuggled")
    asked("anthropic", llm_server.url)  # was given another key, and is let in


@pytest.mark.parametrize("name", ["openai", "google"])
def test_logs_at_their_finest_hold_neither_words_nor_keys(llm_server, caplog, name):
    llm_server.control(answers={"knee": "REPLY"})
    with caplog.at_level(logging.DEBUG):
        asked(name, llm_server.url)
    logged = "\n".join(record.getMessage() for record in caplog.records)
    assert KEY not in logged and "REPLY" not in logged and SECRET not in logged


PROGRAM = """
import sys, warnings
warnings.simplefilter("ignore")
sys.path.insert(0, {here!r})
from sdk_clients import asked
asked("anthropic", {url!r})
"""


def test_anthropics_log_holds_words_and_a_variable_switches_it_on(llm_server):
    """In a process of its own: the backend, once it was used, keeps the log of this one from saying them."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(here=str(HERE), url=llm_server.url)],
        env={**os.environ, "ANTHROPIC_LOG": "debug"},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert SECRET in done.stderr and KEY not in done.stderr


def test_anthropic_writes_words_into_traces_when_a_variable_says_so(llm_server, monkeypatch):
    trace = pytest.importorskip("opentelemetry.trace", reason="nothing can trace without opentelemetry")
    spans = Spans()
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: spans)
    monkeypatch.setattr(trace, "get_tracer", lambda *a, **k: spans)
    monkeypatch.setenv("ANTHROPIC_OPEN_TELEMETRY_TRACES_CONTENT_MODE", "content")

    async def create(**more: Any) -> None:
        async with anthropic_client(llm_server.url, **more) as client:
            messages: Any = [{"role": "user", "content": SECRET}]
            await client.messages.create(model="m", max_tokens=10, messages=messages)

    asyncio.run(create(open_telemetry=False))
    assert SECRET not in str(spans.seen)
    asyncio.run(create())
    assert SECRET in str(spans.seen)
