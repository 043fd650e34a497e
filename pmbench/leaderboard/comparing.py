"""The numbers of one table: intervals of every metric of every system, and all systems against each other."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
from numpy.typing import NDArray

from pmbench.core.metric import Metric
from pmbench.leaderboard.no_interval import NOT_SCORED
from pmbench.leaderboard.standing import chances_by_place, drawn_units, standing_notes, standings
from pmbench.leaderboard.tested import Comparison, Correction, PairTested, Resampling, Standing
from pmbench.leaderboard.wording import DASH, bare, interval, p_value
from pmbench.running.columns import ScoreColumns
from pmbench.running.records import ScoreRecord
from pmbench.stats.bootstrap import Interval
from pmbench.stats.checks import UnusableNumbers
from pmbench.stats.corrections import benjamini_hochberg, holm
from pmbench.stats.limits import natural_limits
from pmbench.stats.many_systems import usable_correction
from pmbench.stats.max_t import max_t
from pmbench.stats.no_interval import reasoned
from pmbench.stats.power import power_of_pair
from pmbench.stats.randomisation import PairedTest
from pmbench.stats.schemes import NOTHING, Rows, comparisons
from pmbench.stats.schemes import intervals as scheme_intervals

_NO_TEST = PairedTest(math.nan, math.nan, False, 0, 0, math.nan, math.nan)

_AT_ONCE = 500
"""Pairs that are tested together: their draws are in memory, and the same for all pairs, however they are cut."""

Pair = tuple[int, int]


class KeptColumns(ScoreColumns):
    """The scores of one system; the columns of a metric are worked out once."""

    def __init__(self, scores: Sequence[ScoreRecord]) -> None:
        super().__init__(scores)
        self._kept: dict[str, NDArray[np.float64] | None] = {}

    def of(self, metric: Metric) -> NDArray[np.float64] | None:
        """As of `ScoreColumns`, for metrics of one task, whose names differ."""
        if metric.name not in self._kept:
            self._kept[metric.name] = super().of(metric)
        return self._kept[metric.name]


def intervals(
    metrics: Sequence[Metric], systems: Sequence[ScoreColumns], statistics: Resampling
) -> list[dict[str, Interval]]:
    """The interval of each metric, by name, for each system.

    Systems that have scored the same instances share one drawing of resamples.
    """
    nothing = msgspec.structs.replace(NOTHING, note=NOT_SCORED)
    found = [dict.fromkeys((metric.name for metric in metrics), nothing) for _ in systems]
    alike: dict[tuple[str, ...], list[int]] = {}
    for index, system in enumerate(systems):
        alike.setdefault((*system.ids, *system.clusters), []).append(index)
    for members in alike.values():
        # What is a number of the data, as the reference of a group, is the same for all systems: drawn once.
        parts: dict[tuple[str, bytes], tuple[Metric, Rows]] = {}
        wanted: list[tuple[int, tuple[str, bytes]]] = []
        for index in members:
            for metric in metrics:
                rows = systems[index].rows(metric)
                if rows is not None:
                    # Two orders with one value may be resampled to different ones.
                    own = b"" if metric.scheme == "cluster" else str(index).encode()
                    key = metric.name, rows.columns.tobytes() + own
                    parts[key] = metric, rows
                    wanted.append((index, key))
        drawn = scheme_intervals(
            list(parts.values()),
            resamples=statistics.resamples,
            level=statistics.level,
            seed=statistics.seed,
        )
        by_key = {
            key: reasoned(
                msgspec.structs.replace(one, low=metric.within(one.low), high=metric.within(one.high))
            )
            for (key, (metric, _)), one in zip(parts.items(), drawn, strict=True)
        }
        for index, key in wanted:
            found[index][key[0]] = by_key[key]
    return found


def order(
    metric: Metric, values: Sequence[float], names: Sequence[str], whole: Sequence[bool] | None = None
) -> list[int]:
    """Places of the systems from the best to the worst; undefined ones last, equal ones by name.

    Args:
        metric, values, names: of the systems.
        whole: which of them have scored enough to be the first; the others stand below them. None: all.
    """
    sign = 1 if metric.higher_is_better is False else -1

    def key(place: int) -> tuple[bool, bool, float, str]:
        value = values[place]
        parted = whole is not None and not whole[place]
        return math.isnan(value), parted, 0.0 if math.isnan(value) else sign * value, names[place]

    return sorted(range(len(values)), key=key)


@dataclass(frozen=True)
class Compared:
    """The systems of one table, compared by the primary metric.

    Attributes:
        against: each against the first; None for the first itself.
        pairs: the tests of all pairs.
        standings: of each system.
        correction: by which the p-values were adjusted.
        common: instances that all systems with a value have scored.
        detectable: as in `Table`.
        notes: what a reader has to know of all this.
    """

    against: list[Comparison | None]
    pairs: list[PairTested]
    standings: list[Standing]
    correction: Correction
    common: int
    detectable: float | None
    notes: list[str]


def compared(
    metric: Metric,
    systems: Sequence[ScoreColumns],
    statistics: Resampling,
    whole: Sequence[bool] | None = None,
) -> Compared:
    """Every two systems on the instances where both have the metric.

    p-values are adjusted over all pairs of systems, not only over those with the first: which system is first was
    chosen by looking at the same data. Letters and ranks follow from the adjusted p-values (`standing`).

    Args:
        metric: the primary one, of any scheme.
        systems: in order of their values, the best first.
        statistics: how it is done.
        whole: which of them have scored enough to have a rank and a chance of being best; None: all.
    """
    if not systems:
        return Compared([], [], [], statistics.correction, 0, None, [])
    scored = [
        {name for name, there in zip(one.ids, one.present(metric), strict=True) if there} for one in systems
    ]
    tests = _all_pairs(metric, systems, scored, statistics)
    placed = [True] * len(systems) if whole is None or not any(whole) else list(whole)
    valued = [place for place, ids in enumerate(scored) if ids and placed[place]]
    shared = sorted(set.intersection(*(scored[place] for place in valued))) if valued else []
    rows = [_rows(metric, systems[place], shared) for place in valued] if shared else []
    adjusted, used, note = _adjusted(metric, tests, valued, rows, _alike(scored, valued), statistics)
    pairs = [
        PairTested(
            earlier + 1,
            later + 1,
            number(test.difference),
            number(test.p),
            number(adjusted[later, earlier]),
            len(scored[earlier] & scored[later]),
            test.least_p,
            test.differing,
            test.exact,
        )
        for (later, earlier), test in tests.items()
    ]
    pairs.sort(key=lambda pair: (pair.first, pair.second))
    chances = chances_by_place(metric, valued, rows, statistics)
    values = [one.value(metric) for one in systems]
    stand = standings(metric, values, pairs, chances, alpha=1 - statistics.level, whole=placed)
    most = max((len(scored[place]) for place in valued), default=0)
    ranked = [value if has else math.nan for value, has in zip(values, placed, strict=True)]
    drawn = drawn_units(metric, rows[0]) if rows else 0
    return Compared(
        against=[None, *_against_first(metric, tests, adjusted, scored)],
        pairs=pairs,
        standings=stand,
        correction=used,
        common=len(shared),
        detectable=_detectable(metric, systems, scored, statistics.level),
        notes=[
            *([f"{note}."] if note else []),
            *standing_notes(metric, ranked, pairs, used, (len(shared), most), drawn, stand),
        ],
    )


def _detectable(
    metric: Metric, systems: Sequence[ScoreColumns], scored: Sequence[set[str]], level: float
) -> float | None:
    """The smallest difference that the first two systems' data would show, of a metric by cluster."""
    shared = sorted(scored[0] & scored[1]) if len(systems) > 1 else []
    if metric.scheme != "cluster" or not shared:
        return None
    one, other = (_rows(metric, system, shared) for system in systems[:2])
    try:
        found = power_of_pair(metric, one.columns, other.columns, one.clusters, level=level).detectable
    except UnusableNumbers:
        return None
    limits = natural_limits(metric, np.concatenate([one.columns, other.columns]))
    return None if limits is not None and found > limits[1] - limits[0] else number(found)


