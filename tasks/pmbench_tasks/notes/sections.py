"""The divisions of a clinical note, found by the published rules of ACI-bench and of MEDIQA-Chat 2023.

Both publish a script that looks for headers at the beginning of lines, and their lists of headers differ, so a note
may be divided in two ways: which list was used belongs beside every number. The rules (`sectiontagger.py` of
ACI-bench and of MEDIQA-Chat 2023, `divide_note_by_metasections`):

- A header with a colon opens its division wherever it begins a line, and without the colon where it is alone on the
  line. Headers of a second kind need neither: a line that begins with `Results` opens the results.
- Letter case and the number of spaces do not count; only `IMPRESSION`, of the assessment, must be in upper case.
- Text before the first header is subjective.
- A division begins at its first header and reaches to where another division begins: a social history that stands
  behind the examination is part of the examination.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from pmbench import UnknownName

SECTIONS = ("subjective", "objective_exam", "objective_results", "assessment_and_plan")
"""The divisions of a note, in their usual order."""

EMPTY = "#####EMPTY#####"
"""What the published files have in place of a division that a note does not have."""

STANDARD_HEADERS = {
    "subjective": "HISTORY OF PRESENT ILLNESS",
    "objective_exam": "PHYSICAL EXAM",
    "objective_results": "RESULTS",
    "assessment_and_plan": "ASSESSMENT AND PLAN",
}
"""The header that MEDIQA-Chat 2023 asks for each division; alone on its line, both lists of headers know it."""

Headers = Literal["aci-bench", "mediqa-chat"]

HEADERS: tuple[Headers, ...] = ("aci-bench", "mediqa-chat")
"""Names of the published lists of headers."""

_COLON = {  # with a colon, or alone on the line; in the order in which they are looked for
    "subjective": (
        "cc|chief complaint|reason for visit|history|history of present illness|hpi|hpi notes|interval history"
        "|interval hx|subjective|ros|review of system|review of systems"
    ),
    "objective_exam": "physical exam|physical examination|pe|physical findings|examination|exam",
    "objective_results": "results|findings",
    "assessment_and_plan": (
        "assessment|plan|plan of care|medical decision-making plan|ap|a / p|assessment and plan"
        "|assessment & plan|disposition / plan"
    ),
}
_PREFIX: dict[Headers, dict[str, str]] = {  # wherever a line begins with them
    "aci-bench": {
        "subjective": "chief complaint|history of present illness|hpi|social history|past history",
        "objective_exam": "physical examination|physical exam|vitals reviewed",
        "objective_results": "results",
        "assessment_and_plan": "summary plan|assessment and plan",
    },
    "mediqa-chat": {
        "subjective": "history of present illness|hpi",
        "assessment_and_plan": "summary plan",
    },
}
_LETTERS = "a|p"
"""Headers of the assessment and the plan after which the colon follows at once, as the published rules have it."""

_IMPRESSION = "IMPRESSION"
_MARKER = re.compile(rf"(?:\w+\s*:\s*)?{EMPTY}\.?")


@dataclass(frozen=True, slots=True)
class Header:
    """A line that opens a division.

    Attributes:
        section: the division.
        start: where its line begins in the note.
        end: where the header ends, its colon included.
    """

    section: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Piece:
    """One division as it stands in a note, its header included: `note[start:end]`."""

    section: str
    start: int
    end: int


def sections_of(note: str, *, headers: Headers = "aci-bench") -> dict[str, str]:
    """Each division's text, its header included; `""` where the note has none.

    The texts that are not empty, put in the order in which they stand in the note, are the note to the letter.

    Args:
        note: any text.
        headers: which published list of headers counts.

    Raises:
        UnknownName: there is no such list.
    """
    found = dict.fromkeys(SECTIONS, "")
    found.update((piece.section, note[piece.start : piece.end]) for piece in pieces_of(note, headers=headers))
    return found


def pieces_of(note: str, *, headers: Headers = "aci-bench") -> list[Piece]:
    """Where the divisions stand, in the order of the note; they leave no letter of it out.

    Raises:
        UnknownName: there is no such list of headers.
    """
    starts: dict[str, int] = {}
    for header in headers_of(note, headers=headers):
        if not starts and header.start:
            starts["subjective"] = 0
        starts.setdefault(header.section, header.start)
    starts = starts or {"subjective": 0}
    ends = [*list(starts.values())[1:], len(note)]
    return [Piece(name, start, end) for (name, start), end in zip(starts.items(), ends, strict=True)]


def headers_of(note: str, *, headers: Headers = "aci-bench") -> Iterator[Header]:
    """Every line that opens a division, or opens it once more, in the order of the note.

    Raises:
        UnknownName: there is no such list of headers.
    """
    patterns = _patterns(headers)
    offset = 0
    for line in note.split("\n"):  # of all that can end a line, only this does in the published rules
        if found := _header_in(line, patterns):
            section, end = found
            yield Header(section, offset, offset + end)
        offset += len(line) + 1


def known_section(name: str) -> str:
    """The division of that name; letter case, spaces and hyphens do not count.

    Raises:
        UnknownName: there is none; the names are listed.
    """
    plain = re.sub(r"[\s-]+", "_", name.strip().casefold())
    if plain not in SECTIONS:
        raise UnknownName("section of a note", name, SECTIONS)
    return plain


def is_empty(section: str, *, headers: Headers = "aci-bench") -> bool:
    """Whether a division says nothing: no text, a header and nothing under it, or the marker `EMPTY`."""
    return not body_of(section, headers=headers).strip()


def body_of(section: str, *, headers: Headers = "aci-bench") -> str:
    """A division's text without the header that opens it; `""` where all that stands there is the marker `EMPTY`."""
    first = next(headers_of(section, headers=headers), None)
    opened = first is not None and not section[: first.start].strip()
    body = section[first.end :] if first is not None and opened else section
    return "" if _MARKER.fullmatch(body.strip()) else body


