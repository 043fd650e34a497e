"""Where an interval lies on its scale, as positions of a bar that is drawn in a table's cell."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from pmbench.core.metric import Metric

LEFT, RIGHT = 34.0, 206.0
"""Ends of the scale, in the units of the drawing (240 wide)."""


class Measured(Protocol):
    """A number with its interval, as results and leaderboards have it."""

    @property
    def value(self) -> float | None:
        """None where it is undefined."""

    @property
    def low(self) -> float | None:
        """None where there is no interval."""

    @property
    def high(self) -> float | None:
        """None where there is no interval."""


@dataclass(frozen=True, slots=True)
class Bar:
    """An interval on a scale, positions in the units of the drawing.

    Attributes:
        value: of the number; low, high: of the ends of its interval, None where there is none.
        rule: of the number that it may be compared with, None where there is none.
        first, last: what the ends of the scale are, as text.
    """

    value: float
    low: float | None
    high: float | None
    rule: float | None
    first: str
    last: str


def bar(metric: Metric, found: Measured, scale: tuple[float, float], rule: float | None = None) -> Bar | None:
    """The bar of a metric's value; None where it is undefined."""
    if found.value is None or not math.isfinite(found.value):
        return None

    def place(number: float | None) -> float | None:
        if number is None:
            return None
        share = (number - scale[0]) / (scale[1] - scale[0])
        return round(LEFT + (RIGHT - LEFT) * min(max(share, 0.0), 1.0), 1)

    value = place(found.value)
    assert value is not None
    both = found.low is not None and found.high is not None
    first, last = (_end(metric, end) for end in scale)
    return Bar(
        value,
        place(found.low) if both else None,
        place(found.high) if both else None,
        place(rule),
        first,
        last,
    )


def scale_of(metric: Metric, results: Iterable[Measured]) -> tuple[float, float]:
    """A scale that holds all of the numbers.

    It is the metric's limits where it has any and they hold; else it goes from 0 to 1, 2 or 5 times a power of ten,
    and as far below 0 where any number is below. Of a share or a number without a unit it goes to 1 at least.
    """
    numbers = [number for one in results for number in (one.value, one.low, one.high) if number is not None]
    limits = metric.limits
    if limits is not None and all(limits[0] <= number <= limits[1] for number in numbers):
        return limits
    least = 1.0 if metric.unit in ("", "%") else 0.0
    reach = _round_up(max([least, *(abs(number) for number in numbers if math.isfinite(number))]))
    return (-reach if min(numbers, default=0.0) < 0 else 0.0), reach


def narrow_scale(results: Iterable[Measured]) -> tuple[float, float]:
    """The narrowest scale that holds all of the numbers and ends at round ones; it need not hold 0."""
    numbers = [number for one in results for number in (one.value, one.low, one.high) if number is not None]
    finite = [number for number in numbers if math.isfinite(number)]
    if not finite:
        return 0.0, 1.0
    low, high = min(finite), max(finite)
    step = _round_up(max(high - low, abs(high) * 1e-6, 1e-12) / 10)
    low, high = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return low * step, max(high, low + 1) * step


def _round_up(number: float) -> float:
    """The least of 1, 2 and 5 times a power of ten that is no less than the number; 1 for 0."""
    power: float = 10.0 ** math.floor(math.log10(number)) if number else 1.0
    return next(times * power for times in (1, 2, 5, 10) if times * power >= number)


def _end(metric: Metric, end: float) -> str:
    return f"{100 * end:.4g}%" if metric.unit == "%" else f"{end:.4g}"
