"""A stranger's task whose answers are numbers from dice, with graders stricter or milder; variances are known.

An answer is 0.5 + level of the message + noise of the sample; a grader adds what its name says: `dice:+0.1` gives a
tenth more, `dice:rough` a noise of its own for each answer.
"""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Literal

import pmbench

RIGHT, GRADED = 8, 100


def noise(*parts: object) -> float:
    """From -1 to 1, the same for the same parts, of variance 1/3."""
    made = hashlib.sha256(repr(parts).encode()).digest()
    return int.from_bytes(made[:6], "big") / 2**47 - 1


class Dice(pmbench.Backend):
    name = "dice"
    local = True
    features = frozenset({"temperature", "seed"})

    def unavailable(self) -> str:
        return ""

    def identity(self) -> Mapping[str, str]:
        return {"engine": "dice", "target": self.spec.target}

    async def chat(self, request: pmbench.Request) -> pmbench.Completion:
        asked = request.messages[-1]["content"]
        kind, _, rest = asked.partition(" ")
        if kind == "grade":
            own = self.spec.target
            more = 0.1 * noise(rest) if own == "rough" else float(own) if own[:1] in "+-" else 0.0
            if own == "picky" and rest.endswith("7"):
                raise pmbench.RequestFailed("told-to")
            return pmbench.Completion(str(float(rest) + more), finish="stop")
        sample = 0.1 * noise(asked, request.sample) if request.temperature else 0.0
        return pmbench.Completion(f"{0.5 + 0.2 * noise(asked) + sample:.6f}", finish="stop")


class Ask:
    needs = frozenset({"chat"})

    def describe(self) -> Mapping[str, Any]:
        return {"prompt": "the message"}

    def estimate(self, inputs: Mapping[str, Any], options: pmbench.Options) -> tuple[int, int]:
        return 1, 1

    async def __call__(
        self, inputs: Mapping[str, Any], model: pmbench.Model, context: pmbench.StrategyContext
    ) -> pmbench.Response:
        answer = await model.chat([{"role": "user", "content": f"say {inputs['message']}"}], max_tokens=9)
        return pmbench.Response(answer.text)


class Grader:
    def __init__(self, parts: pmbench.JudgeParts) -> None:
        self.model = parts.model

    def describe(self) -> Mapping[str, Any]:
        return {"method": "grades"}

    async def grade(self, text: str) -> float:
        if self.model is None:
            return float(text)
        answer = await self.model.chat([{"role": "user", "content": f"grade {text}"}], max_tokens=9)
        return float(answer.text)


class GraderOptions(pmbench.Options, frozen=True):
    scale: Literal["plain", "half"] = "plain"


class DiceTask(pmbench.Task):
    name = "dice"
    title = "Numbers from dice"
    dataset = pmbench.DatasetSpec(
        columns=(pmbench.Column("message", "what was written"), pmbench.Column("patient", "a cluster")),
        private="the messages are yours: give them with --data",
        example='{"id": "1", "message": "Where?", "patient": "a"}',
    )
    strategies: ClassVar[Mapping[str, Ask]] = {"ask": Ask()}
    judges: ClassVar = {
        "grader": pmbench.JudgeRole(Grader, "gives the grade", options=GraderOptions, embeds=False)
    }
    metrics = (
        pmbench.Mean("grade", title="Grade"),
        pmbench.F1("tp", "fp", "fn", "f1", title="Hits", headline=True),
        pmbench.Mean("length", title="Length", headline=True),
    )

    def instances(self, rows: Iterable[pmbench.Row]) -> Iterable[pmbench.Instance]:
        for row in rows:
            yield pmbench.Instance(
                row.text("id"), {"message": row.text("message")}, {}, cluster=row.text("patient")
            )

    async def score(
        self, instance: pmbench.Instance, response: pmbench.Response, judges: Mapping[str, Any]
    ) -> pmbench.Score:
        grade = await judges["grader"].grade(response.text)
        hits = float(round(RIGHT * min(max(grade, 0.0), 1.0)))
        return pmbench.Score(
            {
                "grade": grade,
                "tp": hits,
                "fp": RIGHT - hits,
                "fn": 2.0,
                "length": float(len(response.text)),
            }
        )
