"""What the tests of `hf` have in common: a backend for a folder, open while some work is done."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pmbench.core.model import Message
from pmbench.models.backend import Request
from pmbench.models.backends.hf.backend import Hf, HfOptions
from pmbench.models.spec import ModelSpec

T = TypeVar("T")

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


def backend(folder: Path | str, **options: Any) -> Hf:
    """A backend that is not open. Without `device` it computes on the processor, whatever there is."""
    options = {"device": "cpu"} | options
    return Hf(ModelSpec(f"hf:{folder}", "hf", str(folder), {}), HfOptions(**options))


def with_hf(folder: Path, work: Callable[[Hf], Awaitable[T]], **options: Any) -> T:
    """Open the model, do the work, close it."""

    async def run() -> T:
        opened = backend(folder, **options)
        await opened.open()
        try:
            return await work(opened)
        finally:
            await opened.close()

    return asyncio.run(run())


def user(text: str) -> Message:
    return {"role": "user", "content": text}


def request(text: str, **given: Any) -> Request:
    return Request((user(text),), **{"max_tokens": 24, **given})


async def chats(opened: Hf, texts: Sequence[str], **given: Any) -> list[Any]:
    """Answers to texts that are asked at the same time."""
    return await asyncio.gather(*[opened.chat(request(text, **given)) for text in texts])
