"""How intervals and comparisons are made, in words, by the scheme that a metric is resampled by."""

from __future__ import annotations

from pmbench.core.metric import Scheme
from pmbench.stats.bootstrap import FEW_CLUSTERS

METHODS: dict[Scheme, tuple[str, str]] = {
    "cluster": (
        f"percentile bootstrap by cluster (fewer than {FEW_CLUSTERS} clusters: jackknife, Student's t)",
        "paired randomisation test, the two systems swapped within clusters, two-sided",
    ),
    "dyadic": (
        "dyadic-robust variance with leave-out correction, logit scale, Student's t (pairs share messages)",
        "the same variance of the differences, Student's t, two-sided",
    ),
    "ranking": (
        "messages drawn again and put in order anew (of each level where so many were chosen, else jackknife)",
        "the two systems on the same draws, widened, Student's t, two-sided",
    ),
}
"""By scheme, how intervals and how comparisons are made, in words."""


def interval_method(scheme: Scheme, clusters: int) -> str:
    """How intervals of a scheme are made where there are so many clusters, in words."""
    if scheme != "cluster":
        return METHODS[scheme][0]
    return (
        "jackknife by cluster, Student's t" if clusters < FEW_CLUSTERS else "percentile bootstrap by cluster"
    )


def difference_method(scheme: Scheme, clusters: int) -> str:
    """How intervals of a difference of two systems are made where there are so many clusters, in words."""
    if scheme == "dyadic":
        return "dyadic-robust variance of the differences with leave-out correction, Student's t"
    if scheme == "ranking":
        return "both systems on the same draws of messages, widened, Student's t"
    return interval_method(scheme, clusters)
