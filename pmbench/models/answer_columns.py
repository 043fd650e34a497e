"""Which column of a file of recorded answers holds the ids and which the text: asked for, or guessed."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pmbench.core.errors import ConfigError, DataError, UnknownName
from pmbench.core.names import name_shown
from pmbench.models.recordings import RecordedRows

OPTION = "--response-columns"

TEXT_NAMES = frozenset(
    {
        "text",
        "response",
        "draft",
        "reply",
        "answer",
        "output",
        "completion",
        "generation",
        "prediction",
        "llmdraft",
        "modelresponse",
        "modeloutput",
        "generatedtext",
        "generatedresponse",
    }
)
"""What a column of answers is called, in small letters and without spaces, hyphens and underscores."""


@dataclass(frozen=True, slots=True)
class AnswerColumns:
    """The columns of a file of answers.

    Attributes:
        text: of the texts; id: of the ids, empty where the rows are numbered.
        notes: what was guessed.
    """

    text: str
    id: str
    notes: tuple[str, ...] = ()


def find_columns(
    found: RecordedRows,
    where: str,
    asked: Mapping[str, str],
    *,
    id_names: Sequence[str] = (),
    of_data: Sequence[str] = (),
    is_data: bool = False,
) -> AnswerColumns:
    """Find both columns.

    Args:
        found: the file.
        where: what it is called in errors.
        asked: `text` and `id` as the user named them; an empty `id` numbers the rows.
        id_names: what a column of ids may be called besides `id`, as in data.
        of_data: columns that data must have: none of them is guessed to be the text where all are there, since
            one could be the reference.
        is_data: whether the file holds the data too: then its text is not guessed at all, and its rows are
            numbered where it has no ids, as those of the data are.

    Raises:
        UnknownName: something else than `text` and `id` was named.
        ConfigError: an empty name of the text's column.
        DataError: there is no such column, or none or several could be it.
    """
    for name in asked:
        if name not in ("text", "id"):
            raise UnknownName("column of responses", name, ("text", "id"), remedy=f"It was given in {OPTION}")
    if asked.get("text") == "":
        raise ConfigError("no column is named for 'text'", where=OPTION, remedy="Write text=COLUMN")
    for name, column in asked.items():
        if column and column not in found.names:
            near = difflib.get_close_matches(column, found.names, n=1, cutoff=0.5)
            hint = f"Did you mean {name_shown(near[0])}? " if near else ""
            raise DataError(
                f"no column {column!r}, which {OPTION} names for {name!r}",
                where=where,
                remedy=hint + _listed(found.names),
            )
    notes: list[str] = []
    text = asked["text"] if "text" in asked else _text(found, where, of_data, is_data, notes)
    id_ = asked["id"] if "id" in asked else _id(found, where, id_names, is_data, notes)
    return AnswerColumns(text, id_, tuple(notes))


def _text(found: RecordedRows, where: str, of_data: Sequence[str], is_data: bool, notes: list[str]) -> str:
    if is_data:
        raise DataError(
            "it holds the data too, so that its column of responses has to be named",
            where=where,
            remedy=f"{OPTION} text=COLUMN. {_listed(found.names)}",
        )
    data = set(of_data) if set(of_data) <= set(found.names) else set()
    fitting = [name for name in found.names if _plain(name) in TEXT_NAMES and name not in data]
    if not fitting and found.lines and "data" in found.names:
        return "text"  # structured answers, which need none
    if len(fitting) != 1:
        what = f"{len(fitting)} columns could be the responses" if fitting else "no column of responses"
        named = f": {', '.join(map(name_shown, fitting))}" if fitting else ""
        remedy = f"Say which: {OPTION} text=COLUMN. {_listed(found.names)}"
        raise DataError(what + named, where=where, remedy=remedy)
    if fitting[0] != "text":
        notes.append(_guess("responses", fitting[0]))
    return fitting[0]


def _id(found: RecordedRows, where: str, id_names: Sequence[str], is_data: bool, notes: list[str]) -> str:
    if "id" in found.names:
        return "id"
    for names in ({"id"}, set(map(_plain, id_names))):
        fitting = [name for name in found.names if _plain(name) in names]
        if len(fitting) > 1:
            raise DataError(
                f"{len(fitting)} columns could be the ids: {', '.join(map(name_shown, fitting))}",
                where=where,
                remedy=f"Say which: {OPTION} id={fitting[0]}",
            )
        if fitting:
            notes.append(_guess("ids of responses", fitting[0]))
            return fitting[0]
    if is_data:
        return ""
    raise DataError(
        "no column of ids",
        where=where,
        remedy=f"Say which: {OPTION} id=COLUMN; id= numbers the rows, where they are in the order of the data. "
        + _listed(found.names),
    )


def _guess(what: str, column: str) -> str:
    return f"{what} are read from {name_shown(column)} (a guess; {OPTION} decides)"


def _listed(names: Sequence[str]) -> str:
    return f"Columns found: {', '.join(map(name_shown, names)) or 'none'}."


def _plain(name: str) -> str:
    return "".join(sign for sign in name.casefold() if sign not in "_-" and not sign.isspace())
