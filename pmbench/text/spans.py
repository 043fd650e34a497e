"""Finding a quoted passage in a text, and removing passages from it.

The rules: letter case, runs of white space, curly or straight quotes and kinds of dash do not count; a
passage is found only at word boundaries; the first occurrence counts.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache

_APOSTROPHES = "'‘’‚‛′´`ʼ＇"
_QUOTES = '"“”„‟″«»＂'
_DASHES = "-‐‑‒–—―−﹘﹣－"
_QUOTING = frozenset(_APOSTROPHES + _QUOTES)
_SAME = {**dict.fromkeys(_APOSTROPHES, "'"), **dict.fromkeys(_QUOTES, '"'), **dict.fromkeys(_DASHES, "-")}

_SURROGATE = re.compile("[\ud800-\udfff]")
_PATIENCE = 64
"""Places inside words that are passed over before the text is taken for one that repeats itself."""


def find_span(text: str, span: str) -> tuple[int, int] | None:
    """Where a passage first occurs in a text, as start and end in the text itself.

    Quotes around the passage are dropped first. None where it is not there, or only inside a word, or empty.
    Case folding that changes the number of letters (`ß` is `ss`) is followed back to the original letters.
    """
    wanted = _fold(_bare(span))[0].strip()
    if not wanted:
        return None
    folded, origin = _folded(text)
    for at in _places(folded, wanted):
        end = at + len(wanted)
        if not _inside(folded, origin, at) and not _inside(folded, origin, end):
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
    start, end = 0, len(span)
    while start < end:
        if span[start].isspace():
            start += 1
        elif span[end - 1].isspace():
            end -= 1
        elif end - start > 1 and span[start] in _QUOTING and _SAME[span[start]] == _SAME.get(span[end - 1]):
            start, end = start + 1, end - 1
        else:
            break
    return span[start:end]


def _fold(text: str) -> tuple[str, list[int]]:
    """The text as it is compared, and for each of its letters the index of the letter it came from.

    Runs of white space become one space and runs of dashes one dash; the index is that of the run's first.
    Half a surrogate pair is the replacement character: whoever quotes the text cannot write it otherwise.
    """
    text = _SURROGATE.sub("\ufffd", text)
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


def _places(text: str, wanted: str) -> Iterator[int]:
    """Where `wanted` stands in the text, overlaps included, first to last.

    The first few by `str.find`, which is fast. A text that repeats itself has a place at every turn, and `find`
    would compare the whole passage at each; from then on every letter is looked at once.
    """
    at = text.find(wanted)
    for _ in range(_PATIENCE):
        if at < 0:
            return
        yield at
        at = text.find(wanted, at + 1)
    if at >= 0:
        yield from _by_prefixes(text, wanted, at)


def _by_prefixes(text: str, wanted: str, start: int) -> Iterator[int]:
    """The places from `start` on, in linear time (Knuth, Morris and Pratt 1977)."""
    shorter = [0]  # for each beginning of `wanted`: the longest shorter beginning that it ends with
    fits = 0
    for letter in wanted[1:]:
        while fits and letter != wanted[fits]:
            fits = shorter[fits - 1]
        fits += letter == wanted[fits]
        shorter.append(fits)
    fits = 0
    for at in range(start, len(text)):
        while fits and (fits == len(wanted) or text[at] != wanted[fits]):
            fits = shorter[fits - 1]
        fits += text[at] == wanted[fits]
        if fits == len(wanted):
            yield at - fits + 1
