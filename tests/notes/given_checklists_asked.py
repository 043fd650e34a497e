"""What the tests of checklist scoring share: small checklists, a visit, and a served judge."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pmbench import Choice, Completion, Message, RequestFailed
from pmbench.models.catalogue import backend_for
from pmbench.models.facade import FacadeModel, tracking
from pmbench.models.store import CompletionStore
from pmbench_tasks.notes.answers import Answered
from pmbench_tasks.notes.checklist import Checklist, Item, Scale
from pmbench_tasks.notes.checklist_judge import ChecklistJudge

SOURCE = "[doctor] Take ibuprofen 400 mg with food.\n[patient] Until when?\n[doctor] Back in two weeks."
TEXT = "Knee sprain. Ibuprofen 400 mg with food."

QUESTIONS = {
    "dose": "Is the dose of the ibuprofen there?",
    "return": "Is the next visit named?",
    "reason": "Is the diagnosis named?",
}


def checklist(*questions: str, scale: Scale = "yes-no", **more: Any) -> Checklist:
    """A checklist of some of `QUESTIONS`, by default all of them."""
    items = tuple(Item(id=one, question=QUESTIONS[one]) for one in questions or QUESTIONS)
    return Checklist(name="small", items=items, scale=scale, **more)


def given(*met: bool | None, why: str = "unparsed") -> list[Answered]:
    """Answers to items 1, 2, …"""
    return [
        Answered(item=str(place), met=one, why=why if one is None else "") for place, one in enumerate(met, 1)
    ]


def graded(*grades: int | None) -> list[Answered]:
    """Grades of items 1, 2, …"""
    return [
        Answered(item=str(place), grade=one, why="" if one is not None else "neither")
        for place, one in enumerate(grades, 1)
    ]


def numbered(scale: Scale = "yes-no", **columns: Sequence[Any]) -> Checklist:
    """A checklist of items 1, 2, … with these weights, categories or points."""
    many = len(next(iter(columns.values())))
    items = tuple(
        Item(
            id=str(place + 1),
            question=f"Is it number {place + 1}?",
            **{name: column[place] for name, column in columns.items()},
        )
        for place in range(many)
    )
    return Checklist(name="numbered", items=items, scale=scale)


async def _no_wait(_seconds: float) -> None:
    return


def served(server: Any, folder: Path, options: str = "") -> FacadeModel:
    """A model of the loopback server; retries do not wait."""
    backend = backend_for(f"openai:judge?base_url={server.v1}{options}")
    return FacadeModel("judge", backend, CompletionStore(folder / "store.sqlite"), sleep=_no_wait)


def asked(
    model: FacadeModel, what: Checklist, *, source: str = SOURCE, text: str = TEXT, **how: Any
) -> tuple[list[Answered], int]:
    """What a served judge answers, and how many requests it took."""

    async def whole() -> tuple[list[Answered], int]:
        try:
            with tracking("1") as calls:
                answers = await ChecklistJudge(model, **how).ask(what, source, text)
            return answers, len(calls)
        finally:
            await model.close()
            model.store.close()

    return asyncio.run(whole())


class ScriptedJudge:
    """Answers in order of the requests; an exception is raised.

    Args:
        answers: of `chat`; features: of its backend.
        chances: probability of yes, in order; without any it chats only.
    """

    name = "scripted"
    parallel, chooses_in_words = 1, False

    def __init__(
        self,
        answers: Sequence[str | Completion | Exception],
        *,
        features: Sequence[str] = ("schema",),
        chances: Sequence[float | Exception] = (),
    ) -> None:
        self.features = frozenset(features)
        self.offers = frozenset({"chat", "choose"} if chances else {"chat"})
        self.answers, self.chances = list(answers), list(chances)
        self.requests: list[tuple[list[Message], Mapping[str, Any] | None, int]] = []
        self.choices: list[list[Message]] = []

    async def chat(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        temperature: float = 0.0,
        stop: Sequence[str] = (),
        schema: Mapping[str, Any] | None = None,
        attempt: int = 0,
    ) -> Completion:
        self.requests.append(([message.copy() for message in messages], schema, attempt))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return Completion(answer) if isinstance(answer, str) else answer

    async def choose(self, messages: Sequence[Message], options: Sequence[str]) -> Choice:
        self.choices.append([message.copy() for message in messages])
        chance = self.chances.pop(0)
        if isinstance(chance, Exception):
            raise chance
        return Choice((chance, 1 - chance))

    async def reward(self, messages: Sequence[Message]) -> float:
        raise NotImplementedError

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        raise NotImplementedError

    def ask(self, what: Checklist, *, source: str = SOURCE, text: str = TEXT, **how: Any) -> list[Answered]:
        """What it answers as a judge."""
        return asyncio.run(ChecklistJudge(self, **how).ask(what, source, text))


def failure(kind: str) -> RequestFailed:
    """A request that failed."""
    return RequestFailed(kind)