def _alike(scored: Sequence[set[str]], valued: Sequence[int]) -> bool:
    """Whether all systems that have a value have scored the same instances."""
    return all(scored[place] == scored[valued[0]] for place in valued)


def _adjusted(
    metric: Metric,
    tests: Mapping[Pair, PairedTest],
    valued: Sequence[int],
    rows: Sequence[Rows],
    alike: bool,
    statistics: Resampling,
) -> tuple[dict[Pair, float], Correction, str]:
    """p-values adjusted over all pairs, by which correction, and why it is not the one asked for."""
    used, note = statistics.correction, ""
    if used == "max-t" and len(valued) > 1:
        used, note = usable_correction(metric, rows, used) if rows else ("holm", "")
        if not alike:
            used = "holm"
            note = "Holm's method in place of max-T, which needs systems that have scored the same instances"
    if used != "max-t" or len(valued) < 2:
        adjust = benjamini_hochberg if used == "benjamini-hochberg" else holm
        return dict(zip(tests, adjust([test.p for test in tests.values()]), strict=True)), used, note
    place = {system: index for index, system in enumerate(valued)}
    pairs = [pair for pair in tests if pair[0] in place and pair[1] in place]
    found = max_t(
        metric,
        [one.columns for one in rows],
        [(place[later], place[earlier]) for later, earlier in pairs],
        rows[0].clusters,
        resamples=statistics.resamples,
        seed=statistics.seed,
    )
    return dict.fromkeys(tests, math.nan) | dict(zip(pairs, found, strict=True)), used, note


