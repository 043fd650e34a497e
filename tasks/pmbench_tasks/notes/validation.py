"""What is wrong with a checklist, and what is doubtful: before a judge is asked a few thousand times."""

from __future__ import annotations

import difflib
import math
import unicodedata
from collections.abc import Iterator

import msgspec

from pmbench import DataError
from pmbench_tasks.notes.checklist import Checklist, Item
from pmbench_tasks.notes.plain_text import unshown
from pmbench_tasks.notes.sections import SECTIONS
from pmbench_tasks.notes.yes_no import asks_for_na, asks_more, is_statement, not_yes_no

LONGEST = 2000
"""Characters of the longest question that is taken."""

_LONG = 60
"""Words from which a question is remarked on."""

_MANY, _TOO_MANY = 100, 1000
_LONGEST_ID = 64
LONGEST_NAME = 120
"""Characters of the longest name of a checklist, or of a category."""

_HEAVIEST = 1e6
_NOT_BEYOND = f"Write at most {_HEAVIEST:,.0f}"

_PDQI = frozenset(
    {"up_to_date", "accurate", "thorough", "useful", "organized", "organised", "comprehensible", "succinct"}
    | {"synthesized", "synthesised", "internally_consistent"}
)
"""The attributes of the PDQI-9 (Stetson et al. 2012), by name."""


class Finding(msgspec.Struct, frozen=True):
    """One thing that is wrong or doubtful.

    Attributes:
        what: without the place.
        where: file and item.
        remedy: what to do.
        error: whether the checklist is refused for it.
    """

    what: str
    where: str
    remedy: str
    error: bool = True

    @property
    def line(self) -> str:
        """It in one line."""
        place = f"{self.where}: " if self.where else ""
        return f"{'error' if self.error else 'remark'}: {place}{self.what}. {self.remedy}"


def findings(checklist: Checklist) -> list[Finding]:
    """Everything found, errors first, else in the order of the items."""
    found = [*_of_all(checklist), *_doubles(checklist)]
    for number, item in enumerate(checklist.items):
        found += _of_item(checklist, item, checklist.where(number))
    return sorted(found, key=lambda one: not one.error)


def refuse_errors(checklist: Checklist) -> None:
    """Do nothing where a checklist has no errors.

    Raises:
        DataError: the first error, with the number of further ones.
    """
    errors = [one for one in findings(checklist) if one.error]
    if not errors:
        return
    first, more = errors[0], len(errors) - 1
    further = f" ({more} more: pmbench checklist validate)" if more else ""
    raise DataError(f"{first.what}{further}", where=first.where, remedy=first.remedy)


def normalised(question: str) -> str:
    """A question for comparing: in small letters, without accents, signs and doubled spaces."""
    letters = unicodedata.normalize("NFKD", question.casefold())
    return " ".join(
        "".join(one if one.isalnum() else " " for one in letters if not unicodedata.combining(one)).split()
    )


def _of_all(checklist: Checklist) -> Iterator[Finding]:
    items, where = checklist.items, checklist.source
    if not items:
        yield Finding("there are no items", where, "Write at least one question")
        return
    if len(checklist.name) > LONGEST_NAME or not checklist.name.isprintable():
        yield Finding(
            "its name is long, or has characters that cannot be printed",
            f"{where}, name".lstrip(", "),
            f"Write at most {LONGEST_NAME} characters, in one line",
        )
    if checklist.section and checklist.section not in SECTIONS:
        near = difflib.get_close_matches(checklist.section.lower(), SECTIONS, n=1, cutoff=0.5)
        hint = f"Did you mean {near[0]}?" if near else f"Write one of {', '.join(SECTIONS)}, or none"
        yield Finding("no such section of a note", f"{where}, section".lstrip(", "), hint)
    if len(items) > _TOO_MANY:
        yield Finding(f"there are {len(items)} items", where, f"Take at most {_TOO_MANY}")
    elif len(items) > _MANY:
        remedy = "Each costs a judge's answer for every note; `select` finds the ones that matter"
        yield Finding(f"there are {len(items)} items", where, remedy, error=False)
    if checklist.scale == "points":
        if not any((item.points or 0) > 0 for item in items):
            yield Finding(
                "no item has positive points", where, "No score exists then: give some points above 0"
            )
    elif not any(item.weight > 0 for item in items):
        yield Finding("no weight is above 0", where, "Give some item a weight above 0")
    if checklist.ends and len(items) != 9 and len(_pdqi_names(items)) > 4:
        what = f"looks like a PDQI-9, and has {len(items)} of its 9 attributes"
        yield Finding(what, where, "Totals are then not those of a PDQI-9", error=False)


