"""Slips of the pen in people's labels: what a statistic cannot be, and what it hardly is."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from pmbench.core.metric import COUNT, Mean, Metric
from pmbench.running.finite import LARGEST
from pmbench.running.labels import Label
from pmbench.running.records import ScoreRecord

Doubts = Callable[[Mapping[str, float], Mapping[str, float]], Iterable[str]]
"""`Task.label_doubts`."""

BEYOND, AT_LEAST = 3.0, 10.0
"""A number is doubted that is more than this many times the greatest that the judge gave, and above this."""

SENSELESS, SENSELESS_FROM = 1000.0, 1000.0
"""A number is refused that is more than this many times the greatest absolute one that the judge gave, and above
this: it can only be a slip, and would outweigh all others."""

_NAMED = 5
"""Rows that a line names."""


def by_cluster(metrics: Sequence[Metric]) -> list[Metric]:
    """The metrics that labels can correct."""
    return [metric for metric in metrics if metric.scheme == "cluster"]


def ends_of(metrics: Sequence[Metric], scores: Sequence[ScoreRecord]) -> dict[str, tuple[float, float]]:
    """The least and the most that a statistic can be: limits of its mean, or 0 where the judge has none below it."""
    names = {name for metric in by_cluster(metrics) for name in metric.stat_names}
    below = {name for score in scores for name, value in score.stats.items() if value < 0}
    ends = dict.fromkeys(names - below, (0.0, math.inf))
    for metric in metrics:
        if isinstance(metric, Mean) and metric.limits is not None:
            ends[metric.stat] = metric.limits
    return ends


def most_of(scores: Sequence[ScoreRecord], names: Iterable[str]) -> dict[str, float]:
    """The greatest absolute value that a label of each statistic may have."""
    most = dict.fromkeys(names, 0.0)
    for score in scores:
        for name in most.keys() & score.stats.keys():
            most[name] = max(most[name], abs(score.stats[name]))
    return {name: min(LARGEST, max(SENSELESS_FROM, SENSELESS * value)) for name, value in most.items()}


def counted_whole(metrics: Sequence[Metric], scores: Sequence[ScoreRecord]) -> set[str]:
    """The statistics that are counts: the judge's are all whole, and no mean of shares or grades is made of them."""
    shares = {
        name for metric in by_cluster(metrics) if _of_shares(_innermost(metric)) for name in metric.stat_names
    }
    names = {name for metric in by_cluster(metrics) for name in metric.stat_names} - shares
    broken = {
        name for score in scores for name, value in score.stats.items() if not float(value).is_integer()
    }
    return names - broken


def _innermost(metric: Metric) -> Metric:
    while isinstance(inner := getattr(metric, "inner", None), Metric):
        metric = inner
    return metric


def _of_shares(metric: Metric) -> bool:
    return isinstance(metric, Mean) and metric.bounds != COUNT


def slips(
    labels: Sequence[Label], scores: Sequence[ScoreRecord], doubts: Doubts, metrics: Sequence[Metric]
) -> Iterator[str]:
    """One line on rows that look like slips: how many, and what the first of them have.

    Args:
        labels: of one run, checked; scores: of its responses.
        doubts: the task's own; metrics: of the task.
    """
    by_key = {(score.id, score.sample): score.stats for score in scores}
    whole = counted_whole(metrics, scores)
    greatest = {name: max((score.stats.get(name, 0.0) for score in scores), default=0.0) for name in whole}
    odd: list[tuple[Label, str]] = []
    for label in labels:
        judged = by_key.get((label.id, label.sample))
        if judged is None:
            continue
        found = [*_beyond(label.stats, greatest), *doubts(label.stats, judged)]
        if found:
            odd.append((label, ", ".join(found)))
    if not odd:
        return
    several = len({label.row.file for label in labels}) > 1
    told = [
        f"row {label.row.number}{f' of {Path(label.row.file).name}' if several else ''}: {what}"
        for label, what in odd[:_NAMED]
    ]
    more = len(odd) - len(told)
    rows = (
        "1 row of labels looks like a slip" if len(odd) == 1 else f"{len(odd)} rows of labels look like slips"
    )
    yield f"{rows} ({'; '.join(told)}{f'; and {more} more' if more else ''}): see whether they are"


def _beyond(given: Mapping[str, float], greatest: Mapping[str, float]) -> Iterator[str]:
    for name, value in given.items():
        if name in greatest and value > max(AT_LEAST, BEYOND * greatest[name]):
            yield f"{name} is {value:g}, and {greatest[name]:g} at most by the judge"
