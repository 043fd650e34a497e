"""What a table comes to, in plain words for who reads no statistics, and the line at its foot."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version

from pmbench.core.digest import SHORT
from pmbench.core.metric import Metric
from pmbench.leaderboard.collect import Entry
from pmbench.leaderboard.table import SystemRow, Table
from pmbench.leaderboard.tested import PairTested
from pmbench.leaderboard.why_not import why_not
from pmbench.leaderboard.wording import counted, judges_text, listed, p_value

MOST_NAMED = 4
"""Systems that a sentence names; of more it says how many."""

NOBODY = "none"
"""The model of strategies that ask no model: those are called by their own names."""

LONGEST = 60
"""Characters of a system's name in a sentence."""

Pairs = Mapping[tuple[int, int], PairTested]


def plain_words(table: Table, primary: Metric, *, alpha: float) -> list[str]:
    """Which systems can be told apart, from the tests of all pairs, adjusted as in the table.

    Args:
        table: with rows and pairs.
        primary: the metric that was tested.
        alpha: the level: two systems differ where the adjusted p is no greater.

    Returns:
        Sentences; none where the table has no system.
    """
    rows = [row for row in table.rows if row.measures[primary.name].value is not None]
    if not table.rows:
        return []
    if not rows:
        return [f"No system here has a value of {primary.title}."]
    if len(rows) == 1:
        return [
            f"{_names(rows, table)[rows[0].number]} is the only system here with a value: nothing to compare."
        ]
    return list(_Words(table, rows, primary, alpha).sentences())


class _Words:
    """The sentences of one table."""

    def __init__(self, table: Table, rows: Sequence[SystemRow], primary: Metric, alpha: float) -> None:
        self.table, self.rows, self.primary, self.alpha = table, rows, primary, alpha
        self.names = _names(rows, table)
        self.pairs: Pairs = {(pair.first, pair.second): pair for pair in table.pairs}
        self.best = rows[0].number

    def sentences(self) -> Iterator[str]:
        """The best and what cannot be told apart from it, the rest, what could not be tested, and why."""
        others = [row.number for row in self.rows[1:]]
        untested = [number for number in others if self._p(self.best, number) is None]
        tested = [number for number in others if number not in untested]
        near = [number for number in tested if not self._differ(self.best, number)]
        far = [number for number in tested if self._behind(number, self.best)]
        if near:
            yield self._near(near, far)
        elif far:
            yield self._alone(far)
        inside = [self._ordered(*pair) for pair in self._among(near) if self._differ(*pair)]
        if inside:
            yield f"Among these, {self._pairwise(inside)}."
        behind = [self._ordered(*pair) for pair in self._among(far) if self._differ(*pair)]
        if behind:
            yield f"Of the {'two' if len(far) == 2 else 'others'}, {self._pairwise(behind)}."
        turned = [number for number in tested if number not in near and number not in far]
        if turned:
            ahead = self._pairwise([(number, self.best) for number in turned])
            yield f"On the instances that both have scored, {ahead}."
        if untested:
            verb = "is" if len(untested) == 1 else "are"
            yield f"{self._listed(untested)} {verb} not tested against {self.names[self.best]}: see the notes."
        yield from why_not(self.table, self.names, self._listed, self.alpha)

    def _near(self, near: Sequence[int], far: Sequence[int]) -> str:
        group = [self.best, *near]
        apart = any(self._differ(*pair) for pair in self._among(near))
        if apart:
            text = f"{self._listed(near)} cannot be told apart from {self.names[self.best]}, the first,"
        elif not far and len(group) > MOST_NAMED:
            text = f"None of the {len(group)} systems can be told apart"
        else:
            text = f"{self._listed(group)} cannot be told apart"
        text += self._on(group[1:])
        of_all = [number for number in far if all(self._behind(number, one) for one in group)]
        of_best = [number for number in far if number not in of_all]
        parts = []
        if of_all:
            whom = {1: self.names[self.best], 2: "both"}.get(len(group), "all of them")
            parts.append(
                f"{self._listed(of_all)} {self._is_worse(of_all)} {whom}, {self._at_most(of_all, group)}"
            )
        if of_best:
            parts.append(
                f"{self._listed(of_best)} {self._is_worse(of_best)} {self.names[self.best]},"
                f" {self._at_most(of_best, [self.best])}, but {self._apart_from_some(of_best, near)}"
            )
        return "; ".join([text, *parts]) + "."

    def _apart_from_some(self, numbers: Sequence[int], near: Sequence[int]) -> str:
        """From whom systems that are behind the first cannot be told apart."""
        alike = [one for one in near if not all(self._behind(number, one) for number in numbers)]
        if len(numbers) > 1 and any(self._behind(number, one) for number in numbers for one in alike):
            return f"cannot all be told apart from {self._listed(alike)}"
        return f"cannot be told apart from {self._listed(alike)}"

    def _alone(self, far: Sequence[int]) -> str:
        p = self._at_most(far, [self.best])
        verb = "differs from" if self.primary.higher_is_better is None else "is better than"
        whom = self._listed(far, "all other systems" if len(far) == len(self.rows) - 1 else "")
        return f"{self.names[self.best]} {verb} {whom}{self._on(far)}, {p}."

    def _on(self, others: Sequence[int]) -> str:
        """On how many instances, where that is one number for all of the pairs with the first."""
        shared = {self.pairs[self._pair(self.best, number)].instances for number in others}
        if len(shared) != 1:
            return " on the instances that both have scored"
        of = f" of {counted(self.table.units, 'message')}" if self.table.units else ""
        return f" on {counted(shared.pop(), 'instance')}{of}"

    def _is_worse(self, numbers: Sequence[int]) -> str:
        if self.primary.higher_is_better is None:
            return "differs from" if len(numbers) == 1 else "differ from"
        return "is worse than" if len(numbers) == 1 else "are worse than"

    def _pairwise(self, pairs: Sequence[tuple[int, int]]) -> str:
        verb = "differs from" if self.primary.higher_is_better is None else "is better than"
        told = [
            f"{self.names[a]} {verb} {self.names[b]} ({self._at_most([b], [a])})"
            for a, b in pairs[:MOST_NAMED]
        ]
        more = len(pairs) - len(told)
        return listed([*told, f"so for {counted(more, 'further pair')}"] if more else told)

    def _at_most(self, numbers: Sequence[int], others: Sequence[int]) -> str:
        """The greatest p between two groups: `p = 0.004`, `p ≤ 0.004` of several, `p < 0.001`."""
        found = [self._p(*self._pair(number, other)) for number in numbers for other in others]
        known = [p for p in found if p is not None]
        text = p_value(max(known))
        if text.startswith("<"):
            return f"p < {text[1:]}"
        return f"p {'=' if len(known) == 1 else '≤'} {text}"

    def _listed(self, numbers: Sequence[int], all_of_them: str = "") -> str:
        if len(numbers) > MOST_NAMED:
            return all_of_them or f"{len(numbers)} systems (rows {_ranges(numbers)})"
        return listed([self.names[number] for number in numbers])

    def _among(self, numbers: Sequence[int]) -> list[tuple[int, int]]:
        return [(a, b) for place, a in enumerate(numbers) for b in numbers[place + 1 :]]

    def _pair(self, one: int, other: int) -> tuple[int, int]:
        return min(one, other), max(one, other)

    def _p(self, one: int, other: int) -> float | None:
        pair = self.pairs.get((one, other))
        return pair.p_adjusted if pair else None

    def _differ(self, one: int, other: int) -> bool:
        pair = self.pairs.get((one, other))
        return pair is not None and pair.differs(self.alpha)

    def _ordered(self, one: int, other: int) -> tuple[int, int]:
        """Two systems, first the one that is better on the instances that both have, whatever their own values."""
        first, second = self._pair(one, other)
        higher = self.primary.higher_is_better
        turned = higher is not None and self.pairs[first, second].second_ahead(higher)
        return (second, first) if turned else (first, second)

    def _behind(self, one: int, other: int) -> bool:
        """Whether the one is worse than the other beyond chance."""
        return self._differ(*self._pair(one, other)) and self._ordered(one, other)[1] == one


