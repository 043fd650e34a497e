"""Streams: the three protocols say the same, and faults happen to them as commanded."""

from __future__ import annotations

import asyncio
from typing import Any

import anthropic
import openai
import pytest
from google.genai import errors
from sdk_clients import anthropic_client, close_google, google_client, openai_client

NAMES = ("openai", "anthropic", "google")


async def by_openai(url: str, messages: Any) -> tuple[str, Any]:
    parts, finish = [], None
    async with openai_client(url, max_retries=0) as client:
        async for chunk in await client.chat.completions.create(model="m", messages=messages, stream=True):
            for choice in chunk.choices:
                parts.append(choice.delta.content or "")
                finish = choice.finish_reason or finish
    return "".join(parts), finish


async def by_anthropic(url: str, messages: Any) -> tuple[str, Any]:
    async with (
        anthropic_client(url, max_retries=0) as client,
        client.messages.stream(model="m", max_tokens=100, messages=messages) as stream,
    ):
        parts = [part async for part in stream.text_stream]
        return "".join(parts), (await stream.get_final_message()).stop_reason


async def by_google(url: str, messages: Any) -> tuple[str, Any]:
    parts, finish = [], None
    client = google_client(url, retry_options={"attempts": 1})
    try:
        text = messages[0]["content"]
        async for chunk in await client.aio.models.generate_content_stream(model="m", contents=text):
            parts.append(chunk.text or "")
            for candidate in chunk.candidates or []:
                finish = candidate.finish_reason.value if candidate.finish_reason else finish
    finally:
        await close_google(client)
    return "".join(parts), finish


def stream(server: Any, name: str) -> tuple[str, Any]:
    ask = {"openai": by_openai, "anthropic": by_anthropic, "google": by_google}[name]
    return asyncio.run(ask(server.url, [{"role": "user", "content": "Hello there"}]))


def test_the_three_protocols_derive_an_answer_from_the_same_hash(llm_server):
    assert len({stream(llm_server, name)[0] for name in NAMES}) == 1


@pytest.mark.parametrize("name", NAMES)
def test_a_stream_that_ends_early_has_a_part_of_the_text_and_no_reason(llm_server, name):
    whole, finish = stream(llm_server, name)
    llm_server.control(faults=[{"kind": "truncated_stream"}])
    part, no_finish = stream(llm_server, name)
    assert finish and no_finish is None and part != whole and whole.startswith(part) and part


@pytest.mark.parametrize("name", NAMES)
def test_an_error_within_a_stream(llm_server, name):
    llm_server.control(faults=[{"kind": "stream_error"}])
    with pytest.raises((openai.APIError, anthropic.APIStatusError, errors.ServerError)):
        stream(llm_server, name)
