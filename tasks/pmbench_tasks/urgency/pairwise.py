"""The strategies that compare: one pair, or all pairs of an inbox."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from pmbench import ConfigError, Model, Options, Response, StrategyContext
from pmbench_tasks.urgency.asking import ask_all, ask_each
from pmbench_tasks.urgency.comparators import Comparator, first_shown
from pmbench_tasks.urgency.messages import PortalMessage
from pmbench_tasks.urgency.options import PairOptions, inbox_options, options_of, pair_options


class ComparedPair:
    """Compares the two messages of a pair, each shown first once, or one of them by lot."""

    def __init__(self, comparator: Comparator) -> None:
        self.comparator = comparator
        self.needs = comparator.needs

    def describe(self) -> Mapping[str, Any]:
        """What decides the comparator's values."""
        return self.comparator.describe()

    def estimate(self, inputs: Mapping[str, Any], options: Options) -> tuple[int, int]:
        """One request with `orders=one`, two with `both`."""
        count = (1 if options_of(options).orders == "one" else 2) if self.needs else 0
        return count, count

    async def __call__(self, inputs: Mapping[str, Any], model: Model, context: StrategyContext) -> Response:
        """`p`: the comparator's value for (first, second) and for (second, first), null where it was not asked.

        Raises:
            RequestFailed: a request failed for good: a pair is not decided by half of what was asked.
            ConfigError: a reward model is to decide by one order.
        """
        options = pair_options(context)
        check_orders(self.comparator, options)
        first, second = inputs["first"], inputs["second"]
        orders = [(first, second), (second, first)]
        wanted = [True, True]
        if options.orders == "one":
            wanted = [before := first_shown(first, second, options.seed), not before]
        asks = [
            partial(self.comparator, *pair, model, context)
            for pair, asked in zip(orders, wanted, strict=True)
            if asked
        ]
        answers = iter(await ask_each(asks))
        return Response(
            data={
                "p": [next(answers) if asked else None for asked in wanted],
                "scale": self.comparator.scale,
            }
        )


class ComparedInbox:
    """Compares every message of an inbox with every other one; scoring makes win rates of it."""

    def __init__(self, comparator: Comparator) -> None:
        self.comparator = comparator
        self.needs = comparator.needs

    def describe(self) -> Mapping[str, Any]:
        """What decides the comparator's values."""
        return self.comparator.describe()

    def estimate(self, inputs: Mapping[str, Any], options: Options) -> tuple[int, int]:
        """n (n − 1) / 2 requests with `orders=one`, n (n − 1) with `both`."""
        n = len(inputs["messages"])
        pairs = n * (n - 1) // 2
        count = pairs if options_of(options).orders == "one" else 2 * pairs
        return count, count

    async def __call__(self, inputs: Mapping[str, Any], model: Model, context: StrategyContext) -> Response:
        """`comparisons`, n × n: the comparator's value for row i shown first and column j second; null: none.

        Requests are begun row by row, so that those about one first message come together. One that fails for
        good is a missing comparison.

        Raises:
            RequestFailed: every request failed.
            ConfigError: a reward model is to decide by one order.
        """
        options = inbox_options(context)
        check_orders(self.comparator, options)
        messages: Sequence[PortalMessage] = inputs["messages"]
        places = asked_places(messages, options)
        answers = await ask_all(
            [partial(self.comparator, messages[i], messages[j], model, context) for i, j in places]
        )
        comparisons: list[list[float | None]] = [[None] * len(messages) for _ in messages]
        for (i, j), answer in zip(places, answers, strict=True):
            comparisons[i][j] = answer
        return Response(
            data={
                "ids": [message["id"] for message in messages],
                "comparisons": comparisons,
                "scale": self.comparator.scale,
                "asked": len(places),
                "missing": sum(answer is None for answer in answers),
            }
        )


def asked_places(messages: Sequence[PortalMessage], options: PairOptions) -> list[tuple[int, int]]:
    """The places (first, second) that are compared, row by row."""
    both, many = options.orders == "both", range(len(messages))
    return [
        (i, j)
        for i in many
        for j in many
        if i != j and (both or first_shown(messages[i], messages[j], options.seed))
    ]


def check_orders(comparator: Comparator, options: PairOptions) -> None:
    """Raises ConfigError where one score of a reward model, which has no zero, would have to decide."""
    if comparator.scale == "reward" and options.orders == "one":
        raise ConfigError(
            "a reward model is asked in both orders: one score alone decides nothing",
            where="-o orders=one",
            remedy="Leave it out",
        )
