"""Reading ids of note sentences where a model was asked for nothing else."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from pmbench_tasks.archehr.cited_items import Known

_BRACKETED = re.compile(r"\[([^\[\]\n]*)\]")
_BARRED = re.compile(r"\|([^|\n]*)\|?\s*[.!?]?\s*$", re.MULTILINE)
_BETWEEN = re.compile(r"[\s,;&+]+")
_DASH = re.compile(r"(?<=\w)\s*[-–—]\s*(?=\w)")
_AROUND = "()[]{}|.:\"'`*"
_BESIDE = frozenset({"none", "and", "sentence", "sentences"})
"""Words that may stand beside ids."""


@dataclass(frozen=True, slots=True)
class ReadIds:
    """What was read.

    Attributes:
        ids: known ids, each once, in the order written, ranges written out.
        unknown: what looks like an id (it has a digit) and is none, each once.
        words: whether there were other words.
    """

    ids: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    words: bool = False


def read_ids(text: str, known: Collection[str]) -> ReadIds:
    """The ids that a text names.

    What stands in square brackets counts where anything does, else what stands behind a bar at the end of a line,
    else every word. How an id may be written is `cited_items.Known`'s to say.

    Args:
        text: of an answer, or of one line of it.
        known: the ids of the note.
    """
    found = _BRACKETED.findall(text) or _BARRED.findall(text)
    reader = Known(known)
    ids: dict[str, None] = {}
    unknown: dict[str, None] = {}
    words = False
    for piece in _BETWEEN.split(_DASH.sub("-", " ".join(found) if found else text)):
        item = piece.strip(_AROUND)
        if not item or item.casefold() in _BESIDE:
            continue
        cited = reader.read(item)
        ids.update(dict.fromkeys(cited.found))
        if any(letter.isdigit() for letter in item):
            unknown.update(dict.fromkeys(cited.unknown))
        else:
            words = words or not cited.found
    return ReadIds(tuple(ids), tuple(unknown), words)
