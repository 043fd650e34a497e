"""HealthBench's rubrics: criteria worth points, negative ones among them, one rubric for each prompt.

A row has `prompt_id`, `prompt`, `rubrics` (`criterion`, `points`, `tags`) and more (openai/simple-evals,
healthbench_eval.py, MIT). Only the rubric is read here; the conversation is not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pmbench import DataError, UnknownName
from pmbench_tasks.notes.checklist import Checklist
from pmbench_tasks.notes.shapes import checklist_of, text_of


def has_rubrics(entry: Any) -> bool:
    """Whether this is a row of HealthBench."""
    return isinstance(entry, Mapping) and isinstance(entry.get("rubrics"), list)


def rubric_of(entries: Sequence[tuple[Mapping[str, Any], str]], path: Path, row: str = "") -> Checklist:
    """The rubric of one prompt.

    Args:
        entries: rows with the place of each.
        path: of their file.
        row: the `prompt_id`; may be left out where there is one row.

    Raises:
        DataError: several rows and none named, a `prompt_id` twice, or a broken rubric.
        UnknownName: no row with that `prompt_id`.
    """
    rows: dict[str, tuple[Mapping[str, Any], str]] = {}
    for entry, place in entries:
        ident = text_of(entry, "prompt_id", place)
        if ident in rows and (len(entries) == 1 or ident == row):
            raise DataError("the same prompt_id twice", where=place, remedy="Leave one out")
        rows.setdefault(ident, (entry, place))
    if not row and len(entries) != 1:
        raise DataError(
            f"holds {len(entries)} rubrics, one for each prompt",
            where=str(path),
            remedy="Say the prompt_id of the one wanted, or save its row to a file",
        )
    if row and row not in rows:
        raise UnknownName("rubric", row, rows)
    ident = row or next(iter(rows))
    entry, place = rows[ident]
    made = checklist_of({"items": entry["rubrics"]}, path, name=ident, where=place)
    if made.items and made.scale != "points":
        raise DataError(
            "has no points", where=f"{place}, item 1", remedy='Write {"criterion": "…", "points": 5}'
        )
    return made
