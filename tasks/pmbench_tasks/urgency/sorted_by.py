"""Sorting an inbox with fewer comparisons than all pairs: `merge`, `heap`, `tournament`, `active`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from pmbench import Model, Options, RequestFailed, Response, StrategyContext
from pmbench_tasks.urgency.asking import ask_each
from pmbench_tasks.urgency.comparators import Comparator, first_shown
from pmbench_tasks.urgency.messages import PortalMessage
from pmbench_tasks.urgency.options import inbox_options, options_of

if TYPE_CHECKING:
    from pmbench_tasks.urgency.sorting import Sorted

Method = Literal["merge", "heap", "tournament", "active"]


class SortedInbox:
    """Puts an inbox in order by a sort that asks for one comparison, or one round of them, after the other.

    A comparison is two calls, one with each message first, or with `orders=one` a single one by lot. The same calls
    are those of `pairwise`, so that whichever runs second has many of its answers already.
    """

    def __init__(self, comparator: Comparator, method: Method) -> None:
        self.comparator, self.method = comparator, method
        self.needs = comparator.needs

    def describe(self) -> Mapping[str, Any]:
        """What decides the comparator's values, the sort, and what it counts."""
        return {**self.comparator.describe(), "method": self.method, "counts": "unanswered"}

    def estimate(self, inputs: Mapping[str, Any], options: Options) -> tuple[int, int]:
        """Calls for the fewest and the most comparisons of the sort, no more than the budget."""
        asked = options_of(options)
        fewest, most = comparisons(self.method, len(inputs["messages"]), getattr(asked, "budget", 0))
        calls = 1 if asked.orders == "one" else 2
        return calls * fewest, calls * most

    async def __call__(self, inputs: Mapping[str, Any], model: Model, context: StrategyContext) -> Response:
        """`scores`, higher is more urgent; `compared` pairs; whether the sort is `complete`, or a budget ended it.

        A comparison with a call that failed for good has no answer: the sort takes both for equal. `missing` counts
        the calls, `unanswered` the comparisons.

        Raises:
            RequestFailed: no comparison has an answer.
        """
        options = inbox_options(context)
        messages: Sequence[PortalMessage] = inputs["messages"]
        asking = _Asking(self.comparator, messages, model, context)
        found = await self._sort(len(messages), asking, options.budget or None, options.seed)
        if found.comparisons and found.missing == found.comparisons and asking.failed:
            raise asking.failed[0]
        return Response(
            data={
                "ids": [message["id"] for message in messages],
                "scores": found.scores,
                "asked": asking.calls,
                "missing": len(asking.failed),
                "unanswered": found.missing,
                "compared": found.comparisons,
                "complete": found.complete,
            }
        )

    async def _sort(self, n: int, asking: _Asking, budget: int | None, seed: int) -> Sorted:
        from pmbench_tasks.urgency import sorting

        sorts = {
            "merge": sorting.merge_sort,
            "heap": sorting.heap_top_k,
            "tournament": sorting.tournament_top_k,
            "active": sorting.active_ranking,
        }
        return await sorts[self.method](n, asking, budget=budget, seed=seed)


class _Asking:
    """The comparisons of one inbox, and how many calls they took.

    Attributes:
        calls: made so far; failed: those that failed for good.
    """

    def __init__(
        self,
        comparator: Comparator,
        messages: Sequence[PortalMessage],
        model: Model,
        context: StrategyContext,
    ) -> None:
        self.comparator, self.messages = comparator, messages
        self.model, self.context = model, context
        self.options = inbox_options(context)
        self.calls = 0
        self.failed: list[RequestFailed] = []

    async def __call__(self, i: int, j: int) -> float:
        """The probability that j is more urgent than i, both orders averaged; NaN where a call failed for good."""
        one, other = self.messages[i], self.messages[j]
        if self.options.orders == "one":
            if first_shown(one, other, self.options.seed):
                return await self._call(one, other)
            return 1.0 - await self._call(other, one)
        shown, reversed_ = await ask_each([partial(self._call, one, other), partial(self._call, other, one)])
        # Equal answers make exactly one half.
        return 0.5 + (shown - reversed_) / 2

    async def _call(self, first: PortalMessage, second: PortalMessage) -> float:
        self.calls += 1
        try:
            return await self.comparator(first, second, self.model, self.context)
        except RequestFailed as error:
            self.failed.append(error)
            return float("nan")


def comparisons(method: Method, n: int, budget: int = 0) -> tuple[int, int]:
    """Bounds of how many comparisons of n messages are made; see `sorting.py`.

    Args:
        method: of sorting; n: messages.
        budget: most comparisons; 0: as many as the sort takes.

    Returns:
        No fewer, no more. `active` asks exactly as many as it may; of the others none can do with fewer than n − 1.
    """
    pairs = n * (n - 1) // 2
    deep = (n - 1).bit_length() if n > 1 else 0
    most = {
        "merge": n * deep - 2**deep + 1,
        "heap": 2 * n + 2 * n * max(n.bit_length() - 1, 0),
        "tournament": n - 1 + (n - 1) * max(deep - 1, 0),
        "active": n * deep,
    }[method]
    if method == "active":
        return (exactly := min(budget or most, pairs)), exactly
    return min(n - 1, budget or most), min(most, pairs, budget or most)
