"""Perturbations by rule: notes made worse in a known way, which a checklist ought to notice (Table 3 of the paper).

`delete_sentence`, `repeat_sentence`, `coherence_shuffle` (the order of the sentences of a division) and
`irrelevant_sentence` (sentences of other visits) change every division that is large enough; `section_shuffle` mixes
the sentences of all divisions; `delete_section` takes one away. The paper gives no amounts: `SHARE` is ours.

What is drawn depends on the seed, the kind, the visit's id and the division, so it is the same on every machine and
whatever other notes there are, save for the sentences that come from those.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pmbench import ConfigError, UnknownName
from pmbench_tasks.notes.note_sentences import Part, SentencePool, parts_of
from pmbench_tasks.notes.perturbed import Change, Perturbed, perturbed
from pmbench_tasks.notes.sections import Headers, is_empty, known_section

SHARE = 0.25
"""Of a division's sentences, how many are deleted or repeated, or how many are inserted: rounded up, at least one."""

DRAWS = 20
"""How often a shuffle is drawn before the sentences count as alike."""

NO_SENTENCE = "it has no sentence"
ONE_SENTENCE = "it has one sentence"
ALL_ALIKE = "its sentences are all alike"
ONE_DIVISION = "no other division has a sentence"
LAST_DIVISION = "it is the only division"
NOT_THERE = "the note does not have it"
NO_OTHER = "no other note has a sentence for it"


@dataclass(frozen=True, slots=True)
class _Edit:
    """What becomes of a division: other words for its sentences by index (None: taken out), and the record."""

    words: Mapping[int, str | None]
    changes: Sequence[Change]


@dataclass(frozen=True, slots=True)
class _Note:
    """The note that is perturbed, and what decides the draws."""

    kind: str
    parts: Sequence[Part]
    ident: str
    seed: int
    pool: SentencePool

    def draws(self, section: str = "") -> random.Random:
        """The lots of a division, or of the whole note: text as a seed gives the same on every machine."""
        return random.Random(f"{self.seed} {self.kind} {self.ident} {section}")


def perturb(
    kind: str,
    note: str | Mapping[str, str],
    *,
    ident: str,
    seed: int = 0,
    section: str = "",
    pool: SentencePool | None = None,
    headers: Headers = "aci-bench",
) -> Perturbed:
    """Perturb one note by rule.

    Args:
        kind: one of `RULES`.
        note: a note, or its divisions.
        ident: id of its visit, which decides what is drawn, and whose sentences are not taken from `pool`.
        seed: another seed, other draws.
        section: the division that a checklist is about, which `delete_section` then takes away. `""`: one is
            drawn, and it is never the only one. The other kinds change all divisions, as Table 3 has it.
        pool: sentences of the other notes, for `irrelevant_sentence`.
        headers: the published list of headers.

    Returns:
        The note with a record of what was changed. Where nothing could be, `changes` is empty and `untouched` says
        why: such a note is to be counted, not to be scored.

    Raises:
        UnknownName: no such kind, division or list of headers.
        ConfigError: `irrelevant_sentence` without a pool.
    """
    if kind not in RULES:
        raise UnknownName("perturbation by rule", kind, RULES)
    if kind == "irrelevant_sentence" and pool is None:
        raise ConfigError(
            "there are no other notes to take sentences from", where=kind, remedy="Give two notes or more"
        )
    given = _Note(kind, parts_of(note, headers=headers), ident, seed, pool or SentencePool({}))
    if kind == "delete_section":
        made, untouched = _without_section(given, known_section(section) if section else "", headers)
    elif kind == "section_shuffle":
        made, untouched = _across(given)
    else:
        made, untouched = _within(given, _RULES[kind])
    texts = {part.section: part.text for part in given.parts}
    for part in given.parts:
        if edit := made.get(part.section):
            texts[part.section] = part.edited(edit.words) if edit.words else ""
    changes = [
        change for part in given.parts if part.section in made for change in made[part.section].changes
    ]
    return perturbed(kind, note, texts, changes, untouched)


_Made = tuple[dict[str, _Edit], dict[str, str]]
"""The edit of each division that is changed, and why others are not."""


def _within(note: _Note, rule: Callable[[Part, _Note], _Edit | str]) -> _Made:
    made: dict[str, _Edit] = {}
    untouched: dict[str, str] = {}
    for part in note.parts:
        outcome = rule(part, note) if part.spans else NO_SENTENCE
        if isinstance(outcome, str):
            untouched[part.section] = outcome
        else:
            made[part.section] = outcome
    return made, untouched


def _delete_sentence(part: Part, note: _Note) -> _Edit | str:
    if len(part.spans) < 2:
        return ONE_SENTENCE  # without it the division would be gone, which is another perturbation
    count = min(_share(part), len(part.spans) - 1)
    taken = _some(note.draws(part.section), len(part.spans), count)
    return _Edit(dict.fromkeys(taken), [_change(note, part, index, "deleted") for index in taken])


