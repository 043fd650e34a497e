"""Whether two systems are the same for all that matters, or the one is not worse: "not different" does not show it.

Two one-sided tests (Schuirmann, Journal of Pharmacokinetics and Biopharmaceutics 15, 1987): equivalent at a margin
m where both d ≤ −m and d ≥ m are rejected, which is where the interval of level 1 − 2α lies within ±m. Not inferior
where the one of them is that says the first is worse by m. Standard errors are those of the leave-one-cluster-out
jackknife (`cluster_robust`, CR3), with Student's t.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

import msgspec
import numpy as np

from pmbench.core.metric import Metric
from pmbench.stats.checks import UnusableNumbers, finite_table, require_level
from pmbench.stats.cluster_robust import jackknife_error
from pmbench.stats.clusters import Floats, informative, ordered_sums, require_cluster_scheme
from pmbench.stats.dyadic import t_quantile
from pmbench.stats.limits import natural_limits
from pmbench.stats.linearised import Difference

ALIKE = "the systems differ by the same in every cluster: bounds of as many independent instances that are all alike"
UNLIMITED = "the systems differ by the same in every cluster, and how far they could differ is not known"


FEWEST_DIFFERING = 5
"""Clusters that have to differ where a metric has no greatest value: of fewer t would make certainty."""

FEW_DIFFER = (
    "no test, for the two differ in {} cluster(s) only, and how far they could in others is not known"
)


class Equivalence(msgspec.Struct, frozen=True):
    """A difference of two systems against a margin.

    Attributes:
        difference: value of the first less value of the second.
        se: its standard error.
        low, high: the interval of level 1 − 2α, within ±margin exactly where `equivalent`.
        margin: in the metric's own units.
        p_equivalent: of the two one-sided tests.
        p_not_inferior: that the first is worse than the second by the margin or more.
        equivalent, not_inferior: whether these are at most α.
        clusters: how many.
        note: why there is no test, or what is special about it; empty otherwise.
    """

    difference: float
    se: float
    low: float
    high: float
    margin: float
    p_equivalent: float
    p_not_inferior: float
    equivalent: bool
    not_inferior: bool
    clusters: int
    note: str = ""


def equivalence(
    metric: Metric,
    columns_a: Floats,
    columns_b: Floats,
    clusters: Sequence[Hashable],
    margin: float,
    *,
    alpha: float = 0.05,
) -> Equivalence:
    """Test equivalence and non-inferiority of the first system to the second.

    Args:
        metric: a formula over sums, of scheme `cluster`. Lower is worse unless it says otherwise.
        columns_a, columns_b: what `metric.columns` gave for each, shape (n, k), row by row the same instances.
        clusters: the cluster of each row, length n.
        margin: the smallest difference that matters, above 0.
        alpha: of each one-sided test.

    Raises:
        UnusableNumbers: a margin that is not above 0, NaN in the columns.
        ValueError: lengths differ, or the metric is resampled in another way.
    """
    require_cluster_scheme(metric)
    sums = [ordered_sums(finite_table("columns", columns), clusters) for columns in (columns_a, columns_b)]
    table = np.concatenate(sums, axis=1)
    valued = Difference(metric)
    difference = float(valued.value(table.sum(axis=0)))
    se = jackknife_error(valued, table)
    limits = natural_limits(metric, np.concatenate(sums))
    differing = int((sums[0] != sums[1]).any(axis=1).sum())
    if (limits is None or math.isinf(limits[1])) and 0 < differing < FEWEST_DIFFERING:
        _check(margin, alpha)
        nothing = (math.nan, math.nan)
        return Equivalence(
            difference, se, *nothing, margin, *nothing, False, False, len(table), FEW_DIFFER.format(differing)
        )
    if se > 1e-12 * max(1.0, abs(difference)) or math.isnan(se):
        return of_difference(
            difference,
            se,
            len(table) - 1,
            margin,
            alpha=alpha,
            higher_is_better=metric.higher_is_better is not False,
        )
    return _alike(
        difference, len(informative(table)), margin, alpha, limits, metric.higher_is_better is not False
    )


def of_difference(
    difference: float,
    se: float,
    freedom: float,
    margin: float,
    *,
    alpha: float = 0.05,
    higher_is_better: bool = True,
) -> Equivalence:
    """The tests from a difference and its standard error, such as that of pairs that share items (`dyadic`).

    Args:
        difference: of the first less the second; se: its standard error, above 0.
        freedom: degrees of freedom of Student's t, clusters (or other units) less one.
        margin, alpha: as in `equivalence`.
        higher_is_better: whether a difference below 0 is worse.
    """
    from scipy.special import stdtr

    _check(margin, alpha)
    if not se > 0 or math.isnan(difference) or freedom < 1:
        nothing = (math.nan, math.nan)
        note = UNLIMITED if se == 0 else "no test, for the difference has no standard error"
        return Equivalence(
            difference, se, *nothing, margin, *nothing, False, False, int(freedom) + 1, note=note
        )
    above = float(stdtr(freedom, -(difference + margin) / se))  # that the difference is −margin or less
    below = float(stdtr(freedom, -(margin - difference) / se))
    reach = t_quantile(freedom, 1 - alpha) * se
    worse = above if higher_is_better else below
    both = max(above, below)
    bounds = difference - reach, difference + reach
    return Equivalence(
        difference, se, *bounds, margin, both, worse, both <= alpha, worse <= alpha, int(freedom) + 1
    )


def _alike(
    difference: float,
    clusters: int,
    margin: float,
    alpha: float,
    limits: tuple[float, float] | None,
    higher_is_better: bool,
) -> Equivalence:
    """Where nothing shows how the difference varies: a share q of unseen clusters could be at the far limit.

    With C clusters all alike, q is at most 1 − p^(1/C) with confidence 1 − p (Clopper & Pearson 1934, one-sided).
    """
    _check(margin, alpha)
    if limits is None or math.isinf(limits[1]) or clusters < 2:
        nothing = (math.nan, math.nan)
        return Equivalence(
            difference, 0.0, *nothing, margin, *nothing, False, False, clusters, note=UNLIMITED
        )
    wide = limits[1] - limits[0]

    def tail(room: float, span: float) -> float:
        """The p at which the difference could just move by `room`, of at most `span`."""
        if room <= 0:
            return 1.0
        return 0.0 if room >= span else (1 - room / span) ** clusters

    down, up = wide + difference, wide - difference
    above, below = tail(difference + margin, down), tail(margin - difference, up)
    worse = above if higher_is_better else below
    share, both = 1 - alpha ** (1 / clusters), max(above, below)
    bounds = difference - share * down, difference + share * up
    return Equivalence(
        difference, 0.0, *bounds, margin, both, worse, both <= alpha, worse <= alpha, clusters, ALIKE
    )


def _check(margin: float, alpha: float) -> None:
    if not (margin > 0 and math.isfinite(margin)):
        raise UnusableNumbers(
            f"a margin of {margin}", remedy="Give the smallest difference that matters, above 0"
        )
    require_level(1 - 2 * alpha)
