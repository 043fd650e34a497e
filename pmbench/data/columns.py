"""Which column of a file is which column of a task: asked for, of the same name, or guessed."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pmbench.core.dataset import Column, DatasetSpec
from pmbench.core.errors import ConfigError, DataError, UnknownName
from pmbench.core.names import name_shown as name_shown

ID = Column(
    "id",
    "what tells the rows apart",
    required=False,
    guesses=(
        "uid",
        "uuid",
        "guid",
        "message id",
        "msg id",
        "instance id",
        "case id",
        "example id",
        "sample id",
        "row id",
    ),
    kind="label",
)
"""The column that every dataset may have; rows of a file without it are numbered."""

_OTHER_MARKS = "|;,\t"
"""What may stand between columns; in the one name of a header: not what the file is read with."""


@dataclass(frozen=True, slots=True)
class Mapped:
    """What was found: the file's column of each of the task's columns, and which of them are guesses."""

    columns: Mapping[str, str]
    guessed: frozenset[str]


def parse_columns(text: str) -> dict[str, str]:
    """Read `message=msg,chart=ehr`: the task's column, then the file's.

    `chart=` (nothing after the sign) says that the file has no such column, so that none is guessed. A comma
    or a backslash in a name of the file is written with a backslash before it.

    Raises:
        ConfigError: a part without `=`, or a task's column given twice.
    """
    columns: dict[str, str] = {}
    for part in _split(text):
        name, sign, found = part.partition("=")
        if not sign or not name.strip():
            raise ConfigError(
                f"{part.strip()!r} is not of the form name=column",
                where="--columns",
                remedy="Write: --columns message=msg,chart=ehr",
            )
        if name.strip() in columns:
            raise ConfigError(
                f"{name.strip()!r} is given twice", where="--columns", remedy="Name one column for it"
            )
        columns[name.strip()] = found.strip()
    return columns


def wanted_columns(spec: DatasetSpec) -> tuple[Column, ...]:
    """The columns that a task reads, then its slices, and `id` where the task does not name it."""
    named = {column.name for column in spec.columns}
    first = () if "id" in named else (ID,)
    slices = [name for name in dict.fromkeys(spec.slices) if name not in named]
    return (*first, *spec.columns, *(Column(name, "a subgroup", False, (), "label") for name in slices))


def map_columns(
    wanted: Sequence[Column], found: Sequence[str], asked: Mapping[str, str], *, task: str, where: str
) -> Mapped:
    """Find each column that the task wants.

    What was asked for comes first, then the task's own name, then that name in another spelling (letter case,
    `_`, `-`, space), then the task's guesses. A column of the file is taken once, unless asked for twice.

    Args:
        wanted: the task's columns.
        found: the file's columns, in their order.
        asked: from `--columns`.
        task: the task's name; where: the file, for errors.

    Raises:
        UnknownName: `asked` names a column that the task has not.
        DataError: a column asked for or required is not there, or a guess could be two.
    """
    columns = _asked(wanted, found, asked, task, where)
    open_ones = [column for column in wanted if column.name not in asked]
    for column in open_ones:
        if column.name in found and column.name not in columns.values():
            columns[column.name] = column.name
    guessed: dict[str, str] = {}
    for names in (_own_names, _guessed_names):
        taken = {*columns.values(), *guessed.values()}
        left = [column for column in open_ones if column.name not in {*columns, *guessed}]
        guessed |= _guess([(column.name, names(column)) for column in left], found, taken, where)
    columns |= guessed
    missing = [column for column in wanted if column.required and column.name not in columns]
    if missing:
        raise _missing(missing, found, where)
    return Mapped(
        {column.name: columns[column.name] for column in wanted if column.name in columns}, frozenset(guessed)
    )


def list_columns(found: Iterable[str]) -> str:
    """`Columns found: 'a', 'b'.`, with a hint where they do not look like names."""
    names = list(found)
    shown = ", ".join(map(name_shown, names)) or "none"
    hint = ""
    if any(name_shown(name).startswith("(") for name in names):
        hint = " The first row does not look like column names: does the file have a header?"
    elif len(names) == 1 and (mark := next((mark for mark in _OTHER_MARKS if mark in names[0]), None)):
        hint = f" {mark!r} separates no columns: save the file as .csv, with commas, semicolons or tabs."
    return f"Columns found: {shown}.{hint}"


def _asked(
    wanted: Sequence[Column], found: Sequence[str], asked: Mapping[str, str], task: str, where: str
) -> dict[str, str]:
    known = [column.name for column in wanted]
    columns = {}
    for name, target in asked.items():
        if name not in known:
            raise UnknownName(f"column of {task}", name, known, remedy="It was given in --columns")
        if target and target not in found:
            near = difflib.get_close_matches(target, found, n=1, cutoff=0.5)
            hint = f"Did you mean {name_shown(near[0])}? " if near else ""
            raise DataError(
                f"no column {target!r}, which --columns names for {name!r}",
                where=where,
                remedy=hint + list_columns(found),
            )
        if target:
            columns[name] = target
    return columns


def _guess(
    names: Sequence[tuple[str, frozenset[str]]], found: Sequence[str], taken: set[str], where: str
) -> dict[str, str]:
    """The file's column for each of the task's columns that has one fitting name; none may fit two."""
    guessed: dict[str, str] = {}
    for name, fitting in names:
        hits = [column for column in found if column not in taken and _plain(column) in fitting]
        if len(hits) > 1:
            raise DataError(
                f"{len(hits)} columns could be {name!r}: {', '.join(map(name_shown, hits))}",
                where=where,
                remedy=f"Say which: --columns {name}={hits[0]} (or {name}= for none)",
            )
        if hits:
            rival = next((other for other, column in guessed.items() if column == hits[0]), None)
            if rival is not None:
                raise DataError(
                    f"the column {name_shown(hits[0])} could be {rival!r} or {name!r}",
                    where=where,
                    remedy=f"Say which: --columns {rival}={hits[0]},{name}=COLUMN",
                )
            guessed[name] = hits[0]
    return guessed


def _missing(missing: Sequence[Column], found: Sequence[str], where: str) -> DataError:
    names = " and ".join(
        f"{column.name!r} ({column.help})" if column.help else repr(column.name) for column in missing
    )
    example = ",".join(f"{column.name}=COLUMN" for column in missing)
    return DataError(
        f"no column {names}",
        where=where,
        remedy=f"{list_columns(found)} Say which is which: --columns {example}",
    )


def _plain(name: str) -> str:
    return "".join(sign for sign in name.casefold() if sign not in "_-" and not sign.isspace())


def _own_names(column: Column) -> frozenset[str]:
    return frozenset({_plain(column.name)})


def _guessed_names(column: Column) -> frozenset[str]:
    return frozenset(map(_plain, column.guesses))


def _split(text: str) -> list[str]:
    parts, escaped = [""], False
    for sign in text:
        if escaped or sign not in "\\,":
            parts[-1] += sign
            escaped = False
        elif sign == "\\":
            escaped = True
        else:
            parts.append("")
    return [part for part in parts if part.strip()]
