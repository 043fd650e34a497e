"""Does a reply greet the patient? As small as a task can be.

GREETING_FAULT makes it go wrong, as a stranger's task may: see `go_wrong`.
"""

import asyncio
import os
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Literal

import pmbench


def go_wrong(where: str) -> Any:
    """What GREETING_FAULT=where:what asks for: raised, or returned."""
    place, _, what = os.environ.get("GREETING_FAULT", "").partition(":")
    if place != where:
        return None
    secret = "Zyzzyva-7731"
    match what:
        case "raise":
            raise ValueError(secret)
        case "exit":
            raise SystemExit(0)
        case "cancel":
            raise asyncio.CancelledError
        case "pipe":
            raise BrokenPipeError(secret)
    return what


class GreetingOptions(pmbench.Options, frozen=True):
    word: Literal["dear", "hello"] = "dear"


class Ask:
    needs = frozenset({"chat"})

    def describe(self) -> Mapping[str, Any]:
        return {"prompt": "the message itself"}

    def estimate(self, inputs: Mapping[str, Any], options: pmbench.Options) -> tuple[int, int]:
        return 1, 1

    async def __call__(
        self, inputs: Mapping[str, Any], model: pmbench.Model, context: pmbench.StrategyContext
    ) -> pmbench.Response:
        wrong = go_wrong("strategy")
        if wrong == "none":
            return None  # type: ignore[return-value]
        if wrong == "number":
            return pmbench.Response(5)  # type: ignore[arg-type]
        if wrong == "surrogate":
            return pmbench.Response("Dear \ud83d")
        if wrong == "object":
            return pmbench.Response("", {"a": object()})
        answer = await model.chat([{"role": "user", "content": inputs["message"]}], max_tokens=50)
        return pmbench.Response(answer.text)


class Greeting(pmbench.Task):
    name = "greeting"
    version = 3
    title = "Replies that greet the patient"
    dataset = pmbench.DatasetSpec(
        columns=(pmbench.Column("message", "what the patient wrote"),),
        private="the messages are yours: give them with --data",
        example='{"id": "1", "message": "Where do I park?"}',
    )
    strategies: ClassVar[Mapping[str, Ask]] = {"ask": Ask()}
    metrics = (pmbench.Mean("greets", "greeting_share", title="Greeting", limits=(0, 1), unit="%"),)
    options = GreetingOptions

    def instances(self, rows: Iterable[pmbench.Row]) -> Iterable[pmbench.Instance]:
        go_wrong("instances")
        for row in rows:
            yield pmbench.Instance(row.text("id"), {"message": row.text("message")}, {})

    async def score(
        self, instance: pmbench.Instance, response: pmbench.Response, judges: Mapping[str, Any]
    ) -> pmbench.Score:
        wrong = go_wrong("score")
        odd: dict[str, Any] = {
            "nan": float("nan"),
            "inf": float("inf"),
            "huge": 10**400,
            "text": "many",
            "null": None,
        }
        if wrong == "none":
            return None  # type: ignore[return-value]
        if wrong in odd:
            return pmbench.Score({"greets": odd[wrong]})
        if wrong == "other":
            return pmbench.Score({"another": 1.0})
        if wrong == "evidence":
            return pmbench.Score({"greets": 1.0}, evidence=object())
        if wrong == "surrogate":
            return pmbench.Score({"greets": 1.0}, evidence="\ud83d")
        return pmbench.Score({"greets": float(response.text.lower().startswith(self.option.word))})
