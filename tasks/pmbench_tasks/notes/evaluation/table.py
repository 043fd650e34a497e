"""The comparison as Markdown: one table of all measures, the tests, and a table of each checklist's questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pmbench_tasks.notes.evaluation.evaluate import Comparison, Evaluation
from pmbench_tasks.notes.evaluation.intervals import FEW, Estimate
from pmbench_tasks.notes.evaluation.measures import measures, perturbations
from pmbench_tasks.notes.evaluation.paired import holm
from pmbench_tasks.notes.evaluation.remarks import remarks
from pmbench_tasks.notes.evaluation.sentences import TESTS, adjusted_over, digits_of, sentences, title_of
from pmbench_tasks.notes.plain_text import inline

NONE = "–"

FEW_MARK = "†"

LEGEND = (
    f"[95% intervals]; {FEW_MARK} over fewer than {FEW} units, which is too narrow. {{…}}: what the number would be "
    "with every missing answer read the one way and the other. Drawn by: the unit of resampling, and how many there "
    'were; "split": repeated splits of the feedback, interval after Nadeau and Bengio (2003). Distances: jackknife '
    "by feedback item; that between clusters is greater with less feedback: compare it over the same feedback alone."
)

DELTAS = (
    "Δ: points of the 0 to 100 score that a note loses; one-sample t by note, two-sided; d: Cohen's. A paraphrase "
    "ought to lose nothing: that it is a control is our reading, the paper counts it among the harms. "
    "Where p (t, as in the paper) and p (flips) differ, believe p (flips): it does not take lost points for normally "
    "distributed, of which few notes can tell nothing. With n notes that lose or gain it cannot be below 2/2ⁿ."
)


PREFERRED = (
    "Believe p (flips), by visit. The paired t of the paper takes every pair for independent; pairs of one visit are "
    "not, since its notes tell of one patient, so that p is too small wherever a visit has several pairs. "
    "With n visits p (flips) cannot be below 2/2ⁿ."
)


def markdown(comparison: Comparison, texts: Mapping[str, Mapping[str, str]] | None = None) -> str:
    """All of a comparison, as Markdown that ends with a newline.

    Args:
        comparison: of one or more checklists.
        texts: checklist name -> question id -> its words, for the tables of questions; ids alone without.
    """
    words = texts or {}
    parts = []
    if said := list(sentences(comparison)):
        parts = ["## Which is better", "", *(f"- {line}" for line in said), *_gaps(comparison), ""]
    parts += ["## Checklists side by side", *_main(comparison)]
    if perturbations(comparison):
        parts += ["", "## Perturbations", *_perturbations(comparison)]
    if comparison.contrasts:
        parts += ["", "## Differences", *_contrasts(comparison)]
    if any(one.preference for one in comparison.evaluations):
        parts += ["", "## Preferences", *_preferences(comparison)]
    for one in comparison.evaluations:
        parts += ["", f"## Questions of {inline(one.name)}", *_questions(one, words.get(one.name, {}))]
    if said := remarks(comparison):
        parts += ["", "## Remarks", "", *(f"- {inline(line)}" for line in said)]
    return "\n".join(parts) + "\n"


def shown(found: Estimate | None, digits: int = 3) -> str:
    """`0.864 [0.810, 0.910]`; with missing answers also their ends, `{0.801 to 0.902; 12 missing}`.

    A `†` marks an interval over fewer than 50 units, which is too narrow; where there is no number
    stands the reason, `note`.
    """
    if found is None:
        return NONE
    ends = (
        f" {{{number(found.least, digits)} to {number(found.most, digits)}; " if _there(found.least) else " {"
    )
    lost = f"{ends}{found.missing} missing}}" if found.missing else ""
    if not _there(found.value):
        return (found.note or "undefined") + lost
    value = number(found.value, digits)
    if not _there(found.low):
        return f"{value}{lost}"
    star = FEW_MARK if found.few else ""
    return f"{value} [{number(found.low, digits)}, {number(found.high, digits)}]{star}{lost}"


def number(value: float, digits: int) -> str:
    """A number as it is printed; a dash where there is none."""
    if not _there(value):
        return NONE
    text = f"{value:.{digits}f}"
    return text[1:] if text.startswith("-") and float(text) == 0 else text


def p_value(p: float) -> str:
    """`<.001`, `.042`; a dash where there is no test."""
    if not _there(p):
        return NONE
    return "<.001" if p < 0.001 else f"{p:.3f}".removeprefix("0")


def _gaps(comparison: Comparison) -> list[str]:
    rows, tests = [], []
    for one in comparison.contrasts:
        for gap in one.main:
            digits = digits_of(gap)
            sides = [number(gap.first, digits), number(gap.second, digits), shown(gap.difference, digits)]
            who = [inline(one.first), inline(one.second)]
            about = [_units([gap.difference]), gap.test, p_value(gap.p), p_value(gap.p_holm)]
            rows.append([*who, title_of(gap), *sides, *about])
            tests.append(gap.test)
    head = ["First", "Second", "Measure", "Of the first", "Of the second", "Difference", "Drawn by", "Test"]
    how = "; ".join(f"{test}: {TESTS[test]}" for test in dict.fromkeys(tests))
    told = (
        f"The p in the sentences is p (Holm): adjusted for the {adjusted_over(comparison)} comparisons of this "
        "table; from .05 on two checklists cannot be told apart. Intervals are not adjusted, and may exclude 0 all "
        f"the same. Numbers are those over what both have. {how}."
    )
    return ["", *_table([*head, "p", "p (Holm)"], rows), "", told]


def _main(comparison: Comparison) -> list[str]:
    names = [inline(one.name) for one in comparison.evaluations]
    rows = []
    for one in measures(comparison):
        cells = [shown(value, one.digits) for value in one.estimates]
        rows.append([one.title, one.better, *cells, _units(one.estimates), one.source])
    table = _table(["Measure", "Better", *names, "Drawn by", "Source"], rows)
    return ["", *table, "", LEGEND]


def _units(found: Sequence[Estimate | None]) -> str:
    there = [one for one in found if one is not None and one.units]
    if not there:
        return NONE
    counts = "/".join(str(one.units) for one in there)
    return f"{there[0].unit} ({counts if len({one.units for one in there}) > 1 else there[0].units})"


def _perturbations(comparison: Comparison) -> list[str]:
    rows = []
    for one in comparison.evaluations:
        deltas = one.robustness.deltas if one.robustness else ()
        flips = holm({delta.perturbation: delta.test.flip_p for delta in deltas})
        for delta in deltas:
            test = delta.test
            rows.append(
                [
                    inline(one.name),
                    delta.perturbation + (" (control)" if delta.control else ""),
                    str(test.n),
                    str(delta.unscored + delta.strangers),
                    shown(test.mean, 2),
                    number(test.t, 2),
                    p_value(test.p),
                    p_value(delta.p_holm),
                    number(test.d, 2),
                    p_value(test.flip_p),
                    p_value(flips[delta.perturbation]),
                ]
            )
    head = [
        "Checklist",
        "Perturbation",
        "Notes",
        "Left out",
        "Δ, points",
        "t",
        "p",
        "p (Holm)",
        "d",
        "p (flips)",
        "p (flips, Holm)",
    ]
    return ["", *_table(head, rows), "", DELTAS]


def _contrasts(comparison: Comparison) -> list[str]:
    rows = []
    for one in comparison.contrasts:
        who = f"{inline(one.first)} less {inline(one.second)}"
        if one.coverage is not None:
            rows.append([who, "Coverage, paired by feedback item", shown(one.coverage), *[NONE] * 4])
        if (test := one.reference) is not None:
            paired = [number(test.t, 2), p_value(test.p), NONE, number(test.d, 2)]
            rows.append([who, "Score of reference notes, paired by note", shown(test.mean, 2), *paired])
        if one.deltas is None:
            continue
        both = {
            f"Δ {name}, two samples": (test, one.deltas.p_holm[name])
            for name, test in one.deltas.by_perturbation.items()
        }
        both["Δ, two samples of perturbations"] = (one.deltas.over_perturbations, float("nan"))
        for title, (two, adjusted) in both.items():
            gap = f"{number(two.difference, 2)} [{number(two.low, 2)}, {number(two.high, 2)}]"
            rows.append(
                [who, title, gap, number(two.t, 2), p_value(two.p), p_value(adjusted), number(two.d, 2)]
            )
        for name, test in one.deltas.paired.items():
            paired = [number(test.t, 2), p_value(test.p), NONE, number(test.d, 2)]
            rows.append([who, f"Δ {name}, paired by note (ours)", shown(test.mean, 2), *paired])
    head = ["Checklists", "What", "Difference", "t", "p", "p (Holm)", "d"]
    return ["", *_table(head, rows), "", "Two samples: Welch's t; d over the pooled standard deviation."]


def _preferences(comparison: Comparison) -> list[str]:
    rows = []
    for one in comparison.evaluations:
        if (found := one.preference) is None:
            continue
        test = found.difference
        rows.append(
            [
                inline(one.name),
                f"{found.pairs} ({found.undecided} undecided, {found.unscored} unscored)",
                shown(found.preferred, 1),
                shown(found.other, 1),
                f"{found.higher}/{found.equal}/{found.lower}",
                number(test.t, 2),
                p_value(test.p),
                p_value(test.flip_p) + (" exact" if test.exact else ""),
                number(test.d, 2),
            ]
        )
    head = [
        "Checklist",
        "Pairs",
        "Preferred",
        "Other",
        "Higher/equal/lower",
        "t",
        "p (paired t)",
        "p (flips)",
        "d",
    ]
    return ["", *_table(head, rows), "", PREFERRED]


def _questions(one: Evaluation, words: Mapping[str, str]) -> list[str]:
    columns: list[tuple[str, list[str]]] = [
        ("Question", [_question(ident, words) for ident in one.questions])
    ]
    if one.items:
        columns.append(("Yes", [shown(item.passes, 2) for item in one.items.questions]))
        columns.append(("Discrimination", [shown(item.discrimination, 2) for item in one.items.questions]))
    if one.enforceability:
        columns.append(("Enforceability", [shown(rate.rate, 2) for rate in one.enforceability.questions]))
    if one.judge:
        of = dict(zip(one.judge.questions, one.judge.by_question, strict=True))
        kept = [of.get(ident) for ident in one.questions]
        columns.append(("Judge: accuracy", [shown(each.accuracy if each else None, 2) for each in kept]))
        columns.append(("κ", [shown(each.kappa if each else None, 2) for each in kept]))
        columns.append(("PABAK", [shown(each.pabak if each else None, 2) for each in kept]))
    if one.retest:
        columns.append(("Asked again", [shown(same, 2) for same in one.retest.by_question]))
    if one.influences:
        each = one.influences.questions
        columns.append(("Covers", [str(item.covers) for item in each]))
        columns.append(("Log odds of 5 stars", [shown(item.coefficient, 2) for item in each]))
        columns.append(("Stars", [shown(item.stars, 2) for item in each]))
    rows = [list(row) for row in zip(*(cells for _, cells in columns), strict=True)]
    return ["", *_table([title for title, _ in columns], rows)]


def _question(ident: str, words: Mapping[str, str]) -> str:
    return f"{inline(ident)}: {inline(words[ident])}" if ident in words else inline(ident)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [head, ["---"] * len(head), *rows]
    return [f"| {' | '.join(line)} |" for line in lines]


def _there(value: float) -> bool:
    return value == value
