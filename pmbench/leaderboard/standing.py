"""Letters and ranks of the systems of a table, from the tests that the table itself shows.

Two systems have a letter in common exactly where the table cannot tell them apart, a system may not stand before
those that the tests find better nor behind those that they find worse (`stats.rank_intervals`): the sentence in
words, p, letters and ranks say the same, also where pairs are tested on other instances than those of the values.
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

FEWEST_FOR_CHANCES = 10
"""Clusters, or messages of pairs and inboxes, below which no chance of being best is told. Where one of C clusters
alone makes a system lead, it leads in 1 − ½(1 − 1/C)^C of the data sets drawn again: in 84% of those of 4 clusters,
though no test of 4 clusters can find anything. Draws of so few also spread far too little: percentiles of 8 clusters
hold the truth in 87% (`bootstrap.FEW_CLUSTERS`)."""

_LEADS = 0.5
"""A chance of being best from which on a reader may take it for a proof."""


def standings(
    metric: Metric,
    values: Sequence[float],
    pairs: Sequence[PairTested],
    chances: Mapping[int, float],
    *,
    alpha: float,
    whole: Sequence[bool] | None = None,
) -> list[Standing]:
    """Letters, rank and chance of each system.

    Args:
        metric: the primary one.
        values: of the systems in order of their rows, NaN last.
        pairs: the tests of every two, by number of the row (from 1).
        chances: of being best, by place (from 0).
        alpha: the level of the tests.
        whole: which systems have scored enough to have a place; None: all.

    Returns:
        A system without a value, or that was tested against no other, has no letter and no rank; one that is not
        whole has letters alone, and does not count for the ranks of others.
    """
    placed = [True] * len(values) if whole is None else whole
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
        if not (placed[first] and placed[second]):
            continue
        ahead, behind = (second, first) if pair.second_ahead(metric.higher_is_better) else (first, second)
        better[behind] += 1
        worse[ahead] += 1
    sign = -1.0 if metric.higher_is_better is False else 1.0
    ranked = [value for value, has in zip(values, placed, strict=True) if has]
    valued = sum(not math.isnan(value) for value in ranked)
    found = []
    for system, value in enumerate(values):
        if system not in place or metric.higher_is_better is None or not placed[system]:
            found.append(Standing(letters[place[system]] if system in place else ""))
            continue
        rank = 1 + sum(sign * (other - value) > _EQUAL for other in ranked)
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
    """How likely each system is to be the best, by its place; nothing where that is not known, or not to be told.

    Fewer than `FEWEST_FOR_CHANCES` clusters (messages, of pairs and inboxes) have none.

    Args:
        metric: the primary one.
        valued: places of the systems that have a value; rows: of each, over the instances that all of them have.
        statistics: how many draws, by which seed.
    """
    if len(rows) < 2 or metric.higher_is_better is None or drawn_units(metric, rows[0]) < FEWEST_FOR_CHANCES:
        return {}
    shares, _ = chances_of_best(metric, rows, resamples=statistics.resamples, seed=statistics.seed)
    return {place: share for place, share in zip(valued, shares, strict=True) if not math.isnan(share)}


def drawn_units(metric: Metric, rows: Rows) -> int:
    """How many of what is drawn again: clusters, or messages of pairs and inboxes."""
    if metric.scheme == "cluster":
        return len(set(rows.clusters))
    return len({unit for units in rows.units for unit in units})


def standing_notes(
    metric: Metric,
    values: Sequence[float],
    pairs: Sequence[PairTested],
    correction: Correction,
    instances: tuple[int, int],
    drawn: int,
    standings: Sequence[Standing],
) -> Iterator[str]:
    """What a reader of letters, ranks and chances has to know.

    Args:
        metric, pairs: as in `standings`; values: of the systems that have a place, NaN of others.
        correction: that was used.
        instances: that all systems have scored, and the most that one has.
        drawn: of how many clusters or messages those are; standings: of the systems.
    """
    if len(pairs) and correction == "benjamini-hochberg":
        yield (
            "By Benjamini–Hochberg about one in twenty of the differences that are found may be none; the places of"
            " all systems together are less sure than by Holm."
        )
    if sum(not math.isnan(value) for value in values) > 1 and metric.higher_is_better is not None:
        yield from _on_chances(metric, instances, drawn, standings)
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


def _on_chances(
    metric: Metric, instances: tuple[int, int], drawn: int, standings: Sequence[Standing]
) -> Iterator[str]:
    """On what the chances of being best are, why there are none, and that they prove nothing."""
    if not instances[0]:
        yield "No instance was scored by all systems: there is no chance of being best."
    elif drawn < FEWEST_FOR_CHANCES:
        noun = "cluster" if metric.scheme == "cluster" else "message"
        yield (
            f"No chance of being best is told of {counted(drawn, noun)}: with fewer than {FEWEST_FOR_CHANCES} a"
            " single one may decide it."
        )
    elif instances[0] < instances[1]:
        on = counted(instances[0], "instance")
        yield f"Chances of being best are those on the {on} that all systems have scored."
    for place, one in enumerate(standings, start=1):
        alike = [
            other
            for other, another in enumerate(standings, start=1)
            if other != place and set(one.letters) & set(another.letters) and another.rank is not None
        ]
        if one.best is not None and one.best >= _LEADS and alike:
            yield (
                f"A chance of being best is no proof: row {place} has {one.best_text}, and cannot be told apart from"
                f" {rows_text(alike).lower()}."
            )
            break
