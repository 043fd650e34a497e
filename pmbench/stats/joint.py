"""Many systems on the same resamples of clusters: their values, and the standard error of each difference.

The systems are taken in an order that their numbers decide, so that neither the order in which they are given nor the
rounding of a matrix product that depends on it can change a result.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from pmbench.core.metric import Metric
from pmbench.stats.bootstrap import cluster_draws
from pmbench.stats.checks import UnusableNumbers, finite_table
from pmbench.stats.clusters import BLOCK_BYTES, Floats, block_rows, ordered_sums, require_cluster_scheme
from pmbench.stats.linearised import gradients, standard_error, step_sizes
from pmbench.stats.studentised import scale_of

Places = NDArray[np.intp]
Pair = tuple[int, int]


class Systems:
    """The clusters' sums of several systems in their own order.

    Attributes:
        place: for each system as given, where it stands here.
        values, scale: in this order, shape (S,), and the size of what each is made from.
        clusters: how many.
    """

    def __init__(self, metric: Metric, systems: Sequence[Floats], clusters: Sequence[Hashable]) -> None:
        require_cluster_scheme(metric)
        checked = [finite_table(f"system {number}", columns) for number, columns in enumerate(systems)]
        given = [ordered_sums(table, clusters) for table in checked]
        if any(table.shape != given[0].shape for table in given):
            raise UnusableNumbers("systems with different columns")
        order = sorted(range(len(given)), key=lambda number: given[number].tobytes())
        self.place = np.argsort(np.asarray(order, dtype=np.intp))
        self.metric, self.clusters = metric, len(set(clusters))
        shape = (self.clusters, len(given), given[0].shape[1] if given else 0)
        self.table = np.stack([given[number] for number in order], axis=1) if given else np.zeros(shape)
        totals = self.table.sum(axis=0)
        self.values = np.asarray(metric.value(totals), dtype=np.float64) if given else np.zeros(0)
        own = [self.table[:, number] for number in range(len(given))]
        self.steps = [step_sizes(table) for table in own]
        self.scale = np.array(
            [
                scale_of(value, standard_error(metric, table), self.clusters)
                for value, table in zip(self.values.tolist(), own, strict=True)
            ]
        )

    def draws(self, resamples: int, seed: int, block: int | None = None) -> Iterator[Floats]:
        """Blocks of resamples: how often each cluster was drawn, shape (b, C). Those of `bootstrap`."""
        if self.clusters < 2 or not len(self.values):
            return
        width = self.table.shape[1] * self.table.shape[2]
        # Pairs of systems make S²/2 numbers of a resample; a block also holds a few arrays of that shape.
        yield from cluster_draws(
            self.clusters,
            resamples,
            seed,
            block_rows(32 * self.clusters + 16 * width + 32 * len(self.values) ** 2, block),
        )

    def drawn_values(self, weights: Floats) -> Floats:
        """Values of resamples, shape (b, S)."""
        return np.asarray(self.metric.value(self.drawn_sums(weights)), dtype=np.float64)

    def drawn_sums(self, weights: Floats) -> Floats:
        """Sums of resamples, shape (b, S, k)."""
        clusters, systems, k = self.table.shape
        return (weights @ self.table.reshape(clusters, systems * k)).reshape(len(weights), systems, k)


class PairErrors:
    """Standard errors of the differences of pairs of systems, in the data and in resamples.

    Args:
        systems: in their own order; first, second: places in that order, shape (P,).
    """

    def __init__(self, systems: Systems, first: Places, second: Places) -> None:
        self.systems, self.first, self.second = systems, first, second
        count = len(systems.values)
        one, other = np.triu_indices(count)
        self._number = np.zeros((count, count), dtype=np.intp)
        self._number[one, other] = self._number[other, one] = np.arange(len(one))
        wanted = {*self._number[first, second].tolist()}
        wanted |= {self._number[system, system] for system in {*first.tolist(), *second.tolist()}}
        self._kept = np.array(sorted(wanted), dtype=np.intp)
        self._place = np.zeros(len(one), dtype=np.intp)
        self._place[self._kept] = np.arange(len(self._kept))
        self._one, self._other = one[self._kept], other[self._kept]
        table = systems.table
        bytes_of_pair = 8 * len(table) * table.shape[2] ** 2
        self._chunk = max(1, 4 * BLOCK_BYTES // bytes_of_pair)
        self._only: Floats | None = None
        if len(self._kept) <= self._chunk:
            self._only = self._products(slice(None))

    def of_data(self) -> Floats:
        """Standard errors in the data, shape (P,)."""
        return np.asarray(self.of_resamples(np.ones((1, self.systems.clusters)))[0])

    def of_resamples(self, weights: Floats) -> Floats:
        """Standard errors within resamples, shape (b, P); NaN where a difference has no derivative."""
        systems, clusters = self.systems, self.systems.clusters
        sums = systems.drawn_sums(weights)
        slopes = np.stack(
            [gradients(systems.metric, sums[:, number], steps) for number, steps in enumerate(systems.steps)],
            axis=1,
        )
        forms = np.empty((len(weights), len(self._kept)))
        for start in range(0, len(self._kept), self._chunk):
            part = slice(start, start + self._chunk)
            products = self._only if self._only is not None else self._products(part)
            k = systems.table.shape[2]
            moments = (weights @ products).reshape(len(weights), -1, k, k)
            half = np.einsum("bpij,bpj->bpi", moments, slopes[:, self._other[part]])
            forms[:, part] = np.einsum("bpi,bpi->bp", slopes[:, self._one[part]], half)
        level = np.einsum("bsk,bsk->bs", slopes, sums)
        at = self._place[self._number[self.first, self.second]]
        own = self._place[np.diag(self._number)]
        squares = forms[:, own[self.first]] + forms[:, own[self.second]] - 2 * forms[:, at]
        squares -= (level[:, self.first] - level[:, self.second]) ** 2 / clusters
        return np.asarray(np.sqrt(np.maximum(squares, 0.0) * clusters / (clusters - 1)))

    def _products(self, part: slice) -> Floats:
        """s_a s_bᵀ of each cluster for pairs of systems, shape (C, p · k²)."""
        table = self.systems.table
        products = table[:, self._one[part], :, None] * table[:, self._other[part], None, :]
        return np.asarray(products.reshape(len(table), -1))
