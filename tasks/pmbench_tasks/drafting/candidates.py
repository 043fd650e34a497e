"""Passages of a draft that the embedded content judge may answer with."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from pmbench import split_sentences

Kind = Literal["sentence", "clause", "pair"]

MIN_CLAUSE_WORDS = 4
"""Words that a clause must have to be a candidate."""
MAX_PARTS = 4
"""Most adjacent parts of a sentence that are joined to one clause."""

# Each run of marks or blanks is tried once, from its start, and never given back: a draft may be one long run.
_CUT = re.compile(
    r"(?:(?<![,;:)])[,;:)]++\s++|(?<!\s)\s++[-–—(]++\s*+|[–—]\s*+)(?:(?:and|but|so|or|then)\s++)*+"
    r"|(?<!\s)\s++(?:(?:and|but|so|or|then)\s++)++"
    r"|(?<!\s)\s++(?=(?:because|since|although|though|while|which|if|unless)\s)",
    re.IGNORECASE,
)
_REQUEST = re.compile(r"\W*+(?:can|could|will|would) you\b", re.IGNORECASE)
_MARKER = re.compile(r"(?:[-*•–—]|\(?(?:\d{1,2}|[A-Za-z])[.)])\s+")


@dataclass(frozen=True, slots=True)
class Candidate:
    """One passage of a draft.

    Attributes:
        start, end: where it is.
        text: as it is compared, without a list marker.
        asks: whether its sentence is a question; None for a request put as one (see `asks`).
    """

    start: int
    end: int
    kind: Kind
    text: str
    asks: bool | None


def candidates(draft: str) -> list[Candidate]:
    """Sentences of the draft, clauses of sentences, and pairs of adjacent sentences, in the draft's order.

    Sentences of a pair stand in one paragraph, and both ask or neither does.
    """
    spans, at = [], 0
    for sentence in split_sentences(draft):
        start = draft.index(sentence, at)
        at = start + len(sentence)
        spans.append((start, at))
    found = []
    for number, (start, end) in enumerate(spans):
        sentence = _unmarked(draft[start:end])
        asked = asks(sentence)
        found.append(Candidate(start, end, "sentence", sentence, asked))
        found.extend(Candidate(a, b, "clause", draft[a:b], asked) for a, b in _clauses(draft, start, end))
        if number + 1 < len(spans):
            following, last = spans[number + 1]
            second = _unmarked(draft[following:last])
            if draft.count("\n", end, following) < 2 and asks(second) == asked:
                found.append(Candidate(start, last, "pair", f"{sentence} {second}", asked))
    return found


def asks(sentence: str) -> bool | None:
    """Whether a sentence is a question. None for `Could you …?`, which may ask or tell: both may match it."""
    return None if _REQUEST.match(sentence) else "?" in sentence


def _unmarked(sentence: str) -> str:
    marker = _MARKER.match(sentence)
    return sentence[marker.end() :] if marker and marker.end() < len(sentence) else sentence


def _clauses(draft: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Runs of adjacent parts of one sentence, each shorter than the sentence."""
    marker = _MARKER.match(draft, start, end)
    begin = marker.end() if marker else start
    # Of the sentence alone: what is before its beginning must not be looked at.
    cuts = [(begin + m.start(), begin + m.end()) for m in _CUT.finditer(draft[begin:end])]
    starts, ends = [begin, *(b for _, b in cuts)], [*(a for a, _ in cuts), end]
    seen = set()
    for first in range(len(starts)):
        for last in range(first, min(first + MAX_PARTS, len(ends))):
            if first == 0 and last == len(ends) - 1:
                continue
            a, b = starts[first], ends[last]
            if (a, b) not in seen and len(draft[a:b].split()) >= MIN_CLAUSE_WORDS:
                seen.add((a, b))
                yield a, b
