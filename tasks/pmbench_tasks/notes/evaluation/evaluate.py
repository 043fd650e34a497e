"""One checklist's evaluation from all that is known about it, and several checklists side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from pmbench_tasks.notes.evaluation.answers import Answers, mean_score
from pmbench_tasks.notes.evaluation.comparing import (
    Draws,
    Gap,
    coverage_between,
    enforceability_between,
    preference_between,
    stars_between,
    worse_notes_between,
)
from pmbench_tasks.notes.evaluation.covering import (
    coverage_estimate,
    coverage_gap,
    coverage_matrix,
    diversity_estimate,
)
from pmbench_tasks.notes.evaluation.deltas import Between, Lost, Robustness, between, lost_points, robustness
from pmbench_tasks.notes.evaluation.distances import Distances, cluster_distances
from pmbench_tasks.notes.evaluation.enforceability import Enforceability, UnitTest, enforceability
from pmbench_tasks.notes.evaluation.human import Agreement, Labels, annotator_agreement, judge_agreement
from pmbench_tasks.notes.evaluation.influence import Influences, influences
from pmbench_tasks.notes.evaluation.intervals import NAN, RESAMPLES, Estimate, Floats, with_missing
from pmbench_tasks.notes.evaluation.items import Items, item_statistics
from pmbench_tasks.notes.evaluation.paired import OneSample, holm, one_sample
from pmbench_tasks.notes.evaluation.predictive import SPLITS, Prediction, predict_stars
from pmbench_tasks.notes.evaluation.preferences import Pair, Preference, preference
from pmbench_tasks.notes.evaluation.retest import Retest, retest


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Material:
    """All that is known about one checklist. What is left out is not computed.

    Attributes:
        name: for the table.
        questions: ids, in order, length k.
        coverage: of the feedback, (k, n): 1, 0, or NaN where the model gave no answer.
        stars: of each feedback item, 1 to 5, NaN where it has none, length n.
        embeddings: of each feedback item, (n, d).
        reference: answers about reference notes.
        perturbed: by perturbation, answers about the notes that it did change, under the ids of the reference notes.
        pairs: preferences; compared: answers about their notes, under the ids that the pairs have.
        unit_tests: answers about notes rewritten to fail; None: none were asked for. unanswered: answers about
            reference notes that are missing, so that there is no test of these; not_rewritten: notes that the model
            left as they were or deleted, so that there is none either.
        labels: people's answers, used where they are to any of the questions; judged: the judge's about the same
            notes.
        runs: two or more runs of the judge over the same notes.
        visits: note id -> visit, where several notes belong together; a note that is not in it is its own.
    """

    name: str
    questions: tuple[str, ...]
    coverage: ArrayLike | None = None
    stars: Sequence[float] | None = None
    embeddings: ArrayLike | None = None
    reference: Answers | None = None
    perturbed: Mapping[str, Answers] = field(default_factory=dict)
    pairs: Sequence[Pair] = ()
    compared: Answers | None = None
    unit_tests: Sequence[UnitTest] | None = None
    unanswered: int = 0
    not_rewritten: int = 0
    labels: Labels | None = None
    judged: Answers | None = None
    runs: Sequence[Answers] = ()
    visits: Mapping[str, str] = field(default_factory=dict)


class Evaluation(msgspec.Struct, frozen=True, kw_only=True):
    """One checklist. None: not computed, since what it needs was not given."""

    name: str
    questions: tuple[str, ...]
    coverage: Estimate | None = None
    diversity: Estimate | None = None
    distances: Distances | None = None
    binary: Prediction | None = None
    multiclass: Prediction | None = None
    influences: Influences | None = None
    reference: Estimate | None = None
    robustness: Robustness | None = None
    preference: Preference | None = None
    enforceability: Enforceability | None = None
    judge: Agreement | None = None
    annotators: Agreement | None = None
    retest: Retest | None = None
    items: Items | None = None


class Contrast(msgspec.Struct, frozen=True, kw_only=True):
    """Two checklists over the same feedback and notes, the first less the second.

    Attributes:
        first, second: their names.
        coverage: paired by feedback item.
        reference: difference of the scores of reference notes, paired by note, in points.
        deltas: of the perturbations; its `p_holm` is adjusted over all perturbations and all contrasts of the table.
        main: the main measures; their `p_holm` is adjusted over all of them in the table.
    """

    first: str
    second: str
    coverage: Estimate | None
    reference: OneSample | None
    deltas: Between | None
    main: tuple[Gap, ...] = ()


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Several checklists side by side: an evaluation of each, and a contrast of every two."""

    evaluations: tuple[Evaluation, ...]
    contrasts: tuple[Contrast, ...]


