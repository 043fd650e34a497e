"""How a case stands in a prompt: as material between tags that nothing in it can close."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

_TAG = re.compile(
    r"<(?=\s*/?\s*(?:patient_question|clinician_question|notes|answer|previous_answer)\b)", re.IGNORECASE
)

_HEADING_WORDS = 8


def as_data(text: str) -> str:
    """A text for a prompt: where it names a tag of a prompt, its `<` becomes `‹`; nothing else changes."""
    return _TAG.sub("‹", text.strip())


def one_line(text: str) -> str:
    """A text with each run of white space as one space: what stands on a line of its own must be one."""
    return " ".join(text.split())


def is_heading(text: str) -> bool:
    """Whether a sentence of a note is a heading: it ends with a colon and has at most eight words."""
    return text.rstrip().endswith(":") and len(text.split()) <= _HEADING_WORDS


def note_text(sentences: Sequence[Mapping[str, str]], only: Collection[str] | None = None) -> str:
    """A note with a line `[id] sentence` for each of its sentences, an empty line between paragraphs.

    Args:
        sentences: with `id`, `text` and `paragraph`, in document order.
        only: ids of those that are shown; None: all.
    """
    lines: list[str] = []
    paragraph: str | None = None
    for sentence in sentences:
        if only is not None and sentence["id"] not in only:
            continue
        here = sentence.get("paragraph", "")
        if lines and here != paragraph and only is None:
            lines.append("")
        paragraph = here
        lines.append(f"[{sentence['id']}] {as_data(one_line(sentence['text']))}")
    return "\n".join(lines)


def case_values(inputs: Mapping[str, Any], only: Collection[str] | None = None) -> dict[str, str]:
    """What prompts about a case are given: `narrative`, `clinician_question` and `note`."""
    return {
        "narrative": as_data(inputs["narrative"]),
        "clinician_question": as_data(inputs.get("clinician_question", "")),
        "note": note_text(inputs.get("sentences", ()), only),
    }
