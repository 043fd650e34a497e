"""What tests of the backend `vllm` run in a process of its own: opens a model and waits to be killed."""

from __future__ import annotations

import asyncio
import sys

from pmbench.core.model import Message
from pmbench.models.backend import Backend, Request
from pmbench.models.catalogue import backend_for


def request(text: str, **given: object) -> Request:
    message: Message = {"role": "user", "content": text}
    return Request((message,), **{"max_tokens": 24, **given})  # type: ignore[arg-type]


async def endless(backend: Backend) -> None:
    say("opening")
    await backend.open()
    say("open")
    await backend.chat(request("Tell a very long story about a hospital.", max_tokens=7000, temperature=1.0))
    await asyncio.sleep(600)


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(endless(backend_for(sys.argv[1])))
