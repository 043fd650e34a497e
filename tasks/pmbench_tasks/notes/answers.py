"""Answers of a checklist judge: how they are read from what a model said, and why one is missing.

An answer that cannot be read, is neither yes nor no, or is not there is missing. It is never taken for a "no".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from pmbench_tasks import asking
from pmbench_tasks.asking import valid

Ends = tuple[int, int] | None
"""The lowest and the highest grade, where grades are asked for and not yes or no."""

UNPARSED, ABSENT, NEITHER, TWICE = "unparsed", "absent", "neither", "twice"
REFUSED, CUT_OFF, FAILED = "refused", "cut-off", "failed"
REASONS = (UNPARSED, ABSENT, NEITHER, TWICE, REFUSED, CUT_OFF, FAILED)
"""Why an answer is missing: nothing could be read; others were answered and this question was not; it is neither
yes nor no, or no grade of the scale; it is answered twice, differently; the model refused; the token limit ended it;
the request failed (then the kind of failure follows: `failed: server`)."""

_YES, _NO = frozenset({"yes", "y", "true"}), frozenset({"no", "n", "false"})
_KEYS = ("answer", "grade", "score", "met", "criteria_met")
_KEYED = re.compile(r'(?<!\\)"q?(\d{1,4})"\s*:\s*(?=\{)', re.IGNORECASE)
_LINE = re.compile(
    r"^[ \t*#>(\[-]*(?:q|question[ \t]*)?(\d{1,4})[ \t\])*]*[:.)|=-][ \t\"'*]*([^\W_]+(?:/[^\W_]+)?)[\"'*.]*[ \t]*"
    r"(?:$|[|,;:–—-]+[ \t]*(.*)$)",
    re.IGNORECASE | re.MULTILINE,
)
_ANSWER_LINE = re.compile(
    r"^[ \t*#>-]*(?:answer|grade|score)[ \t*]*[:=][ \t*\"']*([^\W_]+(?:/[^\W_]+)?)",
    re.IGNORECASE | re.MULTILINE,
)
_QUOTE_LINE = re.compile(r"^[ \t*#>-]*quote[ \t*]*[:=][ \t*]*(.*)$", re.IGNORECASE | re.MULTILINE)


class Answered(msgspec.Struct, frozen=True, kw_only=True):
    """What a judge answered to one item.

    Attributes:
        item: its id.
        met: yes or no; None where the answer is missing, or where grades were asked for.
        p_yes: probability of yes against no, from a request of its own; None where there is none.
        quote: what the judge says that its answer rests on; `""` for nothing.
        why: why the answer is missing (`REASONS`); `""` where it is there.
        grade: where grades were asked for.
    """

    item: str
    met: bool | None = None
    p_yes: float | None = None
    quote: str = ""
    why: str = ""
    grade: int | None = None

    @property
    def missing(self) -> bool:
        """Whether there is no answer."""
        return self.met is None and self.grade is None


class Reading(NamedTuple):
    """One answer as it was read: yes or no, or a grade; None with the reason where there is none."""

    value: bool | int | None
    quote: str = ""
    why: str = ""


def read_one(text: str, ends: Ends = None) -> Reading:
    """The answer to one question: a JSON object with `answer` (or `grade`), or lines, or the bare word.

    Code fences and words around an object are passed over; the first object with an answer counts.

    Args:
        text: what the model said.
        ends: of grades; None: yes or no.
    """
    for found in json_objects(text):
        if (entry := _entry(found, ends)) is not None:
            return entry
    if line := _ANSWER_LINE.search(text):
        quote = _QUOTE_LINE.search(text)
        return _reading(line[1], quote[1] if quote else "", ends)
    value = _value(text, ends)
    return Reading(None, "", UNPARSED) if value is None else Reading(value)


def read_several(text: str, numbers: Sequence[int], ends: Ends = None) -> dict[int, Reading]:
    """The answers to numbered questions, each of `numbers` with its own; other numbers are passed over.

    Taken are an object by numbers, a list of objects with `question` (under `answers`, or bare), and lines that
    begin with a number. Of an object that was cut off, the entries before the cut count.

    Args:
        text: what the model said.
        numbers: of the questions, from 1.
        ends: of grades; None: yes or no.
    """
    found: dict[int, Reading] = {}
    for number, entry in _numbered(text, ends):
        if number in found and found[number].value != entry.value:
            entry = Reading(None, "", TWICE)
        found[number] = entry
    otherwise = Reading(None, "", ABSENT if found.keys() & set(numbers) else UNPARSED)
    return {number: found.get(number, otherwise) for number in numbers}


def json_objects(text: str) -> Iterator[dict[str, Any]]:
    """The JSON objects of a text from left to right; where one is broken, those inside it."""
    # What stands twice in an object is kept twice: json would keep the last without a word.
    return asking.json_objects(text, _pairs)


def schema_of(numbers: Sequence[int], ends: Ends = None) -> dict[str, Any]:
    """JSON schema of the answer to one question (no numbers), or to numbered ones."""
    one = {"grade": {"type": "integer", "enum": list(range(ends[0], ends[1] + 1))}} if ends else _YES_NO
    entry = _object({**one, "quote": {"type": "string"}})
    return _object({str(number): entry for number in numbers}) if numbers else entry


_YES_NO: Mapping[str, Any] = {"answer": {"type": "string", "enum": ["yes", "no"]}}


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


class _Twice(list[Any]):
    """The values of a key that stands twice in one object."""


def _pairs(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for key, value in pairs:
        made[key] = _Twice([made[key], value]) if key in made and made[key] != value else value
    return made


def _numbered(text: str, ends: Ends) -> Iterator[tuple[int, Reading]]:
    there = False
    for found in json_objects(text):
        for number, said in _entries(found):
            reading = _twice_or_entry(said, ends)
            if reading is not None:
                there = True
                yield number, reading
    if there:
        return
    for match in _KEYED.finditer(text):  # of an object that was cut off
        entry = next(json_objects(text[match.end() :]), None)
        if entry is not None and (reading := _entry(entry, ends)) is not None:
            there = True
            yield int(match[1]), reading
    if not there:
        for line in _LINE.finditer(text):
            yield int(line[1]), _reading(line[2], line[3] or "", ends)


def _entries(found: Mapping[str, Any]) -> Iterator[tuple[int, Any]]:
    """Numbers and answers of one object, whichever of the forms it has."""
    listed = found.get("answers")
    if isinstance(listed, list):
        for one in listed:
            if isinstance(one, dict):
                yield from _entries(one)
        return
    if isinstance(listed, dict):
        yield from _entries(listed)
        return
    for key in ("question", "number", "question_index", "id"):
        if (number := _number(found.get(key))) is not None:
            yield number, found
            return
    for key, value in found.items():
        if (number := _number(key.lower().removeprefix("q"))) is not None:
            yield number, value


def _number(value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    plain = value.strip().lower().removeprefix("q") if isinstance(value, str) else ""
    return int(plain) if plain.isdecimal() and len(plain) < 5 else None


def _twice_or_entry(said: Any, ends: Ends) -> Reading | None:
    if isinstance(said, _Twice):
        return Reading(None, "", TWICE)
    return _entry(said, ends) if isinstance(said, Mapping) else _reading(said, "", ends)


def _entry(found: Mapping[str, Any], ends: Ends) -> Reading | None:
    """What an object answers; None where it has no such key."""
    for key in _KEYS:
        if key in found:
            if isinstance(found[key], _Twice):
                return Reading(None, "", TWICE)
            quote = found.get("quote")
            return _reading(found[key], quote if isinstance(quote, str) else "", ends)
    return None


def _reading(said: Any, quote: str, ends: Ends) -> Reading:
    value = _value(said, ends)
    plain = valid(quote).strip().strip("\"'“”").strip()
    plain = "" if plain in ("…", "...") else plain
    return Reading(None, "", NEITHER) if value is None else Reading(value, plain)


def _value(said: Any, ends: Ends) -> bool | int | None:
    if ends is None:
        if isinstance(said, bool):
            return said
        plain = said.strip(" \t\r\n.!*_`\"'“”").casefold() if isinstance(said, str) else ""
        return True if plain in _YES else False if plain in _NO else None
    if isinstance(said, str):
        plain = said.strip(" \t\r\n.*_`\"'").removesuffix(f"/{ends[1]}").strip()
        said = int(plain) if plain.isdecimal() and len(plain) < 5 else None
    if isinstance(said, bool) or not isinstance(said, int | float) or said != said // 1:
        return None
    return int(said) if ends[0] <= said <= ends[1] else None
