"""A small task to load data for, and the words that no error message may hold."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pmbench import Column, DatasetSpec, HubDataset, Instance, Row, Task
from pmbench.core.errors import UserError

SECRET = "zebra-crossing-ache"
"""Stands for a patient's words in every broken file."""


class Letters(Task):
    """A message to answer, with an optional chart."""

    name = "letters"
    dataset = DatasetSpec(
        columns=(
            Column("message", "the patient's message", guesses=("msg", "patient message", "text")),
            Column("chart", "chart summary", required=False, guesses=("ehr", "record")),
            Column("reply", "the clinician's reply", required=False, guesses=("response", "text")),
        ),
        hub=HubDataset("org/letters"),
        demo="letters_task:demo_letters.jsonl",
        sensitivity="deidentified",
        slices=("clinic", "age band"),
    )

    def instances(self, rows: Iterable[Row]) -> Iterator[Instance]:
        for row in rows:
            yield Instance(
                row.text("id"),
                {"message": row.text("message"), "chart": row.text("chart")},
                {"reply": row.text("reply")},
                slices={name: row.text(name) for name in self.dataset.slices if name in row.values},
            )


class Private(Letters):
    """The same, of a set that is not published."""

    name = "private-letters"
    dataset = DatasetSpec(
        columns=Letters.dataset.columns,
        private="The set belongs to a hospital and is not published",
        example='{"id": "1", "message": "May I swim?", "chart": "…"}',
    )


def said(error: UserError, *parts: str) -> str:
    """The message of an error, after checking that it is one line with these parts and no patient's words."""
    line = str(error)
    assert "\n" not in line
    assert SECRET not in line
    for part in parts:
        assert part in line, line
    assert error.remedy, line
    return line


@contextmanager
def as_nobody() -> Iterator[None]:
    """Without the superuser's right to read everything, where the tests have it."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


def write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def lines(folder: Path, *rows: dict[str, Any], name: str = "a.jsonl") -> Path:
    return write(folder, name, "".join(json.dumps(row) + "\n" for row in rows))
