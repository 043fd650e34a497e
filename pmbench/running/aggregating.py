"""From scores to results: metrics with intervals, per slice too, and what became of every instance."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np

from pmbench.core.blank import says_nothing
from pmbench.core.instance import Instance, Score
from pmbench.core.metric import Metric
from pmbench.core.model import Usage
from pmbench.core.task import Task
from pmbench.running.columns import ScoreColumns
from pmbench.running.faults import fault
from pmbench.running.finite import beyond_limits, greatest, unusable_ids
from pmbench.running.plan import Plan
from pmbench.running.records import ResponseRecord, ScoreRecord
from pmbench.running.responding import Key, response_digest
from pmbench.running.results import Counts, MetricResult, Results, SliceResult, Statistics, Status, UsageTotal
from pmbench.running.variation import variation
from pmbench.stats.in_threads import in_threads
from pmbench.stats.methods import interval_method
from pmbench.stats.schemes import Rows, gaps, intervals

if TYPE_CHECKING:
    from numpy.typing import NDArray

INFINITE = "no value, for its sum is no finite number"
"""Said of a metric in place of its value."""


def aggregate(
    plan: Plan,
    responses: Mapping[Key, ResponseRecord],
    scores: Mapping[Key, ScoreRecord],
    *,
    interrupted: bool = False,
    stopped: str = "",
) -> Results:
    """Results of a run as far as it has come.

    Args:
        plan: the run.
        responses, scores: what is there.
        interrupted: whether the user stopped it.
        stopped: why no further request could be sent; empty if it came to its end.
    """
    keys = [key for key, _ in plan.items]
    answered = [responses[key] for key in keys if key in responses]
    scored = [scores[key] for key in keys if key in scores and _is_of(responses.get(key), scores[key])]
    counts = _count(plan, len(keys), answered, scored)
    status, reason = _status(counts, plan.request.max_missing, interrupted, stopped)
    done = Counter([r.id for r in answered if r.status == "failed"] + [record.id for record in scored])
    good = [record for record in scored if record.status == "ok"]
    metrics, clusters = measure(plan.task.metrics, good, done)
    return Results(
        status=status,
        reason=reason,
        task=plan.task.name,
        task_version=plan.task.version,
        strategy=plan.strategy_name,
        model=plan.system,
        judges=plan.judge_names,
        options=plan.options,
        run=plan.run_digest,
        scoring=plan.scoring_digest,
        fingerprint=plan.dataset.fingerprint,
        instances_digest=plan.instances_digest,
        round=plan.round,
        primary=plan.task.metrics[0].name,
        metrics=metrics,
        counts=counts,
        slices=_slices(plan, good, done),
        usage={"model": usage_of(answered), "judges": usage_of(scored)},
        statistics=Statistics(method=_methods(plan.task.metrics, clusters), clusters=clusters),
        findings=[*_doubts(plan.task.metrics, metrics, good), *_findings(plan.task, good)],
        unusable=unusable_ids(scored),
        variation=variation(plan.task.metrics[0], good, plan.request.samples, len(plan.chosen)),
        finished_at=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def measure(
    metrics: Sequence[Metric],
    records: Sequence[ScoreRecord] | ScoreColumns,
    done: Mapping[str, int] | None = None,
) -> tuple[dict[str, MetricResult], int]:
    """Each metric over scores, with its interval, and the number of clusters.

    Samples of one instance are averaged first, so that every instance counts once.

    Args:
        metrics: of the task.
        records: scores that are there, as they are or as columns.
        done: samples of each instance, by id, that have a score or never will (failed, missing), for the worst
            and best case of those that never will.
    """
    results = {metric.name: MetricResult(None) for metric in metrics}
    scores = records if isinstance(records, ScoreColumns) else ScoreColumns(records)
    if not scores.ids:
        return results, 0
    parts = []
    for metric in metrics:
        rows = scores.rows(metric)
        if rows is None:
            continue
        if _is_infinite(metric, rows):
            results[metric.name] = MetricResult(None, note=INFINITE)
        else:
            parts.append((metric, rows))
    for (metric, rows), interval in zip(parts, intervals(parts), strict=True):
        worst, best = _bounds(metric, scores, rows.columns, done or {})
        low, high = (_number(metric.within(end)) for end in (interval.low, interval.high))
        results[metric.name] = MetricResult(_number(interval.value), low, high, worst, best, interval.note)
    return results, len(set(scores.clusters))


def _is_infinite(metric: Metric, rows: Rows) -> bool:
    """Whether the metric or the sums that it is made of are no finite numbers; a metric that is undefined is."""
    with np.errstate(over="ignore", invalid="ignore"):
        sums = rows.columns.sum(axis=0)
        return not np.isfinite(sums).all() or math.isinf(float(metric.value(sums)))


def _doubts(
    metrics: Sequence[Metric], found: Mapping[str, MetricResult], records: Sequence[ScoreRecord]
) -> list[str]:
    """Where the numbers of a task's scores are not what its metrics take them to be."""
    lines = [
        f"{metric.name}: {INFINITE}; the greatest of its numbers is in {greatest(records, metric)}"
        for metric in metrics
        if found[metric.name].note == INFINITE
    ]
    return lines + (beyond_limits(metrics, ScoreColumns(records)) if records else [])


