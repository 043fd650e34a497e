"""OncQA (Chen et al. 2024): oncology messages with a GPT-4 draft and physicians' own replies."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

from pmbench import Column, DataError, DatasetSpec, Options, Response, Row, read_table, split_sentences
from pmbench_tasks.drafting.task import COLUMNS, Drafting

MESSAGES, REPLIES = "Master2.csv", "stage1.csv"

_HEADING = re.compile(r"^[ \t]*Patient message:[ \t]*$", re.IGNORECASE | re.MULTILINE)
_SAMPLE = re.compile(r"^\s*(?:(?:\d+\.\s*)?Sample\b[^\n]*\n\s*)+", re.IGNORECASE)

_SALUTATION = re.compile(r"^Dear\b[^\n]*,[ \t]*$", re.MULTILINE)
_REMARK = re.compile(
    r"(?:Yes,\s+)?The provided information is\b"
    r"|Based on the provided information, "
    r"(?:it is (?:not )?possible to (?:address|definitively|provide)|I can provide)\b",
    re.IGNORECASE,
)
_MORE_REMARK = re.compile(
    r"However, (?:I can provide|additional information|a more comprehensive assessment"
    r"|further evaluation and information|it is important to note that I am an AI)\b",
    re.IGNORECASE,
)
_TO_PATIENT = re.compile(r"\byour?\b", re.IGNORECASE)
_LABEL = re.compile(r"\s*Recommendations?:\s*", re.IGNORECASE)

_NAMES = {"A": "active treatment", "S": "surveillance"}
_SCOPES = {"G": "general", "S": "specific"}


class OncQAOptions(Options, frozen=True):
    """Options of `oncqa-editf1`.

    Attributes:
        preamble: `drop` takes the opening remark to the clinician off a draft before it is scored.
    """

    preamble: Literal["keep", "drop"] = "keep"


class OncQA(Drafting):
    """Synthetic messages of cancer patients; one instance per physician's reply, clustered by message."""

    name = "oncqa-editf1"
    title = "Reply drafting on OncQA (edit-F1)"
    citation = (
        "Chen et al. 2024, Lancet Digital Health; scored as in Seegmiller et al. 2026, arXiv 2601.11344"
    )
    card = "pmbench_tasks.drafting:CARD-oncqa.md"
    options = OncQAOptions
    option: OncQAOptions
    dataset = DatasetSpec(
        columns=(
            *(
                column
                for column in COLUMNS
                if column.name in ("message", "chart", "response", "draft", "cluster")
            ),
            Column("phase", "active treatment or surveillance", required=False),
            Column("scope", "general or specific chemotherapy", required=False),
        ),
        sensitivity="public",
        slices=("phase", "scope", "length"),
        private=f"OncQA is read from its own files: a folder with {MESSAGES} and {REPLIES}",
        example='{"id": "0-1", "cluster": "0", "message": "…", "chart": "…", "response": "…", "draft": "…"}',
    )

    def read(self, path: Path) -> Iterable[Row] | None:
        """Read OncQA's folder: `Master2.csv` (pin, Input, Output) and `stage1.csv` (id: the pin, response).

        Raises:
            DataError: one of the two files is missing, lacks a column, or they do not fit together.
        """
        if not path.is_dir() or not (path / MESSAGES).exists():
            return None
        if not (path / REPLIES).exists():
            raise DataError(
                f"{MESSAGES} is here but {REPLIES} is not", where=str(path), remedy=f"Put {REPLIES} beside it"
            )
        return list(
            _join(
                _by_pin(_read(path / MESSAGES, "pin", "Input", "Output")),
                _read(path / REPLIES, "id", "response"),
            )
        )

    def draft_of(self, response: Response) -> str:
        """The draft, without its opening remark if `preamble=drop`."""
        return drop_preamble(response.text) if self.option.preamble == "drop" else response.text


def drop_preamble(draft: str) -> str:
    """A draft without the opening remark to the clinician.

    Only a draft that begins by saying whether the provided information is enough is changed. What is before
    a line `Dear …,` goes. Without such a line, that first sentence goes unless it speaks to the patient, then
    sentences of the same paragraph that add to it, then a heading `Recommendations:` right after. A draft of
    which nothing would be left is kept.
    """
    if not _REMARK.match(draft.lstrip()):
        return draft
    letter = _SALUTATION.search(draft)
    rest = draft[letter.start() :] if letter else _without_remark(draft)
    return rest if any(character.isalnum() for character in rest) else draft


def _without_remark(draft: str) -> str:
    paragraph = re.split(r"\n\s*\n", draft, maxsplit=1)[0]
    end = 0
    for sentence in split_sentences(paragraph):
        pattern = _MORE_REMARK if end else _REMARK
        if not pattern.match(sentence) or (not end and _TO_PATIENT.search(sentence)):
            break
        end = draft.index(sentence, end) + len(sentence)
    if not end:
        return draft
    label = _LABEL.match(draft, end)
    return draft[label.end() if label else end :].lstrip()


def _read(path: Path, *columns: str) -> list[Row]:
    rows = read_table(path)
    for row in rows[:1]:
        for column in columns:
            if column not in row.values:
                # The names found are not shown: without a header they are text of the first row.
                raise DataError(
                    f"has no column {column!r} in its header of {len(row.values)} columns",
                    where=str(path),
                    remedy=f"OncQA's file has a header with {', '.join(columns)}",
                )
    return rows


def _by_pin(rows: Iterable[Row]) -> dict[str, Row]:
    found: dict[str, Row] = {}
    for row in rows:
        pin = row.text("pin").strip()
        if pin in found:
            raise DataError(
                f"the same pin as row {found[pin].number}",
                where=row.where("pin"),
                remedy="Leave one of them out",
            )
        found[pin] = row
    return found


def _join(messages: dict[str, Row], replies: Iterable[Row]) -> Iterator[Row]:
    count: dict[str, int] = {}
    for reply in replies:
        pin = reply.text("id").strip()
        if pin not in messages:
            raise DataError(
                f"there is no message with this pin in {MESSAGES}",
                where=reply.where("id"),
                remedy="Take both files from the same release",
            )
        count[pin] = count.get(pin, 0) + 1
        asked = messages[pin]
        chart, message = _parts(asked)
        yield Row(
            {
                "id": f"{pin}-{count[pin]}",
                "cluster": pin,
                "message": message,
                "chart": chart,
                "response": reply.text("response"),
                "draft": asked.text("Output"),
                "phase": _NAMES.get(asked.text("ActiveOrSurveill"), asked.text("ActiveOrSurveill")),
                "scope": _SCOPES.get(asked.text("GenOrSpec"), asked.text("GenOrSpec")),
            },
            reply.file,
            reply.number,
        )


def _parts(row: Row) -> tuple[str, str]:
    """Chart and message of one `Input`, without the line that numbers the sample."""
    text = row.text("Input")
    heading = _HEADING.search(text)
    if heading is None:
        raise DataError(
            "no line 'Patient message:' that ends the chart",
            where=row.where("Input"),
            remedy="Take the file as OncQA released it",
        )
    return _SAMPLE.sub("", text[: heading.start()]).strip(), text[heading.end() :].strip()
