"""Plain columns for listings: readable in a pipe, and nothing to import."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence

import click

LONGEST_NAME = 60
"""Characters of a name in a table, as in sentences; files have the whole of it."""


def print_columns(head: Sequence[str], rows: Sequence[Sequence[str]], *, last_wraps: bool = True) -> None:
    """Print rows under a heading, each column as wide as its widest cell.

    The last column is cut into lines where the terminal is too narrow for it; in a pipe or file a row is a line.
    """
    cells = [list(map(_one_line, row)) for row in (head, *rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(head))]
    width = shutil.get_terminal_size((120, 24)).columns if sys.stdout.isatty() or width_asked() else None
    room = None if width is None else max(width - sum(widths[:-1]) - 2 * (len(head) - 1), 30)
    for number, row in enumerate(cells):
        start = "  ".join(cell.ljust(width) for cell, width in zip(row[:-1], widths, strict=False))
        lines = _wrapped(row[-1], room) if last_wraps and room is not None else [row[-1]]
        for i, line in enumerate(lines):
            lead = start if i == 0 else " " * len(start)
            click.echo(click.style(f"{lead}  {line}".rstrip(), bold=number == 0))


def shortened(text: str, most: int = LONGEST_NAME) -> str:
    """A name as a table of a terminal shows it: of a longer one its beginning and an ellipsis."""
    return text if len(text) <= most else f"{text[:most]}…"


def width_asked() -> bool:
    """Whether COLUMNS names a width, to be kept to in a pipe or file too."""
    asked = os.environ.get("COLUMNS", "")
    return asked.isdecimal() and int(asked) > 0


def _wrapped(text: str, width: int) -> list[str]:
    import textwrap

    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False) or [""]


def printable(text: str) -> str:
    """Control characters would move the cursor or change the terminal: shown as their escapes, line ends kept."""
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)


def _one_line(text: str) -> str:
    return printable(text).replace("\n", "\\n")
