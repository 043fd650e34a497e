"""The run's numbers as rows of tables: metrics, metrics in groups, subgroups, what became of every response, cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pmbench.core.metric import Metric
from pmbench.leaderboard.wording import DASH, bare
from pmbench.pages.bars import Bar, bar, scale_of
from pmbench.running.results import Counts, MetricResult, Results, SliceResult, UsageTotal

VERY_FEW = 10
"""Clusters below which a subgroup's row says so: its interval is hardly one."""


@dataclass(frozen=True, slots=True)
class MetricRow:
    """A metric with its interval as text and as a bar."""

    title: str
    value: str
    interval: str
    bar: Bar | None
    bounds: str
    better: str
    primary: bool


@dataclass(frozen=True, slots=True)
class Grid:
    """Metrics of groups that have rows in common: a column for each group and for each row of reference values."""

    columns: tuple[str, ...]
    abouts: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class SliceRow:
    """A subgroup with the primary metric in it."""

    name: str
    label: str
    instances: int
    clusters: int
    lost: int
    value: str
    interval: str
    bar: Bar | None
    gap: str
    gap_interval: str
    others: tuple[str, ...]
    remark: str


def metric_rows(metrics: Sequence[Metric], results: Results) -> list[MetricRow]:
    """The metrics that stand in no group; optional ones only where they have a value."""
    rows = []
    for metric in metrics:
        found = results.metrics.get(metric.name)
        valued = found is not None and found.value is not None
        if metric.group is not None or (metric.optional and not valued):
            continue
        result = found or MetricResult(None)
        rows.append(
            MetricRow(
                title=metric.title,
                value=DASH if result.value is None else metric.shown(result.value),
                interval=ends(metric, result),
                bar=bar(metric, result, scale_of(metric, [result])),
                bounds=_bounds(metric, result),
                better={True: "more is better", False: "less is better", None: ""}[metric.higher_is_better],
                primary=metric.name == results.primary,
            )
        )
    return rows


def ends(metric: Metric, found: MetricResult | None) -> str:
    """An interval as text; empty where there is none."""
    if found is None or found.low is None or found.high is None:
        return ""
    return f"{bare(metric, found.low)} to {bare(metric, found.high)}"


def grids(metrics: Sequence[Metric], results: Results) -> list[Grid]:
    """Metrics in groups; groups that have the title of a metric in common stand side by side."""
    columns: dict[str, dict[str, str]] = {}
    abouts: dict[str, str] = {}
    references = {metric.reference for metric in metrics if metric.reference}
    for metric in metrics:
        group, found = metric.group, results.metrics.get(metric.name)
        value = None if found is None else found.value
        if group is None or (value is None and metric.optional):
            continue
        reference = group.reference if metric.name in references else ""
        heading = reference or group.title
        abouts.setdefault(heading, "" if reference else group.about)
        columns.setdefault(heading, {})[metric.title] = DASH if value is None else metric.shown(value)
    parts: list[list[str]] = []
    for heading, cells in columns.items():
        near = [part for part in parts if any(cells.keys() & columns[other].keys() for other in part)]
        parts = [part for part in parts if part not in near]
        parts.append([*(other for part in near for other in part), heading])
    return [_grid({heading: columns[heading] for heading in part}, abouts) for part in parts]


def _grid(columns: Mapping[str, Mapping[str, str]], abouts: Mapping[str, str]) -> Grid:
    titles = dict.fromkeys(title for cells in columns.values() for title in cells)
    rows = tuple((title, *(cells.get(title, "") for cells in columns.values())) for title in titles)
    alone = len(columns) == 1
    told = dict.fromkeys(
        abouts[heading] if alone else f"{heading}: {abouts[heading]}"
        for heading in columns
        if abouts[heading]
    )
    return Grid(tuple(columns), tuple(told), rows)


def slice_headlines(metrics: Sequence[Metric], results: Results) -> list[Metric]:
    """What stands beside the primary metric in the table of subgroups; what is optional, where it has a value."""
    beside = [metric for metric in metrics[1:] if metric.headline and metric.group is None]
    valued = {name for name, found in results.metrics.items() if found.value is not None}
    return [metric for metric in beside if metric.name in valued or not metric.optional]


