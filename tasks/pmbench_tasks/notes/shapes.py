"""Checklists as plain values: our own form, AutoChecklist's, criteria of a rubric, and lists of questions."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pmbench import DataError
from pmbench_tasks.notes.checklist import SCALES, Checklist, Item, Scale
from pmbench_tasks.notes.sections import SECTIONS

_HOLDERS = ("items", "questions", "criteria")
_HEAD = frozenset(
    {
        *_HOLDERS,
        "card",
        "description",
        "id",
        "judges",
        "licence",
        "license",
        "metadata",
        "name",
        "note",
        "scale",
    }
    | {"section", "title", "version"}
)
_WORDING = ("question", "criterion", "attribute", "name")
_ITEM = frozenset(
    {
        *_WORDING,
        "category",
        "description",
        "id",
        "metadata",
        "note",
        "points",
        "source_feedback",
        "tags",
        "weight",
    }
)
_HUNDRED = 100.0
"""The weight of an item of AutoChecklist that names none."""


def checklist_of(value: Any, path: Path, *, name: str = "", where: str = "") -> Checklist:
    """A checklist from what a JSON or YAML file holds: an object with items, or a list of them.

    An object that says `source_method` or `generation_level` is AutoChecklist's; other keys of it are passed
    over. In our own form a key that is not known is refused: a slip in `weight` would otherwise go unseen.

    Args:
        value: what the file holds.
        path: of the file; its stem is the name where none is given.
        name: goes before the name that the value has.
        where: the place of the value, for messages; by default the file.

    Raises:
        DataError: it is no such value.
    """
    place = where or str(path)
    head = {"items": value} if isinstance(value, list) else value
    if not isinstance(head, Mapping):
        raise DataError("holds no checklist", where=place, remedy=_REMEDY)
    foreign = "source_method" in head or "generation_level" in head
    if not foreign:
        _known(head, _HEAD, place)
    holder, entries = _entries(head, place)
    usual = _HUNDRED if foreign else 1.0
    items = tuple(
        item_of(entry, number, item_place(place, number), usual=usual, strict=not foreign)
        for number, entry in enumerate(entries, 1)
    )
    _all_or_none(entries, "weight", place, foreign=foreign)
    more = head.get("metadata") if isinstance(head.get("metadata"), Mapping) else {}
    assert isinstance(more, Mapping)
    return Checklist(
        name=name or text_of(head, "name", place) or text_of(more, "name", place) or path.stem,
        items=items,
        section=section_of(text_of(head, "section", place) or text_of(more, "section", place)),
        scale=_scale(head, holder, items, place),
        judges=tuple(_texts(head.get("judges"), f"{place}, judges")),
        source=str(path),
    )


_REMEDY = 'Write {"name": "…", "section": "…", "items": [{"id": "…", "question": "…?"}, …]}'


def item_of(entry: Any, number: int, place: str, *, usual: float = 1.0, strict: bool = True) -> Item:
    """One item from a text (the question) or an object.

    The wording is under `question`, `criterion`, `attribute` or `name`; a `description` is put behind the
    last three. Where there is no `id`, it is made of the number, or of a short name.

    Args:
        entry: the text or object; number: its place, from 1; place: that place for messages.
        usual: the weight where none is given.
        strict: whether keys that are not known are refused.

    Raises:
        DataError: a value of the wrong type, or no wording.
    """
    if isinstance(entry, str):
        return Item(id=f"q{number}", question=_one_line(entry), weight=usual)
    if not isinstance(entry, Mapping):
        raise DataError("is neither text nor an object", where=place, remedy='Write {"question": "…?"}')
    if strict:
        _known(entry, _ITEM, place)
    named = [key for key in _WORDING if entry.get(key) is not None]
    if not named:
        raise DataError("has no question", where=place, remedy='Write it under the key "question"')
    wording, described = text_of(entry, named[0], place), text_of(entry, "description", place)
    points, weight = number_of(entry, "points", place), number_of(entry, "weight", place)
    graded = named[0] != "question" and points is None
    return Item(
        id=_ident(entry, place)
        or (slug(wording) if graded and len(wording) <= _SHORT else "")
        or f"q{number}",
        question=_one_line(f"{wording}: {described}" if described and named[0] != "question" else wording),
        weight=usual if weight is None else weight,
        category=text_of(entry, "category", place) or _axis(_texts(entry.get("tags"), f"{place}, tags")),
        points=points,
        source_feedback=_sources(entry, place),
    )


_SHORT = 40
"""Characters of the longest name of a criterion that becomes its id."""


def item_place(where: str, number: int) -> str:
    """`FILE, item 3`: the place of an item, from 1."""
    return f"{where}, item {number}"


def section_of(text: str) -> str:
    """The id of a section from how people write it (`Assessment and Plan`); any other text as it is."""
    plain = slug(text)
    return plain if plain in SECTIONS else text


def slug(text: str) -> str:
    """`Internally Consistent` as `internally_consistent`."""
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")


def text_of(entry: Mapping[Any, Any], key: str, place: str) -> str:
    """The text under a key, without white space around it; `""` where it is absent or null.

    Raises:
        DataError: it is no text.
    """
    value = entry.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise DataError("text is expected", where=f"{place}, {key}", remedy="Write it in quotes")
    return value.strip()


def number_of(entry: Mapping[Any, Any], key: str, place: str) -> float | None:
    """The number under a key, also where it is written as text, as CSV has it; None where it is absent or empty.

    Raises:
        DataError: it is no number, or not finite.
    """
    value = entry.get(key)
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise DataError("a number is expected", where=f"{place}, {key}", remedy="Write it in digits")
    return number


def one_scale(items: Sequence[Item], where: str, *, graded: bool) -> Scale:
    """The scale of items whose file does not say it: `points` where they have points, else grades or yes/no.

    Raises:
        DataError: some have points and others do not.
    """
    pointed = [item.points is not None for item in items]
    if any(pointed) and not all(pointed):
        lacking = item_place(where, pointed.index(False) + 1)
        raise DataError("has no points, and others have", where=lacking, remedy="Give points to all or none")
    if any(pointed):
        return "points"
    return "1-5" if graded else "yes-no"


def _entries(head: Mapping[Any, Any], place: str) -> tuple[str, list[Any]]:
    """The key that holds the items, and they."""
    holders = [key for key in _HOLDERS if key in head]
    if len(holders) != 1:
        what = f"has both {' and '.join(holders)}" if holders else "has no items"
        raise DataError(what, where=place, remedy=_REMEDY)
    value = head[holders[0]]
    if isinstance(value, Mapping) and holders[0] == "criteria":
        return "criteria", [
            {"name": key, "description": text} if not isinstance(text, Mapping) else {"name": key, **text}
            for key, text in value.items()
        ]
    if not isinstance(value, list):
        raise DataError("is no list", where=f"{place}, {holders[0]}", remedy=_REMEDY)
    if holders[0] == "criteria":
        return "criteria", [{"name": one} if isinstance(one, str) else one for one in value]
    return holders[0], value


def _scale(head: Mapping[Any, Any], holder: str, items: Sequence[Item], place: str) -> Scale:
    told = text_of(head, "scale", place).replace("–", "-").replace("/", "-").lower()
    found = one_scale(items, place, graded=holder == "criteria")
    if not told:
        return found
    if told not in SCALES:
        raise DataError("is no scale", where=f"{place}, scale", remedy=f"Write one of {', '.join(SCALES)}")
    if (told == "points") != (found == "points"):
        what = "the items have no points" if told == "points" else "the items have points"
        raise DataError(
            what, where=f"{place}, scale", remedy="Give points to all items with the scale points alone"
        )
    return next(scale for scale in SCALES if scale == told)


def _all_or_none(entries: Sequence[Any], key: str, place: str, *, foreign: bool) -> None:
    given = [isinstance(entry, Mapping) and entry.get(key) is not None for entry in entries]
    if not foreign and any(given) and not all(given):
        lacking = item_place(place, given.index(False) + 1)
        raise DataError(
            f"has no {key}, and others have", where=lacking, remedy=f"Give a {key} to all or none"
        )


def _known(entry: Mapping[Any, Any], known: frozenset[str], place: str) -> None:
    for key in entry:
        if key not in known:
            near = difflib.get_close_matches(str(key), sorted(known), n=1, cutoff=0.6)
            hint = f"Did you mean {near[0]}?" if near else f"Known: {', '.join(sorted(known))}"
            # The key itself may be text of a file that is no checklist.
            raise DataError("has a key that is not known", where=place, remedy=hint)


def _ident(entry: Mapping[Any, Any], place: str) -> str:
    value = entry.get("id")
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return text_of(entry, "id", place)


def _axis(tags: Iterable[str]) -> str:
    """The axis among the tags of a criterion of HealthBench (`axis:completeness`)."""
    found = (tag for tag in tags if tag.startswith("axis:"))
    return next(found, "").removeprefix("axis:")


def _sources(entry: Mapping[Any, Any], place: str) -> tuple[str, ...]:
    more = entry.get("metadata")
    held: Iterable[Mapping[Any, Any]] = (entry, more) if isinstance(more, Mapping) else (entry,)
    for one in held:
        for key in ("source_feedback", "source_feedback_indices"):
            if one.get(key) is not None:
                return tuple(_texts(one[key], f"{place}, {key}"))
    return ()


def _texts(value: Any, place: str) -> list[str]:
    if value is None:
        return []
    if not isinstance(value, list) or not all(
        isinstance(one, (str, int)) and not isinstance(one, bool) for one in value
    ):
        raise DataError("a list of texts is expected", where=place, remedy='Write ["…", …]')
    return [str(one) for one in value]


def _one_line(text: str) -> str:
    return " ".join(text.split())
