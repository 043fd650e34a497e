"""Models of the backends `anthropic` and `google` as tests make them, and what happens when they are asked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from pmbench.core.model import Completion
from pmbench.models.backend import Request
from pmbench.models.backends.anthropic.backend import Anthropic
from pmbench.models.backends.google.backend import Google
from pmbench.models.serving.served import Served
from pmbench.models.spec import parse_spec

CLAUDE = "anthropic:claude-sonnet-4-5"
GEMINI = "google:gemini-2.0-flash"
KINDS: dict[str, type[Served]] = {"anthropic": Anthropic, "google": Google}

KEY = "sk-test-0123456789abcdef"
SECRET = "my knee hurts since Tuesday"


def made(text: str) -> Any:
    """The backend of a specification, nothing of it connected."""
    spec = parse_spec(text)
    kind = KINDS[spec.backend]
    return kind(spec, msgspec.convert(spec.options, kind.options, strict=False))


def at(text: str, server: Any) -> str:
    """The specification, at a loopback server."""
    return f"{text}{'&' if '?' in text else '?'}base_url={server.url}"


@asynccontextmanager
async def opened(text: str) -> AsyncIterator[Any]:
    """The backend of a specification, open."""
    backend = made(text)
    await backend.open()
    try:
        yield backend
    finally:
        await backend.close()


def asked(text: str = SECRET, **more: Any) -> Request:
    """A request of one message."""
    return Request(({"role": "user", "content": text},), **more)


def turns(*pairs: tuple[Any, str], **more: Any) -> Request:
    """A request of several messages, each a role and a text."""
    return Request(tuple({"role": role, "content": text} for role, text in pairs), **more)


def chat(text: str, server: Any, request: Request | None = None) -> Completion:
    """The answer to one request at a loopback server."""

    async def whole() -> Any:
        async with opened(at(text, server)) as backend:
            return await backend.chat(asked() if request is None else request)

    done: Completion = asyncio.run(whole())
    return done
