"""The strategy `recorded`: answers that were made elsewhere, by `replay:` models. No prompt is involved."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from pmbench.core.errors import RequestFailed
from pmbench.core.instance import Response
from pmbench.core.model import Model
from pmbench.core.options import Options
from pmbench.core.task import StrategyContext

RECORDED = "recorded"


class Recorded:
    """Takes what a `replay:` model has recorded for the instance, text and structured data."""

    needs = frozenset({"chat"})

    def describe(self) -> Mapping[str, Any]:
        """Nothing but the recorded answers themselves decides; their digest is the model's identity."""
        return {}

    def estimate(self, inputs: Mapping[str, Any], options: Options) -> tuple[int, int]:
        """No request leaves the process."""
        return 0, 0

    async def __call__(self, inputs: Mapping[str, Any], model: Model, context: StrategyContext) -> Response:
        """The recorded answer."""
        completion = await model.chat((), max_tokens=1)
        data = completion.raw.get("data")
        if data is None:
            return Response(completion.text)
        try:
            return Response(completion.text, msgspec.json.decode(data, type=dict[str, Any]))
        except msgspec.DecodeError:
            raise RequestFailed("bad-data", "the recorded structured data is not a JSON object") from None
