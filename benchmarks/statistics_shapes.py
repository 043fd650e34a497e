"""Made-up results of the shapes that the tasks have, for `statistics_simulations.py`.

Clusters are of 1 to 5 instances (most of them of one), which share a random effect, as replies to one message do; so
do the systems on one instance. Of many instances the score is 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pmbench.core.metric import F1, Mean, Metric, Ratio

Floats = NDArray[np.float64]
Places = NDArray[np.intp]

SIZES = (1, 1, 1, 1, 1, 2, 2, 3, 5)

Columns = Callable[[np.random.Generator, Floats, Floats, Floats], Floats]
"""From what is shared (R, n, 1), each system's own noise (R, n, S) and what it lacks (S,) to columns (R, n, S, k)."""


class Shape(NamedTuple):
    """A metric and the columns of made-up instances."""

    name: str
    metric: Metric
    columns: Columns


def _zero_heavy(random: np.random.Generator, shared: Floats, own: Floats, worse: Floats) -> Floats:
    """A score between 0 and 1, which is 0 for about four instances of five."""
    zero = random.random(own.shape) < _logistic(1.7 - 0.7 * shared - 0.7 * own + 2 * worse)
    score = np.where(zero, 0.0, random.beta(2, 2, own.shape))
    return np.stack([score, np.ones(own.shape)], axis=-1)


def _right(random: np.random.Generator, shared: Floats, own: Floats, worse: Floats) -> Floats:
    """Right or wrong, right of three in four."""
    right = random.random(own.shape) < _logistic(1.3 + 1.2 * shared + 0.8 * own - 2 * worse)
    return np.stack([right.astype(float), np.ones(own.shape)], axis=-1)


def _recall(random: np.random.Generator, shared: Floats, own: Floats, worse: Floats) -> Floats:
    """A ratio of sums: matches by what could be matched, of which some instances have ten times as much as others."""
    there = 1 + random.poisson(np.exp(0.6 * shared + 0.8), shared.shape)
    skill = _logistic(-0.2 + 0.5 * shared + 0.8 * own - 2 * worse)
    nothing = random.random(own.shape) < 0.4
    matched = np.where(nothing, 0, random.binomial(np.broadcast_to(there, own.shape), skill))
    return np.stack([matched, np.broadcast_to(there, own.shape)], axis=-1).astype(float)


def _counts(random: np.random.Generator, shared: Floats, own: Floats, worse: Floats) -> Floats:
    """Matches, deletions and additions, of which an edit-F1 is made."""
    wanted = random.integers(2, 8, shared.shape)
    skill = _logistic(-1 + 0.8 * shared + 0.8 * own - 2 * worse)
    skill = np.where(random.random(own.shape) < 0.3, 0.0, skill)
    matched = random.binomial(np.broadcast_to(wanted, own.shape), skill)
    deleted = random.poisson(6 * (1 - skill))
    return np.stack([matched, deleted, wanted - matched], axis=-1).astype(float)


SHAPES = (
    Shape("mean, mostly 0", Mean("y", limits=(0.0, 1.0)), _zero_heavy),
    Shape("right or wrong", Mean("y", limits=(0.0, 1.0)), _right),
    Shape("ratio of sums", Ratio("matches", "there"), _recall),
    Shape("F1 of sums", F1("matches", "deletions", "additions"), _counts),
)


def clusters_of(instances: int) -> Places:
    """The cluster of each instance, the same for every dataset of this size."""
    sizes = np.random.default_rng(instances).choice(SIZES, instances)
    return np.repeat(np.arange(instances), sizes)[:instances]


def datasets(
    shape: Shape, random: np.random.Generator, clusters: Places, repetitions: int, worse: Floats
) -> Floats:
    """Sums of clusters of many datasets, shape (R, C, S, k).

    Args:
        shape: of the results; random: generator.
        clusters: of each instance; repetitions: R.
        worse: how much each system lacks, shape (S,); systems that lack as much are equally good.
    """
    effect = random.normal(size=(repetitions, clusters[-1] + 1))[:, clusters]
    shared = (effect + random.normal(size=effect.shape))[..., None] / np.sqrt(2)
    own = random.normal(size=(*shared.shape[:2], len(worse)))
    columns = shape.columns(random, shared, own, worse)
    starts = np.flatnonzero(np.diff(clusters, prepend=-1))
    return np.asarray(np.add.reduceat(columns, starts, axis=1))


def truth(shape: Shape, worse: Floats, instances: int = 1_000_000) -> Floats:
    """The value of each system over very many instances, shape (S,)."""
    random = np.random.default_rng(99)
    alone = np.arange(10_000)
    sums: Floats = sum(
        datasets(shape, random, alone, 1, worse)[0].sum(axis=0) for _ in range(instances // 10_000)
    )
    return np.asarray(shape.metric.value(sums))


def _logistic(x: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-x)))
