"""Markdown of a task's view as HTML that is text, lists and tables and nothing else.

No HTML, link or picture in it is more than text. Headings go below the instance's own, and nothing has a style of its
own, which the page's policy would refuse.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from markupsafe import Markup, escape

from pmbench.pages.visible import visible

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_HIGHEST, _LOWEST = 4, 6
"""Levels of headings that a view may have: an instance is a heading of level 3."""


def html_of(text: str) -> Markup:
    """Markdown as HTML; a table's caption is the heading before it."""
    parser = _parser()
    tokens = parser.parse(visible(text))
    _relevel(tokens)
    _tables(tokens)
    return Markup(parser.renderer.render(tokens, parser.options, {}))  # noqa: S704 - the parser lets no HTML through


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    return parser.disable(["link", "image", "autolink", "html_block", "html_inline", "reference"])


def _relevel(tokens: Sequence[Token]) -> None:
    """Headings in order: none above the highest, none more than one below the one before it."""
    levels = [int(token.tag[1:]) for token in tokens if token.type == "heading_open"]
    before = _HIGHEST - 1
    for token in tokens:
        if token.type == "heading_open":
            before = min(before + 1, _HIGHEST + int(token.tag[1:]) - min(levels), _LOWEST)
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{before}"


def _tables(tokens: list[Token]) -> None:
    """Give tables a caption, columns a scope, and cells a class where they had a style."""
    from markdown_it.token import Token

    title, heading, at = "", False, 0
    while at < len(tokens):
        token = tokens[at]
        if token.type == "heading_open":
            heading = True
        elif heading and token.type == "inline":
            title, heading = _plain(token), False
        elif token.type == "table_open":
            caption = Token(
                "html_block", "", 0, content=f'<caption class="v">{escape(title or "Table")}</caption>\n'
            )
            tokens.insert(at + 1, caption)
            at += 1
        elif token.type in ("th_open", "td_open"):
            style = str(token.attrs.pop("style", ""))
            if style.endswith(("right", "center")):
                token.attrs["class"] = "r" if style.endswith("right") else "c"
            if token.type == "th_open":
                # A heading without words says nothing to a reader who hears it.
                if _plain(tokens[at + 1]):
                    token.attrs["scope"] = "col"
                else:
                    token.tag = tokens[at + 2].tag = "td"
        at += 1


def _plain(token: Token) -> str:
    return "".join(child.content for child in token.children or ())
