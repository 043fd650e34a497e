"""Do a judge's answers agree with people's, and with its own when it is asked again?

The paper has no labels of people (appendix G names their lack). Agreement is accuracy, Cohen's κ (1960) and, since κ
falls where nearly all answers are yes, the prevalence-adjusted and bias-adjusted κ, 2 · accuracy − 1 (Byrt, Bishop &
Carlin 1993).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np

from pmbench import DataError, Row, read_table
from pmbench_tasks.notes.evaluation.answers import Answers
from pmbench_tasks.notes.evaluation.intervals import (
    NAN,
    RESAMPLES,
    Estimate,
    Floats,
    estimates,
    with_missing,
)

YES = ("yes", "y", "true", "1")
NO = ("no", "n", "false", "0")


@dataclass(frozen=True, slots=True, eq=False)
class Labels:
    """People's answers.

    Attributes:
        notes, questions: their ids, lengths n and k.
        visits: what each note belongs to, length n: the unit of resampling.
        annotators: names, length r.
        values: 1, 0 or NaN, (n, k, r).
    """

    notes: tuple[str, ...]
    questions: tuple[str, ...]
    visits: tuple[str, ...]
    annotators: tuple[str, ...]
    values: Floats

    def consensus(self) -> Floats:
        """What most annotators say, (n, k); NaN where they are as many on either side, or nobody is."""
        there = ~np.isnan(self.values)
        lead = np.where(there, 2 * self.values - 1, 0.0).sum(axis=2)
        return np.where(lead == 0, NAN, (lead > 0).astype(np.float64))


class Kappas(msgspec.Struct, frozen=True, kw_only=True):
    """Agreement of two sets of answers.

    Attributes:
        accuracy: share of equal answers among those that both have; `missing` answers of the judge are not in it,
            and `least` and `most` read all of them as wrong and as right.
        kappa: Cohen's; undefined where both give one and the same answer throughout.
        pabak: 2 · accuracy − 1.
        both: answers that both have.
        prevalence: share of yes among the labels of those; NaN without any.
    """

    accuracy: Estimate
    kappa: Estimate
    pabak: Estimate
    both: int
    prevalence: float


class Agreement(msgspec.Struct, frozen=True, kw_only=True):
    """Agreement over all questions together (answers pooled) and for each question.

    Attributes:
        pooled: over all questions.
        questions: ids; by_question: in their order.
        unlabelled: answers that nobody gave; divided: about which as many people say yes as no.
    """

    pooled: Kappas
    questions: tuple[str, ...]
    by_question: tuple[Kappas, ...]
    unlabelled: int
    divided: int = 0


def agreement(
    judge: Floats,
    labels: Floats,
    questions: Sequence[str],
    clusters: Sequence[str] | None = None,
    *,
    unit: str = "visit",
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Agreement:
    """How far one set of answers agrees with another.

    Args:
        judge, labels: 1, 0 or NaN, (n, k).
        questions: ids, length k.
        clusters: the unit of each note; without, each note is its own.
        unit: what a unit is called.
        resamples, seed: of the bootstrap.

    Raises:
        ValueError: shapes that differ, or answers that are neither yes nor no.
    """
    if judge.shape != labels.shape or judge.shape[1] != len(questions):
        raise ValueError(f"answers of shapes {judge.shape} and {labels.shape} to {len(questions)} questions")
    for table in (judge, labels):
        if not np.isin(table[~np.isnan(table)], (0.0, 1.0)).all():
            raise ValueError("agreement needs answers of yes or no")
    cells = _cells(judge, labels)
    pooled = cells.sum(axis=1, keepdims=True)
    missing = (np.isnan(judge) & ~np.isnan(labels)).sum(axis=0)

    def kappas(columns: Floats, gone: Sequence[int]) -> list[Kappas]:
        numbers = [
            estimates(formula, columns, clusters, unit=unit, limits=limits, resamples=resamples, seed=seed)
            for formula, limits in ((accuracy, (0.0, 1.0)), (kappa, None), (pabak, (-1.0, 1.0)))
        ]
        sums = columns.sum(axis=0)
        return [
            _kappas(share, cohen, adjusted, total, int(lost))
            for share, cohen, adjusted, total, lost in zip(*numbers, sums, gone, strict=True)
        ]

    return Agreement(
        pooled=kappas(pooled, [int(missing.sum())])[0],
        questions=tuple(questions),
        by_question=tuple(kappas(cells, missing.tolist())),
        unlabelled=int(np.isnan(labels).sum()),
    )


def judge_agreement(
    judge: Answers, labels: Labels, *, resamples: int = RESAMPLES, seed: int = 0
) -> Agreement:
    """A judge's answers against people's consensus, for the questions that both have, resampled by visit.

    Raises:
        ValueError: no question or no note in common.
    """
    shared = [one for one in judge.questions if one in set(labels.questions)]
    kept = [row for row, note in enumerate(labels.notes) if note in set(judge.notes)]
    if not shared or not kept:
        raise ValueError("the judge's answers and the labels have no question or no note in common")
    given = judge.rows([labels.notes[row] for row in kept])[:, [judge.questions.index(one) for one in shared]]
    people = labels.consensus()[np.ix_(kept, [labels.questions.index(one) for one in shared])]
    visits = [labels.visits[row] for row in kept]
    found = agreement(given, people, shared, visits, resamples=resamples, seed=seed)
    places = np.ix_(kept, [labels.questions.index(one) for one in shared])
    nobody = int(np.isnan(labels.values[places]).all(axis=2).sum())
    return msgspec.structs.replace(found, unlabelled=nobody, divided=found.unlabelled - nobody)


def annotator_agreement(labels: Labels, *, resamples: int = RESAMPLES, seed: int = 0) -> Agreement | None:
    """The first two annotators against each other, as a measure for the judge; None with one annotator."""
    if len(labels.annotators) < 2:
        return None
    first, second = labels.values[:, :, 0], labels.values[:, :, 1]
    return agreement(first, second, labels.questions, labels.visits, resamples=resamples, seed=seed)


def accuracy(cells: Floats) -> Floats:
    """Share of equal answers, from counts (..., 4) of yes-yes, yes-no, no-yes, no-no; NaN without answers."""
    total = cells.sum(axis=-1)
    return np.where(total > 0, (cells[..., 0] + cells[..., 3]) / np.where(total > 0, total, 1), NAN)


def pabak(cells: Floats) -> Floats:
    """2 · accuracy − 1."""
    return 2 * accuracy(cells) - 1


def kappa(cells: Floats) -> Floats:
    """Cohen's κ, 1 − observed over expected disagreement; NaN where independent answers could not disagree."""
    a, b, c, d = (cells[..., place] for place in range(4))
    expected = (a + b) * (b + d) + (c + d) * (a + c)
    seen = (b + c) * cells.sum(axis=-1)
    return np.where(expected > 0, 1 - seen / np.where(expected > 0, expected, 1), NAN)


