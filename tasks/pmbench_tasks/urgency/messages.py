"""Messages as the urgency tasks read them: text and chart taken apart, levels, ids, and who the patient is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

from pmbench import DataError, Row, digest

CITATION = "Gatto et al. 2026, Medical Triage as Pairwise Ranking, arXiv 2601.13178"

MOST_URGENT, LEAST_URGENT = 1, 6
"""Ends of the scale of levels: lower is more urgent. Halves occur."""

BANDS = ((18, "0–17"), (40, "18–39"), (65, "40–64"))
"""Age bands: the age, in years, below which a patient is in the band; everybody else is `65+`."""

OLDEST_BAND, OLDEST = "65+", 125
_ID_DIGITS = 10

LONGEST_NAME = 64
"""Characters of an id or a name; what is longer looks like text."""

_CHART_HEADING = re.compile(r"^\s*#{1,6}\s*EHR\s*:?[ \t]*(?:#{1,6}(?=\s*\n))?\s*", re.IGNORECASE)
_MESSAGE_HEADING = re.compile(
    r"#{1,6}[ \t]*Patient[ _-]?Message(?:\s*#{1,6}\s*:?|\s*:|[ \t]*(?=\n))\s*", re.IGNORECASE
)

_UNITS = {"day": 1 / 365.25, "week": 7 / 365.25, "month": 1 / 12, "year": 1.0}
_AGE = r"(?<![\d.])(\d{1,3}(?:\.\d)?)"
_LABELLED_AGE = re.compile(
    rf"(?:^|\n)[ \t#*•-]*Age(?:[ \t]*\((?:in )?years?\))?[ \t]*[:=\-]?[ \t]*[>≥~]?[ \t]*{_AGE}"
    r"[ \t]*(day|week|month|year)?",
    re.IGNORECASE,
)
_WRITTEN_AGE = re.compile(
    rf"{_AGE}[ -]?(?:(day|week|month|year)s?[ -]old|(?:y[./]?\s?o\b\.?|yrs?\.?[ -]old))", re.IGNORECASE
)
_OPENING_AGE = (
    re.compile(  # elsewhere years alone are those of an illness; `of`, `ago` say so at the beginning
        r"\W*(\d{1,3}(?:\.\d)?)[ -]?(yr)s?\b(?!\.?\s+(?:of|ago|since|after|post|history|hx)\b)", re.IGNORECASE
    )
)
_TERSE_AGE = re.compile(r"^\W*(?:(\d{1,3})\s?/?\s?(?:[MF]\b)|[MF]\s?/?\s?(\d{1,3})\b)")

_FEMALE = r"woman|female|girl|lady|F"
_MALE = r"man|male|boy|gentleman|M"
_LABELLED_SEX = re.compile(  # without a sign only a word for it is one: `Sex M`, and not `Sexually active`
    r"(?:^|\n)[ \t#*•-]*(?:Gender|Sex)\b(?:[ \t]+at[ \t]+birth)?"
    r"(?:[ \t]*[:=][ \t]*([A-Za-z][A-Za-z -]*)"
    r"|[ \t]*[ \t-][ \t]*((?:female|male|woman|man|girl|boy|f|m|unknown|other|non-?binary)\b(?!-)))",
    re.IGNORECASE,
)
_WRITTEN_SEX = re.compile(rf"\b(?:({_FEMALE})|({_MALE}))\b")
_WRITTEN_SEX_ANY_CASE = re.compile(
    r"\b(?:(woman|female|girl|lady)|(man|male|boy|gentleman))\b", re.IGNORECASE
)
_UNKNOWN = frozenset({"unknown", "not", "n", "unspecified", "none", "declined", "prefer"})
_SENTENCE_END = re.compile(r"[;\n]|\.\s")
_NEAR = 40
"""Characters of a chart behind an age in which the patient's sex is looked for, and at its beginning."""

_LEVEL = re.compile(r"(?:level\s*)?(\d+(?:\.\d+)?)", re.IGNORECASE)

Sex = Literal["", "female", "male", "other"]


PortalMessage = Mapping[str, str]
"""One message as a strategy sees it: `id`, `message` and `chart`."""


def split_packed(text: str) -> tuple[str, str]:
    """Take apart `### EHR: … ### Patient Message: …`, however it is spaced.

    Returns:
        Chart and message, stripped. A text without a heading for the message is all message, unless it begins
        with the chart's heading: then there is no message, which is for the caller to refuse.
    """
    heading = _MESSAGE_HEADING.search(text)
    opening = _CHART_HEADING.match(text)
    if heading is None:
        return (text[opening.end() :].strip(), "") if opening else ("", text.strip())
    start = opening.end() if opening and opening.end() <= heading.start() else 0
    return text[start : heading.start()].strip(), text[heading.end() :].strip()


