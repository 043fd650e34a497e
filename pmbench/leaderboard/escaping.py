"""Text as Markdown that renders as that very text, in a table's cell or a line, on GitHub and elsewhere.

A model's name may be anything. Renderers differ in what a backslash does before a pipe, so the few characters
that decide structure become character references, which no renderer takes for structure. Other
punctuation gets a backslash where emphasis, a link, an autolink, an emoji's short name or a formula could
begin with it, and is left alone elsewhere, so that the source stays readable.
"""

from __future__ import annotations

import unicodedata

_REFERENCES = {"<": "&lt;", ">": "&gt;", "&": "&amp;", **{one: f"&#{ord(one)};" for one in "|\\`\t\n\r"}}
_BACKSLASHED = frozenset("*~[]#@$")
_LINE_STARTS = frozenset("-+=")
_INVISIBLE = frozenset({"Cf", "Zl", "Zp", "Zs"})
_UNSHOWN = "\N{REPLACEMENT CHARACTER}"


def escape(text: str) -> str:
    """Text as inline Markdown.

    Characters that no page can show (control characters, lone surrogates) become U+FFFD. Invisible ones that
    steer the direction of writing stay, as references: they cannot turn the source around, and what they do
    on the page ends with the cell or line.
    """
    return "".join(_character(text, index) for index in range(len(text)))


def code(text: str) -> str:
    """A name as a code span, in which nothing is markup, a mention, a link or an emoji; else `escape`d.

    A span cannot hold a backtick, a pipe of a table's cell, line breaks or outer blanks on every renderer.
    """
    plain = bool(text) and text == text.strip() and not any(_outside_code(character) for character in text)
    return f"`{text}`" if plain else escape(text)


def row(cells: list[str]) -> str:
    """A line of a table from cells that are Markdown already."""
    return f"| {' | '.join(cells)} |"


def _character(text: str, index: int) -> str:
    character = text[index]
    if character in _REFERENCES:
        return _REFERENCES[character]
    if character == " ":
        return "&#32;" if index in (0, len(text) - 1) else character
    if character in _BACKSLASHED or _active(text, index):
        return f"\\{character}"
    category = unicodedata.category(character)
    if category in ("Cc", "Cs"):
        return _UNSHOWN
    return f"&#{ord(character)};" if category in _INVISIBLE else character


def _active(text: str, index: int) -> bool:
    """Whether punctuation that is mostly harmless could mean something where it stands."""
    character = text[index]
    before, after = text[index - 1 : index], text[index + 1 : index + 2]
    if character == "_":
        return not (before.isalnum() and after.isalnum())
    if character == ":":
        return bool(after) and not after.isspace()
    if character in ".)":  # a domain, or the number of a list
        between_digits = before.isdigit() and after.isdigit()
        inside = bool(after) and not after.isspace()
        domain = character == "." and before.isalnum() and inside and not between_digits
        return domain or (text[:index].isdigit() and not inside)
    return character in _LINE_STARTS and index == 0 and not after.isalnum()


def _outside_code(character: str) -> bool:
    if character == " ":
        return False
    return character in "`|" or unicodedata.category(character) in {"Cc", "Cs", *_INVISIBLE}
