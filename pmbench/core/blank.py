"""Whether a text says anything at all."""

from __future__ import annotations

import unicodedata

_UNSEEN = frozenset({"Cc", "Cf", "Cn", "Zs", "Zl", "Zp"})
"""Categories of what nobody sees: controls, zero-width and direction marks, unassigned, spaces and separators."""


def says_nothing(text: str) -> bool:
    """Whether a text has no character that a reader would see: nothing, white space, zero-width marks."""
    return not text.strip() or all(unicodedata.category(character) in _UNSEEN for character in text)
