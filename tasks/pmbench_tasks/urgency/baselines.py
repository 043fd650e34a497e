"""Orders that ask no model: by length, and by lot."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pmbench import Model, Options, Response, StrategyContext
from pmbench_tasks.urgency.comparators import lot_of, words_in
from pmbench_tasks.urgency.messages import PortalMessage
from pmbench_tasks.urgency.options import inbox_options

Value = Callable[[PortalMessage, int], float]
"""How urgent a message is taken to be, given it and the option `seed`."""


class Valued:
    """Puts an inbox in order by a number that each message has by itself."""

    needs: frozenset[str] = frozenset()

    def __init__(self, name: str, value: Value) -> None:
        self.name, self.value = name, value

    def describe(self) -> Mapping[str, Any]:
        """What the number is."""
        return {"value": self.name}

    def estimate(self, inputs: Mapping[str, Any], options: Options) -> tuple[int, int]:
        """No request."""
        return 0, 0

    async def __call__(self, inputs: Mapping[str, Any], model: Model, context: StrategyContext) -> Response:
        """`scores` by the number."""
        seed = inbox_options(context).seed
        return Response(
            data={
                "ids": [message["id"] for message in inputs["messages"]],
                "scores": [round(self.value(message, seed), 9) for message in inputs["messages"]],
                "asked": 0,
                "missing": 0,
            }
        )


BY_LENGTH = Valued("length in words", lambda message, _seed: float(words_in(message)))
BY_LOT = Valued("by lot", lot_of)
