"""Judge-corrected values in a leaderboard: people's labels matched with its systems, columns beside the judge's."""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from pmbench.core.errors import ConfigError, DataError
from pmbench.core.metric import Metric
from pmbench.leaderboard.collect import Entry
from pmbench.leaderboard.labelled_differences import by_judge, difference_notes
from pmbench.leaderboard.table import ENDING, Measure, MetricHead, SystemRow, Table
from pmbench.leaderboard.wording import DASH, counted, interval, listed, rows_text, shown
from pmbench.running.label_differences import Judged
from pmbench.running.label_form import check_judged
from pmbench.running.label_slips import Doubts, slips
from pmbench.running.label_values import Corrected, all_corrected, check_labels, covered, fitting_marks, told
from pmbench.running.labels import Label, Labels
from pmbench.running.responding import Key

_RUN_DEPTH = 3
"""Folders from the runs folder to a run: task, model, strategy and digest."""

_SHOWN = 3

_UNCORRECTED = Measure(None, None, None, None, None, DASH, "")


@dataclass(frozen=True)
class Correction:
    """What labels make of the systems of a leaderboard.

    Attributes:
        metrics: the task's, each that is corrected with its judge-corrected one after it.
        sources: by name of a judge-corrected metric, the name of the one it corrects.
        of: by run and scoring, judge-corrected values by name of the metric.
        unchecked: runs and scorings whose answers could not be told to be those that were labelled.
        remarks: of how the files were filled in and used.
        judged: by run and scoring, the scores and labels that values were made of; usable: the metrics that labels
            correct.
        level: of intervals.
    """

    metrics: list[Metric]
    sources: dict[str, str]
    of: dict[tuple[str, str], dict[str, Corrected]]
    unchecked: set[tuple[str, str]]
    remarks: list[str]
    judged: Mapping[tuple[str, str], Judged] = field(default_factory=dict)
    usable: Sequence[Metric] = ()
    level: float = 0.95

    def heads(self, heads: Sequence[MetricHead]) -> list[MetricHead]:
        """Heads of `metrics` that say which of them correct another."""
        return [msgspec.structs.replace(one, corrects=self.sources.get(one.name, "")) for one in heads]

    def applied(self, table: Table) -> Table:
        """A table whose systems have judge-corrected values, with notes on them."""
        if not self.sources:
            return table
        rows = [self._row(row) for row in table.rows]
        labelled = any(row.corrected for row in rows)
        return msgspec.structs.replace(
            table,
            rows=rows,
            notes=[*table.notes, *self._notes(rows)],
            words=by_judge(table.words) if labelled and table.pairs else table.words,
        )

    def _row(self, row: SystemRow) -> SystemRow:
        found = self.of.get((row.run, row.scoring), {})
        by_name = {metric.name: metric for metric in self.metrics}
        measures = {
            name: _measure(by_name[source], found.get(source)) for name, source in self.sources.items()
        }
        return msgspec.structs.replace(row, measures=row.measures | measures, corrected=found)

    def _notes(self, rows: Sequence[SystemRow]) -> Iterator[str]:
        labelled = [row for row in rows if row.corrected]
        if not labelled:
            return
        systems = "; ".join(f"row {row.number}, {self._rests_on(row)}" for row in labelled)
        yield f"Judge-corrected values rest on people's labels: {systems}."
        yield (
            "λ says how far the judge is relied on beside the labels, from 0 to 1. Letters, ranks, differences and p"
            " are from the judge's scores, and so is the sentence on which system is better. Judge-corrected values"
            " hold where the labelled responses were chosen at random; that they were is the word of those who"
            " labelled them."
        )
        without = [row.number for row in rows if not row.corrected]
        if without:
            one = len(without) == 1
            yield f"{rows_text(without)} {'has' if one else 'have'} no labels, and a dash in place of such values."
        yield from difference_notes(rows, self.usable, self.judged, self.level)
        yield from self._special(labelled)
        unchecked = [row.number for row in labelled if (row.run, row.scoring) in self.unchecked]
        if unchecked:
            one = len(unchecked) == 1
            yield (
                f"{rows_text(unchecked)} {'is a record' if one else 'are records'}, without the answers: whether they"
                " are those that were labelled could not be checked."
            )
        yield from (f"{remark}." for remark in self.remarks)

    def _rests_on(self, row: SystemRow) -> str:
        """`50 of 300 responses (λ 0.71)`; of several metrics λ of the first, and from where to where all are."""
        alike: dict[tuple[int, int], list[float]] = {}
        for one in row.corrected.values():
            found = alike.setdefault((one.labelled, one.responses), [])
            if one.weight is not None:
                found.append(one.weight)
        parts = []
        for (labelled, responses), weights in alike.items():
            said = f" (λ {weights[0]:.2f})" if weights else ""
            if len(weights) > 1:
                ends = f"{min(weights):.2f} to {max(weights):.2f}"
                every = "both" if len(weights) == 2 else f"all {len(weights)}"
                said = f" (λ {weights[0]:.2f}; {ends} for {every} metrics)"
            parts.append(f"{labelled} of {counted(responses, 'response')}{said}")
        return " and ".join(parts)

    def _special(self, rows: Sequence[SystemRow]) -> Iterator[str]:
        """What is special about a value, once for all rows and metrics of which it is true."""
        titles = {metric.name: metric.title for metric in self.metrics}
        alike: dict[tuple[str, int], list[str]] = {}
        for row in rows:
            for name, one in row.corrected.items():
                if one.note:
                    alike.setdefault((one.note, row.number), []).append(titles[name])
        places: dict[tuple[str, tuple[str, ...]], list[int]] = {}
        for (note, number), named in alike.items():
            places.setdefault((note, tuple(named)), []).append(number)
        for (note, named_), numbers in places.items():
            more = len(named_) - _SHOWN
            of = listed(named_) if more < 2 else f"{', '.join(named_[:_SHOWN])} and {more} other metrics"
            yield f"{rows_text(numbers)}, {of}, judge-corrected: {note}."


