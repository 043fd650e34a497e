"""Rubrics of points, as HealthBench has them: criteria that are met or not, some worth negative points."""

from __future__ import annotations

import math
from collections.abc import Sequence


def rubric_score(points: Sequence[float], met: Sequence[bool | None]) -> float | None:
    """Points of the criteria that are met, over all positive points; not clipped, so it can be below 0.

    As in HealthBench's reference code (openai/simple-evals, healthbench_eval.py, MIT). Its judge is asked
    until it answers; here an answer can be missing (None), and its criterion is left out above and below the
    line. `rubric_bounds` has the two ends of what the missing answers could have made of it.

    Args:
        points: of each criterion, finite.
        met: whether each is met, the same length; None for an answer that is missing.

    Returns:
        None where no positive points are among the criteria answered.

    Raises:
        ValueError: lengths that differ, or points that are not finite.
    """
    _check(points, met)
    answered = [(worth, is_met) for worth, is_met in zip(points, met, strict=True) if is_met is not None]
    possible = math.fsum(worth for worth, _ in answered if worth > 0)
    if possible <= 0:
        return None
    return math.fsum(worth for worth, is_met in answered if is_met) / possible


def rubric_bounds(points: Sequence[float], met: Sequence[bool | None]) -> tuple[float, float] | None:
    """The least and the greatest score that the missing answers could have led to.

    Returns:
        None where no criterion has positive points.

    Raises:
        ValueError: as in `rubric_score`.
    """
    _check(points, met)
    pairs = list(zip(points, met, strict=True))
    worst = rubric_score(points, [worth < 0 if is_met is None else is_met for worth, is_met in pairs])
    best = rubric_score(points, [worth > 0 if is_met is None else is_met for worth, is_met in pairs])
    return None if worst is None or best is None else (worst, best)


def mean_rubric_score(scores: Sequence[float | None]) -> float | None:
    """The mean over notes, clipped to [0, 1]. HealthBench clips the mean, and not the scores in it.

    Args:
        scores: of `rubric_score`; None (no positive points, nothing answered) is left out.

    Returns:
        None where there is no score at all.
    """
    there = [score for score in scores if score is not None]
    return min(1.0, max(0.0, math.fsum(there) / len(there))) if there else None


def _check(points: Sequence[float], met: Sequence[bool | None]) -> None:
    if len(points) != len(met):
        raise ValueError(f"{len(points)} criteria and {len(met)} answers")
    if not all(map(math.isfinite, points)):
        raise ValueError("points must be finite numbers")
