"""Blocks of marked lines on a terminal, by colour and sign, and in a pipe or file, by sign alone.

Whatever a text holds is shown as text: nothing in it is markup, moves the cursor or turns the writing around.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

import click

from pmbench.cli.columns import printable
from pmbench.core.view import SIGNS, ViewBlock, ViewLine

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

_COLOURS = {"": "", "kept": "", "deleted": "red", "added": "green"}
"""Of the sixteen that every terminal theme makes readable on its own background; never the only sign."""

_SIDE_BY_SIDE = 90
"""Columns from which a remark stands at the right of its line; below that it stands under it."""

_SIGN, _GAP = 2, 2
"""Columns of the sign with a space, and between a line and what stands beside it."""


class NoBlocks(Exception):
    """What a view made is something else; the message names types only."""


def blocks_of(shown: object) -> list[ViewBlock]:
    """What a view made, as blocks.

    Raises:
        NoBlocks: it is something else.
    """
    if not isinstance(shown, Sequence) or isinstance(shown, str | bytes):
        raise NoBlocks(f"{type(shown).__name__}, neither text nor blocks")
    return [_block(block) for block in shown]


def print_blocks(blocks: Sequence[ViewBlock]) -> None:
    """Print blocks, wrapped and in colour on a terminal, one line for each line anywhere else."""
    from pmbench.cli import terminal

    console = terminal.output()
    if console.is_terminal:
        for line in terminal_lines(blocks, console):
            console.print(line, soft_wrap=True)
    else:
        click.echo("\n".join(plain_lines(blocks)))


def plain_lines(blocks: Sequence[ViewBlock]) -> Iterator[str]:
    """One line of text for each line, with its sign, so that it can stand in a `diff` block of a page."""
    for title, legend, block in _headed(blocks):
        if block is not blocks[0]:
            yield ""
        yield f"{title} {legend}".rstrip()
        for line in block.lines:
            beside = f"  [{_one_line(line.beside)}]" if line.beside else ""
            yield f"{SIGNS[line.mark]} {_one_line(line.text)}{beside}".rstrip()


def terminal_lines(blocks: Sequence[ViewBlock], console: Console) -> Iterator[Text]:
    """Lines no wider than the console, each line's sign in its first column and its continuations indented."""
    from rich.text import Text

    for title, legend, block in _headed(blocks):
        if block is not blocks[0]:
            yield Text()
        yield Text.assemble((title, "bold"), " " if legend else "", (legend, "dim"))
        remarks = any(line.beside for line in block.lines)
        aside = remarks and console.width >= _SIDE_BY_SIDE
        room = max(console.width - _SIGN, 8)
        for line in block.lines:
            yield from _beside(line, console, room) if aside else _under(line, console, room)


def _beside(line: ViewLine, console: Console, room: int) -> Iterator[Text]:
    """Text at the left, remark at the right."""
    from rich.text import Text

    left = (room - _GAP) * 3 // 5
    texts = _wrapped(line.text, console, left)
    remarks = _wrapped(line.beside, console, room - _GAP - left) if line.beside else []
    for number, (text, remark) in enumerate(zip_longest(texts, remarks)):
        made = _signed(text if text is not None else Text(), line, first=not number)
        if remark is not None:
            made.append(" " * (_SIGN + left + _GAP - made.cell_len))
            made.append(remark.plain.rstrip(), "dim")
        yield made


def _under(line: ViewLine, console: Console, room: int) -> Iterator[Text]:
    """The remark under the text, in brackets and further indented."""
    from rich.text import Text

    for number, text in enumerate(_wrapped(line.text, console, room)):
        yield _signed(text, line, first=not number)
    if line.beside:
        for remark in _wrapped(f"[{line.beside}]", console, room - 2):
            yield Text.assemble(" " * (_SIGN + 2), (remark.plain.rstrip(), "dim"))


def _signed(text: Text, line: ViewLine, *, first: bool) -> Text:
    from rich.text import Text

    colour = _COLOURS[line.mark]
    sign = f"{SIGNS[line.mark]} " if first else " " * _SIGN
    return Text.assemble((sign, f"bold {colour}" if line.mark else ""), (text.plain.rstrip(), colour))


def _wrapped(text: str, console: Console, width: int) -> list[Text]:
    from rich.text import Text

    return list(Text(_one_line(text)).wrap(console, width, overflow="fold"))


def _headed(blocks: Sequence[ViewBlock]) -> Iterator[tuple[str, str, ViewBlock]]:
    """Each block with its title, and what the signs mean beside the first that has any."""
    told = False
    for block in blocks:
        marks = not block.signs_told and any(line.mark for line in block.lines)
        legend = "" if told or not marks else ", ".join(f"{SIGNS[mark]} {mark}" for mark in SIGNS if mark)
        told = told or marks
        yield _one_line(block.title), f"({legend})" if legend else "", block


def _one_line(text: str) -> str:
    """Runs of white space of any kind as one space, everything else that cannot be seen as its escape."""
    return printable(" ".join(text.split()))


def _block(block: object) -> ViewBlock:
    if not isinstance(block, ViewBlock) or not isinstance(block.title, str):
        raise NoBlocks(f"{type(block).__name__} where a block belongs")
    return ViewBlock(block.title, tuple(map(_line, block.lines)), bool(block.signs_told))


def _line(line: object) -> ViewLine:
    if not isinstance(line, ViewLine):
        raise NoBlocks(f"{type(line).__name__} where a line belongs")
    if not (isinstance(line.text, str) and isinstance(line.beside, str) and line.mark in SIGNS):
        raise NoBlocks("a line whose text, remark or mark is none")
    return line
