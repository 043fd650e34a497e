"""The backend `anthropic` against a server that misbehaves, and in surroundings that lead elsewhere."""

from __future__ import annotations

import asyncio
import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest
import vendor_faults as faults
from spans import Spans
from vendor_models import CLAUDE, KEY, SECRET, asked, at, chat, made, opened

from pmbench.core.errors import ModelUnavailable, RequestFailed
from pmbench.models.backend import Limits

SPEC = f"{CLAUDE}?key=LOOPBACK_KEY"


@pytest.fixture(autouse=True)
def _key(plain_environment, monkeypatch) -> None:
    monkeypatch.setenv("LOOPBACK_KEY", KEY)


@pytest.mark.parametrize("fault", list(faults.FAILURES))
def test_each_fault_of_the_server_is_a_failure_of_its_kind(llm_server, fault):
    faults.fails_with(SPEC, llm_server, fault)


@pytest.mark.parametrize("status", list(faults.UNAVAILABLE))
def test_what_no_further_request_can_escape_ends_the_run(llm_server, status):
    faults.ends_the_run(SPEC, llm_server, {"kind": status}, faults.UNAVAILABLE[status])


@pytest.mark.parametrize(
    "fault",
    [
        {"kind": 429, "code": "billing_error"},
        {"kind": 400, "message": "Your credit balance is too low to access the API."},
    ],
)
def test_a_quota_that_is_used_up_ends_the_run(llm_server, fault):
    faults.ends_the_run(SPEC, llm_server, fault, "quota is used up.*answers so far are stored")


def test_a_prompt_that_is_too_long_is_told_from_another_bad_request(llm_server):
    words = "prompt is too long: 215000 tokens > 200000 maximum"
    llm_server.control(faults=[{"kind": 400, "message": words}])
    with pytest.raises(RequestFailed) as caught:
        chat(SPEC, llm_server)
    assert (caught.value.kind, caught.value.retryable) == ("too-long", False)


@pytest.mark.parametrize("fault", list(faults.ANSWERS))
def test_what_is_no_failure_of_the_server_is_handed_on_as_it_is(llm_server, fault):
    llm_server.control(faults=[{"kind": fault}])
    done = chat(SPEC, llm_server)
    assert (done.text, done.finish) == faults.ANSWERS[fault]
    if fault != "prompt_blocked":
        assert done.usage.prompt_tokens > 0


def test_an_overloaded_server_is_one_under_status_200_too():
    with pytest.raises(RequestFailed) as caught:
        made(CLAUDE).read({"type": "error", "error": {"type": "overloaded_error", "message": "x"}}, {})
    assert (caught.value.kind, caught.value.retryable) == ("overloaded", True)


@pytest.mark.parametrize(
    ("fault", "seconds"),
    [({"retry_after": 3}, 3.0), ({"retry_after": 30, "retry_after_ms": 250}, 0.25)],
)
@pytest.mark.parametrize("status", [429, 503, 529])
def test_when_to_come_back_is_read(llm_server, status, fault, seconds):
    llm_server.control(faults=[{"kind": status, **fault}])
    with pytest.raises(RequestFailed) as caught:
        chat(SPEC, llm_server)
    assert caught.value.retry_after == seconds


def test_rate_limits_are_heard_in_answers_and_in_refusals(llm_server):
    llm_server.control(rate_limit={"per_second": 1, "burst": 2})
    heard: list[Limits] = []

    async def whole() -> None:
        async with opened(at(SPEC, llm_server)) as backend:
            backend.hear = heard.append
            await backend.chat(asked("one"))
            await backend.chat(asked("two"))
            with pytest.raises(RequestFailed, match="rate-limit"):
                await backend.chat(asked("three"))

    asyncio.run(whole())
    assert [limits.requests for limits in heard] == [1, 0, 0]


def test_a_server_that_names_another_model_is_quoted(llm_server):
    llm_server.control(faults=[{"kind": "wrong_model"}])
    assert chat(SPEC, llm_server).raw["model"] == "not-claude-sonnet-4-5"


def test_ten_megabytes_are_an_answer(llm_server):
    llm_server.control(faults=[{"kind": "big", "megabytes": 10}])
    assert len(chat(SPEC, llm_server).text) == 10_000_000


def test_two_megabytes_are_a_question(llm_server):
    assert chat(SPEC, llm_server, asked("x" * 2_000_000)).text


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_is_not_followed(llm_server, llm_servers, status):
    faults.goes_nowhere_else(SPEC, llm_server, llm_servers("127.0.0.2"), "/v1/messages", status)


