"""What a task's view made, as a page shows it: lines with their signs and remarks, or rendered Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from pmbench.core.view import SIGNS, ViewBlock, ViewLine

_LONGEST_CHIP = 40
"""Characters of a remark's part that is shown as a chip."""

_PART = re.compile(r"; (?![^“]*”)")
"""Between the parts of a remark; not inside what it quotes."""

CLASSES = {"": "", "kept": "k", "deleted": "d", "added": "a"}
"""Class of a line in the style sheet, by its mark."""


class NotShown(Exception):
    """What a view made is something else; the message names types only."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a block.

    Attributes:
        text: what it says; sign: what becomes of it, empty where nothing is said; kind: its class.
        chips: short parts that its remark begins with, such as themes or a verdict; remark: the rest of it.
    """

    text: str
    sign: str
    kind: str
    chips: tuple[str, ...]
    remark: str


@dataclass(frozen=True, slots=True)
class Block:
    """Lines under a title; `signed` where any of them has a sign that the title does not explain."""

    title: str
    lines: tuple[Line, ...]
    signed: bool


def shown(made: object) -> Markup | list[Block]:
    """What a view made, checked, as blocks; text is Markdown, and comes as HTML.

    Raises:
        NotShown: it is neither.
    """
    if isinstance(made, str):
        from pmbench.report.markdown import html_of

        return html_of(made)
    if not isinstance(made, Sequence) or isinstance(made, bytes):
        raise NotShown(f"it made {type(made).__name__}, neither text nor blocks")
    return [_block(block) for block in made]


def plain(title: str, text: str) -> Block:
    """A text under a title, nothing said of it."""
    return Block(title, (Line(text, "", "", (), ""),), signed=False)


def _block(block: object) -> Block:
    if not isinstance(block, ViewBlock) or not isinstance(block.title, str):
        raise NotShown(f"it made {type(block).__name__} where a block belongs")
    lines = tuple(map(_line, block.lines))
    return Block(block.title, lines, signed=not block.signs_told and any(line.kind for line in lines))


def _line(line: object) -> Line:
    if not isinstance(line, ViewLine):
        raise NotShown(f"it made {type(line).__name__} where a line belongs")
    if not (isinstance(line.text, str) and isinstance(line.beside, str) and line.mark in SIGNS):
        raise NotShown("it made a line whose text, remark or mark is none")
    chips = tuple(_chips(line.beside))
    rest = line.beside[sum(len(chip) + 2 for chip in chips) :]
    return Line(line.text, SIGNS[line.mark].strip(), CLASSES[line.mark], chips, rest)


def _chips(beside: str) -> Iterator[str]:
    """Parts that a remark begins with, as long as each is short, quotes nothing and is no sentence of its own."""
    for part in _PART.split(beside):
        if not part or len(part) > _LONGEST_CHIP or any(mark in part for mark in ":“”"):
            return
        yield part
