"""A draft cut into the pieces that stay and those that would go, in time that grows with its length only."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage of the draft, from `start` to before `end`, that stands for sentence `number` of the reply."""

    start: int
    end: int
    number: int


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of the draft: in one of its sentences and lines, and in or outside each passage.

    Attributes:
        start, end: where it is.
        matches: numbers of the first sentences of the reply for which it stands; empty: it would go.
        of: how many there are in all.
    """

    start: int
    end: int
    matches: tuple[int, ...] = ()
    of: int = 0


def pieces_of(
    draft: str, passages: Iterable[Passage], sentences: Iterable[tuple[int, int]], *, most: int
) -> list[Piece]:
    """The whole draft in pieces, each with a letter or digit if the draft has one.

    Marks without a word go with the piece that they touch (a full stop) or the next one (the dash of a list).

    Args:
        draft: its text.
        passages: may overlap or repeat.
        sentences: where those of the draft begin and end.
        most: how many matches a piece names.
    """
    return list(_worded_pieces(draft, _cut(draft, list(passages), sentences, most)))


def first_word(text: str) -> int:
    """Where the first letter or digit is, which makes a sentence one that is counted; -1 where there is none."""
    return next((at for at, letter in enumerate(text) if letter.isalnum()), -1)


def _cut(
    draft: str, passages: Sequence[Passage], sentences: Iterable[tuple[int, int]], most: int
) -> Iterator[Piece]:
    """Pieces between all beginnings and ends, those of lines too."""
    cuts = {0, len(draft), *(at + 1 for at, letter in enumerate(draft) if letter == "\n")}
    cuts.update(cut for sentence in sentences for cut in sentence)
    cuts.update(cut for passage in passages for cut in (passage.start, passage.end))
    begins = sorted(passages, key=lambda passage: passage.start)
    ends = sorted(passage.end for passage in passages)
    begun = ended = 0
    open_ones: list[tuple[int, int]] = []
    for start, end in pairwise(sorted(cuts)):
        while begun < len(begins) and begins[begun].start <= start:
            heapq.heappush(open_ones, (begins[begun].number, begins[begun].end))
            begun += 1
        while ended < len(ends) and ends[ended] <= start:
            ended += 1
        yield Piece(start, end, _first(open_ones, start, most), begun - ended)


def _first(open_ones: list[tuple[int, int]], start: int, most: int) -> tuple[int, ...]:
    """The least numbers of passages that go on beyond `start`; those that do not are dropped."""
    found: list[tuple[int, int]] = []
    while open_ones and len(found) < most:
        one = heapq.heappop(open_ones)
        if one[1] > start:
            found.append(one)
    for one in found:
        heapq.heappush(open_ones, one)
    return tuple(number for number, _ in found)


def _worded_pieces(draft: str, pieces: Iterable[Piece]) -> Iterator[Piece]:
    last: Piece | None = None
    waiting = -1
    for piece in pieces:
        if first_word(draft[piece.start : piece.end]) >= 0:
            if last is not None:
                yield last
            last = Piece(piece.start if waiting < 0 else waiting, piece.end, piece.matches, piece.of)
            waiting = -1
        elif waiting < 0:
            rest = piece.start
            if last is not None and last.end == piece.start:
                rest = _touching(draft, piece)
                last = Piece(last.start, rest, last.matches, last.of)
            waiting = rest if draft[rest : piece.end].strip() else -1
    if last is None:
        last = Piece(0, len(draft))
    yield last if waiting < 0 else Piece(last.start, len(draft), last.matches, last.of)


def _touching(draft: str, piece: Piece) -> int:
    """Where the marks end that touch what stands before the piece."""
    if draft[piece.start - 1].isspace():
        return piece.start
    return next((at for at in range(piece.start, piece.end) if draft[at].isspace()), piece.end)