def _cells(one: Floats, two: Floats) -> Floats:
    """Which of the four pairs of answers each cell is, (n, k, 4); all zeros where either is missing."""
    pairs = [(one == first) & (two == second) for first in (1.0, 0.0) for second in (1.0, 0.0)]
    return np.stack(pairs, axis=-1).astype(np.float64)


def _kappas(share: Estimate, cohen: Estimate, adjusted: Estimate, total: Floats, missing: int) -> Kappas:
    both = int(total.sum())
    asked = both + missing
    least, most = ((share.value * both if both else 0.0) + gained for gained in (0, missing))
    ends = (least / asked, most / asked) if asked else (NAN, NAN)
    if not np.isfinite(cohen.value):
        cohen = msgspec.structs.replace(
            cohen, note="one answer throughout" if both else "no answers in common"
        )
    return Kappas(
        accuracy=with_missing(share, missing, *ends),
        kappa=with_missing(cohen, missing, NAN, NAN),
        pabak=with_missing(adjusted, missing, 2 * ends[0] - 1, 2 * ends[1] - 1),
        both=both,
        prevalence=float((total[0] + total[2]) / both) if both else NAN,
    )


def read_labels(path: Path) -> Labels:
    """People's answers from a table with the columns `visit`, `draft`, `question` and one for each annotator
    (`annotator1`, …). A note's id is `visit/draft`, or `visit` (the reference note) in a table that has no other
    column than these: one that names drafts by another name would else be read as labels of the reference notes. A
    cell holds yes or no, or nothing.

    Raises:
        DataError: it cannot be read, lacks a column, has something twice or something else in a cell.
    """
    rows = read_table(path)
    annotators = [name for name in rows[0].values if name.casefold().startswith("annotator")]
    lacking = [name for name in ("visit", "question") if name not in rows[0].values]
    if lacking or not annotators:
        raise DataError(
            f"has no column {lacking[0] if lacking else 'annotator1'!r}",
            where=str(path),
            remedy="Give the columns visit, draft, question, annotator1, …",
        )
    others = [name for name in rows[0].values if name not in ("visit", "question", *annotators)]
    if "draft" not in rows[0].values and others:
        raise DataError(
            f"has no column 'draft', and {_columns(others)} taken for nothing",
            where=str(path),
            remedy="Call the column that says which note of the visit is meant draft (note for the reference note); "
            "taken are visit, draft, question and annotator1, …: leave others out where all labels are of "
            "reference notes",
        )
    found: dict[tuple[str, str], list[float]] = {}
    visits: dict[str, str] = {}
    for row in rows:
        visit, question = _named(row, "visit"), _named(row, "question")
        note = f"{visit}/{_named(row, 'draft')}" if "draft" in row.values else visit
        if (note, question) in found:
            raise DataError("labels of a note and question that were there before", where=row.where())
        visits[note] = visit
        found[note, question] = [_label(row, name) for name in annotators]
    questions = tuple(dict.fromkeys(question for _, question in found))
    nobody = [NAN] * len(annotators)
    table = [[found.get((note, question), nobody) for question in questions] for note in visits]
    return Labels(
        tuple(visits), questions, tuple(visits.values()), tuple(annotators), np.array(table, dtype=np.float64)
    )


def _columns(names: Sequence[str]) -> str:
    told = ", ".join(repr(name) for name in names[:3]) + (", …" if len(names) > 3 else "")
    return f"{told} is" if len(names) == 1 else f"{told} are"


def _named(row: Row, column: str) -> str:
    text = row.text(column).strip()
    if not text:
        raise DataError("a cell is empty", where=row.where(column))
    return text


def _label(row: Row, column: str) -> float:
    text = row.text(column).strip().casefold()
    if text in YES:
        return 1.0
    if text in NO:
        return 0.0
    if not text:
        return NAN
    raise DataError("a label that is neither yes nor no", where=row.where(column), remedy="Or leave it empty")
