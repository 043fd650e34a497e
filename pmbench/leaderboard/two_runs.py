"""Two runs of one task, instance by instance: how they differ, and where each of them is right."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from pmbench.core.digest import SHORT
from pmbench.core.errors import ConfigError, StorageError
from pmbench.core.metric import Metric
from pmbench.core.names import name_shown, names_listed
from pmbench.leaderboard import who_wins
from pmbench.leaderboard.at_margin import against_margin
from pmbench.leaderboard.comparable import distinguishing
from pmbench.leaderboard.tested import Resampling
from pmbench.leaderboard.who_wins import MOST_LABELS, Apart, Discordant, Effect, Overlap, Part, Wins
from pmbench.running.agreement import check_scores
from pmbench.running.columns import ScoreColumns
from pmbench.running.folder import read_lines
from pmbench.running.judging import SCORES
from pmbench.running.reading import StoredRun, read_run
from pmbench.running.records import ScoreRecord
from pmbench.stats.equivalence import Equivalence
from pmbench.stats.methods import METHODS, difference_method
from pmbench.stats.of_lists import unlike
from pmbench.stats.randomisation import PairedTest
from pmbench.stats.schemes import comparisons


class Side(msgspec.Struct, frozen=True):
    """One of the two runs.

    Attributes:
        name: model and strategy; run: its digest; scored: instances with a score.
    """

    name: str
    run: str
    scored: int


class Compared(msgspec.Struct, frozen=True):
    """A metric of both runs, on the instances that both have.

    Attributes:
        name, title: of the metric.
        first, second: its values; test: first minus second.
    """

    name: str
    title: str
    first: float
    second: float
    test: PairedTest


class TwoRuns(msgspec.Struct, frozen=True):
    """A comparison.

    Attributes:
        task: its name; method, intervals: how the test and the intervals of differences are made, in words.
        part: the subgroup that was kept to, as `sex=female`; empty: all instances.
        demo: whether the data are made up.
        units: messages that pairs or lists are made of; 0 where instances are what is resampled.
        cautions: what a reader has to know of the judges.
        first, second: the runs.
        common: instances that both have scored; only_first, only_second: that one has scored and the other not.
        settings: in which the runs differ, in words; they stand above the numbers.
        metrics: the primary one first.
        overlap: None where the primary metric of an instance is not 0, ½ or 1.
        apart: the instances that differ most; none where an instance has no value of its own.
        at_margin: the primary metric's difference against a margin; None where none was asked about.
        wins: on how many instances which run is better; None as for `apart`.
        effect: the primary metric's difference, standardised; None where it has none.
        discordant: McNemar's exact test; None where instances are not right or wrong, or depend on each other.
        parts: by slice the subgroups, with the primary metric of both.
    """

    task: str
    method: str
    first: Side
    second: Side
    common: int
    only_first: int
    only_second: int
    settings: list[str]
    metrics: list[Compared]
    overlap: Overlap | None
    apart: list[Apart]
    at_margin: Equivalence | None = None
    wins: Wins | None = None
    effect: Effect | None = None
    discordant: Discordant | None = None
    parts: dict[str, list[Part]] = {}
    intervals: str = ""
    part: str = ""
    demo: bool = False
    units: int = 0
    cautions: list[str] = []


def compare_runs(
    runs: Path,
    first: str,
    second: str,
    *,
    on_common: bool = False,
    slice_of: tuple[str, str] | None = None,
    slice_by: str | None = None,
    statistics: Resampling | None = None,
    margin: float | None = None,
) -> TwoRuns:
    """Compare two runs.

    Args:
        runs: the runs folder; first, second: a run's folder, or a unique beginning of its digest.
        on_common: whether to go on where they have scored different instances.
        slice_of: name and label of a subgroup to keep to.
        slice_by: a slice whose labels are set side by side; None: all that have a few.
        statistics: of the test.
        margin: the smallest difference of the primary metric that matters; None: this is not asked.

    Raises:
        StorageError: there is no such run, or it is not scored.
        ConfigError: they cannot be compared; the message says exactly what differs.
    """
    used = statistics or Resampling()
    sides = [scored_run(runs, name) for name in (first, second)]
    if sides[0][0].record.digest == sides[1][0].record.digest and sides[0][0].scores == sides[1][0].scores:
        raise ConfigError("both are the same run", where=str(second), remedy="Name another run")
    task = sides[0][0].task()
    check_alike(sides[0][0], sides[1][0])
    kept = [_of_slice(scores, slice_of) for _, scores in sides]
    columns = [ScoreColumns(scores) for scores in kept]
    primary = task.metrics[0]
    labels = _labels(kept[0], slice_by)
    ids = [_having(one, primary) for one in columns]
    common = sorted(ids[0] & ids[1])
    _check_instances(ids[0], ids[1], common, on_common)
    settings = _settings(sides[0][0], sides[1][0])
    _check_lists(primary, columns, common, settings)
    each = [who_wins.each(primary, one, common) for one in columns]
    metrics = [
        found
        for metric in task.metrics
        if metric.group is None and (found := _compared(metric, columns, common, used)) is not None
    ]
    return TwoRuns(
        task=task.name,
        method=METHODS[primary.scheme][1],
        first=_side(sides[0][0], ids[0]),
        second=_side(sides[1][0], ids[1]),
        common=len(common),
        only_first=len(ids[0] - ids[1]),
        only_second=len(ids[1] - ids[0]),
        settings=settings,
        metrics=metrics,
        overlap=who_wins.overlap(primary, *each),
        apart=who_wins.most_apart(common, *each),
        wins=who_wins.wins(primary, *each),
        effect=who_wins.effect(primary, columns, common, used.level),
        discordant=who_wins.discordant(primary, each[0], each[1], _clusters(columns[0], common)),
        parts=who_wins.by_label(primary, columns, labels, common, used, alone=slice_by is not None),
        intervals=difference_method(primary.scheme, metrics[0].test.clusters),
        part="" if slice_of is None else "=".join(slice_of),
        units=0 if primary.scheme == "cluster" else len(columns[0].units | columns[1].units),
        demo=sides[0][0].record.data.kind == "demo",
        cautions=task.cautions(sides[0][0].results.judges if sides[0][0].results else {}),
        at_margin=None
        if margin is None
        else _at_margin(primary, columns, common, metrics[0].test, margin, used.level),
    )


def scored_run(runs: Path, name: str) -> tuple[StoredRun, list[ScoreRecord]]:
    """A run with the scores that its results are of.

    Args:
        runs: the runs folder; name: a run's folder, or a unique beginning of its digest.

    Raises:
        StorageError: there is no such run, it is not scored, or its scores are not those of its results.
    """
    run = read_run(runs, name)
    if run.scores is None or run.results is None:
        raise StorageError(
            "it is not scored yet", where=str(run.folder.path), remedy="Give the run's command again"
        )
    lines = read_lines(run.scores / SCORES, ScoreRecord)
    latest = {(line.id, line.sample): line for line in lines if line.round == run.record.round}
    scores = [line for line in latest.values() if line.status == "ok"]
    check_scores(run, scores)
    return run, scores


def check_alike(first: StoredRun, second: StoredRun) -> None:
    """Whether a difference of the two would be one of the systems.

    Raises:
        ConfigError: task, its version, the data or the judges differ.
    """
    facets: dict[str, Any] = {
        "task": lambda run: run.record.asked.task,
        "version of the task": lambda run: run.record.asked.task_version,
        "fingerprint of the data": lambda run: run.record.asked.fingerprint[:SHORT],
        "judges": lambda run: (
            ", ".join(f"{role}={name}" for role, name in run.results.judges.items())
            + f" (scoring {run.results.scoring[:SHORT]})"
        ),
    }
    for words, facet in facets.items():
        one, other = facet(first), facet(second)
        if one != other:
            verb = "are" if words == "judges" else "is"
            raise ConfigError(
                f"the two runs cannot be compared: the {words} {verb} {one} in the first and {other} in the second",
                remedy="Compare runs of one task, data and judges: pmbench runs lists them",
            )


def _check_instances(first: set[str], second: set[str], common: list[str], on_common: bool) -> None:
    if not common:
        raise ConfigError("the two runs have no scored instance in common")
    if first != second and not on_common:
        raise ConfigError(
            f"the two runs have not scored the same instances: {len(first - second)} only in the first,"
            f" {len(second - first)} only in the second, {len(common)} in both",
            remedy="--on-common compares those that both have",
        )


def _check_lists(
    metric: Metric, columns: Sequence[ScoreColumns], common: list[str], settings: Sequence[str]
) -> None:
    """Raises ConfigError where lists of one name hold other items, were put together otherwise or measured so."""
    one, other = (side.rows(metric, common) for side in columns)
    why = unlike(metric, one, other) if one is not None and other is not None else ""
    if why:
        differ = f"; they differ in {', '.join(settings)}" if settings else ""
        raise ConfigError(
            f"the two runs cannot be compared: {why.removeprefix('no comparison, for ')}{differ}",
            remedy="Compare runs with the same options",
        )


def _clusters(columns: ScoreColumns, wanted: Sequence[str]) -> list[str]:
    of_instance = dict(zip(columns.ids, columns.clusters, strict=True))
    return [of_instance[name] for name in wanted]


def _labels(scores: Sequence[ScoreRecord], slice_by: str | None) -> dict[str, dict[str, str]]:
    """By slice the label of each instance: the slice asked for, or all that have a few labels, more than one."""
    found: dict[str, dict[str, str]] = {}
    for score in scores:
        for name, label in score.slices.items():
            if not label.strip():
                continue  # No label: of none of the subgroups.
            found.setdefault(name, {})[score.id] = label
    if slice_by is None:
        return {name: one for name, one in found.items() if 1 < len(set(one.values())) <= MOST_LABELS}
    if slice_by not in found:
        raise ConfigError(
            f"no instance has a slice {name_shown(slice_by)}",
            where="--slice",
            remedy=f"Slices: {names_listed(sorted(found)) or 'none'}",
        )
    return {slice_by: found[slice_by]}


def _of_slice(scores: Sequence[ScoreRecord], slice_of: tuple[str, str] | None) -> list[ScoreRecord]:
    if slice_of is None:
        return list(scores)
    name, label = slice_of
    there = {one.slices[name] for one in scores if one.slices.get(name, "").strip()}
    if label not in there:
        known = sorted({key for one in scores for key, own in one.slices.items() if own.strip()})
        raise ConfigError(
            f"no instance has {names_listed([name])}={names_listed([label])}",
            where="--slice",
            remedy=f"Labels of {names_listed([name])}: {names_listed(sorted(there))}"
            if there
            else f"Slices: {names_listed(known) or 'none'}",
        )
    return [one for one in scores if one.slices.get(name) == label]


def _having(columns: ScoreColumns, metric: Metric) -> set[str]:
    return {name for name, there in zip(columns.ids, columns.present(metric), strict=True) if there}


def _side(run: StoredRun, ids: set[str]) -> Side:
    return Side(f"{run.record.model}, {run.record.asked.strategy}", run.record.digest, len(ids))


def _settings(first: StoredRun, second: StoredRun) -> list[str]:
    """Options and sampling in which the runs differ; model and strategy stand in their names."""
    asked = []
    for run in (first, second):
        told = msgspec.to_builtins(run.record.asked)
        asked.append({key: told[key] for key in ("options", "max_tokens", "temperature", "seed", "samples")})
    found = distinguishing(asked)
    return [f"{key}: {value} and {found[1][key]}" for key, value in found[0].items()]


def _compared(
    metric: Metric, columns: Sequence[ScoreColumns], common: Sequence[str], statistics: Resampling
) -> Compared | None:
    having = set.intersection(*(_having(one, metric) for one in columns))
    wanted = [name for name in common if name in having]
    rows = [one.rows(metric, wanted) for one in columns] if wanted else []
    if not rows or rows[0] is None or rows[1] is None:
        return None
    test = comparisons(
        metric,
        [rows[0], rows[1]],
        [(0, 1)],
        permutations=statistics.permutations,
        resamples=statistics.resamples,
        seed=statistics.seed,
        level=statistics.level,
    )[0]
    first, second = (float(metric.value(one.columns.sum(axis=0))) for one in (rows[0], rows[1]))
    return Compared(metric.name, metric.title, first, second, test)


def _at_margin(
    metric: Metric,
    columns: Sequence[ScoreColumns],
    common: Sequence[str],
    test: PairedTest,
    margin: float,
    level: float,
) -> Equivalence:
    first, second = (one.rows(metric, common) for one in columns)
    assert first is not None and second is not None  # `common` are instances that both have
    return against_margin(metric, (first, second), test, margin, level)
