"""Why a cell has a value and no interval, or no value: what JSON and the lines under a table say of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pmbench.leaderboard.table import SystemRow
from pmbench.leaderboard.wording import listed, rows_text

_SHOWN = 3

NOT_SCORED = "no value, for no score holds what it is made of"


def reasons(titles: Mapping[str, str], rows: Sequence[SystemRow]) -> list[str]:
    """What is special about values or intervals: a line for each note, with all rows and metrics of which it is true.

    Args:
        titles: of the metrics, by name; rows: the systems.
    """
    alike: dict[tuple[str, str], list[int]] = {}
    for row in rows:
        for name in titles:
            if row.measures[name].note:
                alike.setdefault((name, row.measures[name].note), []).append(row.number)
    metrics: dict[tuple[str, tuple[int, ...]], list[str]] = {}
    for (name, note), numbers in alike.items():
        metrics.setdefault((note, tuple(numbers)), []).append(titles[name])
    lines = []
    for (note, numbers_), named in metrics.items():
        more = len(named) - _SHOWN
        of = listed(named) if more < 2 else f"{', '.join(named[:_SHOWN])} and {more} other metrics"
        lines.append(f"{rows_text(numbers_)}, {of}: {note}.")
    return lines