def _against_first(
    metric: Metric,
    tests: Mapping[Pair, PairedTest],
    adjusted: Mapping[Pair, float],
    scored: Sequence[set[str]],
) -> Iterator[Comparison]:
    for index in range(1, len(scored)):
        shared = len(scored[0] & scored[index])
        yield _comparison(
            metric,
            tests[index, 0],
            adjusted[index, 0],
            shared,
            len(scored[0]) - shared,
            len(scored[index]) - shared,
        )


def _all_pairs(
    metric: Metric, systems: Sequence[ScoreColumns], scored: Sequence[set[str]], statistics: Resampling
) -> dict[Pair, PairedTest]:
    """The test of every pair (later, earlier); pairs that share the same instances share one drawing.

    Only pairs with the first have an interval: no other is shown.
    """
    alike: dict[frozenset[str], list[Pair]] = {}
    same = {frozenset(ids): frozenset(ids) for ids in scored}
    kept = [same[frozenset(ids)] for ids in scored]
    for later in range(1, len(systems)):
        for earlier in range(later):
            one, other = kept[later], kept[earlier]
            alike.setdefault(one if one is other else one & other, []).append((later, earlier))
    tests: dict[Pair, PairedTest] = {}
    for shared, pairs in alike.items():
        if not shared:
            tests.update(dict.fromkeys(pairs, _NO_TEST))
            continue
        ids = sorted(shared)
        members = sorted({index for pair in pairs for index in pair})
        place = {index: number for number, index in enumerate(members)}
        rows = [_rows(metric, systems[index], ids) for index in members]
        for start in range(0, len(pairs), _AT_ONCE):
            some = pairs[start : start + _AT_ONCE]
            found = comparisons(
                metric,
                rows,
                [(place[later], place[earlier]) for later, earlier in some],
                permutations=statistics.permutations,
                resamples=statistics.resamples,
                level=statistics.level,
                seed=statistics.seed,
                bounded=[(place[later], place[earlier]) for later, earlier in some if not earlier],
            )
            tests.update(zip(some, found, strict=True))
    return tests


def _rows(metric: Metric, system: ScoreColumns, ids: Sequence[str]) -> Rows:
    rows = system.rows(metric, ids)
    if rows is None:
        raise ValueError("rows of a metric that the system does not have")
    return rows


def _comparison(
    metric: Metric, test: PairedTest, adjusted: float, shared: int, only_best: int, only_this: int
) -> Comparison:
    difference, low, high = number(test.difference), number(test.low), number(test.high)
    return Comparison(
        difference=difference,
        low=low,
        high=high,
        p=number(test.p),
        p_adjusted=number(adjusted),
        exact=test.exact,
        permutations=test.permutations,
        instances=shared,
        clusters=test.clusters,
        differing=test.differing,
        only_best=only_best,
        only_this=only_this,
        number=DASH if difference is None else bare(metric, difference, sign=True),
        interval=interval(metric, low, high),
        p_text=p_value(number(adjusted)),
        note=test.note,
    )


def number(value: float) -> float | None:
    """None for NaN, which has no place in plain data."""
    return None if math.isnan(value) else value
