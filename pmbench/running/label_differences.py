"""Judge-corrected differences of two runs, from the responses that people have labelled for both."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from pmbench.core.metric import Metric
from pmbench.running.label_form import enough
from pmbench.running.labels import Label
from pmbench.running.records import ScoreRecord
from pmbench.running.responding import Key
from pmbench.stats.prediction_powered import OF_LABELS_ALONE, prediction_powered_difference

Floats = NDArray[np.float64]
Judged = tuple[Sequence[ScoreRecord], Sequence[Label]]
"""Scores of a run's responses and people's labels of some of them."""


class CorrectedDifference(msgspec.Struct, frozen=True):
    """What one run has more than another, as people would give it.

    Attributes:
        value, low, high: judge-corrected, with the ends of its interval; None where there is none.
        weight: λ; None without a value, or where it is of the labelled responses alone.
        labelled, responses: how many are labelled for both, of how many that the judge has scored for both.
        clusters: that the labelled ones are in.
        note: what is special about it, or why there is no value.
    """

    value: float | None
    low: float | None
    high: float | None
    weight: float | None
    labelled: int
    responses: int
    clusters: int
    note: str = ""


def corrected_difference(
    metric: Metric, first: Judged, second: Judged, level: float = 0.95
) -> CorrectedDifference:
    """The first run's metric less the second's.

    Rows are the responses (instance and sample) that the judge has scored for both; those of one instance share its
    weight. Labelled are those with people's statistics of the metric for both: where forms are drawn at random, and
    not by what is in the answers, they are a random choice of the rows. Those labelled for one alone count as
    unlabelled.

    Args:
        metric: of the scheme `cluster`.
        first, second: of the two runs, labels checked.
        level: of the interval.

    Returns:
        Without a value where too few are labelled for both.
    """
    scores = [{(one.id, one.sample): one for one in run} for run, _ in (first, second)]
    keys = sorted(scores[0].keys() & scores[1].keys())
    judged = [_Stats(metric, keys, {key: one.stats for key, one in of.items()}) for of in scores]
    people = [
        _Stats(metric, keys, {(label.id, label.sample): label.stats for label in labels})
        for _, labels in (first, second)
    ]
    there = judged[0].present & judged[1].present
    has = there & people[0].present & people[1].present
    clusters = np.array([scores[0][key].cluster or key[0] for key in keys], dtype=object)
    counts = int(has.sum()), int(there.sum()), len(set(clusters[has]))
    if not enough(counts[0], counts[2]):
        return CorrectedDifference(None, None, None, None, *counts)
    samples = Counter(key[0] for key, one in zip(keys, there, strict=True) if one)
    share = np.array([1 / max(samples[key[0]], 1) for key in keys])[:, None]
    rest = there & ~has

    def both(of: Sequence[_Stats], which: NDArray[np.bool_]) -> tuple[Floats, Floats]:
        return (of[0].columns * share)[which], (of[1].columns * share)[which]

    found = prediction_powered_difference(
        metric,
        both(people, has),
        both(judged, has),
        both(judged, rest),
        clusters[has].tolist(),
        clusters[rest].tolist(),
        level=level,
    )
    numbers = [None if math.isnan(one) else float(one) for one in (found.value, found.low, found.high)]
    weight = None if numbers[0] is None or found.note in OF_LABELS_ALONE else found.weight
    return CorrectedDifference(numbers[0], numbers[1], numbers[2], weight, *counts, found.note)


class _Stats:
    """A metric's columns of some responses, and which of them have its statistics."""

    def __init__(self, metric: Metric, keys: Sequence[Key], of: dict[Key, dict[str, float]]) -> None:
        stats = {
            name: np.array([of.get(key, {}).get(name, math.nan) for key in keys])
            for name in metric.stat_names
        }
        self.present = metric.present(stats)
        self.columns = metric.columns(stats)