def portal_message(row: Row, column: str, chart_column: str, ident: str = "") -> PortalMessage:
    """The message of a row, its packed text taken apart.

    Args:
        row: one row of a dataset.
        column, chart_column: where its text and its chart stand; a chart of its own goes before one in the text.
        ident: the message's id; empty: made from its text.

    Raises:
        DataError: there is no message.
    """
    packed_chart, message = split_packed(row.text(column))
    if not message:
        raise DataError(
            "the message is empty", where=row.where(column), remedy="Fill it in or leave the row out"
        )
    chart = row.text(chart_column).strip() or packed_chart
    return {"id": ident or text_id(message, chart), "message": message, "chart": chart}


def text_id(message: str, chart: str = "") -> str:
    """An id for a message without one: `m-` and ten hexadecimal digits of the SHA-256 of chart and message.

    The same words have the same id in whatever file, order or spacing they stand.
    """
    return f"m-{digest([' '.join(chart.split()), ' '.join(message.split())])[:_ID_DIGITS]}"


def level_of(row: Row, column: str = "level") -> float:
    """The level of a row: 1 (most urgent) to 6, halves allowed; written as `2`, `2.0` or `Level 2`.

    Raises:
        DataError: there is none, or it is no such level.
    """
    value: Any = row.values.get(column)
    if value is None or (isinstance(value, str) and not value.strip()):
        raise DataError(
            "there is no level", where=row.where(column), remedy="Fill it in or leave the row out"
        )
    found = None if isinstance(value, bool) else _LEVEL.fullmatch(str(value).strip())
    level = float(found[1]) if found else 0.0
    if not MOST_URGENT <= level <= LEAST_URGENT or (2 * level) % 1:
        raise DataError(
            f"the level is not between {MOST_URGENT} and {LEAST_URGENT}",
            where=row.where(column),
            remedy="1 is the most urgent and 6 the least; halves such as 1.5 are allowed",
        )
    return level


def level_label(level: float) -> str:
    """`2` or `1.5`."""
    return f"{level:g}"


def age_of(chart: str) -> float | None:
    """The patient's age in years as a chart says it, None where it does not.

    A line `Age: …` goes first, then the first of `67-year-old`, `7-month-old`, `54 yo`, `Age 33,` at the
    beginning, `67 yrs` there, and `33F`. Ages of relatives come later in a chart.
    """
    if found := _LABELLED_AGE.search(chart):
        return _years(found[1], found[2])
    if found := _written_age(chart):
        return _years(found[1], found[2])
    if found := _TERSE_AGE.match(chart):
        return _years(found[1] or found[2], None)
    return None


def sex_of(chart: str) -> Sex:
    """`female`, `male`, `other` (a line `Gender: …` with another value), or `""` where a chart does not say it."""
    if labelled := _LABELLED_SEX.search(chart):
        return _labelled_sex(labelled[1] or labelled[2])
    age = _written_age(chart) or _LABELLED_AGE.search(chart)
    if age and (found := _WRITTEN_SEX.search(_SENTENCE_END.split(chart[age.end() : age.end() + _NEAR])[0])):
        return "female" if found[1] else "male"
    if terse := re.match(r"^\W*(?:\d{1,3}\s?/?\s?([MF])\b|([MF])\s?/?\s?\d{1,3}\b)", chart):
        return "female" if (terse[1] or terse[2]) == "F" else "male"
    if found := _WRITTEN_SEX_ANY_CASE.search(_SENTENCE_END.split(chart[:_NEAR])[0]):
        return "female" if found[1] else "male"
    return ""


def band_of(age: float | None) -> str:
    """`0–17`, `18–39`, `40–64`, `65+`; `""` for None."""
    if age is None:
        return ""
    return next((name for below, name in BANDS if age < below), OLDEST_BAND)


def shown(message: Mapping[str, str], *, chart: bool) -> dict[str, str]:
    """What a prompt is given of a message: its text, and its chart unless that is left out."""
    return {"message": message["message"], "chart": message.get("chart", "") if chart else ""}


def _written_age(chart: str) -> re.Match[str] | None:
    return _WRITTEN_AGE.search(chart) or _OPENING_AGE.match(chart)


def _years(number: str, unit: str | None) -> float | None:
    years = float(number) * _UNITS.get((unit or "year").lower(), 1.0)
    return years if years <= OLDEST else None


def _labelled_sex(value: str) -> Sex:
    word = re.split(r"[\s-]", value.strip().lower(), maxsplit=1)[0]
    if word in ("f", "female", "woman", "girl"):
        return "female"
    if word in ("m", "male", "man", "boy"):
        return "male"
    return "" if word in _UNKNOWN else "other"
