"""Metrics of an order, and how they change when the messages of an inbox are drawn again.

A score's `arrays` are those of `inbox_metrics.inbox_arrays`. Where the comparisons are there, a drawn inbox is
ranked anew from them; where a strategy gave scores or levels, each copy keeps the score of its message.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from pmbench import RankingMetric

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Draws = NDArray[np.intp]

Orders = Literal["both", "one"]

PER_HOUR = 20.0
"""Messages that a clinician reads in an hour, unless something else is said: three minutes each."""

Statistic = Callable[["Floats", "Floats"], "Floats"]
"""(levels (B, m), scores (B, m)) to values (B,)."""


class InboxMetric(RankingMetric):
    """Mean over inboxes of one statistic of each.

    Args:
        stat: the statistic's name in a score.
        in_words: the formula for one inbox, for cards; by default the name of the statistic.
        least: the value can be no smaller.
        shown: as of `pmbench.Metric`.
    """

    def __init__(self, stat: str, *, in_words: str = "", least: float = float("-inf"), **shown: Any) -> None:
        super().__init__(stat, **shown)
        self.least = least
        self.in_words = in_words or stat

    @property
    def formula(self) -> str:
        """`mean over inboxes of` the statistic."""
        return f"mean over inboxes of {self.in_words}"

    def strata(self, arrays: Mapping[str, Any]) -> Sequence[Hashable]:
        """The level of each message where the inbox was put together level by level; else empty."""
        return tuple(arrays.get("strata") or ())


class RerankedMetric(InboxMetric):
    """A statistic of the order, which is made anew for drawn messages."""

    @abstractmethod
    def of_drawn(self, levels: Floats, scores: Floats, arrays: Mapping[str, Any]) -> Floats:
        """The statistic of drawn inboxes.

        Args:
            levels, scores: of the drawn copies, shape (B, m).
            arrays: of the score.

        Returns:
            Shape (B,); NaN where there is no value.
        """

    def resample(self, arrays: Mapping[str, Any], draws: Draws) -> Floats:
        """The statistic of drawn inboxes, ranked anew from the comparisons where they are there.

        Args:
            arrays: of one score.
            draws: places of the messages drawn, shape (B, m).

        Returns:
            Shape (B,); NaN where there is no value.
        """
        import numpy as np

        from pmbench_tasks.urgency.ranking import contributions, drawn_scores, stored

        levels = np.asarray(arrays["levels"], dtype=float)[draws]
        if stored(arrays.get("comparisons")):
            scores = drawn_scores(contributions(arrays["comparisons"], orders_of(arrays)), draws)
        else:
            scores = np.asarray(arrays["scores"], dtype=float)[draws]
        return self.of_drawn(levels, scores, arrays)


class OrderMetric(RerankedMetric):
    """Mean over inboxes of a statistic of levels and scores.

    Args:
        stat: the statistic's name in a score.
        statistic: computes it for drawn inboxes.
        shown: as of `InboxMetric`.
    """

    def __init__(self, stat: str, statistic: Statistic, **shown: Any) -> None:
        super().__init__(stat, **shown)
        self.statistic = statistic

    def of_drawn(self, levels: Floats, scores: Floats, arrays: Mapping[str, Any]) -> Floats:
        """The statistic."""
        return self.statistic(levels, scores)


class TNDCG(RerankedMetric):
    """Mean over inboxes of T-NDCG@k, or of its share of the ideal; see `ndcg.py`."""

    def __init__(self, k: int, *, share: bool = False, **shown: Any) -> None:
        self.k, self.share = k, share
        ideal = " / ideal of the inbox" if share else ""
        super().__init__(
            f"share_{k}" if share else f"t_ndcg_{k}",
            in_words=f"(NDCG@{k}(order) − NDCG@{k}(reversed order)){ideal}, ties by expectation",
            **shown,
        )

    def of_drawn(self, levels: Floats, scores: Floats, arrays: Mapping[str, Any]) -> Floats:
        """T-NDCG@k or its share of the ideal, NaN where that is 0."""
        import numpy as np

        from pmbench_tasks.urgency.ndcg import LEAST_URGENT, t_ndcg_rows

        relevance = LEAST_URGENT - levels
        values = t_ndcg_rows(relevance, scores, (self.k,))[:, 0]
        if not self.share:
            return values
        ideal = t_ndcg_rows(relevance, relevance, (self.k,))[:, 0]
        return np.where(ideal > 0, values / np.where(ideal > 0, ideal, 1.0), np.nan)


class WaitMetric(RerankedMetric):
    """Mean over inboxes of how long its most urgent messages wait.

    In a drawing those of the most urgent level of the inbox itself are meant, so that all drawings tell of the same
    messages.
    """

    def of_drawn(self, levels: Floats, scores: Floats, arrays: Mapping[str, Any]) -> Floats:
        """Minutes; NaN where no such message was drawn."""
        from pmbench_tasks.urgency.order import wait_minutes

        return wait_minutes(
            levels, scores, per_hour=arrays.get("per_hour", PER_HOUR), urgent=min(arrays["levels"])
        )


class ComparatorMetric(InboxMetric):
    """Mean over inboxes of a share of an inbox's comparisons: `comparator_accuracy` or `position_consistency`.

    A pair of drawn messages counts as often as both were drawn; copies of one message make no pair.
    """

    def resample(self, arrays: Mapping[str, Any], draws: Draws) -> Floats:
        """The share among the pairs of drawn messages; NaN where there is none."""
        import numpy as np

        from pmbench_tasks.urgency.comparisons import agreement_of_orders, right_comparisons
        from pmbench_tasks.urgency.ranking import both_orders, comparison_matrix, drawn_counts, stored

        if not stored(arrays.get("comparisons")):
            return np.full(len(draws), np.nan)
        if self.stat == "position_consistency":
            table = agreement_of_orders(comparison_matrix(arrays["comparisons"]))
        else:
            levels = np.asarray(arrays["levels"], dtype=float)
            table = right_comparisons(levels, both_orders(arrays["comparisons"], orders_of(arrays)))
        counts, there = drawn_counts(draws, len(table)), ~np.isnan(table)
        top = (np.einsum("bi,ij->bj", counts, np.where(there, table, 0.0)) * counts).sum(axis=1)
        bottom = (np.einsum("bi,ij->bj", counts, there.astype(float)) * counts).sum(axis=1)
        return np.where(bottom == 0, np.nan, top / np.where(bottom == 0, 1.0, bottom))


def orders_of(arrays: Mapping[str, Any]) -> Orders:
    """Whether the comparisons of a score were asked in one order or in both."""
    return "one" if arrays.get("orders") == 1 else "both"
