"""Sums that a judge gives of all rows, corrected by people's of some: what prediction-powered values are made of.

Rows have k columns whose sums a formula makes a value of. With ȳ the means of people's columns over n labelled rows,
f̄ those of the judge's over the same rows, and ḡ over N others, the corrected means are m = ȳ + λ (ḡ − f̄) and the
value is formula(m · (n + N)). λ is one for all columns: the one with the least variance of the linearised value. With
∇ the formula's gradient and u = ∇·y, v = ∇·f it is cov(u, v) / ((1 + n/N) var(v)), kept between 0 and 1 (power
tuning: Angelopoulos, Duchi & Zrnic, PPI++, arXiv 2311.01453, where ∇ is a row of the inverse Hessian of a loss). ∇ is
first taken at the labelled rows alone, then at the estimate with the λ that this gives. Of a plain mean ∇ is the same
everywhere, and the estimate is the paper's.

Covariances and variances are taken from sums over clusters, so that rows of one cluster count as the one thing that
they are. That labelled and other rows may share clusters, which makes ȳ, f̄ and ḡ correlated, is left out of λ: it is
then not quite the one with the least variance. The estimate is right for any λ, and the jackknife's error has it. All
that the estimate is made of adds up over clusters, so that it can be made again without each of them.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from pmbench.stats.bootstrap import Valued
from pmbench.stats.clusters import Floats, ordered_sums
from pmbench.stats.linearised import gradients, step_sizes

_ROUNDING = 1e-12


class CorrectedSums:
    """The estimate from sums over clusters (`table`), with a given weight or the best one; a `Valued`.

    Args:
        formula: value of sums of columns, shape (..., k) to (...).
        people: their columns of the labelled rows, shape (n, k).
        judge, rest: the judge's columns of the labelled rows and of the others, shapes (n, k) and (N, k).
        clusters: the cluster of each row, labelled ones first, length n + N.
        weight: λ; None: the best one.

    Attributes:
        table: what the estimate is made of, for each cluster in order of their names, shape (C, w).
    """

    def __init__(
        self,
        formula: Valued,
        people: Floats,
        judge: Floats,
        rest: Floats,
        clusters: Sequence[Hashable],
        weight: float | None = None,
    ) -> None:
        self.formula, self.fixed = formula, weight
        self._rows, self._k = len(people) + len(rest), people.shape[1]
        self._shift = np.concatenate([judge, rest]).mean(axis=0)  # nearer to 0, squares lose fewer digits
        self._steps = step_sizes(people * (self._rows / len(people)))
        self.table = self._of_clusters(people, judge, rest, clusters)

    def with_weight(self, weight: float) -> CorrectedSums:
        """The same with a given λ."""
        other = object.__new__(CorrectedSums)
        other.__dict__.update(self.__dict__, fixed=weight)
        return other

    def _of_clusters(
        self, people: Floats, judge: Floats, rest: Floats, clusters: Sequence[Hashable]
    ) -> Floats:
        """What adds up over clusters, by cluster.

        With n labelled and N other rows of a cluster, Y and F its labelled sums, G the judge's others, P = F + G and
        M = n + N: n, N, Y, F, G, then YFᵀ, nF, nY, n², for a covariance by cluster, and PPᵀ, MP, M² for a variance.
        """
        k, n = self._k, len(people)
        rows = np.zeros((self._rows, 2 + 3 * k))
        rows[:n, 0], rows[n:, 1] = 1.0, 1.0
        rows[:n, 2 : 2 + k], rows[:n, 2 + k : 2 + 2 * k] = people - self._shift, judge - self._shift
        rows[n:, 2 + 2 * k :] = rest - self._shift
        sums = ordered_sums(rows, clusters)
        size, others = sums[:, :1], sums[:, 1:2]
        y, f, g = (sums[:, 2 + part * k : 2 + (part + 1) * k] for part in range(3))
        pooled, total = f + g, size + others
        products = [
            _outer(y, f),
            size * f,
            size * y,
            size**2,
            _outer(pooled, pooled),
            total * pooled,
            total**2,
        ]
        return np.concatenate([sums, *products], axis=1)

    def _means(self, sums: Floats) -> tuple[Floats, Floats, Floats]:
        """Means of people's columns, of the judge's of the same rows, and of the others, each (..., k)."""
        k = self._k
        size, others = sums[..., :1], np.maximum(sums[..., 1:2], 1)
        y, f, g = (sums[..., 2 + part * k : 2 + (part + 1) * k] for part in range(3))
        return _plus(y / size, self._shift), _plus(f / size, self._shift), _plus(g / others, self._shift)

    def weight(self, sums: Floats) -> Floats:
        """λ with the least variance, 0 to 1, for sums (..., w); 0 where the judge tells nothing."""
        if self.fixed is not None:
            return np.full(sums.shape[:-1], self.fixed)
        y, f, g = self._means(sums)
        first = self._best(sums, gradients(self.formula, y * self._rows, self._steps))
        means = y + first[..., None] * (g - f)
        again = gradients(self.formula, means * self._rows, self._steps)
        return np.where(np.isfinite(again).all(axis=-1), self._best(sums, again), first)

    def _best(self, sums: Floats, gradient: Floats) -> Floats:
        """λ for a gradient (..., k), by which all columns become one."""
        k = self._k
        n, others = sums[..., 0], sums[..., 1]
        y, f, g = (_dot(sums[..., 2 + part * k : 2 + (part + 1) * k], gradient) for part in range(3))
        rest = sums[..., 2 + 3 * k :]
        yf, rest = _quadratic(rest[..., : k * k], gradient), rest[..., k * k :]
        nf, ny, nn = _dot(rest[..., :k], gradient), _dot(rest[..., k : 2 * k], gradient), rest[..., 2 * k]
        rest = rest[..., 2 * k + 1 :]
        pp, rest = _quadratic(rest[..., : k * k], gradient), rest[..., k * k :]
        mp, mm = _dot(rest[..., :k], gradient), rest[..., k]
        y, pooled, f = y / n, (f + g) / (n + others), f / n
        covariance = (yf - y * nf - f * ny + y * f * nn) / n
        variance = (pp - 2 * pooled * mp + pooled**2 * mm) / (n + others - 1)
        scaled = (1 + n / np.maximum(others, 1)) * variance
        known = scaled > _ROUNDING * pp / (n + others)
        return np.where(known, np.clip(covariance / np.where(known, scaled, 1.0), 0.0, 1.0), 0.0)

    def columns(self, sums: Floats) -> Floats:
        """Corrected sums of the columns over all rows, shape (..., k)."""
        y, f, g = self._means(sums)
        return np.asarray(_plus(y, self.weight(sums)[..., None] * (g - f)) * self._rows)

    def value(self, sums: Floats) -> Floats:
        """The formula of the corrected sums."""
        return np.asarray(self.formula.value(self.columns(sums)))


def _plus(one: Floats, other: Floats) -> Floats:
    """The sum, 0 where it is not told from rounding: a denominator that is 0 must not come out just above it."""
    found = one + other
    return np.where(np.abs(found) <= _ROUNDING * (np.abs(one) + np.abs(other)), 0.0, found)


def _outer(one: Floats, other: Floats) -> Floats:
    """Products of the columns of each row, shape (C, k·k)."""
    return np.asarray(np.einsum("ci,cj->cij", one, other).reshape(len(one), -1))


def _dot(sums: Floats, gradient: Floats) -> Floats:
    return np.asarray((sums * gradient).sum(axis=-1))


def _quadratic(products: Floats, gradient: Floats) -> Floats:
    k = gradient.shape[-1]
    square = products.reshape(*products.shape[:-1], k, k)
    return np.asarray(np.einsum("...i,...ij,...j->...", gradient, square, gradient))
