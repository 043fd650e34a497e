"""Numbers that a score may hold: finite, no greater than their sums can bear, and within a metric's own limits."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from pmbench.core.errors import Unscored
from pmbench.core.metric import Metric
from pmbench.core.names import name_shown
from pmbench.data.fingerprint import id_shown
from pmbench.running.columns import ScoreColumns
from pmbench.running.records import ScoreRecord

LARGEST = 1e100
"""Greatest absolute value of a statistic. Squares of it can still be added up for any number of instances."""

NOT_FINITE, OUT_OF_RANGE, NO_PRIMARY = "not-finite", "out-of-range", "no-primary"
"""Kinds of failure that are counted where a task's score holds no number that can be reported."""

_PLAIN = 1e50
"""From this to its inverse no formula of sums, products and ratios of a few statistics leaves the range."""

_NAMED = 5
_SLACK = 1e-9


class UnusableScore(Unscored):
    """A score whose numbers cannot be reported.

    Attributes:
        statistics: which of them, by name, and what is wrong with each.
    """

    def __init__(self, kind: str, statistics: Mapping[str, str]) -> None:
        super().__init__(kind)
        self.statistics = dict(statistics)


def usable(given: Mapping[str, Any], metrics: Sequence[Metric]) -> dict[str, float]:
    """The statistics of a score as numbers that can be reported.

    Args:
        given: by name; metrics: of the task, the primary one first.

    Raises:
        UnusableScore: one is NaN or infinite, or beyond `LARGEST`, or takes a metric beyond it; or those of the
            primary metric are not all there.
    """
    stats = {name: _float(value) for name, value in given.items()}
    wrong = {name: _named(value) for name, value in stats.items() if not math.isfinite(value)}
    if wrong:
        raise UnusableScore(NOT_FINITE, wrong)
    wrong = out_of_range(stats)
    if not wrong and any(value and not 1 / _PLAIN <= abs(value) <= _PLAIN for value in stats.values()):
        wrong = _columns_out_of_range(stats, metrics)
    if wrong:
        raise UnusableScore(OUT_OF_RANGE, wrong)
    if not metrics[0].computable(stats):
        raise UnusableScore(NO_PRIMARY, {n: "is not there" for n in metrics[0].stat_names if n not in stats})
    return stats


def out_of_range(stats: Mapping[str, float]) -> dict[str, str]:
    """Those statistics that no score may hold, and what is wrong with each."""
    return {
        name: f"is beyond {LARGEST:.0e}" if math.isfinite(value) else _named(value)
        for name, value in stats.items()
        if not abs(value) <= LARGEST
    }


def _float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:  # A whole number of more than 308 digits: finite, and far out of range.
        return sys.float_info.max if value > 0 else -sys.float_info.max


def _named(value: float) -> str:
    return "is NaN" if math.isnan(value) else "is infinite"


def _columns_out_of_range(stats: Mapping[str, float], metrics: Sequence[Metric]) -> dict[str, str]:
    """The metrics whose columns of this one score cannot be summed, as of a ratio whose denominator is minute."""
    arrays = {name: np.array([value]) for name, value in stats.items()}
    wrong = {}
    for metric in metrics:
        if not metric.computable(stats):
            continue
        with np.errstate(all="ignore"):
            columns = metric.columns(arrays)
        if not (np.abs(columns) <= LARGEST).all():
            wrong[metric.name] = f"comes to a number beyond {LARGEST:.0e}"
    return wrong


def explained(evidence: Any) -> str:
    """What is wrong with the numbers of a score that is missing, by the evidence that was kept; empty: not known."""
    found = evidence.get("statistics") if isinstance(evidence, Mapping) else None
    if not isinstance(found, Mapping):
        return ""
    return ", ".join(f"{name_shown(str(name))} {what}" for name, what in list(found.items())[:_NAMED])


def evidence_of(error: UnusableScore) -> dict[str, Any]:
    """What is kept of such a score, for `explained`."""
    return {"statistics": error.statistics}


def unusable_ids(scored: Iterable[ScoreRecord]) -> dict[str, list[str]]:
    """By kind of these failures the ids of the instances."""
    found: dict[str, dict[str, None]] = {}
    for record in scored:
        if record.status == "missing" and record.failure in (NOT_FINITE, OUT_OF_RANGE, NO_PRIMARY):
            found.setdefault(record.failure, {})[record.id] = None
    return {kind: list(ids) for kind, ids in found.items()}


def unusable_lines(found: Mapping[str, Sequence[str]]) -> list[str]:
    """What a reader is told of them, a line for each kind."""
    return [f"{kind}: {few(ids)} (pmbench show RUN -i ID says which number)" for kind, ids in found.items()]


def beyond_limits(metrics: Sequence[Metric], scores: ScoreColumns) -> list[str]:
    """For each metric a line that names the instances whose value lies beyond the metric's own limits."""
    lines = []
    for metric in metrics:
        columns = scores.each(metric) if metric.limits is not None else None
        if metric.limits is None or columns is None:
            continue
        low, high = metric.limits
        ids = [
            name
            for name, value in columns
            if value < low - _SLACK * max(1.0, abs(low)) or value > high + _SLACK * max(1.0, abs(high))
        ]
        if ids:
            told = few(list(dict.fromkeys(ids)))
            lines.append(
                f"{metric.name}: the value goes beyond its own limits, {low:g} to {high:g}, in {told}"
            )
    return lines


def greatest(scores: Iterable[ScoreRecord], metric: Metric) -> str:
    """The id, as it may be shown, of the instance whose statistic of the metric is greatest in absolute value."""
    names = metric.stat_names
    found = max(
        scores, key=lambda score: max((abs(score.stats.get(name, 0.0)) for name in names), default=0.0)
    )
    return id_shown(found.id)


def few(ids: Sequence[str]) -> str:
    """Up to five ids, and how many more there are."""
    more = len(ids) - _NAMED
    return ", ".join(map(id_shown, ids[:_NAMED])) + (f" and {more} more" if more > 0 else "")
