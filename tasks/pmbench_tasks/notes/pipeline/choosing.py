"""Stage 7: the questions that cover most feedback with least overlap, and how the choice depends on its numbers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import msgspec

from pmbench import DataError
from pmbench_tasks.notes.pipeline.covering import STAGE as COVERING
from pmbench_tasks.notes.pipeline.covering import Covering
from pmbench_tasks.notes.pipeline.failing import AGAIN, Unanswered, requests_failed, told
from pmbench_tasks.notes.pipeline.records import Candidate, Dropped, Stage, by_kind, counted, dropped
from pmbench_tasks.notes.selection import (
    ALPHA,
    PENALTY,
    AlphaCurve,
    ObjectiveCurve,
    alpha_curve,
    coverage,
    diversity,
    objective,
    objective_curve,
)
from pmbench_tasks.notes.subset_search import EXACT

STAGE = "select"

ALPHAS, FEW_ALPHAS = tuple(step / 10 for step in range(11)), (0.0, 0.25, 0.5, 0.75, 1.0)
"""Weights of coverage that are tried for the plot."""

MANY = 80
"""Questions above which few of them are: a search takes a second at 80 questions, and grows with their cube."""


class Chosen(msgspec.Struct, frozen=True):
    """What stage 7 came to.

    Attributes:
        stage: the questions of the checklist, those that cover most feedback first.
        covers: how many of the feedback items with an answer each of them covers, in the same order.
        objective, coverage, diversity: of the chosen questions together.
        coverage_low, coverage_high: the share if all items without an answer were not covered, and covered.
        search: `exact`, or `beam` where there are too many subsets to look at.
        by_size, by_alpha: for the plots.
    """

    stage: Stage[Candidate]
    covers: tuple[int, ...]
    objective: float
    coverage: float
    diversity: float
    coverage_low: float
    coverage_high: float
    search: str
    by_size: ObjectiveCurve
    by_alpha: AlphaCurve


def choose(
    candidates: Sequence[Candidate],
    covering: Covering,
    *,
    size: int | None = None,
    alpha: float = ALPHA,
    penalty: float = PENALTY,
) -> Chosen:
    """Select questions by `alpha · coverage + (1 − alpha) · diversity − penalty · k`.

    Feedback items without an answer of the assigner are left out of the formulas; what they could change of the
    coverage is told beside it.

    Args:
        candidates: the rows of the matrix.
        covering: of stage 6.
        size: exactly so many, or all where there are fewer; None: as many as the objective wants.
        alpha, penalty: of the objective.

    Raises:
        UserError: no feedback item has an answer, so that nothing is known of coverage; see `nothing_known`.
    """
    matrix = covering.answered
    if not matrix.shape[1]:
        nothing_known(covering)
    by_size = objective_curve(matrix, alpha, penalty)
    places = _best(by_size, None if size is None else min(size, len(candidates)))
    wanted = set(_best(by_size, None))
    chosen = matrix[places]
    counts = chosen.sum(axis=1).astype(int).tolist()
    order = sorted(range(len(places)), key=lambda place: -counts[place])
    kept = tuple(candidates[places[place]] for place in order)
    there = {one.id for one in kept}
    left_out: list[Dropped] = [
        dropped(STAGE, _why(int(row.sum()), size if place in wanted else None), one)
        for place, (one, row) in enumerate(zip(candidates, matrix, strict=True))
        if one.id not in there
    ]
    covered, everything = int(chosen.any(axis=0).sum()), len(covering.items)
    unknown = everything - matrix.shape[1]
    return Chosen(
        stage=Stage(kept, tuple(left_out), covering.failures),
        covers=tuple(counts[place] for place in order),
        objective=objective(chosen, alpha, penalty),
        coverage=coverage(chosen),
        diversity=diversity(chosen),
        coverage_low=covered / everything,
        coverage_high=(covered + unknown) / everything,
        search="exact" if len(candidates) <= EXACT else "beam",
        by_size=by_size,
        by_alpha=alpha_curve(matrix, ALPHAS if len(candidates) <= MANY else FEW_ALPHAS, penalty=penalty),
    )


def nothing_known(covering: Covering) -> NoReturn:
    """Of no feedback item it is known what covers it.

    Raises:
        Unanswered: requests failed.
        DataError: the model's answers cannot be used.
    """
    kinds = by_kind(covering.failures)
    many = counted(len(covering.items), "feedback item")
    if failed := requests_failed(kinds):
        why = f"requests failed, and for none of {many} there is an answer ({told(failed)})"
        raise Unanswered(why, where=COVERING, remedy=AGAIN)
    lost = f" ({told(kinds)})" if kinds else ""
    raise DataError(
        f"the model gave no usable answer for any of {many}{lost}",
        where=COVERING,
        remedy="Choose a model that can say which questions cover a remark",
    )


def size_told(size: int | None, there: int) -> str:
    """What is to be said where more questions were asked for than there are; `""` where not."""
    if size is None or size <= there:
        return ""
    return f"; --size {size:,} asks for more than the {counted(there, 'question')} that could be chosen from"


def _best(curve: ObjectiveCurve, size: int | None) -> list[int]:
    """What `selection.select` returns, from the search that has been made already."""
    import numpy as np

    # Objectives of sums in another order differ in their last digits; of equal ones the smaller subset.
    best = int(np.argmax(np.round(curve.objective, 12))) if size is None else size - 1
    return list(curve.indices[best])


def nothing_covered(chosen: Chosen, file: Path) -> None:
    """Do nothing where the chosen questions cover any feedback; the checklist is written all the same.

    Raises:
        Unanswered: they cover none.
    """
    if any(chosen.covers):
        return
    raise Unanswered(
        "NO FEEDBACK IS COVERED by the questions of this checklist: it was written, but answers to nothing that "
        "clinicians said, and a diversity of 1 means nothing then",
        where=str(file),
        remedy="See 6-coverage.csv; give more feedback or a stronger --model",
    )


def _why(count: int, size: int | None) -> str:
    if not count:
        return "it covers no feedback"
    if size is not None:
        return f"--size {size:,} leaves no room for it: without --size it would be chosen, with its {_items(count)}"
    return f"with its {_items(count)} it adds less than it costs in overlap and length"


def _items(count: int) -> str:
    return counted(count, "feedback item")
