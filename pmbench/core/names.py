"""Names as an error, a log or a result may show them: never text of a dataset in their place."""

from __future__ import annotations

import re
from collections.abc import Iterable

LONGEST_NAME = 60
MOST_WORDS = 4

MOST_LISTED = 12
"""Names that an error lists; of more it says how many."""

_NEAR, _NEAR_START = 0.55, 0.75
"""How like a name has to be to a known one, or to its beginning, from 0 to 1 (twice the matches by both lengths)."""

_BESIDE = 0.8
"""Of how near the nearest is, how near others have to be."""

_LONGEST_MISSPELT = 200

_SENTENCE = re.compile(r"[.!?]\s|[\r\n]")
_KIND = re.compile(r"[a-z0-9-]{1,40}")


def name_shown(name: str) -> str:
    """A column's or key's name in quotes, or only its length where it looks like text.

    A file without a header has text of its first row where names should be; that is not shown.
    """
    if len(name) > LONGEST_NAME or len(name.split()) > MOST_WORDS or _SENTENCE.search(name):
        return f"(a name of {len(name)} characters)"
    return repr(name)


def names_listed(names: Iterable[str], most: int = MOST_LISTED) -> str:
    """Names or labels for an error, with commas between them: the first few, and how many more there are.

    What is blank or would not print stands in quotes with its escapes, what looks like text as its length.
    """
    every = list(names)
    told = [
        name if (shown := name_shown(name)) == f"'{name}'" and name.strip() else shown
        for name in every[:most]
    ]
    more = len(every) - most
    return ", ".join(told) + (f" and {more} more" if more > 0 else "")


def nearest_names(name: str, known: Iterable[str], most: int = 3) -> list[str]:
    """Of the known names those that somebody may have meant, the nearest first; none where no one is near.

    A name is near where it is much like the whole of a known one, or like its beginning.
    """
    import difflib

    wanted = name.lower()[:_LONGEST_MISSPELT]

    def likeness(one: str) -> float:
        whole = difflib.SequenceMatcher(None, one.lower(), wanted).ratio()
        start = difflib.SequenceMatcher(None, one.lower()[: len(wanted)], wanted).ratio()
        return max(whole if whole >= _NEAR else 0.0, start * whole if start >= _NEAR_START else 0.0)

    found = sorted((-like, one) for one in set(known) if wanted and (like := likeness(one)))
    return [one for unlike, one in found[:most] if unlike <= _BESIDE * found[0][0]]


def safe_kind(kind: object, otherwise: str) -> str:
    """The kind of a failure as results may count it: up to 40 of `a` to `z`, `0` to `9` and `-`, as it is.

    A plugin could name any text a kind; in its place `otherwise` is counted.
    """
    return kind if isinstance(kind, str) and _KIND.fullmatch(kind) else otherwise
