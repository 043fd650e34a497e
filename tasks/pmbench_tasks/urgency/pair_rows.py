"""Pairs as datasets hold them: which messages, which of them is more urgent, and at which levels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pmbench import Column, DataError, Row, read_table
from pmbench_tasks.urgency.messages import PortalMessage, level_of, portal_message

CHOSEN_COLUMNS = (
    Column(
        "chosen",
        "the more urgent message",
        required=False,
        guesses=("more_urgent", "more_urgent_message", "chosen_text", "preferred", "higher_priority"),
    ),
    Column(
        "rejected",
        "the less urgent message",
        required=False,
        guesses=("less_urgent", "less_urgent_message", "rejected_text", "lower_priority"),
    ),
)
SIDE_COLUMNS = (
    Column(
        "first",
        "one message",
        required=False,
        guesses=(
            *("message_1", "message_a", "text_1", "text_a", "patient_1", "patient_a", "first_message"),
            *("message_one", "sample_1", "sample_a", "p1", "msg_1", "msg_a", "a", "text1", "left"),
        ),
    ),
    Column(
        "second",
        "the other message",
        required=False,
        guesses=(
            *("message_2", "message_b", "text_2", "text_b", "patient_2", "patient_b", "second_message"),
            *("message_two", "sample_2", "sample_b", "p2", "msg_2", "msg_b", "b", "text2", "right"),
        ),
    ),
    Column(
        "second_more_urgent",
        "true where the second message is the more urgent one",
        required=False,
        guesses=("second_is_more_urgent", "b_more_urgent"),
        kind="label",
    ),
    Column(
        "winner",
        "which message is more urgent: first or second, 1 or 2, a or b",
        required=False,
        guesses=(
            *("label", "answer", "annotation", "human_label", "preference", "choice", "gold", "gold_label"),
            *("more_urgent_patient", "which_more_urgent", "most_urgent", "annotated_label", "selected"),
        ),
        kind="label",
    ),
)
_SIDES: Mapping[str, str] = {
    "chosen": "more_urgent",
    "rejected": "less_urgent",
    "first": "1 a",
    "second": "2 b",
}
_PARTS: tuple[tuple[str, str, Literal["text", "label"], tuple[str, ...]], ...] = (
    ("chart", "chart of", "text", ("chart", "ehr")),
    ("level", "level, 1 to 6, of", "label", ("level",)),
    ("id", "id of", "label", ("id",)),
)

MORE_COLUMNS = tuple(
    Column(
        f"{side}_{part}",
        f"{told} the {side} message",
        required=False,
        guesses=tuple(f"{name}_{other}" for name in names for other in others.split()),
        kind=kind,
    )
    for side, others in _SIDES.items()
    for part, told, kind, names in _PARTS
)

_TRUE, _FALSE = frozenset({"true", "1", "1.0", "yes"}), frozenset({"false", "0", "0.0", "no"})
FIRST = frozenset({"first", "1", "1.0", "a", "message 1", "message a", "patient 1", "patient a", "left"})
SECOND = frozenset({"second", "2", "2.0", "b", "message 2", "message b", "patient 2", "patient b", "right"})


@dataclass(frozen=True, slots=True)
class Pair:
    """Two messages, the more urgent one first.

    Attributes:
        urgent, other: the messages.
        levels: theirs, in that order, where they are known.
        row: where the pair stands.
        urgent_first: whether the file has the more urgent one first; None where its columns have no order.
    """

    urgent: PortalMessage
    other: PortalMessage
    levels: tuple[float, float] | None
    row: Row
    urgent_first: bool | None = None


def pair_of(row: Row, *, by_levels: bool) -> Pair:
    """The pair of a row: `chosen` and `rejected`, or `first` and `second` with what says which is more urgent.

    Args:
        row: under the task's names.
        by_levels: whether the levels may say it where nothing else does.

    Raises:
        DataError: no such columns, no label, a label that could mean either, a level out of range, equal levels
            where they have to tell, or one message twice.
    """
    sides = _sides(row)
    one, other = (
        portal_message(row, side, f"{side}_chart", row.text(f"{side}_id").strip()) for side in sides
    )
    levels = _levels(row, sides)
    if one["id"] == other["id"] or _words(one) == _words(other):
        raise DataError("both are the same message", where=row.where(sides[1]), remedy="Leave the row out")
    if sides[0] != "first":
        return Pair(one, other, levels, row)
    if _second_more_urgent(row, levels if by_levels else None):
        return Pair(other, one, levels and (levels[1], levels[0]), row, urgent_first=False)
    return Pair(one, other, levels, row, urgent_first=True)


def joined(folder: Path, pairs: str = "pairs", messages: str = "inbox") -> Iterator[Row] | None:
    """The rows of `pairs.*` in a folder, with texts, charts and levels of the messages that `inbox.*` has.

    Returns:
        None where the folder does not hold both.

    Raises:
        DataError: a pair names a message that is not there, or messages without or with the same id.
    """
    found = {stem: _file(folder, stem) for stem in (pairs, messages)}
    if not all(found.values()):
        return None
    known = _by_id(read_table(found[messages]))  # type: ignore[arg-type]
    return _joined(read_table(found[pairs]), known)  # type: ignore[arg-type]


def _joined(rows: Iterable[Row], known: Mapping[str, Row]) -> Iterator[Row]:
    for row in rows:
        values = dict(row.values)
        for side in ("first", "second"):
            ident = row.text(side).strip()
            if ident not in known:
                raise DataError(
                    "a message that is not among those of the inbox",
                    where=row.where(side),
                    remedy="Write the id of one of its messages",
                )
            message = known[ident]
            values[side] = message.values.get("message")
            values |= {f"{side}_id": ident, f"{side}_chart": message.values.get("chart")}
            values[f"{side}_level"] = message.values.get("level")
        yield Row(values, row.file, row.number, row.origin)


def _by_id(rows: Iterable[Row]) -> dict[str, Row]:
    known: dict[str, Row] = {}
    for row in rows:
        ident = row.text("id").strip()
        if not ident or ident in known:
            what = f"the same id as row {known[ident].number}" if ident else "a message without an id"
            raise DataError(what, where=row.where("id"), remedy="Give every message an id of its own")
        known[ident] = row
    return known


def _file(folder: Path, stem: str) -> Path | None:
    endings = (".jsonl", ".ndjson", ".csv", ".tsv", ".json", ".parquet")
    return next((path for ending in endings if (path := folder / f"{stem}{ending}").is_file()), None)


def _sides(row: Row) -> tuple[str, str]:
    if all(row.text(side).strip() for side in ("chosen", "rejected", "first", "second")):
        raise DataError(
            "its two messages stand in two pairs of columns",
            where=row.where(),
            remedy="Leave one pair out: --columns chosen=,rejected= or --columns first=,second=",
        )
    for sides in (("chosen", "rejected"), ("first", "second")):
        if all(row.text(side).strip() for side in sides):
            return sides
    there = [side for side in ("chosen", "rejected", "first", "second") if side in row.values]
    if there:
        raise DataError(
            "a message is missing", where=row.where(there[0]), remedy="Fill both in or leave the row out"
        )
    raise DataError(
        "no columns with the two messages",
        where=row.where(),
        remedy="Say which they are: --columns chosen=COLUMN,rejected=COLUMN (the more urgent one and the other), or"
        " --columns first=COLUMN,second=COLUMN,winner=COLUMN",
    )


def _second_more_urgent(row: Row, levels: tuple[float, float] | None) -> bool:
    """Whether the second is the more urgent one, by the label, else by the levels."""
    ids = [row.text(f"{side}_id").strip() for side in ("first", "second")]
    said: list[bool] = []
    for column, yes, no, read_as in (
        ("second_more_urgent", _TRUE, _FALSE, []),
        ("winner", SECOND, FIRST, ids),
        ("chosen", frozenset(), frozenset(), ids),  # a column `more_urgent` of ids is taken for `chosen`
    ):
        text = row.text(column).strip()
        if not text:
            continue
        named = {place == 1 for place, ident in enumerate(read_as) if ident == text and ids[0] != ids[1]}
        named |= {word is yes for word in (yes, no) if text.casefold() in word}
        if len(named) > 1:
            raise DataError(
                "this is the id of one message and the place of the other",
                where=row.where(column),
                remedy="Write first or second; a column of ids alone: --columns chosen=COLUMN,winner=",
            )
        if not named:
            raise DataError(
                "this does not say which message is more urgent",
                where=row.where(column),
                remedy="Write first or second, or the id of one of the two, under `winner`, or true or false under"
                " `second_more_urgent`; where"
                " 0 and 1 are false and true: --columns second_more_urgent=COLUMN,winner=",
            )
        said += named
    if len(set(said)) > 1:
        raise DataError(
            "two columns say different things about which message is more urgent",
            where=row.where(),
            remedy="Leave one of them out: --columns winner= or --columns second_more_urgent=",
        )
    if said:
        return said[0]
    if levels is None:
        raise DataError(
            "nothing says which message is more urgent",
            where=row.where(),
            remedy="Say which column does: --columns winner=COLUMN (first or second, 1 or 2, a or b), or"
            " --columns second_more_urgent=COLUMN (true or false)",
        )
    if levels[0] == levels[1]:
        raise DataError(
            "both messages have the same level, so nothing says which is more urgent",
            where=row.where("second_level"),
            remedy="Leave the pair out, or add a column second_more_urgent",
        )
    return levels[1] < levels[0]


def _levels(row: Row, sides: tuple[str, str]) -> tuple[float, float] | None:
    columns = [f"{side}_level" for side in sides]
    if not any(row.text(column).strip() for column in columns):
        return None
    first, second = (level_of(row, column) for column in columns)
    return first, second


def _words(message: Mapping[str, Any]) -> tuple[str, str]:
    return " ".join(message["message"].split()), " ".join(message["chart"].split())
