"""A leaderboard as plain data, for whatever renders it."""

from __future__ import annotations

import msgspec

from pmbench.leaderboard.collect import LeftOut
from pmbench.leaderboard.tested import Comparison, Correction, PairTested, Resampling, Standing
from pmbench.running.label_values import Corrected
from pmbench.running.results import Counts

ENDING = "_corrected"
"""Of the name of a judge-corrected metric, after that of the metric that it corrects."""


class MetricHead(msgspec.Struct, frozen=True):
    """A metric as a column: its name, what stands over it, its direction, formula and unit.

    Attributes:
        group: title of the group whose table it stands in; empty: it is one of the main metrics.
        headline: whether it stands beside the primary metric in the main table.
        referred: whether it is another metric's reference, and so a row and not a column.
        scheme: how it is resampled.
        optional: whether a table in which no system has it leaves it out.
        corrects: of a judge-corrected metric, the name of the one whose values by the judge stand beside it.
    """

    name: str
    title: str
    higher_is_better: bool | None
    formula: str
    unit: str = ""
    group: str = ""
    headline: bool = False
    referred: bool = False
    scheme: str = "cluster"
    optional: bool = False
    corrects: str = ""

    @property
    def heading(self) -> str:
        """The title, with the unit where the cells do not carry it: `Words to delete (words)`."""
        return f"{self.title} ({self.unit})" if self.unit and self.unit != "%" else self.title

    @property
    def full_heading(self) -> str:
        """The heading outside its group's table: `Recall by theme: Empathy`."""
        return f"{self.group}: {self.heading}" if self.group else self.heading

    @property
    def arrow(self) -> str:
        """`↑` where more is better, `↓` where less is, empty where neither."""
        return {True: "↑", False: "↓", None: ""}[self.higher_is_better]


class GroupHead(msgspec.Struct, frozen=True):
    """Metrics that stand in a table of their own.

    Attributes:
        title, about: of the table.
        metrics: names of its columns, in order.
        references: by column, the name of the metric that it should come near to, if it has one.
        reference: what the row of those is called; empty where no column has one.
    """

    title: str
    about: str
    metrics: list[str]
    references: dict[str, str]
    reference: str


class Measure(msgspec.Struct, frozen=True):
    """A metric of one system.

    Attributes:
        value, low, high: with the ends of its interval; None where undefined.
        worst, best: the value if all that is missing had been worst or best; None where nothing is missing.
        number: the value as shown, `0.512`; the unit stands in the heading.
        interval: its interval as shown, `[0.480, 0.548]`, or empty.
        note: why there is no interval, or what is special about it; empty otherwise.
    """

    value: float | None
    low: float | None
    high: float | None
    worst: float | None
    best: float | None
    number: str
    interval: str
    note: str = ""

    @property
    def text(self) -> str:
        """Value and interval as shown: `0.512 [0.480, 0.548]`."""
        return f"{self.number} {self.interval}".rstrip()


class Reference(msgspec.Struct, frozen=True):
    """What the systems should come near to in one group's table: a number of the data, for each column.

    Attributes:
        measures: by the name of the column's metric.
        row, instances: the system on whose scored instances they were computed, and how many these are.
        nearest: by column, the numbers of the rows that are nearest; several where they tie, none where all
            do or there are not two to choose from.
        nearest_strategies: the same of the means of `Table.strategies`, by name of the strategy.
        notes: where the systems do not agree on the reference.
    """

    measures: dict[str, Measure]
    row: int
    instances: int
    nearest: dict[str, list[int]]
    nearest_strategies: dict[str, list[str]]
    notes: list[str]


class Spread(msgspec.Struct, frozen=True):
    """A metric of several models: no interval, but how much the models differ.

    Attributes:
        mean: over models; None where none has the metric.
        deviation: sample standard deviation (n - 1); None where fewer than two models have the metric.
        models: how many have it.
        text: as shown, `0.512 ± 0.031`.
    """

    mean: float | None
    deviation: float | None
    models: int
    text: str


class StrategyRow(msgspec.Struct, frozen=True):
    """A strategy over all models that were used by it.

    Attributes:
        strategy: its name.
        models: how many.
        rows: numbers of the systems.
        spreads: by metric's name.
    """

    strategy: str
    models: int
    rows: list[int]
    spreads: dict[str, Spread]


class Sum(msgspec.Struct, frozen=True):
    """A sum of money.

    Attributes:
        dollars: US dollars; None where no price is known.
        whole: False where the price of some calls is not known: it was more.
        text: as shown, `1.25` or `≥ 1.25`.
    """

    dollars: float | None
    whole: bool
    text: str


