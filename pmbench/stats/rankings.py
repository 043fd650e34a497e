"""Intervals and differences for lists that were put in order.

A list is one thing: what may be drawn again are its items, and the order is made anew from what is known of them.
Which items are drawn follows how the list was put together:

* So many items of each stratum (level): each stratum is drawn to its own size, and the deviations from the value
  are widened, because items drawn from m with replacement vary by (m − 1)/m of what they should (Rao & Wu, JASA
  83, 1988). Percentiles of the widened deviations are the interval.
* As the items fell: leave one out, the jackknife (Efron & Tibshirani, An Introduction to the Bootstrap, 1993,
  chapter 11), with Student's t.

Two systems are compared on the same draws. For a difference Student's t with the widened standard deviation of the
draws holds its level: in both cases, for the second with all items as one stratum, since the jackknife is wider
than it needs to be there. `benchmarks/inbox_intervals.py` shows how often all of these hold the truth.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple, TypeAlias

import msgspec
import numpy as np

from pmbench.stats.bootstrap import RESAMPLES, at_a_limit
from pmbench.stats.clusters import Floats
from pmbench.stats.dyadic import t_quantile, t_tails
from pmbench.stats.ranking_draws import (
    FEWEST_UNITS,
    Draws,
    Ranking,
    leave_one_out,
    narrow,
    ranking_draws,
    stratum_sizes,
    too_small,
    widening,
    within_strata,
    without_one,
)

__all__ = [
    "FEWEST_UNITS",
    "Ranking",
    "RankingDifference",
    "RankingInterval",
    "Spread",
    "leave_one_out",
    "ranking_difference",
    "ranking_interval",
    "ranking_spread",
    "spread_difference",
    "spread_interval",
    "widened_means",
    "within_strata",
]

Statistic: TypeAlias = Callable[[Draws], Floats]
"""From places of drawn items in the list, shape (B, m), to the statistic of each drawn list, shape (B,)."""

WITHIN = "within strata, widened, percentile"
WITHIN_T = "within strata, widened, t"
JACKKNIFE = "jackknife, t"
DRAWN_T = "all items drawn, widened, t"
MIXED = "within strata and jackknife, t"
MIXED_T = "within strata and all items drawn, widened, t"
NO_VALUE = "a list has no value"
NO_VALUE_DRAWN = "a list has no value when items are drawn again or left out"
NO_SPREAD = "every drawn list has the same value: what other items would change cannot be seen"

_EQUAL = 1e-12  # rounding
_LIMIT = 1e-9  # values of rankings are rounded, limits may be


class RankingInterval(msgspec.Struct, frozen=True):
    """A mean over lists with its interval.

    Attributes:
        value: mean of the lists' values.
        low, high: bounds; NaN where there are none.
        method: how they were found; empty where there are none.
        units: how many items the lists have together.
        rankings: how many lists.
        resamples: how many times each list was drawn.
        undefined: how many of the draws had no value and are left out.
        note: why there are no bounds, or what is special about them; empty otherwise.
    """

    value: float
    low: float
    high: float
    method: str
    units: int
    rankings: int
    resamples: int
    undefined: int = 0
    note: str = ""


class RankingDifference(msgspec.Struct, frozen=True):
    """The difference of two systems on the same lists.

    Attributes:
        difference: mean of the first less mean of the second.
        low, high: bounds; NaN where there are none.
        p: two-sided, that the systems are equally good; NaN where there are no bounds. It is below .05 exactly
            where the interval of 95% leaves 0 out.
        method, units, rankings, resamples, undefined, note: as in `RankingInterval`.
    """

    difference: float
    low: float
    high: float
    p: float
    method: str
    units: int
    rankings: int
    resamples: int
    undefined: int = 0
    note: str = ""


class Spread(NamedTuple):
    """What one system's lists give when their items are drawn again. Systems are compared by their spreads."""

    rankings: tuple[Ranking, ...]
    values: Floats
    """Of the lists themselves, shape (lists,)."""
    drawn: Floats
    """Of the drawn lists, shape (lists, B)."""
    left_out: list[Floats]
    """Without one item, (n,) for each list that has no strata; empty for the others."""
    reason: str
    """Why there is no interval; empty where there is."""


