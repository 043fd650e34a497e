"""From answers to one number: shares of yes, plain and weighted, from probabilities, by category.

A missing answer is missing. Every function leaves it out unless told to read it as "no" or as "yes", which
gives the two ends of what it could have been; read as "no", the numbers are those of AutoChecklist
(autochecklist 0.2.3, ChecklistScorer and GroupedScore), which counts every answer that it does not find as a
no.

Each number is a ratio of two sums over questions. Over several notes add up the two sums of `Sums`, never the
ratios.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

MissingAs = Literal["left-out", "no", "yes"]
"""How a missing answer is read."""


@dataclass(frozen=True, slots=True)
class Sums:
    """Two sums whose ratio is a share.

    Attributes:
        yes: weight of the questions answered yes.
        all: weight of the questions that count.
    """

    yes: float
    all: float

    @property
    def share(self) -> float | None:
        """`yes / all`; None where nothing counts."""
        return self.yes / self.all if self.all > 0 else None

    def __add__(self, other: Sums) -> Sums:
        """The sums of two notes together."""
        return Sums(self.yes + other.yes, self.all + other.all)


def sums(
    met: Sequence[bool | None],
    weights: Sequence[float] | None = None,
    *,
    missing: MissingAs = "left-out",
) -> Sums:
    """Weight of the questions answered yes, and weight of those that count.

    Args:
        met: the answer to each question; None where it is missing.
        weights: of each question, none negative; 1 for each by default.
        missing: how a missing answer is read.

    Raises:
        ValueError: lengths that differ, or a weight that is negative or not finite.
    """
    heavy = [1.0] * len(met) if weights is None else [float(weight) for weight in weights]
    if len(heavy) != len(met):
        raise ValueError(f"{len(met)} answers and {len(heavy)} weights")
    if not all(math.isfinite(weight) and weight >= 0 for weight in heavy):
        raise ValueError("weights must be finite and not negative")
    read = [_read(answer, missing) for answer in met]
    pairs = list(zip(heavy, read, strict=True))
    return Sums(
        math.fsum(weight for weight, answer in pairs if answer),
        math.fsum(weight for weight, answer in pairs if answer is not None),
    )


def pass_rate(met: Sequence[bool | None], *, missing: MissingAs = "left-out") -> float | None:
    """Share of the questions answered yes; None where none counts. The paper's score of a note."""
    return sums(met, missing=missing).share


def weighted_rate(
    met: Sequence[bool | None], weights: Sequence[float], *, missing: MissingAs = "left-out"
) -> float | None:
    """Σ weight of the questions answered yes / Σ weight; None where that is 0.

    Raises:
        ValueError: as in `sums`.
    """
    return sums(met, weights, missing=missing).share


def yes_share(p_yes: float, p_no: float) -> float | None:
    """P(yes) / (P(yes) + P(no)); None where a model gave (nearly) nothing to either.

    AutoChecklist takes 0.5 there, and below a sum of 1e-10; the bound is the same here.

    Raises:
        ValueError: a probability outside [0, 1].
    """
    if not (0 <= p_yes <= 1 and 0 <= p_no <= 1):
        raise ValueError("probabilities must be from 0 to 1")
    both = p_yes + p_no
    return p_yes / both if both >= 1e-10 else None


def normalised_rate(p_yes: Sequence[float | None]) -> float | None:
    """Mean of P(yes) / (P(yes) + P(no)) over the questions that have it; None where none has.

    AutoChecklist falls back to the pass rate where no question has probabilities. That is another number
    under the same name, so it is not done here.

    Args:
        p_yes: of each question, as `yes_share` gives it; None where it is missing.

    Raises:
        ValueError: a share outside [0, 1].
    """
    there = [share for share in p_yes if share is not None]
    if not all(0 <= share <= 1 for share in there):
        raise ValueError("shares must be from 0 to 1")
    return math.fsum(there) / len(there) if there else None


class Categories(NamedTuple):
    """Shares of yes by category, and over them.

    Attributes:
        sums: of each category, in the order in which they first appear.
        macro: mean of the categories' shares, each counting once; None where none has a share.
        micro: share over all questions together.
        without: categories of which no answer counts; they are not in `macro`.
    """

    sums: dict[Hashable, Sums]
    macro: float | None
    micro: float | None
    without: tuple[Hashable, ...]


def by_category(
    met: Sequence[bool | None],
    categories: Sequence[Hashable],
    weights: Sequence[float] | None = None,
    *,
    missing: MissingAs = "left-out",
) -> Categories:
    """Sums by category with their macro and micro average.

    Questions without a category (`""`) are a category of their own, as in AutoChecklist.

    Args:
        met, weights, missing: as in `sums`.
        categories: of each question.

    Raises:
        ValueError: lengths that differ, or as in `sums`.
    """
    if len(categories) != len(met):
        raise ValueError(f"{len(met)} answers and {len(categories)} categories")
    heavy = [1.0] * len(met) if weights is None else list(weights)
    places: dict[Hashable, list[int]] = {}
    for place, name in enumerate(categories):
        places.setdefault(name, []).append(place)
    whole = sums(met, heavy, missing=missing)
    found = {
        name: sums([met[place] for place in its], [heavy[place] for place in its], missing=missing)
        for name, its in places.items()
    }
    shares = {name: one.share for name, one in found.items()}
    there = [share for share in shares.values() if share is not None]
    return Categories(
        found,
        math.fsum(there) / len(there) if there else None,
        whole.share,
        tuple(name for name, share in shares.items() if share is None),
    )


def _read(answer: bool | None, missing: MissingAs) -> bool | None:
    if answer is not None or missing == "left-out":
        return answer
    return missing == "yes"
