"""Where the variation of a score comes from, for a run of several samples per instance."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from pmbench.core.metric import Macro, Mean, Metric
from pmbench.running.columns import ScoreColumns
from pmbench.running.records import ScoreRecord
from pmbench.running.results import Variation
from pmbench.stats.clusters import Floats
from pmbench.stats.linearised import response_values
from pmbench.stats.nested_parts import nested_parts

_NOT_SPLIT = {
    "dyadic": "pairs share messages, so that they are no instances apart from each other",
    "ranking": "an inbox is one list of many messages, which are drawn again and not the inboxes",
}
"""By scheme, why the variance of its metrics is not split."""

FEWEST = 10
"""Of fewer instances a split is anybody's guess: shares of nothing and of all are usual then."""


def variation(
    metric: Metric, records: Sequence[ScoreRecord], samples: int, instances: int, *, fewest: int = FEWEST
) -> Variation | None:
    """Split the variance of the metric into instances and samples, and clusters where there are any.

    Args:
        metric: the primary one.
        records: scores that are there.
        samples: responses asked for of each instance.
        instances: of the run.
        fewest: instances that a split takes, 2 at least.

    Returns:
        None where there is one sample of each instance, or no score.
    """
    if samples < 2 or not records:
        return None
    if metric.scheme != "cluster":
        return Variation(note=_NOT_SPLIT[metric.scheme])
    scores = ScoreColumns(records)
    if not scores.present(metric).any():
        return Variation(note="no score has its statistics")
    columns = scores.by_sample(metric, samples)
    complete = np.array([not np.isnan(one).any() for one in columns])
    if complete.sum() < fewest:
        there = int(complete.sum())
        return Variation(
            note=f"that takes {fewest} instances with the scores of all of their samples, and there"
            f" {'is' if there == 1 else 'are'} {there}"
        )
    values = response_scores(metric, columns[complete])
    if not np.isfinite(values).all():
        return Variation(note="its formula has no value or no slope on these scores")
    clusters = [cluster for cluster, there in zip(scores.clusters, complete.tolist(), strict=True) if there]
    found = nested_parts(values, clusters)
    # Of a part that is cut off at 0 neither a least error nor an interval without width is known.
    cut, bounded = found.below_zero, found.low < found.high
    return Variation(
        cluster=_number(found.cluster),
        instance=found.instance,
        sample=found.sample,
        sample_share=_number(found.sample_share),
        sample_share_low=_number(found.low) if bounded else None,
        sample_share_high=_number(found.high) if bounded else None,
        se=_number(found.se()),
        se_single=_number(found.se(1)),
        se_double=_number(found.se(2 * samples)),
        se_least=None if cut else _number(found.se(math.inf)),
        linearised=not is_plain(metric),
        instances=found.instances,
        samples=samples,
        clusters=found.clusters,
        left_out=instances - found.instances,
        below_zero=list(found.below_zero),
    )


def response_scores(metric: Metric, columns: Floats) -> Floats:
    """What each response says of the metric, shape (n, K), from its columns (n, K, k).

    Of a mean its own value; of a formula of sums its part in the value, to first order.
    """
    return columns[..., 0] / columns[..., 1] if is_plain(metric) else response_values(metric, columns)


def is_plain(metric: Metric) -> bool:
    """Whether the metric is a mean of what each response has, so that nothing is linearised."""
    return isinstance(metric, Mean | Macro)


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value
