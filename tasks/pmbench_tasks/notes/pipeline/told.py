"""What prompts are told: sections in words, and texts of others as data, not as orders."""

from __future__ import annotations

import re
import unicodedata

SECTION_TOLD = {
    "": "the note of a clinic visit as a whole",
    "subjective": (
        "the history (why the patient came, their story and symptoms, their history, medicines, allergies and habits)"
    ),
    "objective_exam": "the examination (vital signs and what the clinician found when examining)",
    "objective_results": "the results (laboratory tests, imaging and other studies, with their values)",
    "assessment_and_plan": (
        "the assessment and plan (each problem, what the clinician makes of it, and what was agreed to do about it)"
    ),
}
"""What each section holds, in our words; `""` is the whole note."""

SECTION_NAME = {
    "": "note",
    "subjective": "history",
    "objective_exam": "examination",
    "objective_results": "results",
    "assessment_and_plan": "assessment and plan",
}

_TAG = re.compile(
    r"<(?=\s*/?\s*(?:feedback|item|question|questions|transcript|section|note|answer)\b)", re.IGNORECASE
)


def as_data(text: str) -> str:
    """A text for a prompt: where it names a tag of a prompt, its `<` becomes `‹`; nothing else changes."""
    return _TAG.sub("‹", text.strip().encode("utf-8", "replace").decode())


def one_line(text: str) -> str:
    """A text as one line of data: it cannot begin an item of its own, and has no marks that nobody sees."""
    seen = "".join(
        " "
        if (kind := unicodedata.category(letter)) in ("Cc", "Zl", "Zp")
        else ""
        if kind == "Cf"
        else letter
        for letter in text
    )
    return as_data(" ".join(seen.split()))