def _repeat_sentence(part: Part, note: _Note) -> _Edit:
    taken = _some(note.draws(part.section), len(part.spans), _share(part))
    words = {index: part.sentence(index) + part.behind(index, part.sentence(index)) for index in taken}
    return _Edit(words, [_change(note, part, index, "repeated") for index in taken])


def _irrelevant_sentence(part: Part, note: _Note) -> _Edit | str:
    draws = note.draws(part.section)
    whole = "\n".join(one.text for one in note.parts)
    drawn = note.pool.draw(draws, part.section, _share(part), ident=note.ident, note=whole)
    if not drawn:
        return NO_OTHER
    places = _some(draws, len(part.spans), len(drawn))
    words, changes = {}, []
    for index, (source, text) in zip(places, drawn, strict=True):
        words[index] = part.sentence(index) + part.behind(index, text)
        changes.append(Change(note.kind, part.section, index + 1, "inserted", text, source=source))
    return _Edit(words, changes)


def _coherence_shuffle(part: Part, note: _Note) -> _Edit | str:
    if len(part.spans) < 2:
        return ONE_SENTENCE
    slots = [(part, index) for index in range(len(part.spans))]
    moved = _shuffled(note, slots, note.draws(part.section), across=False)
    return moved[part.section] if moved else ALL_ALIKE


def _across(note: _Note) -> _Made:
    slots = [(part, index) for part in note.parts for index in range(len(part.spans))]
    untouched = {part.section: NO_SENTENCE for part in note.parts if not part.spans}
    with_sentences = {part.section for part, _ in slots}
    if len(with_sentences) < 2:
        return {}, {**untouched, **dict.fromkeys(with_sentences, ONE_DIVISION)}
    moved = _shuffled(note, slots, note.draws(), across=True)
    return moved, {**untouched, **{name: ALL_ALIKE for name in with_sentences if name not in moved}}


def _without_section(note: _Note, section: str, headers: Headers) -> _Made:
    there = [part for part in note.parts if not is_empty(part.text, headers=headers)]
    if not section:
        if len(there) < 2:
            return {}, {part.section: LAST_DIVISION for part in there}
        section = note.draws().choice([part.section for part in there])
    gone = next((part for part in there if part.section == section), None)
    if gone is None:
        return {}, {section: NOT_THERE}
    return {section: _Edit({}, [Change(note.kind, section, 0, "deleted", gone.text)])}, {}


_RULES: dict[str, Callable[[Part, _Note], _Edit | str]] = {
    "delete_sentence": _delete_sentence,
    "repeat_sentence": _repeat_sentence,
    "coherence_shuffle": _coherence_shuffle,
    "irrelevant_sentence": _irrelevant_sentence,
}

RULES = (
    "delete_sentence",
    "delete_section",
    "repeat_sentence",
    "coherence_shuffle",
    "section_shuffle",
    "irrelevant_sentence",
)
"""The perturbations by rule, in the order of Table 3."""


def _shuffled(
    note: _Note, slots: Sequence[tuple[Part, int]], draws: random.Random, *, across: bool
) -> dict[str, _Edit]:
    """Each sentence in the place of another; empty where every draw reads the same.

    Args:
        note: decides the kind.
        slots: the places that sentences change.
        draws: the lots.
        across: whether a sentence has to come into another division.
    """
    for _ in range(DRAWS):
        order = draws.sample(range(len(slots)), len(slots))
        moves = [
            (slots[come], slots[go])
            for go, come in enumerate(order)
            if slots[come][0].sentence(slots[come][1]) != slots[go][0].sentence(slots[go][1])
        ]
        if any(not across or come[0] is not go[0] for come, go in moves):
            return _moved(note, moves)
    return {}


def _moved(note: _Note, moves: Sequence[tuple[tuple[Part, int], tuple[Part, int]]]) -> dict[str, _Edit]:
    words: dict[str, dict[int, str | None]] = {}
    changes: dict[str, list[Change]] = {}
    for (part, index), (to, to_index) in moves:
        words.setdefault(to.section, {})[to_index] = part.sentence(index)
        changes.setdefault(to.section, []).append(
            Change(
                note.kind, part.section, index + 1, "moved", part.sentence(index), to.section, to_index + 1
            )
        )
    return {name: _Edit(words[name], changes[name]) for name in words}


def _share(part: Part) -> int:
    return max(1, math.ceil(SHARE * len(part.spans)))


def _some(draws: random.Random, among: int, count: int) -> list[int]:
    return sorted(draws.sample(range(among), count))


def _change(note: _Note, part: Part, index: int, what: str) -> Change:
    return Change(note.kind, part.section, index + 1, what, part.sentence(index))
