"""Systems aggregated by strategy: mean and standard deviation over the models that were used by it."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from pmbench.core.metric import Metric
from pmbench.leaderboard.comparing import order
from pmbench.leaderboard.table import Spread, StrategyRow, SystemRow
from pmbench.leaderboard.wording import DASH, bare, rows_text
from pmbench.running.recorded import RECORDED


def by_strategy(metrics: Sequence[Metric], rows: Sequence[SystemRow]) -> tuple[list[StrategyRow], list[str]]:
    """Each strategy over its models, as the tables of arXiv 2601.11344 have it.

    A model that stands in several rows of one strategy (other settings) counts once, with its mean: what is
    asked for is how much models differ.

    Args:
        metrics: the first is the primary metric, by whose mean the strategies are ordered.
        rows: the systems of one table.

    Returns:
        The strategies, the best first, and what a reader has to know of them.
    """
    systems: dict[str, dict[str, list[SystemRow]]] = {}
    for row in rows:
        # Recorded answers under one name may be of different systems; settings of one model are told apart below.
        name = f"{row.model} {row.run}" if row.strategy == RECORDED else row.model
        systems.setdefault(row.strategy, {}).setdefault(name, []).append(row)
    found = [
        StrategyRow(
            strategy=strategy,
            models=len(models),
            rows=sorted(row.number for members in models.values() for row in members),
            spreads={metric.name: _spread(metric, list(models.values())) for metric in metrics},
        )
        for strategy, models in systems.items()
    ]
    means = [one.spreads[metrics[0].name].mean for one in found]
    places = order(
        metrics[0],
        [float("nan") if mean is None else mean for mean in means],
        [one.strategy for one in found],
    )
    several = [one.models for one in found if one.strategy == RECORDED and one.models > 1]
    notes = [
        f"The {count} systems under {RECORDED} are recorded answers, of whatever made them."
        for count in several
    ]
    notes += [
        f"{rows_text([row.number for row in members])} are the same model and strategy in other settings: together"
        " they count as one model here, with their mean."
        for models in systems.values()
        for members in models.values()
        if len(members) > 1
    ]
    return [found[place] for place in places], notes


def _spread(metric: Metric, models: Sequence[Sequence[SystemRow]]) -> Spread:
    """Mean and sample standard deviation of a metric over the models that have it."""
    values = []
    for rows in models:
        there = [value for row in rows if (value := row.measures[metric.name].value) is not None]
        if there:
            values.append(statistics.fmean(there))
    if not values:
        return Spread(None, None, 0, DASH)
    mean = statistics.fmean(values)
    deviation = statistics.stdev(values) if len(values) > 1 else None
    text = f"{bare(metric, mean)} ± {DASH if deviation is None else bare(metric, deviation)}"
    if len(values) < len(models):
        text += f" (of {len(values)})"
    return Spread(mean, deviation, len(values), text)
