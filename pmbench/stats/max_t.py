"""Adjusted p-values of many differences by the step-down method of Romano & Wolf.

Each difference is divided by its standard error, |d| / se. In each resample of clusters, the same for all systems,
the centred differences are divided by the resample's own standard errors. Taken from the largest observed ratio down,
the p of each is the share of resamples in which the greatest ratio among it and all after it is as large; no p is
smaller than the one before (Romano & Wolf, JASA 100, 2005, and Econometrica 73, 2005, with studentised
statistics; p-values: Statistics & Probability Letters 113, 2016). Differences of the same systems go together, and
this makes use of it: Holm's method, which cannot, asks for more.

It errs on the safe side with few clusters: of six equal systems at a level of 5% something is rejected in 0 to 1% of
simulated datasets of 12 clusters, 1 to 3% of 21, 2 to 4% of 27, 4% of 48 and 4 to 5% of 163. Holm's method on
randomisation tests finds more of what is there with 27 clusters and fewer, max-T a third more with 163
(`benchmarks/many_systems.py`).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from pmbench.core.metric import Metric
from pmbench.stats.bootstrap import RESAMPLES
from pmbench.stats.clusters import Floats
from pmbench.stats.joint import Pair, PairErrors, Places, Systems
from pmbench.stats.studentised import divided

_TIES = 1e-9


def max_t(
    metric: Metric,
    systems: Sequence[Floats],
    pairs: Sequence[Pair],
    clusters: Sequence[Hashable],
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
    block: int | None = None,
) -> list[float]:
    """Adjusted two-sided p-values of the differences of pairs of systems.

    Args:
        metric: a formula over sums, of scheme `cluster`.
        systems: what `metric.columns` gave for each system, shape (n, k), row by row the same instances.
        pairs: which two of them to compare; all that a table shows, since the adjustment is for these.
        clusters: the cluster of each row, length n.
        resamples, seed: of the bootstrap by cluster.
        block: resamples at a time; memory is that of one block, whatever their number.

    Returns:
        For each pair (1 + resamples as extreme) / (1 + resamples), stepped down; the same whatever the order of the
        systems or pairs. NaN where a difference is undefined; 1 where it is 0; with d clusters that differ at
        least 2 / 2^d, as for the randomisation test. Resamples without a value count as extreme.

    Raises:
        UnusableNumbers: NaN in the columns, or systems with different columns.
        ValueError: lengths differ, or the metric is resampled in another way.
    """
    if not pairs:
        return []
    found = Systems(metric, systems, clusters)
    first, second = (found.place[[pair[side] for pair in pairs]] for side in (0, 1))
    # Each pair in one direction, so that rounding does not depend on which way round it was asked for.
    first, second = np.minimum(first, second), np.maximum(first, second)
    differences = found.values[first] - found.values[second]
    if found.clusters < 2:
        return [float(value) for value in np.where(np.isnan(differences), np.nan, 1.0)]
    errors = PairErrors(found, first, second)
    scale = np.maximum(found.scale[first], found.scale[second])
    observed = np.abs(divided(differences, errors.of_data(), scale, found.clusters))
    defined = ~np.isnan(observed)
    order = np.lexsort((second, first, -np.where(defined, observed, -1.0)))[: int(defined.sum())]
    extreme = np.zeros(len(order))
    for weights in found.draws(resamples, seed, block):
        drawn = found.drawn_values(weights)
        deviations = drawn[:, first] - drawn[:, second] - differences
        ratios = np.abs(divided(deviations, errors.of_resamples(weights), scale, found.clusters))[:, order]
        ratios[np.isnan(ratios)] = np.inf
        greatest = np.maximum.accumulate(ratios[:, ::-1], axis=1)[:, ::-1]
        extreme += (greatest >= observed[order] * (1 - _TIES)).sum(axis=0)
    p = np.full(len(pairs), np.nan)
    p[order] = np.maximum.accumulate((1 + extreme) / (1 + resamples))
    p[order] = np.maximum(p[order], _least(found, first[order], second[order]))
    p[order] = np.maximum.accumulate(p[order])
    return [float(value) for value in np.where(defined & (observed == 0), 1.0, p)]


def _least(systems: Systems, first: Places, second: Places) -> Floats:
    """What p can be at least: 2 / 2^d with d clusters in which the two systems differ."""
    differing = [
        int((systems.table[:, one] != systems.table[:, other]).any(axis=1).sum())
        for one, other in zip(first, second, strict=True)
    ]
    return np.minimum(1.0, 2.0 / 2.0 ** np.minimum(differing, 60))
