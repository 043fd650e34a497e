"""Two checklists over the same feedback, notes and pairs: by how much is the first better, and how sure is one?

One comparison for each main measure. Each has one test, by the unit that is independent of the others: the feedback
item, the note of a visit, or the visit. The numbers of either checklist are those over what both have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypedDict

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from pmbench_tasks.notes.evaluation.answers import Answers, shares
from pmbench_tasks.notes.evaluation.covering import coverage_gap, covered, known_items
from pmbench_tasks.notes.evaluation.deltas import CONTROL, NOTE, Lost, points_of
from pmbench_tasks.notes.evaluation.enforceability import UnitTest
from pmbench_tasks.notes.evaluation.intervals import NAN, Estimate, Floats, nothing, unit_sums
from pmbench_tasks.notes.evaluation.paired import EXACT, PERMUTATIONS, one_sample
from pmbench_tasks.notes.evaluation.predictive import Prediction, corrected_interval, predict_stars
from pmbench_tasks.notes.evaluation.preferences import Pair, preferred_gaps

FLIPS = "sign flips"
MCNEMAR = "McNemar's, exact"
RESAMPLED_T = "corrected resampled t"


class Draws(TypedDict):
    """How intervals are drawn."""

    resamples: int
    seed: int


class Gap(msgspec.Struct, frozen=True, kw_only=True):
    """One main measure of two checklists.

    Attributes:
        measure: `coverage`, `enforceability`, `stars`, `worse notes` or `preferences`.
        first, second: the two numbers, over what both have; NaN where there is nothing to compare.
        difference: first less second with its 95% interval; its `note` says why there is none.
        test: by its name; p: two-sided.
        least_p: below which no p can be with so few units that differ; NaN where the test has no such bound.
        p_holm: p adjusted over all comparisons of the table (Holm 1979).
    """

    measure: str
    first: float
    second: float
    difference: Estimate
    test: str
    p: float
    least_p: float = NAN
    p_holm: float = NAN


def coverage_between(first: ArrayLike, second: ArrayLike, draws: Draws) -> Gap:
    """Coverage, paired by feedback item: McNemar's exact test (1947), i.e. a fair coin for each item that only one
    of the two covers.
    """
    one, two = covered(first), covered(second)
    both = ~np.isnan(one) & ~np.isnan(two)
    found = coverage_gap(first, second, **draws)
    if not both.any():
        return _none("coverage", found, MCNEMAR)
    gained, lost = (int((side[both] > other[both]).sum()) for side, other in ((one, two), (two, one)))
    from scipy.stats import binomtest

    apart = gained + lost
    p = float(binomtest(gained, apart, 0.5).pvalue) if apart else 1.0
    return Gap(
        measure="coverage",
        first=float(one[both].mean()),
        second=float(two[both].mean()),
        difference=found,
        test=MCNEMAR,
        p=p,
        least_p=min(1.0, 2.0 ** (1 - apart)),
    )


def enforceability_between(first: Sequence[UnitTest], second: Sequence[UnitTest]) -> Gap:
    """Mean rate of the questions, notes being left out in turn: a jackknife, since one note is rewritten for many
    questions of both checklists. Sign flips of the notes' pseudo-values (Tukey 1958); interval: Student's t of these.
    """
    notes = list(dict.fromkeys(test.note for test in (*first, *second) if test.met is not None))
    tables = [_tests(side, notes) for side in (first, second)]
    if len(notes) < 2 or not all(answered.any() for _, answered in tables):
        return _none("enforceability", nothing(NOTE, "too few unit tests of one of them"), FLIPS)
    one, two = (_rate(*table) for table in tables)
    gap, count = one - two, len(notes)
    left = np.array([_rate_without(tables[0], at) - _rate_without(tables[1], at) for at in range(count)])
    if np.isnan(left).any():
        return _none("enforceability", nothing(NOTE, "all unit tests of one of them are of one note"), FLIPS)
    pseudo = count * gap - (count - 1) * left
    test = one_sample(pseudo, unit=NOTE, resamples=1)
    from scipy import stats

    reach = float(stats.t.ppf(0.975, count - 1)) * test.sd / count**0.5
    found = Estimate(
        value=gap, low=max(-1.0, gap - reach), high=min(1.0, gap + reach), unit=NOTE, units=count
    )
    return Gap(
        measure="enforceability",
        first=one,
        second=two,
        difference=found,
        test=FLIPS,
        p=test.flip_p,
        least_p=_least_p(pseudo),
    )


def stars_between(
    first: tuple[ArrayLike, Prediction],
    second: tuple[ArrayLike, Prediction],
    stars: Sequence[float],
    *,
    splits: int,
    seed: int,
) -> Gap:
    """Accuracy of telling 1 from 5 stars, paired by split: the corrected resampled t-test (Nadeau & Bengio 2003).

    Args:
        first, second: coverage of the feedback, and the prediction by it.
        stars, splits, seed: as in `predict_stars`.
    """
    known = [known_items(np.asarray(matrix, dtype=np.float64)) for matrix, _ in (first, second)]
    found = [one for _, one in (first, second)]
    if (known[0] != known[1]).any():
        # Splits are of the same items only where both have the same ones.
        rated = np.where(known[0] & known[1], np.asarray(stars, dtype=np.float64), NAN).tolist()
        found = [predict_stars(one, rated, splits=splits, seed=seed) for one, _ in (first, second)]
    for one in found:
        if not one.by_split:
            return _none("stars", one.accuracy, RESAMPLED_T)
    gaps = np.array(found[0].by_split) - np.array(found[1].by_split)
    estimate, p = corrected_interval(gaps, found[0].tested / (found[0].items - found[0].tested), least=-1.0)
    return Gap(
        measure="stars",
        first=found[0].accuracy.value,
        second=found[1].accuracy.value,
        difference=estimate,
        test=RESAMPLED_T,
        p=p,
    )


def worse_notes_between(first: Mapping[str, Lost], second: Mapping[str, Lost], draws: Draws) -> Gap | None:
    """Points that notes lose when they are made worse, paired by note over the perturbations that both have, without
    the control; None where there are none. Sign flips by note.
    """
    harms = [name for name in first if name in second and name != CONTROL]
    if not harms:
        return None
    notes = list(dict.fromkeys(note for name in harms for note in first[name].notes))
    tables = [np.stack([points_of(side[name], notes) for name in harms], axis=1) for side in (first, second)]
    both = ~np.isnan(tables[0]) & ~np.isnan(tables[1])
    return _paired("worse notes", [shares(np.where(both, one, NAN)) for one in tables], None, NOTE, draws)


def preference_between(pairs: Sequence[Pair], first: Answers, second: Answers, draws: Draws) -> Gap:
    """How often the preferred note of two scores higher (equal: one half), paired by pair. Sign flips by visit: pairs
    of one visit are not independent.
    """
    gaps = [preferred_gaps(pairs, side) for side in (first, second)]
    visits = gaps[0].visits
    return _paired("preferences", [(one.sign + 1) / 2 for one in gaps], visits, "visit", draws)


def _paired(
    measure: str, sides: Sequence[Floats], clusters: Sequence[str] | None, unit: str, draws: Draws
) -> Gap:
    gap = sides[0] - sides[1]
    both = ~np.isnan(gap)
    test = one_sample(gap, clusters, unit=unit, **draws)
    if not both.any():
        return _none(measure, test.mean, FLIPS)
    kept = None if clusters is None else [one for one, has in zip(clusters, both, strict=True) if has]
    return Gap(
        measure=measure,
        first=float(sides[0][both].mean()),
        second=float(sides[1][both].mean()),
        difference=test.mean,
        test=FLIPS,
        p=test.flip_p,
        least_p=_least_p(unit_sums(gap[both], kept)),
    )


def _none(measure: str, why: Estimate, test: str) -> Gap:
    return Gap(measure=measure, first=NAN, second=NAN, difference=why, test=test, p=NAN)


def _least_p(sums: Floats) -> float:
    """The least p that sign flips can give: one of all patterns and its reverse, or one of those that are drawn."""
    differing = int((np.abs(sums) > 1e-9).sum())
    least = min(1.0, 2.0 ** (1 - differing))
    return least if len(sums) <= EXACT else max(least, 1 / (1 + PERMUTATIONS))


def _tests(tests: Sequence[UnitTest], notes: Sequence[str]) -> tuple[Floats, Floats]:
    """Tests that were passed and that were answered, notes by questions."""
    columns = {one: at for at, one in enumerate(dict.fromkeys(test.question for test in tests))}
    rows = {one: at for at, one in enumerate(notes)}
    passed, answered = (np.zeros((len(rows), len(columns))) for _ in range(2))
    for test in tests:
        if test.met is not None:
            cell = rows[test.note], columns[test.question]
            answered[cell] = 1
            passed[cell] = not test.met
    return passed, answered


def _rate(passed: Floats, answered: Floats) -> float:
    tried = answered.sum(axis=0)
    there = tried > 0
    return float((passed.sum(axis=0)[there] / tried[there]).mean()) if there.any() else NAN


def _rate_without(table: tuple[Floats, Floats], at: int) -> float:
    return _rate(np.delete(table[0], at, axis=0), np.delete(table[1], at, axis=0))
