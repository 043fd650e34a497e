"""What `pmbench checklist evaluate` is given: read and checked before a model is asked anything."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from pmbench import ConfigError, DataError, id_shown
from pmbench_tasks.notes.checklist import OWN, Checklist, own_checklist, read_checklist
from pmbench_tasks.notes.command_options import feedback_given, file_given, section_named
from pmbench_tasks.notes.evaluation.given import Notes, check_ids, check_notes, within_limit
from pmbench_tasks.notes.evaluation.human import Labels, read_labels
from pmbench_tasks.notes.evaluation.perturbing import fitting, kinds_of
from pmbench_tasks.notes.evaluation.preferences import Pair, read_preferences
from pmbench_tasks.notes.pipeline.feedback import FeedbackFile
from pmbench_tasks.notes.pipeline.records import counted
from pmbench_tasks.notes.pipeline.references import read_visits
from pmbench_tasks.notes.plain_text import plain_line


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """All that checklists are evaluated on.

    Attributes:
        section: that is judged.
        feedback: as it was read; None where there is none.
        notes: the visits; None where there are none.
        pairs, labels, labelled: preferences and people's answers about notes that are there.
        kinds: perturbations that can change the section.
        tests, again, ask, seed: see `gathering_answers.Given`.
        absent: what is not measured, and why.
        passed_over: what was given and is not used, of which a reader has to know.
        files: what was given for which part, by the name of its file.
        settings: what decides the numbers.
    """

    section: str
    feedback: FeedbackFile | None = None
    notes: Notes | None = None
    pairs: Sequence[Pair] = ()
    labels: Labels | None = None
    labelled: Sequence[str] = ()
    kinds: tuple[str, ...] = ()
    asked: Mapping[str, Any] = field(default_factory=dict)
    absent: tuple[str, ...] = ()
    passed_over: tuple[str, ...] = ()
    files: dict[str, str] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def rated(self) -> bool:
        """Whether any feedback item has stars."""
        return self.feedback is not None and self.feedback.unrated < len(self.feedback.items)


def read_checklists(names: Sequence[str], section: str) -> list[Checklist]:
    """The checklists, all for one section and each with a name of its own.

    Args:
        names: files, or names of our own.
        section: that is judged, or `whole`; `""`: what the checklists are about.

    Raises:
        DataError: a file cannot be read or is no usable checklist.
        ConfigError: grades or points, checklists for several sections, or one twice.
    """
    found = []
    for name in names:
        path = Path(name)
        ours = name in OWN and not path.is_file()
        # Called by the short name in every table; what it holds is on the card.
        one = msgspec.structs.replace(own_checklist(name), name=name) if ours else read_checklist(path)
        if one.scale != "yes-no":
            raise ConfigError(
                f"its scale is {one.scale}",
                where=name,
                remedy="Only checklists of yes/no questions are measured",
            )
        found.append(one)
    if section:
        chosen = section_named(section)
        found = [msgspec.structs.replace(one, section=chosen) for one in found]
    elif len(sections := {one.section for one in found}) > 1:
        told = " and ".join(sorted(one or "the whole note" for one in sections))
        raise ConfigError(
            f"the checklists are about {told}", where="CHECKLIST", remedy="Name the one to judge: --section"
        )
    return _named(found, names)


def _named(found: Sequence[Checklist], files: Sequence[str]) -> list[Checklist]:
    names = [one.name for one in found]
    told = [
        f"{one.name} ({plain_line(Path(file).stem)})" if names.count(one.name) > 1 else one.name
        for one, file in zip(found, files, strict=True)
    ]
    if len(set(told)) < len(told):
        raise ConfigError(
            "two checklists have one name", where="CHECKLIST", remedy="Give each once, or other names"
        )
    return [msgspec.structs.replace(one, name=name) for one, name in zip(found, told, strict=True)]


def read_inputs(section: str, asked: Mapping[str, Any], questions: Sequence[str]) -> Inputs:
    """Read everything that the command names.

    Args:
        section: that is judged.
        asked: the command's options.
        questions: ids of all questions of all checklists.

    Raises:
        DataError: a file cannot be read, names notes that are not there, or has labels of no question that is.
        UserError: an option is wrong.
    """
    wanted = kinds_of(asked["perturbations"])
    kinds = fitting(wanted, section)
    feedback = None if asked["feedback"] is None else feedback_given(asked, asked["feedback_limit"])
    notes = None
    if asked["notes"] is not None:
        visits = read_visits(asked["notes"], headers=asked["headers"])
        notes = Notes(visits, section, asked["headers"], asked["limit"])
        check_notes(notes, asked["notes"])
    pairs: list[Pair] = []
    labels: Labels | None = None
    labelled: list[str] = []
    passed_over: list[str] = []
    absent = _absent(asked, section, [kind for kind in wanted if kind not in kinds])
    if notes is not None:
        if asked["preferences"] is not None:
            with file_given(asked["preferences"], "preferences.csv") as path:
                pairs = read_preferences(path)
            idents = (note for pair in pairs for note in (pair.a, pair.b))
            check_ids(idents, notes, asked["preferences"])
        if asked["labels"] is not None:
            with file_given(asked["labels"], "labels.csv") as path:
                labels = read_labels(path)
            check_ids(labels.notes, notes, asked["labels"])
            passed_over += unknown_questions(labels, questions, asked["labels"])
        pairs, labelled, beyond = within_limit(notes, pairs, labels)
        absent += [f"{counted(count, what)}: beyond --limit" for what, count in beyond.items() if count]
    named = ("feedback", "notes", "preferences", "labels")
    chosen = ("perturbations", "tests", "again", "ask", "limit", "feedback_limit", "headers")
    settings = {name.replace("_", "-"): asked[name] for name in (*chosen, "seed", "resamples", "splits")}
    return Inputs(
        section=section,
        feedback=feedback,
        notes=notes,
        pairs=pairs,
        labels=labels,
        labelled=labelled,
        kinds=kinds if notes is not None else (),
        asked=asked,
        absent=tuple(absent),
        passed_over=tuple(passed_over),
        files={name: Path(asked[name]).name for name in named if asked[name] is not None},
        settings=settings,
    )


def unknown_questions(labels: Labels, questions: Sequence[str], where: str) -> list[str]:
    """A line where some labels are of questions that no checklist has; none where all are known.

    Args:
        labels: people's answers.
        questions: ids of all questions of all checklists.
        where: the file of the labels.

    Raises:
        DataError: no question is known.
    """
    lost = [one for one in labels.questions if one not in questions]
    if not lost:
        return []
    # A slip of the pen leaves the question that was meant without a label.
    free = [one for one in questions if one not in labels.questions]
    told = ", ".join(_like(one, free, questions) for one in lost[:5]) + (", …" if len(lost) > 5 else "")
    if len(lost) == len(labels.questions):
        raise DataError(
            f"no checklist has any of its {counted(len(lost), 'question')}: {told}",
            where=where,
            remedy="Call each question by its id in the checklist",
        )
    columns = [labels.questions.index(one) for one in lost]
    count = int((labels.values[:, columns] == labels.values[:, columns]).any(axis=2).sum())
    one_or_more = "is of a question" if count == 1 else "are of questions"
    return [
        f"{counted(count, 'label')} of {Path(where).name} {one_or_more} that no checklist has, and not used: {told}"
    ]


def _like(lost: str, free: Sequence[str], known: Sequence[str]) -> str:
    for names in ({one.casefold(): one for one in these} for these in (free, known)):
        if near := difflib.get_close_matches(lost.casefold(), names, n=1):
            return f"{id_shown(lost)} (did you mean {id_shown(names[near[0]])}?)"
    return id_shown(lost)


def _absent(asked: Mapping[str, Any], section: str, unfit: Sequence[str]) -> list[str]:
    """What is not measured since it was not asked for or nothing was given for it."""
    lines = []
    if asked["feedback"] is None:
        lines.append("coverage, diversity, distances, prediction of stars: no --feedback")
    if asked["notes"] is None:
        what = "reference notes, perturbations, enforceability, preferences, agreement with people"
        return [*lines, f"{what}, questions' statistics, test and retest: no --notes"]
    if asked["preferences"] is None:
        lines.append("preferences: no --preferences")
    if asked["labels"] is None:
        lines.append("agreement of the judge with people: no --labels")
    if not asked["tests"]:
        lines.append("enforceability: --tests 0")
    if not asked["again"]:
        lines.append("whether the judge says the same again: no --again")
    if unfit:
        lines.append(f"{', '.join(unfit)}: a model rewrites the assessment and plan, not the {section}")
    left = set(kinds_of("all")) - set(kinds_of(asked["perturbations"]))
    if left:
        told = ", ".join(kind for kind in kinds_of("all") if kind in left)
        lines.append(f"{told}: not among --perturbations")
    return lines