def test_variables_of_the_environment_change_nothing(llm_server, llm_servers, monkeypatch):
    """Proxies, another server, another key, further headers, traces: each would take words or key elsewhere."""
    elsewhere = llm_servers("127.0.0.2")
    for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy", "ANTHROPIC_BASE_URL"):
        monkeypatch.setenv(name, elsewhere.url)
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "Authorization: Bearer smuggled\nX-Api-Key: smuggled")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "smuggled")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "smuggled")
    monkeypatch.setenv("ANTHROPIC_OPEN_TELEMETRY_TRACES_CONTENT_MODE", "content")
    llm_server.control(key=KEY)
    assert chat(SPEC, llm_server).text
    assert (elsewhere.stats()["connections"], llm_server.stats()["requests"]) == (0, 1)
    assert os.environ["ANTHROPIC_AUTH_TOKEN"] == "smuggled", "the environment is left as it was"


def test_another_server_than_the_vendors_is_not_sent_the_vendors_key(llm_server, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    llm_server.control(key="none")
    assert chat(CLAUDE, llm_server).text


def test_nothing_is_written_into_traces(llm_server, monkeypatch):
    trace = pytest.importorskip("opentelemetry.trace", reason="nothing can trace without opentelemetry")
    spans = Spans()
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: spans)
    monkeypatch.setattr(trace, "get_tracer", lambda *a, **k: spans)
    monkeypatch.setenv("ANTHROPIC_OPEN_TELEMETRY_TRACES_CONTENT_MODE", "content")
    assert chat(SPEC, llm_server).text and spans.seen == {}


PROGRAM = """
import asyncio, logging, sys
sys.path[:0] = [{here!r}]
from vendor_models import asked, opened

async def whole():
    async with opened({spec!r}) as backend:
        print((await backend.chat(asked())).finish)

asyncio.run(whole())
logging.getLogger().setLevel(logging.DEBUG)
logging.getLogger("anthropic").setLevel(logging.DEBUG)
asyncio.run(whole())
"""


def test_a_variable_does_not_switch_logs_on(llm_server):
    """ANTHROPIC_LOG is read when the library is imported, so a process of its own tells."""
    spec = at(SPEC, llm_server)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(here=str(Path(__file__).parent), spec=spec)],
        env={**os.environ, "ANTHROPIC_LOG": "debug"},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert done.stdout.split() == ["stop", "stop"] and done.stderr == ""


@pytest.mark.parametrize("status", [400, 500])
def test_no_text_and_no_key_in_errors_and_logs(llm_server, caplog, status):
    faults.quotes_nothing(SPEC, llm_server, caplog, status)


def test_a_log_that_is_opened_wide_afterwards_still_holds_nothing(llm_server, caplog):
    """The library writes whole requests into its log at DEBUG."""

    async def whole() -> None:
        async with opened(at(SPEC, llm_server)) as backend:
            for name in ("", "anthropic", "anthropic._base_client"):
                caplog.set_level(logging.DEBUG, logger=name)
            await backend.chat(asked())

    asyncio.run(whole())
    assert SECRET not in caplog.text


def test_a_part_of_the_key_that_a_server_quotes_is_not_handed_on(llm_server, caplog):
    faults.a_wrong_key(SPEC, llm_server, caplog)


@pytest.mark.parametrize("fault", ["hung", "stalled", "drip"])
def test_a_deadline_leaves_the_pool_usable(llm_server, fault):
    faults.a_deadline_leaves_the_pool_usable(SPEC, llm_server, fault)


@pytest.mark.parametrize("fault", list(faults.FACADE))
def test_each_kind_is_counted_as_what_it_is(llm_server, tmp_path, fault):
    found = faults.through_the_facade(f"{SPEC}&timeout=0.4", llm_server, tmp_path, fault)
    assert found == faults.FACADE[fault]


def test_sixty_four_requests_are_in_flight_at_once(llm_server):
    faults.sixty_four_at_once(SPEC, llm_server)


def test_a_missing_key_is_said_before_anything_is_sent():
    assert "no key in ANTHROPIC_API_KEY" in made(CLAUDE).unavailable()
    with pytest.raises(ModelUnavailable, match="keyring set pmbench ANTHROPIC_API_KEY"):
        asyncio.run(made(CLAUDE).open())


def test_a_model_that_is_not_open_answers_nothing():
    with pytest.raises(RequestFailed, match="closed"):
        asyncio.run(made(CLAUDE).chat(asked()))