def corrections(
    metrics: Sequence[Metric],
    entries: Sequence[Entry],
    labels: Labels | None,
    runs: Path | None,
    level: float,
    doubts: Doubts,
) -> Correction:
    """Match labels with the systems of a leaderboard.

    Args:
        metrics: of the task that systems here have.
        entries: the systems.
        labels: None: there are none.
        runs: the runs folder.
        level: of intervals.
        doubts: the task's own, of numbers that look like slips.

    Raises:
        DataError: no labelled run is here, a record's ids are hashed, or labels do not fit a run.
        ConfigError: a labelled run has no judge, or the task has a metric called as a judge-corrected one would be.
    """
    if labels is None:
        return Correction(list(metrics), {}, {}, set(), [])
    usable = covered(metrics, labels)
    of: dict[tuple[str, str], dict[str, Corrected]] = {}
    unchecked: set[tuple[str, str]] = set()
    used: list[Label] = []
    judged: dict[tuple[str, str], Judged] = {}
    odd: dict[str, None] = {}
    scored: dict[str, set[Key]] = {}  # by any judges
    for entry in entries:
        scored.setdefault(entry.results.run, set()).update((one.id, one.sample) for one in entry.scores)
    for entry in entries:
        own = labels.of(entry.results.run)
        if not own:
            continue
        key = entry.results.run, entry.results.scoring
        if _checked(metrics, own, entry, runs, scored[entry.results.run]):
            unchecked.add(key)
        of[key] = all_corrected(usable, entry.scores, own, level)
        judged[key] = entry.scores, own
        odd |= dict.fromkeys(slips(own, entry.scores, doubts, metrics))
        used += own
    known = {label.run for label in used}
    others = [run for run in labels.runs if run not in known]
    if not of:
        raise DataError(
            "the run that it has labels of is not in this leaderboard"
            if len(labels.runs) == 1
            else f"none of the {len(labels.runs)} runs that it has labels of is in this leaderboard",
            where=", ".join(labels.files),
            remedy="See the runs with pmbench runs, and what is left out with pmbench leaderboard without --labels",
        )
    remarks = [*odd, *told(labels, used)]
    if others:
        remarks.append(
            f"Labels of {counted(len(others), 'other run')} that are in no table here were not used"
        )
    return Correction(*_beside(metrics, of), of, unchecked, remarks, judged, usable, level)


def _checked(
    metrics: Sequence[Metric], own: Sequence[Label], entry: Entry, runs: Path | None, scored: Collection[Key]
) -> bool:
    """Check that labels fit a system; whether its answers could not be told to be those that were labelled."""
    check_judged(entry.results.judges, entry.results.run)
    if entry.ids == "hashed":
        raise DataError(
            f"labels name ids as they are in the data, and the record in {entry.where} has them hashed",
            where=own[0].row.where("id"),
            remedy="Use the run itself (--runs), or a record that was exported without --hash-ids",
        )
    if entry.ids == "plain" or runs is None:
        check_labels(metrics, own, entry.scores, None, scored)
        return True
    marks = fitting_marks(runs.joinpath(*Path(entry.where).parts[:_RUN_DEPTH]), own)
    check_labels(metrics, own, entry.scores, marks, scored)
    return False


def _beside(
    metrics: Sequence[Metric], of: Mapping[tuple[str, str], Mapping[str, Corrected]]
) -> tuple[list[Metric], dict[str, str]]:
    """The metrics with the judge-corrected ones after them, and the name of what each of these corrects."""
    referred = {metric.reference for metric in metrics if metric.group and metric.reference}
    there = {name for found in of.values() for name in found} - referred
    taken = {metric.name for metric in metrics}
    beside: list[Metric] = []
    sources: dict[str, str] = {}
    for place, metric in enumerate(metrics):
        beside.append(metric)
        if metric.name not in there:
            continue
        name = metric.name + ENDING
        if name in taken:
            raise ConfigError(
                f"the task has a metric called {name}, as the judge-corrected column would be",
                where="--labels",
                remedy="Rename the task's metric, or leave the labels out",
            )
        own = copy.copy(metric)
        own.name, own.title, own.reference, own.optional = name, f"{metric.title}, judge-corrected", "", True
        own.headline = metric.headline or place == 0
        beside.append(own)
        sources[name] = metric.name
    return beside, sources


def _measure(metric: Metric, found: Corrected | None) -> Measure:
    if found is None:
        return _UNCORRECTED
    return Measure(
        value=found.value,
        low=found.low,
        high=found.high,
        worst=None,
        best=None,
        number=shown(metric, found.value),
        interval="" if found.value is None else interval(metric, found.low, found.high),
        note=found.note,
    )
