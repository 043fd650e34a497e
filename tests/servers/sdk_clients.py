"""The vendors' clients as the tests use them: unpatched, with short time limits."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import aiohttp
import anthropic
import httpx2
import openai
from google import genai
from google.genai import types

from pmbench.models.serving import connection
from pmbench.models.serving.endpoints import look_up

T = TypeVar("T")
KEY = "sk-test-0123456789abcdef"
SECRET = "my knee hurts since Tuesday"
MESSAGES = [{"role": "user", "content": SECRET}]


def openai_client(url: str, **more: Any) -> openai.AsyncOpenAI:
    """The library's default transport."""
    return openai.AsyncOpenAI(**{"base_url": f"{url}/v1", "api_key": KEY, "timeout": 5.0, **more})


def anthropic_client(url: str, **more: Any) -> anthropic.AsyncAnthropic:
    """The library's default transport."""
    return anthropic.AsyncAnthropic(**{"base_url": url, "api_key": KEY, "timeout": 5.0, **more})


def google_client(url: str, **more: Any) -> genai.Client:
    """A session of ours; needs a running loop."""
    options = {"base_url": url, "timeout": 5000, **more}
    options["aiohttp_client"] = more.get("aiohttp_client") or aiohttp.ClientSession()
    return genai.Client(api_key=KEY, http_options=types.HttpOptions(**options))


async def ask_openai(client: openai.AsyncOpenAI) -> httpx2.Response:
    """One chat completion, past the library's models."""
    body = {"model": "m", "messages": MESSAGES}
    return await client.post("/chat/completions", body=body, cast_to=httpx2.Response)


async def ask_anthropic(client: anthropic.AsyncAnthropic) -> httpx2.Response:
    """One message, past the library's models."""
    body = {"model": "m", "max_tokens": 100, "messages": MESSAGES}
    return await client.post("/v1/messages", body=body, cast_to=httpx2.Response)


async def ask_google(client: genai.Client) -> types.HttpResponse:
    """One generation, past the library's models."""
    config = types.GenerateContentConfig(should_return_http_response=True)
    done = await client.aio.models.generate_content(model="m", contents=SECRET, config=config)
    assert done.sdk_http_response is not None
    return done.sdk_http_response


async def close_google(client: genai.Client) -> None:
    """Closes Google's client, and a session of ours, which it leaves open."""
    await client.aio.aclose()
    client.close()
    session = client._api_client._http_options.aiohttp_client
    if session is not None:
        await session.close()


@dataclass(frozen=True, slots=True)
class Library:
    """One library over the transport that the backends use.

    Args:
        make: the URL of the server and further arguments → a client without retries.
        ask: a client → the whole answer.
        close: closes the client.
        path: where it asks.
    """

    make: Callable[..., Any]
    ask: Callable[[Any], Awaitable[Any]]
    close: Callable[[Any], Awaitable[None]]
    path: str


def _thin(make: Callable[..., Any]) -> Callable[..., Any]:
    def made(url: str, **more: Any) -> Any:
        return make(url, **{"http_client": connection.client(look_up(url), 16), "max_retries": 0, **more})

    return made


def _google(url: str, **more: Any) -> genai.Client:
    once: dict[str, Any] = {
        "retry_options": {"attempts": 1},
        "async_client_args": {"allow_redirects": False},
        "aiohttp_client": connection.session(look_up(url), 16),
    }
    if "timeout" in more:
        more["timeout"] = int(more["timeout"] * 1000)
    return google_client(url, **once, **more)


LIBRARIES = {
    "openai": Library(_thin(openai_client), ask_openai, lambda c: c.close(), "/v1/chat/completions"),
    "anthropic": Library(_thin(anthropic_client), ask_anthropic, lambda c: c.close(), "/v1/messages"),
    "google": Library(_google, ask_google, close_google, "/v1/models/m:generateContent"),
}


def using(library: Library, url: str, do: Callable[[Any], Awaitable[T]], **more: Any) -> T:
    """Makes a client in a fresh loop, does something with it and closes it."""

    async def run() -> T:
        client = library.make(url, **more)
        try:
            return await do(client)
        finally:
            await library.close(client)

    return asyncio.run(run())


def asked(name: str, url: str, **more: Any) -> Any:
    """The answer to one request by the library of that name."""
    library = LIBRARIES[name]
    return using(library, url, library.ask, **more)
