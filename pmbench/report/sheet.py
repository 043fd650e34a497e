"""A sheet to read for people who label a run's responses: texts in the form's order, and nothing of the judge."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from markupsafe import Markup

from pmbench.core.errors import StorageError
from pmbench.core.task import Record, Task
from pmbench.pages import strict
from pmbench.report.blocks import Block, Line, shown
from pmbench.report.viewing import NO_MARKUP, seen_of, values_of
from pmbench.running.faults import fault
from pmbench.running.folder import read_lines
from pmbench.running.label_form import Form, beginning_of
from pmbench.running.reading import StoredRun, read_records
from pmbench.running.records import ResponseRecord
from pmbench.running.responding import Key, response_digest

if TYPE_CHECKING:
    from jinja2 import Template

_FOLDER = "page"


@dataclass(frozen=True, slots=True)
class Read:
    """One response as it is read.

    Attributes:
        id, sample: whose it is.
        blocks: its texts; markdown: or as HTML, before them.
        remarks: what the reader has to know of what is shown.
    """

    id: str
    sample: int
    blocks: Sequence[Block]
    markdown: Markup = NO_MARKUP
    remarks: tuple[str, ...] = ()


def sheet_of(run: StoredRun, form: Form) -> str:
    """The sheet that belongs to a form, as one HTML document that asks for nothing.

    No score is read for it: the task is handed instances and responses alone. Neither the model nor the strategy is
    named.

    Args:
        run: that the form was made of; form: the form.

    Raises:
        StorageError: the data are not where they were, or have changed; an answer is gone, or was asked for anew
            since it was scored.
    """
    task = run.task()
    records = {
        (record.instance.id, sample): record
        for sample in sorted({sample for _, sample in form.answers})
        for record in read_records(run, sample)
    }
    lines = read_lines(run.folder.responses, ResponseRecord)
    stored = {(line.id, line.sample): line for line in lines if line.round == run.record.round}
    entries = [read_of(task, key, records, stored, digest) for key, digest in form.answers.items()]
    lost = sum(one is None for one in entries)
    if lost:
        raise StorageError(
            f"{lost} of {len(entries)} answers are gone or were asked for anew since they were scored",
            where=str(run.folder.path),
            remedy="Give the run's command again, then make the form",
        )
    style = strict.style(strict.text_of(str(__package__), _FOLDER, "report.css"))
    return _template().render(
        style=Markup(style),  # noqa: S704 - files of this package
        policy=strict.policy(style, ""),
        title=task.title or task.name,
        run=beginning_of(run.record.digest),
        sensitivity=run.record.data.sensitivity,
        words=form.words,
        entries=entries,
    )


def read_of(
    task: Task, key: Key, records: dict[Key, Record], stored: dict[Key, ResponseRecord], digest: str
) -> Read | None:
    """A response's texts; None where it is not the one that was scored.

    Args:
        task, key: whose it is.
        records, stored: what was answered, with the data and as it is stored.
        digest: of the answer that was scored.
    """
    record, line = records.get(key), stored.get(key)
    if record is None or record.response is None or line is None or response_digest(line) != digest:
        return None
    bare = Record(record.instance, record.response, None)
    remarks: tuple[str, ...] = ()
    try:
        made = shown(task.to_label(record.instance, record.response))
    except Exception as error:  # noqa: BLE001 - a plugin's
        made, remarks = [], (f"The task's own texts for labelling failed ({fault(error)}).",)
    if made and not isinstance(made, Markup):
        return Read(*key, [_plain(block) for block in made])
    seen = seen_of(next(iter(task.views.values()), None), bare, line, None)
    blocks = [_plain(block) for block in seen.blocks]
    blocks += _lacking(record, str(seen.markdown.striptags()), blocks)
    return Read(*key, blocks, seen.markdown, (*remarks, *seen.remarks))


def _lacking(record: Record, markdown: str, blocks: Sequence[Block]) -> Iterator[Block]:
    """Inputs, what is expected and the response, as far as they do not stand there already."""
    there = " ".join([*(line.text for block in blocks for line in block.lines), markdown])
    told = " ".join(there.split())
    answer = {"text": record.response.text, "data": record.response.data or ""} if record.response else {}
    parts = (
        ("Input", record.instance.inputs),
        ("Expected", record.instance.target),
        ("The response", answer),
    )
    for title, values in parts:
        for block in values_of(title, values):
            text = " ".join(" ".join(line.text for line in block.lines).split())
            if text and text not in told:
                yield block


def _plain(block: Block) -> Block:
    """The block without signs and colours."""
    lines = (
        Line(line.text, "", "", (), "; ".join(filter(None, (*line.chips, line.remark))))
        for line in block.lines
    )
    return Block(block.title, tuple(lines), signed=False)


@cache
def _template() -> Template:
    return strict.environment(str(__package__), _FOLDER).get_template("sheet.html.jinja")
