"""What the form of answers cost, and whether a patient can read them: the same numbers for several tasks."""

from __future__ import annotations

from pmbench import COUNT, Mean, Metric, MetricGroup, Ratio


def share(stat: str, title: str, group: MetricGroup, *, of: str = "", optional: bool = False) -> Metric:
    """A share of cases, or of what they are made of, as a percentage of which less is better.

    Args:
        stat: the statistic, and the metric's name.
        title: as it is printed.
        group: table it stands in.
        of: the statistic that it is a share of; empty: a share of cases.
        optional: whether runs without the statistic are no fault.
    """
    if of:
        return Ratio(
            stat,
            of,
            stat,
            title=title,
            higher_is_better=False,
            digits=1,
            unit="%",
            group=group,
            optional=optional,
        )
    return Mean(
        stat,
        title=title,
        limits=(0.0, 1.0),
        higher_is_better=False,
        digits=1,
        unit="%",
        group=group,
        optional=optional,
    )


def tries(group: MetricGroup, per: str) -> tuple[Metric, Metric]:
    """How often the model was asked; recorded responses have none of it.

    Args:
        group: table it stands in; per: what a response is called.
    """
    return (
        Mean(
            "tries",
            title=f"Requests per {per}",
            higher_is_better=False,
            digits=1,
            group=group,
            optional=True,
            bounds=COUNT,
        ),
        share("still_wrong", "Still wrong after all tries", group, optional=True),
    )


def words(group: MetricGroup) -> Mean:
    """Words of an answer, neither more nor fewer being better."""
    return Mean("words", title="Words", higher_is_better=None, digits=1, group=group, bounds=COUNT)


def grade(group: MetricGroup) -> Mean:
    """The school grade that a reader needs (`pmbench.flesch_kincaid_grade`): the reader is a patient."""
    return Mean(
        "grade",
        title="School grade to read it (Flesch–Kincaid)",
        higher_is_better=None,
        digits=1,
        group=group,
    )
