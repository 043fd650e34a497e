"""What the tests of a table come to, as plain data: comparisons, letters, and the places that a system may have."""

from __future__ import annotations

from typing import Literal

import msgspec

from pmbench.leaderboard.wording import DASH

Correction = Literal["holm", "benjamini-hochberg", "max-t"]

CORRECTIONS: dict[Correction, str] = {
    "holm": "Holm",
    "benjamini-hochberg": "Benjamini–Hochberg",
    "max-t": "max-T",
}
"""How p-values may be adjusted over all pairs of a table, and what that is called."""


class Resampling(msgspec.Struct, frozen=True):
    """How intervals and tests are made.

    Attributes:
        resamples: of the bootstrap; level: of its intervals.
        permutations: random patterns of a paired test with many clusters.
        seed: of both.
        correction: of the p-values of all pairs, as it was asked for.
    """

    resamples: int = 10_000
    permutations: int = 10_000
    level: float = 0.95
    seed: int = 0
    correction: Correction = "holm"


class Comparison(msgspec.Struct, frozen=True):
    """A system against the best of its table, on the instances that both have scored.

    Attributes:
        difference, low, high: this system minus the best, with its paired interval; None where undefined.
        p: of the paired randomisation test; p_adjusted: over all pairs of the table, by the table's correction.
        exact: whether all patterns were tried; permutations: how many were.
        instances, clusters: that both have scored; differing: clusters in which the two differ.
        only_best, only_this: instances that one of the two has scored and the other has not.
        number, interval, p_text: difference, its interval and the adjusted p as shown.
        note: why there is no test, or what is special about it; empty otherwise.
    """

    difference: float | None
    low: float | None
    high: float | None
    p: float | None
    p_adjusted: float | None
    exact: bool
    permutations: int
    instances: int
    clusters: int
    differing: int
    only_best: int
    only_this: int
    number: str
    interval: str
    p_text: str
    note: str = ""

    @property
    def text(self) -> str:
        """Difference and interval as shown: `-0.051 [-0.090, -0.012]`."""
        return f"{self.number} {self.interval}".rstrip()


class PairTested(msgspec.Struct, frozen=True):
    """Two systems of a table compared by the primary metric, on the instances that both have scored.

    Attributes:
        first, second: numbers of their rows, the better one first.
        difference: second minus first; None where undefined.
        p: of the paired test; p_adjusted: over all pairs of the table, by the table's correction; None where there is
            no test.
        instances: that both have scored.
        least: what p can be at least before adjustment, whatever the systems; 0 where there is no such bound.
        differing: clusters in which the two differ; exact: whether all patterns of swaps in them were tried.
    """

    first: int
    second: int
    difference: float | None
    p: float | None
    p_adjusted: float | None
    instances: int
    least: float = 0.0
    differing: int = 0
    exact: bool = False

    def differs(self, alpha: float) -> bool:
        """Whether the two differ beyond chance: the one rule that words, letters and ranks follow."""
        return self.p_adjusted is not None and self.p_adjusted <= alpha

    def second_ahead(self, higher_is_better: bool | None) -> bool:
        """Whether the second is the better one where both have scored, whatever their own values."""
        difference = self.difference or 0.0
        return difference < 0 if higher_is_better is False else difference > 0


class Standing(msgspec.Struct, frozen=True):
    """Where a system stands among those of its table.

    Attributes:
        letters: systems that have one in common cannot be told apart; empty where it was tested against none.
        rank: 1 + how many have a better value; low, high: the best and worst place that the tests leave it; None
            where neither end of the metric is better, or nothing was tested.
        best: the share of joint draws in which it is the best of all; None where it is not known.
    """

    letters: str = ""
    rank: int | None = None
    low: int | None = None
    high: int | None = None
    best: float | None = None

    @property
    def rank_text(self) -> str:
        """`2`, or a dash."""
        return DASH if self.rank is None else str(self.rank)

    @property
    def places_text(self) -> str:
        """`[1, 3]`, or nothing where no place is left open or known."""
        return "" if self.low is None or self.high is None else f"[{self.low}, {self.high}]"

    @property
    def best_text(self) -> str:
        """`63%`, `<1%`, or a dash."""
        if self.best is None:
            return DASH
        if 0 < self.best < 0.005:
            return "<1%"
        if 0.995 <= self.best < 1:
            return ">99%"
        return f"{100 * self.best:.0f}%"
