"""Rules that keep a passage from standing for a sentence that it contradicts.

A cosine does not see one changed word. These rules do, for words that they know: they read what a text claims
(`claims`) and compare two texts (`contradiction`). They only ever refuse; what they do not understand passes.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from pmbench_tasks.drafting.judging.answers import answers, otherwise_answered
from pmbench_tasks.drafting.judging.lexicon import lexicon, written_out
from pmbench_tasks.drafting.judging.polarity import Mark, Signs, marks, opposed, signs
from pmbench_tasks.drafting.judging.quantities import DELAY, NUMBER, PART, WEEKDAY, Quantity, quantities
from pmbench_tasks.drafting.judging.wording import words

RULES = 2
"""Raised when a rule changes what it refuses."""
OPPOSED_SHARE = 0.2
"""Share of the meanings of a sentence that a passage has to turn round to contradict it."""
_REFER = 3
"""Words after `left` in which a part of the body makes it a side: `the left big toe`."""
_CONTEXT = 2_000
"""Longest sentence, in letters, that a clause is read within; so that time stays linear."""
_DAY = 24.0


@dataclass(frozen=True, slots=True)
class Claims:
    """What a text says, as far as the guards understand it.

    Attributes:
        tokens: its words, what is short written out.
        signs: meanings, affirmed (1) or denied (-1).
        around: the same of each whole sentence that the text is of.
        named: what it names, by rule: `sides` (left, right, both, upper, lower), `drugs` (generic names) and
            `places` (where to turn to).
        named_around: the same of the whole sentence.
        quantities: amounts, times and dates.
        quantities_around: those of the whole sentence.
        conditional: whether it names a condition.
        conditional_around: whether the whole sentence does.
    """

    tokens: tuple[str, ...]
    signs: Signs
    around: tuple[Signs, ...]
    named: Mapping[str, frozenset[str]]
    named_around: Mapping[str, frozenset[str]]
    quantities: frozenset[Quantity]
    quantities_around: frozenset[Quantity]
    conditional: bool
    conditional_around: bool


def claims(text: str, sentences: Sequence[str] = (), at: int = 0) -> Claims:
    """What a text claims. Never raises; linear in its length.

    Args:
        text: a sentence, a clause of one, or several sentences.
        sentences: what it is of: the sentence that a clause is cut from (a denial may stand before the clause
            and reach into it), or the sentences of a pair. Just the text itself if not given.
        at: where a clause begins in its sentence.
    """
    tokens, found, named, amounts = _read(text)
    whole = [_read(sentence) for sentence in sentences if len(sentence) <= _CONTEXT] or [_read(text)]
    if len(sentences) == 1 and len(sentences[0]) <= _CONTEXT:
        before = len(words(written_out(sentences[0][:at])))
        found = tuple(mark for mark in whole[0][1] if before <= mark.at < before + len(tokens))
    return Claims(
        tokens=tokens,
        signs=signs(found),
        around=tuple(signs(every) for _, every, _, _ in whole),
        named=named,
        named_around={rule: frozenset().union(*(every[rule] for _, _, every, _ in whole)) for rule in named},
        quantities=amounts,
        quantities_around=amounts.union(*(every for _, _, _, every in whole)),
        conditional=_conditional(tokens),
        conditional_around=any(_conditional(every) for every, _, _, _ in whole),
    )


def contradiction(sentence: Claims, passage: Claims) -> str:
    """The name of the first rule by which a passage cannot stand for a sentence; empty if none speaks against.

    A passage may say more than the sentence, so each rule asks that what the sentence names is among what the
    passage names, and is silent where the passage names nothing of the kind.
    """
    if clash(sentence.quantities, passage.quantities) or clash(
        sentence.quantities, passage.quantities_around
    ):
        return "amount"
    for rule, said in sentence.named.items():
        for drafted in (passage.named[rule], passage.named_around[rule]):
            if said and drafted and not said <= drafted:
                return rule
    if _drops_condition(sentence, passage):
        return "condition"
    if otherwise_answered(answers(sentence.tokens), answers(passage.tokens)):
        return "answer"
    return "polarity" if turned(sentence, passage) >= OPPOSED_SHARE else ""


def _drops_condition(sentence: Claims, passage: Claims) -> bool:
    """Whether a sentence sends somebody for urgent care at once, and a passage only under a condition."""
    sets = lexicon().sets
    unconditional = not sentence.conditional and sets["loose_conditions"].isdisjoint(sentence.tokens)
    return (
        unconditional
        and passage.conditional_around
        and not sets["urgent"].isdisjoint(sentence.named["places"])
    )


def turned(sentence: Claims, passage: Claims) -> float:
    """Share of the meanings of a sentence that a passage, or a sentence that it is of, has the other way round.

    1 where one of them is a pair of opposites (`normal` and `abnormal`).
    """
    worst: list[str] = []
    for other in (passage.signs, *passage.around):
        found = opposed(sentence.signs, other)
        if any(meaning.startswith("=") for meaning in found):
            return 1.0
        worst = max(worst, found, key=len)
    return len(worst) / max(1, len(sentence.signs))


def clash(sentence: Iterable[Quantity], passage: Iterable[Quantity]) -> str:
    """A kind of quantity of which both name some, and the sentence one that the passage does not; else empty."""
    for quantity in sentence:
        same = [other for other in passage if other.kind == quantity.kind]
        if quantity.kind == PART:  # may belong to another part of the sentence
            same = (
                same if not any(q.agrees(other) for q in sentence for other in same if q.kind == PART) else []
            )
        if quantity.kind == NUMBER and same:  # may be an amount whose unit was left out
            same = list(passage)
        if same and not any(map(quantity.agrees, same)):
            return quantity.kind
    return WEEKDAY if _otherwise_named(sentence, passage) or _otherwise_named(passage, sentence) else ""


def _otherwise_named(one: Iterable[Quantity], other: Iterable[Quantity]) -> bool:
    """Whether one names a day of the week where the other has today or tomorrow."""
    return (
        any(q.kind == WEEKDAY for q in one)
        and any(q.kind == DELAY and q.high <= _DAY for q in other)
        and not any(q.kind == WEEKDAY for q in other)
    )


_Read = tuple[tuple[str, ...], tuple[Mark, ...], Mapping[str, frozenset[str]], frozenset[Quantity]]


def _read(text: str) -> _Read:
    """Words, marks, what is named and quantities; kept for a while where the text is a sentence."""
    return _kept(text) if len(text) <= _CONTEXT else _read_anew(text)


def _read_anew(text: str) -> _Read:
    tokens = tuple(words(written_out(text)))
    return tokens, tuple(marks(tokens)), _named(tokens), quantities(tokens)


_kept = lru_cache(maxsize=2048)(_read_anew)


def _named(tokens: Sequence[str]) -> dict[str, frozenset[str]]:
    known = lexicon()
    joined = " ".join(tokens)
    return {
        "sides": frozenset(_sides(tokens)),
        "drugs": frozenset(known.drugs[token] for token in tokens if token in known.drugs),
        "places": frozenset(place for place, ways in known.places.items() if ways.search(joined)),
    }


def _sides(tokens: Sequence[str]) -> Iterable[str]:
    known = lexicon()
    for at, token in enumerate(tokens):
        if token in known.sides and known.parts.intersection(tokens[at + 1 : at + 1 + _REFER]):
            yield known.sides[token]


def _conditional(tokens: Sequence[str]) -> bool:
    """Whether a text names a condition: `if`, `unless`, `in case`, `Should you …`, `When …`."""
    return (
        not lexicon().sets["conditions"].isdisjoint(tokens)
        or tuple(tokens[:1]) in (("should",), ("when",))
        or ("in", "case") in itertools.pairwise(tokens)
    )
