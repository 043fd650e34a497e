"""What differences the data of a run can show, and how many instances a difference would need."""

from __future__ import annotations

from pathlib import Path

import msgspec

from pmbench.core.errors import ConfigError, DataError, UnknownName
from pmbench.core.metric import Metric
from pmbench.leaderboard.at_margin import standard_error
from pmbench.leaderboard.two_runs import check_alike, scored_run
from pmbench.leaderboard.wording import bare
from pmbench.running.columns import ScoreColumns
from pmbench.running.reading import StoredRun
from pmbench.stats.limits import natural_limits
from pmbench.stats.power import Power, detectable_difference, power_of_one, power_of_pair
from pmbench.stats.schemes import comparisons


class Detectable(msgspec.Struct, frozen=True):
    """What can be shown, and for whom.

    Attributes:
        task, metric, title: names of the task and the metric, and the metric's title.
        run, against: names of the run and of its rival; `against` is empty where a rival is assumed.
        value: of the metric for the run.
        unit: what is drawn anew: `cluster`, or `message` where pairs share messages.
        power: see `pmbench.stats.power.Power`; its `clusters` counts units.
        difference: that was asked about; None where none was.
        clusters, instances: that would show it; None where none was asked about.
    """

    task: str
    metric: str
    title: str
    run: str
    against: str
    value: float
    unit: str
    power: Power
    difference: float | None
    clusters: int | None
    instances: int | None


def detectable(
    runs: Path,
    name: str,
    *,
    against: str | None = None,
    metric: str | None = None,
    difference: float | None = None,
    power: float = 0.8,
    level: float = 0.95,
    correlation: float = 0.5,
) -> Detectable:
    """The smallest difference that a run's data would show, and how many instances another one needs.

    Args:
        runs: the runs folder; name: a run's folder, or a unique beginning of its digest.
        against: another run of the same data; None: a rival that varies as much, correlated as is assumed.
        metric: its name; None: the task's primary one.
        difference: in the metric's own unit.
        power, level, correlation: as in `pmbench.stats.power`.

    Raises:
        StorageError: there is no such run, or it is not scored.
        ConfigError: runs that cannot be compared, or a metric whose data have no such answer.
        UnknownName: the task has no such metric.
        UnusableNumbers: too few instances, or a power, difference or correlation that cannot be.
    """
    run, scores = scored_run(runs, name)
    chosen = _metric(run, metric)
    columns = ScoreColumns(scores)
    _check_difference(chosen, columns, difference)
    if against is None:
        found, unit = _of_one(chosen, columns, power, level, correlation), "cluster"
    else:
        rival, others = scored_run(runs, against)
        if rival.record.digest == run.record.digest and rival.scores == run.scores:
            raise ConfigError(
                "this is the run itself", where=f"--against {against}", remedy="Name another run"
            )
        check_alike(run, rival)
        found, unit = _of_two(chosen, columns, ScoreColumns(others), power, level)
    needed = (None, None) if difference is None else found.needed(difference)
    return Detectable(
        task=run.record.asked.task,
        metric=chosen.name,
        title=chosen.title,
        run=_called(run),
        against="" if against is None else _called(rival),
        value=columns.value(chosen),
        unit=unit,
        power=found,
        difference=difference,
        clusters=needed[0],
        instances=needed[1],
    )


def _check_difference(metric: Metric, columns: ScoreColumns, difference: float | None) -> None:
    """Raises ConfigError where no two values of the metric can be so far apart."""
    rows = columns.rows(metric)
    if difference is None or rows is None:
        return
    limits = natural_limits(metric, rows.columns)
    if limits is not None and abs(difference) > limits[1] - limits[0]:
        low, high = (bare(metric, limit) for limit in limits)
        raise ConfigError(
            f"{metric.title} lies between {low} and {high}: no difference is {bare(metric, abs(difference))}",
            where=f"--difference {difference:g}",
            remedy="Write 0.05 for 5%" if metric.unit == "%" else "",
        )


def _metric(run: StoredRun, name: str | None) -> Metric:
    metrics = {one.name: one for one in run.task().metrics}
    if name is None:
        return next(iter(metrics.values()))
    if name not in metrics:
        raise UnknownName(f"metric of {run.record.asked.task}", name, metrics)
    return metrics[name]


def _called(run: StoredRun) -> str:
    return f"{run.record.model}, {run.record.asked.strategy}"


def _of_one(metric: Metric, columns: ScoreColumns, power: float, level: float, correlation: float) -> Power:
    if metric.scheme != "cluster":
        raise ConfigError(
            f"of one run alone it is not known what {metric.title} can show, for its instances share"
            f" {'messages' if metric.scheme == 'dyadic' else 'an order'}",
            remedy="Give a second run of the same data: --against RUN",
        )
    rows = columns.rows(metric)
    if rows is None:
        raise _without(metric)
    there = [place for place, has in enumerate(rows.present) if has]
    return power_of_one(
        metric,
        rows.columns[there],
        [rows.clusters[place] for place in there],
        correlation=correlation,
        power=power,
        level=level,
    )


def _of_two(
    metric: Metric, first: ScoreColumns, second: ScoreColumns, power: float, level: float
) -> tuple[Power, str]:
    if metric.scheme == "ranking":
        raise ConfigError(
            f"how {metric.title} would vary in a longer list is not known, for it is one number of a whole list",
            remedy="pmbench compare says what the two runs show as they are",
        )
    having = [
        {name for name, there in zip(one.ids, one.present(metric), strict=True) if there}
        for one in (first, second)
    ]
    common = sorted(having[0] & having[1])
    rows = [one.rows(metric, common) for one in (first, second)] if common else [None, None]
    if rows[0] is None or rows[1] is None:
        raise _without(metric)
    if metric.scheme == "cluster":
        made = power_of_pair(
            metric, rows[0].columns, rows[1].columns, rows[0].clusters, power=power, level=level
        )
        return made, "cluster"
    test = comparisons(metric, [rows[0], rows[1]], [(0, 1)], level=level)[0]
    if test.low != test.low:
        raise DataError(test.note or "the difference has no interval", where=metric.title)
    se = standard_error(test, level)
    found = detectable_difference(se, test.clusters, power=power, level=level)
    made = Power(found, se, test.clusters, len(common), power, level, float("nan"), assumed=False)
    return made, "message"


def _without(metric: Metric) -> DataError:
    return DataError(f"no instance has {metric.title}", remedy="Choose another one: --metric NAME")
