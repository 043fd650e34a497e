"""Stage 1: which feedback is used. More than two words, about the note, about the section."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from pmbench import Model, Prompt
from pmbench_tasks.notes.pipeline.asking import Asked, Progress, Unreadable, ask_numbered, in_groups
from pmbench_tasks.notes.pipeline.feedback import LEAST_WORDS, words_of
from pmbench_tasks.notes.pipeline.records import WHOLE, Failure, FeedbackItem
from pmbench_tasks.notes.pipeline.told import SECTION_TOLD
from pmbench_tasks.notes.sections import SECTIONS

STAGE = "filter"

PROMPT = Prompt("pmbench_tasks.notes:prompts/pipeline_sections.txt")

NOT_NOTE = "not_the_note"

NOTHING = "nothing"

_ANSWERS = (*SECTIONS, WHOLE, NOT_NOTE)
_TOKENS = 48


class Read(msgspec.Struct, frozen=True):
    """One feedback item and what became of it.

    Attributes:
        item: with its sections.
        tagged: who said which section it is about: `column`, `model`, or `""` where nobody did.
        why: why it is not used; `""`: it is.
    """

    item: FeedbackItem
    tagged: str
    why: str = ""


class Filtered(msgspec.Struct, frozen=True):
    """What stage 1 came to.

    Attributes:
        read: every item, in order.
        failures: items about which the model said nothing usable.
    """

    read: tuple[Read, ...]
    failures: tuple[Failure, ...]

    @property
    def used(self) -> tuple[FeedbackItem, ...]:
        """The items that go on."""
        return tuple(one.item for one in self.read if not one.why)

    @property
    def answered(self) -> int:
        """How many items somebody has said of what they are about, the file's own column among them."""
        return sum(bool(one.tagged) for one in self.read)

    @property
    def reasons(self) -> dict[str, int]:
        """How many items are not used, by reason."""
        found: dict[str, int] = {}
        for one in self.read:
            if one.why:
                found[one.why] = found.get(one.why, 0) + 1
        return found


async def filter_feedback(
    items: Sequence[FeedbackItem], model: Model, *, section: str, progress: Progress
) -> Filtered:
    """Keep the items about one section.

    All items of more than two words are shown to the model, ten at a time, which says what they are about. Where the
    file's own column names a section, that is believed, and the model only says whether the item is about the note at
    all: sites tag by the screen that a remark was made on. An item about the note as a whole is used for a checklist
    of the whole note alone: the paper, too, keeps for a section the feedback that is tagged with it.

    Args:
        items: as read.
        model: is asked.
        section: a section, or `""` for a checklist of the whole note: then all feedback about the note is used.
        progress: hears of it.
    """
    long_enough = [item for item in items if words_of(item.text) >= LEAST_WORDS]
    pairs = await in_groups(
        long_enough,
        lambda group: _ask(group, model),
        model=model,
        progress=progress,
        phase="filter feedback",
    )
    said = {item.id: answer for item, answer in pairs}
    failures = tuple(
        Failure(STAGE, (ident,), answer.failure) for ident, answer in said.items() if answer.failure
    )
    return Filtered(tuple(_read(item, said.get(item.id), section) for item in items), failures)


def _read(item: FeedbackItem, said: Asked[tuple[str, ...]] | None, section: str) -> Read:
    if words_of(item.text) < LEAST_WORDS:
        return Read(item, "column" if item.sections else "", "two words or fewer")
    found = said.value if said is not None else None
    if item.sections:
        about = (NOT_NOTE,) if found == (NOT_NOTE,) else item.sections
        return Read(item, "column", _why_not(about, section))
    if found is None:
        kind = said.failure if said is not None else "unreadable"
        return Read(item, "", f"the model did not say what it is about ({kind})")
    tagged = msgspec.structs.replace(item, sections=tuple(one for one in found if one != NOT_NOTE))
    return Read(tagged, "model", _why_not(found, section))


def _why_not(sections: Sequence[str], wanted: str) -> str:
    if NOT_NOTE in sections:
        return "not about the note"
    if not wanted or wanted in sections:
        return ""
    return "about the note as a whole" if WHOLE in sections else "about another section"


async def _ask(group: Sequence[FeedbackItem], model: Model) -> list[Asked[tuple[str, ...]]]:
    return await ask_numbered(
        model,
        PROMPT,
        [item.text for item in group],
        _sections,
        entry={
            "about": {"type": "string", "enum": list(_ANSWERS)},
            "also": {"type": "string", "enum": [*SECTIONS, NOTHING]},
        },
        tokens_each=_TOKENS,
        sections={name: told for name, told in SECTION_TOLD.items() if name},
        whole=WHOLE,
        not_note=NOT_NOTE,
        nothing=NOTHING,
    )


def _sections(entry: Mapping[str, Any]) -> tuple[str, ...]:
    about, also = entry.get("about"), entry.get("also", NOTHING)
    if about not in _ANSWERS or also not in (*SECTIONS, NOTHING):
        raise Unreadable("Write one of the names given.")
    if also == NOTHING or about not in SECTIONS:
        return (str(about),)  # the note as a whole, and what is not the note, stand alone
    return tuple(dict.fromkeys((str(about), str(also))))
