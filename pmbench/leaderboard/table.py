"""A leaderboard as plain data, for whatever renders it."""

from __future__ import annotations

import msgspec

from pmbench.core.metric import Metric
from pmbench.leaderboard.collect import LeftOut
from pmbench.running.records import Counts

BEST = "–"
"""Stands where the best system would be compared with itself, and where a number is undefined."""


class Resampling(msgspec.Struct, frozen=True):
    """How intervals and tests are made.

    Attributes:
        resamples: of the bootstrap; level: of its intervals.
        permutations: random patterns of a paired test with many clusters.
        seed: of both.
    """

    resamples: int = 10_000
    permutations: int = 10_000
    level: float = 0.95
    seed: int = 0


class MetricHead(msgspec.Struct, frozen=True):
    """A metric as a column: its name, what stands over it, its direction, formula and unit."""

    name: str
    title: str
    higher_is_better: bool | None
    formula: str
    unit: str = ""

    @property
    def heading(self) -> str:
        """The title, with the unit where the cells do not carry it: `Words to delete (words)`."""
        return f"{self.title} ({self.unit})" if self.unit and self.unit != "%" else self.title

    @property
    def arrow(self) -> str:
        """`↑` where more is better, `↓` where less is, empty where neither."""
        return {True: "↑", False: "↓", None: ""}[self.higher_is_better]


class Measure(msgspec.Struct, frozen=True):
    """A metric of one system.

    Attributes:
        value, low, high: with the ends of its interval; None where undefined.
        worst, best: the value if all that is missing had been worst or best; None where nothing is missing.
        text: value and interval as shown, `0.512 [0.480, 0.548]`; the unit stands in the heading.
    """

    value: float | None
    low: float | None
    high: float | None
    worst: float | None
    best: float | None
    text: str


class Comparison(msgspec.Struct, frozen=True):
    """A system against the best of its table, on the instances that both have scored.

    Attributes:
        difference, low, high: this system minus the best, with its paired interval; None where undefined.
        p: of the paired randomisation test; p_adjusted: after Holm over all pairs of the table.
        exact: whether all patterns were tried; permutations: how many were.
        instances, clusters: that both have scored; differing: clusters in which the two differ.
        only_best, only_this: instances that one of the two has scored and the other has not.
        text, p_text: difference with interval, and the adjusted p, as shown.
    """

    difference: float | None
    low: float | None
    high: float | None
    p: float | None
    p_adjusted: float | None
    exact: bool
    permutations: int
    instances: int
    clusters: int
    differing: int
    only_best: int
    only_this: int
    text: str
    p_text: str


class SystemRow(msgspec.Struct, frozen=True):
    """One system: a model used by a strategy.

    Attributes:
        number: of the row, from 1.
        model: the name that the user gave; strategy: how it was used.
        settings: what distinguishes it from another row of the same model and strategy, if there is one.
        run, scoring: digests; where: the folder below the runs folder.
        status, reason: of the run.
        measures: by metric's name.
        against: the comparison with the best; None for the best itself.
        counts: what became of every instance; failures: the same in words.
        judges: by role.
    """

    number: int
    model: str
    strategy: str
    settings: str
    run: str
    scoring: str
    where: str
    status: str
    reason: str
    measures: dict[str, Measure]
    against: Comparison | None
    counts: Counts
    failures: str
    judges: dict[str, str]


class Table(msgspec.Struct, frozen=True):
    """Systems that may be compared, the best first.

    Attributes:
        differs: in words, what distinguishes this table from the others of the leaderboard.
        version: of the task; options: of the task.
        data: its name, without folders; fingerprint: its digest; sensitivity: of the data.
        kind: of their source: `demo`, `file`, `folder`, `datasets` or `hub`.
        dataset, instances, clusters: how many the data have, how many were asked, in how many clusters.
        rows: the systems.
        notes: what a reader has to know, one sentence or two each.
    """

    differs: list[str]
    version: int
    options: dict[str, object]
    data: str
    fingerprint: str
    sensitivity: str
    kind: str
    dataset: int
    instances: int
    clusters: int
    rows: list[SystemRow]
    notes: list[str]


class Leaderboard(msgspec.Struct, frozen=True):
    """Runs of one task side by side.

    Attributes:
        task, title, version: of the task.
        metrics: the first is the primary metric.
        tables: one for each group of runs that may be compared; the largest first.
        left_out: folders that are in none, with the reason.
        statistics: how intervals and tests were made.
    """

    task: str
    title: str
    version: int
    metrics: list[MetricHead]
    tables: list[Table]
    left_out: list[LeftOut]
    statistics: Resampling


def bare(metric: Metric, value: float, *, sign: bool = False) -> str:
    """A number with the metric's decimals, without its unit unless that is per cent; no negative zero."""
    scaled, ending = (100 * value, "%") if metric.unit == "%" else (value, "")
    text = f"{scaled:+.{metric.digits}f}" if sign else f"{scaled:.{metric.digits}f}"
    if not text.strip("+-0."):
        text = text.lstrip("+-")
    return text + ending


def with_interval(metric: Metric, value: float | None, low: float | None, high: float | None) -> str:
    """`0.512 [0.480, 0.548]`; the value alone where it has no interval."""
    if value is None:
        return BEST
    return bare(metric, value) + interval(metric, low, high)


def interval(metric: Metric, low: float | None, high: float | None) -> str:
    """` [0.480, 0.548]`, or nothing where there is none."""
    return "" if low is None or high is None else f" [{bare(metric, low)}, {bare(metric, high)}]"


def p_value(p: float | None) -> str:
    """Three decimals, `<0.001` below."""
    if p is None:
        return BEST
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def failures(counts: Counts) -> str:
    """What went wrong in words: `2 failed, 1 missing (timeout 2, unparsed 1); 3 truncated`, or `0`."""
    lost = [f"{number} {name}" for name, number in _lost(counts) if number]
    kinds = ", ".join(f"{kind} {number}" for kind, number in counts.failures.items())
    odd = [(counts.refused, "refused"), (counts.truncated, "truncated"), (counts.empty, "empty")]
    parts = [", ".join(lost) + (f" ({kinds})" if kinds else "")] if lost else []
    parts += [", ".join(f"{number} {name}" for number, name in odd if number)]
    return "; ".join(part for part in parts if part) or "0"


def _lost(counts: Counts) -> list[tuple[str, int]]:
    return [("failed", counts.failed), ("missing", counts.missing), ("pending", counts.pending)]
