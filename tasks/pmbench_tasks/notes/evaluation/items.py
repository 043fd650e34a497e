"""What each question tells: pass rate, discrimination, and questions that always agree.

The paper has no such statistics; they are the usual ones of test theory.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from pmbench_tasks.notes.evaluation.answers import Answers, pass_rates
from pmbench_tasks.notes.evaluation.intervals import NAN, RESAMPLES, Estimate, Floats, estimates, with_missing

LEAST_NOTES = 10
"""So many notes must have answers to two questions before they are said to agree always."""


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """One question.

    Attributes:
        question: its id.
        passes: share of yes.
        discrimination: item-rest correlation: Pearson's between a note's answer and its share of yes among its other
            answers. Near 0: it says nothing about the rest; below 0: it goes against it. Undefined where all answers
            are the same, or all the rests.
        constant: whether all its answers are the same: it tells no two notes apart.
    """

    question: str
    passes: Estimate
    discrimination: Estimate
    constant: bool


class Twins(msgspec.Struct, frozen=True):
    """Two questions with the same answer on every note that has both, and answers of both kinds.

    Attributes:
        first, second: their ids.
        notes: with answers to both.
    """

    first: str
    second: str
    notes: int


class Items(msgspec.Struct, frozen=True, kw_only=True):
    """Statistics of all questions.

    Attributes:
        questions: in order.
        twins: redundant pairs. Pairs of constant questions agree trivially and are not among them.
        closest: for each question the greatest share of equal answers with another and that other's id; NaN and ""
            where no pair has enough notes.
        notes: with any answer.
    """

    questions: tuple[Item, ...]
    twins: tuple[Twins, ...]
    closest: tuple[tuple[float, str], ...]
    notes: int


def item_statistics(
    answers: Answers,
    clusters: Sequence[str] | None = None,
    *,
    least: int = LEAST_NOTES,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Items:
    """Statistics of the questions, over notes of any quality: over reference notes alone most answers are yes.

    Args:
        answers: of yes and no.
        clusters: what notes are drawn together (a visit's drafts, a note's perturbations); without, each is its own.
        least: notes with both answers that a pair needs before it can be redundant.
        resamples, seed: of the bootstrap by note, or by cluster.

    Raises:
        ValueError: answers that are neither yes nor no.
    """
    if not answers.yes_or_no:
        raise ValueError("item statistics need answers of yes or no")
    rates = pass_rates(answers, clusters, resamples=resamples, seed=seed)
    found = discrimination(answers, clusters, resamples=resamples, seed=seed)
    same, both = equal_answers(answers)
    constant = [one.value in (0.0, 1.0) for one in rates]
    enough = (both >= least) & ~np.eye(len(constant), dtype=bool)
    shares = np.where(enough, same / np.maximum(both, 1), NAN)
    twins = [
        Twins(answers.questions[i], answers.questions[j], int(both[i, j]))
        for i, j in zip(*np.nonzero(np.triu(shares == 1.0)), strict=True)
        if _both_kinds(answers.met[:, [i, j]])
    ]
    return Items(
        questions=tuple(
            Item(question=question, passes=rate, discrimination=one, constant=same_answer)
            for question, rate, one, same_answer in zip(
                answers.questions, rates, found, constant, strict=True
            )
        ),
        twins=tuple(twins),
        closest=tuple(_closest(row, answers.questions) for row in shares),
        notes=int((~np.isnan(answers.met)).any(axis=1).sum()),
    )


def discrimination(
    answers: Answers, clusters: Sequence[str] | None = None, *, resamples: int = RESAMPLES, seed: int = 0
) -> list[Estimate]:
    """Item-rest correlation of each question with an interval by note, or by cluster.

    A note counts for a question if it has an answer to it and to any other. The rest is the share of yes among the
    others' answers, so that notes with different numbers of missing answers can be compared.
    """
    met = answers.met
    there = ~np.isnan(met)
    count = there.sum(axis=1, keepdims=True) - there
    total = np.where(there, met, 0.0)
    rest = (total.sum(axis=1, keepdims=True) - total) / np.maximum(count, 1)
    used = there & (count > 0)
    # Centred first, so that sums of squares do not cancel; a correlation is the same wherever 0 lies.
    x, y = (_centred(values, used) for values in (total, rest))
    columns = np.stack([used.astype(np.float64), x, y, x * x, y * y, x * y], axis=-1)
    unit = "note" if clusters is None else "visit"
    found = estimates(_correlation, columns, clusters, unit=unit, resamples=resamples, seed=seed)
    missing = np.isnan(met).sum(axis=0)
    named = []
    for one, lost in zip(found, missing.tolist(), strict=True):
        note = "" if one.value == one.value else "no spread"
        named.append(with_missing(msgspec.structs.replace(one, note=note), lost, NAN, NAN))
    return named


def equal_answers(answers: Answers) -> tuple[Floats, Floats]:
    """For each pair of questions, notes with equal answers to both and notes with both, (k, k) each."""
    yes, no = ((answers.met == end).astype(np.float64) for end in (1.0, 0.0))
    there = yes + no
    return yes.T @ yes + no.T @ no, there.T @ there


def _correlation(sums: Floats) -> Floats:
    n, x, y, xx, yy, xy = (sums[..., place] for place in range(6))
    safe = np.maximum(n, 1)
    spread_x, spread_y = xx - x * x / safe, yy - y * y / safe
    enough = (spread_x > 1e-9) & (spread_y > 1e-9)
    product = np.where(enough, spread_x * spread_y, 1.0)
    return np.where(enough, np.clip((xy - x * y / safe) / np.sqrt(product), -1, 1), NAN)


def _centred(values: Floats, used: NDArray[np.bool_]) -> Floats:
    there = np.maximum(used.sum(axis=0), 1)
    return np.where(used, values - np.where(used, values, 0.0).sum(axis=0) / there, 0.0)


def _both_kinds(pair: Floats) -> bool:
    first = pair[~np.isnan(pair).any(axis=1), 0]
    return bool(first.min() < first.max())


def _closest(shares: Floats, questions: Sequence[str]) -> tuple[float, str]:
    if np.isnan(shares).all():
        return NAN, ""
    place = int(np.nanargmax(shares))
    return float(shares[place]), questions[place]
