"""The best subset of questions of every size: exact where there are few questions, beam search above."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

EXACT = 12
"""Questions up to which all subsets are looked at."""

BEAM = 5
"""Subsets of each size that beam search goes on from, as in the paper."""

_DECIMALS = 12
"""Objectives that differ less are tied: sums in another order differ in their last digits."""


class Subset(NamedTuple):
    """Some of the questions, and what they are worth together."""

    indices: tuple[int, ...]
    objective: float
    coverage: float
    diversity: float

    @property
    def rank(self) -> tuple[float, int, tuple[int, ...]]:
        """Least for the best: greatest objective, then fewest questions, then the first indices."""
        return (-round(self.objective, _DECIMALS), len(self.indices), self.indices)


class Covering:
    """What questions cover, in a form for searching.

    Args:
        table: questions × feedback items, true where covered.

    Attributes:
        questions, items: how many.
        similarity: Jaccard similarity of every two questions, with zeros on the diagonal.
        patterns: questions × different columns of the table, as 0.0 and 1.0.
        counts: how many feedback items have each of these columns.
    """

    def __init__(self, table: NDArray[np.bool_]) -> None:
        self.questions, self.items = table.shape
        counted = table.astype(np.float64)
        together = counted @ counted.T
        sizes = np.diag(together)
        union = sizes[:, None] + sizes[None, :] - together
        self.similarity: Floats = np.divide(together, union, out=np.zeros_like(union), where=union > 0)
        np.fill_diagonal(self.similarity, 0.0)
        # Feedback items that the same questions cover count together: thousands become a few columns.
        if table.size:
            columns, counts = np.unique(table, axis=1, return_counts=True)
        else:
            columns, counts = table, np.ones(self.items, dtype=np.int64)
        self.patterns: Floats = columns.astype(np.float64)
        self.counts: Floats = counts.astype(np.float64)

    def coverage_of_all(self) -> float:
        """Share of items that any question covers."""
        if not self.items:
            raise ValueError("there is no feedback to cover: the matrix has no columns")
        return self.share_of(range(self.questions))

    def share_of(self, questions: Iterable[int]) -> float:
        """Share of items that any of these questions covers."""
        covered = np.zeros(len(self.counts), dtype=bool)
        for question in questions:
            covered |= self.patterns[question] > 0
        return float(np.sum(self.counts[covered]) / self.items)

    def diversity_of_all(self) -> float:
        """One minus the mean similarity of different questions."""
        if not self.questions:
            raise ValueError("there are no questions: the matrix has no rows")
        return float(diversity_of(self.similarity.sum() / 2, self.questions))

    def objective_of_all(self, alpha: float, penalty: float) -> float:
        """The objective of all questions together."""
        shares = alpha * self.coverage_of_all() + (1 - alpha) * self.diversity_of_all()
        return float(shares - penalty * self.questions)


def diversity_of(pairs: Floats | float, size: int) -> Floats | float:
    """Diversity of so many questions whose pairs have similarities of this sum, each pair counted once.

    The mean over i of 1 − Σ_{j≠i} S_ij / (k − 1) is 1 − 2 Σ_{i<j} S_ij / (k (k − 1)).
    """
    return 1 - 2 * pairs / (size * (size - 1)) if size > 1 else 1.0 + 0.0 * pairs


def best_by_size(
    covering: Covering, alpha: float, penalty: float, *, most: int | None = None
) -> list[Subset]:
    """The best subset of 1, 2, … questions: exact up to 12 questions, by beam search above.

    Args:
        covering: of at least one question and one feedback item.
        alpha, penalty: of the objective.
        most: the greatest size wanted; all by default.

    Raises:
        ValueError: no questions or no feedback items.
    """
    covering.coverage_of_all()
    covering.diversity_of_all()
    search = exhaustive if covering.questions <= EXACT else beam_search
    return search(covering, alpha, penalty, most=most)


def exhaustive(covering: Covering, alpha: float, penalty: float, *, most: int | None = None) -> list[Subset]:
    """The best subset of every size, among all 2^n of them. For few questions."""
    number = covering.questions
    masks = np.arange(1 << number)
    sizes = np.array([mask.bit_count() for mask in range(1 << number)])
    covered, pairs = _covered_by_mask(covering), _pairs_by_mask(covering)
    found = []
    for size in range(1, (most or number) + 1):
        of_size = masks[sizes == size]
        shares = covered[of_size] / covering.items
        diverse = diversity_of(pairs[of_size], size)
        worth = np.round(alpha * shares + (1 - alpha) * diverse - penalty * size, _DECIMALS)
        tied = of_size[worth == worth.max()].tolist()
        first = min(_bits(mask, number) for mask in tied)
        found.append(_subset(covering, first, alpha, penalty))
    return found


def beam_search(
    covering: Covering, alpha: float, penalty: float, *, width: int = BEAM, most: int | None = None
) -> list[Subset]:
    """A good subset of every size: of the best few subsets of one size, each with one more question.

    Args:
        covering, alpha, penalty: as in `best_by_size`.
        width: how many subsets of each size are gone on from.
        most: the greatest size wanted; all by default.
    """
    beam = _Beam(
        [()],
        covering.counts[None, :],
        np.zeros((1, covering.questions)),
        np.zeros(1),
    )
    found = []
    for size in range(1, (most or covering.questions) + 1):
        left = beam.left.sum(axis=1)[:, None] - beam.left @ covering.patterns.T
        pairs = beam.pairs[:, None] + beam.similar
        shares = (covering.items - left) / covering.items
        diverse = diversity_of(pairs, size)
        worth = np.round(alpha * shares + (1 - alpha) * diverse - penalty * size, _DECIMALS)
        for row, indices in enumerate(beam.subsets):
            worth[row, list(indices)] = -np.inf
        best = _best_of(beam.subsets, worth, width)
        found.append(_subset(covering, best[0][0], alpha, penalty))
        beam = _extended(covering, beam, pairs, best)
    return found


class _Beam(NamedTuple):
    """Subsets of one size that the search goes on from, and what the next step needs to know of them.

    Attributes:
        subsets: their indices, sorted.
        left: how many feedback items of each pattern a subset does not cover, subsets × patterns.
        similar: the sum of the similarities of each question to those of a subset, subsets × questions.
        pairs: the sum of the similarities of all pairs in a subset.
    """

    subsets: list[tuple[int, ...]]
    left: Floats
    similar: Floats
    pairs: Floats


def _extended(
    covering: Covering, beam: _Beam, pairs: Floats, best: list[tuple[tuple[int, ...], int, int]]
) -> _Beam:
    """The beam of the next size: the best subsets, each as one of this beam with a question added."""
    parents = [parent for _, parent, _ in best]
    added = [question for _, _, question in best]
    return _Beam(
        [indices for indices, _, _ in best],
        beam.left[parents] * (1 - covering.patterns[added]),
        beam.similar[parents] + covering.similarity[added],
        pairs[parents, added],
    )


def _best_of(
    subsets: list[tuple[int, ...]], worth: Floats, width: int
) -> list[tuple[tuple[int, ...], int, int]]:
    """The best different subsets with one question more, ties in the order of their indices.

    Args:
        subsets: of the beam.
        worth: the objective of each with each question added, −∞ where it has it.
        width: how many.

    Returns:
        Sorted indices, the row of the subset that was added to, and the question added.
    """
    flat = worth.ravel()
    # Each can be reached from every subset of the beam: so many good ones hold enough different ones.
    enough = min(width * len(subsets), int(np.isfinite(flat).sum()))
    least = np.partition(flat, -enough)[-enough]
    made: dict[tuple[int, ...], tuple[float, int, int]] = {}
    for row, question in np.argwhere((worth >= least) & np.isfinite(worth)).tolist():
        indices = tuple(sorted((*subsets[row], question)))
        made.setdefault(indices, (float(worth[row, question]), row, question))
    ranked = sorted(made, key=lambda indices: (-made[indices][0], indices))
    return [(indices, *made[indices][1:]) for indices in ranked[:width]]


def _subset(covering: Covering, indices: tuple[int, ...], alpha: float, penalty: float) -> Subset:
    rows = list(indices)
    share = covering.share_of(rows)
    diverse = float(diversity_of(covering.similarity[np.ix_(rows, rows)].sum() / 2, len(rows)))
    worth = alpha * share + (1 - alpha) * diverse - penalty * len(rows)
    return Subset(indices, worth, share, diverse)


def _covered_by_mask(covering: Covering) -> Floats:
    """How many items each subset covers, by its bit mask."""
    number = covering.questions
    inside = np.zeros(1 << number)
    keys = (covering.patterns.T @ (1 << np.arange(number))).astype(np.int64)
    np.add.at(inside, keys, covering.counts)
    # inside[mask] becomes the number of items that no question outside the mask covers; of the subset that is outside
    # the mask, these are the ones left uncovered.
    for bit in range(number):
        halves = inside.reshape(-1, 2, 1 << bit)
        halves[:, 1] += halves[:, 0]
    covered: Floats = covering.items - inside[::-1]
    return covered


def _pairs_by_mask(covering: Covering) -> Floats:
    """The sum of the similarities of all pairs in each subset, by its bit mask."""
    number = covering.questions
    pairs = np.zeros(1 << number)
    for bit in range(number):
        before = 1 << bit
        to_bit = np.zeros(before)
        for other in range(bit):
            to_bit[1 << other : 2 << other] = to_bit[: 1 << other] + covering.similarity[bit, other]
        pairs[before : 2 * before] = pairs[:before] + to_bit
    return pairs


def _bits(mask: int, number: int) -> tuple[int, ...]:
    return tuple(index for index in range(number) if mask >> index & 1)
