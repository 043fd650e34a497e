"""Where which of two runs is better: instance by instance, in each subgroup, and how far apart they are at all."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from pmbench.core.metric import Metric
from pmbench.leaderboard.tested import Resampling
from pmbench.running.columns import ScoreColumns, rows_taken
from pmbench.stats.corrections import holm, mcnemar_exact
from pmbench.stats.effects import standardised_effect
from pmbench.stats.in_threads import in_threads
from pmbench.stats.randomisation import PairedTest
from pmbench.stats.schemes import Rows, comparisons

_EQUAL = 1e-12
"""Values this close are equal."""

MOST_DIFFERENT = 10
"""Instances that differ most which are named."""

MOST_LABELS = 12
"""Labels that a subgroup may have to be shown without being asked for."""


class Overlap(msgspec.Struct, frozen=True):
    """On how many instances which run is right, where the primary metric of one instance is 0, ½ (a tie) or 1.

    A tie is a half for each side: counts may end in .5 or .25. As Table 10 of arXiv 2601.13178.

    Attributes:
        both, first, second, neither: they add up to the instances compared.
    """

    both: float
    first: float
    second: float
    neither: float


class Apart(msgspec.Struct, frozen=True):
    """An instance on which the runs differ: its id and the primary metric of each."""

    id: str
    first: float
    second: float


class Wins(msgspec.Struct, frozen=True):
    """On how many instances which run is better by the primary metric; where neither end is better, more is."""

    first: int
    equal: int
    second: int


class Effect(msgspec.Struct, frozen=True):
    """Standardised effect with the ends of its interval, None where there are none; see `stats.effects`."""

    value: float
    low: float | None
    high: float | None


class Discordant(msgspec.Struct, frozen=True):
    """Right or wrong, instances independent: those that only one of the two has right, and McNemar's exact p."""

    first: int
    second: int
    p: float


class Part(msgspec.Struct, frozen=True):
    """A subgroup.

    Attributes:
        label: of the instances; instances: that both have scored.
        first, second: values of the primary metric.
        test: first minus second; p_adjusted: by Holm's method over the labels of its slice.
    """

    label: str
    instances: int
    first: float
    second: float
    test: PairedTest
    p_adjusted: float | None


def each(metric: Metric, columns: ScoreColumns, common: Sequence[str]) -> Any:
    """The metric of every instance alone, shape (n,)."""
    own = columns.of(metric)
    if own is None:
        return np.full(len(common), math.nan)
    return np.asarray(metric.value(own[columns.places(common)]), dtype=float)


def overlap(metric: Metric, first: Any, second: Any) -> Overlap | None:
    """Who is right where; None where an instance is not right, wrong or half of each. Arguments as of `wins`."""
    if metric.limits != (0.0, 1.0) or not np.isin(np.concatenate([first, second]), (0.0, 0.5, 1.0)).all():
        return None
    return Overlap(
        both=float((first * second).sum()),
        first=float((first * (1 - second)).sum()),
        second=float(((1 - first) * second).sum()),
        neither=float(((1 - first) * (1 - second)).sum()),
    )


def most_apart(common: Sequence[str], first: Any, second: Any) -> list[Apart]:
    """The instances on which values differ most, those first; `common`: their ids."""
    gaps = np.nan_to_num(np.abs(first - second))
    order = sorted(range(len(common)), key=lambda place: (-gaps[place], common[place]))
    return [
        Apart(common[place], float(first[place]), float(second[place]))
        for place in order[:MOST_DIFFERENT]
        if gaps[place] > 0
    ]


def wins(metric: Metric, first: Any, second: Any) -> Wins | None:
    """Who is better where; None where an instance alone has no value.

    Args:
        metric: the primary one.
        first, second: its values of every instance, shape (n,).
    """
    if not np.isfinite(np.concatenate([first, second])).any():
        return None
    apart = np.nan_to_num(first - second) * (-1.0 if metric.higher_is_better is False else 1.0)
    ahead, behind = int((apart > _EQUAL).sum()), int((apart < -_EQUAL).sum())
    return Wins(ahead, len(apart) - ahead - behind, behind)


def discordant(metric: Metric, first: Any, second: Any, clusters: Sequence[str]) -> Discordant | None:
    """McNemar's exact test; None where values are not 0 or 1, or where instances depend on each other.

    Args:
        metric: the primary one.
        first, second: its values of every instance, shape (n,); clusters: of the instances.
    """
    independent = metric.scheme == "cluster" and len(set(clusters)) == len(clusters)
    if not independent or not np.isin(np.concatenate([first, second]), (0.0, 1.0)).all():
        return None
    higher = metric.higher_is_better is not False
    only = [
        int(((one > other) if higher else (one < other)).sum()) for one, other in _both_ways(first, second)
    ]
    return Discordant(only[0], only[1], mcnemar_exact(only[0], only[1]))


def _both_ways(first: Any, second: Any) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    return (first, second), (second, first)


def effect(
    metric: Metric, columns: Sequence[ScoreColumns], common: Sequence[str], level: float
) -> Effect | None:
    """The standardised effect of the difference; None where it is undefined, or pairs or lists are compared."""
    if metric.scheme != "cluster":
        return None
    first, second = (one.rows(metric, common) for one in columns)
    if first is None or second is None:
        return None
    found = standardised_effect(metric, first.columns, second.columns, first.clusters, level=level)
    if found.value != found.value:
        return None
    bounded = found.low == found.low
    return Effect(found.value, found.low if bounded else None, found.high if bounded else None)


def by_label(
    metric: Metric,
    columns: Sequence[ScoreColumns],
    labels: Mapping[str, Mapping[str, str]],
    common: Sequence[str],
    statistics: Resampling,
    *,
    alone: bool = False,
) -> dict[str, list[Part]]:
    """The two runs in each subgroup: by slice its labels, in the order of their names.

    Args:
        metric: the primary one; columns: of both runs.
        labels: by slice and instance the label.
        common: instances that both have scored.
        statistics: of the tests.
        alone: whether a slice with one label is kept, too.
    """
    whole = [one.rows(metric, common) for one in columns]
    found = {}
    for name, of_instance in sorted(labels.items()):
        members: dict[str, list[int]] = {}
        for place, one in enumerate(common):
            if one in of_instance:
                members.setdefault(of_instance[one], []).append(place)
        if len(members) < 2 and not alone:
            continue  # The whole once more.
        parts = in_threads(
            lambda one: _part(metric, whole, one[0], np.array(one[1], dtype=np.intp), statistics),
            sorted(members.items()),
        )
        adjusted = holm([part.test.p for part in parts])
        found[name] = [
            msgspec.structs.replace(part, p_adjusted=None if p != p else p)
            for part, p in zip(parts, adjusted, strict=True)
        ]
    return found


def _part(
    metric: Metric, whole: Sequence[Rows | None], label: str, places: NDArray[np.intp], statistics: Resampling
) -> Part:
    """One subgroup, from the rows of all instances of both runs and the places of its own among them."""
    first, second = (rows_taken(one, places) for one in whole if one is not None)
    test = comparisons(
        metric,
        [first, second],
        [(0, 1)],
        permutations=statistics.permutations,
        resamples=statistics.resamples,
        seed=statistics.seed,
        level=statistics.level,
    )[0]
    value, other = (float(metric.value(one.columns.sum(axis=0))) for one in (first, second))
    return Part(label, len(places), value, other, test, None)
