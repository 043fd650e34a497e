"""The labelled pairs of the content judge, and how a judge's answers to them are measured."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files

from pmbench import find_span

PAIRS, TEST = "content_pairs.jsonl", "content_test.jsonl"
"""Pairs to choose by, with a fold held back from that; pairs that somebody else wrote for the end."""

Span = tuple[int, int]


@dataclass(frozen=True)
class Pair:
    """A sentence of a reply, a draft, and the passage that says the same (None: none does)."""

    id: str
    draft_id: str
    sentence: str
    draft: str
    span: Span | None
    kind: str
    fold: str


Decide = Callable[[Pair], Span | None]
"""A judge: where the passage that it answers with is, None for no match."""


@dataclass(frozen=True)
class Verdict:
    """One answer beside its label.

    Attributes:
        agrees: the same decision whether there is a match.
        exact: answered with the labelled passage (marks and white space at its ends aside).
        overlaps: answered with a passage that shares text with the labelled one.
    """

    pair: Pair
    agrees: bool
    exact: bool
    overlaps: bool


@dataclass(frozen=True)
class Agreement:
    """How a judge fares, as shares, NaN where there is nothing to share.

    Attributes:
        pairs: how many there are.
        agreement: same decision whether there is a match.
        non_match: of the pairs without a match, called so.
        exact: of the pairs with a match, answered with the labelled passage.
        overlap: of the pairs with a match, answered with a passage that overlaps it.
    """

    pairs: int
    agreement: float
    non_match: float
    exact: float
    overlap: float

    @property
    def mean(self) -> float:
        """Mean of non-match agreement and overlap: what every number is chosen by."""
        return (self.non_match + self.overlap) / 2


def read_pairs(name: str = PAIRS, folds: Collection[str] = ("tune",)) -> list[Pair]:
    """The pairs of some folds of a file; of any fold, where `folds` is empty.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: a span is not in its draft.
    """
    return [pair for pair in _pairs(name) if not folds or pair.fold in folds]


def verdicts(pairs: Iterable[Pair], decide: Decide) -> list[Verdict]:
    """A judge's answers beside the labels, in order."""
    return [verdict(pair, decide(pair)) for pair in pairs]


def verdict(pair: Pair, answer: Span | None) -> Verdict:
    """One answer beside its label."""
    span = pair.span
    exact = overlaps = False
    if answer is not None and span is not None:
        exact = bare(pair.draft, answer) == bare(pair.draft, span)
        overlaps = answer[0] < span[1] and span[0] < answer[1]
    return Verdict(pair, (answer is None) == (span is None), exact, overlaps)


def agreement(given: Sequence[Verdict]) -> Agreement:
    """The shares of some answers."""
    matches = [v for v in given if v.pair.span is not None]
    return Agreement(
        len(given),
        _share(v.agrees for v in given),
        _share(v.agrees for v in given if v.pair.span is None),
        _share(v.exact for v in matches),
        _share(v.overlaps for v in matches),
    )


def bare(draft: str, span: Span) -> str:
    """A passage without case, and without marks and white space at its ends."""
    return " ".join(draft[span[0] : span[1]].strip(" \t\r\n.,;:!?*").split()).casefold()


def _pairs(name: str) -> Iterator[Pair]:
    text = files("pmbench_tasks.drafting").joinpath("judge_data", name).read_text(encoding="utf-8")
    for line in text.splitlines():
        row = json.loads(line)
        span = None if row["span"] is None else find_span(row["draft"], row["span"])
        if row["span"] is not None and span is None:
            raise ValueError(f"the span of {row['id']} is not in its draft")
        yield Pair(
            row["id"],
            row["draft_id"],
            row["sentence"],
            row["draft"],
            span,
            row["kind"],
            row.get("fold", "test"),
        )


def _share(which: Iterable[bool]) -> float:
    kept = list(which)
    return sum(kept) / len(kept) if kept else float("nan")