def _findings(task: Task, records: Sequence[ScoreRecord]) -> list[str]:
    """What the task says of the scores; its own fault in it is said instead, without its message."""
    scores = {one.id: Score(one.stats, one.units, one.arrays, one.evidence) for one in records}
    try:
        return [str(line) for line in task.findings(scores)]
    except Exception as error:  # noqa: BLE001 - a plugin's
        return [f"the task failed while it looked at the scores ({fault(error)})"]


def _methods(metrics: Sequence[Metric], clusters: int) -> str:
    """How the intervals were made, the primary metric's way first."""
    schemes = dict.fromkeys(metric.scheme for metric in metrics)
    return "; ".join(interval_method(scheme, clusters) for scheme in schemes)


def _bounds(
    metric: Metric, scores: ScoreColumns, columns: NDArray[np.float64], done: Mapping[str, int]
) -> tuple[float | None, float | None]:
    """Worst and best value if every sample that is lost had been worst or best; None without loss or limits.

    Each instance is the mean over its samples, the lost ones at the limit; the value is the mean over instances.
    """
    if metric.limits is None or not done or sum(done.values()) == scores.samples(metric).sum():
        return None, None
    there = dict(zip(scores.ids, scores.samples(metric).tolist(), strict=True))
    lost = {name: count - there.get(name, 0.0) for name, count in done.items()}
    values = dict(zip(scores.ids, columns[:, 0].tolist(), strict=True))

    def at(end: float) -> float:
        means = [
            (values.get(name, 0.0) * there.get(name, 0.0) + lost[name] * end) / count
            for name, count in done.items()
        ]
        return math.fsum(means) / len(means)

    low, high = (metric.within(at(end)) for end in metric.limits)
    return (high, low) if metric.higher_is_better is False else (low, high)


def _slices(
    plan: Plan, records: Sequence[ScoreRecord], done: Mapping[str, int]
) -> dict[str, dict[str, SliceResult]]:
    """Each subgroup of this run's instances, those without a score among them."""
    parts: dict[str, dict[str, list[Instance]]] = {}
    for instance in plan.chosen:
        for name, label in instance.slices.items():
            if label.strip():
                parts.setdefault(name, {}).setdefault(label, []).append(instance)
    if not parts:
        return {}
    scores = ScoreColumns(records)
    place = {name: number for number, name in enumerate(scores.ids)}
    wanted = [(name, label) for name, labels in sorted(parts.items()) for label in sorted(labels)]
    made = in_threads(lambda one: _slice(plan, parts[one[0]][one[1]], scores, place, done), wanted)
    found: dict[str, dict[str, SliceResult]] = {name: {} for name, _ in wanted}
    for (name, label), result in zip(wanted, made, strict=True):
        found[name][label] = result
    _add_gaps(plan, scores, parts, found)
    return found


def _add_gaps(
    plan: Plan,
    scores: ScoreColumns,
    members: Mapping[str, Mapping[str, Sequence[Instance]]],
    found: Mapping[str, Mapping[str, SliceResult]],
) -> None:
    """To each subgroup how it differs from all others that have a label, in the primary metric."""
    primary = plan.task.metrics[0]
    rows = scores.rows(primary) if scores.ids else None
    wanted = [(name, label) for name, labels in found.items() if len(labels) > 1 for label in labels]
    if rows is None or not wanted or _is_infinite(primary, rows):
        return
    numbers = {
        name: {one.id: number for number, those in enumerate(labels.values()) for one in those}
        for name, labels in members.items()
    }
    labelled = {
        name: np.array([of_instance.get(one, -1) for one in rows.ids])
        for name, of_instance in numbers.items()
    }
    number = {(name, label): at for name, labels in members.items() for at, label in enumerate(labels)}
    parts = [
        (own == number[name, label], (own >= 0) & (own != number[name, label]))
        for name, label in wanted
        for own in (labelled[name],)
    ]
    for (name, label), interval in zip(wanted, gaps(primary, rows, parts), strict=True):
        found[name][label].gap = MetricResult(
            _number(interval.value), _number(interval.low), _number(interval.high), note=interval.note
        )


