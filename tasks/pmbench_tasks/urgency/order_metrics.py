"""Metrics of an order, and how they change when the messages of an inbox are drawn again.

A score's `arrays` are those of `inbox_metrics.inbox_arrays`. Where the comparisons are there, a drawn inbox is
ranked anew from them; where a strategy gave scores or levels, each copy keeps the score of its message.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from math import floor, inf
from typing import TYPE_CHECKING, Any

from pmbench import RankingMetric
from pmbench_tasks.urgency.options import PER_HOUR, Orders

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Draws = NDArray[np.intp]

Statistic = Callable[["Floats", "Floats"], "Floats"]
"""(levels (B, m), scores (B, m)) to values (B,)."""

Ends = Callable[[Mapping[str, Any]], tuple[float, float]]
"""From the arrays of a score to the least and the most that a statistic can be for inboxes made like this one."""


def ends_of_count(*levels: int) -> Ends:
    """Of how many messages of some levels stand at the last n // 3 places."""

    def ends(arrays: Mapping[str, Any]) -> tuple[float, float]:
        n, strata = len(arrays["levels"]), arrays.get("strata")
        if not strata:
            return 0.0, float(n // 3)
        there = sum(floor(level) in levels for level in strata)
        return float(max(0, there - (n - n // 3))), float(min(there, n // 3))

    return ends


def ends_of_last_place(arrays: Mapping[str, Any]) -> tuple[float, float]:
    """Of the place of the last message of level 1."""
    there = sum(floor(level) == 1 for level in arrays.get("strata") or ())
    return float(max(there, 1)), float(len(arrays["levels"]))


class InboxMetric(RankingMetric):
    """Mean over inboxes of one statistic of each.

    Args:
        stat: the statistic's name in a score.
        in_words: the formula for one inbox, for cards; by default the name of the statistic.
        ends: between which intervals stay; by default the limits.
        shown: as of `pmbench.Metric`.
    """

    def __init__(self, stat: str, *, in_words: str = "", ends: Ends | None = None, **shown: Any) -> None:
        super().__init__(stat, **shown)
        self._ends = ends
        self.in_words = in_words or stat

    @property
    def formula(self) -> str:
        """`mean over inboxes of` the statistic."""
        return f"mean over inboxes of {self.in_words}"

    def ends(self, arrays: Mapping[str, Any]) -> tuple[float, float]:
        """The least and the most that the statistic can be for inboxes put together like the one of a score."""
        return self._ends(arrays) if self._ends is not None else self.limits or (-inf, inf)

    def kind(self, arrays: Mapping[str, Any]) -> str:
        """What the number of a score is, where there are several that cannot be compared; empty: the usual one."""
        return ""

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
            limits=(-1.0, 1.0),
            **shown,
        )

    def ends(self, arrays: Mapping[str, Any]) -> tuple[float, float]:
        """Minus the ideal to the ideal, which is that of all inboxes with so many messages of each level."""
        from pmbench_tasks.urgency.ndcg import ideal_t_ndcg

        most = 1.0 if self.share or not arrays.get("strata") else ideal_t_ndcg(arrays["levels"], self.k)
        return -most, most

    def kind(self, arrays: Mapping[str, Any]) -> str:
        """`ranx` where tied messages were left in the order of the inbox."""
        return str(arrays.get("ndcg") or "")

    def of_drawn(self, levels: Floats, scores: Floats, arrays: Mapping[str, Any]) -> Floats:
        """T-NDCG@k or its share of the ideal, NaN where that is 0."""
        import numpy as np

        from pmbench_tasks.urgency.messages import LEAST_URGENT
        from pmbench_tasks.urgency.ndcg import t_ndcg_rows

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

    def ends(self, arrays: Mapping[str, Any]) -> tuple[float, float]:
        """Minutes, if those messages stand at the first places, and at the last ones."""
        n, strata = len(arrays["levels"]), arrays.get("strata") or ()
        among = max(0, list(strata).count(min(arrays["levels"])) - 1) / 2
        minutes = 60.0 / arrays.get("per_hour", PER_HOUR)
        return minutes * among, minutes * (n - 1 - among)

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


class LevelMetric(InboxMetric):
    """Mean over inboxes of the share of messages that were given their own level, of those that were given one."""

    def resample(self, arrays: Mapping[str, Any], draws: Draws) -> Floats:
        """The share among the drawn copies; NaN where no level was given."""
        import numpy as np

        from pmbench_tasks.urgency.order import right_levels

        if arrays.get("predicted") is None:
            return np.full(len(draws), np.nan)
        predicted = np.array(arrays["predicted"], dtype=float)
        right = right_levels(np.asarray(arrays["levels"], dtype=float), predicted)[draws]
        there = (~np.isnan(right)).sum(axis=1)
        return np.where(there == 0, np.nan, np.nansum(right, axis=1) / np.maximum(there, 1))


def orders_of(arrays: Mapping[str, Any]) -> Orders:
    """Whether the comparisons of a score were asked in one order or in both."""
    return "one" if arrays.get("orders") == 1 else "both"
