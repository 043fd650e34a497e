"""Levels from people's labels of pairs, as appendix A.5.2 of arXiv 2601.13178 made them for PMR-Synth.

Annotators said of pairs of one inbox which message is more urgent. Messages are sorted by win rate, and the sorted
inbox is cut into sixths: the message at place p of n (from 0) gets level 1 + 6p // n.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby

from pmbench import DataError, id_shown

LEVELS = 6


@dataclass(frozen=True, slots=True)
class InboxLevels:
    """Levels of one inbox, and what they rest on.

    Attributes:
        levels: of each message, by id, the most urgent first: 1 (most urgent) to 6.
        win_rates: of each message, by id: the share of its labelled pairs in which it is the more urgent.
        pairs: how many pairs are labelled.
        repeated: labels that said once more what was said already, in either order.
        missing: pairs of the inbox that nobody labelled; the win rates are over the labelled ones.
        tied: messages with the same win rate as another one.
        by_duel: those of them whose place among the tied was decided by the labels of the pairs among these.
        by_id: those whose place was decided by nothing but their id.
        cut: those of `by_id` that stand on both sides of a border between levels: their levels are arbitrary.
        at_a_border: the ids of these.
    """

    levels: dict[str, int]
    win_rates: dict[str, float]
    pairs: int
    repeated: int
    missing: int
    tied: int
    by_duel: int
    by_id: int
    cut: int
    at_a_border: tuple[str, ...] = ()


def levels_from_pairs(
    rows: Iterable[tuple[str, str, str]], *, ids: Collection[str] | None = None, where: Sequence[str] = ()
) -> InboxLevels:
    """Turn labels of pairs into levels.

    Equal win rates are ordered by how many of the pairs among those tied each message won, and by id where that is
    equal too. Neither the order of the rows nor that within a pair changes anything.

    Args:
        rows: (id, id, id of the more urgent of the two).
        ids: the messages of the inbox; by default those that occur in a pair.
        where: the place of each row for errors, such as `pairs.csv, row 3`; by default `row N`.

    Raises:
        DataError: an unknown id, a message against itself, a label that is neither of the two, a pair labelled
            twice with different labels, a message without a pair, or fewer than six messages.
    """
    known = None if ids is None else set(ids)
    won: dict[frozenset[str], str] = {}
    repeated = 0
    for at, (first, second, more_urgent) in enumerate(rows):
        place = where[at] if at < len(where) else f"row {at + 1}"
        _check(first, second, more_urgent, known, place)
        pair = frozenset((first, second))
        if won.setdefault(pair, more_urgent) != more_urgent:
            raise DataError(
                f"the pair of {id_shown(first)} and {id_shown(second)} is labelled twice, and differently",
                where=place,
                remedy="Keep the label that was agreed on",
            )
        repeated = at + 1 - len(won)
    return _levels(won, sorted(set().union(*won) if known is None else known), repeated)


def _check(first: str, second: str, more_urgent: str, known: set[str] | None, place: str) -> None:
    """One row by itself."""
    if first == second:
        raise DataError(f"the message {id_shown(first)} is compared with itself", where=place)
    for one in (first, second):
        if known is not None and one not in known:
            raise DataError(f"no message of the inbox has the id {id_shown(one)}", where=place)
    if more_urgent not in {first, second}:
        raise DataError(
            f"the more urgent message is neither {id_shown(first)} nor {id_shown(second)}",
            where=place,
            remedy="Write the id of one of the two; a tie is no label",
        )


def _levels(won: dict[frozenset[str], str], ids: Sequence[str], repeated: int) -> InboxLevels:
    n = len(ids)
    if n < LEVELS:
        raise DataError(
            f"{n} messages cannot be put into {LEVELS} levels", remedy="Label an inbox of six or more"
        )
    wins: dict[str, int] = defaultdict(int)
    seen: dict[str, int] = defaultdict(int)
    for pair, winner in won.items():
        wins[winner] += 1
        for one in pair:
            seen[one] += 1
    for one in ids:
        if not seen[one]:
            raise DataError(
                f"the message {id_shown(one)} is in no labelled pair", remedy="Label it, or leave it out"
            )
    rates = {one: Fraction(wins[one], seen[one]) for one in ids}
    duels = _duels(won, rates)
    order = sorted(ids, key=lambda one: (-rates[one], -duels[one], one))
    levels = {one: 1 + LEVELS * place // n for place, one in enumerate(order)}
    by_rate = [list(group) for _, group in groupby(order, key=rates.__getitem__)]
    tied = [group for group in by_rate if len(group) > 1]
    by_duel = [list(same) for group in tied for _, same in groupby(group, key=duels.__getitem__)]
    arbitrary = [same for same in by_duel if len(same) > 1]
    cut = [one for same in arbitrary if len({levels[other] for other in same}) > 1 for one in same]
    return InboxLevels(
        levels=levels,
        win_rates={one: float(rates[one]) for one in order},
        pairs=len(won),
        repeated=repeated,
        missing=n * (n - 1) // 2 - len(won),
        tied=sum(map(len, tied)),
        by_duel=sum(len(same) == 1 for same in by_duel),
        by_id=sum(map(len, arbitrary)),
        cut=len(cut),
        at_a_border=tuple(cut),
    )


def _duels(won: dict[frozenset[str], str], rates: dict[str, Fraction]) -> dict[str, int]:
    """How many pairs with a message of the same win rate each message won."""
    duels = dict.fromkeys(rates, 0)
    for pair, winner in won.items():
        one, other = pair
        if rates[one] == rates[other]:
            duels[winner] += 1
    return duels
