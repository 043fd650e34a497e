"""Values of several systems in the same draws of chance, whatever scheme their metric is resampled by.

Of clusters these are the resamples, of lists the lists drawn again (widened), of pairs that share items draws from
Student's t with the dyadic covariance of the systems' values.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from pmbench.core.metric import Metric
from pmbench.stats.bootstrap import RESAMPLES
from pmbench.stats.clusters import Floats, block_rows
from pmbench.stats.joint import Systems
from pmbench.stats.schemes import Rows, drawn_lists, pair_values

_EQUAL = 1e-12
"""Values this close are equal."""

_STREAM = 4


def joint_values(
    metric: Metric, systems: Sequence[Rows], *, resamples: int = RESAMPLES, seed: int = 0
) -> Iterator[Floats]:
    """Blocks of values, shape (b, S), systems in the order given; nothing where their scheme allows no draw.

    Args:
        metric: of any scheme.
        systems: the rows of each, the same instances in the same order, all of which have the metric.
        resamples, seed: of the draws. The values of a system are the same whatever others are beside it, but for
            pairs that share items, where only how the systems differ is drawn.
    """
    if metric.scheme == "cluster":
        found = Systems(metric, [rows.columns for rows in systems], systems[0].clusters)
        width = found.table.shape[1] * found.table.shape[2]
        for weights in found.draws(resamples, seed, block_rows(32 * found.clusters + 32 * width, None)):
            yield found.drawn_values(weights)[:, found.place]
    elif metric.scheme == "ranking":
        drawn = drawn_lists(metric, systems, resamples, seed)
        if drawn is not None:
            yield drawn
    else:
        yield _dyadic_draws(metric, systems, resamples, seed)


def chances_of_best(
    metric: Metric, systems: Sequence[Rows], *, resamples: int = RESAMPLES, seed: int = 0
) -> tuple[list[float], int]:
    """In which share of the joint draws each system is the best, parted equally among equals.

    Args:
        metric: where neither end is better, more is taken to be.
        systems, resamples, seed: as in `joint_values`.

    Returns:
        The shares, which add up to 1; NaN where there is no draw. And how many draws were left out because a system
        has no value in them.
    """
    sign = -1.0 if metric.higher_is_better is False else 1.0
    leads, counted, undefined = np.zeros(len(systems)), 0, 0
    for drawn in joint_values(metric, systems, resamples=resamples, seed=seed):
        kept = sign * drawn[~np.isnan(drawn).any(axis=1)]
        undefined += len(drawn) - len(kept)
        counted += len(kept)
        if len(kept):
            leading = kept >= kept.max(axis=1, keepdims=True) - _EQUAL
            leads += (leading / leading.sum(axis=1, keepdims=True)).sum(axis=0)
    return (leads / counted).tolist() if counted else [math.nan] * len(systems), undefined


def _dyadic_draws(metric: Metric, systems: Sequence[Rows], resamples: int, seed: int) -> Floats:
    """Values of the systems, shape (resamples, S), drawn around what they are; none where no variance is known.

    From the variances V of the differences the covariance, but for what all systems share, is −JVJ/2 with J taking
    away the mean (as in multidimensional scaling); what is negative in it is left out.
    """
    from pmbench.stats.dyadic import FEWEST_MESSAGES, dyadic_differences

    made = pair_values(metric, systems)
    pairs = list(combinations(range(len(systems)), 2))
    if made is None or not pairs:
        return np.zeros((0, len(systems)))
    first, second, table, wide = made
    differences = dyadic_differences(first, second, table, pairs)
    messages = differences[0].messages
    if messages < FEWEST_MESSAGES or any(math.isnan(one.se) for one in differences):
        return np.zeros((0, len(systems)))
    squares = np.zeros((len(systems), len(systems)))
    for (a, b), one in zip(pairs, differences, strict=True):
        squares[a, b] = squares[b, a] = (wide * one.se) ** 2
    centring = np.eye(len(systems)) - 1 / len(systems)
    sizes, axes = np.linalg.eigh(-centring @ squares @ centring / 2)
    root = axes * np.sqrt(np.maximum(sizes, 0.0))
    generator = np.random.Generator(np.random.PCG64([seed, _STREAM]))
    normal = generator.standard_normal((resamples, len(systems))) @ root.T
    stretch = np.sqrt((messages - 1) / generator.chisquare(messages - 1, resamples))
    values = np.array([float(metric.value(rows.columns.sum(axis=0))) for rows in systems])
    return np.asarray(values + normal * stretch[:, None])
