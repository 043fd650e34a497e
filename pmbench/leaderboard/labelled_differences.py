"""What labels say of differences of systems, and what the headline rests on where there are labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pmbench.core.metric import Metric
from pmbench.leaderboard.table import SystemRow
from pmbench.leaderboard.wording import DASH, bare, counted
from pmbench.running.label_differences import CorrectedDifference, Judged, corrected_difference
from pmbench.running.label_values import Corrected

BY_JUDGE = "By the judge, "

_OF_MANY = "None of the "


def by_judge(words: Sequence[str]) -> list[str]:
    """The sentences under a table, of which the first says that it is the judge's."""
    if not words:
        return []
    first = words[0]
    first = f"n{first[1:]}" if first.startswith(_OF_MANY) else first
    return [BY_JUDGE + first, *words[1:]]


def difference_notes(
    rows: Sequence[SystemRow], metrics: Sequence[Metric], of: Mapping[tuple[str, str], Judged], level: float
) -> Iterator[str]:
    """What the first of the labelled systems has more than each other one, as people would give it.

    Args:
        rows: of a table; metrics: of the task that labels correct, in order.
        of: scores and labels by run and scoring.
        level: of intervals.
    """
    labelled = [row for row in rows if row.corrected]
    if len(labelled) < 2:
        return
    first, *others = labelled
    for other in others:
        metric = next((one for one in metrics if _valued(first, one) and _valued(other, one)), None)
        if metric is None:
            yield f"{_named(first, other)} have no judge-corrected difference: both have no such value."
            continue
        found = corrected_difference(
            metric, of[first.run, first.scoring], of[other.run, other.scoring], level
        )
        yield _told(metric, first, other, found)
    if len(others) > 1:
        yield (
            f"Intervals of these {len(others)} judge-corrected differences are each for itself: they do not allow for"
            " how many there are."
        )


def _valued(row: SystemRow, metric: Metric) -> bool:
    found: Corrected | None = row.corrected.get(metric.name)
    return found is not None and found.value is not None


def _named(first: SystemRow, other: SystemRow) -> str:
    return f"Rows {first.number} and {other.number}"


def _told(metric: Metric, first: SystemRow, other: SystemRow, found: CorrectedDifference) -> str:
    rests = f"{counted(found.labelled, 'response')} labelled for both"
    if found.value is None:
        why = found.note or (
            f"{rests}, in {counted(found.clusters, 'cluster')}, {'is' if found.labelled == 1 else 'are'} too few"
            " (forms of pmbench labels with one --seed hold the same instances)"
        )
        return f"{_named(first, other)} have no judge-corrected difference in {metric.title}: {why}."
    weight = "" if found.weight is None else f", λ {found.weight:.2f}"
    what = f"{first.model} − {other.model} (row {first.number} − row {other.number}) in {metric.title}"
    text = f"Judge-corrected, {what} is {bare(metric, found.value, sign=True)} {_interval(metric, found)}"
    text += f", from {rests} of {found.responses}{weight}"
    if found.low is None or found.high is None:
        return f"{text}: {found.note}."
    if found.low <= 0 <= found.high:
        text += "; which of the two people would find better stays open" if _directed(metric) else ""
    return f"{text}{f' ({found.note})' if found.note else ''}."


def _directed(metric: Metric) -> bool:
    return metric.higher_is_better is not None


def _interval(metric: Metric, found: CorrectedDifference) -> str:
    if found.low is None or found.high is None:
        return DASH
    return f"[{bare(metric, found.low, sign=True)}, {bare(metric, found.high, sign=True)}]"
