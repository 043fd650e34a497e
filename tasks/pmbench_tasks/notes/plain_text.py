"""Names and words that somebody else wrote, as a line of a terminal, and as Markdown that shows just them."""

from __future__ import annotations

import unicodedata

_STEERING = (range(0x202A, 0x202F), range(0x2066, 0x206A), range(0xE0000, 0xE0080))
"""Format characters that turn a line around, or hold words that nobody sees. Words are written with the others."""

_MARKS = frozenset("\\`*~[]|$")
_REFERENCES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def unshown(letter: str) -> bool:
    """Whether a character steers a terminal or a page instead of standing on it."""
    kind = unicodedata.category(letter)
    return kind in ("Cc", "Cs", "Zl", "Zp") or any(ord(letter) in part for part in _STEERING)


def plain_line(text: str) -> str:
    """A text as one line: white space becomes a blank, what cannot be shown U+FFFD."""
    words = " ".join(text.split())
    return "".join("\N{REPLACEMENT CHARACTER}" if unshown(letter) else letter for letter in words)


def inline(text: str) -> str:
    """A text as Markdown within a line or a cell of a table: no markup, link, tag or cell of its own."""
    line = plain_line(text)
    return "".join(_escaped(line, place) for place in range(len(line)))


def _escaped(line: str, place: int) -> str:
    letter = line[place]
    if letter in _REFERENCES:
        return _REFERENCES[letter]
    # Emphasis does not begin or end within a word.
    inside = line[place - 1 : place].isalnum() and line[place + 1 : place + 2].isalnum()
    return f"\\{letter}" if letter in _MARKS or (letter == "_" and not inside) else letter
