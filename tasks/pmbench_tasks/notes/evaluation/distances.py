"""Distances within and between what the questions cover (section 5.1, Table 2).

A question's cluster is the feedback that it covers. Distance is one minus the cosine, of vectors of any embedder
brought to length 1 first (the paper's are of text-embedding-3-large, and it does not name its distance). Both numbers
are exact, over all pairs: with unit vectors e, the m items of a cluster have Σ_{i≠j} e_i·e_j = |Σ e|² − m, so no pair
has to be visited and none is sampled.

Intervals are by the jackknife: every item is left out once, θ(i), and the standard error is
√((n − 1)/n · Σ(θ(i) − θ(·))²), with Student's t of n − 1 degrees of freedom (Efron & Tibshirani, An Introduction to
the Bootstrap, 1993, equation 11.5). No bootstrap: a centroid of few items lies apart from the others by chance alone,
and one of a resample, in which a third of the items do not stand and others stand twice, does so once more. In
simulations (`benchmarks/distance_intervals.py`: 4 to 10 questions, 16 to 200 items) percentile intervals of the
distance between centroids held its expected value in 17 to 85% of data sets, often without holding the number that
they were made for; those of the jackknife did in 90 to 97%, and those of the distance within clusters in 95 to 98%.
That expected value is one *for as many items*: with more feedback the distance between centroids becomes less, so
that two checklists are compared over the same feedback and no others.
"""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from pmbench_tasks.notes.evaluation.covering import ITEM, coverage_matrix, known_items
from pmbench_tasks.notes.evaluation.intervals import NAN, Estimate, Floats, nothing, with_missing

_MOST = 2.0
"""The greatest cosine distance: of opposite vectors."""

_CELLS = 2_000_000


class Distances(msgspec.Struct, frozen=True, kw_only=True):
    """Table 2's two distances.

    Attributes:
        intra: mean over questions of the mean distance between two items that the question covers; less is better.
            Questions that cover fewer than two items have none and are left out.
        inter: mean over pairs of questions of the distance between their centroids; more is better. Questions that
            cover nothing have no centroid. With the same questions it is greater the fewer items they cover.
        by_question: intra of each question, NaN where undefined.
        without_pairs, without_items: how many questions were left out of either.
    """

    intra: Estimate
    inter: Estimate
    by_question: tuple[float, ...]
    without_pairs: int
    without_items: int


def unit_vectors(embeddings: ArrayLike) -> Floats:
    """The vectors at length 1, (n, d); a vector of zeros has no direction.

    Raises:
        ValueError: no (n, d) of finite numbers, or a vector of zeros.
    """
    table = np.asarray(embeddings, dtype=np.float64)
    if table.ndim != 2 or not np.isfinite(table).all():
        raise ValueError("embeddings must be finite numbers of shape (items, dimensions)")
    length = np.linalg.norm(table, axis=1, keepdims=True)
    if not (length > 0).all():
        raise ValueError("an embedding of length 0 has no direction")
    unit: Floats = table / length
    return unit


def cluster_distances(matrix: ArrayLike, embeddings: ArrayLike) -> Distances:
    """Intra- and inter-cluster distance with intervals by feedback item, by the jackknife.

    Args:
        matrix: coverage, (k, n): 1, 0 or NaN; items with a missing answer are left out.
        embeddings: of the feedback items, (n, d), none of length 0.

    Raises:
        ValueError: shapes that do not fit, or as in `unit_vectors`.
    """
    table = coverage_matrix(matrix)
    vectors = unit_vectors(embeddings)
    if table.shape[1] != len(vectors):
        raise ValueError(f"coverage of {table.shape[1]} feedback items and {len(vectors)} embeddings")
    missing = int(np.isnan(table).sum())
    known = known_items(table)
    table, vectors = table[:, known], vectors[known]
    total, sums = table.sum(axis=1), table @ vectors
    each, between = _both(total[None], sums[None])
    without = _each_left_out(table, vectors, total, sums)
    value = float(_mean(each)[0]), float(between[0])
    intra, inter = (jackknifed(*one) for one in zip(value, without, strict=True))
    if missing and not len(vectors):
        intra = inter = nothing(ITEM, "no answers")
    return Distances(
        intra=with_missing(intra, missing, NAN, NAN),
        inter=with_missing(inter, missing, NAN, NAN),
        by_question=tuple(each[0].tolist()),
        without_pairs=int(np.isnan(each[0]).sum()),
        without_items=int((total == 0).sum()),
    )


def jackknifed(value: float, without: Floats) -> Estimate:
    """A distance with its interval.

    Args:
        value: over all items.
        without: over all but one, for each of them, (n,); NaN where it is undefined then.
    """
    from scipy.stats import t

    count = len(without)
    if value != value:
        return nothing(
            ITEM, "no two items or clusters to compare" if count else f"there is no {ITEM}", units=count
        )
    there = without[~np.isnan(without)]
    low = high = NAN
    if len(there) >= 2:
        spread = float(((there - there.mean()) ** 2).sum())
        reach = float(t.ppf(0.975, len(there) - 1)) * (spread * (len(there) - 1) / len(there)) ** 0.5
        low, high = max(0.0, value - reach), min(_MOST, value + reach)
    return Estimate(value=value, low=low, high=high, unit=ITEM, units=count, undefined=count - len(there))


def _each_left_out(matrix: Floats, vectors: Floats, total: Floats, sums: Floats) -> tuple[Floats, Floats]:
    """Both distances over all items but one, for each of them, (n,) and (n,)."""
    step = max(1, _CELLS // max(1, sums.size))
    parts = []
    for start in range(0, len(vectors), step):
        own = matrix[:, start : start + step].T
        each, between = _both(total - own, sums - own[..., None] * vectors[start : start + step, None])
        parts.append(np.stack([_mean(each), between]))
    both = np.concatenate(parts, axis=1) if parts else np.zeros((2, 0))
    return both[0], both[1]


def _both(total: Floats, sums: Floats) -> tuple[Floats, Floats]:
    """Intra of each question, (b, k), and inter, (b,).

    Args:
        total: items of each cluster, (b, k).
        sums: of the unit vectors of its items, (b, k, d).
    """
    pairs = total * (total - 1)
    length = (sums**2).sum(axis=2)
    enough = pairs > 0
    intra = np.where(enough, 1 - (length - total) / np.where(enough, pairs, 1), NAN)
    norm = np.sqrt(length)
    # A sum of opposite vectors is nothing but rounding: it has no direction.
    there = norm > 1e-9 * np.maximum(total, 1)
    directions = np.where(there[..., None], sums / np.where(there, norm, 1)[..., None], 0.0)
    clusters = there.sum(axis=1)
    together = (directions.sum(axis=1) ** 2).sum(axis=1) - clusters
    number = clusters * (clusters - 1)
    inter = np.where(number > 0, 1 - together / np.where(number > 0, number, 1), NAN)
    return intra, inter


def _mean(each: Floats) -> Floats:
    """Mean over the questions that have a value, (b,)."""
    there = ~np.isnan(each)
    count = there.sum(axis=1)
    total = np.where(there, each, 0.0).sum(axis=1)
    return np.where(count > 0, total / np.where(count > 0, count, 1), NAN)
