"""Agreement of two people, or of a first and a second round, on the relevance of note sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pmbench import DataError
from pmbench_tasks.archehr.resampling import RESAMPLES, Estimate, drawn_counts, estimate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Formula = Callable[[Floats], Floats]

ORDER = ("not-relevant", "supplementary", "essential")
"""The labels in order of how much a sentence matters; weighted kappa goes by it."""

Item = tuple[str, str]
"""Ids of case and sentence."""


@dataclass(frozen=True, slots=True)
class Change:
    """A label that another took the place of, how often, and its share of all changes."""

    before: str
    after: str
    count: int
    share: float


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far two sets of labels agree.

    Attributes:
        labels: sentences that both have labelled; cases: that these are of.
        equal: how many of them have the same label.
        share: of equal labels. The paper's counts (2653 of 3450 labels kept in the first round) are of this kind; the
            77.1% that it prints beside them is not their share (76.9%).
        mean: over cases, of each case's share.
        kappa: Cohen's kappa; weighted: with quadratic weights over `ORDER`. Undefined where both used one label only.
        table: how many sentences have each pair of labels, first by second, both in `ORDER`.
        changes: what was changed into what, the most frequent first.
        only_first, only_second: sentences that one of them alone has labelled; not counted above.
    """

    labels: int
    cases: int
    equal: int
    share: Estimate
    mean: Estimate
    kappa: Estimate
    weighted: Estimate
    table: tuple[tuple[int, ...], ...]
    changes: tuple[Change, ...]
    only_first: int
    only_second: int


def agreement(
    first: Mapping[Item, str], second: Mapping[Item, str], *, resamples: int = RESAMPLES, seed: int = 0
) -> Agreement:
    """Compare two sets of labels; intervals are made by drawing cases, whose sentences were labelled together.

    Args:
        first, second: the label of each sentence, one of `ORDER`.
        resamples, seed: of the intervals.

    Raises:
        DataError: no sentence has been labelled by both.
    """
    import numpy as np

    both = [item for item in first if item in second]
    if not both:
        raise DataError(
            "no sentence is in both", remedy="Give two keys of the same cases, with the same sentence ids"
        )
    places = {case: place for place, case in enumerate(dict.fromkeys(case for case, _ in both))}
    tables = np.zeros((len(places), len(ORDER), len(ORDER)))
    for item in both:
        tables[places[item[0]], ORDER.index(first[item]), ORDER.index(second[item])] += 1
    total = tables.sum(axis=0)
    weights = drawn_counts(len(places), resamples, seed)
    drawn = np.einsum("bc,cij->bij", weights, tables)

    def measured(formula: Formula) -> Estimate:
        return estimate(float(formula(total[None])[0]), formula(drawn), len(places))

    return Agreement(
        labels=len(both),
        cases=len(places),
        equal=int(np.trace(total)),
        share=measured(_share),
        mean=_mean(_share(tables), weights),
        kappa=measured(lambda counts: kappa(counts, 1 - np.eye(len(ORDER)))),
        weighted=measured(lambda counts: kappa(counts, quadratic(len(ORDER)))),
        table=tuple(tuple(int(count) for count in row) for row in total),
        changes=_changes([(first[item], second[item]) for item in both]),
        only_first=len(first) - len(both),
        only_second=len(second) - len(both),
    )


def kappa(counts: Floats, penalties: Floats) -> Floats:
    """Cohen's kappa (1960; weighted: 1968): one less the ratio of disagreement to that of independent labels.

    Args:
        counts: of pairs of labels, shape (..., k, k).
        penalties: of each pair, shape (k, k), 0 where labels are equal.

    Returns:
        Shape (...); NaN where independent labels could not disagree.
    """
    import numpy as np

    n = counts.sum(axis=(-2, -1))
    expected = counts.sum(axis=-1)[..., :, None] * counts.sum(axis=-2)[..., None, :]
    seen = (counts * penalties).sum(axis=(-2, -1)) * n
    by_chance = (expected * penalties).sum(axis=(-2, -1))
    safe = np.where(by_chance == 0, 1.0, by_chance)
    return np.where(by_chance == 0, np.nan, 1 - seen / safe)


def quadratic(labels: int) -> Floats:
    """Penalties that grow with the square of the distance of two labels in their order, shape (labels, labels)."""
    import numpy as np

    place = np.arange(labels, dtype=np.float64)
    return (place[:, None] - place[None, :]) ** 2


def _share(counts: Floats) -> Floats:
    import numpy as np

    equal: Floats = np.trace(counts, axis1=-2, axis2=-1) / counts.sum(axis=(-2, -1))
    return equal


def _mean(shares: Floats, weights: Floats) -> Estimate:
    """Mean over cases, shape (cases,), with the weights of each resample, shape (B, cases)."""
    return estimate(float(shares.mean()), weights @ shares / len(shares), len(shares))


def _changes(pairs: Sequence[tuple[str, str]]) -> tuple[Change, ...]:
    counted = Counter(pair for pair in pairs if pair[0] != pair[1])
    total = sum(counted.values())
    return tuple(Change(*pair, count, count / total) for pair, count in counted.most_common())
