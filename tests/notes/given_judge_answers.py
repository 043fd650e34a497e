"""What a judge answered to small checklists, and what AutoChecklist makes of it."""

from __future__ import annotations

from typing import NamedTuple


class Expected(NamedTuple):
    """Computed by autochecklist 0.2.3.

    `pass_rate`, `weighted_score` and `normalized_score` of its `Score`; `pass_rate` and `micro_pass_rate` of its
    `GroupedScore`.
    """

    passed: float
    weighted: float
    normalised: float
    macro: float
    micro: float


class Answers(NamedTuple):
    """Answers to a checklist's questions.

    Attributes:
        weights, categories: of each question; `""` is no category.
        met: None is an answer that the judge did not give.
        probabilities: P(yes) and P(no) of each question, of another judge.
        expected: of the batch answers `met` (normalised: of `probabilities`).
    """

    weights: list[float]
    categories: list[str]
    met: list[bool | None]
    probabilities: list[tuple[float, float]]
    expected: Expected


CASES = {
    "all answered": Answers(
        [100, 90, 80, 40, 40, 60],
        ["a", "a", "b", "b", "b", "c"],
        [True, False, True, True, False, True],
        [(0.9, 0.1), (0.2, 0.7), (0.55, 0.35), (0.81, 0.02), (0.1, 0.1), (0.999, 0.0005)],
        Expected(2 / 3, 0.6829268292682927, 0.7014561162776838, 0.7222222222222222, 2 / 3),
    ),
    "two missing": Answers(
        [100, 90, 80, 40, 40, 60],
        ["a", "a", "b", "b", "b", ""],
        [True, None, True, True, False, None],
        [(0.5, 0.5), (0.01, 0.98), (0.3, 0.3), (0.0, 0.9), (0.7, 0.0), (0.62, 0.38)],
        Expected(0.5, 0.5365853658536586, 0.4383501683501683, 0.38888888888888884, 0.5),
    ),
    "a category without answers": Answers(
        [50, 100, 25],
        ["a", "b", "b"],
        [None, True, True],
        [(0.4, 0.4), (0.6, 0.3), (0.2, 0.75)],
        Expected(2 / 3, 0.7142857142857143, 0.4590643274853801, 0.5, 2 / 3),
    ),
    "usual weights, no categories": Answers(
        [100, 100, 100],
        ["", "", ""],
        [True, False, False],
        [(0.45, 0.05), (0.25, 0.5), (0.125, 0.375)],
        Expected(1 / 3, 1 / 3, 0.49444444444444446, 1 / 3, 1 / 3),
    ),
}
