"""Small files in the official formats of ArchEHR-QA, whole or with something wrong in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

SENTENCES = {"1": "Course:", "2": "She had a stroke.", "3": "Aspirin was started.", "4": "She ate well."}
LABELS = {"1": "not-relevant", "2": "essential", "3": "essential", "4": "supplementary"}
SECRET = "secretword"
"""Stands in every text of these files, so that a test sees text of the data in a message."""


def xml_case(ident: str = "1", *, inside: str | None = None, sentences: dict[str, str] | None = None) -> str:
    """A `<case>` with texts padded as the official file has them."""
    if inside is None:
        listed = "".join(
            f'<sentence id="{name}" paragraph_id="0" start_char_index="0" length="9">\n{text} {SECRET}\n</sentence>'
            for name, text in (sentences or SENTENCES).items()
        )
        inside = (
            f"<patient_narrative>\n Why aspirin? {SECRET}\n</patient_narrative>"
            f'<patient_question><phrase id="0" start_char_index="0">\nWhy {SECRET}?\n</phrase></patient_question>'
            f"<clinician_question>\nWhy was aspirin started? {SECRET}\n</clinician_question>"
            f"<note_excerpt>\n{SECRET}\n</note_excerpt><note_excerpt_sentences>{listed}</note_excerpt_sentences>"
        )
    return f'<case id="{ident}">{inside}</case>'


def xml(*cases: str) -> str:
    """An XML file of cases."""
    return f"<?xml version='1.0' encoding='UTF-8'?>\n<annotations>\n{''.join(cases)}\n</annotations>\n"


def key_entry(ident: str = "1", *, labels: dict[str, str] | None = None, **more: Any) -> dict[str, Any]:
    """An entry of a key with labels."""
    found = LABELS if labels is None else labels
    return {
        "case_id": ident,
        "answers": [{"sentence_id": name, "relevance": label} for name, label in found.items()],
        **more,
    }


def cited(value: Any, ident: str = "1", **more: Any) -> dict[str, Any]:
    """A sentence of a key's answer with these citations."""
    return {"id": ident, "text": f"Aspirin prevents strokes. {SECRET}", "citations": value, **more}


def write(folder: Path, text: str | None = None, key: Any = None, mapping: Any = None) -> Path:
    """The files of a release in a folder; those that are None are left out."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, value in (
        ("archehr-qa.xml", text),
        ("archehr-qa_key.json", key),
        ("archehr-qa_mapping.json", mapping),
    ):
        if value is not None:
            (folder / name).write_text(
                value if isinstance(value, str) else json.dumps(value), encoding="utf-8"
            )
    return folder