def join_sections(bodies: Mapping[str, str]) -> str:
    """A note of the divisions that have text, each under its standard header.

    Args:
        bodies: text of each division, without its header.
    """
    parts = (standard_section(name, bodies.get(name, "")) for name in SECTIONS)
    return "\n\n".join(filter(None, parts))


def standard_section(section: str, body: str) -> str:
    """A division under its standard header; `""` where its text is blank."""
    return f"{STANDARD_HEADERS[section]}\n\n{body.strip()}" if body.strip() else ""


def _header_in(line: str, patterns: tuple[tuple[str, re.Pattern[str]], ...]) -> tuple[str, int] | None:
    indent = len(line) - len(line.lstrip())
    for section, pattern in patterns:
        if found := pattern.match(line, indent):
            return section, found.end()
    return None


@lru_cache(maxsize=len(HEADERS))
def _patterns(headers: Headers) -> tuple[tuple[str, re.Pattern[str]], ...]:
    if headers not in _PREFIX:
        raise UnknownName("list of section headers", headers, HEADERS)
    made = []
    for section in SECTIONS:
        named = _words(_COLON[section])
        parts = [rf"(?:{named})\s*:", rf"(?:{named})(?=\s*$)"]
        if section == "assessment_and_plan":
            parts.append(rf"(?:{_LETTERS})(?::|(?=\s*$))")
        if prefixes := _PREFIX[headers].get(section):
            parts.append(_words(prefixes))
        made.append((section, re.compile("|".join(parts), re.IGNORECASE)))
    made.append(("assessment_and_plan", re.compile(_IMPRESSION)))
    return tuple(made)


def _words(names: str) -> str:
    """A pattern for any of the names; where one has a space, there may be any number, or none."""
    # Longest first: of two headers of one division that both fit, the longer one is what stands there.
    ordered = sorted(names.split("|"), key=len, reverse=True)
    return "|".join(r"\s*".join(map(re.escape, name.split(" "))) for name in ordered)