def ranking_interval(
    statistics: Sequence[Statistic],
    values: Sequence[float],
    rankings: Sequence[Ranking],
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
    level: float = 0.95,
    limits: tuple[float, float] | None = None,
) -> RankingInterval:
    """Interval of a mean over lists.

    Args:
        statistics: of each list.
        values: of the lists themselves.
        rankings: the lists. They stand for themselves: the interval is about other items, not other lists.
        resamples, seed: of the draws. A list's draws depend on its name (or `draw`), ids and strata and on nothing
            else, so that all systems and statistics are given the same ones; the order of its items does not matter.
        level: coverage asked for, between 0 and 1.
        limits: the least and the most that the mean over these lists can be; bounds stay inside. Where no draw
            shows any spread at one of them, bounds are those of `bootstrap.at_a_limit`, items being the units.

    Returns:
        Bounds are NaN, with a note, where a list has fewer than `FEWEST_UNITS` items, a stratum of one item, or
        no value.

    Raises:
        ValueError: lengths differ, ids or names occur twice, or the level is outside 0 to 1.
    """
    found = ranking_spread(statistics, values, rankings, resamples=resamples, seed=seed)
    return spread_interval(found, level=level, limits=limits)


def ranking_difference(
    first: Sequence[Statistic],
    second: Sequence[Statistic],
    values_first: Sequence[float],
    values_second: Sequence[float],
    rankings: Sequence[Ranking],
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
    level: float = 0.95,
) -> RankingDifference:
    """Compare two systems on the same lists. For many systems, `ranking_spread` once each and `spread_difference`.

    Args:
        first, second: the two systems' statistics of each list.
        values_first, values_second: of the lists themselves.
        rankings, resamples, seed, level: as in `ranking_interval`.

    Raises:
        ValueError: as there.
    """
    ours, theirs = (
        ranking_spread(statistics, values, rankings, resamples=resamples, seed=seed)
        for statistics, values in ((first, values_first), (second, values_second))
    )
    return spread_difference(ours, theirs, level=level)