def _pdqi_names(items: tuple[Item, ...]) -> set[str]:
    names = {"_".join(item.id.lower().replace("-", "_").split()) for item in items}
    return names & _PDQI


def _doubles(checklist: Checklist) -> Iterator[Finding]:
    """Ids and questions that stand twice."""
    first_id: dict[str, int] = {}
    first_question: dict[str, int] = {}
    for number, item in enumerate(checklist.items):
        if item.id and item.id in first_id:
            what = f"item {first_id[item.id] + 1} has the same id"
            yield Finding(what, checklist.where(number), "Give it another id")
        first_id.setdefault(item.id, number)
        plain = normalised(item.question)
        if plain and plain in first_question:
            what = f"item {first_question[plain] + 1} asks the same"
            yield Finding(what, checklist.where(number), "Leave one out, or its answer counts twice")
        first_question.setdefault(plain, number)


def _of_item(checklist: Checklist, item: Item, where: str) -> Iterator[Finding]:
    yield from _id(item, where)
    yield from _category(item, where)
    yield from _worth(checklist, item, where)
    yield from _wording(checklist, item, where)


def _id(item: Item, where: str) -> Iterator[Finding]:
    if not item.id.strip():
        yield Finding("its id is empty", where, "Give it one")
    elif len(item.id) > _LONGEST_ID or any(map(str.isspace, item.id)) or not item.id.isprintable():
        yield Finding(
            "its id is long or has spaces", where, f"Write at most {_LONGEST_ID} characters without spaces"
        )


def _category(item: Item, where: str) -> Iterator[Finding]:
    if len(item.category) > LONGEST_NAME or any(map(unshown, item.category)):
        yield Finding(
            "its category is long, or has characters that cannot be printed",
            where,
            f"Write at most {LONGEST_NAME} characters, in one line",
        )


def _worth(checklist: Checklist, item: Item, where: str) -> Iterator[Finding]:
    if checklist.scale == "points":
        if item.points is None or not math.isfinite(item.points):
            yield Finding("it has no points", where, "Give it a number of points")
        elif abs(item.points) > _HEAVIEST:
            yield Finding("its points are beyond counting", where, _NOT_BEYOND)
        elif item.points == 0:
            yield Finding("it is worth 0 points", where, "Its answer changes nothing", error=False)
        return
    if item.points is not None:
        yield Finding(
            "it has points, and the scale is another", where, "Write scale: points, or leave them out"
        )
    if not math.isfinite(item.weight):
        yield Finding("its weight is no finite number", where, "Write a number from 0")
    elif item.weight > _HEAVIEST:
        yield Finding("its weight is beyond counting", where, _NOT_BEYOND)
    elif item.weight < 0:
        remedy = "Ask it so that yes is good, or write a rubric of points, whose scale knows negative ones"
        yield Finding("its weight is negative", where, remedy)
    elif item.weight == 0:
        yield Finding("its weight is 0", where, "It counts in the share of yes alone", error=False)


def _wording(checklist: Checklist, item: Item, where: str) -> Iterator[Finding]:
    if not normalised(item.question):
        yield Finding("its question is empty", where, "Write it, or leave the item out")
        return
    if any(unshown(letter) and not letter.isspace() for letter in item.question):
        yield Finding("its question has characters that cannot be printed", where, "Take them out")
    words = len(item.question.split())
    if len(item.question) > LONGEST:
        yield Finding(f"its question has {len(item.question)} characters", where, f"Write at most {LONGEST}")
    elif words > _LONG:
        yield Finding(
            f"its question has {words} words", where, "Several short ones are answered better", error=False
        )
    if asks_for_na(item.question):
        yield Finding(
            "it asks for an answer N/A", where, "Word it so that it can be answered yes or no for every note"
        )
    if checklist.scale == "yes-no":
        yield from _answerable(item.question, words, where)


def _answerable(question: str, words: int, where: str) -> Iterator[Finding]:
    if reason := not_yes_no(question):
        yield Finding(
            f"it cannot be answered yes or no: {reason}", where, "Ask it as Is …?, Does …?, Are all …?"
        )
    elif is_statement(question):
        yield Finding(
            "it is a statement, not a question", where, "Ask it as Is …?, Does …?, Are all …?", error=False
        )
    elif asks_more(question):
        yield Finding("it seems to ask two things at once", where, "Make two items of it", error=False)
    elif words < 3:
        yield Finding(
            f"its question has {words} words", where, "A judge needs to know what to look for", error=False
        )