class Took(msgspec.Struct, frozen=True):
    """What the answers of a system cost and how long one took.

    Attributes:
        cost, judges: of the model and of the judges for 1,000 instances.
        median, p95: seconds of one response, median and 95th percentile; None where none was measured.
        median_text, p95_text: the same as shown.
    """

    cost: Sum
    judges: Sum
    median: float | None
    p95: float | None
    median_text: str
    p95_text: str


class SliceMeasure(msgspec.Struct, frozen=True):
    """The primary metric of one system in one subgroup.

    Attributes:
        instances: in the subgroup; value, low, high, number, interval: as in `Measure`.
    """

    instances: int
    value: float | None
    low: float | None
    high: float | None
    number: str
    interval: str


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
        took: cost and time.
        made_with: the version of pmbench that carried out the run; empty where it is not known.
        standing: its letters and the places that it may have.
        slices: by slice and label, the primary metric in that subgroup as the run's results have it.
        corrected: by metric's name, its judge-corrected value; empty where people have labelled nothing of it.
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
    took: Took
    made_with: str = ""
    standing: Standing = Standing()
    slices: dict[str, dict[str, SliceMeasure]] = {}
    corrected: dict[str, Corrected] = {}


class Table(msgspec.Struct, frozen=True):
    """Systems that may be compared, the best first.

    Attributes:
        differs: in words, what distinguishes this table from the others of the leaderboard.
        version: of the task; options: of the task.
        data: its name, without folders; fingerprint: its digest; sensitivity: of the data.
        kind: of their source: `demo`, `file`, `folder`, `datasets` or `hub`.
        dataset, instances, clusters: how many the data have, how many were asked, in how many clusters.
        units: how many messages the pairs or inboxes are made of, where those are what is resampled; else 0.
        rows: the systems.
        notes: what a reader has to know, one sentence or two each.
        references: by title of the group, where it has reference values.
        strategies: the systems aggregated by strategy, the best first; empty where this was not asked for.
        strategy_notes: what a reader of those has to know.
        pairs: every two systems compared.
        words: what the comparisons come to, in plain words; a sentence or two.
        foot: by what the table was made and of what, in one line.
        correction: by which p-values of the pairs were adjusted; not always what was asked for, see `notes`.
        common: instances that all systems with a value have scored, on which the chances of being best are.
        detectable: the smallest difference of the primary metric between the first two systems that a test of these
            two alone finds in 8 of 10 such data sets (`stats.power`); None where it is not known.
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
    units: int
    rows: list[SystemRow]
    notes: list[str]
    references: dict[str, Reference] = {}
    strategies: list[StrategyRow] = []
    strategy_notes: list[str] = []
    pairs: list[PairTested] = []
    words: list[str] = []
    foot: str = ""
    correction: Correction = "holm"
    common: int = 0
    detectable: float | None = None


class Leaderboard(msgspec.Struct, frozen=True):
    """Runs of one task side by side.

    Attributes:
        task, title, version: of the task.
        metrics: the first is the primary metric.
        tables: one for each group of runs that may be compared; the largest first.
        left_out: folders that are in none, with the reason.
        statistics: how intervals and tests were made.
        groups: metrics that have a table of their own.
    """

    task: str
    title: str
    version: int
    metrics: list[MetricHead]
    tables: list[Table]
    left_out: list[LeftOut]
    statistics: Resampling
    groups: list[GroupHead] = []

    def of(self, table: Table) -> Leaderboard:
        """The same without those optional metrics that no system of a table has."""
        valued = {
            head.name
            for head in self.metrics
            if not head.optional or any(row.measures[head.name].value is not None for row in table.rows)
        }
        groups = [
            msgspec.structs.replace(group, metrics=[name for name in group.metrics if name in valued])
            for group in self.groups
        ]
        return msgspec.structs.replace(
            self,
            metrics=[head for head in self.metrics if head.name in valued],
            groups=[group for group in groups if group.metrics],
        )

    @property
    def leading(self) -> list[MetricHead]:
        """The columns of the main table: the primary metric and the headline metrics."""
        return [self.metrics[0], *(one for one in self.metrics[1:] if one.headline and not one.referred)]

    @property
    def beside(self) -> tuple[list[MetricHead], list[MetricHead]]:
        """The leading columns: the primary metric with its judge-corrected one, and those that follow the tests."""
        own = [one for one in self.leading if self.metrics[0].name in (one.name, one.corrects)]
        return own, [one for one in self.leading if one not in own]

    @property
    def others(self) -> list[MetricHead]:
        """The main metrics that are not in the main table."""
        there = {one.name for one in self.leading}
        return [one for one in self.metrics if not (one.group or one.referred or one.name in there)]

    def columns(self, group: GroupHead) -> list[MetricHead]:
        """The columns of a group's table."""
        heads = {one.name: one for one in self.metrics}
        return [heads[name] for name in group.metrics]
