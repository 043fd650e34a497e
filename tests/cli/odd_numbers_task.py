"""A stranger's task whose scores are the numbers that the answers hold, whatever these are."""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import pmbench


class Ask:
    needs = frozenset({"chat"})

    def describe(self) -> Mapping[str, Any]:
        return {"prompt": "the message"}

    def estimate(self, inputs: Mapping[str, Any], options: pmbench.Options) -> tuple[int, int]:
        return 1, 1

    async def __call__(
        self, inputs: Mapping[str, Any], model: pmbench.Model, context: pmbench.StrategyContext
    ) -> pmbench.Response:
        answer = await model.chat([{"role": "user", "content": inputs["message"]}], max_tokens=9)
        return pmbench.Response(answer.text)


class OddNumbers(pmbench.Task):
    name = "odd"
    title = "Odd numbers"
    dataset = pmbench.DatasetSpec(
        columns=(pmbench.Column("message", "what was written"),),
        private="the messages are yours: give them with --data",
        example='{"id": "1", "message": "Where?"}',
    )
    strategies: ClassVar[Mapping[str, Ask]] = {"ask": Ask()}
    metrics = (
        pmbench.Mean("v", "val", title="Val", limits=(0, 1)),
        pmbench.Macro(pmbench.Ratio("v", "w"), "rat", title="Ratio"),
    )
    exporters: ClassVar = {"lines": lambda records: "".join(f"{one.instance.id}\n" for one in records)}

    def instances(self, rows: Iterable[pmbench.Row]) -> Iterable[pmbench.Instance]:
        for row in rows:
            yield pmbench.Instance(row.text("id"), {"message": row.text("message")}, {})

    async def score(
        self, instance: pmbench.Instance, response: pmbench.Response, judges: Mapping[str, Any]
    ) -> pmbench.Score:
        numbers = [int(part) if part.isdigit() else float(part) for part in response.text.split()]
        return pmbench.Score(dict(zip("vw", [*numbers, 1.0], strict=False)))


class Even(OddNumbers):
    name = "even"


__all__ = ["Even", "OddNumbers"]
