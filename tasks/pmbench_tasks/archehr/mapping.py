"""The mapping file of ArchEHR-QA (`archehr-qa_mapping.json`): the records that notes are from, and so the setting."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pmbench import DataError
from pmbench_tasks.archehr.entries import entries, json_value, read_bytes, text_of

SETTINGS = {"mimic-iii": "icu", "mimic-iv": "ed"}
"""Setting by `document_source`: the paper (Data Records) has ICU notes of MIMIC-III and ED notes of MIMIC-IV."""

SPLITS = {
    "dev": "development",
    "development": "development",
    "test": "test",
    "test-2025": "test",
    "test-2026": "test-2026",
}
"""Split by the name of a sub-folder, and by what a mapping file may call it."""

_LONGEST_LABEL = 40


@dataclass(frozen=True, slots=True)
class Mapped:
    """Setting and split of a case; `""` where the mapping does not say it."""

    setting: str = ""
    split: str = ""


def read_mapping(path: Path) -> dict[str, Mapped]:
    """Setting and split by case id. The file may be of more cases than an XML.

    Besides the official `case_id`, `document_id` and `document_source` it may have two keys of our own: `setting`
    (a short label, `ICU`, `ED`, `ward`…; it goes before the one that the source says) and `split`.

    Raises:
        DataError: broken JSON, no list, an entry that is no object or names no case, a case twice, a label that
            is as long as text, an unknown split.
    """
    where = str(path)
    value = json_value(read_bytes(path), where)
    return {ident: _mapped(entry, place) for ident, place, entry in entries(value, where, "the mapping")}


def _mapped(entry: Mapping[str, Any], place: str) -> Mapped:
    setting = text_of(entry, "setting", place).lower()
    if len(setting) > _LONGEST_LABEL or "\n" in setting:
        raise DataError(
            "the setting is no short label", where=f"{place}, setting", remedy="Write ICU, ED or ward"
        )
    split = text_of(entry, "split", place).lower()
    if split and split not in SPLITS:
        raise DataError(
            "is no split",
            where=f"{place}, split",
            remedy=f"Write one of {', '.join(dict.fromkeys(SPLITS.values()))}",
        )
    source = text_of(entry, "document_source", place).lower()
    return Mapped(setting or SETTINGS.get(source, ""), SPLITS.get(split, ""))
