"""The items of one citation mark: ids as they are written, ranges, and words around them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass

_WORD = r"(?:(?:sentences?|sents?|lines?|ids?|s|no)[ \t]*[.:#]?|\#)[ \t]*"
_ITEM = re.compile(
    rf"^(?P<word>{_WORD})?(?P<first>[0-9]{{1,9}})"
    rf"(?:[ \t]*(?:-|–|—|‑|−|\.\.+|to|through)[ \t]*(?:{_WORD})?(?P<last>[0-9]{{1,9}}))?$",
    re.IGNORECASE,
)
_PARTED = re.compile(r"[,;&/]|\band\b", re.IGNORECASE)
_AROUND = " \t\r\n\"'`“”‘’()[]{}<>*."
_WIDEST = 500
"""Numbers in the widest range that is read as one."""


@dataclass(frozen=True, slots=True)
class Cited:
    """What one mark cites, or the marks of a sentence.

    Attributes:
        found: ids of the note, in the order written.
        unknown: what is none, as it is written, each once; of a range each number.
        is_list: whether all of it looks like ids, and there is any.
        worded: whether an item bears a word such as `sentence`.
    """

    found: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    is_list: bool = False
    worded: bool = False

    def __bool__(self) -> bool:
        return bool(self.found or self.unknown)


def together(marks: Iterable[Cited]) -> Cited:
    """What several marks cite, in the order written."""
    found: list[str] = []
    unknown: dict[str, None] = {}
    for one in marks:
        found += one.found
        unknown.update(dict.fromkeys(one.unknown))
    return Cited(tuple(found), tuple(unknown))


class Known:
    """The ids of a note, and how they may be written.

    Args:
        ids: opaque strings; those that are numbers are also found with other zeros before them.
    """

    def __init__(self, ids: Collection[str]) -> None:
        self._ids = frozenset(ids)
        self._numbers = {int(one): one for one in ids if re.fullmatch("[0-9]{1,9}", one)}
        folded: dict[str, list[str]] = {}
        for one in ids:
            folded.setdefault(one.strip().casefold(), []).append(one)
        self._folded = {key: names[0] for key, names in folded.items() if len(names) == 1}

    def read(self, content: str) -> Cited:
        """What stands between the bars or brackets of a mark."""
        read = [self._item(item) for item in content.split(",") if item.strip()]
        total = together(read)
        is_list = bool(total) and all(one.is_list for one in read)
        return Cited(total.found, total.unknown, is_list, any(one.worded for one in read))

    def _item(self, item: str) -> Cited:
        """One item: an id as it is, a number, a range, or several of these parted otherwise than by commas."""
        if item in self._ids:
            return Cited((item,), (), True)
        bare = item.strip(_AROUND)
        for name in (item.strip(), bare):
            if name in self._ids:
                return Cited((name,), (), True)
            if name.casefold() in self._folded:
                return Cited((self._folded[name.casefold()],), (), True)
        match = _ITEM.match(bare)
        if match:
            return self._number(bare, match)
        if not bare:
            return Cited()
        pieces = [piece for piece in _PARTED.split(item) if piece.strip(_AROUND)]
        if len(pieces) < 2 and re.fullmatch(rf"(?:{_WORD})?[0-9][0-9 \t-]*", bare, re.IGNORECASE):
            pieces = bare.split()  # `1 2 5-7`; a word before them is an item that says nothing
            pieces = [f"{pieces[0]} {pieces[1]}", *pieces[2:]] if pieces[0].isalpha() else pieces
        if len(pieces) < 2:
            return Cited((), (item.strip(),))
        read = [self._item(piece) for piece in pieces]
        total = together(read)
        return Cited(
            total.found,
            total.unknown,
            all(one.is_list for one in read),
            any(one.worded for one in read),
        )

    def _number(self, bare: str, match: re.Match[str]) -> Cited:
        first, last = int(match["first"]), int(match["last"] or match["first"])
        worded = bool(match["word"])
        if last < first or last - first >= _WIDEST:
            return Cited((), (bare,), True, worded)
        found = [self._numbers[number] for number in range(first, last + 1) if number in self._numbers]
        unknown = [str(number) for number in range(first, last + 1) if number not in self._numbers]
        return Cited(tuple(found), tuple(unknown), True, worded)
