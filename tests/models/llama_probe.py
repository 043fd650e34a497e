"""What tests of the embedded engine run in a process of its own."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from typing import TypeVar

from pmbench.core.model import Completion, Message
from pmbench.models.backend import Backend, Request
from pmbench.models.backends.llama_cpp.backend import LlamaCpp
from pmbench.models.catalogue import backend_for

T = TypeVar("T")
SMALL = "smollm2-135m?context=2048"

PROMPTS = (
    "How do I treat a cold?",
    "My child has had a fever of 39 degrees since yesterday, what should I do?",
    "The knee is swollen after a fall, no fever. " * 6 + "What now?",
    "List three fruits.",
    "Explain metformin to a patient of 70 years.",
    "I have a rash on my left arm that itches. " * 4,
    "Is a blood pressure of 140 over 90 high?",
    "Write a short reply to a patient who asks for a refill of lisinopril.",
)


def request(text: str, **given: object) -> Request:
    message: Message = {"role": "user", "content": text}
    return Request((message,), **{"max_tokens": 24, **given})  # type: ignore[arg-type]


def with_model(work: Callable[[LlamaCpp], Awaitable[T]], name: str = SMALL) -> T:
    async def run() -> T:
        backend = backend_for(name)
        assert isinstance(backend, LlamaCpp)
        await backend.open()
        try:
            return await work(backend)
        finally:
            await backend.close()

    return asyncio.run(run())


async def answers(name: str, order: list[int]) -> dict[int, tuple[Completion, tuple[float, ...]]]:
    """For each prompt, asked in this order: its answer, and the probabilities of a choice."""
    backend = backend_for(name)
    await backend.open()
    found = {}
    for index in order:
        chat = await backend.chat(request(PROMPTS[index]))
        choice = await backend.choose(request(PROMPTS[index], options=("Yes", "No", "The", "It")))
        found[index] = chat, choice.probabilities
    await backend.close()
    return found


async def endless(backend: Backend) -> None:
    await backend.open()
    sys.stdout.write("open\n")
    sys.stdout.flush()
    await backend.chat(request("Tell a very long story about a hospital.", max_tokens=7000))


if __name__ == "__main__":
    what, name = sys.argv[1:3]
    if what == "answers":
        found = asyncio.run(answers(name, [int(index) for index in sys.argv[3].split(",")]))
        for index in sorted(found):
            sys.stdout.write(f"{index} {found[index][0].text!r} {found[index][1]}\n")
    elif what == "endless":
        asyncio.run(endless(backend_for(name)))
    elif what == "left-open":
        opened = backend_for(name)
        asyncio.run(opened.open())
