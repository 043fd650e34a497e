"""Options of the checklist tasks (`-o name=value`), and the checklist that they name."""

from __future__ import annotations

from importlib.resources import as_file, files
from pathlib import Path
from typing import Literal

import msgspec

from pmbench import ConfigError, Options, PathOption, ScoringOption, UnknownName
from pmbench_tasks.notes.checklist import OWN, Checklist, own_checklist, read_checklist
from pmbench_tasks.notes.judge_prompts import Kind
from pmbench_tasks.notes.sections import Headers, known_section

REPLY = "reply"
"""The name of our own checklist for replies."""

WHOLE = "whole"
"""What `-o section` is for the whole note, where the checklist is about one section."""


class ChecklistOptions(Options, frozen=True):
    """Options of every checklist task. Only scoring reads them: the same notes are scored again by another checklist.

    Attributes:
        checklist: a checklist of ours by name, or a file. What it holds is part of a score's digest, so that a file
            that is changed gives new scores, and one that is moved and unchanged the same.
        row: the `prompt_id` of a rubric, where the file is HealthBench's and has several.
        ask: `item`: a judge gets one request for each question; `batch`: one for all questions.
        probability: `auto`: where questions are asked one by one and the judge's backend has log-probabilities, the
            probability of yes is asked for in a second request; `off`: it is not.
    """

    checklist: ScoringOption[PathOption] = ""
    row: ScoringOption[str] = ""
    ask: ScoringOption[Literal["item", "batch"]] = "item"
    probability: ScoringOption[Literal["auto", "off"]] = "auto"


class NoteOptions(ChecklistOptions, frozen=True):
    """Options of notes-checklist.

    Attributes:
        section: the section that is judged, or `whole`; empty: what the checklist is about. The strategy by-section,
            which writes what is judged, says in its own description which that is.
        headers: the published list of headers by which notes are divided.
    """

    checklist: ScoringOption[PathOption] = "assessment-and-plan"
    section: ScoringOption[str] = ""
    headers: Headers = "aci-bench"


class ReplyOptions(ChecklistOptions, frozen=True):
    """Options of syppm-checklist."""

    checklist: ScoringOption[PathOption] = REPLY


def chosen_checklist(options: ChecklistOptions, kind: Kind) -> Checklist:
    """The checklist that options name, for the section that they name.

    Raises:
        DataError: the file cannot be read or is no usable checklist.
        UnknownName: no checklist of ours has that name, or no section.
        ConfigError: a checklist for a section of a note is to judge replies, or the one for replies notes.
    """
    if kind == "note" and options.checklist.strip() == REPLY:
        raise ConfigError(
            "its questions are about a reply to a patient, and notes are judged here",
            where=f"-o checklist={REPLY}",
            remedy="Name a checklist for notes, or run the task syppm-checklist",
        )
    found = _named(options.checklist.strip(), options.row)
    section = options.section if isinstance(options, NoteOptions) else ""
    if section:
        found = msgspec.structs.replace(found, section="" if section == WHOLE else known_section(section))
    if kind == "reply" and found.section:
        raise ConfigError(
            f"is about a section of a note ({found.section}), and a reply has none",
            where=f"-o checklist={options.checklist}",
            remedy="Name a checklist for replies, or take the section out of it",
        )
    return found


def _named(name: str, row: str) -> Checklist:
    if name == REPLY:
        with as_file(files("pmbench_tasks.notes") / "checklists" / f"{REPLY}.json") as path:
            return msgspec.structs.replace(read_checklist(path), source=f"{REPLY}.json")
    if name in OWN:
        return own_checklist(name)
    path = Path(name)
    if not name or (not path.suffix and not path.exists()):
        raise UnknownName("checklist", name, (*OWN, REPLY), remedy="Or give a file: -o checklist=FILE")
    return read_checklist(path, row=row)
