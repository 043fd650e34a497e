"""A checklist: questions about a note, or criteria of a rubric, with the scale that they are answered on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from pmbench import UnknownName, digest

Scale = Literal["yes-no", "points", "1-5", "0-5"]
"""`yes-no`: questions, of which yes is good. `points`: criteria that are met or not, worth points that may be
negative (HealthBench). `1-5`, `0-5`: criteria that are graded (PDQI-9, MedHELM)."""

SCALES: tuple[Scale, ...] = ("yes-no", "points", "1-5", "0-5")

_ENDS: Mapping[str, tuple[int, int]] = {"1-5": (1, 5), "0-5": (0, 5)}

OWN = ("assessment-and-plan", "baseline")
"""Checklists that come with this family, by name; `checklists/CARD.md` says what they are and are not."""


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """One question or criterion.

    Attributes:
        id: unique in its checklist.
        question: as a judge is asked it; of a rubric, the criterion.
        weight: against the other items; not used where the scale is `points`.
        category: a name that items share, `""` for none.
        points: what meeting it is worth, where the scale is `points`; else None.
        source_feedback: ids of the feedback items that it answers to.
    """

    id: str
    question: str
    weight: float = 1.0
    category: str = ""
    points: float | None = None
    source_feedback: tuple[str, ...] = ()


class Checklist(msgspec.Struct, frozen=True, kw_only=True):
    """Questions or criteria for one section of a note, or for all of it.

    Attributes:
        name: for tables.
        items: in order.
        section: the section of a note that it is about; `""` for the whole note.
        scale: how items are answered.
        judges: the models that a file names as its jury. Known for the record: whom pmbench asks is said by
            `--judge`.
        source: the file it was read from, as messages name it.
    """

    name: str
    items: tuple[Item, ...]
    section: str = ""
    scale: Scale = "yes-no"
    judges: tuple[str, ...] = ()
    source: str = ""

    @property
    def digest(self) -> str:
        """SHA-256 over what decides answers and scores: section, scale, and each item's id, question, weight,
        category and points. Not its name, its jury, its file or the feedback it came from.
        """
        items = [[one.id, one.question, float(one.weight), one.category, one.points] for one in self.items]
        return digest({"items": items, "section": self.section, "scale": self.scale})

    @property
    def ends(self) -> tuple[int, int] | None:
        """The lowest and the highest grade of a graded scale; None for the others."""
        return _ENDS.get(self.scale)

    def where(self, number: int) -> str:
        """`FILE, item 3 'ap03'`: the place of an item (from 0) for a message."""
        from pmbench import id_shown

        place = f"item {number + 1} {id_shown(self.items[number].id)}"
        return f"{self.source}, {place}" if self.source else place


def read_checklist(path: Path, *, row: str = "") -> Checklist:
    """Read a checklist, in whatever of the known forms it is, and refuse it where `validate` finds an error.

    - JSON or YAML of our own: an object with `items` (or `questions`, or `criteria` for grades), or a list.
    - The JSON of AutoChecklist.
    - HealthBench: JSON lines or JSON with `rubrics`, one prompt at a time; or a JSON list of its criteria.
    - The YAML of a MedHELM benchmark with a `jury_score`, whose criteria stand in its judge prompt.
    - The nine attributes of a PDQI-9, or other graded criteria, as JSON, YAML or CSV.
    - Lists of questions: Markdown, text, CSV, TSV, JSON lines.

    Args:
        path: the file.
        row: the `prompt_id` of the rubric wanted, where a HealthBench file has several.

    Raises:
        DataError: it cannot be read, has no known form, or is no usable checklist; the message names file,
            item and remedy.
        UnknownName: there is no rubric with that `prompt_id`.
    """
    from pmbench_tasks.notes.reading import parse_checklist
    from pmbench_tasks.notes.validation import refuse_errors

    read = parse_checklist(path, row=row)
    refuse_errors(read)
    return read


def own_checklist(name: str) -> Checklist:
    """A checklist that comes with this family (`OWN`).

    Raises:
        UnknownName: there is none of that name.
    """
    from importlib.resources import as_file, files

    if name not in OWN:
        raise UnknownName("checklist", name, OWN, remedy="Or give a file: -o checklist=FILE")
    with as_file(files("pmbench_tasks.notes") / "checklists" / f"{name}.json") as path:
        return msgspec.structs.replace(read_checklist(path), source=f"{name}.json")


def validate(checklist: Checklist) -> list[str]:
    """Everything that is wrong or doubtful, a line each, errors first; nothing is raised.

    A line that begins with `error:` is one for which `read_checklist` refuses a file; the others are remarks.
    """
    from pmbench_tasks.notes.validation import findings

    return [one.line for one in findings(checklist)]


def checklist_json(checklist: Checklist) -> str:
    """The checklist in our own JSON form, which `read_checklist` reads back with the same digest."""
    items: list[dict[str, Any]] = []
    for one in checklist.items:
        item: dict[str, Any] = {"id": one.id, "question": one.question}
        if checklist.scale == "points":
            item["points"] = one.points
        else:
            item["weight"] = one.weight
        if one.category:
            item["category"] = one.category
        if one.source_feedback:
            item["source_feedback"] = list(one.source_feedback)
        items.append(item)
    head: dict[str, Any] = {"name": checklist.name, "section": checklist.section, "scale": checklist.scale}
    if checklist.judges:
        head["judges"] = list(checklist.judges)
    return _written({**head, "items": items})


def autochecklist_json(checklist: Checklist, *, source_method: str = "feedback") -> str:
    """The checklist as `Checklist.load` of AutoChecklist (autochecklist 0.2.3) reads it.

    Its weights are 0 to 100 with 100 as the usual one: where no weight is above 1, or one is above 100, all
    are scaled so that the greatest is 100. The category of an item without one is null.

    Args:
        checklist: of yes/no questions.
        source_method: what that file shall say of how it was made.

    Raises:
        ValueError: another scale, which that format cannot say.
    """
    if checklist.scale != "yes-no":
        raise ValueError(f"AutoChecklist has yes/no questions only, and this scale is {checklist.scale}")
    most = max((one.weight for one in checklist.items), default=1.0)
    factor = 100 / most if 0 < most <= 1 or most > 100 else 1.0
    items = [
        {
            "id": one.id,
            "question": one.question,
            "weight": one.weight * factor,
            "category": one.category or None,
            "metadata": {"source_feedback": list(one.source_feedback)} if one.source_feedback else {},
        }
        for one in checklist.items
    ]
    return _written(
        {
            "id": checklist.digest[:12],
            "name": checklist.name,
            "section": checklist.section,
            "items": items,
            "source_method": source_method,
            "generation_level": "corpus",
            "input": None,
            "corpus_description": None,
            "metadata": {"name": checklist.name, "section": checklist.section},
        }
    )


def _written(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=1).decode() + "\n"
