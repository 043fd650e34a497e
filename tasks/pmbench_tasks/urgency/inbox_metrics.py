"""The numbers of inbox tasks: what is computed of one inbox, and the metrics over inboxes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pmbench import COUNT, Mean, Metric, MetricGroup
from pmbench_tasks.urgency.options import PER_HOUR, Ndcg, Orders
from pmbench_tasks.urgency.order_metrics import (
    TNDCG,
    ComparatorMetric,
    LevelMetric,
    OrderMetric,
    WaitMetric,
    ends_of_count,
    ends_of_last_place,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

KS = (10, 30)
"""The k of T-NDCG@k that the paper reports."""


def inbox_stats(
    levels: Sequence[float],
    data: Mapping[str, Any],
    *,
    orders: Orders = "both",
    per_hour: float = PER_HOUR,
    ndcg: Ndcg = "exact",
    ks: Sequence[int] = KS,
) -> dict[str, float]:
    """The statistics of one inbox.

    For each k: `t_ndcg_k`, `ideal_k`, `share_k`, and mean and deviation over shuffles of tied messages,
    `shuffled_mean_k` and `shuffled_sd_k`. Of the order: `tau_b` (0 where all scores are the same),
    `order_accuracy`, `level_1_in_bottom_third`, `level_2_in_bottom_third`, `urgent_in_bottom_third` (both),
    `worst_rank_level_1`, `wait_minutes`. Of comparisons: `comparator_accuracy`, `position_consistency` (both orders,
    probabilities), `ties`. `missing`: pairs without a comparison, or messages without a score, or comparisons of a
    sort without an answer; if there are any of the first two also `t_ndcg_k_worst` and `t_ndcg_k_best`, the cases of
    `comparisons.completed_scores`. `calls`, `failed_calls`; `level_accuracy` of the messages whose level was
    predicted. What has no value is left out.

    Args:
        levels: of the messages, in the order of the inbox.
        data: of the response: `comparisons`, n × n, or `scores` or `levels`, null where there is none; `asked` and
            `missing` calls; `unanswered` comparisons of a sort; `scale` of the comparisons, `probability` or
            `reward`.
        orders: whether each pair was asked in both orders or in one.
        per_hour: messages read in an hour.
        ndcg: `ranx`: T-NDCG through ranx, ties by the order of the inbox; intervals stay those of the expectation.
        ks: of T-NDCG@k; those larger than the inbox are cut.

    Raises:
        Unscored: the data are not of that shape.
        ConfigError: ranx is asked for and not installed.
    """
    from pmbench_tasks.urgency.inbox_stats import ranked, statistics

    return statistics(ranked(levels, data, orders), data, ks=ks, per_hour=per_hour, ndcg=ndcg)


def inbox_arrays(
    levels: Sequence[float],
    data: Mapping[str, Any],
    *,
    orders: Orders = "both",
    per_hour: float = PER_HOUR,
    ndcg: Ndcg = "exact",
    strata: Sequence[float] = (),
) -> dict[str, Any]:
    """The arrays of an inbox's score, as the metrics here resample them; arguments as of `inbox_stats`.

    Args:
        strata: of each message, where the inbox was put together so many from each.

    Returns:
        `levels`; `scores` (those that the order is made by); `strata`; `comparisons` where there are any, with
        `orders` (1 or 2); `predicted` levels where there are any, null for none; `per_hour`; `ndcg` unless `exact`.

    Raises:
        Unscored: as `inbox_stats`.
    """
    from pmbench_tasks.urgency.inbox_stats import ranked

    inbox = ranked(levels, data, orders)
    arrays: dict[str, Any] = {
        "levels": [float(level) for level in levels],
        "scores": inbox.scores.tolist(),
        "strata": list(strata),
        "per_hour": per_hour,
    }
    if ndcg != "exact":
        arrays["ndcg"] = ndcg
    if inbox.predicted is not None:
        arrays["predicted"] = [None if level != level else level for level in inbox.predicted.tolist()]
    if inbox.asked is not None:
        table = inbox.asked.tolist()
        arrays["comparisons"] = [[None if p != p else p for p in row] for row in table]
        arrays["orders"] = 1 if orders == "one" else 2
    return arrays


def _tau_b(levels: Floats, scores: Floats) -> Floats:
    from pmbench_tasks.urgency.order import kendall_tau_b

    return kendall_tau_b(levels, scores, no_order=0.0)


def _order_accuracy(levels: Floats, scores: Floats) -> Floats:
    from pmbench_tasks.urgency.order import order_accuracy

    return order_accuracy(levels, scores)


def _level_1_last(levels: Floats, scores: Floats) -> Floats:
    from pmbench_tasks.urgency.order import in_bottom_third

    return in_bottom_third(levels, scores, 1)


def _level_2_last(levels: Floats, scores: Floats) -> Floats:
    from pmbench_tasks.urgency.order import in_bottom_third

    return in_bottom_third(levels, scores, 2)


def _urgent_last(levels: Floats, scores: Floats) -> Floats:
    return _level_1_last(levels, scores) + _level_2_last(levels, scores)


def _worst_rank(levels: Floats, scores: Floats) -> Floats:
    from pmbench_tasks.urgency.order import worst_rank

    return worst_rank(levels, scores)


COMPARATOR = MetricGroup(
    "The comparisons themselves",
    "Pairs of different level that were held in the right order, pairs of which both orders named the same message,"
    " and how many of an inbox were held equal or have no comparison, which gives half to each message. Without"
    " comparisons, what is missing are scores of messages, or comparisons that a sort asked for and took for equal.",
)
SAFETY = MetricGroup(
    "The most urgent messages",
    "Messages of levels 1 and 2 among the last third of the inbox, the place of the last message of level 1, and the"
    " minutes that a message of the most urgent level waits if the inbox is read from the top without a break.",
)
COST = MetricGroup(
    "Cost of an order", "Calls of the model for one inbox; those that failed for good are counted too."
)
NAMED = MetricGroup(
    "Levels named",
    "Share of messages that were given their own level, of those that were given one; a half such as 1.5 is the more"
    " urgent level beside it.",
)
TIES = MetricGroup(
    "T-NDCG over orders of tied messages",
    "Mean and standard deviation over 300 random orders of messages with the same score, and what the right order"
    " of the inbox has.",
    reference="right order",
)

METRICS: tuple[Metric, ...] = (
    *(TNDCG(k, title=f"T-NDCG@{k}") for k in KS),
    *(TNDCG(k, share=True, title=f"T-NDCG@{k} of ideal", digits=1, unit="%") for k in KS),
    OrderMetric(
        "tau_b", _tau_b, title="Kendall τ-b", in_words="τ-b of scores and urgency", limits=(-1.0, 1.0)
    ),
    OrderMetric(
        "order_accuracy",
        _order_accuracy,
        title="Pairs in right order",
        in_words="pairs of different level in the right order / such pairs, ties half",
        limits=(0.0, 1.0),
        digits=1,
        unit="%",
    ),
    OrderMetric(
        "urgent_in_bottom_third",
        _urgent_last,
        title="Level 1 or 2 in last third",
        in_words="expected messages of levels 1 and 2 at the last n // 3 places",
        higher_is_better=False,
        digits=2,
        ends=ends_of_count(1, 2),
        group=SAFETY,
    ),
    OrderMetric(
        "level_1_in_bottom_third",
        _level_1_last,
        title="Level 1",
        in_words="expected messages of level 1 at the last n // 3 places",
        higher_is_better=False,
        digits=2,
        ends=ends_of_count(1),
        group=SAFETY,
    ),
    OrderMetric(
        "level_2_in_bottom_third",
        _level_2_last,
        title="Level 2",
        in_words="expected messages of level 2 at the last n // 3 places",
        higher_is_better=False,
        digits=2,
        ends=ends_of_count(2),
        group=SAFETY,
    ),
    OrderMetric(
        "worst_rank_level_1",
        _worst_rank,
        title="Last place of a level 1",
        in_words="expected place of the last message of level 1",
        higher_is_better=False,
        digits=1,
        ends=ends_of_last_place,
        group=SAFETY,
    ),
    WaitMetric(
        "wait_minutes",
        title="Wait of the most urgent",
        in_words="expected messages before one of the most urgent level × minutes for a message",
        higher_is_better=False,
        digits=0,
        unit="min",
        group=SAFETY,
    ),
    ComparatorMetric(
        "comparator_accuracy",
        title="Comparator accuracy",
        limits=(0.0, 1.0),
        digits=1,
        unit="%",
        group=COMPARATOR,
    ),
    ComparatorMetric(
        "position_consistency",
        title="Position consistency",
        limits=(0.0, 1.0),
        digits=1,
        unit="%",
        group=COMPARATOR,
    ),
    LevelMetric(
        "level_accuracy",
        title="Level named right",
        in_words="messages given their own level / messages given a level",
        limits=(0.0, 1.0),
        digits=1,
        unit="%",
        group=NAMED,
        optional=True,
    ),
    Mean("ties", title="Held equal", higher_is_better=None, digits=1, group=COMPARATOR, bounds=COUNT),
    Mean("missing", title="Missing", higher_is_better=False, digits=1, group=COMPARATOR, bounds=COUNT),
    Mean("calls", title="Calls per inbox", higher_is_better=False, digits=0, group=COST, bounds=COUNT),
    Mean("failed_calls", title="Failed calls", higher_is_better=False, digits=1, group=COST, bounds=COUNT),
    *(
        Mean(f"{of}_{k}", title=f"{title}@{k}", higher_is_better=better, reference=reference, group=TIES)
        for k in KS
        for of, title, better, reference in (
            ("shuffled_mean", "Mean", True, f"ideal_{k}"),
            ("shuffled_sd", "Deviation", False, ""),
            ("ideal", "Ideal", None, ""),
        )
    ),
)
"""The numbers of inbox tasks; the first is the primary one."""
