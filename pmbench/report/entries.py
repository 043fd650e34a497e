"""A run's responses one by one: value, state, subgroups, statistics and what the task's view shows of each."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from markupsafe import Markup

from pmbench.core.blank import says_nothing
from pmbench.core.errors import StorageError
from pmbench.core.metric import Metric
from pmbench.core.task import Record, Task
from pmbench.report.blocks import Block
from pmbench.report.viewing import NO_MARKUP, seen_of
from pmbench.running.columns import ScoreColumns
from pmbench.running.folder import read_lines
from pmbench.running.judging import SCORES
from pmbench.running.reading import StoredRun, read_records
from pmbench.running.records import ResponseRecord, ScoreRecord

Key = tuple[str, int]
"""Id of an instance and number of a sample."""

Kept = TypeVar("Kept", ResponseRecord, ScoreRecord)

STATES = {
    "failed": "failed",
    "missing": "without a score",
    "pending": "not scored yet",
    "truncated": "cut off",
    "refused": "refused",
    "empty": "empty",
}
"""What a response can be beside well, and how the page says it."""

_CUT = {"length": "truncated", "refused": "refused"}
"""States that a finish reason stands for."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One response.

    Attributes:
        id, sample: whose it is.
        value: the primary metric of it alone; NaN where there is none.
        states: keys of `STATES`.
        why: the kind of what went wrong, empty where nothing did.
        slices: subgroup labels.
        stats: its statistics by name, in one line.
        took: tokens and seconds, as text.
        remarks: what the reader has to know of what is shown.
        markdown: what the task's view shows, as HTML; blocks: or as blocks. Both empty where texts are left out.
    """

    id: str
    sample: int
    value: float
    states: tuple[str, ...]
    why: str
    slices: Mapping[str, str]
    stats: str
    took: str
    remarks: tuple[str, ...] = ()
    markdown: Markup = NO_MARKUP
    blocks: Sequence[Block] = ()


@dataclass(frozen=True, slots=True)
class Listed:
    """The responses of a run.

    Attributes:
        entries: those without a value, then the worst value first.
        values: the primary metric of every instance that has it, its samples averaged first.
        remark: why texts of the data are not shown; empty where they are, or are not wanted.
    """

    entries: list[Entry]
    values: list[float]
    remark: str


def listed(run: StoredRun, task: Task, *, texts: bool) -> Listed:
    """Every response of the run's round.

    Args:
        texts: whether the task's view is made of each response; else the data give the subgroups alone.

    Raises:
        StorageError: the run's files cannot be read.
    """
    responses = _current(read_lines(run.folder.responses, ResponseRecord), run)
    scores = _current(read_lines(run.scores / SCORES, ScoreRecord) if run.scores else [], run)
    primary = task.metrics[0]
    good = [one for one in scores.values() if one.status == "ok"]
    values = _values(primary, good)
    records, remark = _records(run, {sample for _, sample in responses})
    view = next(iter(task.views.values()), None)
    made = []
    for key, response in responses.items():
        score = scores.get(key)
        record = records.get(key)
        entry = _entry(response, score, values.get(key, math.nan), primary)
        if record is not None:  # a response that failed has no score, which would tell its subgroups
            entry = replace(entry, slices=record.instance.slices)
        if texts:
            seen = seen_of(view, record, response, score)
            entry = replace(entry, remarks=seen.remarks, markdown=seen.markdown, blocks=seen.blocks)
        made.append(entry)
    sign = -1 if primary.higher_is_better is False else 1
    made.sort(key=lambda one: (not math.isnan(one.value), _or_zero(sign * one.value), one.id, one.sample))
    of_instances = [value for value in _of_instances(primary, good).values() if math.isfinite(value)]
    return Listed(made, of_instances, remark if texts else "")


def _or_zero(value: float) -> float:
    return 0.0 if math.isnan(value) else value


def _current(lines: Sequence[Kept], run: StoredRun) -> dict[Key, Kept]:
    """Lines of the run's round, the last of each instance and sample."""
    return {(line.id, line.sample): line for line in lines if line.round == run.record.round}


def _values(primary: Metric, scores: Sequence[ScoreRecord]) -> dict[Key, float]:
    """The metric of each response alone."""
    of: dict[int, list[ScoreRecord]] = defaultdict(list)
    for score in scores:
        of[score.sample].append(score)
    return {
        (name, sample): value
        for sample, some in of.items()
        for name, value in _of_instances(primary, some).items()
    }


def _of_instances(primary: Metric, scores: Sequence[ScoreRecord]) -> dict[str, float]:
    table = ScoreColumns(scores)
    columns = table.of(primary)
    if columns is None:
        return {}
    there = table.present(primary)
    values = np.where(there, np.asarray(primary.value(columns), dtype=float), math.nan)
    return dict(zip(table.ids, values.tolist(), strict=True))


def _records(run: StoredRun, samples: set[int]) -> tuple[dict[Key, Record], str]:
    """The records of every sample with the data that they are of; none, and why, where those cannot be had."""
    found: dict[Key, Record] = {}
    try:
        for sample in sorted(samples):
            found |= {(one.instance.id, sample): one for one in read_records(run, sample)}
    except StorageError as error:
        return {}, f"{error.what}; their texts are not shown."
    return found, ""


def _entry(response: ResponseRecord, score: ScoreRecord | None, value: float, primary: Metric) -> Entry:
    states = tuple(_states(response, score))
    why = response.failure or (score.failure if score is not None and score.status != "ok" else "")
    if score is not None and score.status == "ok" and not primary.computable(score.stats):
        why = f"its score lacks statistics of {primary.name}"
    return Entry(
        id=response.id,
        sample=response.sample,
        value=value,
        states=states,
        why=why,
        slices=score.slices if score is not None else {},
        stats=" · ".join(f"{name} {number:.6g}" for name, number in score.stats.items()) if score else "",
        took=_took(response),
    )


def _states(response: ResponseRecord, score: ScoreRecord | None) -> Iterator[str]:
    if response.status == "failed":
        yield "failed"
        return
    if score is None:
        yield "pending"
    elif score.status != "ok":
        yield "missing"
    if response.finish in _CUT:
        yield _CUT[response.finish]
    if says_nothing(response.text) and not response.data:
        yield "empty"


def _took(response: ResponseRecord) -> str:
    usage = response.usage
    if not (usage.prompt_tokens or usage.completion_tokens):
        return ""
    cost = "" if response.cost is None else f", ${response.cost:.4f}"
    tokens = f"{usage.prompt_tokens:,} prompt and {usage.completion_tokens:,} completion tokens"
    return f"{response.calls} calls, {tokens}, {response.seconds:.2f} s{cost}"
