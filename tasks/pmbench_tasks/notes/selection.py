"""Which questions to keep: coverage of feedback, diversity, their objective, and the best subset.

Everything starts from a coverage matrix: `matrix[i][j]` is 1 if question i covers feedback item j, else 0
(questions × feedback items). The formulas are those of "From Feedback to Checklists" (arXiv 2507.17717),
appendix D.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pmbench_tasks.notes.subset_search import Covering, best_by_size

if TYPE_CHECKING:
    from pmbench_tasks.notes.subset_search import Subset

Floats = NDArray[np.float64]

ALPHA = 0.5
"""Weight of coverage against diversity, as in the paper."""

PENALTY = 0.0005
"""What each question costs, as in the paper."""

DUPLICATE = 0.85
"""Cosine similarity from which two questions count as the same, as in the paper."""


def coverage(matrix: ArrayLike) -> float:
    """Share of the feedback items that at least one question covers, in [0, 1].

    The paper's appendix D.3 words coverage as the sum of the matrix over the number of feedback items. That
    sum counts an item once for every question that covers it and can exceed 1; the paper's values (0.988,
    0.978) and its words elsewhere are those of a share, which is what is computed here.

    Raises:
        ValueError: no matrix of zeros and ones, or no feedback items.
    """
    return _covering(matrix).coverage_of_all()


def diversity(matrix: ArrayLike) -> float:
    """Mean over questions of one minus the mean Jaccard similarity of what it and each other question cover.

    Two questions that cover nothing have similarity 0; a single question has diversity 1.

    Raises:
        ValueError: no matrix of zeros and ones, or no questions.
    """
    return _covering(matrix).diversity_of_all()


def objective(matrix: ArrayLike, alpha: float = ALPHA, penalty: float = PENALTY) -> float:
    """`alpha · coverage + (1 − alpha) · diversity − penalty · k` of all k questions of a matrix.

    Raises:
        ValueError: no matrix of zeros and ones, no questions or no feedback, or an alpha outside [0, 1].
    """
    return _covering(matrix).objective_of_all(*_weights(alpha, penalty))


def select(
    matrix: ArrayLike, size: int | None = None, alpha: float = ALPHA, penalty: float = PENALTY
) -> list[int]:
    """Indices, in increasing order, of the questions with the greatest objective.

    Exact up to 12 questions; above, beam search of width 5 that adds one question at a time. Between
    objectives equal to 12 decimals the smaller subset is taken, and of those of one size the one whose
    indices come first.

    Args:
        matrix: questions × feedback items.
        size: exactly so many questions; None: as many as the objective wants.
        alpha, penalty: of the objective.

    Raises:
        ValueError: as in `objective`, or a size that is not from 1 to the number of questions.
    """
    covering = _covering(matrix)
    if size is not None and not 1 <= size <= covering.questions:
        raise ValueError(f"size must be from 1 to {covering.questions}, the number of questions, not {size}")
    found = best_by_size(covering, *_weights(alpha, penalty), most=size)
    best = found[size - 1] if size is not None else min(found, key=lambda one: one.rank)
    return list(best.indices)


class ObjectiveCurve(NamedTuple):
    """The best subset found of every size, as data for a plot of the objective against length (Fig. 6).

    Attributes:
        size: 1, 2, …, n; n is the number of questions.
        objective, coverage, diversity: of the best subset of each size, (n,).
        indices: its questions.
    """

    size: NDArray[np.int64]
    objective: Floats
    coverage: Floats
    diversity: Floats
    indices: list[tuple[int, ...]]


def objective_curve(matrix: ArrayLike, alpha: float = ALPHA, penalty: float = PENALTY) -> ObjectiveCurve:
    """The best subset of each size, found as `select` finds it.

    Raises:
        ValueError: as in `objective`.
    """
    found = best_by_size(_covering(matrix), *_weights(alpha, penalty))
    return ObjectiveCurve(
        np.arange(1, len(found) + 1),
        *_columns(found),
        [one.indices for one in found],
    )


class AlphaCurve(NamedTuple):
    """What `select` chooses for each alpha (the paper's Fig. 5).

    Attributes:
        alpha: as given, (a,).
        size, objective, coverage, diversity: of the subset chosen for each, (a,). Objectives of different
            alphas are on different scales; coverage and diversity can be compared.
    """

    alpha: Floats
    size: NDArray[np.int64]
    objective: Floats
    coverage: Floats
    diversity: Floats


def alpha_curve(
    matrix: ArrayLike,
    alphas: Sequence[float] | None = None,
    size: int | None = None,
    penalty: float = PENALTY,
) -> AlphaCurve:
    """Size, coverage and diversity of what is selected, over alpha.

    Args:
        matrix: questions × feedback items.
        alphas: 0, 0.1, …, 1 unless given.
        size, penalty: as in `select`.

    Raises:
        ValueError: as in `select`.
    """
    covering = _covering(matrix)
    wanted = [step / 10 for step in range(11)] if alphas is None else [float(alpha) for alpha in alphas]
    if size is not None and not 1 <= size <= covering.questions:
        raise ValueError(f"size must be from 1 to {covering.questions}, the number of questions, not {size}")
    chosen = []
    for alpha in wanted:
        found = best_by_size(covering, *_weights(alpha, penalty), most=size)
        chosen.append(found[size - 1] if size is not None else min(found, key=lambda one: one.rank))
    sizes = np.array([len(one.indices) for one in chosen], dtype=np.int64)
    return AlphaCurve(np.array(wanted, dtype=np.float64), sizes, *_columns(chosen))


def duplicate_clusters(similarity: ArrayLike, threshold: float = DUPLICATE) -> list[list[int]]:
    """Groups of questions joined by similarities of at least the threshold: its connected components.

    Two questions can be in one group without being similar, through others between them.

    Args:
        similarity: questions × questions, symmetric (cosine similarities).
        threshold: the least similarity of a pair that counts as the same.

    Returns:
        Sorted indices of each group, groups of one included, in order of their first index.

    Raises:
        ValueError: no square, symmetric matrix of finite numbers.
    """
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    table = np.asarray(similarity, dtype=np.float64)
    if table.size == 0:
        return []
    if table.ndim != 2 or table.shape[0] != table.shape[1]:
        raise ValueError(f"similarities must be a square matrix, not of shape {table.shape}")
    if not np.isfinite(table).all() or not np.allclose(table, table.T, rtol=0, atol=1e-6):
        raise ValueError("similarities must be finite and symmetric")
    number, labels = connected_components(csr_matrix(table >= threshold), directed=False)
    groups: list[list[int]] = [[] for _ in range(number)]
    for index, label in enumerate(labels.tolist()):
        groups[label].append(index)
    return sorted(groups)


def _covering(matrix: ArrayLike) -> Covering:
    try:
        table = np.asarray(matrix, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("a coverage matrix has rows of one length, of zeros and ones") from None
    if table.ndim != 2:
        raise ValueError("a coverage matrix has two dimensions: questions and feedback items")
    if not np.isin(table, (0.0, 1.0)).all():
        raise ValueError("a coverage matrix holds zeros and ones only")
    return Covering(table == 1.0)


def _weights(alpha: float, penalty: float) -> tuple[float, float]:
    if not 0 <= alpha <= 1:
        raise ValueError(f"alpha must be from 0 to 1, not {alpha}")
    if not np.isfinite(penalty):
        raise ValueError("the penalty must be a finite number")
    return float(alpha), float(penalty)


def _columns(found: Sequence[Subset]) -> tuple[Floats, Floats, Floats]:
    return (
        np.array([one.objective for one in found], dtype=np.float64),
        np.array([one.coverage for one in found], dtype=np.float64),
        np.array([one.diversity for one in found], dtype=np.float64),
    )
