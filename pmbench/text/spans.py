"""Finding a quoted passage in a text, and removing passages from it.

The rules: letter case, runs of white space, curly or straight quotes and kinds of dash do not count; a
passage is found only at word boundaries; the first occurrence counts.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from functools import lru_cache

_APOSTROPHES = "'‘’‚‛′´`ʼ＇"
_QUOTES = '"“”„‟″«»＂'
_DASHES = "-‐‑‒–—―−﹘﹣－"
_SAME = {**dict.fromkeys(_APOSTROPHES, "'"), **dict.fromkeys(_QUOTES, '"'), **dict.fromkeys(_DASHES, "-")}


def find_span(text: str, span: str) -> tuple[int, int] | None:
    """Where a passage first occurs in a text, as start and end in the text itself.

    Quotes around the passage are dropped first. None where it is not there, or only inside a word, or empty.
    Case folding that changes the number of letters (`ß` is `ss`) is followed back to the original letters.
    """
    wanted = _fold(_bare(span))[0].strip()
    if not wanted:
        return None
    folded, origin = _folded(text)
    at = folded.find(wanted)
    while at >= 0:
        end = at + len(wanted)
        if _inside(folded, origin, at):
            at = folded.find(wanted, _next_start(folded, origin, at))
        elif _inside(folded, origin, end):
            at = folded.find(wanted, at + 1)
        else:
            return origin[at], origin[end - 1] + 1
    return None


def remove_spans(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """The text without the union of the spans (start, end); what is left is not joined by anything."""
    kept, at = [], 0
    for start, end in sorted(spans):
        if start > at:
            kept.append(text[at:start])
        at = max(at, end)
    kept.append(text[at:])
    return "".join(kept)


def _bare(span: str) -> str:
    """A passage without white space and matching quotes around it."""
    span = span.strip()
    while len(span) > 1 and span[0] in _APOSTROPHES + _QUOTES and _SAME[span[0]] == _SAME.get(span[-1]):
        span = span[1:-1].strip()
    return span


def _fold(text: str) -> tuple[str, list[int]]:
    """The text as it is compared, and for each of its letters the index of the letter it came from.

    Runs of white space become one space and runs of dashes one dash; the index is that of the run's first.
    """
    letters: list[str] = []
    origin: list[int] = []
    last = ""
    for index, letter in enumerate(text):
        same = " " if letter.isspace() else _SAME.get(letter) or letter.casefold()
        if same == last and same in " -":
            continue
        last = same
        letters.append(same)
        origin.extend([index] * len(same))
    return "".join(letters), origin


_folded = lru_cache(maxsize=4)(_fold)
"""The same, remembered: a draft is searched for one passage per sentence of the reply."""


def _word(letter: str) -> bool:
    # A combining mark belongs to the letter before it: "cafe" is not in "café", however its accent is written.
    return letter.isalnum() or letter == "_" or unicodedata.combining(letter) != 0


def _in_number(folded: str, at: int) -> bool:
    """Whether a position is beside the point or comma of a number: `5 mg` is not in `1.5 mg`."""
    return any(
        folded[point] in ".," and folded[point - 1].isdigit() and folded[point + 1].isdigit()
        for point in (at - 1, at)
        if 0 < point < len(folded) - 1
    )


def _inside(folded: str, origin: list[int], at: int) -> bool:
    """Whether a position is inside a word, or inside one original letter."""
    if not 0 < at < len(folded):
        return False
    in_word = _word(folded[at - 1]) and _word(folded[at])
    return in_word or origin[at - 1] == origin[at] or _in_number(folded, at)


def _next_start(folded: str, origin: list[int], at: int) -> int:
    """The next position after `at` that is not inside a word."""
    at += 1
    while _inside(folded, origin, at):
        at += 1
    return at
