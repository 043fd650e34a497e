"""The numbers of a checklist task: those that every checklist has, and those of the questions of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pmbench import Mean, Metric, MetricGroup, Ratio
from pmbench_tasks.notes.checklist import Checklist, Item
from pmbench_tasks.notes.plain_text import plain_line
from pmbench_tasks.notes.scoring import categories_of, stat_names

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

Limits = tuple[float, float]

_SHOWN = 70
"""Characters of a question in a table."""

_SHARE: dict[str, Any] = {"digits": 1, "unit": "%"}

QUESTIONS = MetricGroup(
    "By question",
    "Share of texts for which the answer is yes, of those that have an answer to it. Of grades, their mean.",
)
CATEGORIES = MetricGroup("By category", "The score over the questions of each category alone.")


class ClippedMean(Mean):
    """Mean of one statistic, put into [0, 1] after taking the mean, not before.

    As in HealthBench's reference code (openai/simple-evals, healthbench_eval.py): a text may have less than 0, the
    mean over texts has not. For statistics that are from 0 to 1 it is the plain mean. An interval is put there, too:
    it is one of the clipped mean, so that no end of it can lie where that cannot be.
    """

    bounds = (0.0, 1.0)

    def value(self, sums: Floats) -> Floats:
        """Sum over count, clipped."""
        import numpy as np

        clipped: Floats = np.clip(super().value(sums), *self.bounds)
        return clipped

    @property
    def formula(self) -> str:
        """`mean of stat, clipped to [0, 1]`."""
        return f"mean of {self.stat}, clipped to [0, 1]"


def _general(limits: Limits = (0.0, 1.0), grades: Limits | None = None) -> tuple[Metric, ...]:
    """What every checklist has.

    Args:
        limits: the least and the greatest score of one text.
        grades: of a graded scale, its ends.
    """
    return (
        ClippedMean("score", "checklist_score", title="Checklist score", limits=limits, **_SHARE),
        ClippedMean(
            "low", "score_low", title="… with missing answers at their worst", limits=limits, **_SHARE
        ),
        ClippedMean(
            "high", "score_high", title="… with missing answers at their best", limits=limits, **_SHARE
        ),
        Ratio(
            "missing",
            "asked",
            "missing_share",
            title="Answers missing",
            higher_is_better=False,
            headline=True,
            **_SHARE,
        ),
        Mean("weighted", "weighted_score", title="Score, weighted", limits=(0, 1), optional=True, **_SHARE),
        Mean("macro", "mean_of_categories", title="Score, mean of categories", optional=True, **_SHARE),
        Mean("rubric", "score_unclipped", title="Score, mean not clipped", optional=True, **_SHARE),
        Mean("grade", "mean_grade", title="Mean grade", limits=grades, digits=2, optional=True),
        Mean("total", "grade_total", title="Sum of grades", digits=1, optional=True),
        Mean(
            "probability",
            "mean_probability",
            title="Mean probability of yes",
            limits=(0, 1),
            optional=True,
            **_SHARE,
        ),
        Ratio(
            "contradicted",
            "compared",
            "contradicted_share",
            title="Answers against their own probability",
            higher_is_better=False,
            optional=True,
            **_SHARE,
        ),
        Ratio(
            "quotes_found",
            "quotes",
            "quotes_found_share",
            title="Quotes that stand where they are from",
            optional=True,
            **_SHARE,
        ),
        Mean(
            "empty",
            "nothing_written",
            title="Nothing was written",
            higher_is_better=None,
            bounds=(0.0, 1.0),
            **_SHARE,
        ),
    )


METRICS: tuple[Metric, ...] = _general()
"""The numbers of every checklist; the first is the primary one."""


def metrics_for(checklist: Checklist) -> tuple[Metric, ...]:
    """The numbers of one checklist: the general ones, each category, each question with its own limits.

    A question's number is over the texts that have an answer to it; worst and best take the missing ones for no and
    for yes.
    """
    ends = checklist.ends
    grades = (float(ends[0]), float(ends[1])) if ends else None
    categories = categories_of(checklist)
    by_category = [
        Mean(
            f"category_{name}",
            f"category_{name}",
            title=plain_line(category) or "no category",
            limits=None if checklist.scale == "points" else (0.0, 1.0),
            group=CATEGORIES,
            optional=True,
            **_SHARE,
        )
        for name, category in zip(stat_names(categories), categories, strict=True)
    ]
    names = stat_names(item.id for item in checklist.items)
    by_item = [_of_item(item, name, grades) for item, name in zip(checklist.items, names, strict=True)]
    return (*_general(limits_of(checklist), grades), *by_category, *by_item)


def limits_of(checklist: Checklist) -> Limits:
    """The least and the greatest score that one text can have: with points it may be below 0."""
    if checklist.scale != "points":
        return 0.0, 1.0
    points = [item.points or 0.0 for item in checklist.items]
    possible = sum(worth for worth in points if worth > 0)
    return (sum(worth for worth in points if worth < 0) / possible if possible else 0.0), 1.0


def _of_item(item: Item, name: str, grades: Limits | None) -> Metric:
    words = plain_line(item.question)
    shown = words if len(words) <= _SHOWN else f"{words[: _SHOWN - 1].rstrip()}…"
    stat, more = (f"grade_{name}", {"digits": 2}) if grades else (f"yes_{name}", _SHARE)
    return Mean(
        stat,
        f"question_{name}",
        title=f"{plain_line(item.id)}: {shown}",
        limits=grades or (0.0, 1.0),
        group=QUESTIONS,
        optional=True,
        higher_is_better=(item.points or 0.0) >= 0,
        **more,
    )