def _slice(
    plan: Plan,
    members: Sequence[Instance],
    scores: ScoreColumns,
    place: Mapping[str, int],
    done: Mapping[str, int],
) -> SliceResult:
    places = sorted(place[instance.id] for instance in members if instance.id in place)
    part = scores.subset(np.array(places, dtype=np.intp))
    own = {instance.id: done[instance.id] for instance in members if done.get(instance.id)}
    # Grouped metrics, such as one per theme, would be noise here.
    main = [metric for metric in plan.task.metrics if metric.group is None]
    results, clusters = measure(main, part, own)
    return SliceResult(
        len(members), clusters, sum(own.values()) - part.responses, results, scored=len(places)
    )


def _is_of(response: ResponseRecord | None, score: ScoreRecord) -> bool:
    return response is not None and response.status == "ok" and score.response == response_digest(response)


def _count(
    plan: Plan, asked: int, answered: Sequence[ResponseRecord], scored: Sequence[ScoreRecord]
) -> Counts:
    ok = [record for record in answered if record.status == "ok"]
    failed = [record for record in answered if record.status == "failed"]
    missing = [record for record in scored if record.status == "missing"]
    return Counts(
        dataset=len(plan.dataset.instances),
        instances=len(plan.chosen),
        samples=asked,
        responded=len(ok),
        scored=len(scored) - len(missing),
        failed=len(failed),
        missing=len(missing),
        pending=asked - len(failed) - len(scored),
        refused=sum(record.finish == "refused" for record in ok),
        truncated=sum(record.finish == "length" for record in ok),
        empty=sum(says_nothing(record.text) and not record.data for record in ok),
        partial=sum(record.status == "ok" and record.failed_requests > 0 for record in scored),
        failures=dict(Counter([r.failure for r in failed] + [r.failure for r in missing]).most_common()),
    )


def _status(counts: Counts, max_missing: float, interrupted: bool, stopped: str) -> tuple[Status, str]:
    if interrupted or counts.pending:
        why = "interrupted" if interrupted else stopped or "work is left"
        return "incomplete", f"{why}: {counts.pending} of {counts.samples} not done"
    lost = counts.failed + counts.missing
    if not lost:
        return "complete", ""
    told = f"{counts.failed} failed, {counts.missing} without a score, of {counts.samples}"
    if lost > max_missing * counts.samples:
        return "incomplete", f"{told}: more than --max-missing {max_missing:g} allows"
    return "complete-with-missing", told


def usage_of(records: Sequence[ResponseRecord] | Sequence[ScoreRecord]) -> UsageTotal:
    """What the calls for responses, or for scores, took, added up, and how long one of them took."""
    total = UsageTotal()
    for record in records:
        total.calls += record.calls
        total.prompt_tokens += record.usage.prompt_tokens
        total.completion_tokens += record.usage.completion_tokens
        total.cached_tokens += record.usage.cached_tokens
        total.reasoning_tokens += record.usage.reasoning_tokens
        total.written_tokens += record.usage.written_tokens
        total.seconds = round(total.seconds + record.seconds, 4)
        total.cost += record.cost or 0.0
        total.unpriced += record.calls if _is_unpriced(record) else 0
        total.one_hot += record.one_hot
    total.served = dict(Counter(name for record in records for name in record.served).most_common())
    # Of a failed response only those calls have a latency that were answered: that is no time of a response.
    times = sorted(record.seconds for record in records if record.seconds > 0 and record.status != "failed")
    total.latency_median, total.latency_p95 = percentile(times, 50), percentile(times, 95)
    return total


def percentile(values: Sequence[float], share: float) -> float | None:
    """The percentile of sorted values, between two of them in proportion (type 7 of Hyndman and Fan, 1996).

    Args:
        values: in rising order.
        share: from 0 to 100.

    Returns:
        None where there are no values.
    """
    if not values:
        return None
    place = (len(values) - 1) * share / 100
    below = min(int(place), len(values) - 1)
    above = min(below + 1, len(values) - 1)
    return round(values[below] + (values[above] - values[below]) * (place - below), 4)


def _is_unpriced(record: ResponseRecord | ScoreRecord) -> bool:
    """Whether its calls may have cost something that is not known.

    A response that failed before a server counted a token has cost nothing that anybody knows of.
    """
    return record.cost is None and not (record.status == "failed" and record.usage == Usage())


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value
