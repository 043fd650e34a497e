"""A value that people would give, from a judge's scores of all instances and people's of some: PPI++.

With y people's values of n labelled rows, f the judge's, and N rows that only the judge has scored, the estimate of a
mean is λ·mean(f over N) + mean(y − λ f over n): what the judge says, corrected by how far it is off where people have
looked. λ = 1 takes the judge as fully as can be, λ = 0 leaves it out; the best one is cov(y, f) / ((1 + n/N) var(f)),
kept between 0 and 1 (power tuning of a mean: Angelopoulos, Duchi & Zrnic, PPI++, arXiv 2311.01453;
prediction-powered inference: Angelopoulos et al., Science 382, 2023). Of a formula over sums the columns' means are
corrected so, with one λ, and the formula is taken of them (`corrected_sums`).

The standard error is that of the leave-one-cluster-out jackknife (`cluster_robust`), which finds λ anew each time:
with few labels the choice of λ is a good part of the uncertainty. The paper's formula, which is for many labels,
leaves it out, and with a few dozen of them its intervals are too narrow.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from pmbench.core.metric import F1, Macro, Mean, Metric, Ratio
from pmbench.stats.bootstrap import Valued
from pmbench.stats.checks import UnusableNumbers, finite_row, finite_table, require_level
from pmbench.stats.cluster_robust import bounds, jackknife_error
from pmbench.stats.clusters import Floats, cluster_sums, require_cluster_scheme
from pmbench.stats.corrected_sums import CorrectedSums
from pmbench.stats.dyadic import t_quantile
from pmbench.stats.few_clusters import few_cluster_intervals
from pmbench.stats.limits import natural_limits
from pmbench.stats.linearised import Difference, leave_one_out

FEWEST_LABELLED = 2

Limits = tuple[float, float] | None

AGREE = (
    "the judge agrees with people on every labelled row: how often it is off elsewhere is not in the bounds"
)
ALIKE = "the estimate does not vary: bounds are those of the labelled rows alone"
NO_ERROR_SEEN = (
    "the judge agrees with people on every labelled row, so that nothing is known of how often it is off: value and"
    " bounds are those of the labelled rows alone"
)
ALL_LABELLED = "people have labelled all, or all but one cluster: the value is theirs alone"
ALL_ZERO = "no interval of the judge-corrected value: it is 0 in every labelled response"
OF_LABELS_ALONE = frozenset({ALIKE, NO_ERROR_SEEN, ALL_LABELLED, ALL_ZERO})
"""Notes on values that are those of the labelled rows alone, whatever λ would be."""
NOTHING_COUNTED = (
    "no judge-corrected value: it is undefined, as people counted nothing of what it is divided by in the labelled"
    " responses"
)
IMPOSSIBLE = "no judge-corrected value: corrected for its errors, the judge's denominator is not above 0"
UNSURE = "no interval of the judge-corrected value: without one of the clusters it is undefined"
BEYOND = "corrected for the judge's errors it lay beyond what the metric can be, and was put at the limit"
FAR_BEYOND = (
    "no interval of the judge-corrected value: corrected for the judge's errors, all of it lay beyond what the metric"
    " can be"
)


class PredictionPowered(msgspec.Struct, frozen=True):
    """A judge-corrected value.

    Attributes:
        value, low, high: with its interval; NaN where there is none. se: its standard error.
        weight: λ, how far the judge is relied on, 0 to 1.
        labelled_only: value and interval from the labelled rows alone, as (value, low, high).
        judge_only: the judge's value over all rows, taken at its word.
        labelled, unlabelled: rows; clusters: clusters of the labelled rows.
        note: what is special about the bounds; empty otherwise.
    """

    value: float
    low: float
    high: float
    se: float
    weight: float
    labelled_only: tuple[float, float, float]
    judge_only: float
    labelled: int
    unlabelled: int
    clusters: int
    note: str = ""


class _Mean:
    """Sum over count."""

    def value(self, sums: Floats) -> Floats:
        """Of (sum, count)."""
        return np.asarray(sums[..., 0] / sums[..., 1])


class _Defined:
    """A metric, undefined where its denominator is not above 0."""

    def __init__(self, metric: Metric) -> None:
        self.metric = metric

    def value(self, sums: Floats) -> Floats:
        """NaN in place of what cannot be."""
        bottom = denominator(self.metric, sums)
        found = np.asarray(self.metric.value(sums))
        return found if bottom is None else np.where(bottom > 0, found, np.nan)


def denominator(metric: Metric, sums: Floats) -> Floats | None:
    """What a value is divided by, for sums (..., k); None where that is not known of the metric."""
    if isinstance(metric, F1):
        return np.asarray(2 * sums[..., 0] + sums[..., 1] + sums[..., 2])
    return sums[..., 1] if isinstance(metric, Ratio | Mean | Macro) else None


def prediction_powered_mean(
    people: ArrayLike,
    judge: ArrayLike,
    judge_unlabelled: ArrayLike,
    clusters: Sequence[Hashable] = (),
    clusters_unlabelled: Sequence[Hashable] = (),
    *,
    weight: float | None = None,
    level: float = 0.95,
    limits: tuple[float, float] | None = None,
) -> PredictionPowered:
    """Mean of people's values with its interval.

    Args:
        people: their values of the labelled rows, shape (n,); the labelled rows must be a random choice of all.
        judge: the judge's values of the same rows, shape (n,).
        judge_unlabelled: the judge's values of the other rows, shape (N,).
        clusters, clusters_unlabelled: the cluster of each row; empty: every row is its own. A cluster may have
            rows of both kinds.
        weight: λ; None: the best one.
        level: coverage asked for; Student's t with Welch's degrees of freedom, of the clusters with labels and of
            those without.
        limits: of the mean, where people's values have some: bounds are made on the logit scale and stay inside.

    Raises:
        UnusableNumbers: NaN in the values, lengths that differ, fewer than two clusters of either kind.
    """
    y, f, rest = (
        finite_row("people", people),
        finite_row("judge", judge),
        finite_row("judge_unlabelled", judge_unlabelled),
    )
    labels = _labels(clusters, len(y), "l"), _labels(clusters_unlabelled, len(rest), "u")
    _check(len(y), len(f), len(rest), labels)
    tables = [np.stack([one, np.ones(len(one))], axis=1) for one in (y, f, rest)]
    counts = len(set(labels[0])), len(set(labels[1]))
    if min(counts) < FEWEST_LABELLED:
        raise UnusableNumbers(
            f"{counts[0]} labelled and {counts[1]} unlabelled clusters: two of each are needed"
        )
    return _estimated(_Mean(), tables, labels, weight, level, limits)


def prediction_powered_metric(
    metric: Metric,
    people: ArrayLike,
    judge: ArrayLike,
    judge_unlabelled: ArrayLike,
    clusters: Sequence[Hashable] = (),
    clusters_unlabelled: Sequence[Hashable] = (),
    *,
    weight: float | None = None,
    level: float = 0.95,
) -> PredictionPowered:
    """A metric that is a formula over sums, as people's scores of all rows would give it, with its interval.

    Args:
        metric: of the scheme `cluster`.
        people: their columns of the labelled rows (`Metric.columns`), shape (n, k); the labelled rows must be a
            random choice of all.
        judge, judge_unlabelled: the judge's columns of the same rows and of the others, shapes (n, k) and (N, k).
        clusters, clusters_unlabelled, weight, level: as in `prediction_powered_mean`.

    Returns:
        Where limits of the value are known, bounds are made on the logit scale, and all stays inside. Where the
        corrected denominator is not above 0, or that of people's columns is 0, there is no value. Where the judge was
        never seen to be wrong, or fewer than two clusters have an unlabelled row, value and bounds are those of the
        labelled rows alone: of a judge that is off in few rows a few labels show no error, and bounds that took it to
        have none would hold the truth in 0.88 of datasets (`benchmarks/statistics_simulations.py`). The note says so.

    Raises:
        UnusableNumbers: NaN in the columns, shapes that differ, fewer than two labelled clusters.
        ValueError: a metric of another scheme.
    """
    require_cluster_scheme(metric)
    tables = [
        finite_table("people", people),
        finite_table("judge", judge),
        finite_table("judge_unlabelled", judge_unlabelled),
    ]
    y, f, rest = tables
    labels = _labels(clusters, len(y), "l"), _labels(clusters_unlabelled, len(rest), "u")
    _check(len(y), len(f), len(rest), labels)
    if not y.shape[1] == f.shape[1] == rest.shape[1]:
        raise UnusableNumbers(f"{y.shape[1]}, {f.shape[1]} and {rest.shape[1]} columns")
    if len(set(labels[0])) < FEWEST_LABELLED:
        raise UnusableNumbers("fewer than two labelled clusters")
    by_judge = cluster_sums(np.concatenate([f, rest]), [*labels[0], *labels[1]])
    limits = natural_limits(metric, np.concatenate([cluster_sums(y, labels[0]), by_judge]))
    alone = _why_alone(y, f, labels[1], weight)
    found = _estimated(_Defined(metric), tables, labels, 0.0 if alone else weight, level, limits)
    if _nothing_counted(metric, y):
        return _without_value(found)
    only = few_cluster_intervals([(metric, y)], labels[0], level)[0]
    found = msgspec.structs.replace(found, labelled_only=(only.value, only.low, only.high))
    if alone or found.note == ALIKE:
        found = msgspec.structs.replace(
            found, value=only.value, low=only.low, high=only.high, note=alone or ALIKE
        )
        if only.value == 0 and np.isnan(only.low) and not y[:, 0].any():
            found = msgspec.structs.replace(found, note=ALL_ZERO)
    return _within(metric, found, limits)


def prediction_powered_difference(
    metric: Metric,
    people: tuple[ArrayLike, ArrayLike],
    judge: tuple[ArrayLike, ArrayLike],
    judge_unlabelled: tuple[ArrayLike, ArrayLike],
    clusters: Sequence[Hashable] = (),
    clusters_unlabelled: Sequence[Hashable] = (),
    *,
    weight: float | None = None,
    level: float = 0.95,
) -> PredictionPowered:
    """A metric of one system less that of another, as people's scores of all rows would give it, with its interval.

    Rows are of both systems, so that what makes an instance hard for both is not in the interval: columns stand side
    by side, and the estimate is that of `prediction_powered_metric` with the difference as formula, one λ for both
    systems. Of plain means it is `prediction_powered_mean` of the differences.

    Args:
        metric: of the scheme `cluster`.
        people, judge: of the first and the second system, their columns of the rows that are labelled for both, shape
            (n, k); the labelled rows must be a random choice of all.
        judge_unlabelled: the judge's columns of the other rows that both have, shape (N, k).
        clusters, clusters_unlabelled, weight, level: as in `prediction_powered_mean`.

    Returns:
        As of `prediction_powered_metric`; limits of a value, where known, are limits of the difference.

    Raises:
        UnusableNumbers: NaN in the columns, shapes that differ, fewer than two labelled clusters.
        ValueError: a metric of another scheme.
    """
    require_cluster_scheme(metric)
    sides = {"people": people, "judge": judge, "judge_unlabelled": judge_unlabelled}
    tables = [
        np.concatenate([finite_table(name, one) for one in both], axis=1) for name, both in sides.items()
    ]
    y, f, rest = tables
    labels = _labels(clusters, len(y), "l"), _labels(clusters_unlabelled, len(rest), "u")
    _check(len(y), len(f), len(rest), labels)
    if len(set(labels[0])) < FEWEST_LABELLED:
        raise UnusableNumbers("fewer than two labelled clusters")
    alone = _why_alone(y, f, labels[1], weight)
    formula = Difference(_Defined(metric))
    found = _estimated(formula, tables, labels, 0.0 if alone else weight, level, None)
    if any(_nothing_counted(metric, half) for half in np.split(y, 2, axis=1)):
        return _without_value(found)
    if alone or found.note == ALIKE:
        value, low, high = found.labelled_only
        found = msgspec.structs.replace(found, value=value, low=low, high=high, note=alone or ALIKE)
    ends = metric.limits or metric.bounds
    reach = ends[1] - ends[0] if ends else np.inf
    return _within(Mean("difference"), found, (-reach, reach))


def _labels(clusters: Sequence[Hashable], rows: int, kind: str) -> list[Hashable]:
    return list(clusters) if len(clusters) else [(kind, row) for row in range(rows)]


def _why_alone(people: Floats, judge: Floats, unlabelled: Sequence[Hashable], weight: float | None) -> str:
    """Why the value is that of the labelled rows alone; empty where it is not."""
    if len(set(unlabelled)) < FEWEST_LABELLED:
        return ALL_LABELLED
    return NO_ERROR_SEEN if np.array_equal(people, judge) and weight is None else ""


def _nothing_counted(metric: Metric, people: Floats) -> bool:
    """Whether the metric's denominator is 0 in people's columns: no weight of the judge makes that a value."""
    bottom = denominator(metric, people.sum(axis=0))
    return bottom is not None and float(bottom) == 0


def _without_value(found: PredictionPowered) -> PredictionPowered:
    nan = float("nan")
    return msgspec.structs.replace(
        found, value=nan, low=nan, high=nan, weight=0.0, labelled_only=(nan, nan, nan), note=NOTHING_COUNTED
    )


def _check(people: int, judge: int, rest: int, labels: tuple[list[Hashable], list[Hashable]]) -> None:
    if people != judge or len(labels[0]) != people or len(labels[1]) != rest:
        raise UnusableNumbers(
            f"{people} values of people, {judge} of the judge, {len(labels[0])} clusters' labels"
        )


def _estimated(
    formula: Valued,
    tables: Sequence[Floats],
    labels: tuple[list[Hashable], list[Hashable]],
    weight: float | None,
    level: float,
    limits: Limits,
) -> PredictionPowered:
    """The estimate from columns of people, the judge and the judge's others."""
    alpha = require_level(level)
    y, f, rest = tables
    counts = len(set(labels[0])), len(set(labels[1]))
    estimate = CorrectedSums(formula, y, f, rest, [*labels[0], *labels[1]], weight)
    table, alone = estimate.table, estimate.with_weight(0.0)
    total = table.sum(axis=0)
    mean, se_alone = float(alone.value(total)), jackknife_error(alone, table[table[:, 0] > 0])
    of_labelled = mean, *bounds(mean, t_quantile(counts[0] - 1, 1 - alpha) * se_alone, limits)
    value, se = float(estimate.value(total)), jackknife_error(estimate, table)
    low, high = bounds(value, t_quantile(_freedom(estimate, table), 1 - alpha) * se, limits)
    note = AGREE if np.array_equal(y, f) else ""
    if se <= 1e-12 * max(1.0, abs(value)):  # nothing varies: what the labelled rows show is all there is
        low, high, note = of_labelled[1], of_labelled[2], note or ALIKE
    return PredictionPowered(
        value=value,
        low=low,
        high=high,
        se=se,
        weight=float(estimate.weight(total)),
        labelled_only=of_labelled,
        judge_only=float(formula.value(np.concatenate([f, rest]).sum(axis=0))),
        labelled=len(y),
        unlabelled=len(rest),
        clusters=counts[0],
        note=note,
    )


