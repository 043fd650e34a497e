"""Recorded answers: `replay:FILE`, `replay:FILE#column` or `replay:@column` of the run's own data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar

from pmbench.core.digest import canonical_json, digest
from pmbench.core.errors import ConfigError, DataError, RequestFailed
from pmbench.core.instance import Response
from pmbench.core.model import Completion
from pmbench.models.backend import Backend, BackendOptions, Request
from pmbench.models.paths import ABSENT, shortened, why_no_file
from pmbench.models.recordings import Columns, Recorded, Responses, answers_of, number_form, read_rows
from pmbench.models.spec import ModelSpec


class ReplayOptions(BackendOptions, frozen=True, forbid_unknown_fields=True):
    """Options of `replay`.

    Attributes:
        column: the column of the answers' text, `text` if not given.
        id: the column of the instances' ids; empty: rows are numbered from 1, as those of data without ids are.
    """

    column: str = ""
    id: str = "id"


class Replay(Backend):
    """Answers by instance id, from a file or from the data.

    A row of a file has `id` and `text`; a row of JSON Lines may have `data` too, which stands in
    `Completion.raw`, and takes the place of the text, as JSON, where there is no text. An empty text is an
    answer; a text that is null is a failed request (`null`), an id that has no row another (`absent`). Where no
    row has an instance's id, one counts whose id is the same whole number: a spreadsheet makes 7 or 7.0 of 007.

    Args:
        spec: what to replay.
        options: its options.
        columns: the columns of the run's data, for `replay:@column`.
        responses: the task's own reader of files; what it does not know is read as a table.

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

    def __init__(
        self,
        spec: ModelSpec,
        options: BackendOptions,
        columns: Columns | None = None,
        responses: Responses | None = None,
    ) -> None:
        super().__init__(spec, options)
        self._columns, self._responses = columns, responses
        if not isinstance(options, ReplayOptions):
            raise TypeError("options of replay are ReplayOptions")
        self._file, self._column = _split(spec.target, options.column)
        self._id = options.id
        self._recorded: dict[str, Recorded] | None = None
        self._numbers: dict[str, str | None] = {}
        self.notes: list[str] = []
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
                own = self._responses(self._file) if self._responses else None
                self.notes = [str(line) for line in getattr(own, "notes", ())]
                self._recorded = (
                    answers_of(read_rows(self._file), self._column, self._id)
                    if own is None
                    else {id_: _as_recorded(response) for id_, response in own.items()}
                )
            else:
                assert self._columns is not None  # see __init__
                texts = self._columns(self._column)
                self._recorded = {id_: Recorded(text) for id_, text in texts.items()}
            for id_ in self._recorded:
                if number := number_form(id_):
                    # Of two ids of one number none can be told.
                    self._numbers[number] = None if number in self._numbers else id_
        return self._recorded

    def coverage(self, ids: Iterable[str]) -> tuple[list[str], list[str]]:
        """The ids of instances that have no recorded answer, and the recorded ids of no instance.

        Raises:
            DataError: one recorded id would stand for two instances.
        """
        wanted = dict.fromkeys(ids)
        taken: dict[str, str] = {}
        missing = []
        for id_ in wanted:
            own = self._own_id(id_)
            if own is None:
                missing.append(id_)
            elif taken.setdefault(own, id_) != id_:
                raise DataError(
                    "two ids of the data are one number, and it has one of them only",
                    where=f"model {shortened(self.spec.given)}",
                    remedy="Write its ids as the data do",
                )
        return missing, [id_ for id_ in self.recorded() if id_ not in taken]

    def read_as_numbers(self, ids: Iterable[str]) -> dict[str, str]:
        """Ids of instances that were found as numbers only, each with the recorded id."""
        found = {id_: self._own_id(id_) for id_ in ids}
        return {id_: own for id_, own in found.items() if own is not None and own != id_}

    def _own_id(self, instance: str) -> str | None:
        """The recorded id that means an instance; None where there is none."""
        if instance in self.recorded():
            return instance
        number = number_form(instance)
        return self._numbers.get(number) if number else None

    async def chat(self, request: Request) -> Completion:
        """The recorded answer of the request's instance."""
        own = self._own_id(request.instance)
        if own is None:
            raise RequestFailed("absent", "there is no recorded answer for this instance")
        found = self.recorded()[own]
        if found.text is None:
            raise RequestFailed("null", "the recorded answer for this instance is null")
        return Completion(found.text, raw={"data": found.data} if found.data else {})


def _as_recorded(response: Response | None) -> Recorded:
    if response is None:
        return Recorded(None)
    return Recorded(response.text, canonical_json(response.data).decode() if response.data else "")


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


def _without_nothing(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Pairs of id and text, with the data only where there is some."""
    return [row if row[2] else row[:2] for row in rows]
