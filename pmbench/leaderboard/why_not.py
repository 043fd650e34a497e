"""Why systems that look different are not told apart: what a test can come to at least, and what it is adjusted for.

A randomisation test of d clusters that differ has 2^d patterns, two of which are as extreme as any: no p is below
2 / 2^d. After adjustment for many pairs that may be more than the level, and then no systems whatever can be told
apart. All corrections here are monotone, so the adjusted values of the least p-values are the least adjusted ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from pmbench.leaderboard.table import Table
from pmbench.leaderboard.tested import Comparison, Correction, PairTested
from pmbench.leaderboard.wording import counted, p_value
from pmbench.stats.corrections import benjamini_hochberg, holm
from pmbench.stats.randomisation import PairedTest

_ADJUST: dict[Correction, Callable[[Sequence[float]], list[float]]] = {
    "holm": holm,
    "benjamini-hochberg": benjamini_hochberg,
    "max-t": list,  # it takes the greatest ratio of all pairs, and adds nothing to the least p
}


def least_adjusted(pairs: Sequence[PairTested], correction: Correction) -> dict[tuple[int, int], float]:
    """For each pair that was tested, by the numbers of its rows, what its adjusted p can be at least."""
    tested = [pair for pair in pairs if pair.p_adjusted is not None]
    adjusted = _ADJUST[correction]([pair.least for pair in tested])
    return {(pair.first, pair.second): value for pair, value in zip(tested, adjusted, strict=True)}


def out_of_reach(table: Table, alpha: float) -> list[PairTested]:
    """The pairs of which no difference could be shown, whatever the systems."""
    least = least_adjusted(table.pairs, table.correction)
    return [pair for pair in table.pairs if least.get((pair.first, pair.second), 0.0) > alpha]


def all_out_of_reach(table: Table, alpha: float) -> bool:
    """Whether no pair of a table could be told apart."""
    tested = [pair for pair in table.pairs if pair.p_adjusted is not None]
    return bool(tested) and len(out_of_reach(table, alpha)) == len(tested)


def why_not(
    table: Table, names: Mapping[int, str], listed: Callable[[Sequence[int]], str], alpha: float
) -> Iterator[str]:
    """Sentences for under a table.

    Args:
        table: with rows and pairs; names: what each row is called.
        listed: several rows in words.
        alpha: the level of the tests.
    """
    tested = [pair for pair in table.pairs if pair.p_adjusted is not None]
    if all_out_of_reach(table, alpha):
        yield _nothing_possible(table, tested, alpha)
    with_first = {pair.second: pair for pair in tested if pair.first == 1}
    apart = [
        row.number
        for row in table.rows
        if _excludes_0(row.against) and row.number in with_first and not with_first[row.number].differs(alpha)
    ]
    if apart:
        best = names[table.rows[0].number]
        text = f"The interval of the difference from {best} excludes 0 for {listed(apart)}, and yet"
        text += f" {'it is' if len(apart) == 1 else 'they are'} not told apart from it"
        if len(tested) > 1:
            why = f"an interval is of one pair alone, while p is adjusted for all {len(tested):,} pairs of systems"
        else:
            why = "interval and p are made in different ways, and it is p that decides"
        yield f"{text}: {why}."


def of_two(test: PairedTest, noun: str, alpha: float) -> Iterator[str]:
    """Sentences on one comparison that is adjusted for no other.

    Args:
        test: of systems A and B.
        noun: what is swapped, as `cluster`.
        alpha: the level.
    """
    if not test.p > alpha:
        return
    if test.least_p > alpha and test.differing:
        yield (
            f"A and B differ in {counted(test.differing, noun)} only: no p can then be below"
            f" {_least(test.least_p)}, whatever the systems. More data are needed to show a difference."
        )
    if test.low > 0 or test.high < 0:
        yield (
            f"The interval excludes 0 and p is above {alpha:g}: they are made in different ways, and it is p that"
            " decides."
        )


def _nothing_possible(table: Table, tested: Sequence[PairTested], alpha: float) -> str:
    noun = "instance" if table.clusters == table.instances else "cluster"
    most, least = max(pair.differing for pair in tested), min(pair.least for pair in tested)
    if not most:
        return "They have the same scores everywhere."
    if any(not pair.exact for pair in tested):
        because = f"of {round(1 / least) - 1:,} random patterns no p can be below {_least(least)}"
        remedy = "give more with --resamples, or leave systems out"
    else:
        who = "the two systems differ" if len(tested) == 1 else "no two systems differ"
        many = f"in {counted(most, noun)} only" if len(tested) == 1 else f"in more than {counted(most, noun)}"
        because = f"{who} {many}, so that no p can be below {_least(least)}"
        remedy = (
            "more data are needed"
            if least > alpha or len(tested) == 1
            else "it takes more data or fewer systems"
        )
    if len(tested) > 1:
        lowest = min(least_adjusted(tested, table.correction).values())
        because += f", and after adjustment for {len(tested):,} pairs none below {_least(lowest)}"
    return f"This table cannot show a difference, whatever the systems: {because}; {remedy}."


def _excludes_0(against: Comparison | None) -> bool:
    """Whether the interval of the difference from the first excludes 0."""
    if against is None or against.low is None or against.high is None:
        return False
    return against.low > 0 or against.high < 0


def _least(value: float) -> str:
    """Two digits of a bound."""
    return f"{min(1.0, value):.2g}" if value >= 1e-4 else p_value(value)
