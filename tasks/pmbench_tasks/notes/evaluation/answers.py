"""A judge's answers as a table of notes by questions, and the scores of the notes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pmbench_tasks.notes.evaluation.intervals import NAN, RESAMPLES, Estimate, Floats, means, with_missing


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """Answers to every question about every note.

    Attributes:
        notes: their ids, unique, length n.
        questions: their ids, unique, length k.
        met: 1 for yes, 0 for no, NaN for a missing answer, shape (n, k). A grade of a graded criterion may stand as
            a share from 0 to 1; numbers that need yes or no refuse it.

    Raises:
        ValueError: a shape that does not fit, an id twice, a value outside 0 to 1.
    """

    notes: tuple[str, ...]
    questions: tuple[str, ...]
    met: Floats

    def __post_init__(self) -> None:
        if self.met.shape != (len(self.notes), len(self.questions)):
            shape = f"{len(self.notes)} notes, {len(self.questions)} questions"
            raise ValueError(f"{shape}, and answers of shape {self.met.shape}")
        for what, ids in (("note", self.notes), ("question", self.questions)):
            if len(set(ids)) != len(ids):
                raise ValueError(f"a {what} stands twice")
        if not (np.isnan(self.met) | ((self.met >= 0) & (self.met <= 1))).all():
            raise ValueError("answers must be from 0 to 1, or NaN")

    @property
    def missing(self) -> int:
        """How many answers are missing."""
        return int(np.isnan(self.met).sum())

    @property
    def yes_or_no(self) -> bool:
        """Whether every answer that is there is a yes or a no."""
        return bool(np.isin(self.met[~np.isnan(self.met)], (0.0, 1.0)).all())

    def rows(self, notes: Sequence[str]) -> Floats:
        """The answers about some notes, in their order; a note that is not there has none, shape (len(notes), k)."""
        place = {note: row for row, note in enumerate(self.notes)}
        found = np.full((len(notes), len(self.questions)), NAN)
        for row, note in enumerate(notes):
            if note in place:
                found[row] = self.met[place[note]]
        return found

    def scores(self) -> Floats:
        """Each note's share of yes among the questions answered, (n,); NaN where none is (section 4)."""
        return shares(self.met)


def answers_of(
    given: Mapping[str, Mapping[str, bool | float | None]], questions: Sequence[str] | None = None
) -> Answers:
    """A table from answers by note and question.

    Args:
        given: note id -> question id -> yes, no, or None for missing. A question that a note lacks is missing.
        questions: ids in their order; without, in order of first appearance.

    Raises:
        ValueError: an answer to a question that is not among `questions`.
    """
    order = (
        list(dict.fromkeys(one for row in given.values() for one in row)) if questions is None else questions
    )
    if strange := {one for row in given.values() for one in row}.difference(order):
        raise ValueError(f"an answer to a question that the checklist does not have: {min(strange)!r}")
    table = np.full((len(given), len(order)), NAN)
    for place, row in enumerate(given.values()):
        for column, question in enumerate(order):
            answer = row.get(question)
            table[place, column] = NAN if answer is None else float(answer)
    return Answers(tuple(given), tuple(order), table)


def shares(met: Floats) -> Floats:
    """Mean of each row, of what is there; NaN where nothing is."""
    there = ~np.isnan(met)
    count = there.sum(axis=1)
    total = np.where(there, met, 0.0).sum(axis=1)
    return np.where(count > 0, total / np.where(count > 0, count, 1), NAN)


def read_as(met: Floats, value: float) -> Floats:
    """The answers with every missing one read as 0 or as 1."""
    return np.where(np.isnan(met), value, met)


def mean_score(
    answers: Answers, clusters: Sequence[str] | None = None, *, resamples: int = RESAMPLES, seed: int = 0
) -> Estimate:
    """Mean score of notes in points of 0 to 100; of reference notes it is the paper's Fig. 8.

    A note's score is its share of yes among the questions answered; a note without any answer has none and is left
    out. `least` and `most` read every missing answer as no and as yes, notes without any answer included.

    Args:
        answers: about the notes.
        clusters: what each note belongs to, if several notes go together; they are drawn together then.
        resamples, seed: of the bootstrap by note, or by cluster.
    """
    unit = "note" if clusters is None else "visit"
    points = 100 * answers.scores()[:, None]
    found = means(points, clusters, unit=unit, limits=(0.0, 100.0), resamples=resamples, seed=seed)[0]
    ends = [100 * float(read_as(answers.met, end).mean()) if answers.met.size else NAN for end in (0.0, 1.0)]
    return with_missing(found, answers.missing, *ends)


def pass_rates(
    answers: Answers, clusters: Sequence[str] | None = None, *, resamples: int = RESAMPLES, seed: int = 0
) -> list[Estimate]:
    """Share of yes of each question, among the notes for which it was answered, with an interval by note."""
    unit = "note" if clusters is None else "visit"
    found = means(answers.met, clusters, unit=unit, limits=(0.0, 1.0), resamples=resamples, seed=seed)
    missing = np.isnan(answers.met).sum(axis=0)
    least, most = (
        read_as(answers.met, end).mean(axis=0) if len(answers.met) else missing for end in (0.0, 1.0)
    )
    return [
        with_missing(one, int(count), float(down), float(up))
        for one, count, down, up in zip(found, missing, least, most, strict=True)
    ]
