"""Distances within and between what the questions cover (section 5.1, Table 2).

A question's cluster is the feedback that it covers. Distance is one minus the cosine, of vectors of any embedder
brought to length 1 first (the paper's are of text-embedding-3-large, and it does not name its distance). Both numbers
are exact, over all pairs: with unit vectors e, the m items of a cluster have Σ_{i≠j} e_i·e_j = |Σ e|² − m, so no pair
has to be visited and none is sampled.
"""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from pmbench_tasks.notes.evaluation.covering import ITEM, coverage_matrix, known_items
from pmbench_tasks.notes.evaluation.intervals import (
    NAN,
    Estimate,
    Floats,
    bounded,
    drawn_counts,
    with_missing,
)

RESAMPLES = 1_000
"""Fewer than elsewhere: each one needs the centroids anew."""


class Distances(msgspec.Struct, frozen=True, kw_only=True):
    """Table 2's two distances.

    Attributes:
        intra: mean over questions of the mean distance between two items that the question covers; less is better.
            Questions that cover fewer than two items have none and are left out.
        inter: mean over pairs of questions of the distance between their centroids; more is better. Questions that
            cover nothing have no centroid.
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


def cluster_distances(
    matrix: ArrayLike, embeddings: ArrayLike, *, resamples: int = RESAMPLES, seed: int = 0
) -> Distances:
    """Intra- and inter-cluster distance with intervals by feedback item.

    In a resample an item drawn twice is no pair with itself: that distance of 0 is no distance of two items, and
    with it every resample would lie too low.

    Args:
        matrix: coverage, (k, n): 1, 0 or NaN; items with a missing answer are left out.
        embeddings: of the feedback items, (n, d), none of length 0.
        resamples, seed: of the bootstrap.

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
    items = table.shape[1]
    once = np.ones((1, items))
    each, between = _both(table, vectors, once)
    width = 1 + 3 * table.shape[0] * vectors.shape[1] // max(1, items)
    drawn = [
        np.stack([_mean(one), two])
        for counts in drawn_counts(items, resamples, seed, width=width)
        for one, two in [_both(table, vectors, counts)]
    ]
    values = np.concatenate(drawn, axis=1) if drawn and items else np.zeros((2, 0))
    intra = bounded(float(_mean(each)[0]), values[0], items, unit=ITEM)
    inter = bounded(float(between[0]), values[1], items, unit=ITEM)
    return Distances(
        intra=with_missing(intra, missing, NAN, NAN),
        inter=with_missing(inter, missing, NAN, NAN),
        by_question=tuple(each[0].tolist()),
        without_pairs=int(np.isnan(each[0]).sum()),
        without_items=int((table.sum(axis=1) == 0).sum()),
    )


def _both(matrix: Floats, vectors: Floats, counts: Floats) -> tuple[Floats, Floats]:
    """Intra of each question, (b, k), and inter, (b,), of items drawn so often as `counts` (b, n) says."""
    shape = len(counts), len(matrix)
    total, squares = np.zeros(shape), np.zeros(shape)
    sums = np.zeros((*shape, vectors.shape[1]))
    for place, row in enumerate(matrix):
        weights = counts[:, row == 1]
        total[:, place] = weights.sum(axis=1)
        squares[:, place] = (weights**2).sum(axis=1)
        sums[:, place] = weights @ vectors[row == 1]
    pairs = total**2 - squares
    length = (sums**2).sum(axis=2)
    enough = pairs > 0
    intra = np.where(enough, 1 - (length - squares) / np.where(enough, pairs, 1), NAN)
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
