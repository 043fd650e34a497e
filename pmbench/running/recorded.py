"""The strategy `recorded`: answers that were made elsewhere, by `replay:` models. No prompt is involved."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from pmbench.core.errors import RequestFailed, UserError
from pmbench.core.instance import Response
from pmbench.core.model import Model
from pmbench.core.options import Options
from pmbench.core.registry import PluginError
from pmbench.core.task import StrategyContext, Task
from pmbench.running.faults import fault

RECORDED = "recorded"


def responses_of(task: Task) -> Callable[[Path], Mapping[str, Response | None] | None]:
    """The task's own reader of files of responses; its own fault is an error of one line, without its message."""

    def read(path: Path) -> Mapping[str, Response | None] | None:
        try:
            return task.read_responses(path)
        except BaseException as error:
            if isinstance(error, UserError | KeyboardInterrupt | MemoryError):
                raise
            raise PluginError(
                f"the task {task.name!r} failed while it read the responses ({fault(error)})",
                where=str(path),
                remedy="This is a fault of the task's package",
            ) from None

    return read


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
