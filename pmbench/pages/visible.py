"""Text as a page may show it: whatever would be invisible and steer the writing is written out."""

from __future__ import annotations

import re

_STEERING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\ufffe\uffff"
    "\ud800-\udfff]"
)
"""Control characters but tab and line feed, marks that turn the direction of writing, lone surrogates, and what HTML
calls noncharacters. Joiners stay: emoji and several scripts are written with them."""


def visible(text: str) -> str:
    r"""The text with such characters as escapes (`\u202e`), so that a reader sees that they are there."""
    return _STEERING.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode()
