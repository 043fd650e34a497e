"""Metrics: formulas over summed statistics of many instances.

A metric turns the statistics of n instances into an (n, k) array of *columns* that may be summed, and sums
of those columns into a value. A bootstrap of B resamples is then one matrix product (B, n)·(n, k) and one
vectorised formula, whatever the metric.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

Scheme = Literal["cluster", "dyadic", "ranking"]

_TERM = re.compile(r"\s*([+-]?)\s*([A-Za-z_]\w*|\d+(?:\.\d+)?)\s*")


@dataclass(frozen=True, slots=True)
class MetricGroup:
    """Metrics that stand in a table of their own, such as one for each theme.

    Attributes:
        title: over the table, or over their column where groups stand side by side.
        about: a sentence or two for the reader of the table.
        reference: what the row of reference values is called (`clinicians' replies`); empty where there is none.
    """

    title: str
    about: str = ""
    reference: str = ""


COUNT = (0.0, math.inf)
"""Bounds of what is counted."""


class Metric(ABC):
    """A formula over summed statistics.

    Attributes:
        name: unique within a task; the key in `results.json`.
        title: what a table's heading says.
        scheme: how it is resampled: by `cluster`, `dyadic` (pairs that share items) or `ranking`.
        higher_is_better: direction; None where neither end is better.
        limits: least and greatest value that one instance can have, where the metric is a mean over instances
            (the best and worst case of a missing instance); None where it is not, or where they are not known.
        bounds: least and greatest value of the metric itself, where its formula puts it between two numbers that
            `limits` go beyond, or where it is a count, which is not below 0 (`COUNT`); its interval and its worst
            and best case are put there, too.
        digits: decimals shown.
        unit: what is shown after the number (`words`), or `%` for a share shown as per cent.
        scale: of a number without a unit what it is of, for headings: `of 100`; empty where nobody has to be told.
        group: the table it stands in, under its title; None: with the task's main metrics.
        reference: name of the task's metric that this one should come near to, a number of the data and not of
            the system; that one then stands in a row of its own, not in a column.
        headline: whether it stands beside the primary metric wherever systems are listed.
        optional: whether tables leave it out where nothing has its statistics, instead of showing a dash.
    """

    scheme: Scheme = "cluster"
    limits: tuple[float, float] | None = None
    bounds: tuple[float, float] | None = None
    scale: str = ""

    def __init__(
        self,
        name: str,
        *,
        title: str = "",
        higher_is_better: bool | None = True,
        digits: int = 3,
        unit: str = "",
        group: MetricGroup | None = None,
        reference: str = "",
        headline: bool = False,
        optional: bool = False,
        bounds: tuple[float, float] | None = None,
    ) -> None:
        self.name, self.title = name, title or name
        if bounds is not None:
            self.bounds = bounds
        self.group, self.reference, self.headline = group, reference, headline
        self.optional = optional
        self.higher_is_better = higher_is_better
        self.digits, self.unit = digits, unit

    @property
    @abstractmethod
    def expressions(self) -> tuple[str, ...]:
        """The statistics, or sums of them, that the formula names."""

    def present(self, stats: Mapping[str, Floats]) -> NDArray[np.bool_]:
        """Which instances have every statistic that the formula names, shape (n,)."""
        import numpy as np

        have = [~np.isnan(_evaluate(expression, stats)) for expression in self.expressions]
        together: NDArray[np.bool_] = np.logical_and.reduce(have)
        return together

    @property
    def stat_names(self) -> tuple[str, ...]:
        """The statistics that the formula names, in order of their first mention."""
        named = (name for expression in self.expressions for _, name in _terms(expression))
        return tuple(dict.fromkeys(name for name in named if name[0].isalpha() or name[0] == "_"))

    def computable(self, stats: Mapping[str, float]) -> bool:
        """Whether the statistics of one instance hold all that the formula names."""
        return all(name in stats for name in self.stat_names)

    @abstractmethod
    def columns(self, stats: Mapping[str, Floats]) -> Floats:
        """Columns that may be summed.

        Args:
            stats: for each statistic its values, shape (n,), NaN where an instance has none.

        Returns:
            Shape (n, k), finite. An instance without one of the statistics contributes zeros.

        Raises:
            KeyError: no instance has a statistic that the formula names.
        """

    @abstractmethod
    def value(self, sums: Floats) -> Floats:
        """The metric for sums of columns, shape (..., k) to (...); NaN where it is undefined."""

    @property
    @abstractmethod
    def formula(self) -> str:
        """The formula as text, for cards and documentation."""

    def __call__(self, stats: Mapping[str, Floats]) -> float:
        """The metric over all instances."""
        return float(self.value(self.columns(stats).sum(axis=0)))

    def within(self, value: float) -> float:
        """A value, or an end of its interval, put between `bounds`; NaN stays NaN."""
        if self.bounds is None or value != value:
            return value
        return min(max(value, self.bounds[0]), self.bounds[1])

    def shown(self, value: float) -> str:
        """A value as text with this metric's decimals and unit; an en dash for NaN."""
        if value != value:
            return "–"
        scaled = 100 * value if self.unit == "%" else value
        text = f"{scaled:.{self.digits}f}"
        if not text.strip("-0."):
            text = text.lstrip("-")  # no negative zero
        return text + ("%" if self.unit == "%" else f" {self.unit}" if self.unit else "")


