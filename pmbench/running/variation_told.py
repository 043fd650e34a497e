"""Where the variation of a score comes from, in words for a reader who knows no statistics."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from pmbench.core.metric import Metric
from pmbench.running.results import Variation

if TYPE_CHECKING:
    from pmbench.running.judge_variation import JudgeSplit, MetricSplit

FEW_CLUSTERS = 10
"""Clusters below which their part is called rough."""

FEW_JUDGES = 6
"""Judges below which their own part is called uncertain."""

_HARDLY = 0.9
"""More samples are said to help little where the standard error would stay above so much of what it is."""

_BY_JUDGES = {
    "instance": "between instances",
    "sample": "between samples of one instance",
    "judge": "between judges on the whole, one being stricter than another",
    "instance_judge": "in judges that differ on single instances",
    "rest": "in judges that differ on single samples",
}


def variation_lines(metric: Metric, found: Variation | None) -> Iterator[str]:
    """What a reader has to know of it, a sentence or two each; nothing where there is one sample of each instance."""
    if found is None:
        return
    if found.note:
        yield f"The variation of {metric.title} is not split into instances and samples: {found.note}."
        return
    of = f"{_counted(found.instances, 'instance')}, {found.samples} samples of each"
    if found.sample_share is None:
        yield f"All responses have the same {metric.title}: there is no variation to split ({of})."
    else:
        yield f"Variation of one response's {metric.title}: {_parts(found)} ({of})."
        yield from _not_shown(found)
        yield _worth(metric, found)
    if found.linearised:
        yield _linearised(metric)
    if found.left_out:
        verb = "lacks" if found.left_out == 1 else "lack"
        yield (
            f"{_counted(found.left_out, 'instance')} that {verb} the score of a sample"
            f" {'is' if found.left_out == 1 else 'are'} left out of this split."
        )
    if found.cluster is not None and found.clusters < FEW_CLUSTERS:
        yield f"With {_counted(found.clusters, 'cluster')} the part between clusters is rough."


def _parts(found: Variation) -> str:
    parts = [
        ("clusters", found.cluster),
        ("instances of one cluster" if found.cluster is not None else "instances", found.instance),
    ]
    total = sum(value or 0.0 for value in (found.cluster, found.instance, found.sample))
    told = [f"{share_text(value / total)} between {name}" for name, value in parts if value is not None]
    low, high = found.sample_share_low, found.sample_share_high
    ends = (
        ""
        if low is None or high is None or low == high
        else f" (95% interval {100 * low:.0f}% to {100 * high:.0f}%)"
    )
    told.append(f"{share_text(found.sample_share or 0.0)}{ends} between samples of one instance")
    return ", ".join(told)


def _worth(metric: Metric, found: Variation) -> str:
    """What more samples would be worth."""
    if not found.sample:
        return "All samples of an instance have the same score: one of each would have told as much."
    if found.se is None or found.se_single is None or found.se_double is None:
        return "All instances are of one cluster, so that there is no standard error."
    error = metric_error(metric, found.se)
    whose = "The value's standard error, by how much it would"
    if found.left_out:
        # Not that of the table's value, which is of all instances.
        all_there = f"the {_counted(found.instances, 'instance')} with all samples"
        whose = f"The standard error of the value of {all_there}, by how much it would"
    told = (
        f"{whose} typically be off with other instances and samples, is"
        f" {error}; one sample of each instance would make it {metric_error(metric, found.se_single)},"
        f" {2 * found.samples} would make it {metric_error(metric, found.se_double)}"
    )
    if found.below_zero or found.se_least is None:
        return f"{told}; how far more samples could bring it down these data do not show."
    told += f", and no number of samples less than {metric_error(metric, found.se_least)}: "
    if found.se_least > _HARDLY * found.se:
        return told + "for a surer value take more instances, not more samples."
    return told + "more samples make the value surer, as more instances do."


def _not_shown(found: Variation) -> Iterator[str]:
    """What a part that came out below 0 means: less variation than samples alone would make by chance."""
    whose = {"cluster": "clusters", "instance": "instances"}
    if found.cluster is not None and "instance" in found.below_zero:
        whose["instance"] = "instances of one cluster"
    named = [words for name, words in whose.items() if name in found.below_zero]
    if named:
        yield (
            f"The data do not show that {' or '.join(named)} differ: their part came out below 0 and stands as 0%,"
            " which does not say that there is none."
        )


def share_text(share: float) -> str:
    """A share as whole per cent; `under 1%` where it is not nothing."""
    return "under 1%" if 1e-9 < share < 0.005 else f"{100 * share:.0f}%"


def metric_error(metric: Metric, value: float) -> str:
    """A standard error with one decimal more than the metric has, in its unit."""
    scaled, unit = (100 * value, " percentage points") if metric.unit == "%" else (value, "")
    return f"{scaled:.{metric.digits + 1}f}" + (unit or (f" {metric.unit}" if metric.unit else ""))


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def judge_lines(found: JudgeSplit | None) -> Iterator[str]:
    """What a reader has to know of scorings by several judges, a sentence or two each."""
    if found is None:
        return
    told = "; ".join(f"{name} ({why})" for name, why in found.not_taken)
    aside = f"Not taken: {told}." if told else ""
    if len(found.taken) < 2:
        yield " ".join(filter(None, ["No two scorings differ in their judges alone.", aside]))
        return
    judges = "; ".join(f"{name} ({folder})" for folder, name in found.taken)
    yield " ".join(filter(None, [f"The same responses by {len(found.taken)} judges: {judges}.", aside]))
    for one in found.metrics:
        yield from _by_judges(one)
    if len(found.taken) < FEW_JUDGES and any(one.parts is not None and not one.same for one in found.metrics):
        yield (
            f"From {len(found.taken)} judges the part between judges is very uncertain: other judges may differ much"
            " more than these, or much less."
        )


def _by_judges(found: MetricSplit) -> Iterator[str]:
    title, parts = found.metric.title, found.parts
    if parts is None:
        yield f"The variation of {title} is not split by judges: {found.why}."
        return
    of = f"{_counted(parts.instances, 'instance')}, {_counted(parts.samples, 'sample')} of each"
    lost = f"; {parts.left_out} more lack a score by a judge and are left out" if parts.left_out else ""
    if found.same:
        yield f"{title} is the same by all of them: it does not hang on these judges ({of}{lost})."
        return
    values = ", ".join(found.metric.shown(value) for value in found.values)
    shares = parts.shares()
    if any(math.isnan(share) for share in shares.values()):
        yield f"{title} by each: {values}. There is no variation to split ({of}{lost})."
        return
    told = ", ".join(
        f"{share_text(shares[name])} {words}" for name, words in _BY_JUDGES.items() if name in shares
    )
    yield f"{title} by each: {values}. Variation of one response's score: {told} ({of}{lost})."
    if parts.samples == 1:
        yield "With one sample of each instance, what samples add is in these parts too."
    if found.linearised:
        yield _linearised(found.metric)


def _linearised(metric: Metric) -> str:
    return f"{metric.title} is a formula of sums: a score is here what a response adds to the value, to first order."
