"""Recorded answers: `replay:FILE`, `replay:FILE#column` or `replay:@column` of the run's own data."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import msgspec

from pmbench.core.delimiter import separator
from pmbench.core.digest import canonical_json, digest
from pmbench.core.errors import ConfigError, DataError, RequestFailed
from pmbench.core.model import Completion
from pmbench.core.names import name_shown
from pmbench.models.backend import Backend, BackendOptions, Request
from pmbench.models.paths import ABSENT, shortened, why_no_file
from pmbench.models.spec import ModelSpec

Columns = Callable[[str], Mapping[str, str]]
"""Text by instance id of a column of the run's own data."""

_DELIMITED = (".csv", ".tsv")
_LINES = (".jsonl", ".ndjson")


class ReplayOptions(BackendOptions, frozen=True, forbid_unknown_fields=True):
    """Options of `replay`.

    Attributes:
        column: the column of the answers' text, `text` if not given.
        id: the column of the instances' ids.
    """

    column: str = ""
    id: str = "id"


class Recorded(NamedTuple):
    """One recorded answer: its text, None where the file says null; and structured data, as JSON."""

    text: str | None
    data: str = ""


class Replay(Backend):
    """Answers by instance id, from a file or from the data.

    A row of a file has `id` and `text`; a row of JSON Lines may have `data` too, which stands in
    `Completion.raw`, and takes the place of the text, as JSON, where there is no text. An empty text is an
    answer; a text that is null is a failed request (`null`), an id that has no row another (`absent`).

    Args:
        spec: what to replay.
        options: its options.
        columns: the columns of the run's data, for `replay:@column`.

    Raises:
        ConfigError: a column is named twice, or there is no data to take a column from.
    """

    name: ClassVar[str] = "replay"
    options: ClassVar[type[BackendOptions]] = ReplayOptions
    offers = frozenset({"chat"})
    local = True
    keeps = False
    by_instance = True
    parallel = 256

    def __init__(self, spec: ModelSpec, options: BackendOptions, columns: Columns | None = None) -> None:
        super().__init__(spec, options)
        self._columns = columns
        if not isinstance(options, ReplayOptions):
            raise TypeError("options of replay are ReplayOptions")
        self._file, self._column = _split(spec.target, options.column)
        self._id = options.id
        self._recorded: dict[str, Recorded] | None = None
        if self._file is None and columns is None:
            raise ConfigError(
                f"there is no data here to take the column {self._column!r} from",
                where=f"model {spec.given}",
                remedy="Use it in a run, or replay a file: replay:FILE",
            )

    def unavailable(self) -> str:
        """Why it cannot be replayed: there is no such file, or it is none."""
        reason = "" if self._file is None else why_no_file(self._file)
        if not reason:
            return ""
        shown = shortened(str(self._file))
        what = f"there is no file {shown}" if reason == ABSENT else f"{shown}: {reason}"
        return f"{what}; replay:FILE reads id and text from .jsonl or .csv"

    def identity(self) -> Mapping[str, str]:
        """Digest of the recorded answers, whatever the file is called and however it is ordered.

        Raises:
            DataError: they cannot be read.
        """
        rows = sorted((id_, *answer) for id_, answer in self.recorded().items())
        return {"engine": "replay", "answers": digest(_without_nothing(rows))}

    def recorded(self) -> Mapping[str, Recorded]:
        """The answers by instance id, read once.

        Raises:
            DataError: the file is missing, not UTF-8, empty, broken, or has no or double ids.
        """
        if self._recorded is None:
            if self._file is not None:
                self._recorded = _read(self._file, self._column, self._id)
            else:
                assert self._columns is not None  # see __init__
                texts = self._columns(self._column)
                self._recorded = {id_: Recorded(text) for id_, text in texts.items()}
        return self._recorded

    def coverage(self, ids: Iterable[str]) -> tuple[list[str], list[str]]:
        """The ids of instances that have no recorded answer, and the recorded ids of no instance."""
        wanted = dict.fromkeys(ids)
        recorded = self.recorded()
        return [id_ for id_ in wanted if id_ not in recorded], [id_ for id_ in recorded if id_ not in wanted]

    async def chat(self, request: Request) -> Completion:
        """The recorded answer of the request's instance."""
        found = self.recorded().get(request.instance)
        if found is None:
            raise RequestFailed("absent", "there is no recorded answer for this instance")
        if found.text is None:
            raise RequestFailed("null", "the recorded answer for this instance is null")
        return Completion(found.text, raw={"data": found.data} if found.data else {})


def _split(target: str, asked: str) -> tuple[Path | None, str]:
    """The file, None for the run's data, and the column. A file whose name holds `#` is taken as it is."""
    if target.startswith("@"):
        path, named = None, target[1:]
        if not named:
            raise ConfigError(
                "no column is named", where=f"model replay:{target}", remedy="Write replay:@column"
            )
    elif "#" in target and why_no_file(Path(target)) == ABSENT:
        file, _, named = target.rpartition("#")
        path = Path(file)
    else:
        path, named = Path(target), ""
    if named and asked and named != asked:
        raise ConfigError(
            f"two columns are named, {named!r} and {asked!r}",
            where=f"model replay:{target}",
            remedy="Keep one",
        )
    return path, named or asked or "text"


