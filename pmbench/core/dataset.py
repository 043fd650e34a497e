"""How a task describes its dataset: columns, sources, sensitivity; and one row of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Sensitivity = Literal["public", "deidentified", "phi"]
"""`public` may go anywhere, `deidentified` to a remote model only when allowed, `phi` never."""

SENSITIVITIES: tuple[Sensitivity, ...] = ("public", "deidentified", "phi")


@dataclass(frozen=True, slots=True)
class Column:
    """One column that a task reads.

    Attributes:
        name: its name in the task (`message`).
        help: what it holds, for the card and for error messages.
        required: whether every row needs a value.
        guesses: other names under which datasets carry it; letter case, `_`, `-` and space do not count. A
            file in which two columns fit is refused, and asks for `--columns`.
        kind: `text` (must be text), `label` (text, and a number is turned into it: levels, groups, ids) or
            `any` (kept as it is: lists, objects, numbers).
    """

    name: str
    help: str
    required: bool = True
    guesses: tuple[str, ...] = ()
    kind: Literal["text", "label", "any"] = "text"


@dataclass(frozen=True, slots=True)
class HubDataset:
    """A dataset on the Hugging Face hub, by id and revision; several splits are joined by `+`.

    Rows of several splits have the name of theirs in a column `split`.
    """

    id: str
    revision: str = "main"
    split: str | None = None


@dataclass(frozen=True, slots=True)
class DatasetSpec:
    """Where rows come from, their columns and their sensitivity.

    Attributes:
        columns: what the task reads. A column `id` is added if missing; a file without ids gets row numbers.
        hub: the default source, if the dataset is on the hub.
        demo: a resource of the task's package, `package:path` (`pmbench_tasks.drafting:demo/messages.jsonl`),
            read by `--data demo`.
        sensitivity: of the hub dataset. Demo data are `public`; a user's own file is `phi` unless they say.
        slices: columns that become slices where a dataset has them.
        private: why `--data` is required, for a dataset that is not published.
        credentialed: what everybody who has the dataset agreed to; what `Task.read` reads then has the dataset's
            sensitivity, not that of a file of one's own, and these words stand in every plan.
        split: which rows are taken unasked where those that `Task.read` reads have values `split` that differ.
        example: two or three lines of JSONL that show the format.
    """

    columns: tuple[Column, ...]
    hub: HubDataset | None = None
    demo: str | None = None
    sensitivity: Sensitivity = "public"
    slices: tuple[str, ...] = ()
    private: str = ""
    credentialed: str = ""
    split: str = ""
    example: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a dataset, under the task's own column names.

    Attributes:
        values: by column name; columns that the task did not ask for keep their own names.
        file: the file it came from, as the user named it.
        number: line or record number in that file, from 1.
        origin: the name in the file of each column that was renamed.
    """

    values: Mapping[str, Any]
    file: str
    number: int
    origin: Mapping[str, str] = field(default_factory=dict)

    def where(self, column: str | None = None) -> str:
        """`file, row 12, column 'msg'`: the place for an error message; never the text in it."""
        place = f"{self.file}, row {self.number}"
        return place if column is None else f"{place}, column {self.origin.get(column, column)!r}"

    def text(self, column: str) -> str:
        """The value of a column as text; `""` where it is absent or null."""
        value = self.values.get(column)
        return "" if value is None else str(value)
