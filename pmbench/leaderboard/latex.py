"""A leaderboard as LaTeX tables with booktabs, to be put into a paper with \\input."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence

from pmbench.leaderboard.columns import TESTS, Column, columns
from pmbench.leaderboard.reported import Reported
from pmbench.leaderboard.table import Leaderboard, SystemRow, Table

BEGINNING = "% Leaderboard of pmbench"

_ESCAPED = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "'": r"\textquotesingle{}",
    "`": r"\textasciigrave{}",
    "-": "{-}",
    "–": "--",
    "—": "---",
    "…": r"\ldots{}",
    "±": r"$\pm$",
    "≤": r"$\le$",
    "≥": r"$\ge$",
    "−": "$-$",
    "×": r"$\times$",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    "Σ": r"$\Sigma$",
    "·": r"$\cdot$",
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
    "?": "{?}",
    "!": "{!}",
    ",": "{,}",
}
"""Every character that means something to LaTeX, alone, after a line's end, or beside another of its kind."""

_PLAIN_COMMA = re.compile(r"\{,\}(?!\{,\})")
_NEGATIVE = re.compile(r"^[-+−]?\d")


def tex(text: str) -> str:
    """A text that LaTeX sets as that very text, in a table's cell or a caption.

    Line breaks and other blanks become one blank; characters that cannot be set (control characters, marks of
    direction, lone surrogates) become a question mark; letters and signs of other scripts stay, for engines that
    have them.
    """
    found = "".join(map(_character, " ".join(text.split())))
    return _PLAIN_COMMA.sub(",", found)


def number(text: str) -> str:
    """A number as it is shown, with a minus that is one; anything else as text."""
    if not _NEGATIVE.match(text):
        return tex(text)
    return tex(text[1:]).join(("$-$", "")) if text[0] in "-−" else tex(text)


def render_latex(board: Leaderboard, found: Reported, names: Sequence[str] | None = None) -> str:
    """A table environment for each table of the board; reported rows stand below a line, and are not compared.

    Args:
        board: the leaderboard.
        found: what the task's paper reports.
        names: of the columns, as `columns.parse` returns them; None: those of the main table.

    Raises:
        ConfigError: a column is of a metric that no system here has.
    """
    if names is None:
        primary, *headlines = [head.name for head in board.leading]
        names = [primary, *TESTS, *headlines, "scored", "lost"]
    columns(board, names)  # also where there is no table that could have them
    lines = [f"{BEGINNING}; needs \\usepackage{{booktabs}} and \\usepackage[T1]{{fontenc}}"]
    if not board.tables:
        lines.append("% No run can be shown yet.")
    for place, table in enumerate(board.tables, start=1):
        chosen = columns(board, names, table.correction)
        lines += ["", *_table(board, table, place, chosen, found)]
    return "\n".join(lines) + "\n"


def _table(
    board: Leaderboard, table: Table, place: int, chosen: Sequence[Column], found: Reported
) -> Iterator[str]:
    width = 3 + len(chosen)
    label = re.sub(r"[^A-Za-z0-9-]", "-", board.task)
    apart = f" Set apart by {'; '.join(table.differs)}." if table.differs else ""
    demo = (
        " Demo data, made up: they show nothing of how good the systems are." if table.kind == "demo" else ""
    )
    level = f"{100 * board.statistics.level:g}% intervals in brackets"
    yield r"\begin{table}"
    yield r"\centering"
    yield rf"\caption{{{tex(f'{board.title}; {level}.{demo}{apart}')}}}"
    yield rf"\label{{tab:{label}-{place}}}"
    yield rf"\begin{{tabular}}{{rll{''.join('l' if column.is_words else 'r' for column in chosen)}}}"
    yield r"\toprule"
    yield _row(["", "System", "Strategy", *(tex(column.title) for column in chosen)])
    yield r"\midrule"
    for row in table.rows:
        yield _row(_system(row, chosen))
    rows = list(_reported(found, chosen))
    if rows:
        yield r"\midrule"
        note = (
            "Reported in the literature, with other judges and perhaps other data: not comparable, not tested"
        )
        yield rf"\multicolumn{{{width}}}{{l}}{{\emph{{{tex(note)}}}}} \\"
        yield from rows
    yield r"\bottomrule"
    yield r"\end{tabular}"
    if table.words:
        yield rf"\par\smallskip {tex(' '.join(table.words))}"
    yield rf"\par\smallskip {{\footnotesize {tex(table.foot)}}}"
    yield r"\end{table}"


def _row(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"


def _system(row: SystemRow, chosen: Sequence[Column]) -> list[str]:
    name = f"{row.model} ({row.settings})" if row.settings else row.model
    cells = [str(row.number), tex(name), tex(row.strategy)]
    for column in chosen:
        shown, interval = column.cell(row)
        cells.append(
            " ".join(filter(None, [tex(shown) if column.is_words else number(shown), tex(interval)]))
        )
    return cells


def _reported(found: Reported, chosen: Sequence[Column]) -> Iterator[str]:
    for one in found.row:
        cells = [str(one.values[column.name]) if column.name in one.values else "" for column in chosen]
        if any(cells):
            yield _row(
                ["", tex(one.system), tex(one.strategy), *(number(cell) if cell else "--" for cell in cells)]
            )


def _character(character: str) -> str:
    if character in _ESCAPED:
        return _ESCAPED[character]
    return "{?}" if unicodedata.category(character)[0] == "C" else character
