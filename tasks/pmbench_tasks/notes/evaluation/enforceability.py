"""Can a judge tell when a note fails a question? (Section 4.2 and appendix D.2; Fig. 7.)

A question's unit test: reference notes that pass it (ten in the paper) are rewritten to fail it, and the judge is
asked again; a "no" passes the test.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from pmbench_tasks.notes.evaluation.intervals import (
    NAN,
    RESAMPLES,
    Estimate,
    Floats,
    estimates,
    nothing,
    ratio,
    with_missing,
)

THRESHOLD = 0.7
"""From this rate on a question counts as enforceable, as in the paper."""


class UnitTest(NamedTuple):
    """One rewritten note.

    Attributes:
        question: its id.
        note: id of the reference note that was rewritten.
        met: the judge's answer to the rewritten note; None where it, or the rewriting, is missing.
    """

    question: str
    note: str
    met: bool | None


class Rate(msgspec.Struct, frozen=True, kw_only=True):
    """One question's share of rewritten notes that are answered no.

    Attributes:
        question: its id.
        passed, answered, missing: rewritten notes answered no, answered at all, and not.
        rate: with the exact interval of a share (Clopper & Pearson 1934), since ten notes are too few for a
            bootstrap; undefined without an answer.
    """

    question: str
    passed: int
    answered: int
    missing: int
    rate: Estimate


class Enforceability(msgspec.Struct, frozen=True, kw_only=True):
    """Enforceability of a checklist.

    Attributes:
        mean: mean of the questions' rates, with an interval by note.
        questions: of each question, in order.
        enforceable: questions with a rate of at least the threshold; untested: questions without a rate.
        not_rewritten: passing notes that the model left as they were or deleted, so that there is no test.
    """

    mean: Estimate
    questions: tuple[Rate, ...]
    enforceable: int
    untested: int
    not_rewritten: int = 0


def enforceability(
    tests: Sequence[UnitTest],
    questions: Sequence[str],
    *,
    unanswered: int = 0,
    not_rewritten: int = 0,
    threshold: float = THRESHOLD,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Enforceability:
    """Rates of the questions and their mean (averaged over questions, as the paper does).

    In a resample a note is drawn with its tests for all questions; a question of which no note was drawn is left out
    of that resample's mean.

    Args:
        tests: of each question and note, at most one.
        questions: ids of the checklist's questions.
        unanswered: answers about reference notes that are missing, so that no test could be made of these.
        not_rewritten: passing notes that were not rewritten, for no question a test.
        threshold: what counts as enforceable.
        resamples, seed: of the bootstrap by note.

    Raises:
        ValueError: a test of another question, or two of one question and note.
    """
    column = {question: place for place, question in enumerate(questions)}
    notes = {note: place for place, note in enumerate(dict.fromkeys(test.note for test in tests))}
    passed, answered, asked = (np.zeros((len(notes), len(column))) for _ in range(3))
    for test in tests:
        if test.question not in column:
            raise ValueError(f"a unit test of a question that the checklist does not have: {test.question!r}")
        cell = notes[test.note], column[test.question]
        if asked[cell]:
            raise ValueError(f"two unit tests of question {test.question!r} on one note")
        asked[cell] = 1
        answered[cell] = test.met is not None
        passed[cell] = test.met is False
    rates = tuple(
        _rate(
            question, int(passed[:, place].sum()), int(answered[:, place].sum()), int(asked[:, place].sum())
        )
        for question, place in column.items()
    )
    mean = _mean(passed, answered, asked, resamples, seed)
    if not tests:
        lack = f"no unit tests, for no reference note passes {'any question' if len(questions) > 1 else 'it'}"
        if not_rewritten:
            lack = f"no unit tests, for the model rewrote none of {not_rewritten} passing notes"
        mean = nothing("note", lack, missing=unanswered)
    return Enforceability(
        mean=mean,
        questions=rates,
        enforceable=sum(one.rate.value >= threshold for one in rates),
        untested=sum(not one.answered for one in rates),
        not_rewritten=not_rewritten,
    )


def exact_share(hits: int, trials: int, unit: str, note: str = "") -> Estimate:
    """A share with its exact interval (Clopper & Pearson 1934); undefined without trials."""
    if not trials:
        return nothing(unit, note or "nothing was answered")
    from scipy.stats import binomtest

    ends = binomtest(hits, trials).proportion_ci(0.95, method="exact")
    return Estimate(
        value=hits / trials, low=float(ends.low), high=float(ends.high), unit=unit, units=trials, note=note
    )


def _rate(question: str, passed: int, answered: int, asked: int) -> Rate:
    missing = asked - answered
    found = exact_share(passed, answered, "note", "" if asked else "no reference note passes it")
    ends = (passed / asked, (passed + missing) / asked) if asked else (NAN, NAN)
    return Rate(
        question=question,
        passed=passed,
        answered=answered,
        missing=missing,
        rate=with_missing(found, missing, *ends),
    )


def _mean(passed: Floats, answered: Floats, asked: Floats, resamples: int, seed: int) -> Estimate:
    there = answered.any(axis=1)
    missing = int((asked - answered).sum())
    if not there.any():
        return nothing("note", "no unit tests", missing=missing)
    width = passed.shape[1]

    def formula(sums: Floats) -> Floats:
        rates = ratio(sums.reshape(*sums.shape[:-1], width, 2))
        defined = ~np.isnan(rates)
        total = np.where(defined, rates, 0.0).sum(axis=-1)
        average: Floats = total / np.maximum(defined.sum(axis=-1), 1)
        return average

    flat = np.stack([passed, answered], axis=-1)[there].reshape(int(there.sum()), 1, 2 * width)
    found = estimates(formula, flat, unit="note", limits=(0.0, 1.0), resamples=resamples, seed=seed)[0]
    tested = asked.any(axis=0)
    hits, tries = passed.sum(axis=0)[tested], asked.sum(axis=0)[tested]
    gone = tries - answered.sum(axis=0)[tested]
    return with_missing(found, missing, float((hits / tries).mean()), float(((hits + gone) / tries).mean()))
