"""Where each system may stand: ranks with intervals, and how likely each is to be the best.

Two ways that answer different questions:

* `bootstrap_ranks`: the ranks in resamples of the clusters, all systems on the same ones. Their percentiles are an
  interval for each system by itself, and the share of resamples that it leads is its chance of being best of these
  systems on other data of this kind. Where systems are equal, intervals of this kind are too narrow.
* `ranks_from_differences`: a system stands behind those that are better beyond doubt and before those that are worse.
  From p-values adjusted so that no true hypothesis is likely to be rejected (Holm, max-T) all these intervals hold
  together (Mogstad, Romano, Shaikh & Wilhelm, Review of Economic Studies 91, 2024), equal systems or not.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

import msgspec
import numpy as np

from pmbench.core.metric import Metric
from pmbench.stats.bootstrap import RESAMPLES
from pmbench.stats.checks import UnusableNumbers, require_level
from pmbench.stats.clusters import Floats
from pmbench.stats.joint import Pair, Systems

_EQUAL = 1e-12
"""Values this close are equal."""


class Rank(msgspec.Struct, frozen=True):
    """Where a system stands.

    Attributes:
        rank: 1 + how many systems are better; NaN where it has no value.
        low, high: the best and the worst rank that it may have.
        best: share of resamples in which it is the best, parted equally among equals; NaN where not drawn.
        undefined: resamples left out because a system had no value in them.
    """

    rank: float
    low: float
    high: float
    best: float = float("nan")
    undefined: int = 0


class RankTally:
    """Counts ranks over blocks of drawn values; memory does not depend on how many are drawn.

    Args:
        systems: how many.
        higher_is_better: False: the smallest value is the best.
    """

    def __init__(self, systems: int, higher_is_better: bool = True) -> None:
        self.sign = 1.0 if higher_is_better else -1.0
        self.first, self.last = (np.zeros((systems, systems + 1), dtype=np.int64) for _ in range(2))
        self.leads = np.zeros(systems)
        self.counted = self.undefined = 0

    def add(self, drawn: Floats) -> None:
        """Values of the systems in resamples, shape (b, S)."""
        kept = self.sign * drawn[~np.isnan(drawn).any(axis=1)]
        self.undefined += len(drawn) - len(kept)
        self.counted += len(kept)
        for system in range(kept.shape[1]):
            gaps = kept - kept[:, [system]]
            ahead, behind = (gaps > _EQUAL).sum(axis=1), (gaps < -_EQUAL).sum(axis=1)
            self.first[system] += np.bincount(ahead, minlength=kept.shape[1] + 1)
            self.last[system] += np.bincount(kept.shape[1] - 1 - behind, minlength=kept.shape[1] + 1)
            leading = ahead == 0
            self.leads[system] += (leading / (kept.shape[1] - behind)).sum()

    def ranks(self, values: Floats, level: float) -> list[Rank]:
        """Each system's rank by its value, with the percentiles of those that were counted."""
        alpha = require_level(level)
        found = []
        for system, value in enumerate(values.tolist()):
            rank = 1.0 + float((self.sign * values - self.sign * value > _EQUAL).sum())
            if np.isnan(values).any():
                rank = float("nan")
            low = high = best = float("nan")
            if self.counted:
                low = 1.0 + _percentile(self.first[system], alpha)
                high = 1.0 + _percentile(self.last[system], 1 - alpha)
                best = float(self.leads[system] / self.counted)
            found.append(Rank(rank, min(low, rank), max(high, rank), best, self.undefined))
        return found


def bootstrap_ranks(
    metric: Metric,
    systems: Sequence[Floats],
    clusters: Sequence[Hashable],
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
    level: float = 0.95,
    block: int | None = None,
) -> list[Rank]:
    """Ranks from the joint bootstrap by cluster; see the module for when to use them.

    Args:
        metric: a formula over sums, of scheme `cluster`; the smallest value is the best where it says so.
        systems: what `metric.columns` gave for each, shape (n, k), row by row the same instances.
        clusters: the cluster of each row, length n.
        resamples, seed, block: of the bootstrap, whose draws are those of `bootstrap_interval`.
        level: of the interval.

    Returns:
        A rank for each system, the same whatever their order. Equal systems share the better rank.

    Raises:
        UnusableNumbers: NaN in the columns, or systems with different columns.
        ValueError: lengths differ, or the metric is resampled in another way.
    """
    found = Systems(metric, systems, clusters)
    tally = RankTally(len(systems), metric.higher_is_better is not False)
    for weights in found.draws(resamples, seed, block):
        tally.add(found.drawn_values(weights))
    ranks = tally.ranks(found.values, level)
    return [ranks[place] for place in found.place.tolist()]


def ranks_from_differences(
    values: Sequence[float], different: Iterable[Pair], higher_is_better: bool = True
) -> list[Rank]:
    """Ranks that the differences of systems leave open.

    Args:
        values: of each system; NaN: it may stand anywhere.
        different: the pairs of systems that differ, from p-values adjusted over all pairs.
        higher_is_better: False: the smallest value is the best.

    Returns:
        For each system 1 + how many are better beyond doubt, to all but those that are worse beyond doubt.

    Raises:
        UnusableNumbers: a pair that is not of two of the systems, or whose values do not differ.
    """
    sign = 1.0 if higher_is_better else -1.0
    table = sign * np.asarray(values, dtype=np.float64)
    better, worse = np.zeros(len(table)), np.zeros(len(table))
    for one, other in {(min(pair), max(pair)) for pair in different}:
        if one == other or not 0 <= one < other < len(table) or not table[one] != table[other]:
            raise UnusableNumbers(f"{(one, other)} is no pair of two systems of different value")
        ahead, behind = (one, other) if table[one] > table[other] else (other, one)
        better[behind] += 1
        worse[ahead] += 1
    return [
        Rank(
            float("nan") if np.isnan(value) else 1.0 + float((table - value > _EQUAL).sum()),
            1.0 + better[system],
            len(table) - worse[system],
        )
        for system, value in enumerate(table.tolist())
    ]


def _percentile(counts: Floats, share: float) -> float:
    """The least number that holds at least this share of what was counted."""
    return float(np.searchsorted(np.cumsum(counts), share * counts.sum() * (1 - 1e-12)))