def _read(path: Path, column: str, id_column: str) -> dict[str, Recorded]:
    kind = path.suffix.lower()
    if kind in _DELIMITED:
        text = _text(path)
        rows = _csv_rows(path, text, separator(text) if kind == ".csv" else "\t")
    elif kind in _LINES:
        rows = _json_rows(path, _text(path))
    else:
        raise DataError(
            f"cannot replay a file called {kind or 'without an ending'}",
            where=str(path),
            remedy="Use .jsonl, .csv or .tsv with id and text",
        )
    with_data = kind in _LINES  # a column of a table that is called so is any column
    found: dict[str, Recorded] = {}
    lines: dict[str, int] = {}
    for line, row in rows:
        where = f"{path}, line {line}"
        id_ = _id(row, id_column, where)
        if id_ in found:
            raise DataError(f"the same id as in line {lines[id_]}", where=where, remedy="Keep one of them")
        found[id_], lines[id_] = _recorded(row, column, where, with_data), line
    if not found:
        raise DataError("it holds no answers", where=str(path), remedy="Give it rows with id and text")
    return found


def _text(path: Path) -> str:
    reason = why_no_file(path)
    if reason:
        raise DataError(reason, where=shortened(str(path)), remedy="Check the name")
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(
            f"it is not UTF-8 (byte {error.start})", where=str(path), remedy="Save it as UTF-8"
        ) from None
    except OSError as error:
        raise DataError(f"it cannot be read ({error.strerror})", where=str(path)) from None
    except MemoryError:
        raise DataError(
            "it does not fit into memory", where=str(path), remedy="Replay a smaller file"
        ) from None


def _json_rows(path: Path, text: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for line, content in enumerate(io.StringIO(text, newline=None), start=1):
        if not content.strip():
            continue
        where = f"{path}, line {line}"
        twice: list[str] = []
        try:
            row = msgspec.json.decode(content)
            json.loads(content, object_pairs_hook=partial(_without_twins, twice))
        except (msgspec.DecodeError, ValueError, RecursionError):
            # The decoder's own words may quote the text.
            raise DataError("the JSON is broken", where=where, remedy="Write one object per line") from None
        if twice:
            raise DataError(
                f"the key {name_shown(twice[0])} stands twice in one object",
                where=where,
                remedy="Keep one of them",
            )
        if not isinstance(row, dict):
            raise DataError("it is no JSON object", where=where, remedy='Write {"id": "…", "text": "…"}')
        yield line, row


def _without_twins(twice: list[str], pairs: list[tuple[str, Any]]) -> None:
    """Note the keys that an object has more than once: which of them counts, nobody could tell."""
    seen: set[str] = set()
    for name, _ in pairs:
        if name in seen:
            twice.append(name)
        seen.add(name)


def _csv_rows(path: Path, text: str, delimiter: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    # One field may be as long as the file; the module's limit is the same for everybody, so it is put back.
    limit = csv.field_size_limit(max(len(text) + 1, 131_072))
    try:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        header: list[str] | None = None
        line = 1
        for fields in reader:
            if header is None:
                header = _header(fields, f"{path}, line {line}")
            elif fields:
                if len(fields) != len(header):
                    raise DataError(
                        f"{len(fields)} fields where the first line has {len(header)}",
                        where=f"{path}, line {line}",
                        remedy="Check the quotes",
                    )
                yield line, dict(zip(header, fields, strict=True))
            line = reader.line_num + 1
    except csv.Error as error:
        raise DataError(
            f"broken CSV ({error})", where=f"{path}, line {line}", remedy="Check the quotes"
        ) from None
    finally:
        csv.field_size_limit(limit)


def _header(fields: Sequence[str], where: str) -> list[str]:
    names = [name.strip() for name in fields]
    for place, name in enumerate(names, start=1):
        # Columns without a name cannot be asked for, so several of them do no harm.
        if name and name in names[: place - 1]:
            raise DataError(
                f"columns {names.index(name) + 1} and {place} are both called {name_shown(name)}",
                where=where,
                remedy="Give each column a name of its own",
            )
    return names


def _id(row: Mapping[str, Any], column: str, where: str) -> str:
    id_ = row.get(column)
    if isinstance(id_, int) and not isinstance(id_, bool):
        return str(id_)
    if not isinstance(id_, str) or not id_:
        raise DataError(
            "no id",
            where=where,
            remedy=f"Every row needs a column {column!r}, a text or a whole number; another one: ?id=COLUMN",
        )
    return id_


def _recorded(row: Mapping[str, Any], column: str, where: str, with_data: bool) -> Recorded:
    data = row.get("data") if with_data and column != "data" else None
    data = "" if data is None else canonical_json(data).decode()
    if column not in row:
        if data:
            return Recorded(data, data)
        names = ", ".join(map(name_shown, row)) or "none"
        raise DataError(
            f"there is no column {column!r}",
            where=where,
            remedy=f"Columns there: {names}. Name another one: replay:FILE#column. A table needs a first line "
            "with the names of its columns",
        )
    text = row[column]
    if text is not None and not isinstance(text, str):
        raise DataError(
            f"the column {column!r} is no text",
            where=where,
            remedy="Put the text in quotes; null for no answer",
        )
    return Recorded(text, data)


def _without_nothing(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Pairs of id and text, with the data only where there is some."""
    return [row if row[2] else row[:2] for row in rows]
