"""Inboxes as datasets hold them: one row for each message, with its level and the inbox that it is in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pmbench import Column, DataError, Row
from pmbench_tasks.urgency.messages import LONGEST_NAME, PortalMessage, level_of, portal_message, text_id

INBOX_COLUMNS = (
    Column(
        "message",
        "what the patient wrote; `### EHR: … ### Patient Message: …` is taken apart",
        guesses=(
            "text",
            "patient_message",
            "msg",
            "portal_message",
            "patient_msg",
            "question",
            "post",
            "body",
        ),
    ),
    Column(
        "chart",
        "summary of the patient's chart",
        required=False,
        guesses=("ehr", "ehr_summary", "chart_summary", "context", "patient_chart", "record"),
    ),
    Column(
        "level",
        "urgency, from 1 (most urgent) to 6; halves allowed",
        guesses=("urgency", "urgency_level", "triage_level", "triage", "acuity", "label"),
        kind="label",
    ),
    Column(
        "inbox",
        "which inbox the message is in; without it, all are in one",
        required=False,
        guesses=("split", "inbox_id", "inbox_name", "mailbox"),
        kind="label",
    ),
)

INBOX_EXAMPLE = """\
{"id": "m1", "inbox": "monday", "message": "Chest feels tight since noon.", "chart": "61-year-old man.", "level": 1}
{"id": "m2", "inbox": "monday", "message": "Can I get my shot early?", "chart": "Healthy.", "level": 5}"""

ONE = "inbox"
"""What an inbox is called where no column names it."""


@dataclass(frozen=True, slots=True)
class Levelled:
    """A message with its level and the row that it stands in."""

    message: PortalMessage
    level: float
    row: Row


def read_inboxes(rows: Iterable[Row], *, ids_from_text: bool = False) -> dict[str, list[Levelled]]:
    """The messages of each inbox, in the order of the rows, inboxes in order of appearance.

    Args:
        rows: under the names of `INBOX_COLUMNS`.
        ids_from_text: whether rows that are only numbered get ids from their text.

    Raises:
        DataError: an empty message, no or an impossible level, a name of an inbox that is none, one message twice,
            or an inbox with fewer than two different levels. Places are named, texts are not.
    """
    rows = list(rows)
    if ids_from_text and numbered(rows):
        rows = [with_id_from_text(row) for row in rows]
    found: dict[str, list[Levelled]] = {}
    for row in rows:
        message = portal_message(row, "message", "chart", row.text("id").strip())
        found.setdefault(inbox_name(row) or ONE, []).append(Levelled(message, level_of(row), row))
    nameless = next((row for row in rows if not row.text("inbox").strip()), None)
    if nameless is not None and any(row.text("inbox").strip() for row in rows):
        raise DataError(
            "no name of an inbox, and other rows have one",
            where=nameless.where("inbox"),
            remedy="Name the inbox of every message, or leave the column out: --columns inbox=",
        )
    for name, members in found.items():
        check_inbox(name, members)
    return found


def numbered(rows: Sequence[Row]) -> bool:
    """Whether the ids of rows are no more than their numbers."""
    return [row.text("id") for row in rows] == [str(number) for number in range(1, len(rows) + 1)]


def with_id_from_text(row: Row) -> Row:
    """The row with an id that its text decides."""
    message = portal_message(row, "message", "chart")
    return Row({**row.values, "id": message["id"]}, row.file, row.number, row.origin)


def check_inbox(name: str, members: Sequence[Levelled]) -> None:
    """Raises DataError where an inbox has a message or an id twice, or nothing in it is more urgent than the rest."""
    first: dict[str, Levelled] = {}
    named: dict[str, Levelled] = {}
    for one in members:
        key = text_id(one.message["message"], one.message["chart"])
        if key in first:
            raise DataError(
                f"the same message as row {first[key].row.number}, in the same inbox",
                where=one.row.where("message"),
                remedy="Leave one of them out",
            )
        first[key] = one
        if (same := named.setdefault(one.message["id"], one)) is not one:
            raise DataError(
                f"the same id as row {same.row.number}, in the same inbox",
                where=one.row.where("id"),
                remedy="Give every message an id of its own; spaces around it do not count",
            )
    if len({one.level for one in members}) < 2:
        where = members[0].row.file if name == ONE else f"{members[0].row.file}, inbox {name!r}"
        raise DataError(
            f"all of its messages ({len(members)}) have the same level, so no order of them is better than another",
            where=where,
            remedy="An inbox needs messages of at least two levels; a column `inbox` says which is in which",
        )


def is_designed(levels: Iterable[float]) -> bool:
    """Whether an inbox looks as if so many messages had been chosen of each level: equally many, at least two."""
    counts = set(Counter(levels).values())
    return len(counts) == 1 and min(counts) >= 2


def inbox_name(row: Row) -> str:
    """The name of the inbox that a row is in; empty where it says none.

    Raises:
        DataError: it is as long as text, or has a line break.
    """
    name = row.text("inbox").strip()
    if len(name) > LONGEST_NAME or "\n" in name:
        raise DataError(
            f"the name of the inbox has {len(name)} characters, or a line break, and looks like text",
            where=row.where("inbox"),
            remedy="Name a column of short names: --columns inbox=COLUMN, or inbox= for none",
        )
    return name
