"""What a reader of the table must know of each checklist: what is missing, left out, undecided or redundant."""

from __future__ import annotations

from collections.abc import Iterator

from pmbench_tasks.notes.evaluation.evaluate import Comparison, Evaluation
from pmbench_tasks.notes.evaluation.predictive import Prediction


def remarks(comparison: Comparison) -> list[str]:
    """Lines, each beginning with the name of its checklist."""
    return [f"{one.name}: {line}" for one in comparison.evaluations for line in _lines(one)]


def _lines(one: Evaluation) -> Iterator[str]:
    yield from _of_feedback(one)
    yield from _of_notes(one)
    yield from _of_judge(one)
    yield from _of_items(one)


def _of_feedback(one: Evaluation) -> Iterator[str]:
    if one.coverage is not None and one.coverage.missing:
        yield (
            f"answers of the coverage matrix that are missing: {one.coverage.missing}; feedback items with one are "
            f"left out of coverage, diversity, distances and what is said of stars ({one.coverage.units} remain)."
        )
    if one.distances is not None and one.distances.without_pairs:
        yield (
            f"questions that cover fewer than two feedback items and have no intra-cluster distance: "
            f"{one.distances.without_pairs}; that cover none and have no centroid: {one.distances.without_items}."
        )
    for found in (one.binary, one.multiclass):
        if found is None:
            continue
        kind = "1 or 5 stars" if found.setting == "binary" else "1 to 5 stars"
        counts = ", ".join(f"{count} × {stars}" for stars, count in found.ratings.items())
        yield (
            f"prediction of {kind}: {found.items} feedback items ({counts}), {found.without} left out; "
            f"{found.splits} splits, {found.folds} folds."
            + (f" The most frequent rating is {100 * _share(found):.0f}% of all." if found.items else "")
        )


def _share(found: Prediction) -> float:
    return max(found.ratings.values()) / found.items


def _of_notes(one: Evaluation) -> Iterator[str]:
    for delta in one.robustness.deltas if one.robustness else ():
        if delta.unscored or delta.strangers:
            yield (
                f"{delta.perturbation}: {delta.unscored} notes without a question answered before and after, "
                f"{delta.strangers} without a reference note, left out."
            )
    if one.enforceability is not None:
        total = len(one.questions)
        yield (
            f"{one.enforceability.enforceable} of {total} questions are enforceable (a rate of at least 0.7); "
            f"{one.enforceability.untested} could not be tested."
        )
        if gone := one.enforceability.not_rewritten:
            yield (
                f"not rewritten: {gone} times the model was to make a passing note fail and left it as it was, or "
                "deleted all of it; these are no tests."
            )


def _of_judge(one: Evaluation) -> Iterator[str]:
    if one.judge is not None:
        pooled = one.judge.pooled
        yield (
            f"judge and people: {pooled.both} answers that both gave, of which people said yes to "
            f"{100 * pooled.prevalence:.0f}%; {pooled.accuracy.missing} of the judge's are missing, "
            f"{one.judge.unlabelled} have no label, and on {one.judge.divided} people disagree, as many yes as no."
            if pooled.both
            else "judge and people: no answer that both gave."
        )
    if one.retest is not None and one.retest.missing:
        yield f"asked again: {one.retest.missing} pairs of answers of which one is missing, or both."


def _of_items(one: Evaluation) -> Iterator[str]:
    if one.items is None:
        return
    constant = [item.question for item in one.items.questions if item.constant]
    if constant:
        yield f"answered alike for all notes, so that they tell none apart: {', '.join(constant)}."
    against = [
        item.question
        for item in one.items.questions
        if item.discrimination.high == item.discrimination.high and item.discrimination.high < 0
    ]
    if against:
        yield f"go against the other questions (interval below 0): {', '.join(against)}."
    for twins in one.items.twins:
        yield f"{twins.first} and {twins.second} have the same answer on all {twins.notes} notes that have both."
