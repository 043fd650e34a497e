"""Citations as the key has them: text with commas or a list, with or without ranges; and as the scorer takes them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from pmbench_tasks.archehr.cases import id_text

_RANGE = re.compile(r"(\d{1,6})\s*[-–]\s*(\d{1,6})", re.ASCII)
_LONGEST = 1000
"""Sentences that a range may have: no note is longer, and a slip of the pen makes no million ids."""


def parse_citations(value: object, known: Collection[str] = ()) -> tuple[str, ...]:
    """The sentence ids that a key's `citations` names, each once, in the order written.

    Releases differ: `"2,5"` and `["2", "5"]` are the same, `""` and None are none, `"19-25"` is seven sentences.

    Args:
        value: as it stands in the key: text, a list of texts or whole numbers, a whole number, or None.
        known: ids of the note. An id that looks like a range is no range; of a range whose ends are known, only
            known ids are taken. Empty: every number of a range is taken.

    Raises:
        ValueError: it is something else.
    """
    found: dict[str, None] = {}
    for item in _items(value):
        for ident in _expanded(item, known) or [item]:
            found[ident] = None
    return tuple(found)


def has_range(value: object, known: Collection[str] = ()) -> bool:
    """Whether `parse_citations` expands a range in this value.

    Raises:
        ValueError: as `parse_citations`.
    """
    return any(_expanded(item, known) for item in _items(value))


def official_2026_characters(value: object) -> tuple[str, ...]:
    """What the official scorer of 2026 takes for the citations of an answer's sentence.

    Its `load_key` (subtask 4) goes over the value item by item. That is right for a list; of text, as releases
    have it, it makes characters: `"1,12"` is taken for `1`, `,`, `1` and `2`, and a link to `12` cannot be found.

    Args:
        value: as it stands in the key. What is neither text nor a list stops the official scorer; here it is
            nothing.

    Returns:
        Each item once, in order; the official scorer puts them in a set.
    """
    items = value if isinstance(value, (str, list)) else ()
    return tuple(dict.fromkeys(item for item in items if isinstance(item, str)))


def _items(value: object) -> Iterator[str]:
    for part in value if isinstance(value, list) else [value]:
        if part is None or (isinstance(part, str) and not part.strip()):
            continue
        text = id_text(part)
        if text is None:
            raise ValueError("citations are neither text nor a list of texts")
        yield from (item.strip() for item in text.split(",") if item.strip())


def _expanded(item: str, known: Collection[str]) -> list[str]:
    """The ids of a range; empty for what is none."""
    found = _RANGE.fullmatch(item)
    if not found or item in known:
        return []
    low, high = int(found[1]), int(found[2])
    if not low <= high < low + _LONGEST or (known and not (found[1] in known and found[2] in known)):
        return []
    numbers = [str(number) for number in range(low, high + 1)]
    return [ident for ident in numbers if ident in known] if known else numbers
