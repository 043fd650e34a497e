"""One record as its task's view shows it; where there is no view or it fails, as it is stored."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from markupsafe import Markup

from pmbench.core.task import Record, View
from pmbench.report.blocks import Block, NotShown, plain, shown
from pmbench.running.faults import fault
from pmbench.running.records import ResponseRecord, ScoreRecord

NO_MARKUP = Markup()
"""Nothing, as HTML."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What is shown of a record: Markdown as HTML or blocks, and remarks on it."""

    markdown: Markup = NO_MARKUP
    blocks: Sequence[Block] = ()
    remarks: tuple[str, ...] = ()


def seen_of(
    view: View | None, record: Record | None, response: ResponseRecord, score: ScoreRecord | None
) -> Seen:
    """What is shown of a response.

    Args:
        view: of the task; None where it has none.
        record: with the data; None where those cannot be read any more.
        response, score: as they are stored.
    """
    remarks: tuple[str, ...] = ()
    if view is not None and record is not None:
        try:
            made = shown(view(record))
        except BaseException as error:  # a view is a plugin's, and the record may be of another version
            if isinstance(error, KeyboardInterrupt | MemoryError):
                raise
            why = str(error) if isinstance(error, NotShown) else fault(error)
            remarks = (f"The task's own view of it failed ({why}). It follows as it is stored.",)
        else:
            return Seen(markdown=made) if isinstance(made, Markup) else Seen(blocks=made)
    return Seen(blocks=list(_stored(record, response, score)), remarks=remarks)


def _stored(record: Record | None, response: ResponseRecord, score: ScoreRecord | None) -> Iterator[Block]:
    """Inputs, response, what it is compared with, and evidence, each as text or as JSON."""
    if record is not None:
        yield from values_of("Input", record.instance.inputs)
    if response.status == "failed":
        yield plain("The response", "There is none: the model did not answer.")
    else:
        yield plain("The response", response.text)
        yield from values_of("The response's data", response.data)
    if record is not None:
        yield from values_of("Expected", record.instance.target)
    if score is not None and score.evidence is not None:
        yield plain("What the score rests on", _text(score.evidence))


def values_of(title: str, values: Mapping[str, Any]) -> Iterator[Block]:
    """Each value under its name, as text or as JSON."""
    for name, value in values.items():
        yield plain(f"{title}: {name}", _text(value))


def _text(value: Any) -> str:
    """A text as it is, a number or a structure as JSON, anything else as its type."""
    if isinstance(value, str):
        return value
    try:
        plainer = msgspec.to_builtins(
            value, enc_hook=lambda other: f"({type(other).__name__})", str_keys=True
        )
        return json.dumps(plainer, indent=1, ensure_ascii=False)
    except (RecursionError, TypeError, ValueError):
        return f"({type(value).__name__})"
