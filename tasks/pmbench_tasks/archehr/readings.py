"""The texts of a case that answers are compared with, put together as the official scorer does."""

from __future__ import annotations

from pmbench_tasks.archehr.cases import Case
from pmbench_tasks.archehr.relevance import Compared


def question_text(case: Case) -> str:
    """Narrative and clinician's question, an empty line between them (official scorer, 2025)."""
    return f"{case.narrative}\n\n{case.clinician_question}"


def essential_text(case: Case) -> str:
    """The essential sentences, a line each, in the order of the note.

    The official scorer takes them in the order of a Python set, which changes from process to process.
    """
    return "\n".join(one.text for one in case.sentences if case.relevance.get(one.id) == "essential")


def note_text(case: Case) -> str:
    """All sentences of the note, a line each."""
    return "\n".join(one.text for one in case.sentences)


def to_notes(case: Case, answer: str) -> Compared:
    """Relevance to the notes: questions and essential sentences (paper, Table 7; the official score of 2025)."""
    question, essential = question_text(case), essential_text(case)
    return Compared(answer, f"{question}\n\n{essential}", question, essential)


def to_human(case: Case, answer: str) -> Compared:
    """Relevance to the clinician's answer (paper, Table 6; the official score of 2026).

    SARI's source is the narrative alone, as in 2026; the paper does not define it.
    """
    return Compared(answer, case.answer, case.narrative)
