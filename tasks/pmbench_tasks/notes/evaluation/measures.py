"""The rows of the table: what is measured, where it is from, which way is better, and each checklist's number."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from pmbench_tasks.notes.evaluation.evaluate import Comparison, Evaluation
from pmbench_tasks.notes.evaluation.intervals import Estimate, nothing


class Measure(msgspec.Struct, frozen=True, kw_only=True):
    """One row.

    Attributes:
        name: unique in the table.
        title: as it is printed.
        better: `higher`, `lower`, `near 0`, or `""` where neither is better.
        digits: after the point.
        source: where it is defined; `ours` where the paper has no such number.
        estimates: of each checklist, in order; None: not computed.
    """

    name: str
    title: str
    better: str
    digits: int
    source: str
    estimates: tuple[Estimate | None, ...]


Reading = Callable[[Evaluation], Estimate | None]

_ROWS: tuple[tuple[str, str, str, int, str, Reading], ...] = (
    ("coverage", "Coverage of feedback", "higher", 3, "Table 2, D.3", lambda one: one.coverage),
    ("diversity", "Diversity", "higher", 3, "Table 2, D.3", lambda one: one.diversity),
    (
        "intra_distance",
        "Intra-cluster distance (cosine)",
        "lower",
        3,
        "Table 2, 5.1",
        lambda one: one.distances.intra if one.distances else None,
    ),
    (
        "inter_distance",
        "Inter-cluster distance (cosine)",
        "higher",
        3,
        "Table 2, 5.1",
        lambda one: one.distances.inter if one.distances else None,
    ),
    (
        "enforceability",
        "Enforceability, mean over questions",
        "higher",
        3,
        "4.2, D.2, Fig. 7",
        lambda one: one.enforceability.mean if one.enforceability else None,
    ),
    (
        "binary_accuracy",
        "Stars 1 or 5: accuracy",
        "higher",
        3,
        "5.2, F.2",
        lambda one: one.binary.accuracy if one.binary else None,
    ),
    (
        "binary_majority",
        "… of always saying the most frequent rating",
        "",
        3,
        "ours",
        lambda one: one.binary.majority if one.binary else None,
    ),
    (
        "binary_f1",
        "Stars 1 or 5: macro F1",
        "higher",
        3,
        "5.2, F.2",
        lambda one: one.binary.macro_f1 if one.binary else None,
    ),
    (
        "binary_majority_f1",
        "… of always saying the most frequent rating",
        "",
        3,
        "ours",
        lambda one: one.binary.majority_f1 if one.binary else None,
    ),
    (
        "multiclass_accuracy",
        "Stars 1 to 5: accuracy",
        "higher",
        3,
        "F.2",
        lambda one: one.multiclass.accuracy if one.multiclass else None,
    ),
    (
        "multiclass_majority",
        "… of always saying the most frequent rating",
        "",
        3,
        "ours",
        lambda one: one.multiclass.majority if one.multiclass else None,
    ),
    (
        "multiclass_f1",
        "Stars 1 to 5: macro F1",
        "higher",
        3,
        "F.2",
        lambda one: one.multiclass.macro_f1 if one.multiclass else None,
    ),
    (
        "delta",
        "Perturbation Δ, points, all perturbations",
        "higher",
        2,
        "5.3, Fig. 3",
        lambda one: one.robustness.overall if one.robustness else None,
    ),
    (
        "delta_harms",
        "Perturbation Δ, points, without paraphrase",
        "higher",
        2,
        "5.3; reading ours",
        lambda one: one.robustness.harms if one.robustness else None,
    ),
    ("reference", "Score of reference notes, points", "", 1, "F.2, Fig. 8", lambda one: one.reference),
    (
        "preference_difference",
        "Preferred less other note, points",
        "higher",
        2,
        "5.4, Fig. 4",
        lambda one: one.preference.difference.mean if one.preference else None,
    ),
    (
        "preference_agreement",
        "Preferred note scores higher (equal: ½)",
        "higher",
        3,
        "ours",
        lambda one: one.preference.agreement if one.preference else None,
    ),
    (
        "rater_agreement",
        "… two raters agree",
        "",
        3,
        "ours",
        lambda one: one.preference.raters if one.preference else None,
    ),
    (
        "judge_accuracy",
        "Judge and people: accuracy",
        "higher",
        3,
        "ours",
        lambda one: one.judge.pooled.accuracy if one.judge else None,
    ),
    (
        "judge_kappa",
        "Judge and people: κ",
        "higher",
        3,
        "ours",
        lambda one: one.judge.pooled.kappa if one.judge else None,
    ),
    (
        "judge_pabak",
        "Judge and people: prevalence-adjusted κ",
        "higher",
        3,
        "ours",
        lambda one: one.judge.pooled.pabak if one.judge else None,
    ),
    (
        "annotator_accuracy",
        "… two annotators: accuracy",
        "",
        3,
        "ours",
        lambda one: one.annotators.pooled.accuracy if one.annotators else None,
    ),
    (
        "annotator_kappa",
        "… two annotators: κ",
        "",
        3,
        "ours",
        lambda one: one.annotators.pooled.kappa if one.annotators else None,
    ),
    (
        "retest_same",
        "Judge asked again: equal answers",
        "higher",
        3,
        "ours",
        lambda one: one.retest.same if one.retest else None,
    ),
    (
        "retest_kappa",
        "Judge asked again: κ",
        "higher",
        3,
        "ours",
        lambda one: one.retest.kappa if one.retest else None,
    ),
    (
        "retest_spread",
        "Judge asked again: SD of a score, points",
        "lower",
        2,
        "ours",
        lambda one: one.retest.spread if one.retest else None,
    ),
)


def measures(comparison: Comparison) -> list[Measure]:
    """The rows of which at least one checklist has a number, then Δ of each perturbation."""
    found = [
        Measure(
            name=name,
            title=title,
            better=better,
            digits=digits,
            source=source,
            estimates=tuple(read(one) for one in comparison.evaluations),
        )
        for name, title, better, digits, source, read in _ROWS
    ]
    found += [_delta_row(name, comparison.evaluations) for name in perturbations(comparison)]
    return [one for one in found if any(value is not None for value in one.estimates)]


def perturbations(comparison: Comparison) -> list[str]:
    """Names of all perturbations of any checklist, in order of first appearance."""
    return list(
        dict.fromkeys(
            delta.perturbation
            for one in comparison.evaluations
            if one.robustness
            for delta in one.robustness.deltas
        )
    )


def _delta_row(name: str, evaluations: Sequence[Evaluation]) -> Measure:
    numbers: list[Estimate | None] = []
    control = False
    for one in evaluations:
        of = {delta.perturbation: delta for delta in one.robustness.deltas} if one.robustness else {}
        control = control or (name in of and of[name].control)
        numbers.append(of[name].test.mean if name in of else nothing("note", "no such notes") if of else None)
    return Measure(
        name=f"delta_{name}",
        title=f"Δ {name}" + (", as a control" if control else ""),
        better="near 0" if control else "higher",
        digits=2,
        source="Table 3" + ("; as a control: ours" if control else ""),
        estimates=tuple(numbers),
    )
