"""Does a reply greet the patient? As small as a task can be.

GREETING_FAULT makes it go wrong, as a stranger's task may: see `go_wrong`.
"""

import asyncio
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
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


def as_lines(records: Iterable[pmbench.Record]) -> str:
    """Each response on a line."""
    wrong = go_wrong("export")
    if wrong == "none":
        return None  # type: ignore[return-value]
    return "".join(f"{one.instance.id}: {one.response.text if one.response else ''}\n" for one in records)


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
    exporters: ClassVar = {"lines": as_lines}

    def read_responses(self, path: Path) -> Mapping[str, pmbench.Response | None] | None:
        """Lines `id = text`, in a file called *.greet."""
        go_wrong("responses")
        if path.suffix != ".greet":
            return None
        lines = [line.partition(" = ") for line in path.read_text().splitlines()]
        return {name: pmbench.Response(text) if mark else None for name, mark, text in lines}

    def findings(self, scores: Mapping[str, pmbench.Score]) -> Iterable[str]:
        go_wrong("findings")
        if cold := [name for name, one in scores.items() if not one.stats["greets"]]:
            yield f"no greeting in {len(cold)}: {', '.join(cold[:3])}"

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
