"""A stranger's task whose every name and text may be hostile, for the tests of the page."""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import pmbench

THEMES = pmbench.MetricGroup("By <i>theme</i>", "Of messages & answers.")


class Ask:
    needs = frozenset({"chat"})

    def describe(self) -> Mapping[str, Any]:
        return {"prompt": "the message"}

    def estimate(self, inputs: Mapping[str, Any], options: pmbench.Options) -> tuple[int, int]:
        return 1, 1

    async def __call__(
        self, inputs: Mapping[str, Any], model: pmbench.Model, context: pmbench.StrategyContext
    ) -> pmbench.Response:
        answer = await model.chat([{"role": "user", "content": inputs["message"]}])
        return pmbench.Response(answer.text)


def seen(record: pmbench.Record) -> Any:
    """Blocks, or what the message asks for."""
    message = record.instance.inputs["message"]
    answer = record.response.text if record.response else "(none)"
    if message.startswith("raise"):
        raise ValueError(answer)
    if message.startswith("number"):
        return 5
    if message.startswith("markdown"):
        return f"## Seen\n\n{answer}\n\n| n | what | |\n|---:|---|---|\n| 1 | {answer} | x |\n"
    return [
        pmbench.ViewBlock(f"The message {message}", (pmbench.ViewLine(message),)),
        pmbench.ViewBlock(
            "The answer",
            (
                pmbench.ViewLine(answer, "kept", "planning; empathy; 1: near “one; two” (0.71)"),
                pmbench.ViewLine(answer, "deleted", answer),
                pmbench.ViewLine(answer, "added", "logistics"),
            ),
        ),
    ]


class Stranger(pmbench.Task):
    name = "stranger"
    title = 'Strange <script>alert("title")</script> messages'
    dataset = pmbench.DatasetSpec(
        columns=(
            pmbench.Column("message", "what was written"),
            pmbench.Column("kind", "a subgroup"),
            pmbench.Column("right", "1 or 0"),
        ),
        private="the messages are yours: give them with --data",
        example='{"id": "1", "message": "Where?", "kind": "a", "right": 1}',
    )
    strategies: ClassVar[Mapping[str, Ask]] = {"ask": Ask()}
    metrics = (
        pmbench.Mean("right", "share", title="Right </style><b>", limits=(0, 1), unit="%"),
        pmbench.Mean("length", title="Length", unit="characters", higher_is_better=False, digits=0),
        pmbench.Mean("right", "alpha", title="Alpha", group=THEMES),
    )
    views: ClassVar = {"seen": seen}

    def instances(self, rows: Iterable[pmbench.Row]) -> Iterable[pmbench.Instance]:
        for row in rows:
            yield pmbench.Instance(
                row.text("id"),
                {"message": row.text("message")},
                {"right": row.text("right")},
                slices={"kind": row.text("kind")},
            )

    def findings(self, scores: Mapping[str, pmbench.Score]) -> Iterable[str]:
        yield f"{len(scores)} <u>scored</u>"

    async def score(
        self, instance: pmbench.Instance, response: pmbench.Response, judges: Mapping[str, Any]
    ) -> pmbench.Score:
        if instance.inputs["message"].startswith("unscored"):
            raise pmbench.Unscored("unparsed")
        right = float(instance.target["right"])
        return pmbench.Score(
            {"right": right, "length": float(len(response.text))}, evidence={"read": response.text}
        )
