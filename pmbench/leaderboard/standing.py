"""Letters and ranks of the systems of a table, from the tests that the table itself shows.

Two systems have a letter in common exactly where the table cannot tell them apart, a system may not stand before
those that are better beyond doubt nor behind those that are worse (`stats.rank_intervals`): the sentence in words, p,
letters and ranks say the same, also where pairs are tested on other instances than those that the values are of.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from pmbench.core.metric import Metric
from pmbench.leaderboard.tested import Correction, PairTested, Resampling, Standing
from pmbench.leaderboard.wording import counted, rows_text
from pmbench.stats.joint_draws import chances_of_best
from pmbench.stats.letters import compact_letters
from pmbench.stats.schemes import Rows

_EQUAL = 1e-12
"""Values this close are equal."""


def standings(
    metric: Metric,
    values: Sequence[float],
    pairs: Sequence[PairTested],
    chances: Mapping[int, float],
    *,
    alpha: float,
) -> list[Standing]:
    """Letters, rank and chance of each system.

    Args:
        metric: the primary one.
        values: of the systems in order of their rows, NaN last.
        pairs: the tests of every two, by number of the row (from 1).
        chances: of being best, by place (from 0).
        alpha: the level of the tests.

    Returns:
        A system without a value, or that was tested against no other, has no letter and no rank.
    """
    tested = sorted(
        {one - 1 for pair in pairs if pair.p_adjusted is not None for one in (pair.first, pair.second)}
    )
    place = {system: index for index, system in enumerate(tested)}
    apart = [pair for pair in pairs if pair.differs(alpha)]
    letters = compact_letters(
        len(tested), [(place[pair.first - 1], place[pair.second - 1]) for pair in apart]
    )
    better, worse = np.zeros(len(values), dtype=int), np.zeros(len(values), dtype=int)
    for pair in apart:
        first, second = pair.first - 1, pair.second - 1
        ahead, behind = (second, first) if pair.second_ahead(metric.higher_is_better) else (first, second)
        better[behind] += 1
        worse[ahead] += 1
    sign = -1.0 if metric.higher_is_better is False else 1.0
    valued = sum(not math.isnan(value) for value in values)
    found = []
    for system, value in enumerate(values):
        if system not in place or metric.higher_is_better is None:
            found.append(Standing(letters[place[system]] if system in place else ""))
            continue
        rank = 1 + sum(sign * (other - value) > _EQUAL for other in values)
        found.append(
            Standing(
                letters[place[system]],
                rank,
                1 + int(better[system]),
                valued - int(worse[system]),
                chances.get(system),
            )
        )
    return found


def chances_by_place(
    metric: Metric, valued: Sequence[int], rows: Sequence[Rows], statistics: Resampling
) -> dict[int, float]:
    """How likely each system is to be the best, by its place; nothing where that is not known.

    Args:
        metric: the primary one.
        valued: places of the systems that have a value; rows: of each, over the instances that all of them have.
        statistics: how many draws, by which seed.
    """
    if len(rows) < 2 or metric.higher_is_better is None:
        return {}
    shares, _ = chances_of_best(metric, rows, resamples=statistics.resamples, seed=statistics.seed)
    return {place: share for place, share in zip(valued, shares, strict=True) if not math.isnan(share)}


def standing_notes(
    metric: Metric,
    values: Sequence[float],
    pairs: Sequence[PairTested],
    correction: Correction,
    instances: tuple[int, int],
) -> Iterator[str]:
    """What a reader of letters, ranks and chances has to know.

    Args:
        metric, values, pairs: as in `standings`.
        correction: that was used.
        instances: that all systems have scored, and the most that one has.
    """
    if len(pairs) and correction == "benjamini-hochberg":
        yield (
            "By Benjamini–Hochberg about one in twenty of the differences that are found may be none; the places of"
            " all systems together are less sure than by Holm."
        )
    valued = {place + 1 for place, value in enumerate(values) if not math.isnan(value)}
    if len(valued) > 1 and metric.higher_is_better is not None and instances[0] < instances[1]:
        on = counted(instances[0], "instance")
        yield (
            f"Chances of being best are those on the {on} that all systems have scored."
            if instances[0]
            else "No instance was scored by all systems: there is no chance of being best."
        )
    tested = {one for pair in pairs if pair.p_adjusted is not None for one in (pair.first, pair.second)}
    lacking = {
        one
        for pair in pairs
        if pair.p_adjusted is None and {pair.first, pair.second} <= tested
        for one in (pair.first, pair.second)
    }
    if lacking:
        rows = rows_text(sorted(lacking))
        yield f"{rows}: not all pairs could be tested; a letter in common says nothing of those."