def ranking_spread(
    statistics: Sequence[Statistic],
    values: Sequence[float],
    rankings: Sequence[Ranking],
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Spread:
    """Draw the items of one system's lists. Arguments and errors as in `ranking_interval`."""
    if not len(statistics) == len(values) == len(rankings):
        raise ValueError(f"{len(statistics)} statistics and {len(values)} values of {len(rankings)} lists")
    if len({ranking.name for ranking in rankings}) < len(rankings):
        raise ValueError("two lists have the same name")
    if resamples < 2:
        raise ValueError(f"{resamples} resamples")
    own = np.asarray(values, dtype=np.float64)
    reasons = [too_small(ranking) for ranking in rankings]
    reason = next((text for text in reasons if text), "")
    if not len(rankings) or np.isnan(own).any():
        reason = NO_VALUE
    if reason:
        return Spread(tuple(rankings), own, np.zeros((0, resamples)), [], reason)
    drawn: list[Floats] = []
    left_out: list[Floats] = []
    for statistic, ranking in zip(statistics, rankings, strict=True):
        drawn.append(_values(statistic, ranking_draws(ranking, resamples, seed)))
        without = np.zeros(0) if ranking.strata else _values(statistic, without_one(ranking))
        left_out.append(without)
    if _defined(np.stack(drawn))[0].shape[1] < 2 or any(np.isnan(without).any() for without in left_out):
        reason = NO_VALUE_DRAWN
    return Spread(tuple(rankings), own, np.stack(drawn), left_out, reason)


def spread_interval(
    spread: Spread, *, level: float = 0.95, limits: tuple[float, float] | None = None
) -> RankingInterval:
    """`ranking_interval` of what was drawn."""
    alpha, rankings, lists = _alpha(level), spread.rankings, len(spread.rankings)
    units, resamples = sum(len(ranking.units) for ranking in rankings), spread.drawn.shape[1]
    value = float(spread.values.mean()) if lists else math.nan
    if spread.reason:
        return RankingInterval(value, math.nan, math.nan, "", units, lists, resamples, note=spread.reason)
    drawn, undefined = _defined(spread.drawn)
    factors = np.array([widening(stratum_sizes(ranking)) for ranking in rankings])
    designed = [bool(ranking.strata) for ranking in rankings]
    if all(designed):
        method, mean = WITHIN, factors @ (drawn - spread.values[:, None]) / lists
        low, high = (value + np.quantile(mean, [alpha, 1 - alpha])).tolist()
        low, high = (
            min(low, value),
            max(high, value),
        )  # a drawn list can be worse than the list more often than not
    else:
        method = MIXED if any(designed) else JACKKNIFE
        variances = factors**2 * drawn.var(axis=1, ddof=1)
        for index, left_out in enumerate(spread.left_out):
            if not designed[index]:
                variances[index] = (len(left_out) - 1) * left_out.var()
        se, freedom = _of_mean(variances, rankings)
        reach = t_quantile(freedom, 1 - alpha) * se
        low, high = value - reach, value + reach
    note = narrow(rankings)
    if high - low <= _EQUAL:
        low, high, note = *_at_a_limit(value, limits, units, level), NO_SPREAD
    elif limits is not None:
        low, high = max(low, limits[0]), min(high, limits[1])
    return RankingInterval(value, low, high, method, units, lists, resamples, undefined, note)


def spread_difference(first: Spread, second: Spread, *, level: float = 0.95) -> RankingDifference:
    """`ranking_difference` of what was drawn.

    Raises:
        ValueError: the two are not of the same lists and items, or not drawn the same number of times.
    """
    alpha, rankings, lists = _alpha(level), first.rankings, len(first.rankings)
    if [_content(one) for one in rankings] != [_content(one) for one in second.rankings]:
        raise ValueError("the two systems put different lists in order")
    units, resamples = sum(len(ranking.units) for ranking in rankings), first.drawn.shape[1]
    if resamples != second.drawn.shape[1]:
        raise ValueError(f"lists drawn {resamples} times and {second.drawn.shape[1]} times")
    difference = float((first.values - second.values).mean()) if lists else math.nan
    reason = first.reason or second.reason
    drawn, undefined = _defined(first.drawn - second.drawn) if not reason else (first.drawn, 0)
    if not reason and drawn.shape[1] < 2:
        reason = NO_VALUE_DRAWN
    if reason:
        nothing = (math.nan, math.nan, math.nan)
        return RankingDifference(difference, *nothing, "", units, lists, resamples, undefined, reason)
    designed = [bool(ranking.strata) for ranking in rankings]
    method = WITHIN_T if all(designed) else MIXED_T if any(designed) else DRAWN_T
    factors = np.array([widening(stratum_sizes(ranking)) for ranking in rankings])
    se, freedom = _of_mean(factors**2 * drawn.var(axis=1, ddof=1), rankings)
    if se <= _EQUAL:
        low, high, note = difference, difference, NO_SPREAD
        p = 1.0 if abs(difference) <= _EQUAL else 1 / (resamples + 1)
    else:
        reach, note = t_quantile(freedom, 1 - alpha) * se, narrow(rankings)
        low, high, p = difference - reach, difference + reach, t_tails(freedom, difference / se)
    return RankingDifference(difference, low, high, p, method, units, lists, resamples, undefined, note)


def widened_means(spread: Spread) -> Floats:
    """The mean over lists in each draw, shape (B,), its deviations widened; NaN where a drawn list has no value."""
    factors = np.array([widening(stratum_sizes(ranking)) for ranking in spread.rankings])
    deviations = factors @ (spread.drawn - spread.values[:, None]) / len(spread.rankings)
    return np.asarray(spread.values.mean() + deviations)


def _values(statistic: Statistic, draws: Draws) -> Floats:
    found = np.asarray(statistic(draws), dtype=np.float64)
    if found.shape != (len(draws),):
        raise ValueError(f"a statistic of shape {found.shape} for {len(draws)} drawn lists")
    return found


def _content(ranking: Ranking) -> tuple[str, dict[Hashable, Hashable]]:
    strata = ranking.strata or [None] * len(ranking.units)
    return ranking.name, dict(zip(ranking.units, strata, strict=True))


def _defined(drawn: Floats) -> tuple[Floats, int]:
    """The draws for which all lists have a value, and how many have not."""
    kept = ~np.isnan(drawn).any(axis=0)
    return drawn[:, kept], int((~kept).sum())


def _of_mean(variances: Floats, rankings: Sequence[Ranking]) -> tuple[float, float]:
    """Standard error of the mean of independent lists, and degrees of freedom (Satterthwaite 1946).

    A list has as many degrees of freedom as items less strata.
    """
    freedoms = np.array([len(ranking.units) - len(stratum_sizes(ranking)) for ranking in rankings])
    total = float(variances.sum())
    if total <= _EQUAL**2:
        return 0.0, 1.0
    return math.sqrt(total) / len(rankings), 1 / float(((variances / total) ** 2 / freedoms).sum())


def _at_a_limit(
    value: float, limits: tuple[float, float] | None, units: int, level: float
) -> tuple[float, float]:
    """Bounds where no draw shows any spread."""
    for limit in limits or ():
        if limits and limits[0] < limits[1] and abs(value - limit) <= _LIMIT:
            return at_a_limit(limit, limits, units, level)
    return value, value


def _alpha(level: float) -> float:
    """What lies beyond each bound."""
    if not 0 < level < 1:
        raise ValueError(f"a level of {level}")
    return (1 - level) / 2
