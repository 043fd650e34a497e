"""Coverage and diversity of a checklist with their intervals (section 5.1, Table 2; formulas: appendix D.3)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pmbench_tasks.notes import diversity
from pmbench_tasks.notes.evaluation.intervals import (
    RESAMPLES,
    Estimate,
    Floats,
    bounded,
    drawn_counts,
    means,
    nothing,
    with_missing,
)

ITEM = "feedback item"


def coverage_matrix(matrix: ArrayLike) -> Floats:
    """A coverage matrix, questions by feedback items: 1 covered, 0 not, NaN where the model gave no answer.

    Raises:
        ValueError: another shape or another value.
    """
    table = np.asarray(matrix, dtype=np.float64)
    if table.ndim != 2:
        raise ValueError("a coverage matrix has two dimensions: questions and feedback items")
    if not (np.isnan(table) | np.isin(table, (0.0, 1.0))).all():
        raise ValueError("a coverage matrix holds zeros, ones and NaN only")
    return table


def known_items(matrix: Floats) -> NDArray[np.bool_]:
    """Feedback items for which no question's answer is missing, (n,)."""
    return np.asarray(~np.isnan(matrix).any(axis=0))


def covered(matrix: ArrayLike) -> Floats:
    """Whether any question covers each feedback item, (n,): 1, 0, or NaN for an item with a missing answer.

    An item with a missing answer is left out even where another question covers it: kept only when covered, such
    items would raise the share.
    """
    table = coverage_matrix(matrix)
    return np.where(known_items(table), (table == 1).any(axis=0), np.nan)


def coverage_estimate(matrix: ArrayLike, *, resamples: int = RESAMPLES, seed: int = 0) -> Estimate:
    """Share of feedback items that a question covers (section 5.1, Table 2), with an interval by feedback item.

    `least` and `most` read every missing answer of the matrix as "not covered" and as "covered".
    """
    table = coverage_matrix(matrix)
    found = means(covered(table)[:, None], unit=ITEM, limits=(0.0, 1.0), resamples=resamples, seed=seed)[0]
    if not table.shape[1]:
        return found
    least = float((table == 1).any(axis=0).mean())
    most = float(((table == 1) | np.isnan(table)).any(axis=0).mean())
    return with_missing(found, int(np.isnan(table).sum()), least, most)


def coverage_gap(
    first: ArrayLike, second: ArrayLike, *, resamples: int = RESAMPLES, seed: int = 0
) -> Estimate:
    """Coverage of one checklist less that of another over the same feedback, paired by feedback item.

    The paper prints two shares without a test. An item for which either has a missing answer is left out.

    Raises:
        ValueError: matrices over different numbers of items.
    """
    one, two = covered(first), covered(second)
    if one.shape != two.shape:
        raise ValueError(f"matrices over {len(one)} and {len(two)} feedback items")
    found = means((one - two)[:, None], unit=ITEM, limits=(-1.0, 1.0), resamples=resamples, seed=seed)[0]
    missing = sum(int(np.isnan(np.asarray(each, dtype=np.float64)).sum()) for each in (first, second))
    return with_missing(found, missing, np.nan, np.nan)


def diversity_estimate(matrix: ArrayLike, *, resamples: int = RESAMPLES, seed: int = 0) -> Estimate:
    """Mean dissimilarity of what the questions cover (Table 2), with an interval by feedback item.

    Items with a missing answer are left out. Missing answers have no ends here: one more covered item can make two
    questions more alike or less.
    """
    table = coverage_matrix(matrix)
    missing = int(np.isnan(table).sum())
    whole = table[:, known_items(table)]
    questions, items = whole.shape
    if not questions:
        return nothing(ITEM, "no questions")
    if not items:
        return nothing(ITEM, "no answers" if missing else f"there is no {ITEM}", missing=missing)
    value = diversity(whole)
    drawn = [_diversities(whole, counts) for counts in drawn_counts(items, resamples, seed)]
    values = np.concatenate(drawn) if drawn and items else np.zeros(0)
    found = bounded(value, values, items, unit=ITEM, limits=(0.0, 1.0))
    return with_missing(found, missing, np.nan, np.nan)


def _diversities(matrix: Floats, counts: Floats) -> Floats:
    """Diversity of each resample, (b,), of items drawn so often as `counts` (b, n) says.

    With weights w, |F_i ∩ F_j| is Σ w over the items that both cover, and |F_i ∪ F_j| is the sizes' sum less that.
    """
    k = len(matrix)
    sizes = counts @ matrix.T
    alike = np.zeros(len(counts))
    for one in range(k - 1):
        both = counts @ (matrix[one] * matrix[one + 1 :]).T
        union = sizes[:, [one]] + sizes[:, one + 1 :] - both
        alike += np.where(union > 0, both / np.where(union > 0, union, 1), 0.0).sum(axis=1)
    spread: Floats = 1 - 2 * alike / max(1, k * (k - 1))
    return spread
