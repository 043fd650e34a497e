"""Criteria graded by several judges, as in MedHELM's jury, and by one, as in the PDQI-9."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec


class JuryScore(msgspec.Struct, frozen=True):
    """What a jury made of one note.

    Attributes:
        mean: over every grade given, each judge and criterion counting once; None where none was given.
        given: how many grades there are.
        missing: how many there are not.
        low, high: the mean with every missing grade at the lowest, at the highest end of the scale.
        by_criterion: the mean of each criterion over judges; None where no judge graded it.
        by_judge: the mean of each judge over criteria; None where it graded none.
    """

    mean: float | None
    given: int
    missing: int
    low: float
    high: float
    by_criterion: tuple[float | None, ...]
    by_judge: tuple[float | None, ...]


def jury_score(grades: Sequence[Sequence[float | None]], ends: tuple[float, float] = (1, 5)) -> JuryScore:
    """The plain mean over judges and criteria, as MedHELM has it, without its zero.

    Where no judge's answer can be read, MedHELM's jury_score (stanford-crfm/helm, llm_jury_metrics.py) is its
    default of 0.0, which lies below a scale from 1 and is a grade on one from 0. Here there is no score then.
    A judge whose answer cannot be read is left out in both; here it is counted besides.

    Args:
        grades: judges × criteria; None for a grade that is missing.
        ends: the lowest and the highest grade.

    Raises:
        ValueError: no judge or criterion, judges with other numbers of criteria, or a grade off the scale.
    """
    low, high = ends
    rows = [list(row) for row in grades]
    if not rows or not rows[0]:
        raise ValueError("a jury needs a judge and a criterion")
    if len({len(row) for row in rows}) != 1:
        raise ValueError("every judge grades the same criteria; a grade that is missing is None")
    there = [grade for row in rows for grade in row if grade is not None]
    if not all(low <= grade <= high for grade in there):
        raise ValueError(f"grades must be from {low} to {high}")
    number = len(rows) * len(rows[0])
    missing, total = number - len(there), math.fsum(there)
    return JuryScore(
        _mean(there),
        len(there),
        missing,
        (total + low * missing) / number,
        (total + high * missing) / number,
        tuple(_mean(column) for column in zip(*rows, strict=True)),
        tuple(_mean(row) for row in rows),
    )


def graded_total(grades: Sequence[float | None]) -> float | None:
    """The sum of one judge's grades, as the PDQI-9 is read (9 to 45); None where a grade is missing."""
    there = [grade for grade in grades if grade is not None]
    return math.fsum(there) if there and len(there) == len(grades) else None


def _mean(grades: Sequence[float | None]) -> float | None:
    there = [grade for grade in grades if grade is not None]
    return math.fsum(there) / len(there) if there else None
