"""What a checklist judge is asked: one prompt file for all forms of the question.

Source, text and rules stand before the question in every form, letter for letter the same, so that an engine or
service that keeps what prompts have in common reads them once for all questions about a note.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from pmbench import Message, Prompt
from pmbench_tasks.notes.checklist import Checklist

PROMPT = Prompt("pmbench_tasks.notes:prompts/checklist_judge.txt")

Kind = Literal["note", "reply"]
"""What is judged: the note of a visit, from its transcript; or a reply, from the patient's message and chart."""

Form = Literal["item", "batch", "choose"]
"""One question with a quote, all questions at once, or one question that is answered by a word alone."""

_TAG = re.compile(r"<(?=\s*/?\s*(?:source|text|questions?)\b)", re.IGNORECASE)

_SECTIONS = {
    "": "the note",
    "subjective": "the history (subjective section) of the note",
    "objective_exam": "the physical examination section of the note",
    "objective_results": "the results section of the note",
    "assessment_and_plan": "the assessment and plan of the note",
}


def as_data(text: str) -> str:
    """A text for a prompt: where it names a tag of the prompt, its `<` becomes `‹`; nothing else changes."""
    return _TAG.sub("‹", text.strip())


def messages_of(
    checklist: Checklist,
    questions: Sequence[str],
    *,
    source: str,
    text: str,
    kind: Kind,
    form: Form,
    json: bool,
) -> list[Message]:
    """The conversation that asks these questions of a text.

    Args:
        checklist: for its scale and its section.
        questions: of it; one where the form is not `batch`.
        source, text: what is compared; `""` for a text that was not written.
        kind: what they are.
        form: how is asked.
        json: whether an answer in JSON is asked for, or one in lines.
    """
    return PROMPT.messages(
        kind=kind,
        what=_SECTIONS.get(checklist.section, "a section of the note") if kind == "note" else "the draft",
        scale=checklist.scale,
        ends=checklist.ends,
        source=as_data(source),
        text=as_data(text),
        questions=[as_data(question) for question in questions],
        form=form,
        json=json,
    )