def foot(table: Table, head: Entry) -> str:
    """By which pmbench, of which data, judged by whom, how many instances, and what was lost of all responses.

    Args:
        table: with its rows; head: one of its runs.
    """
    counts = [row.counts for row in table.rows]
    failed, missing = sum(one.failed for one in counts), sum(one.missing for one in counts)
    made = sorted({row.made_with for row in table.rows})
    own = version("pmbench")
    runs = (
        ""
        if made in ([own], [""])
        else f" from runs of {', '.join(one or 'an unknown version' for one in made)}"
    )
    parts = [
        f"pmbench {own}{runs}",
        f"{head.record.asked.task} version {table.version}",
        f"data {table.data}, fingerprint {table.fingerprint[:SHORT]}",
        f"judges {judges_text(table.rows[0].judges) or 'none'}" if table.rows else "",
        f"n = {table.instances}",
        f"{failed} failed and {missing} missing of {sum(one.samples for one in counts)} responses",
    ]
    return "; ".join(filter(None, parts))


def _names(rows: Sequence[SystemRow], table: Table) -> dict[int, str]:
    """What each system is called: its model, with the strategy where models are not enough, else with its row."""
    found: dict[int, str] = {}
    models = [row.model for row in table.rows]
    pairs = [(row.model, row.strategy) for row in table.rows]
    for row in rows:
        name = row.model if len(row.model) <= LONGEST else f"{row.model[:LONGEST]}… (row {row.number})"
        if row.model == NOBODY:
            name = row.strategy
        elif models.count(row.model) > 1:
            name = f"{name} by {row.strategy}"
        if pairs.count((row.model, row.strategy)) > 1:
            name = f"{name} (row {row.number})"
        found[row.number] = name
    return found


def _ranges(numbers: Sequence[int]) -> str:
    """`2 to 5 and 9` of 2, 3, 4, 5, 9."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    words = [[f"{run[0]} to {run[-1]}"] if len(run) > 2 else [str(one) for one in run] for run in runs]
    return listed([word for run in words for word in run])
