"""Perturbation Δ: how many points of the 0 to 100 score a note loses when it is made worse (section 5.3, Fig. 3).

The paper defines Δ for a question (score of the reference note less that of the perturbed one, averaged over
notes) and averages over the questions. Where every answer is there, that is the mean over notes of each note's lost
points, which is what is computed here, since then notes are the cases of the test and the unit of the interval. The
paper names neither the unit of Δ nor the cases of its tests; here Δ is in points and a case is a note.

The paper counts paraphrase among the harms and finds Δ > 0. A paraphrase ought not to lose points, so it is also
shown as a control: near 0 is good. That reading is ours, not the paper's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from pmbench_tasks.notes.evaluation.answers import Answers, read_as, shares
from pmbench_tasks.notes.evaluation.intervals import (
    NAN,
    RESAMPLES,
    Estimate,
    Floats,
    estimates,
    means,
    nothing,
    ratio,
    with_missing,
)
from pmbench_tasks.notes.evaluation.paired import OneSample, TwoSample, holm, one_sample, two_sample

NOTE = "note"

CONTROL = "paraphrase"
"""The perturbation that is no harm (our reading)."""


@dataclass(frozen=True, slots=True, eq=False)
class Lost:
    """Points that each note lost by one perturbation.

    Attributes:
        notes: those that were perturbed and scored before and after, length n.
        points: 100 · mean over the questions answered for both of (reference − perturbed), (n,); NaN where no
            question was.
        least, most: with missing answers read in the two extreme ways, (n,).
        missing: answers that are missing, before or after.
        strangers: perturbed notes without a reference note, which are left out.
        by_question: 100 · (reference − perturbed), (n, k), NaN where either answer is missing.
    """

    notes: tuple[str, ...]
    points: Floats
    least: Floats
    most: Floats
    missing: int
    strangers: int
    by_question: Floats


class Delta(msgspec.Struct, frozen=True, kw_only=True):
    """Δ of one perturbation.

    Attributes:
        perturbation: its name.
        test: mean of the lost points with interval by note, t, d and sign-flip test.
        p_holm: p of the t-test, adjusted over the perturbations of this checklist.
        unscored: notes without a question answered both before and after; strangers: without a reference note.
        by_question: Δ of each question, with intervals by note.
        control: whether it is the one that is no harm.
    """

    perturbation: str
    test: OneSample
    p_holm: float
    unscored: int
    strangers: int
    by_question: tuple[Estimate, ...]
    control: bool


class Robustness(msgspec.Struct, frozen=True, kw_only=True):
    """Δ of every perturbation of one checklist.

    Attributes:
        deltas: in the order given.
        overall: mean of the perturbations' Δ, each counting once, paraphrase among them as in the paper.
        harms: the same without the control.
    """

    deltas: tuple[Delta, ...]
    overall: Estimate
    harms: Estimate


class Between(msgspec.Struct, frozen=True, kw_only=True):
    """Δ of two checklists compared.

    Attributes:
        first, second: names of the checklists.
        by_perturbation: two samples of notes (the paper's test), for each perturbation that both have.
        p_holm: p of each, adjusted over the perturbations.
        paired: the same notes' differences of lost points (ours: both checklists scored the same notes).
        over_perturbations: two samples of the perturbations' Δ. An effect as large as the paper's d = 3.12 is more
            easily one of eleven averages than of single notes; it does not say.
    """

    first: str
    second: str
    by_perturbation: dict[str, TwoSample]
    p_holm: dict[str, float]
    paired: dict[str, OneSample]
    over_perturbations: TwoSample


def lost_points(reference: Answers, perturbed: Answers) -> Lost:
    """What each perturbed note lost against its reference note, note by note and question by question.

    Args:
        reference: answers about the reference notes.
        perturbed: about notes perturbed in one way, under the ids of their reference notes; a note that could not be
            changed is not among them. One without a reference is left out.

    Raises:
        ValueError: other questions, or the same in another order.
    """
    if reference.questions != perturbed.questions:
        raise ValueError("reference and perturbed notes were not asked the same questions")
    known = set(reference.notes)
    notes = tuple(note for note in perturbed.notes if note in known)
    before, after = reference.rows(notes), perturbed.rows(notes)
    by_question = 100 * (before - after)
    return Lost(
        notes,
        shares(by_question),
        100 * shares(read_as(before, 0.0) - read_as(after, 1.0)),
        100 * shares(read_as(before, 1.0) - read_as(after, 0.0)),
        int(np.isnan(before).sum() + np.isnan(after).sum()),
        len(perturbed.notes) - len(notes),
        by_question,
    )


def robustness(lost: Mapping[str, Lost], *, resamples: int = RESAMPLES, seed: int = 0) -> Robustness:
    """Δ of each perturbation and over all of them.

    Args:
        lost: by perturbation.
        resamples, seed: of the bootstrap by note.
    """
    tests = {
        name: one_sample(one.points, unit=NOTE, resamples=resamples, seed=seed) for name, one in lost.items()
    }
    adjusted = holm({name: test.p for name, test in tests.items()})
    found = tuple(
        Delta(
            perturbation=name,
            test=msgspec.structs.replace(tests[name], mean=_with_ends(tests[name].mean, one)),
            p_holm=adjusted[name],
            unscored=int(np.isnan(one.points).sum()),
            strangers=one.strangers,
            by_question=tuple(means(one.by_question, unit=NOTE, resamples=resamples, seed=seed)),
            control=name == CONTROL,
        )
        for name, one in lost.items()
    )
    harms = {name: one for name, one in lost.items() if name != CONTROL}
    return Robustness(
        deltas=found,
        overall=mean_delta(lost, resamples=resamples, seed=seed),
        harms=mean_delta(harms, resamples=resamples, seed=seed),
    )


def mean_delta(lost: Mapping[str, Lost], *, resamples: int = RESAMPLES, seed: int = 0) -> Estimate:
    """Mean of several perturbations' Δ, each counting once however many notes it has; notes are drawn with all of
    their perturbations. Undefined where a perturbation has no scored note.
    """
    table = _table(lost)
    if not table.shape[1]:
        return nothing(NOTE, "no perturbations")
    there = ~np.isnan(table)
    rows = there.any(axis=1)
    if not rows.any():
        return nothing(NOTE, "no note scored before and after", missing=_missing(lost))
    sums = np.stack([np.where(there, table, 0.0), there.astype(np.float64)], axis=-1)[rows]
    width = sums.shape[1]

    def formula(total: Floats) -> Floats:
        average: Floats = ratio(total.reshape(*total.shape[:-1], width, 2)).mean(axis=-1)
        return average

    flat = sums.reshape(len(sums), 1, width * 2)
    found = estimates(formula, flat, unit=NOTE, resamples=resamples, seed=seed)[0]
    ends = [float(np.mean([_mean(end) for end in side])) for side in _sides(lost)]
    return with_missing(found, _missing(lost), *ends)


def between(
    first: Mapping[str, Lost],
    second: Mapping[str, Lost],
    *,
    names: tuple[str, str] = ("first", "second"),
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Between:
    """Whether notes lose more points by one checklist than by another, for each perturbation that both have."""
    both = [name for name in first if name in second]
    by_note = {name: two_sample(first[name].points, second[name].points, unit=NOTE) for name in both}
    paired = {}
    for name in both:
        notes = [note for note in first[name].notes if note in set(second[name].notes)]
        gap = points_of(first[name], notes) - points_of(second[name], notes)
        test = one_sample(gap, unit=NOTE, resamples=resamples, seed=seed)
        lost = with_missing(test.mean, first[name].missing + second[name].missing, NAN, NAN)
        paired[name] = msgspec.structs.replace(test, mean=lost)
    averages = [np.array([_mean(side[name].points) for name in both]) for side in (first, second)]
    return Between(
        first=names[0],
        second=names[1],
        by_perturbation=by_note,
        p_holm=holm({name: test.p for name, test in by_note.items()}),
        paired=paired,
        over_perturbations=two_sample(averages[0], averages[1], unit="perturbation"),
    )


def _with_ends(found: Estimate, lost: Lost) -> Estimate:
    return with_missing(found, lost.missing, _mean(lost.least), _mean(lost.most))


def _sides(lost: Mapping[str, Lost]) -> tuple[list[Floats], list[Floats]]:
    return [one.least for one in lost.values()], [one.most for one in lost.values()]


def _missing(lost: Mapping[str, Lost]) -> int:
    return sum(one.missing for one in lost.values())


def _mean(values: Floats) -> float:
    there = values[~np.isnan(values)]
    return float(there.mean()) if len(there) else NAN


def points_of(lost: Lost, notes: Sequence[str]) -> Floats:
    """The points that some notes lost, in their order; NaN for a note that is not there."""
    place = dict(zip(lost.notes, lost.points.tolist(), strict=True))
    return np.array([place.get(note, NAN) for note in notes], dtype=np.float64)


def _table(lost: Mapping[str, Lost]) -> Floats:
    """Lost points, notes by perturbations, NaN where a note lacks one."""
    notes = list(dict.fromkeys(note for one in lost.values() for note in one.notes))
    columns = [points_of(one, notes) for one in lost.values()]
    return np.stack(columns, axis=1) if columns else np.zeros((len(notes), 0))
