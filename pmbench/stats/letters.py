"""Letters under a table: systems that share one cannot be told apart.

Letters are sets of systems none of which differ from each other; every two systems that do not differ must stand in
one of the sets together. The largest such sets are the columns that Piepho's insert-and-absorb comes to (Journal of
Computational and Graphical Statistics 13, 2004); choosing as few of them as possible is the edge clique cover of
Gramm, Guo, Hüffner & Niedermeier, Computational Statistics & Data Analysis 52, 2007, whose search is the one here:
the pair with the fewest choices first, cut off by a bound.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import combinations, count
from string import ascii_letters

from pmbench.stats.checks import UnusableNumbers

MOST_SETS = 500
MOST_WORK = 2_000_000
"""Beyond so many sets to choose from, or so many pairs looked at in the search, the letters are those of the best
cover found so far: right, but perhaps more of them than needed. Differences that follow the order of the systems
never come near: 200 of them have at most 199 sets and no choice to make."""

Pair = tuple[int, int]


def compact_letters(n: int, different_pairs: Iterable[Sequence[int]]) -> list[str]:
    """Letters for systems in rank order.

    Args:
        n: how many systems, numbered 0 to n − 1 in the order that the letters are given out in.
        different_pairs: the two numbers of each pair of systems that differ, in any order.

    Returns:
        A string for each system: two systems have a letter in common exactly where they are not among the
        different pairs, and every system has one. As few letters as possible (see `MOST_WORK`).

    Raises:
        UnusableNumbers: a pair that is not of two of the systems.
    """
    near = _neighbours(n, different_pairs)
    sets = _fewest(near)
    letters = [""] * n
    for letter, members in zip(_alphabet(), sorted(map(sorted, sets)), strict=False):
        for member in members:
            letters[member] += letter
    return letters


def different_pairs(adjusted: Iterable[tuple[Pair, float]], alpha: float = 0.05) -> list[Pair]:
    """The pairs of systems whose p-value, however adjusted, is at most `alpha`; NaN is no difference.

    Args:
        adjusted: pairs of systems with p-values, such as those of `holm`, `benjamini_hochberg` or `max_t`.
        alpha: the level.
    """
    return [pair for pair, p in adjusted if p <= alpha]


def _neighbours(n: int, different: Iterable[Sequence[int]]) -> list[set[int]]:
    """For each system those that it does not differ from."""
    near = [set(range(n)) - {system} for system in range(n)]
    for pair in different:
        one, other = _ends(pair, n)
        near[one].discard(other)
        near[other].discard(one)
    return near


def _ends(pair: Sequence[int], n: int) -> Pair:
    ends = tuple(pair)
    if len(ends) != 2 or ends[0] == ends[1] or not all(0 <= end < n for end in ends):
        raise UnusableNumbers(f"{ends} is no pair of two of {n} systems")
    return ends[0], ends[1]


def _fewest(near: Sequence[set[int]]) -> list[frozenset[int]]:
    """As few sets as possible that hold every two neighbours together, and everyone who has none alone."""
    alone = [frozenset([system]) for system, others in enumerate(near) if not others]
    wanted = {(one, other) for one, others in enumerate(near) for other in others if one < other}
    if not wanted:
        return alone
    found = _greedy(near, wanted)
    sets = _largest(near)
    if sets is not None:
        found = _Search(sets, wanted, found).best
    return alone + found


def _largest(near: Sequence[set[int]]) -> list[frozenset[int]] | None:
    """All sets of two or more neighbours that nobody can be added to; None where there are too many.

    Bron & Kerbosch 1973 with a pivot, without recursion.
    """
    found: list[frozenset[int]] = []
    stack: list[tuple[frozenset[int], set[int], set[int]]] = [(frozenset(), set(range(len(near))), set())]
    while stack:
        members, open_, closed = stack.pop()
        if not open_ and not closed:
            if len(members) > 1:
                found.append(members)
            if len(found) > MOST_SETS:
                return None
            continue
        pivot = max(sorted(open_ | closed), key=lambda system: len(near[system] & open_))
        for system in sorted(open_ - near[pivot]):
            stack.append((members | {system}, open_ & near[system], closed & near[system]))
            open_ = open_ - {system}
            closed = closed | {system}
    return found


def _greedy(near: Sequence[set[int]], wanted: Collection[Pair]) -> list[frozenset[int]]:
    """Sets one after the other, each grown by whoever brings most pairs that are not yet held."""
    left, found = set(wanted), []
    while left:
        one, other = min(left)
        members: set[int] = set()
        able, gain = {one, other}, dict.fromkeys(range(len(near)), 0)
        added = one
        while able:
            members.add(added)
            able = near[added] if len(members) == 1 else able & near[added]
            for system in able:
                gain[system] += _pair(system, added) in left
            # The pair itself first; then the one that brings most, the earliest of equals.
            added = other if len(members) == 1 else min(able, key=lambda one: (-gain[one], one), default=-1)
        left -= set(combinations(sorted(members), 2))
        found.append(frozenset(members))
    return found


class _Search:
    """Branch and bound over the sets that a pair can be held by, the pair with the fewest first."""

    def __init__(
        self, sets: Sequence[frozenset[int]], wanted: Collection[Pair], known: list[frozenset[int]]
    ) -> None:
        self.best, self.work, self.sets = known, 0, sorted(sets, key=sorted)
        self.holds: list[set[Pair]] = [set(combinations(sorted(one), 2)) for one in self.sets]
        self.choices: dict[Pair, list[int]] = {pair: [] for pair in sorted(wanted)}
        for number, pairs in enumerate(self.holds):
            for pair in pairs:
                self.choices[pair].append(number)
        self._go(set(self.choices), [])

    def _go(self, left: set[Pair], chosen: list[int]) -> None:
        self.work += len(left)
        if not left:
            if len(chosen) < len(self.best):
                self.best = [self.sets[number] for number in chosen]
            return
        if self.work > MOST_WORK or len(chosen) + self._at_least(left) >= len(self.best):
            return
        pair = min(left, key=lambda pair: (len(self.choices[pair]), pair))
        for number in sorted(
            self.choices[pair], key=lambda number: (-len(self.holds[number] & left), number)
        ):
            self._go(left - self.holds[number], [*chosen, number])

    def _at_least(self, left: set[Pair]) -> int:
        """How many sets are needed at least: pairs no two of which stand in one set."""
        taken: set[int] = set()
        needed = 0
        for pair in sorted(left, key=lambda pair: (len(self.choices[pair]), pair)):
            if taken.isdisjoint(self.choices[pair]):
                taken.update(self.choices[pair])
                needed += 1
        return needed


def _pair(one: int, other: int) -> Pair:
    return (one, other) if one < other else (other, one)


def _alphabet() -> Iterator[str]:
    """a to z, A to Z, then the letters of other alphabets, each one character."""
    yield from ascii_letters
    yield from (chr(code) for code in count(0x3B1) if code < 0xD800 and chr(code).isalpha())
