"""The perturbed notes of an evaluation: which kinds are asked for, and what was made of each reference note."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from pmbench import ConfigError, Model, RequestFailed, UnknownName
from pmbench_tasks.notes.evaluation.given import Notes, Written, note_id
from pmbench_tasks.notes.note_sentences import SentencePool
from pmbench_tasks.notes.perturb import RULES, perturb
from pmbench_tasks.notes.perturb_by_model import BY_MODEL, SECTION, perturb_by_model
from pmbench_tasks.notes.perturbed import Perturbed
from pmbench_tasks.notes.pipeline.asking import Progress, each
from pmbench_tasks.notes.visits import Visit

GROUPS: Mapping[str, tuple[str, ...]] = {
    "rule": RULES,
    "model": BY_MODEL,
    "all": (*RULES, *BY_MODEL),
    "none": (),
}
"""Names that stand for several perturbations."""


class Made(msgspec.Struct, frozen=True):
    """What one perturbation made of one note.

    Attributes:
        kind: the perturbation.
        note: id of the reference note.
        written: what is judged; None where the section is as it was, or the model gave no usable answer.
        record: kind, every change, and what was not touched and why.
        failure: why the model gave none.
    """

    kind: str
    note: str
    written: Written | None
    record: dict[str, Any]
    failure: str = ""


class Kinds(NamedTuple):
    """How many notes a perturbation changed, left as they were, and failed to make, by kind of failure."""

    changed: int
    unchanged: int
    failed: dict[str, int]


def kinds_of(asked: str) -> tuple[str, ...]:
    """The perturbations that a list names, separated by commas, in the order of Table 3.

    Raises:
        UnknownName: there is none of a name.
        ConfigError: there is no name at all.
    """
    wanted: set[str] = set()
    names = [name for part in asked.split(",") if (name := part.strip())]
    if not names:
        raise ConfigError("there is no name in it", where="--perturbations", remedy="Write none for none")
    for name in names:
        if name not in GROUPS and name not in GROUPS["all"]:
            raise UnknownName("perturbation", name, (*GROUPS, *GROUPS["all"]))
        wanted.update(GROUPS.get(name, (name,)))
    return tuple(kind for kind in GROUPS["all"] if kind in wanted)


def fitting(kinds: Sequence[str], section: str) -> tuple[str, ...]:
    """Those of the kinds that can change a section: a model rewrites the assessment and plan alone."""
    return tuple(kind for kind in kinds if kind in RULES or section in ("", SECTION))


async def perturb_notes(
    notes: Notes, kinds: Sequence[str], model: Model, *, seed: int, progress: Progress
) -> list[Made]:
    """Perturb every reference note by every kind, in the order of the kinds.

    Args:
        notes: the reference notes; sentences of all visits of the file may be put into others' notes.
        kinds: of Table 3.
        model: rewrites, where a kind is by a model.
        seed: of what is drawn.
        progress: hears of requests.
    """
    pool = SentencePool(
        {one.id: notes.whole(one) for one in notes.visits if one.referenced}, headers=notes.headers
    )
    ruled = [
        _made(notes, visit, _by_rule(kind, visit, notes, pool, seed))
        for kind in kinds
        if kind in RULES
        for visit in notes.referenced
    ]
    wanted = [(kind, visit) for kind in kinds if kind in BY_MODEL for visit in notes.referenced]

    async def rewritten(one: tuple[str, Visit]) -> Made:
        kind, visit = one
        try:
            found = await perturb_by_model(kind, notes.whole(visit), model, headers=notes.headers)
        except RequestFailed as error:
            return Made(kind, note_id(visit.id), None, {"kind": kind}, error.kind)
        return _made(notes, visit, found)

    modelled = await each(
        wanted,
        rewritten,
        model=model,
        progress=progress,
        phase="perturb notes",
        failed=lambda made: bool(made.failure),
    )
    return [*ruled, *modelled]


def counts_of(made: Sequence[Made]) -> dict[str, Kinds]:
    """What came of each kind."""
    found: dict[str, Kinds] = {}
    for kind in dict.fromkeys(one.kind for one in made):
        these = [one for one in made if one.kind == kind]
        failed = Counter(one.failure for one in these if one.failure)
        changed = sum(one.written is not None for one in these)
        found[kind] = Kinds(
            changed, len(these) - changed - sum(failed.values()), dict(sorted(failed.items()))
        )
    return found


def _by_rule(kind: str, visit: Visit, notes: Notes, pool: SentencePool, seed: int) -> Perturbed:
    return perturb(
        kind,
        notes.whole(visit),
        ident=visit.id,
        seed=seed,
        section=notes.section,
        pool=pool,
        headers=notes.headers,
    )


def _made(notes: Notes, visit: Visit, found: Perturbed) -> Made:
    section = notes.section
    if not (found.changed_in(section) if section else found.changed):
        return Made(found.kind, note_id(visit.id), None, found.record())
    text = found.sections[section] if section else found.note
    written = Written(visit.id, visit.transcript, notes.said(text, alone=bool(visit.only)))
    return Made(found.kind, note_id(visit.id), written, found.record())
