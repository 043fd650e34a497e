"""A leaderboard as LaTeX tables with booktabs, to be put into a paper with \\input."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence

from pmbench.leaderboard.columns import TESTS, Column, columns
from pmbench.leaderboard.reported import Reported, line_above, told_once
from pmbench.leaderboard.table import Leaderboard, SystemRow, Table

BEGINNING = "% Leaderboard of pmbench"
NEEDS = (
    rf"{BEGINNING}; needs \usepackage{{booktabs}} and \usepackage[T1]{{fontenc}};"
    r" with \usepackage{graphicx} wide tables are made to fit"
)

SYSTEM, STRATEGY, WORDS = (26, 0.22), (18, 0.14), (16, 0.13)
"""Of names and other words: from how many characters on they stand in several lines, in what share of the width."""

LONGEST = 80
"""Characters of a name or of words in a cell; other formats have them whole."""

_NARROW, _WIDE = 7, 8
"""Characters of a heading in one line; columns of a table in the size of the text."""

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

_SET = frozenset(
    chr(code)
    for first, last in ((0x20, 0x7E), (0xA1, 0x148), (0x14A, 0x17E))
    for code in range(first, last + 1)
) - frozenset("\u00ad\u0126\u0127\u0138\u013f\u0140\u0149\u0166\u0167") | frozenset("‘’‚“”„†‡•‰‹›€™←→")
"""Characters that pdfLaTeX sets with the encoding T1 and nothing else loaded."""

_OTHER = r"\pmbenchother"
_LONG_WORD, _BREAK, _EVERY = 16, r"\allowbreak{}", 12
"""From how many characters on a word may be broken, and after how many where it has no punctuation."""

MACROS = (
    r"\providecommand{\pmbenchother}[2]{\ifdefined\Umathchardef#1\else#2\fi}% what pdfLaTeX cannot set",
    r"\providecommand{\pmbenchcell}[3]{\begin{tabular}[t]{@{}#1@{}}#2\\{\scriptsize #3}\end{tabular}}",
    r"\providecommand{\pmbenchhead}[2]{\begin{tabular}[b]{@{}#1@{}}#2\end{tabular}}",
    (
        r"\providecommand{\pmbenchfit}[1]{\ifdefined\resizebox"
        r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{#1}\else#1\fi}"
    ),
    r"\providecommand{\pmbenchlong}[2]{\parbox[t]{#1\linewidth}{\raggedright #2\strut}}",
)
"""What the tables of a file are set with: no package beside booktabs, and graphicx to make them fit."""

_PLAIN_COMMA = re.compile(r"\{,\}(?!\{,\})")
_MINUS = re.compile(r"\{-\}(?=\d)")
_NEGATIVE = re.compile(r"^[-+−]?\d")


def tex(text: str) -> str:
    """A text that LaTeX sets as that very text, in a table's cell or a caption.

    Line breaks and other blanks become one blank; characters that cannot be set (control characters, marks of
    direction, lone surrogates) become a question mark; letters and signs of other scripts stay for engines that have
    them, and are a question mark in pdfLaTeX (`MACROS`). Long words may be broken, as the names of models are.
    """
    words = unicodedata.normalize("NFC", text).split()
    found = " ".join("".join(_word(word)) for word in words)
    return _PLAIN_COMMA.sub(",", found)


def _word(word: str) -> Iterator[str]:
    since = 0
    for place, character in enumerate(word, start=1):
        yield _character(character)
        since += 1
        if len(word) > _LONG_WORD and place < len(word) and (not character.isalnum() or since == _EVERY):
            yield _BREAK
            since = 0


def cell(text: str, below: str, side: str) -> str:
    """A cell: a number or words already escaped, with its interval below it or nothing; `side` is l or r."""
    return rf"\pmbenchcell{{{side}}}{{{text}}}{{{_MINUS.sub('$-$', tex(below))}}}" if below else text


def head(title: str, side: str) -> str:
    """A heading, in two lines where it is long."""
    words = title.split(" ")
    cuts = [len(" ".join(words[:place])) for place in range(1, len(words))]
    # A sign of direction stays with the word before it.
    there = [cut for cut in cuts if title[cut + 1 :] not in ("↑", "↓")]
    if len(title) <= _NARROW or not there:
        return tex(title)
    cut = min(there, key=lambda place: abs(2 * place - len(title)))
    return rf"\pmbenchhead{{{side}}}{{{tex(title[:cut])}\\{tex(title[cut:])}}}"


def words_cell(text: str, most: int, share: float) -> str:
    """Words, set in several lines of that share of the line's width where they have more than `most` characters."""
    if len(text) > LONGEST:
        text = f"{text[:LONGEST]}…"
    return rf"\pmbenchlong{{{share:g}}}{{{tex(text)}}}" if len(text) > most else tex(text)


