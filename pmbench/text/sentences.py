"""Splitting a reply or a draft into sentences.

A maintained library decides where a line of text is cut; a few rules around it say what it is not made for:
line ends and list markers, a missing space after a full stop, and dosing abbreviations. The library was
chosen by `benchmarks/sentence_splitters.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from importlib.metadata import version

Spans = list[tuple[int, int]]
Engine = Callable[[str], Spans]

_NAME = "sentencex"
_RULES = 2
"""Raised when a rule of this module changes where a text is cut."""
SPLITTER = f"{_NAME} {version(_NAME)}, rules {_RULES}"
"""Name and version of the library, and of the rules around it, for the digest of a score."""

_LINE = re.compile(r"[^\r\n\v\f\x1c-\x1e\x85\u2028\u2029]+")
_MARKER = re.compile(r"(?:[-*•‣◦▪·–—]|\(?(?:\d{1,2}|[A-Za-z])[.)])(?=\s|$)")
_WRAPPED = 60
"""Letters that a line must have before its end can be a line wrapped inside a sentence."""
_WINDOW, _MARGIN = 4_000, 200
"""Letters that the library sees at once, and how near their end a cut is not yet believed."""
_UNSPACED = re.compile(r"(?:[a-z]{2}|\d)[.!?](?=[A-Z](?:[a-z]|\s))")
_CLOSED = re.compile(r"[.!?][)\]]\s+(?=[A-Z])")
_SURROGATE = re.compile("[\ud800-\udfff]")
_SHORT = re.compile(
    r"(?:\b(?:[a-z]\.){2,}|\b(?:mg|mcg|g|kg|ml|l|tabs?|caps?|hrs?|mins?|sec|wks?|mos?|yrs?|approx|appt|vs|etc|no|max|temp)\.)$",
    re.IGNORECASE,
)


def split_sentences(text: str) -> list[str]:
    """The sentences of a text, in order, each a substring of it.

    A line end is a boundary, except where a long line was wrapped inside a sentence. What has no letter and
    no digit (punctuation, emoji) is no sentence, nor is a list marker alone on its line. Never raises.
    """
    return [text[start:end] for start, end in sentence_spans(text)]


def sentence_spans(text: str) -> Spans:
    """Where each sentence of `split_sentences` starts and ends."""
    return split_with(_engine(), text)


def split_with(engine: Engine, text: str) -> Spans:
    """The same with another library: `engine` gives the spans of the sentences of one passage."""
    spans: Spans = []
    for start, end in _passages(text):
        body = start
        if marker := _MARKER.match(text, start, end):
            body = marker.end()
        if not _has_content(text[body:end]):
            continue
        starts = [start, *_cuts(engine, text, body, end)]
        for first, last in zip(starts, [*starts[1:], end], strict=True):
            piece = text[first:last]
            if _has_content(piece):
                spans.append((first + len(piece) - len(piece.lstrip()), first + len(piece.rstrip())))
    return spans


def _has_content(text: str) -> bool:
    return any(letter.isalnum() for letter in text)


def _passages(text: str) -> Iterator[tuple[int, int]]:
    """Lines, those that were wrapped inside a sentence joined; without white space around them."""
    open_from = open_to = -1
    for line in _LINE.finditer(text):
        words = line.group()
        start, end = line.start() + len(words) - len(words.lstrip()), line.start() + len(words.rstrip())
        if start >= end:
            continue
        if open_to >= 0 and _wrapped(text, open_to, start, line.start()):
            open_to = end
            continue
        if open_to >= 0:
            yield open_from, open_to
        open_from, open_to = start, end
    if open_to >= 0:
        yield open_from, open_to


def _wrapped(text: str, before: int, start: int, line: int) -> bool:
    """Whether the line that starts at `start` continues the sentence that the line before left open."""
    gap = text[before:line]
    if gap.count("\n") > 1 or gap.count("\r") > 1 or not text[start].islower() or _MARKER.match(text, start):
        return False
    line_before = text[max(0, before - _WRAPPED) : before]
    return (
        len(line_before) == _WRAPPED and not {"\n", "\r"} & {*line_before} and line_before[-1] not in ".!?:;…"
    )


def _cuts(engine: Engine, text: str, start: int, end: int) -> list[int]:
    """Where a new sentence starts inside a passage, the passage's own start left out."""
    passage = text[start:end]
    cuts = _engine_cuts(engine, passage)
    cuts |= {m.end() for m in _CLOSED.finditer(passage)}
    cuts |= {m.end() for m in _UNSPACED.finditer(passage)}
    cuts = {at for at in cuts if not _address(passage, at)}
    first = next((i for i, letter in enumerate(passage) if letter.isalnum()), len(passage))
    return [start + at for at in sorted(cuts) if at > first and not _abbreviated(passage, at)]


def _engine_cuts(engine: Engine, passage: str) -> set[int]:
    """Where the library cuts a passage.

    Time that it takes can grow with the square of a passage's length (quotes never closed, Chinese full stops),
    so a very long one is given to it in windows. The next window starts at a cut of the one before if that has
    one in its second half, else at a white space.
    """
    cuts: set[int] = set()
    start = 0
    while start + _WINDOW < len(passage):
        found = [at for at, _ in engine(passage[start : start + _WINDOW]) if at < _WINDOW - _MARGIN]
        cuts.update(start + at for at in found if at)
        last = max(found, default=0)
        if last < _WINDOW // 2:
            last = _last_space(passage, start + _WINDOW // 2, start + _WINDOW - _MARGIN) - start
        start += last
    return cuts | {start + at for at, _ in engine(passage[start:]) if at}


def _last_space(text: str, low: int, high: int) -> int:
    return next((at for at in range(high - 1, low, -1) if text[at].isspace()), high)


def _abbreviated(passage: str, at: int) -> bool:
    """Whether a cut follows a dosing abbreviation and the sentence goes on (lower case, a number)."""
    before, rest = passage[max(0, at - 16) : at].rstrip(), passage[at : at + 8].lstrip()
    if rest[:1].isdigit():
        return before.lower().endswith(("approx.", "max."))
    return rest[:1].islower() and _SHORT.search(before) is not None


def _address(passage: str, at: int) -> bool:
    """Whether position `at` lies inside a web or mail address."""
    if passage[at - 1 : at].isspace() or passage[at : at + 1].isspace():
        return False
    left = passage[max(0, at - 200) : at].split()
    right = passage[at : at + 200].split()
    word = (left[-1] if left else "") + (right[0] if right else "")
    return "@" in word or "/" in word or word.lower().startswith("www.")


@lru_cache(maxsize=1)
def _engine() -> Engine:
    import sentencex

    def split(passage: str) -> Spans:
        # The library takes UTF-8 only; a lone surrogate is replaced by a mark of the same length.
        found = sentencex.get_sentence_boundaries("en", _SURROGATE.sub("\ufffd", passage))
        return [(boundary["start_index"], boundary["end_index"]) for boundary in found]

    return split