def evaluate(
    given: Material, *, resamples: int = RESAMPLES, splits: int = SPLITS, seed: int = 0
) -> Evaluation:
    """Everything that can be computed about one checklist.

    Args:
        given: what is known.
        resamples: of each bootstrap; half as many for coefficients, which cost more.
        splits: of the feedback, for predictive power.
        seed: of everything that is drawn.

    Raises:
        ValueError: parts that do not fit together.
        MissingExtra: stars are given and scikit-learn is not installed.
    """
    _check(given)
    draws: Draws = {"resamples": resamples, "seed": seed}
    fewer: Draws = {"resamples": max(1, resamples // 2), "seed": seed}
    cover, stars, labels = given.coverage, given.stars, _labels(given)
    told = None if cover is None or stars is None else (cover, stars)
    lost = _lost(given)
    pooled = _pooled(given)
    return Evaluation(
        name=given.name,
        questions=given.questions,
        coverage=None if cover is None else coverage_estimate(cover, **draws),
        diversity=None if cover is None else diversity_estimate(cover, **draws),
        distances=None
        if cover is None or given.embeddings is None
        else cluster_distances(cover, given.embeddings),
        binary=None if told is None else predict_stars(*told, "binary", splits=splits, seed=seed),
        multiclass=None if told is None else predict_stars(*told, "multiclass", splits=splits, seed=seed),
        influences=None if told is None else influences(told[0], told[1], given.questions, **fewer),
        reference=None if given.reference is None else mean_score(given.reference, **draws),
        robustness=robustness(lost, **draws) if lost else None,
        preference=None
        if given.compared is None or not given.pairs
        else preference(given.pairs, given.compared, **draws),
        enforceability=None
        if given.unit_tests is None
        else enforceability(
            given.unit_tests,
            given.questions,
            unanswered=given.unanswered,
            not_rewritten=given.not_rewritten,
            **draws,
        ),
        judge=None
        if labels is None or given.judged is None
        else judge_agreement(given.judged, labels, **draws),
        annotators=None if labels is None else annotator_agreement(labels, **draws),
        retest=_retest(given, draws) if len(given.runs) > 1 else None,
        items=None if pooled is None else item_statistics(pooled[0], pooled[1], **draws),
    )


def compare(
    given: Sequence[Material], *, resamples: int = RESAMPLES, splits: int = SPLITS, seed: int = 0
) -> Comparison:
    """Several checklists side by side, evaluated over the same feedback and notes.

    Raises:
        ValueError: two of one name, or as in `evaluate`.
    """
    names = [one.name for one in given]
    if len(set(names)) != len(names):
        raise ValueError("two checklists have one name")
    evaluations = [evaluate(one, resamples=resamples, splits=splits, seed=seed) for one in given]
    draws: Draws = {"resamples": resamples, "seed": seed}
    found = [
        msgspec.structs.replace(
            _contrast(one, two, draws), main=tuple(_main(one, two, predicted, splits, draws))
        )
        for (one, first), (two, second) in combinations(zip(given, evaluations, strict=True), 2)
        for predicted in [(first.binary, second.binary)]
    ]
    every = {
        f"{place} {name}": test.p
        for place, one in enumerate(found)
        if one.deltas is not None
        for name, test in one.deltas.by_perturbation.items()
    }
    adjusted = holm(every)
    main = holm({f"{place} {gap.measure}": gap.p for place, one in enumerate(found) for gap in one.main})
    return Comparison(
        evaluations=tuple(evaluations),
        contrasts=tuple(_adjusted(one, place, adjusted, main) for place, one in enumerate(found)),
    )


def _check(given: Material) -> None:
    tables = [given.reference, given.compared, *given.perturbed.values(), *given.runs]
    for one in tables:
        if one is not None and one.questions != given.questions:
            raise ValueError(f"{given.name}: answers to other questions, or in another order")
    if given.coverage is not None and len(coverage_matrix(given.coverage)) != len(given.questions):
        raise ValueError(f"{given.name}: coverage by another number of questions")


def _labels(given: Material) -> Labels | None:
    shared = given.labels is not None and set(given.labels.questions) & set(given.questions)
    return given.labels if shared else None


def _lost(given: Material) -> dict[str, Lost]:
    if given.reference is None:
        return {}
    return {name: lost_points(given.reference, one) for name, one in given.perturbed.items()}


def _pooled(given: Material) -> tuple[Answers, list[str]] | None:
    """All notes with yes/no answers, each once, and their visits: perturbed ones count as notes of their own."""
    rows: dict[str, Floats] = {}
    visits: list[str] = []
    parts = [("", given.reference), ("", given.compared)]
    parts += [(f" {name}", one) for name, one in given.perturbed.items()]
    for suffix, one in parts:
        if one is None or not one.yes_or_no:
            continue
        for note, met in zip(one.notes, one.met, strict=True):
            if note + suffix not in rows:
                rows[note + suffix] = met
                visits.append(given.visits.get(note, note))
    if not rows:
        return None
    return Answers(tuple(rows), given.questions, np.stack(list(rows.values()))), visits


def _retest(given: Material, draws: Draws) -> Retest:
    visits = [given.visits.get(note, note) for note in given.runs[0].notes]
    return retest(given.runs, visits, unit="visit", **draws)


def _main(
    one: Material,
    two: Material,
    predicted: tuple[Prediction | None, Prediction | None],
    splits: int,
    draws: Draws,
) -> Iterator[Gap]:
    """The main measures that both checklists have."""
    if one.coverage is not None and two.coverage is not None:
        yield coverage_between(one.coverage, two.coverage, draws)
    if one.unit_tests is not None and two.unit_tests is not None:
        yield enforceability_between(one.unit_tests, two.unit_tests)
    first, second = predicted
    if one.coverage is not None and two.coverage is not None and one.stars and first and second:
        sides = (one.coverage, first), (two.coverage, second)
        yield stars_between(*sides, one.stars, splits=splits, seed=draws["seed"])
    worse = worse_notes_between(_lost(one), _lost(two), draws)
    if worse is not None:
        yield worse
    if one.pairs and one.compared is not None and two.compared is not None:
        yield preference_between(one.pairs, one.compared, two.compared, draws)


def _contrast(one: Material, two: Material, draws: Draws) -> Contrast:
    covers = scores = deltas = None
    if one.coverage is not None and two.coverage is not None:
        covers = coverage_gap(one.coverage, two.coverage, **draws)
    if one.reference is not None and two.reference is not None:
        notes = [note for note in one.reference.notes if note in set(two.reference.notes)]
        first, second = (
            Answers(tuple(notes), side.questions, side.rows(notes)).scores()
            for side in (one.reference, two.reference)
        )
        scores = one_sample(100 * (first - second), unit="note", **draws)
        missing = one.reference.missing + two.reference.missing
        mean = with_missing(scores.mean, missing, NAN, NAN)
        scores = msgspec.structs.replace(scores, mean=mean)
    lost = _lost(one), _lost(two)
    if all(lost):
        deltas = between(lost[0], lost[1], names=(one.name, two.name), **draws)
    return Contrast(first=one.name, second=two.name, coverage=covers, reference=scores, deltas=deltas)


def _spread(found: Estimate) -> Estimate:
    """Without an interval where all that was drawn is the same: that shows no spread, not that there is none."""
    return msgspec.structs.replace(found, low=NAN, high=NAN) if found.low == found.high else found


def _adjusted(
    one: Contrast, place: int, adjusted: Mapping[str, float], main: Mapping[str, float]
) -> Contrast:
    gaps = (
        msgspec.structs.replace(
            gap, p_holm=main[f"{place} {gap.measure}"], difference=_spread(gap.difference)
        )
        for gap in one.main
    )
    one = msgspec.structs.replace(one, main=tuple(gaps))
    if one.deltas is None:
        return one
    p = {name: adjusted[f"{place} {name}"] for name in one.deltas.by_perturbation}
    return msgspec.structs.replace(one, deltas=msgspec.structs.replace(one.deltas, p_holm=p))
