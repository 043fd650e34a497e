"""Where a line of an answer cites, and what: bars, brackets, and words such as `sentence`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pmbench_tasks.archehr.cited_items import Cited, Known

_BRACKETS = re.compile(r"\[([^\[\]|]*)\]|\(([^()\[\]|]*)\)")
_UNOPENED = re.compile(r"(?:^|(?<=[\s.!?]))([0-9][0-9\s,;–-]*)$")
_LONGEST = 200
"""Characters of the longest mark without its first bar."""
NO_TEXT = re.compile(r"^[\s.!?`\"'”’)\]*]*$")
"""What may stand after the last mark of a line and is no text."""

Piece = tuple[str, Cited | None]
"""Text before a mark, and what the mark cites; None at the end of a line without one."""


def pieces(line: str, known: Known) -> Iterator[Piece]:
    """Cut a line at its citations: each with the text before it, then the text after the last one.

    Args:
        line: of an answer.
        known: the ids of the note.
    """
    parts = line.split("|")
    last = len(parts) - 1
    text, closed = "", True  # closed: the bar before this part closes a mark, or there is none
    for place, part in enumerate(parts):
        cited = None if closed else _barred(parts, place, known)
        if cited is None:
            text += "" if closed else "|"
            marks, rest = _bracketed(part, known)
            for before, found in marks:
                yield text + before, found
                text = ""
            text, closed = text + rest, False
        else:
            yield text, cited
            # The bar that closes this mark may open the next: `|1|3|`.
            after = place + 1
            text, closed = "", after >= last or not _is_mark(known.read(parts[after]), after, last)
    if text.strip():
        yield _unopened(text, known)


def _unopened(text: str, known: Known) -> Piece:
    """The end of a line: ids before its last bar are a mark whose first bar was forgotten."""
    if not text.rstrip().endswith("|"):
        return text, None
    written = text.rstrip()[:-1].rstrip()
    start = max(len(written) - _LONGEST, 0)
    match = _UNOPENED.search(written[start:])
    read = known.read(match[1]) if match else Cited()
    if not match or not read.found or read.unknown:
        return text, None
    return written[: start + match.start()], read


def _barred(parts: list[str], place: int, known: Known) -> Cited | None:
    """What the part after a bar cites; None where it is text.

    Blank between two bars it cites nothing; at the end of a line what stands between bars is always a mark.
    After the last bar it is one if all of it is ids: the closing bar was forgotten.
    """
    content, last = parts[place], len(parts) - 1
    if place == last:
        bare = known.read(content.strip().rstrip(".!?`"))
        return bare if bare.is_list and bare.found and not bare.unknown else None
    read = known.read(content)
    at_the_end = place == last - 1 and bool(NO_TEXT.match(parts[last]))
    return read if _is_mark(read, place, last) or not content.strip() or at_the_end else None


def _is_mark(read: Cited, place: int, last: int) -> bool:
    """Whether what stands between two bars is citations: all of it; or, of the last on a line, any of it."""
    return read.is_list or (place == last - 1 and bool(read.found))


def _bracketed(text: str, known: Known) -> tuple[list[tuple[str, Cited]], str]:
    """Marks in square brackets, in round ones where a word such as `sentence` says so; and the text after them."""
    found: list[tuple[str, Cited]] = []
    start = 0
    for match in _BRACKETS.finditer(text):
        square, content = match[1] is not None, match[1] if match[1] is not None else match[2]
        read = known.read(content)
        if read.is_list and (square or read.worded):
            found.append((text[start : match.start()], read))
            start = match.end()
    return found, text[start:]
