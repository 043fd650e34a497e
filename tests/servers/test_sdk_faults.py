"""What the vendors' libraries make of each fault, asked as the backends ask, so that a change is noticed."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import aiohttp
import anthropic
import openai
import pytest
from google.genai import errors
from sdk_clients import KEY, LIBRARIES, SECRET, asked, using

pytestmark = pytest.mark.slow

NAMES = list(LIBRARIES)
STATUS: dict[str, type[Exception]] = {
    "openai": openai.APIStatusError,
    "anthropic": anthropic.APIStatusError,
    "google": errors.APIError,
}
LATE: dict[str, type[Exception]] = {
    "openai": openai.APITimeoutError,
    "anthropic": anthropic.APITimeoutError,
    "google": TimeoutError,
}
LOST: dict[str, type[Exception]] = {
    "openai": openai.APIConnectionError,
    "anthropic": anthropic.APIConnectionError,
    "google": aiohttp.ClientError,
}


def status_headers_body(name: str, error: Any) -> tuple[int, dict[str, str], Any]:
    """Of a refusal, what a backend reads."""
    headers = {k.lower(): v for k, v in error.response.headers.items()}
    if name == "google":
        return error.code, headers, error.details
    return error.status_code, headers, json.loads(error.response.content)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("status", [400, 401, 403, 404, 408, 409, 413, 429, 500, 503, 529])
def test_a_refusal_is_asked_once_and_has_status_headers_and_body(llm_server, name, status):
    # A server's word that it should be asked again changes nothing either.
    headers = {"x-should-retry": "true", "x-more": "1"}
    llm_server.control(faults=[{"kind": status, "retry_after": 3, "headers": headers}])
    with pytest.raises(STATUS[name]) as caught:
        asked(name, llm_server.url)
    found, headers, body = status_headers_body(name, caught.value)
    assert (found, headers["x-more"]) == (status, "1") and body["error"]["message"]
    assert llm_server.stats()["requests"] == 1
    if name == "google":
        assert body["error"]["details"][0]["retryDelay"] == "3s"
    else:
        assert headers["retry-after"] == "3"


@pytest.mark.parametrize("name", NAMES)
def test_a_page_of_a_gateway_is_a_refusal_too(llm_server, name):
    llm_server.control(faults=[{"kind": "html", "status": 502}])
    with pytest.raises(STATUS[name]) as caught:
        asked(name, llm_server.url)
    assert (getattr(caught.value, "status_code", None) or caught.value.code) == 502


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("fault", ["disconnect", "cut_body", "reset"])
def test_a_lost_connection_is_asked_once(llm_server, fault, name):
    llm_server.control(faults=[{"kind": fault}])
    with pytest.raises(LOST[name]) as caught:
        asked(name, llm_server.url)
    assert not isinstance(caught.value, LATE[name]) and llm_server.stats()["requests"] == 1


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("fault", ["hung", "stalled"])
def test_silence_is_a_time_out(llm_server, fault, name):
    llm_server.control(faults=[{"kind": fault}])
    with pytest.raises(LATE[name]):
        asked(name, llm_server.url, timeout=0.5)
    assert llm_server.stats()["requests"] == 1


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("fault", ["html", "truncated_json", "error_under_200", "empty_answers"])
def test_whatever_comes_under_status_200_is_handed_over_as_it_is(llm_server, fault, name):
    llm_server.control(faults=[{"kind": fault}])
    answer = asked(name, llm_server.url)
    text = answer.body if name == "google" else answer.text
    if fault in ("html", "truncated_json"):
        with pytest.raises(ValueError, match=r"."):
            json.loads(text)
    else:
        assert ("error" in json.loads(text)) == (fault == "error_under_200")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("fault", ["hung", "stalled", "drip"])
def test_a_deadline_around_the_call_ends_it_and_the_server_sees_that(llm_server, fault, name):
    """The libraries' own limits are of each read: a byte now and then defeats them."""
    llm_server.control(faults=[{"kind": fault, "ms": 100, "contains": "knee", "attempts": [1]}])
    library = LIBRARIES[name]

    async def do(client: Any) -> Any:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.4):
                await library.ask(client)
        await asyncio.sleep(0.1)
        return await library.ask(client)

    assert using(library, llm_server.url, do)
    assert llm_server.stats()["by_status"] == {"200": 1, "499": 1}


@pytest.mark.parametrize("name", NAMES)
def test_ten_megabytes_are_taken(llm_server, name):
    llm_server.control(faults=[{"kind": "big", "megabytes": 10}])
    answer = asked(name, llm_server.url, timeout=30.0)
    assert len(answer.body if name == "google" else answer.content) > 10_000_000


@pytest.mark.parametrize("name", NAMES)
def test_what_an_error_holds(llm_server, name):
    """Why no error of a library is shown, chained or stored: words and key hang on it."""
    llm_server.control(faults=[{"kind": 400, "quote": True}])
    with pytest.raises(STATUS[name]) as caught:
        asked(name, llm_server.url)
    error: Any = caught.value
    assert SECRET in str(error)
    if name != "google":
        sent = error.request.headers
        assert SECRET.encode() in error.request.content
        assert KEY in sent.get("authorization", "") + sent.get("x-api-key", "")


def test_google_asks_again_after_a_lost_connection_unless_told_not_to(llm_server):
    """It sleeps for 1 to 10 seconds before: `attempts=1`, which the backend gives, ends both."""
    llm_server.control(faults=[{"kind": "disconnect"}])
    began = time.monotonic()
    with pytest.raises(aiohttp.ServerDisconnectedError):
        asked("google", llm_server.url)
    assert time.monotonic() - began < 1 and llm_server.stats()["requests"] == 1
