"""Groups of metrics: the tables that they make, and what the systems in one should come near to."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TypeVar

import msgspec

from pmbench.core.metric import Metric
from pmbench.core.registry import PluginError
from pmbench.leaderboard.table import GroupHead, Measure, MetricHead, Reference, StrategyRow, SystemRow, Table
from pmbench.leaderboard.wording import counted, interval, rows_text, shown
from pmbench.running.columns import ScoreColumns

_SAME = 1e-9
"""Distances this near to each other are a tie: numbers of the same counts, divided in another order."""

Key = TypeVar("Key")


def metric_heads(metrics: Sequence[Metric]) -> list[MetricHead]:
    """Each metric as a column, with where it stands."""
    referred = {metric.reference for metric in metrics if metric.group and metric.reference}
    return [
        MetricHead(
            metric.name,
            metric.title,
            metric.higher_is_better,
            metric.formula,
            metric.unit or metric.scale,
            metric.group.title if metric.group else "",
            metric.headline,
            metric.name in referred,
            metric.scheme,
            metric.optional,
        )
        for metric in metrics
    ]


def group_heads(metrics: Sequence[Metric]) -> list[GroupHead]:
    """The groups in order of their first metric, with their columns.

    Raises:
        PluginError: a metric's reference is no metric of the task.
    """
    names = {metric.name for metric in metrics}
    for metric in metrics:
        if metric.reference and metric.reference not in names:
            raise PluginError(
                f"the metric {metric.name} refers to {metric.reference}, which is no metric of its task",
                remedy="Mend or uninstall the task's package",
            )
    referred = {head.name for head in metric_heads(metrics) if head.referred}
    members: dict[str, list[Metric]] = {}
    for metric in metrics:
        if metric.group and metric.name not in referred:
            members.setdefault(metric.group.title, []).append(metric)
    return [_head(title, found) for title, found in members.items()]


def _head(title: str, metrics: Sequence[Metric]) -> GroupHead:
    group = metrics[0].group
    references = {metric.name: metric.reference for metric in metrics if metric.reference}
    return GroupHead(
        title=title,
        about=group.about if group else "",
        metrics=[metric.name for metric in metrics],
        references=references,
        reference=((group.reference if group else "") or "reference") if references else "",
    )


def by_presence(groups: Sequence[GroupHead], table: Table) -> tuple[list[GroupHead], list[GroupHead]]:
    """The groups of which a system has a number, and those of which none has one.

    Runs that were scored before their task had these metrics, or without the judge that they need, have none.
    """
    there: list[GroupHead] = []
    absent: list[GroupHead] = []
    for group in groups:
        values = (one.measures[name].value for one in table.rows for name in group.metrics)
        (absent if all(value is None for value in values) else there).append(group)
    return there, absent


def references(
    groups: Sequence[GroupHead],
    metrics: Sequence[Metric],
    rows: Sequence[SystemRow],
    columns: Sequence[ScoreColumns],
    strategies: Sequence[StrategyRow],
) -> dict[str, Reference]:
    """The reference of each group that has one, by the group's title.

    Args:
        groups: of the task; metrics: of the task.
        rows: the systems; columns: the scores of each.
        strategies: the systems aggregated, or nothing.
    """
    by_name = {metric.name: metric for metric in metrics}
    found = {}
    for group in groups:
        if group.references:
            referred = [by_name[name] for name in group.references.values()]
            counts = [_scored(referred, one) for one in columns]
            chosen = counts.index(max(counts))
            measures = {
                name: _in_column(by_name[name], rows[chosen].measures[other])
                for name, other in group.references.items()
            }
            found[group.title] = _reference(group, measures, rows, chosen, counts, strategies)
    return found


def _in_column(metric: Metric, measure: Measure) -> Measure:
    """A reference value with the decimals of the column that it stands in."""
    number = shown(metric, measure.value)
    return msgspec.structs.replace(
        measure, number=number, interval=interval(metric, measure.low, measure.high)
    )


def _scored(metrics: Sequence[Metric], columns: ScoreColumns) -> int:
    """How many instances have any of the metrics."""
    return max(int(columns.present(metric).sum()) for metric in metrics)


def _reference(
    group: GroupHead,
    measures: dict[str, Measure],
    rows: Sequence[SystemRow],
    chosen: int,
    counts: Sequence[int],
    strategies: Sequence[StrategyRow],
) -> Reference:
    return Reference(
        measures=measures,
        row=rows[chosen].number,
        instances=counts[chosen],
        nearest={
            name: nearest(
                {row.number: _gap(row.measures[name].value, row.measures[other].value) for row in rows}
            )
            for name, other in group.references.items()
        },
        nearest_strategies={
            name: nearest(
                {one.strategy: _gap(one.spreads[name].mean, one.spreads[other].mean) for one in strategies}
            )
            for name, other in group.references.items()
        },
        notes=_disagreement(group, rows, chosen, counts[chosen]),
    )


def nearest(gaps: Mapping[Key, float | None]) -> list[Key]:
    """Whose gap is the smallest: several where they tie, none where all do or there are not two to choose from."""
    there = {key: gap for key, gap in gaps.items() if gap is not None}
    least = min(there.values(), default=0.0)
    found = [key for key, gap in there.items() if gap <= least + _SAME]
    return found if len(found) < len(there) else []


def _gap(value: float | None, reference: float | None) -> float | None:
    """How far a value is from the reference of the very instances that it was made from."""
    return None if value is None or reference is None else abs(value - reference)


def _disagreement(group: GroupHead, rows: Sequence[SystemRow], chosen: int, instances: int) -> list[str]:
    """A note where the data that other systems have been scored on come to other values of the reference."""
    own = rows[chosen].measures
    others = [
        row.number
        for row in rows
        if not all(_alike(row.measures[name].value, own[name].value) for name in group.references.values())
    ]
    if not others:
        return []
    told = (
        f"The values of {group.reference} are those of the {counted(instances, 'instance')} that row"
        f" {rows[chosen].number} has scored. On the instances that {rows_text(others).lower()}"
        f" {'has' if len(others) == 1 else 'have'} scored, not all of them are the same."
    )
    return [told]


def _alike(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, rel_tol=_SAME, abs_tol=_SAME)