def slice_rows(metrics: Sequence[Metric], results: Results) -> list[SliceRow]:
    """Every subgroup with the primary metric in it, on one scale, the whole run's value as a rule."""
    primary = metrics[0]
    found = [(name, label, one) for name, labels in results.slices.items() for label, one in labels.items()]
    whole = results.metrics.get(primary.name)
    within = [one.metrics[primary.name] for _, _, one in found if primary.name in one.metrics]
    scale = scale_of(primary, within)
    rule = whole.value if whole is not None else None
    others = slice_headlines(metrics, results)
    return [_slice_row(name, label, one, primary, others, scale, rule) for name, label, one in found]


def _slice_row(
    name: str,
    label: str,
    found: SliceResult,
    primary: Metric,
    others: Sequence[Metric],
    scale: tuple[float, float],
    rule: float | None,
) -> SliceRow:
    result = found.metrics.get(
        primary.name, MetricResult(None, note=f"results.json has no {primary.name} of it")
    )
    few = primary.scheme == "cluster" and found.clusters < VERY_FEW
    gap = found.gap
    beside = [(metric, found.metrics.get(metric.name)) for metric in others]
    return SliceRow(
        name=name,
        label=label,
        instances=found.instances,
        clusters=found.clusters,
        lost=found.lost,
        value=DASH if result.value is None else primary.shown(result.value),
        interval=ends(primary, result),
        bar=bar(primary, result, scale, rule),
        gap=DASH if gap is None or gap.value is None else bare(primary, gap.value, sign=True),
        gap_interval=ends(primary, gap),
        others=tuple(
            DASH if one is None or one.value is None else metric.shown(one.value) for metric, one in beside
        ),
        remark=f"fewer than {VERY_FEW} clusters" if few else result.note,
    )


def count_rows(counts: Counts) -> Iterator[tuple[str, str]]:
    """What became of the instances and responses; nothing that happened is left out."""
    yield "instances of the dataset", f"{counts.dataset:,}"
    yield "instances of this run", f"{counts.instances:,}"
    yield "responses asked for", f"{counts.samples:,}"
    yield "responses there", f"{counts.responded:,}"
    yield "scored", f"{counts.scored:,}"
    about = {
        "failed": "failed after all retries",
        "missing": "without a score",
        "pending": "not answered or not scored yet",
        "refused": "refused, scored as they are",
        "truncated": "cut off by the token limit, scored as they are",
        "empty": "empty, scored as they are",
    }
    for name, words in about.items():
        yield words, f"{getattr(counts, name):,}"
    for kind, number in counts.failures.items():
        yield f"lost: {kind}", f"{number:,}"


def usage_columns(usage: Mapping[str, UsageTotal]) -> tuple[list[str], list[tuple[str, ...]]]:
    """Who took anything, and for each thing that they took a row; rows of nothing are left out."""
    took = {who: total for who, total in usage.items() if total.prompt_tokens or total.completion_tokens}
    rows: list[tuple[str, ...]] = []
    for words, of in _TOOK.items():
        cells = [of(total) for total in took.values()]
        if any(cells):
            rows.append((words, *cells))
    return list(took), rows


def _number(value: float) -> str:
    return f"{value:,.0f}" if value else ""


def _seconds(value: float | None) -> str:
    return "" if value is None else f"{value:.2f} s"


def _cost(total: UsageTotal) -> str:
    if not total.unpriced:
        return f"${total.cost:.4f}"
    return f"${total.cost:.4f} and {total.unpriced:,} calls of unknown price" if total.cost else ""


_TOOK: dict[str, Callable[[UsageTotal], str]] = {
    "calls": lambda total: _number(total.calls),
    "tokens of prompts": lambda total: _number(total.prompt_tokens),
    "of them from earlier prompts": lambda total: _number(total.cached_tokens),
    "of them kept for later prompts": lambda total: _number(total.written_tokens),
    "tokens of answers": lambda total: _number(total.completion_tokens),
    "of them of thinking": lambda total: _number(total.reasoning_tokens),
    "latency of all calls": lambda total: _seconds(total.seconds),
    "latency of one, median": lambda total: _seconds(total.latency_median),
    "latency of one, 95th percentile": lambda total: _seconds(total.latency_p95),
    "cost": _cost,
    "choices without log-probabilities": lambda total: _number(total.one_hot),
    "served by": lambda total: ", ".join(f"{name} ({number:,})" for name, number in total.served.items()),
}
"""What calls took, in words, and how it is shown; empty where there is nothing of it."""


def _bounds(metric: Metric, result: MetricResult) -> str:
    if result.worst is None or result.best is None:
        return ""
    return f"{metric.shown(result.worst)} / {metric.shown(result.best)}"
