"""The words that the guards know, read once from `guard_words.toml`."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from pmbench import digest
from pmbench_tasks.drafting.judging.wording import stem


@dataclass(frozen=True)
class Lexicon:
    """Sets of words, each with one use; the comments of `guard_words.toml` say which.

    Attributes:
        sets: the plain sets, by name.
        weak: stems of words too common to say anything.
        idle: pattern of phrases that look like a denial and are none.
        opposites: word to its meaning and whether it affirms (1) or denies it (-1).
        sides: word to the side that it names.
        parts: what has sides.
        places: place to the pattern of every way to name it, in lower-case words with a space between.
        drugs: any name of a drug to its generic name.
        short: what is short for something, and what it is short for.
        digest: of the whole table.
    """

    sets: Mapping[str, frozenset[str]]
    weak: frozenset[str]
    idle: re.Pattern[str]
    opposites: Mapping[str, tuple[str, int]]
    sides: Mapping[str, str]
    parts: frozenset[str]
    places: Mapping[str, re.Pattern[str]]
    drugs: Mapping[str, str]
    short: Mapping[str, str]
    digest: str


@cache
def word_table() -> dict[str, Any]:
    """`guard_words.toml` as it is."""
    text = files("pmbench_tasks.drafting.judging").joinpath("guard_words.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


@cache
def lexicon() -> Lexicon:
    """The lexicon that the project ships."""
    table = word_table()
    sets = {name: frozenset(value.split()) for name, value in table.items() if isinstance(value, str)}
    sides = dict(table["sides"])
    parts = frozenset(sides.pop("parts").split())
    return Lexicon(
        sets={**sets, "pairs": frozenset(table["pairs"]), "urgent": frozenset(table["urgent"])},
        weak=frozenset(map(stem, sets["weak"])),
        idle=_either(map(re.escape, table["idle"])),
        opposites={
            word: (meaning, sign)
            for meaning, both in table["opposites"].items()
            for sign, same in zip((1, -1), both, strict=True)
            for word in same.split()
        },
        sides={word: side for side, same in sides.items() for word in same.split()},
        parts=parts,
        places={place: _either(ways) for place, ways in table["places"].items()},
        drugs={
            name: generic for generic, names in table["drugs"].items() for name in [generic, *names.split()]
        },
        short={
            name.replace("_", " "): full for full, names in table["short"].items() for name in names.split()
        },
        digest=digest(table),
    )


def written_out(text: str) -> str:
    """The text with what is short written out: `PT for 6 wks` is `physical therapy for 6 weeks`."""
    known = lexicon().short
    return _short().sub(lambda found: known[found[0]], text)


def generic(text: str) -> str:
    """The text with generic names of drugs for their brand names."""
    known = lexicon().drugs
    return _NAME.sub(lambda found: known.get(found[0].lower(), found[0]), text)


_NAME = re.compile(r"[A-Za-z]++(?:-[A-Za-z]++)*+")


@cache
def _short() -> re.Pattern[str]:
    ways = "|".join(sorted(map(re.escape, lexicon().short), key=len, reverse=True))
    return re.compile(rf"(?<![\w-])(?:{ways})(?![\w-])")


def _either(patterns: Iterable[str]) -> re.Pattern[str]:
    ways = "|".join(sorted(patterns, key=len, reverse=True))
    return re.compile(rf"(?<!\S)(?:{ways})(?!\S)")
