"""What metrics of lists tell of the lists themselves: how far a number can go, and whether two can be compared."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pmbench.core.metric import Metric
from pmbench.core.unit_metrics import RankingMetric

if TYPE_CHECKING:
    from pmbench.stats.schemes import Rows


def unlike(metric: Metric, one: Rows, other: Rows) -> str:
    """Why the lists of two systems cannot be compared, though they have the same names; empty where they can.

    Args:
        metric: of any scheme; only lists can be unlike each other.
        one, other: rows of the two systems, the same instances in the same order.
    """
    if not isinstance(metric, RankingMetric):
        return ""
    for place, name in enumerate(one.ids):
        if not (one.present[place] and other.present[place]):
            continue
        parts = zip(_made_of(metric, one, place), _made_of(metric, other, place), strict=True)
        for what, (first, second) in zip(
            ("other items", "other strata", "another kind of number"), parts, strict=True
        ):
            if first != second:
                return f"no comparison, for the list {name!r} has {what} in the other run"
    return ""


def ends_of_lists(metric: Metric, rows: Rows) -> tuple[float, float]:
    """The least and the most that the mean over the lists can be."""
    there = [rows.arrays[place] for place, present in enumerate(rows.present) if present]
    if not isinstance(metric, RankingMetric):
        return -math.inf, math.inf
    lists = [np.mean([metric.ends(arrays) for arrays in samples], axis=0) for samples in there]
    least, most = np.mean(lists, axis=0).tolist()
    return least, most


def _made_of(metric: RankingMetric, rows: Rows, place: int) -> tuple[set[str], dict[str, Any], str]:
    """The items of a list, the stratum of each, and what its number is."""
    units, samples = rows.units[place], rows.arrays[place]
    arrays = samples[0] if samples else {}
    strata = metric.strata(arrays) if arrays else ()
    kind = metric.kind(arrays) if arrays else ""
    return set(units), dict(zip(units, strata, strict=False)), kind