def beginning(width: int) -> list[str]:
    """How a table environment begins: narrower where it has many columns."""
    return [
        r"\begin{table}",
        r"\centering",
        *([r"\footnotesize\setlength{\tabcolsep}{3pt}"] if width > _WIDE else []),
    ]


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
        names: of the columns, as `columns.parse` returns them; None: those of the main table, without what is scored
            and lost where nothing is lost.

    Raises:
        ConfigError: a column is of a metric that no system here has.
    """
    if names is None:
        first, headlines = ([head.name for head in heads] for heads in board.beside)
        rows = [row for table in board.tables for row in table.rows]
        whole = all(row.failures == "0" and row.counts.scored == row.counts.samples for row in rows)
        names = [*first, *TESTS, *headlines, *([] if whole else ["scored", "lost"])]
    columns(board, names)  # also where there is no table that could have them
    lines = [NEEDS, *MACROS]
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
    yield from beginning(width)
    yield rf"\caption{{{tex(f'{board.title}; {level}.{demo}{apart}')}}}"
    yield rf"\label{{tab:{label}-{place}}}"
    yield r"\pmbenchfit{%"
    yield rf"\begin{{tabular}}{{rll{''.join('l' if column.is_words else 'r' for column in chosen)}}}"
    yield r"\toprule"
    yield _row(["", "System", "Strategy", *(head(one.title, "rl"[one.is_words]) for one in chosen)])
    yield r"\midrule"
    for row in table.rows:
        yield _row(_system(row, chosen))
    rows = list(_reported(found, chosen)) if place == 1 else []
    if rows:
        yield r"\midrule"
        yield rf"\multicolumn{{{width}}}{{l}}{{\pmbenchlong{{0.95}}{{\emph{{{tex(line_above(table))}}}}}}} \\"
        yield from rows
    yield r"\bottomrule"
    yield r"\end{tabular}}"
    if table.words:
        yield rf"\par\smallskip {tex(' '.join(table.words))}"
    yield rf"\par\smallskip {{\footnotesize {tex(table.foot)}}}"
    yield r"\end{table}"


def _row(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"


def _system(row: SystemRow, chosen: Sequence[Column]) -> list[str]:
    name = f"{row.model} ({row.settings})" if row.settings else row.model
    cells = [str(row.number), words_cell(name, *SYSTEM), words_cell(row.strategy, *STRATEGY)]
    for column in chosen:
        shown, interval = column.cell(row)
        text = words_cell(shown, *WORDS) if column.is_words else number(shown)
        cells.append(cell(text, interval, "rl"[column.is_words]))
    return cells


def _reported(found: Reported, chosen: Sequence[Column]) -> Iterator[str]:
    rows = [
        (one, tuple(str(one.values[column.name]) if column.name in one.values else "" for column in chosen))
        for one in found.row
    ]
    for one, tables, texts in told_once([(one, texts) for one, texts in rows if any(texts)]):
        yield _row(
            [
                "",
                words_cell(f"{one.system} ({tables})" if tables else one.system, *SYSTEM),
                words_cell(one.strategy, *STRATEGY),
                *(number(text) if text else "--" for text in texts),
            ]
        )


def _character(character: str) -> str:
    if character in _ESCAPED:
        return _ESCAPED[character]
    if unicodedata.category(character)[0] == "C":
        return "{?}"
    return character if character in _SET else rf"{_OTHER}{{{character}}}{{?}}"
