"""Files of labels: people's numbers for some responses of runs, to correct a judge by. They hold no text.

Columns: `run` (beginning of its digest), `id`, `sample`, `response` (mark of the answer, `label_marks`), then one for
each statistic of the metrics. A row of which no statistic is filled in is not labelled.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pmbench.core.dataset import Row
from pmbench.core.errors import DataError
from pmbench.data.fingerprint import id_shown
from pmbench.data.tables import Most, check_regular, read_table

LEADING = ("run", "id", "sample", "response")

SHORTEST = 12
"""Digits of a run's digest that a label has to name."""

MOST = Most(size=50_000_000, rows=200_000, what="files of labels")
"""How large a file of labels may be: people fill in hundreds of rows."""

_DIGEST = re.compile(r"[0-9a-f]{12,64}")
_MARK = re.compile(r"[a-z]{12}")
_FORMULA = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")
_AGAIN = "Make a form with pmbench labels, and keep its first four columns as they are"


@dataclass(frozen=True)
class Label:
    """People's numbers for one response.

    Attributes:
        row: of the file, for errors.
        run: beginning of the run's digest; id, sample: of the response; mark: of the answer.
        stats: what is filled in.
    """

    row: Row
    run: str
    id: str
    sample: int
    mark: str
    stats: dict[str, float]


@dataclass(frozen=True)
class Labels:
    """What files of labels hold.

    Attributes:
        files: names, as the user gave them.
        statistics: the columns after the first four, of all files: what a file lacks is unlabelled in its rows.
        filled: rows in which something is filled in; empty: how many others there are.
        broken: by column, the error of its first cell that is filled in and holds no number. It is for whoever knows
            whether the column is a statistic at all.
    """

    files: tuple[str, ...]
    statistics: tuple[str, ...]
    filled: tuple[Label, ...]
    empty: int
    broken: Mapping[str, DataError] = field(default_factory=dict)

    @property
    def runs(self) -> list[str]:
        """Beginnings of the digests of the runs that have labels."""
        return list(dict.fromkeys(label.run for label in self.filled))

    def of(self, digest: str) -> list[Label]:
        """The labels of a run, by its whole digest."""
        return [label for label in self.filled if digest.startswith(label.run)]


def read_labels(paths: Iterable[str | Path]) -> Labels:
    """Read files of labels.

    Args:
        paths: CSV (with commas, semicolons or tabs; a byte order mark does no harm) or another kind of table.

    Raises:
        DataError: a file that cannot be read, is too large, or lacks one of the first four columns; a cell that is no
            digest or no number of a sample; two rows for one response; nothing is filled in.
    """
    names = tuple(map(str, paths))
    try:
        return _read(names)
    except MemoryError:
        pass
    raise DataError(
        "does not fit into memory",
        where=", ".join(names),
        remedy="Split it, or use a machine with more memory",
    )


def _read(names: tuple[str, ...]) -> Labels:
    columns: dict[str, None] = {}
    filled: list[Label] = []
    seen: dict[tuple[str, str, int], Row] = {}
    broken: dict[str, DataError] = {}
    empty = 0
    for name in names:
        rows = _table(name)
        statistics = _statistics(rows[0], name)
        columns |= dict.fromkeys(statistics)
        for row in rows:
            if all(map(_blank, row.values.values())):  # as spreadsheets write below the last row
                continue
            label, wrong = _label(row, statistics)
            key = (label.run[:SHORTEST], label.id, label.sample)
            if key in seen:
                earlier = seen[key]
                of = "" if earlier.file == row.file else f" of {earlier.file}"
                raise DataError(
                    f"the response {id_shown(label.id)}, sample {label.sample}, has a row already:"
                    f" row {earlier.number}{of}",
                    where=row.where(),
                    remedy="Leave one of the two out; of two people's labels, what they agree on",
                )
            seen[key] = row
            broken = wrong | broken
            if label.stats or wrong:
                filled.append(label)
            else:
                empty += 1
    if not filled:
        raise DataError(
            f"no statistic is filled in, in any of {empty} rows",
            where=", ".join(names),
            remedy="Have people fill in the columns after the fourth",
        )
    return Labels(names, tuple(columns), tuple(filled), empty, broken)


def _table(name: str) -> list[Row]:
    if os.path.lexists(name):  # a folder's name or a device's has no ending to complain of
        check_regular(Path(name), name)
    return read_table(name, most=MOST)


def _blank(given: Any) -> bool:
    return given is None or (isinstance(given, str) and not given.strip())


def shielded(name: str) -> str:
    """An id that no spreadsheet takes for a formula: with an apostrophe before it where it might be one."""
    return f"'{name}" if name.lstrip("'").lstrip().startswith(_FORMULA) else name


def unshielded(name: str) -> str:
    """The id that `shielded` was given."""
    return name[1:] if name.startswith("'") and shielded(name[1:]) == name else name


def _statistics(row: Row, file: str) -> tuple[str, ...]:
    """The columns after the first four."""
    lacking = [name for name in LEADING if name not in row.values]
    statistics = tuple(name for name in row.values if name not in LEADING)
    if lacking or not statistics:
        what = f"there is no column {lacking[0]!r}" if lacking else "there is no column of a statistic"
        raise DataError(what, where=f"{file}, the header", remedy=_AGAIN)
    return statistics


def _label(row: Row, statistics: Sequence[str]) -> tuple[Label, dict[str, DataError]]:
    """What a row holds, and the errors of its cells that hold no number, by column."""
    run, mark = row.text("run").strip().lower(), row.text("response").strip().lower()
    if not _DIGEST.fullmatch(run):
        what = f"no beginning of a run's digest: {SHORTEST} or more of 0 to 9 and a to f"
        raise DataError(what, where=row.where("run"), remedy=_AGAIN)
    if not _MARK.fullmatch(mark):
        raise DataError("no mark of an answer (12 letters)", where=row.where("response"), remedy=_AGAIN)
    name = unshielded(row.text("id"))
    if not name:
        raise DataError("there is no id", where=row.where("id"), remedy=_AGAIN)
    sample = _number(row.values.get("sample"))
    if sample is None or sample < 0 or sample != int(sample):
        raise DataError("no number of a sample (0, 1, …)", where=row.where("sample"), remedy=_AGAIN)
    stats, wrong = {}, {}
    for column in statistics:
        given = row.values.get(column)
        if _blank(given):
            continue
        number = _number(given)
        if number is None:
            wrong[column] = _no_number(row, column, given)
        else:
            stats[column] = number
    return Label(row, run, name, int(sample), mark, stats), wrong


def _no_number(row: Row, column: str, given: Any) -> DataError:
    comma = isinstance(given, str) and re.fullmatch(r"\s*-?\d+,\d+\s*", given)
    return DataError(
        "not a number" if not comma else "a number with a comma in it",
        where=row.where(column),
        remedy="Write decimals with a point (0.5)"
        if comma
        else "Write a number, or leave it empty where nobody has labelled it",
    )


def _number(given: Any) -> float | None:
    """A finite number, from text too; None for anything else."""
    if isinstance(given, bool) or not isinstance(given, (str, int, float)):
        return None
    if isinstance(given, str) and not re.fullmatch(
        r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*", given, re.ASCII
    ):
        return None
    try:
        number = float(given)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None