class Mean(Metric):
    """Plain mean of one statistic over the instances that have it."""

    def __init__(
        self, stat: str, name: str = "", *, limits: tuple[float, float] | None = None, **shown: Any
    ) -> None:
        super().__init__(name or stat, **shown)
        self.stat, self.limits = stat, limits

    @property
    def expressions(self) -> tuple[str, ...]:
        """The statistic."""
        return (self.stat,)

    def columns(self, stats: Mapping[str, Floats]) -> Floats:
        """(value, 1) per instance."""
        return _with_count(stats[self.stat])

    def value(self, sums: Floats) -> Floats:
        """Sum over count."""
        return _divide(sums[..., 0], sums[..., 1], float("nan"))

    @property
    def formula(self) -> str:
        """`mean of stat`."""
        return f"mean of {self.stat}"


class Ratio(Metric):
    """Ratio of two sums, each an expression of statistics such as `matches+additions`.

    `zero` is the value where the denominator is 0 (NaN: undefined).
    """

    def __init__(
        self, numerator: str, denominator: str, name: str = "", *, zero: float = float("nan"), **shown: Any
    ) -> None:
        super().__init__(name or f"{numerator}/{denominator}", **shown)
        self.numerator, self.denominator, self.zero = numerator, denominator, zero

    @property
    def expressions(self) -> tuple[str, ...]:
        """Numerator and denominator."""
        return self.numerator, self.denominator

    def columns(self, stats: Mapping[str, Floats]) -> Floats:
        """(numerator, denominator) per instance."""
        return _stack(_evaluate(self.numerator, stats), _evaluate(self.denominator, stats))

    def value(self, sums: Floats) -> Floats:
        """Sum of numerators over sum of denominators."""
        return _divide(sums[..., 0], sums[..., 1], self.zero)

    @property
    def formula(self) -> str:
        """`Σ(numerator) / Σ(denominator)`."""
        return f"Σ({self.numerator}) / Σ({self.denominator})"


class F1(Metric):
    """2·tp / (2·tp + fp + fn) over summed counts; `zero` is the value where the denominator is 0 (NaN: undefined)."""

    bounds = (0.0, 1.0)

    def __init__(
        self, tp: str, fp: str, fn: str, name: str = "f1", *, zero: float = 0.0, **shown: Any
    ) -> None:
        super().__init__(name, **shown)
        self.tp, self.fp, self.fn, self.zero = tp, fp, fn, zero

    @property
    def expressions(self) -> tuple[str, ...]:
        """Counts of true positives, false positives and false negatives."""
        return self.tp, self.fp, self.fn

    def columns(self, stats: Mapping[str, Floats]) -> Floats:
        """(tp, fp, fn) per instance."""
        return _stack(*(_evaluate(name, stats) for name in (self.tp, self.fp, self.fn)))

    def value(self, sums: Floats) -> Floats:
        """F1 of the sums."""
        twice = 2 * sums[..., 0]
        return _divide(twice, twice + sums[..., 1] + sums[..., 2], self.zero)

    @property
    def formula(self) -> str:
        """`2·Σtp / (2·Σtp + Σfp + Σfn)`."""
        tp, fp, fn = (f"Σ({e})" if len(_terms(e)) > 1 else f"Σ{e}" for e in self.expressions)
        return f"2·{tp} / (2·{tp} + {fp} + {fn})"


class Macro(Metric):
    """Mean over instances of another metric computed on each instance alone."""

    def __init__(
        self, inner: Metric, name: str = "", *, limits: tuple[float, float] | None = None, **shown: Any
    ) -> None:
        super().__init__(name or inner.name, **shown)
        self.inner, self.limits = inner, limits

    @property
    def expressions(self) -> tuple[str, ...]:
        """Those of the inner metric."""
        return self.inner.expressions

    def columns(self, stats: Mapping[str, Floats]) -> Floats:
        """(inner value, 1) per instance; instances without the inner metric's statistics are left out."""
        import numpy as np

        own = self.inner.columns(stats)
        values = np.asarray(self.inner.value(own), dtype=float)
        return _with_count(np.where(self.present(stats), values, np.nan))

    def value(self, sums: Floats) -> Floats:
        """Sum over count."""
        return _divide(sums[..., 0], sums[..., 1], float("nan"))

    @property
    def formula(self) -> str:
        """`mean per instance of inner formula`."""
        return f"mean per instance of {self.inner.formula.replace('Σ', '')}"


def _terms(expression: str) -> list[tuple[float, str]]:
    """Parse `a+b-2` into [(1, "a"), (1, "b"), (-1, "2")]."""
    terms, at = [], 0
    while at < len(expression):
        match = _TERM.match(expression, at)
        if not match or (at > 0 and not match[1]):
            raise ValueError(f"not a sum of statistics: {expression!r}")
        terms.append((-1.0 if match[1] == "-" else 1.0, match[2]))
        at = match.end()
    if not terms:
        raise ValueError("an empty expression")
    return terms


def _evaluate(expression: str, stats: Mapping[str, Floats]) -> Floats:
    import numpy as np

    n = len(next(iter(stats.values()))) if stats else 0
    total = np.zeros(n)
    for sign, name in _terms(expression):
        total = total + sign * (stats[name] if name[0].isalpha() or name[0] == "_" else float(name))
    return total


def _stack(*columns: Floats) -> Floats:
    """Stack columns, rows with any NaN set to zeros."""
    import numpy as np

    table = np.stack(columns, axis=-1)
    return np.where(np.isnan(table).any(axis=-1, keepdims=True), 0.0, table)


def _with_count(values: Floats) -> Floats:
    import numpy as np

    present = ~np.isnan(values)
    return np.stack([np.where(present, values, 0.0), present.astype(float)], axis=-1)


def _divide(top: Floats, bottom: Floats, zero: float) -> Floats:
    import numpy as np

    safe = np.where(bottom == 0, 1.0, bottom)
    return np.where(bottom == 0, zero, top / safe)
