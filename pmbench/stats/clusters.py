"""Clusters: the instances that depend on each other, and so are resampled and swapped together."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pmbench.core.metric import Metric

Floats: TypeAlias = NDArray[np.float64]

BLOCK_BYTES = 8 * 2**20
"""Memory that one block of resamples may take; blocks this small also stay near the processor."""


def cluster_sums(columns: Floats, clusters: Sequence[Hashable]) -> Floats:
    """Sum the rows of each cluster.

    Args:
        columns: shape (n, k).
        clusters: the cluster of each row, length n.

    Returns:
        Shape (C, k), clusters in order of their first appearance.

    Raises:
        ValueError: the lengths differ.
    """
    return _sums(columns, clusters, list(dict.fromkeys(clusters)))


def ordered_sums(columns: Floats, clusters: Sequence[Hashable]) -> Floats:
    """`cluster_sums` in the order of the clusters' names.

    A seeded draw then falls on the same clusters whatever the order of the rows: results read from a file in
    the order of arrival get the interval that they had when they were computed.
    """
    return sums_at(columns, *ordered_places(clusters))


def ordered_places(clusters: Sequence[Hashable]) -> tuple[NDArray[np.intp], int]:
    """For each row the place of its cluster in the order of the clusters' names, shape (n,), and how many there are.

    For many tables of the same rows, which `sums_at` then adds up.
    """
    labels = set(clusters)
    if all(type(label) is str for label in labels):
        return _places(clusters, sorted(labels, key=str))  # The same order, several times as fast.
    return _places(clusters, sorted(labels, key=lambda label: (type(label).__name__, str(label))))


def sums_at(columns: Floats, places: NDArray[np.intp], count: int) -> Floats:
    """Sum the rows of each place, shape (count, k).

    Raises:
        ValueError: the lengths differ.
    """
    table = np.asarray(columns, dtype=np.float64)
    if table.ndim != 2 or len(table) != len(places):
        raise ValueError(f"columns of shape {table.shape} for {len(places)} clusters' labels")
    sums = np.zeros((count, table.shape[1]))
    for column in range(table.shape[1]):
        sums[:, column] = np.bincount(places, weights=table[:, column], minlength=count)
    return sums


def informative(table: Floats) -> Floats:
    """The clusters' sums that are not all 0, shape (C', k): a cluster of zeros changes no sum, and tells nothing.

    A theme that five of twenty replies have is known from five clusters.
    """
    return table[table.any(axis=1)]


def informative_clusters(columns: Floats, clusters: Sequence[Hashable]) -> int:
    """How many clusters have a row that is not all 0."""
    there = np.asarray(columns.any(axis=1)).tolist()
    return len({label for label, kept in zip(clusters, there, strict=True) if kept})


def _sums(columns: Floats, clusters: Sequence[Hashable], order: Sequence[Hashable]) -> Floats:
    return sums_at(columns, *_places(clusters, order))


def _places(clusters: Sequence[Hashable], order: Sequence[Hashable]) -> tuple[NDArray[np.intp], int]:
    place = {label: index for index, label in enumerate(order)}
    return np.fromiter((place[label] for label in clusters), dtype=np.intp, count=len(clusters)), len(order)


def require_cluster_scheme(metric: Metric) -> None:
    """Refuse a metric that resampling by cluster would be wrong for.

    Raises:
        ValueError: its scheme is another one.
    """
    if metric.scheme != "cluster":
        raise ValueError(f"metric {metric.name!r} is resampled by {metric.scheme}, not by cluster")


def block_rows(bytes_per_row: int, block: int | None) -> int:
    """Rows of a block: as asked, or what `BLOCK_BYTES` holds."""
    if block is not None:
        if block < 1:
            raise ValueError(f"a block of {block} rows")
        return block
    return max(1, BLOCK_BYTES // max(1, bytes_per_row))
