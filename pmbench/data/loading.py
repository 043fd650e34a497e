"""Loading a dataset for a task: from its source to validated, fingerprinted instances."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from pmbench.core.dataset import Row, Sensitivity
from pmbench.core.errors import DataError
from pmbench.core.instance import Instance
from pmbench.core.names import name_shown
from pmbench.core.registry import PluginError
from pmbench.core.task import Task
from pmbench.data.columns import list_columns, map_columns, parse_columns, wanted_columns
from pmbench.data.fingerprint import fingerprint, id_shown
from pmbench.data.rows import columns_of, identify, label_text, rename, validate
from pmbench.data.slices import usable_slices
from pmbench.data.sources import Found, Source, find

__all__ = ["Dataset", "Source", "load", "parse_columns"]

_NAMES_SHOWN = 5


@dataclass
class Dataset:
    """What a run is carried out over.

    Attributes:
        instances: unique ids, in the order of the rows.
        rows: the rows they were made from, under the task's column names, each with its id as text.
        fingerprint: SHA-256 over the instances' content, the same whatever the file's format.
        source: where the rows came from.
        sensitivity: where their text may go.
        columns: the file's column of each of the task's columns.
        guessed: which of the task's columns were guessed.
        notes: lines to print: guesses, added ids, the split that was chosen, slices that are none.
    """

    instances: list[Instance]
    rows: list[Row]
    fingerprint: str
    source: Source
    sensitivity: Sensitivity
    columns: dict[str, str]
    guessed: frozenset[str]
    notes: list[str] = field(default_factory=list)

    def column(self, name: str) -> dict[str, str]:
        """Text of one column by instance id, under the task's name for it or the file's.

        An instance whose value is null is left out; an empty text is kept.

        Raises:
            DataError: there is no such column, or it holds something other than text and numbers.
        """
        known = columns_of(self.rows)
        by_file = {file: task for task, file in self.columns.items()}
        key = name if name in known else by_file.get(name, name)
        if key not in known:
            raise DataError(f"no column {name!r}", where=self.source.location, remedy=list_columns(known))
        wanted = {instance.id for instance in self.instances}
        texts: dict[str, str] = {}
        for row in self.rows:
            value, ident = row.values.get(key), row.values["id"]
            if value is None or ident not in wanted:
                continue
            text = label_text(value)
            if text is None:
                raise DataError("not text", where=row.where(key), remedy="Name a column that holds text")
            texts[ident] = text
        return texts


def load(
    task: Task,
    data: str | None,
    *,
    columns: Mapping[str, str] | None = None,
    sensitivity: Sensitivity | None = None,
    revision: str | None = None,
    split: str | None = None,
) -> Dataset:
    """Load, map, validate and fingerprint a dataset.

    Args:
        task: what the rows are for.
        data: None for the task's dataset on the hub, `demo`, a path, or `hub:ORG/NAME[/CONFIGURATION]`.
        columns: the file's column by the task's (`--columns`); an empty name says that there is none.
        sensitivity: what the user says of it; by default what the task says of its own dataset, `public` for
            demo data (a package ships them to everybody), and `phi` for anything else.
        revision: of a hub dataset.
        split: of a hub dataset or a `datasets` folder.

    Raises:
        DataError, UnknownName, MissingExtra: the user can mend it; the message says where and how.
        PluginError: what the task makes of the rows are no instances.
    """
    found = find(task, data, revision=revision, split=split)
    rows, mapped, guessed, notes = _task_rows(task, found, columns or {})
    # Before the fingerprint: what is fingerprinted is what is run.
    instances, refused = usable_slices(_instances(task, rows, found.source.location), mapped)
    return Dataset(
        instances=instances,
        rows=rows,
        fingerprint=fingerprint(instances),
        source=found.source,
        sensitivity=sensitivity or _sensitivity(task, found),
        columns=mapped,
        guessed=guessed,
        notes=[*found.notes, *notes, *refused],
    )


def _sensitivity(task: Task, found: Found) -> Sensitivity:
    if found.source.kind == "demo":
        return "public"
    return task.dataset.sensitivity if found.own else "phi"


def _task_rows(
    task: Task, found: Found, asked: Mapping[str, str]
) -> tuple[list[Row], dict[str, str], frozenset[str], list[str]]:
    """The rows under the task's names; the file's column of each; the guesses among them; what to print."""
    where, wanted = found.source.location, wanted_columns(task.dataset)
    names = columns_of(found.rows)
    mapped = map_columns(wanted, names, asked, task=task.name, where=where)
    numbered = "id" not in mapped.columns
    rows = validate(rename(found.rows, mapped.columns), wanted, ("id", *task.dataset.slices))
    rows = identify(rows, numbered=numbered)
    notes = [
        f"column {column!r} is read from {name_shown(mapped.columns[column])} (a guess; --columns decides)"
        for column in mapped.columns
        if column in mapped.guessed
    ]
    notes += [
        f"the file's own column {column!r} is not used"
        for column, file in mapped.columns.items()
        if column != file and column in names
    ]
    unread = [name for name in names if name not in {*mapped.columns, *mapped.columns.values()}]
    if unread:
        more = f" and {len(unread) - _NAMES_SHOWN} more" if len(unread) > _NAMES_SHOWN else ""
        notes.append(f"not read by {task.name}: {', '.join(map(name_shown, unread[:_NAMES_SHOWN]))}{more}")
    if numbered:
        notes.append(f"no column of ids: rows are numbered 1 to {len(rows)}")
    return rows, dict(mapped.columns), mapped.guessed, notes


def _instances(task: Task, rows: list[Row], where: str) -> list[Instance]:
    instances = list(task.instances(rows))
    for number, instance in enumerate(instances, 1):
        if fault := _fault(instance):
            raise PluginError(
                f"instance {number} of {task.name}: {fault}", remedy="This is a fault of the task's package"
            )
    if not instances:
        raise DataError(
            f"its {len(rows)} rows make no instance of {task.name}",
            where=where,
            remedy="Check what the rows hold",
        )
    ident, times = Counter(instance.id for instance in instances).most_common(1)[0]
    if times > 1:
        raise DataError(
            f"{times} instances have the id {id_shown(ident)}", where=where, remedy="Make ids unique"
        )
    return instances


def _fault(made: object) -> str:
    """What is wrong with an instance's type and names, which decide what files a run writes; `""`: nothing."""
    if not isinstance(made, Instance):
        return f"is of type {type(made).__name__}"
    parts: dict[str, object] = {"id": made.id, "cluster": made.cluster or "", "slices": made.slices}
    for name in ("id", "cluster"):
        if not isinstance(parts[name], str):
            return f"its {name} is of type {type(parts[name]).__name__}, not text"
    if not isinstance(parts["slices"], Mapping):
        return f"its slices are of type {type(parts['slices']).__name__}"
    labels = [part for pair in parts["slices"].items() for part in pair]
    return "" if all(isinstance(part, str) for part in labels) else "a slice's name or label is not text"
