"""Does the preferred note of two have the higher score? (Section 5.4, Fig. 4; data: appendix B.2.)"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from pmbench import DataError, Row, read_table
from pmbench_tasks.notes.evaluation.answers import Answers, read_as, shares
from pmbench_tasks.notes.evaluation.intervals import (
    NAN,
    RESAMPLES,
    Estimate,
    Floats,
    means,
    nothing,
    with_missing,
)
from pmbench_tasks.notes.evaluation.paired import OneSample, one_sample

AGREEING = 2
"""Raters who must prefer the same note, as in the paper."""

NO_VOTE = ("", "tie", "=", "none")


class Pair(msgspec.Struct, frozen=True):
    """Two notes of one visit, and which of them each rater prefers.

    Attributes:
        id: of the pair.
        visit: what the pair belongs to; pairs of one visit are not independent.
        a, b: ids of the notes, as in the answers about them.
        votes: of each rater: `a`, `b`, or `""` for neither.
    """

    id: str
    visit: str
    a: str
    b: str
    votes: tuple[str, ...]

    @property
    def preferred(self) -> str:
        """`a` or `b` where at least two raters prefer it and fewer the other; else `""`."""
        count = Counter(self.votes)
        for one, other in (("a", "b"), ("b", "a")):
            if count[one] >= AGREEING and count[one] > count[other]:
                return one
        return ""


class Preference(msgspec.Struct, frozen=True, kw_only=True):
    """How scores go with preferences.

    Attributes:
        difference: score of the preferred note less that of the other in points of 0 to 100: mean with interval by
            visit, paired t by pair (the paper's test), d, and sign flips by visit.
        agreement: share of pairs in which the preferred note scores higher, equal scores counting one half.
        higher, equal, lower: pairs by which of the two scores higher.
        preferred, other: mean scores of the two, over the same pairs and questions (Fig. 4).
        pairs: scored, i.e. with a preferred note and a question answered for both notes.
        undecided: pairs on which not two raters agree; unscored: decided pairs without an answer or a note.
        raters: share of equal votes among two raters of one pair, averaged over pairs: no checklist can be expected
            to go beyond what raters agree on.
    """

    difference: OneSample
    agreement: Estimate
    higher: int
    equal: int
    lower: int
    preferred: Estimate
    other: Estimate
    pairs: int
    undecided: int
    unscored: int
    raters: Estimate


class Gaps(NamedTuple):
    """Preferred notes and the others, for each pair with a preferred note.

    Attributes:
        visits: of each pair, length n.
        good, bad: answers about the preferred note and about the other, (n, k).
        points: score of the first less that of the second over the questions answered for both, (n,); NaN: none.
        sign: 1, 0 or -1: which of the two scores higher.
    """

    visits: list[str]
    good: Floats
    bad: Floats
    points: Floats
    sign: Floats


def preferred_gaps(pairs: Sequence[Pair], answers: Answers) -> Gaps:
    """How far preferred notes score above the others; pairs without a preferred note are left out."""
    decided = [pair for pair in pairs if pair.preferred]
    good = answers.rows([pair.a if pair.preferred == "a" else pair.b for pair in decided])
    bad = answers.rows([pair.b if pair.preferred == "a" else pair.a for pair in decided])
    both = ~np.isnan(good) & ~np.isnan(bad)
    first, second = (100 * shares(np.where(both, side, NAN)) for side in (good, bad))
    gap = first - second
    # Equal shares of yes can differ by rounding; a difference of less than a hundred-thousandth is none.
    sign = np.where(np.abs(gap) < 1e-5, 0.0, np.sign(gap))
    return Gaps([pair.visit or pair.id for pair in decided], good, bad, gap, sign)


def preference(
    pairs: Sequence[Pair], answers: Answers, *, resamples: int = RESAMPLES, seed: int = 0
) -> Preference:
    """Scores of preferred notes against those of the others.

    Both notes of a pair are scored by the questions answered for both, so that a missing answer favours neither.

    Args:
        pairs: with votes; those without a preferred note are counted and left out.
        answers: about the notes, under the ids that the pairs use.
        resamples, seed: of the bootstrap and of the sign flips, by visit.
    """
    decided = [pair for pair in pairs if pair.preferred]
    found = preferred_gaps(pairs, answers)
    good, bad, visits, gap, sign = found.good, found.bad, found.visits, found.points, found.sign
    both = ~np.isnan(good) & ~np.isnan(bad)
    scores = [100 * shares(np.where(both, side, NAN)) for side in (good, bad)]
    scored = ~np.isnan(gap)
    missing = int(np.isnan(good).sum() + np.isnan(bad).sum())
    least, most = (
        100 * shares(read_as(good, end) - read_as(bad, 1 - end)) if len(decided) else gap
        for end in (0.0, 1.0)
    )
    test = one_sample(gap, visits, unit="visit", resamples=resamples, seed=seed)
    sides = [
        with_missing(
            _mean(score, visits, (0.0, 100.0), resamples, seed),
            int(np.isnan(side).sum()),
            *(_average(100 * shares(read_as(side, end))) for end in (0.0, 1.0)),
        )
        for side, score in zip((good, bad), scores, strict=True)
    ]
    return Preference(
        difference=msgspec.structs.replace(
            test, mean=with_missing(test.mean, missing, _average(least), _average(most))
        ),
        agreement=with_missing(
            _mean((sign + 1) / 2, visits, (0.0, 1.0), resamples, seed),
            missing,
            _average((np.sign(least) + 1) / 2),
            _average((np.sign(most) + 1) / 2),
        ),
        higher=int((sign[scored] > 0).sum()),
        equal=int((sign[scored] == 0).sum()),
        lower=int((sign[scored] < 0).sum()),
        preferred=sides[0],
        other=sides[1],
        pairs=int(scored.sum()),
        undecided=len(pairs) - len(decided),
        unscored=int((~scored).sum()),
        raters=_raters(pairs, resamples, seed),
    )


def read_preferences(path: Path) -> list[Pair]:
    """Pairs from a table with the columns `a`, `b` and one for each rater (`rater1`, `rater2`, …), and optionally
    `id` and `visit`. With `visit`, the notes' ids are `visit/a` and `visit/b`.

    A rater's cell holds `a`, `b`, or nothing (`tie`, `=`, `none`) where they preferred neither.

    Raises:
        DataError: it cannot be read, lacks a column, or holds something else; it names file, row and column.
    """
    rows = read_table(path)
    raters = [name for name in rows[0].values if name.casefold().startswith("rater")]
    lacking = [name for name in ("a", "b") if name not in rows[0].values]
    if lacking or not raters:
        raise DataError(
            f"has no column {lacking[0] if lacking else 'rater1'!r}",
            where=str(path),
            remedy="Give the columns id, visit, a, b, rater1, rater2, …",
        )
    found: dict[str, Pair] = {}
    for number, row in enumerate(rows, 1):
        visit = row.text("visit").strip() if "visit" in row.values else ""
        ident = row.text("id").strip() if "id" in row.values else str(number)
        first, second = (f"{visit}/{name}" if visit else name for name in _notes(row))
        if ident in found:
            raise DataError("an id that another pair has", where=row.where("id"))
        found[ident] = Pair(ident, visit, first, second, tuple(_vote(row, rater) for rater in raters))
    return list(found.values())


def _notes(row: Row) -> tuple[str, str]:
    first, second = row.text("a").strip(), row.text("b").strip()
    for column, name in (("a", first), ("b", second)):
        if not name:
            raise DataError("no note is named", where=row.where(column))
    if first == second:
        raise DataError("the two notes are the same", where=row.where("b"))
    return first, second


def _vote(row: Row, rater: str) -> str:
    vote = row.text(rater).strip().casefold()
    if vote in ("a", "b"):
        return vote
    if vote in NO_VOTE:
        return ""
    raise DataError(
        "a preference that is neither a nor b", where=row.where(rater), remedy="Leave it empty for neither"
    )


def _mean(
    values: Floats, clusters: Sequence[str], limits: tuple[float, float], resamples: int, seed: int
) -> Estimate:
    if np.isnan(values).all():
        return nothing("visit", "no pairs")
    return means(values[:, None], clusters, unit="visit", limits=limits, resamples=resamples, seed=seed)[0]


def _average(values: Floats) -> float:
    there = values[~np.isnan(values)]
    return float(there.mean()) if len(there) else NAN


def _raters(pairs: Sequence[Pair], resamples: int, seed: int) -> Estimate:
    equal = []
    for pair in pairs:
        votes = [vote for vote in pair.votes if vote]
        alike = [one == other for one, other in combinations(votes, 2)]
        equal.append(sum(alike) / len(alike) if alike else NAN)
    return _mean(np.array(equal), [pair.visit or pair.id for pair in pairs], (0.0, 1.0), resamples, seed)
