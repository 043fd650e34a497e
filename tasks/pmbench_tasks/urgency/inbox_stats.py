"""The statistics of one inbox, from the levels and what a strategy returned. Used through `inbox_metrics.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pmbench import Unscored
from pmbench_tasks.urgency import comparisons as compared
from pmbench_tasks.urgency import ndcg as gain
from pmbench_tasks.urgency import order
from pmbench_tasks.urgency.messages import LEAST_URGENT
from pmbench_tasks.urgency.options import Ndcg, Orders
from pmbench_tasks.urgency.ranking import DECIMALS, both_orders, comparison_matrix, stored, win_rate

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Ranked:
    """An inbox that was put in order.

    Attributes:
        levels: of each message.
        scores: of each message, finite, to 9 decimals; higher is more urgent.
        raw: scores as the strategy gave them, NaN where there is none; those of `scores` with comparisons.
        answers: the comparisons as if asked in both orders, or None.
        asked: the comparisons as they were asked, or None.
        predicted: predicted levels, NaN where there is none, or None.
    """

    levels: Floats
    scores: Floats
    raw: Floats
    answers: Floats | None = None
    asked: Floats | None = None
    predicted: Floats | None = None


def ranked(levels: Sequence[float], data: Mapping[str, Any], orders: Orders = "both") -> Ranked:
    """Read what a strategy returned: its comparisons if there are any, else its scores, else its levels.

    A message without a score is placed in the middle, see `comparisons.placed_scores`.

    Raises:
        Unscored: `unparsed`: none of the three is there, or has the wrong shape; `not-a-number`: a value is infinite.
    """
    own = np.asarray(levels, dtype=float)
    n = len(own)
    predicted = _numbers(data["levels"], (n,)) if data.get("levels") is not None else None
    if stored(data.get("comparisons")):
        matrix = _numbers(data["comparisons"], (n, n))
        try:
            asked, answers = comparison_matrix(matrix), both_orders(matrix, orders)
        except ValueError as error:
            raise Unscored("unparsed", str(error)) from error
        scores = np.round(win_rate(answers), DECIMALS)
        return Ranked(own, scores, scores, answers, asked, predicted)
    if data.get("scores") is not None:
        raw = _numbers(data["scores"], (n,))
    elif predicted is not None:
        raw = LEAST_URGENT - predicted
    else:
        raise Unscored("unparsed", "the response has no comparisons, no scores and no levels")
    raw = np.round(raw, DECIMALS)
    return Ranked(own, compared.placed_scores(own, raw), raw, predicted=predicted)


def statistics(
    inbox: Ranked, data: Mapping[str, Any], *, ks: Sequence[int], per_hour: float, ndcg: Ndcg = "exact"
) -> dict[str, float]:
    """All statistics of one inbox; one without a value is left out. See `inbox_metrics.inbox_stats`."""
    stats = _gains(inbox, ks, ndcg) | _order(inbox, per_hour) | _comparator(inbox, data)
    missing, unanswered = _missing(inbox), 0.0
    if inbox.answers is None:
        # What a sort would have asked after another answer is not known: there are no cases.
        unanswered = float(data.get("unanswered") or 0)
    stats |= {"missing": missing + unanswered}
    if missing and not unanswered:
        stats |= _cases(inbox, ks, "reward" if data.get("scale") == "reward" else "probability")
    for name, source in (("calls", "asked"), ("failed_calls", "missing")):
        if data.get(source) is not None:
            stats[name] = float(data[source])
    if inbox.predicted is not None:
        stats["level_accuracy"] = _mean(order.right_levels(inbox.levels, inbox.predicted))
    return {name: value for name, value in stats.items() if value == value}


def _gains(inbox: Ranked, ks: Sequence[int], ndcg: Ndcg) -> dict[str, float]:
    stats: dict[str, float] = {}
    for k in ks:
        value = (gain.ranx_t_ndcg if ndcg == "ranx" else gain.t_ndcg)(inbox.levels, inbox.scores, k)
        ideal = gain.ideal_t_ndcg(inbox.levels, k)
        mean, deviation = gain.shuffled_t_ndcg(inbox.levels, inbox.scores, k)
        stats |= {
            f"t_ndcg_{k}": value,
            f"ideal_{k}": ideal,
            f"share_{k}": value / ideal if ideal > 0 else float("nan"),
            f"shuffled_mean_{k}": mean,
            f"shuffled_sd_{k}": deviation,
        }
    return stats


def _order(inbox: Ranked, per_hour: float) -> dict[str, float]:
    of = (inbox.levels, inbox.scores)
    first, second = (float(order.in_bottom_third(*of, level)[0]) for level in (1, 2))
    return {
        "tau_b": float(order.kendall_tau_b(*of, no_order=0.0)[0]),
        "order_accuracy": float(order.order_accuracy(*of)[0]),
        "level_1_in_bottom_third": first,
        "level_2_in_bottom_third": second,
        "urgent_in_bottom_third": first + second,
        "worst_rank_level_1": float(order.worst_rank(*of)[0]),
        "wait_minutes": float(order.wait_minutes(*of, per_hour=per_hour)[0]),
    }


def _comparator(inbox: Ranked, data: Mapping[str, Any]) -> dict[str, float]:
    if inbox.answers is None or inbox.asked is None:
        return {}
    stats = {
        "comparator_accuracy": _mean(compared.right_comparisons(inbox.levels, inbox.answers)),
        "ties": float(compared.tied_pairs(inbox.answers)),
    }
    if data.get("scale", "probability") == "probability":
        stats["position_consistency"] = _mean(compared.agreement_of_orders(inbox.asked))
    return stats


def _missing(inbox: Ranked) -> float:
    """Missing comparisons; messages without a score where there are no comparisons."""
    if inbox.answers is not None:
        return float(compared.missing_pairs(inbox.answers).sum() // 2)
    return float(np.isnan(inbox.raw).sum())


def _cases(inbox: Ranked, ks: Sequence[int], scale: Literal["probability", "reward"]) -> dict[str, float]:
    """T-NDCG if all that is missing had gone the wrong way, or the right one."""
    stats: dict[str, float] = {}
    cases: tuple[tuple[compared.Side, str], ...] = (("wrong", "worst"), ("right", "best"))
    for side, name in cases:
        if inbox.answers is not None:
            scores = compared.completed_scores(inbox.levels, inbox.answers, side, scale)
        else:
            scores = compared.placed_scores(inbox.levels, inbox.raw, side)
        stats |= {f"t_ndcg_{k}_{name}": gain.t_ndcg(inbox.levels, scores, k) for k in ks}
    return stats


def _mean(table: Floats) -> float:
    """Mean of what is there; NaN where nothing is."""
    there = table[~np.isnan(table)]
    return float(there.mean()) if len(there) else float("nan")


def _numbers(values: Any, shape: tuple[int, ...]) -> Floats:
    """Numbers or nulls of that shape, nulls as NaN.

    Raises:
        Unscored: they are not.
    """
    try:
        numbers = np.array(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise Unscored("unparsed", "a value is no number, or a row is too short") from error
    if numbers.shape != shape:
        raise Unscored("unparsed", f"values of shape {numbers.shape} where {shape} is expected")
    if np.isinf(numbers).any():
        raise Unscored("not-a-number", "a value is infinite")
    return numbers
