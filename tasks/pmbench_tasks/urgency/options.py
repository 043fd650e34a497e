"""Options of the urgency tasks (`-o name=value`)."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pmbench import ConfigError, Options, StrategyContext

Orders: TypeAlias = Literal["both", "one"]
Ndcg: TypeAlias = Literal["exact", "ranx"]

PER_HOUR = 20.0
"""Messages that a clinician reads in an hour, unless something else is said: three minutes each."""


class PairOptions(Options, frozen=True):
    """Options of pair tasks.

    Attributes:
        chart: `drop` leaves charts out of every prompt.
        orders: `both` asks about a pair twice, once with each message first; `one` asks once, in an order drawn by
            the messages' texts.
        seed: of whatever is drawn by lot: that order, the strategy `random`, the order in which an inbox is shown,
            and the order that a sort begins with.
    """

    chart: Literal["keep", "drop"] = "keep"
    orders: Orders = "both"
    seed: int = 0


class InboxOptions(PairOptions, frozen=True):
    """Options of inbox tasks.

    Attributes:
        ndcg: `exact` takes the expectation over orders of messages with equal scores; `ranx` takes NDCG from the
            package ranx, which leaves them in the order of the inbox.
        reading_rate: messages read in an hour, for waiting times.
        budget: most comparisons that `merge`, `heap`, `tournament` and `active` may ask, each of one or two calls; 0:
            as many as a sort takes, and n⌈log2 n⌉ for `active`.
        design: whether the inbox was put together so many from each level, which decides its intervals; `auto`
            looks at the levels.
    """

    ndcg: Ndcg = "exact"
    reading_rate: float = PER_HOUR
    budget: int = 0
    design: Literal["auto", "levels", "none"] = "auto"


class SampledInboxOptions(InboxOptions, frozen=True):
    """Options of an inbox that is drawn from a larger pool.

    Attributes:
        per_level: messages drawn from each level.
        draw: number of the drawing: another one is another inbox.
    """

    per_level: int = 5
    draw: int = 0


def options_of(options: Options) -> PairOptions:
    """The options as those of the urgency tasks.

    Raises:
        ConfigError: they are of another task.
    """
    if not isinstance(options, PairOptions):
        raise ConfigError("this strategy is for the urgency tasks")
    return options


def pair_options(context: StrategyContext) -> PairOptions:
    """The options that a strategy of these tasks runs under.

    Raises:
        ConfigError: it is used by a task with other options.
    """
    return options_of(context.options)


def inbox_options(context: StrategyContext) -> InboxOptions:
    """The same for strategies of inboxes.

    Raises:
        ConfigError: it is used by a task with other options.
    """
    if not isinstance(context.options, InboxOptions):
        raise ConfigError("this strategy is for inboxes")
    return context.options
