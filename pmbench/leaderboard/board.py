"""The leaderboard of a task: collect its runs, group what may be compared, and work out each table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from pmbench.core.errors import StorageError
from pmbench.core.metric import Metric
from pmbench.core.task import Task
from pmbench.leaderboard.aggregate import by_strategy
from pmbench.leaderboard.collect import Entry, LeftOut, collect
from pmbench.leaderboard.comparable import Group, comparable, data_name, distinguishing
from pmbench.leaderboard.comparing import KeptColumns, compared, intervals, number, order
from pmbench.leaderboard.groups import group_heads, metric_heads, references
from pmbench.leaderboard.labelled import corrections
from pmbench.leaderboard.notes import notes
from pmbench.leaderboard.plain_words import foot, plain_words
from pmbench.leaderboard.table import Leaderboard, Measure, SliceMeasure, SystemRow, Table
from pmbench.leaderboard.tested import Comparison, Resampling
from pmbench.leaderboard.took import took
from pmbench.leaderboard.wording import failures, interval, rows_text, shown
from pmbench.running.agreement import of_values
from pmbench.running.columns import ScoreColumns
from pmbench.running.labels import Labels
from pmbench.running.results import MetricResult, Results
from pmbench.stats.bootstrap import Interval

DEFAULT = Resampling()


def leaderboard(
    task: Task | type[Task],
    runs: Path | None,
    *,
    records: Path | None = None,
    include_incomplete: bool = False,
    max_missing: float = 1.0,
    statistics: Resampling = DEFAULT,
    aggregate: Literal["strategy"] | None = None,
    exclude: Sequence[str] = (),
    labels: Labels | None = None,
) -> Leaderboard:
    """Set the runs of a task side by side. Arguments and errors as in `worked_out`."""
    return worked_out(
        task,
        runs,
        records=records,
        include_incomplete=include_incomplete,
        max_missing=max_missing,
        statistics=statistics,
        aggregate=aggregate,
        exclude=exclude,
        labels=labels,
    )[0]


def worked_out(
    task: Task | type[Task],
    runs: Path | None,
    *,
    records: Path | None = None,
    include_incomplete: bool = False,
    max_missing: float = 1.0,
    statistics: Resampling = DEFAULT,
    aggregate: Literal["strategy"] | None = None,
    exclude: Sequence[str] = (),
    missed: list[str] | None = None,
    labels: Labels | None = None,
) -> tuple[Leaderboard, list[list[KeptColumns]]]:
    """The leaderboard of a task, and for each table the scores of its rows, in their order.

    Args:
        task: whose runs; its metrics are the columns.
        runs: the runs folder; None: records alone.
        records: a folder with records of runs (`pmbench export`); None: runs alone.
        include_incomplete: also take incomplete runs; their rows say so, and stand below those of complete ones:
            what has answered little may not be what all others are compared with.
        max_missing: greatest share of responses without a score of a run that is taken: a system that answers
            only what it is good at must not come first.
        statistics: how intervals and tests are made.
        aggregate: `strategy`: each table also has its strategies over all models that they were used with.
        exclude: beginnings of digests of runs to leave out.
        missed: takes those beginnings that no run of this task has; None: they are an error.
        labels: people's numbers of some responses, from which systems have judge-corrected values too.

    Raises:
        StorageError: there is no run and no record of this task, or none that is to be excluded; or a record is of a
            newer version.
        PluginError: the task's metrics do not fit each other.
        DataError, ConfigError: labels that do not fit (`labelled.corrections`).
    """
    entries, left = collect(task.name, runs, include_incomplete=include_incomplete, records=records)
    if not entries and not left:
        remedy = (
            f"Run: pmbench run --task {task.name} --model …" if runs else "Make one: pmbench export RUN -o …"
        )
        raise StorageError(
            f"no {'run' if runs else 'record'} of {task.name} here",
            where=str(runs or records),
            remedy=remedy,
        )
    entries = _without(entries, exclude, left, missed)
    columns = {id(entry): KeptColumns(entry.scores) for entry in entries}
    agreeing = [
        entry
        for entry in entries
        if (include_incomplete or _whole(entry, max_missing, left))
        and _agrees(task.metrics, entry, columns[id(entry)], left)
    ]
    metrics = _in_use(task.metrics, agreeing)
    correction = corrections(metrics, agreeing, labels, runs, statistics.level, task.label_doubts)
    groups = group_heads(correction.metrics)
    tables, of_rows = [], []
    for group in comparable(agreeing, task.version, task.options):
        scored = [columns[id(entry)] for entry in group.entries]
        whole = [_enough(entry, max_missing) for entry in group.entries]
        table, places = _table(metrics, group, scored, statistics, task.cautions, whole)
        table = correction.applied(table)
        strategies, told = by_strategy(correction.metrics, table.rows) if aggregate else ([], [])
        ordered = [scored[place] for place in places]
        of_rows.append(ordered)
        tables.append(
            msgspec.structs.replace(
                table,
                references=references(groups, metrics, table.rows, ordered, strategies),
                strategies=strategies,
                strategy_notes=told,
            )
        )
    board = Leaderboard(
        task=task.name,
        title=task.title or task.name,
        version=task.version,
        metrics=correction.heads(metric_heads(correction.metrics)),
        tables=tables,
        left_out=sorted(left, key=lambda one: one.where),
        statistics=statistics,
        groups=groups,
    )
    return board, of_rows


def _in_use(metrics: Sequence[Metric], entries: Sequence[Entry]) -> list[Metric]:
    """The metrics without those optional ones of which no run has a value."""
    valued = {
        name for entry in entries for name, found in entry.results.metrics.items() if found.value is not None
    }
    return [metric for metric in metrics if not metric.optional or metric.name in valued]


def _without(
    entries: Sequence[Entry], exclude: Sequence[str], left: list[LeftOut], missed: list[str] | None
) -> list[Entry]:
    """The entries whose run is not excluded; those that are stand among what is left out."""
    kept = list(entries)
    for beginning in exclude:
        start = beginning.strip().lower()
        gone = [entry for entry in kept if start and entry.results.run.startswith(start)]
        known = gone or any(_digest_in(one.where).startswith(start) for one in left)
        if start and not known and missed is not None:
            missed.append(beginning)
        elif not start or not known:
            raise StorageError(
                f"no run of this task begins with {beginning[:80]!r}",
                where="--exclude",
                remedy="See: pmbench runs",
            )
        left += [LeftOut(entry.where, "excluded (--exclude)") for entry in gone]
        kept = [entry for entry in kept if entry not in gone]
    return kept


def _digest_in(where: str) -> str:
    """The beginning of a run's digest that stands in its folder's name."""
    return [*where.split("/"), "", "", ""][2].rpartition("-")[2]


def _enough(entry: Entry, max_missing: float) -> bool:
    """Whether a run may be the best of its table: complete, and with a score of enough of its responses."""
    counts = entry.results.counts
    return (
        entry.results.status != "incomplete"
        and counts.failed + counts.missing <= max_missing * counts.samples
    )


def _whole(entry: Entry, max_missing: float, left: list[LeftOut]) -> bool:
    """Whether enough of its responses have a score; if not, the run is left out with the reason."""
    counts = entry.results.counts
    lost = counts.failed + counts.missing
    if lost <= max_missing * counts.samples:
        return True
    reason = (
        f"{lost} of {counts.samples} responses have no score; --max-missing or --include-incomplete takes it"
    )
    left.append(LeftOut(entry.where, reason))
    return False


def _agrees(metrics: Sequence[Metric], entry: Entry, columns: ScoreColumns, left: list[LeftOut]) -> bool:
    """Whether the scores come to what `results.json` says; if not, the run is left out, not believed."""
    apart = of_values(metrics, entry.results, columns)
    if apart is not None:
        left.append(LeftOut(entry.where, str(apart), damaged=apart.damaged))
    return apart is None


def _table(
    metrics: Sequence[Metric],
    group: Group,
    columns: Sequence[ScoreColumns],
    statistics: Resampling,
    cautions: Callable[[Mapping[str, str]], list[str]],
    whole: Sequence[bool],
) -> tuple[Table, list[int]]:
    """A table of systems, and for each of its rows the place of the system in the group.

    Args:
        metrics, group, columns, statistics, cautions: of the table.
        whole: which systems of the group may be the best.
    """
    primary = metrics[0]
    found = intervals(metrics, columns, statistics)
    names = [f"{one.results.model}\n{one.results.strategy}\n{one.results.run}" for one in group.entries]
    places = order(primary, [one[primary.name].value for one in found], names, whole)
    entries = [group.entries[place] for place in places]
    tested = compared(
        primary, [columns[place] for place in places], statistics, [whole[one] for one in places]
    )
    settings = _settings(entries)
    rows = [
        msgspec.structs.replace(
            _row(index + 1, metrics, entries[index], found[place], tested.against[index], settings[index]),
            standing=tested.standings[index],
        )
        for index, place in enumerate(places)
    ]
    head = entries[0]
    clusters = len({cluster for one in columns for cluster in one.clusters})
    table = Table(
        differs=group.differs,
        version=head.record.asked.task_version,
        options=group.options,
        data=data_name(head),
        fingerprint=head.record.asked.fingerprint,
        sensitivity=head.record.data.sensitivity,
        kind=head.record.data.kind,
        dataset=head.results.counts.dataset,
        instances=head.results.counts.instances,
        clusters=clusters,
        units=0 if primary.scheme == "cluster" else len({unit for one in columns for unit in one.units}),
        rows=rows,
        notes=[],
        pairs=tested.pairs,
        correction=tested.correction,
        common=tested.common,
        detectable=tested.detectable,
    )
    below = [row.number for row, place in zip(rows, places, strict=True) if not whole[place]]
    told = [*cautions(head.results.judges), *notes(table, metrics, alpha=1 - statistics.level)]
    told += [*_on_parted(below, len(rows)), *tested.notes]
    words = plain_words(table, primary, alpha=1 - statistics.level)
    return msgspec.structs.replace(table, notes=told, words=words, foot=foot(table, head)), places


def _on_parted(below: Sequence[int], rows: int) -> list[str]:
    """What is special about systems that have scored too little."""
    if not below or rows == 1:
        return []
    if len(below) == rows:
        return [
            "No system here has scored enough: which is first, and what it is compared with, rests on little."
        ]
    has, stands = ("has", "it stands") if len(below) == 1 else ("have", "they stand")
    told = (
        f"{rows_text(below)} {has} scored too little to be the best: {stands} below the others without a rank, and"
        " differences are from the best of the others."
    )
    return [told]


def _row(
    place: int,
    metrics: Sequence[Metric],
    entry: Entry,
    found: dict[str, Interval],
    against: Comparison | None,
    settings: str,
) -> SystemRow:
    results = entry.results
    return SystemRow(
        number=place,
        model=results.model,
        strategy=results.strategy,
        settings=settings,
        run=results.run,
        scoring=results.scoring,
        where=entry.where,
        status=results.status,
        reason=results.reason,
        measures={
            metric.name: _measure(metric, found[metric.name], results.metrics.get(metric.name))
            for metric in metrics
        },
        against=against,
        counts=results.counts,
        failures=failures(results.counts),
        judges=results.judges,
        took=took(results),
        made_with=str(entry.record.environment.get("packages", {}).get("pmbench", "")),
        slices=_slices(metrics[0], results),
    )


def _slices(primary: Metric, results: Results) -> dict[str, dict[str, SliceMeasure]]:
    """The primary metric in each subgroup that the results have."""
    found: dict[str, dict[str, SliceMeasure]] = {}
    for name, labels in results.slices.items():
        for label, one in labels.items():
            measure = one.metrics.get(primary.name, MetricResult(None))
            low, high = measure.low, measure.high
            found.setdefault(name, {})[label] = SliceMeasure(
                one.instances,
                measure.value,
                low,
                high,
                shown(primary, measure.value),
                "" if measure.value is None else interval(primary, low, high),
            )
    return found


def _measure(metric: Metric, found: Interval, said: MetricResult | None) -> Measure:
    value, low, high = number(found.value), number(found.low), number(found.high)
    return Measure(
        value=value,
        low=low,
        high=high,
        worst=said.worst if said else None,
        best=said.best if said else None,
        number=shown(metric, value),
        interval="" if value is None else interval(metric, low, high),
        note=found.note,
    )


def _settings(entries: Sequence[Entry]) -> list[str]:
    """For rows of one model and strategy, what distinguishes them, with the beginning of the run's digest."""
    alike: dict[tuple[str, str], list[int]] = {}
    for index, entry in enumerate(entries):
        alike.setdefault((entry.results.model, entry.results.strategy), []).append(index)
    words = [""] * len(entries)
    for members in alike.values():
        if len(members) < 2:
            continue
        asked = [msgspec.to_builtins(entries[index].record.asked) for index in members]
        for index, found in zip(members, distinguishing(asked), strict=True):
            told = [f"{name}={value}" for name, value in found.items()]
            words[index] = ", ".join([*told, f"run {entries[index].results.run[:8]}"])
    return words
