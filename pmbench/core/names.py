"""Names as an error, a log or a result may show them: never text of a dataset in their place."""

from __future__ import annotations

import re

LONGEST_NAME = 60
MOST_WORDS = 4

_SENTENCE = re.compile(r"[.!?]\s|[\r\n]")
_KIND = re.compile(r"[a-z0-9-]{1,40}")


def name_shown(name: str) -> str:
    """A column's or key's name in quotes, or only its length where it looks like text.

    A file without a header has text of its first row where names should be; that is not shown.
    """
    if len(name) > LONGEST_NAME or len(name.split()) > MOST_WORDS or _SENTENCE.search(name):
        return f"(a name of {len(name)} characters)"
    return repr(name)


def safe_kind(kind: object, otherwise: str) -> str:
    """The kind of a failure as results may count it: up to 40 of `a` to `z`, `0` to `9` and `-`, as it is.

    A plugin could name any text a kind; in its place `otherwise` is counted.
    """
    return kind if isinstance(kind, str) and _KIND.fullmatch(kind) else otherwise
