"""Numbers and counts as the cells and notes of a leaderboard show them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TypeVar

from pmbench.core.metric import Metric
from pmbench.running.results import Counts

Column = TypeVar("Column")

DASH = "–"
"""Stands where the best system would be compared with itself, and where a number is undefined."""


def bare(metric: Metric, value: float, *, sign: bool = False) -> str:
    """A number with the metric's decimals, without its unit unless that is per cent; no negative zero."""
    scaled, ending = (100 * value, "%") if metric.unit == "%" else (value, "")
    text = f"{scaled:+.{metric.digits}f}" if sign else f"{scaled:.{metric.digits}f}"
    if not text.strip("+-0."):
        text = text.lstrip("+-")
    return text + ending


def shown(metric: Metric, value: float | None) -> str:
    """A value as it stands in a cell; an en dash where it is undefined."""
    return DASH if value is None else bare(metric, value)


def interval(metric: Metric, low: float | None, high: float | None) -> str:
    """`[0.480, 0.548]`, or nothing where there is none."""
    return "" if low is None or high is None else f"[{bare(metric, low)}, {bare(metric, high)}]"


def p_value(p: float | None) -> str:
    """Three decimals, `<0.001` below."""
    if p is None:
        return DASH
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def failures(counts: Counts) -> str:
    """What went wrong in words: `2 failed, 1 missing (timeout 2, unparsed 1); 3 truncated`, or `0`."""
    lost = [f"{number} {name}" for name, number in _lost(counts) if number]
    kinds = ", ".join(f"{kind} {number}" for kind, number in counts.failures.items())
    odd = [(counts.refused, "refused"), (counts.truncated, "truncated"), (counts.empty, "empty")]
    parts = [", ".join(lost) + (f" ({kinds})" if kinds else "")] if lost else []
    parts += [", ".join(f"{number} {name}" for number, name in odd if number)]
    return "; ".join(part for part in parts if part) or "0"


def counted(number: int, noun: str) -> str:
    """`1 cluster`, `2 clusters`."""
    return f"{number} {noun}" + ("" if number == 1 else "s")


def judges_text(judges: Mapping[str, str]) -> str:
    """Each role's judge: `content=embedded, theme=embedded`."""
    return ", ".join(f"{role}={name}" for role, name in judges.items())


def rows_text(numbers: Sequence[int]) -> str:
    """`Row 2`; `Rows 2, 3 and 5`."""
    return f"Row{'s' if len(numbers) > 1 else ''} {listed([str(number) for number in numbers])}"


def listed(words: Sequence[str]) -> str:
    """`a`; `a and b`; `a, b and c`."""
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last


def blocks(columns: Sequence[Column], widest: int) -> list[Sequence[Column]]:
    """Columns cut into as few tables of at most `widest` as hold them, of nearly the same width."""
    tables = -(-len(columns) // widest)
    edges = [len(columns) * place // max(tables, 1) for place in range(tables + 1)]
    return [columns[start:stop] for start, stop in pairwise(edges)]


def _lost(counts: Counts) -> list[tuple[str, int]]:
    return [("failed", counts.failed), ("missing", counts.missing), ("pending", counts.pending)]
