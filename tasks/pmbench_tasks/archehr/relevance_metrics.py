"""The components of relevance and their means, on the official scale: the official mean, and means of some of them.

A mean of fewer components is another number than the official one: it has a name that says of which, and statistics
of its own, which only runs have that computed just these. So neither can stand in the other's column.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

from pmbench import Mean, Metric, MetricGroup
from pmbench_tasks.archehr.percent import MeanOf, Percent

TITLES: Mapping[str, str] = {
    "bleu": "BLEU",
    "rouge1": "ROUGE-1",
    "rouge2": "ROUGE-2",
    "rougeL": "ROUGE-L",
    "rougeLsum": "ROUGE-Lsum",
    "sari": "SARI",
    "bertscore": "BERTScore",
    "bertscore_other": "BERTScore (another encoder)",
    "alignscore": "AlignScore",
    "medcon": "MEDCON",
    "entity_f1": "Entity F1 (no MEDCON)",
}
"""How the field writes the components."""

WITH_WEIGHTS = ("bertscore", "alignscore", "medcon")
"""Components that need weights or a licence, in the order in which names of means tell them."""

_BOUNDED = frozenset({"bleu", "rouge1", "rouge2", "rougeL", "rougeLsum", "sari", "alignscore", "entity_f1"})
"""Those that lie between 0 and 1: a rescaled BERTScore can be negative, MEDCON's precision above 1."""


def component(name: str, stats: str = "", **shown: Any) -> Mean:
    """The mean over cases of one component, a share.

    Args:
        name: of the component; stats: prefix of its statistic.
        **shown: as of every metric.
    """
    limits = (0.0, 1.0) if name in _BOUNDED else None
    return Mean(f"{stats}{name}", name, limits=limits, **{"title": TITLES[name], **shown})


def component_metrics(
    names: Sequence[str], *, prefix: str = "", stats: str = "", group: MetricGroup | None = None
) -> tuple[Metric, ...]:
    """Each component on the official scale; those that need weights are shown where they were computed.

    Args:
        names: of the components, in order.
        prefix: of the metrics' names; stats: of the statistics.
        group: table they stand in.
    """
    needy = (*WITH_WEIGHTS, "bertscore_other", "entity_f1")
    return tuple(
        Percent(component(name, stats), f"{prefix}{name}", group=group, optional=name in needy)
        for name in names
    )


def mean_of(names: Sequence[str], stats: str = "", name: str = "relevance") -> MeanOf:
    """The official mean of components, a share: of cases that have all of them.

    Args:
        names: of the components; stats: prefix of their statistics; name: of the mean.
    """
    return MeanOf([component(one, stats) for one in names], name)


def part_of(part: str, stats: str = "", name: str = "relevance") -> Mean:
    """The mean over cases of the mean of some components, a share.

    Args:
        part: name of the set, as of `parts`; stats: prefix of the statistic `part_…`; name: of the mean.
    """
    return Mean(f"{stats}part_{part}", name)


def parts(always: int, of: int) -> Iterator[tuple[str, str]]:
    """Every set of components that is not the whole one: all that need nothing, and some of the others.

    Args:
        always: how many components of the official mean need neither weights nor a licence.
        of: how many it has.

    Yields:
        The set's name (`4_of_6_bertscore`) and what a title says of it (`4 of 6: with BERTScore`).
    """
    for more in range(of - always):
        for chosen in combinations(WITH_WEIGHTS, more):
            names = " and ".join(TITLES[name] for name in chosen)
            yield (
                "_".join([f"{always + more}_of_{of}", *chosen]),
                f"{always + more} of {of}" + (f": with {names}" if names else ""),
            )
