"""Numbers that a paper reports: the `reported.toml` of a task."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from pmbench.core.errors import ConfigError
from pmbench.core.registry import resource
from pmbench.core.task import Task

Number = float | int | str


class ReportedRow(msgspec.Struct, frozen=True):
    """One row of a paper's table.

    Attributes:
        system, strategy: as the paper calls them.
        table: where it stands (`Table 4`).
        values: by metric, or by another name where the paper has one that this task has not.
        spread: of each value, as the paper gives it.
        note: what is odd about it.
    """

    system: str
    strategy: str = ""
    table: str | int = ""
    values: dict[str, Number] = {}
    spread: dict[str, Number] = {}
    note: str = ""


class Reported(msgspec.Struct, frozen=True):
    """A task's `reported.toml`: rows, and where they are from."""

    row: list[ReportedRow] = []
    source: str = ""
    note: str = ""

    def columns(self) -> list[str]:
        """Names of the values in order of their first appearance."""
        return list(dict.fromkeys(name for one in self.row for name in one.values))

    def shown(self, name: str) -> list[str]:
        """A column as text, with the decimals of its longest number; an en dash where a row has no value."""
        decimals = _decimals([one.values[name] for one in self.row if name in one.values])
        spreads = _decimals([one.spread[name] for one in self.row if name in one.spread])
        cells = []
        for one in self.row:
            cell = _text(one.values[name], decimals) if name in one.values else "–"
            cells.append(f"{cell} ± {_text(one.spread[name], spreads)}" if name in one.spread else cell)
        return cells


def reported(task: Task | type[Task]) -> Reported:
    """What the task's paper reports; no rows where the task has no such file.

    Raises:
        ConfigError: the file of the task's package cannot be read.
    """
    if not task.reported:
        return Reported()
    try:
        return msgspec.toml.decode(resource(task.reported).read_bytes(), type=Reported)
    except (OSError, ImportError, msgspec.DecodeError) as error:
        raise ConfigError(
            f"the numbers reported for {task.name} cannot be read: {error}", where=task.reported
        ) from None


def humanised(name: str) -> str:
    """A metric's name that the task has no title for, as words: `theme_precision` as `Theme precision`."""
    words = name.replace("_", " ").strip()
    return words[:1].upper() + words[1:]


def _decimals(values: Sequence[Number]) -> int:
    """Most decimals among the numbers as they were written: TOML keeps no trailing zeros."""
    texts = [repr(value) for value in values if isinstance(value, float)]
    return max((len(text.partition(".")[2]) for text in texts if "e" not in text), default=0)


def _text(value: Number, decimals: int) -> str:
    if isinstance(value, str):
        return value
    return f"{value:.{decimals}f}" if isinstance(value, float) else str(value)
