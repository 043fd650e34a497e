"""What a text affirms and what it denies, word by word.

A denial reaches from its word to the end of its clause: in `no redness, but some swelling` redness is denied
and swelling is not. Two denials lift each other: `do not stop tamoxifen` affirms tamoxifen.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pmbench_tasks.drafting.judging.lexicon import Lexicon, lexicon
from pmbench_tasks.drafting.judging.wording import stem

Signs = Mapping[str, frozenset[int]]
"""Each meaning of a text, and whether it is affirmed (1), denied (-1), or both in different places."""

_STOPS = frozenset(".;:!?()\n–—")
_REACH = 12
"""Words that a denial reaches at most."""
_SKIPPED, _COMMA, _THAN = "_", ",", "than"


@dataclass(frozen=True, slots=True)
class Mark:
    """One word of a text that means something: its place among the words, its meaning, +1 or -1."""

    at: int
    meaning: str
    sign: int


def marks(tokens: Sequence[str]) -> list[Mark]:
    """What each word of a text means and whether that is affirmed or denied. Linear in their number.

    Args:
        tokens: `wording.words` of the text.
    """
    if not tokens:
        return []
    known = lexicon()
    kept = _without_idle(tokens, known)
    found: list[Mark] = []
    active: list[int] = []  # for each denial that still holds: words since
    denied = False  # whether something was denied by them
    clause = 0  # marks before the clause
    for at, token in enumerate(kept):
        following = kept[at + 1] if at + 1 < len(kept) else ""
        active = [reached + 1 for reached in active if reached < _REACH]
        if _ends(token, kept, at, denied, known.sets):
            active, denied = [], False
        if token == _COMMA or token in _STOPS or token in known.sets["bounds"]:
            clause = len(found)
        if _denies(token, following, kept[max(0, at - _REACH) : at], known):
            active.append(0)
            if following in known.sets["verdicts"]:
                _turn(found, max(clause, len(found) - _REACH))
        elif token in known.sets["gone"] and following != "of":
            _turn(found, max(clause, len(found) - 1))
        else:
            meaning, sign = _meaning(token, following, known)
            if meaning:
                found.append(Mark(at, meaning, sign * (-1) ** len(active)))
                denied = denied or bool(active)
    return found


def signs(found: Iterable[Mark]) -> Signs:
    """Marks put together by meaning."""
    gathered: dict[str, set[int]] = {}
    for mark in found:
        gathered.setdefault(mark.meaning, set()).add(mark.sign)
    return {meaning: frozenset(both) for meaning, both in gathered.items()}


def opposed(one: Signs, other: Signs) -> list[str]:
    """Meanings that one text affirms and the other denies.

    A word that both deny shows that they deny the same thing, put with other words around it; then none is.
    """
    shared = [meaning for meaning in one if meaning in other]
    if any(one[meaning] == other[meaning] == {-1} for meaning in shared):
        return []
    return [meaning for meaning in shared if not one[meaning] & other[meaning]]


def _turn(found: list[Mark], start: int) -> None:
    found[start:] = [Mark(mark.at, mark.meaning, -mark.sign) for mark in found[start:]]


def _without_idle(tokens: Sequence[str], known: Lexicon) -> list[str]:
    def skipped(found: re.Match[str]) -> str:
        return " ".join([_SKIPPED] * len(found[0].split(" ")))

    return known.idle.sub(skipped, " ".join(tokens)).split(" ")


def _denies(token: str, following: str, before: Sequence[str], known: Lexicon) -> bool:
    """Whether a word, before another one, denies what comes after it."""
    sets = known.sets
    if token in sets["deny"] or token in sets["end"] or token.endswith("n't"):
        return True
    if token in sets["hold"]:
        return following in sets["held"] or following in known.drugs
    if token == _THAN:
        return "likely" in before  # "more likely from reflux than from asthma"
    return f"{token} {following}" in sets["pairs"]


def _ends(
    token: str, tokens: Sequence[str], at: int, denied: bool, sets: Mapping[str, frozenset[str]]
) -> bool:
    """Whether the reach of a denial ends at a word."""
    if token in _STOPS or token in sets["bounds"]:
        return True
    if token in sets["late_bounds"]:
        return denied
    if token not in ("and", _COMMA):
        return False
    rest = tokens[at + 1 : at + 8]
    joined = rest[:1] in (["and"], ["or"])
    if joined:
        rest = rest[1:]
    if rest and any(rest[0] in sets[name] for name in ("fresh", "bounds", "deny")):
        return True
    return token == _COMMA and not joined and not _listed(rest)


def _listed(rest: Iterable[str]) -> bool:
    """Whether what follows a comma goes on with a list: `no fever, chills, or cough`."""
    for token in rest:
        if token in ("or", "and", "nor"):
            return True
        if token in _STOPS:
            return False
    return False


def _meaning(token: str, following: str, known: Lexicon) -> tuple[str, int]:
    """What a word means here and its own sign; nothing for a word without content."""
    if token in known.opposites:
        meaning, sign = known.opposites[token]
        number = following[:1].isdigit()
        if (meaning == "above" and not number) or (token in known.sides and following in known.parts):
            return "", 1
        return f"={meaning}", sign
    if token in known.drugs:
        return known.drugs[token], 1
    if not token[0].isalpha() or token in known.sets["stop"]:
        return "", 1
    word = stem(token)
    return ("", 1) if word in known.weak else (word, 1)