def _freedom(estimate: CorrectedSums, table: Floats) -> float:
    """Welch's degrees of freedom (Biometrika 34, 1947) of two kinds of clusters: with labelled rows, and without.

    Where nearly all rows are labelled the few others add little to the error, and must not decide how much of it
    Student's t allows for.
    """
    labelled = table[:, 0] > 0
    apart = leave_one_out(estimate, table)
    apart = (apart - apart.mean()) ** 2
    parts = [(float(apart[kind].sum()), int(kind.sum()) - 1) for kind in (labelled, ~labelled)]
    total = sum(variance for variance, _ in parts)
    below = sum(variance**2 / freedom for variance, freedom in parts if freedom > 0)
    lost = sum(
        variance for variance, freedom in parts if freedom <= 0
    )  # one cluster shows no variance of its kind
    if not below > 0 or not np.isfinite(total):
        return max(1.0, float(parts[0][1]))
    return max(1.0, (total - lost) ** 2 / below)


def _within(metric: Metric, found: PredictionPowered, limits: Limits) -> PredictionPowered:
    """The estimate without what cannot be, and within limits."""
    if np.isnan(found.value):
        return msgspec.structs.replace(found, low=np.nan, high=np.nan, note=IMPOSSIBLE)
    if np.isnan(found.se):
        return msgspec.structs.replace(found, low=np.nan, high=np.nan, note=UNSURE)
    ends = limits or (-np.inf, np.inf)

    def put(value: float) -> float:
        return float(metric.within(min(max(value, ends[0]), ends[1])))

    note = found.note or (BEYOND if put(found.value) != found.value else "")
    if put(found.low) == put(found.high) and found.low < found.high:  # all of it lies beyond
        found, note = msgspec.structs.replace(found, low=np.nan, high=np.nan), FAR_BEYOND
    only = found.labelled_only
    return msgspec.structs.replace(
        found,
        value=put(found.value),
        low=put(found.low),
        high=put(found.high),
        labelled_only=(put(only[0]), put(only[1]), put(only[2])),
        note=note,
    )
