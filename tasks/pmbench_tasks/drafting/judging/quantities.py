"""Amounts, times and dates that a text names, in one unit each, so that `BID` and `every 12 hours` are the same.

English, as clinicians write it. What is not understood is left out; of text in another language only its
numbers are seen. A text is first written in one way (`_plain`), then read by one pattern (`_READ`); neither
can look at a letter more than a few times, so that time is linear.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from pmbench_tasks.drafting.judging.lexicon import word_table

SPAN, DELAY, FREQUENCY, NUMBER = "span", "delay", "frequency", "number"
WEEKDAY, MONTH, DAY, CLOCK, PART = "weekday", "month", "day of month", "clock", "part of day"

_CLOSE = 1.2
"""Times written in different units are the same up to this factor: `a month` and `four weeks`."""

_MOST = 200
"""Quantities of one text: two texts are compared each with each, and a text may be a list without end."""

_WORDS = word_table()
_MEASURES = {
    unit: (kind, float(factor))
    for kind, scales in _WORDS["units"].items()
    for factor, names in scales.items()
    for unit in names.split()
}
_HOURS = {unit: float(hours) for hours, names in _WORDS["hours"].items() for unit in names.split()}
_OFTEN = {word: 24 / float(hours) for hours, names in _WORDS["often"].items() for word in names.split()}
"""Times a day."""
_NAMES = {
    name: (kind, float(number))
    for kind, names in _WORDS["names"].items()
    for number, same in enumerate(names, 1)
    for name in same.split()
}
_NEAR = {name: (float(low), float(high)) for name, (low, high) in _WORDS["near"].items()}
_DIGITS = {
    **{word: str(number) for number, word in enumerate(_WORDS["numbers"]["words"].split())},
    **{word: str(10 * number) for number, word in enumerate(_WORDS["numbers"]["tens"].split(), 1)},
    **{word: f"{number} times" for number, word in enumerate(_WORDS["numbers"]["times"].split())},
}
del _DIGITS["-"]


def _any(words: Iterable[str]) -> str:
    return "(?:" + "|".join(sorted(map(re.escape, words), key=len, reverse=True)) + ")"


_N = r"\d++(?:\.\d++)?+"
_RANGE = rf"{_N}(?:~{_N})?+"
_UNIT, _MEASURE, _FREQUENT = _any(_HOURS), _any(_MEASURES), _any(_OFTEN)
_PER = r"(?:a|an|per|each|every|/|in a|in any)"
_FILLER = r"(?:(?:more|full|whole|extra|additional|small) )?+"
_TIME = rf"{_RANGE} {_FILLER}(?:{_UNIT}|workdays)"
_LEADING = r"(?:for|in|about|within|after|of|over|another|than|next|last|past|least|or|around|takes?|until)"

_REWRITES = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"\bgood (?:morning|afternoon|evening)\b", ""),
        (r"\b([ap]) \. m(?: \.)?", r"\1m"),
        (r"(?<!\d )\bpm\b", "night"),
        (rf"\b(tomorrow|{_any(_NAMES)}|{_MEASURE}) am\b", r"\1 morning"),
        (r"\bq(\d{1,2}) ?h(?:rs?|ours?)?\b", r"every \1 hours"),
        (r"(?<=\d),(?=\d{3}\b)", ""),
        (r"\bx ?(?=\d)", "for "),
        (r"\bquarter of an hour\b", "15 minutes"),
        (r"\b(?:business|working) days\b", "workdays"),
        (rf"\bhalf (?:a |an )?(?={_UNIT}\b|{_MEASURE}\b)", "0.5 "),
        (rf"\b(?:a|an|one) (?={_FILLER}{_MEASURE}\b)", "1 "),
        (rf"\b({_LEADING}) (?:a|an) (?={_UNIT}\b)", r"\1 1 "),
        (rf"\bone (?={_UNIT}\b|times?\b|to \d|or \d)", "1 "),
        (rf"\b({_N}) ({_UNIT}) and a half\b", r"\1.5 \2"),
        (rf"\b({_N}) ({_UNIT}) or (\d++)\b(?! {_UNIT}| {_MEASURE})", r"\1~\3 \2"),
        (r"\b(\d++) and a half\b", r"\1.5"),
        (rf"\bfrom {_N}(?: {_MEASURE})? (?:to|-|–) (?={_N}\b)", "to "),
        (rf"\b({_N}) (?:-|–|—|to|or) (?={_N}\b)", r"\1~"),
        (rf"\b({_N}) [-–] (?=[a-z])", r"\1 "),
    )
)

_FORMS = {
    "often": rf"{_RANGE} (?:times?|x) (?:{_PER} {_UNIT}|{_FREQUENT})\b",
    "days_per": rf"{_RANGE} (?:days|nights) {_PER} (?:week|month)\b",
    "every": rf"(?:every|each) (?:other )?+(?:{_RANGE} )?+{_UNIT}\b",
    "word": rf"{_FREQUENT}\b",
    "rate": rf"{_PER} {_UNIT}\b",
    "delay": rf"(?:in|within|after|next) (?:the )?+(?:(?:next|about|around) )?+{_TIME}\b"
    rf"|{_TIME} (?:from now|later)\b",
    "span": rf"{_TIME}\b",
    "nth": rf"(?:day|week|month) {_RANGE}(?![^\s])",
    "clock": r"\d{1,2}(?::\d\d)?+ (?:am|pm|o'clock)\b|\d{1,2}:\d\d\b|noon\b|midnight\b",
    "amount": rf"{_RANGE} {_FILLER}{_MEASURE}(?![^\s])",
    "date": rf"(?:{_any(n for n, (kind, _) in _NAMES.items() if kind == MONTH)}|may) \d{{1,2}}(?:st|nd|rd|th)?+\b",
    "ordinal": rf"the \d{{1,2}}(?:st|nd|rd|th)\b(?! (?:{_UNIT}|dose))",
    "near": rf"{_any(_NEAR)}\b",
    "name": rf"{_any(_NAMES)}\b",
    "slash": r"\d{1,4} / \d{1,4}\b",
    "number": rf"{_RANGE}(?![^\s])",
}
"""Forms of a quantity, the first that fits wins."""
_READ = re.compile(rf"(?<!\S)(?:{'|'.join(f'(?P<{name}>{form})' for name, form in _FORMS.items())})")


@dataclass(frozen=True, slots=True)
class Quantity:
    """An amount of one kind, from `low` to `high`: mg, ml, mm, pounds, hours, times a day, minutes of half a day.

    Attributes:
        unit: hours in the unit that was written, for times; 0 for others.
    """

    kind: str
    low: float
    high: float
    unit: float = 0.0

    def agrees(self, other: Quantity) -> bool:
        """Whether two amounts of one kind may be the same: their ranges meet."""
        slack = 1.01 if self.unit == other.unit else _CLOSE
        return self.low <= other.high * slack and other.low <= self.high * slack


def quantities(tokens: Sequence[str]) -> frozenset[Quantity]:
    """The quantities that the words of a text (`wording.words`) name, the first 200 different ones."""
    found: set[Quantity] = set()
    for match in _READ.finditer(_plain(" ".join(tokens))):
        found.update(_READERS[match.lastgroup or ""](match[0]))
        if len(found) >= _MOST:
            break
    return frozenset(found)


def _plain(text: str) -> str:
    """The text with numbers as digits, units apart from them, ranges as `4~6`."""
    text = " ".join(_DIGITS.get(word, word) for word in text.split(" "))
    for pattern, replacement in _REWRITES:
        text = pattern.sub(replacement, text)
    return text


def _bounds(text: str) -> tuple[float, float]:
    """The first number or range in a text."""
    found = re.search(_RANGE, text)
    low, _, high = (found[0] if found else "1").partition("~")
    return min(float(low), float(high or low)), max(float(low), float(high or low))


def _often(text: str) -> list[Quantity]:
    low, high = _bounds(text)
    last = text.split(" ")[-1]
    scale = _OFTEN.get(last) or 24 / _HOURS[last]
    return [Quantity(FREQUENCY, low * scale, high * scale)]


def _every(text: str) -> list[Quantity]:
    low, high = _bounds(text)
    last = text.split(" ")[-1]
    hours = _HOURS[last] * (2 if " other " in text else 1)
    if not low:
        return []
    return [Quantity(FREQUENCY, 24 / (high * hours), 24 / (low * hours)), *_name(last)]


def _word(text: str) -> list[Quantity]:
    return [Quantity(FREQUENCY, _OFTEN[text], _OFTEN[text]), *_name(text)]


def _time(kind: str) -> Callable[[str], list[Quantity]]:
    def read(text: str) -> list[Quantity]:
        low, high = _bounds(text)
        unit = next(word for word in reversed(text.split(" ")) if word in _HOURS or word == "workdays")
        hours = _HOURS.get(unit, 24 * 7 / 5)
        return [Quantity(kind, low * hours, high * hours, hours)]

    return read


def _nth(text: str) -> list[Quantity]:
    low, high = _bounds(text)
    hours = _HOURS[text.split(" ")[0]]
    return [Quantity(SPAN, low * hours, high * hours, hours)]


def _amount(text: str) -> list[Quantity]:
    low, high = _bounds(text)
    kind, factor = _MEASURES[text.split(" ")[-1]]
    return [Quantity(kind, low * factor, high * factor)]


def _clock(text: str) -> list[Quantity]:
    """Minutes of half a day: `6:30` may be either."""
    if text in ("noon", "midnight"):
        return [Quantity(CLOCK, 0.0, 0.0)]
    hour, _, minute = text.split(" ")[0].partition(":")
    minutes = float(int(hour) % 12 * 60 + int(minute or 0))
    return [Quantity(CLOCK, minutes, minutes)]


def _date(text: str) -> list[Quantity]:
    month, _, day = text.partition(" ")
    number = 5.0 if month == "may" else _NAMES[month][1]
    return [Quantity(MONTH, number, number), *_ordinal(day)]


def _ordinal(text: str) -> list[Quantity]:
    low, high = _bounds(text)
    return [Quantity(DAY, low, high)]


def _near(text: str) -> list[Quantity]:
    low, high = _NEAR[text]
    return [Quantity(DELAY, low, high), *_name(text)]


def _name(text: str) -> list[Quantity]:
    if text not in _NAMES:
        return []
    kind, number = _NAMES[text]
    return [Quantity(kind, number, number)]


def _slash(text: str) -> list[Quantity]:
    """`5 / 9` is a date, `140 / 90` two numbers."""
    first, second = (float(part) for part in text.split(" / "))
    dated = 1 <= first <= 12 and 1 <= second <= 31
    return [
        Quantity(MONTH if dated else NUMBER, first, first),
        Quantity(DAY if dated else NUMBER, second, second),
    ]


def _number(text: str) -> list[Quantity]:
    low, high = _bounds(text)
    return [Quantity(NUMBER, low, high)]


def _nothing(_text: str) -> list[Quantity]:
    return []


_READERS: dict[str, Callable[[str], list[Quantity]]] = {
    "often": _often,
    "days_per": _often,
    "every": _every,
    "word": _word,
    "rate": _nothing,
    "delay": _time(DELAY),
    "span": _time(SPAN),
    "nth": _nth,
    "clock": _clock,
    "amount": _amount,
    "date": _date,
    "ordinal": _ordinal,
    "near": _near,
    "name": _name,
    "slash": _slash,
    "number": _number,
}
