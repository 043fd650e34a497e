"""Does a reply greet the patient? As small as a task can be."""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Literal

import pmbench


class GreetingOptions(pmbench.Options, frozen=True):
    word: Literal["dear", "hello"] = "dear"


class Ask:
    needs = frozenset({"chat"})

    def describe(self) -> Mapping[str, Any]:
        return {"prompt": "the message itself"}

    def estimate(self, inputs: Mapping[str, Any]) -> tuple[int, int]:
        return 1, 1

    async def __call__(
        self, inputs: Mapping[str, Any], model: pmbench.Model, context: pmbench.StrategyContext
    ) -> pmbench.Response:
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
        for row in rows:
            yield pmbench.Instance(row.text("id"), {"message": row.text("message")}, {})

    async def score(
        self, instance: pmbench.Instance, response: pmbench.Response, judges: Mapping[str, Any]
    ) -> pmbench.Score:
        return pmbench.Score({"greets": float(response.text.lower().startswith(self.option.word))})
