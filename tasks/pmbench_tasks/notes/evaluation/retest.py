"""Test–retest: does a judge give the same answers when it is asked again about the same notes?

The paper does not measure it. Runs differ in what may differ by chance (the sample number or the seed of the judge),
and in nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import msgspec
import numpy as np

from pmbench_tasks.notes.evaluation.answers import Answers
from pmbench_tasks.notes.evaluation.human import accuracy, kappa
from pmbench_tasks.notes.evaluation.intervals import (
    NAN,
    RESAMPLES,
    Estimate,
    Floats,
    Formula,
    estimates,
    with_missing,
)

NO_ANSWERS = "no answers in both runs"


class Retest(msgspec.Struct, frozen=True, kw_only=True):
    """How far a judge agrees with itself.

    Attributes:
        same: share of equal answers over all pairs of runs, notes and questions that have both.
        kappa: Cohen's κ of the same pairs of answers, made symmetric (neither run is the first).
        by_question: share of equal answers for each question.
        questions: their ids.
        spread: standard deviation of a note's score from run to run, in points of 0 to 100: the root of the mean over
            notes of the variance over runs, of the questions answered in every run. Two scores of one note differ by
            less than 2.77 times this in 95% of cases (Bland & Altman 1996).
        runs: how many; missing: pairs of answers of which one is missing, or both.
    """

    same: Estimate
    kappa: Estimate
    by_question: tuple[Estimate, ...]
    questions: tuple[str, ...]
    spread: Estimate
    runs: int
    missing: int


def retest(
    runs: Sequence[Answers],
    clusters: Sequence[str] | None = None,
    *,
    unit: str = "note",
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Retest:
    """Agreement of two or more runs of one judge.

    Args:
        runs: over the same notes and questions, in the same order.
        clusters, unit: what notes are drawn together, and what it is called.
        resamples, seed: of the bootstrap.

    Raises:
        ValueError: fewer than two runs, or runs of different notes or questions, or answers that are no yes or no.
    """
    if len(runs) < 2:
        raise ValueError("a retest needs two runs")
    first = runs[0]
    if any((run.notes, run.questions) != (first.notes, first.questions) for run in runs):
        raise ValueError("the runs are not of the same notes and questions")
    if not all(run.yes_or_no for run in runs):
        raise ValueError("a retest needs answers of yes or no")
    stack = np.stack([run.met for run in runs])
    cells, lost = _cells(stack)

    def over(table: Floats, formula: Formula, limits: tuple[float, float] | None) -> list[Estimate]:
        return estimates(formula, table, clusters, unit=unit, limits=limits, resamples=resamples, seed=seed)

    pooled = cells.sum(axis=1, keepdims=True)
    gone = int(lost.sum())
    by_question = zip(over(cells, accuracy, (0.0, 1.0)), cells.sum(axis=0), lost.tolist(), strict=True)
    agreed = over(pooled, kappa, None)[0]
    if agreed.value != agreed.value:
        agreed = msgspec.structs.replace(agreed, note="one answer throughout" if pooled.any() else NO_ANSWERS)
    spread = _spread(stack, clusters, unit, resamples, seed)
    return Retest(
        same=_with_ends(over(pooled, accuracy, (0.0, 1.0))[0], pooled.sum(axis=(0, 1)), gone),
        kappa=with_missing(agreed, gone, NAN, NAN),
        by_question=tuple(_with_ends(one, sums, int(few)) for one, sums, few in by_question),
        questions=first.questions,
        spread=with_missing(spread, int(np.isnan(stack).sum()), NAN, NAN),
        runs=len(runs),
        missing=gone,
    )


def _with_ends(found: Estimate, sums: Floats, lost: int) -> Estimate:
    """A share of equal answers with its ends, if all lost pairs were unequal and equal; `sums` of the four cells."""
    pairs, equal = float(sums.sum()), float(sums[0] + sums[3])
    ends = [(equal + gained) / (pairs + lost) if pairs + lost else NAN for gained in (0, lost)]
    if not pairs:
        found = msgspec.structs.replace(found, note=NO_ANSWERS)
    return with_missing(found, lost, *ends)


def _cells(stack: Floats) -> tuple[Floats, Floats]:
    """Counts of yes-yes, yes-no, no-yes, no-no over pairs of runs, (n, k, 4), half of each mixed pair either way.

    And for each question the pairs of answers of which one is missing, or both, (k,).
    """
    cells = np.zeros((*stack.shape[1:], 4))
    lost = np.zeros(stack.shape[2])
    for one, two in combinations(stack, 2):
        mixed = ((one == 1) & (two == 0)) | ((one == 0) & (two == 1))
        cells[..., 0] += (one == 1) & (two == 1)
        cells[..., 3] += (one == 0) & (two == 0)
        cells[..., 1] += mixed / 2
        cells[..., 2] += mixed / 2
        lost += (np.isnan(one) | np.isnan(two)).sum(axis=0)
    return cells, lost


def _spread(stack: Floats, clusters: Sequence[str] | None, unit: str, resamples: int, seed: int) -> Estimate:
    there = ~np.isnan(stack).any(axis=0)
    count = there.sum(axis=1)
    total = np.where(there, stack, 0.0).sum(axis=2)
    scores = 100 * total / np.maximum(count, 1)
    variance = scores.var(axis=0, ddof=1)
    columns = np.stack([np.where(count > 0, variance, 0.0), (count > 0).astype(np.float64)], axis=-1)[
        :, None, :
    ]

    def formula(sums: Floats) -> Floats:
        there = sums[..., 1] > 0
        return np.where(there, np.sqrt(sums[..., 0] / np.where(there, sums[..., 1], 1)), NAN)

    found = estimates(formula, columns, clusters, unit=unit, resamples=resamples, seed=seed)[0]
    return found if count.any() else msgspec.structs.replace(found, note=NO_ANSWERS)
