"""Models of the backend `openai` as tests make them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from pmbench.models.backend import Request
from pmbench.models.backends.openai.backend import OpenAI
from pmbench.models.spec import parse_spec


def made(text: str) -> OpenAI:
    """The backend of a specification, nothing of it connected."""
    spec = parse_spec(text)
    return OpenAI(spec, msgspec.convert(spec.options, OpenAI.options, strict=False))


@asynccontextmanager
async def opened(text: str) -> AsyncIterator[OpenAI]:
    """The backend of a specification, open."""
    backend = made(text)
    await backend.open()
    try:
        yield backend
    finally:
        await backend.close()


def asked(text: str = "Hello", **more: Any) -> Request:
    """A request of one message."""
    return Request(({"role": "user", "content": text},), **more)


def chat_answer(content: Any = "Yes.", *, finish: Any = "stop", **message: Any) -> dict[str, Any]:
    """An answer of Chat Completions."""
    choice = {"index": 0, "message": {"role": "assistant", "content": content, **message}}
    return {"model": "m", "choices": [{**choice, "finish_reason": finish}]}
