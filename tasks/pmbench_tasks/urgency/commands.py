"""`pmbench triage`: what belongs to the urgency tasks and is no run."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, time
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pmbench import ConfigError, DataError, Row, id_shown, read_table
from pmbench_tasks.urgency.pair_rows import FIRST, SECOND

if TYPE_CHECKING:
    from pmbench_tasks.urgency.levels import InboxLevels

NAMES: Mapping[str, tuple[str, ...]] = {
    "first": ("first", "first_id", "id_1", "id_a", "message_1", "message_a", "a"),
    "second": ("second", "second_id", "id_2", "id_b", "message_2", "message_b", "b"),
    "more_urgent": ("more_urgent", "winner", "label", "choice", "preferred"),
}
"""Names under which a file of labels may have its three columns; letter case does not count."""


@click.group()
def triage() -> None:
    """Sites that annotate an inbox of their own: from labels of pairs to levels."""


@triage.command()
@click.argument("labels", type=click.Path(path_type=Path))
@click.option(
    "--messages",
    type=click.Path(path_type=Path),
    help="A file with the messages, by id: it is written again with their levels, for --task inbox-triage.",
)
@click.option(
    "--id", "id_column", default="id", show_default=True, help="Column of the ids in the messages' file."
)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="Write JSON lines here. Default: printed."
)
def levels(labels: Path, messages: Path | None, id_column: str, output: Path | None) -> None:
    """Turn labels of pairs into levels 1 to 6: win rates, cut into sixths.

    LABELS has a row for each pair: the ids of two messages, in columns `first` and `second`, and in `more_urgent` the
    id of the more urgent one, or its place: `first` or `second`, 1 or 2, a or b. A pair that several people labelled
    needs the label that they agreed on; ties are no labels. As appendix A.5.2 of arXiv 2601.13178 made PMR-Synth's:
    such levels are relative, and somebody is always level 1, also in an inbox of flu shots.
    """
    from pmbench_tasks.urgency.levels import levels_from_pairs

    if output is not None and output.suffix not in (".jsonl", ".ndjson"):
        raise ConfigError("is to hold JSON lines", where=f"-o {output}", remedy="Call it something.jsonl")
    rows = read_table(labels)
    columns = _columns(rows[0], labels)
    texts = None if messages is None else _messages(messages, id_column)
    if texts is not None and len({row.text("inbox") for row in texts.values()}) > 1:
        raise DataError(
            "has messages of several inboxes",
            where=str(messages),
            remedy="Make levels of one inbox at a time",
        )
    found = levels_from_pairs(
        _labels(rows, columns),
        ids=None if texts is None else list(texts),
        where=[row.where() for row in rows],
    )
    lines = [json.dumps(one, ensure_ascii=False, allow_nan=False) + "\n" for one in _rows(found, texts)]
    if output is None:
        click.echo("".join(lines), nl=False)
    else:
        _write(output, "".join(lines))
        click.echo(f"written: {output}")
    for line in _remarks(found):
        click.echo(line, err=True)


def _columns(row: Row, path: Path) -> dict[str, str]:
    """The file's own name of each of the three columns."""
    there = {name.casefold().replace(" ", "_").replace("-", "_"): name for name in row.values}
    found = {
        wanted: next((there[name] for name in names if name in there), "") for wanted, names in NAMES.items()
    }
    missing = [name for name, column in found.items() if not column]
    if missing:
        raise DataError(
            f"has no column {' and no column '.join(repr(name) for name in missing)}",
            where=str(path),
            remedy="A row is first,second,more_urgent: the ids of two messages and of the more urgent one",
        )
    return found


def _labels(rows: Sequence[Row], columns: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """Both ids of each row and that of the more urgent one, which may be given as its place.

    Raises:
        DataError: an id is missing, or labels are places and one of them is the id of the other message too.
    """
    found = []
    places = False
    doubtful: Row | None = None
    for row in rows:
        first, second, said = (row.text(columns[name]).strip() for name in NAMES)
        if not first or not second or not said:
            raise DataError("a label without an id", where=row.where())
        word = said.casefold()
        place = first if word in FIRST else second if word in SECOND else ""
        if said not in (first, second):
            places, said = places or bool(place), place or said
        elif place and place != said:
            doubtful = doubtful or row
        found.append((first, second, said))
    if places and doubtful is not None:
        raise DataError(
            "this is the id of one message and the place of the other, and other rows have places",
            where=doubtful.where(columns["more_urgent"]),
            remedy="Write first or second, or ids in every row",
        )
    return found


def _messages(path: Path, column: str) -> dict[str, Row]:
    found: dict[str, Row] = {}
    for row in read_table(path):
        if column not in row.values:
            raise DataError(
                f"has no column {column!r}",
                where=str(path),
                remedy="Say which column holds the ids: --id COLUMN",
            )
        name = row.text(column).strip()
        if not name:
            raise DataError("a message without an id", where=row.where(column))
        if name in found:
            raise DataError("an id that another message has", where=row.where(column))
        found[name] = row
    return found


def _rows(found: InboxLevels, texts: Mapping[str, Row] | None) -> Iterator[dict[str, object]]:
    """One row for each message: in the order of the messages with their own columns, else the most urgent first."""
    for name in found.levels if texts is None else texts:
        own = {} if texts is None else {key: _plain(texts[name], key) for key in texts[name].values}
        yield {**own, "id": name, "level": found.levels[name], "win_rate": round(found.win_rates[name], 9)}


def _plain(row: Row, column: str) -> Any:
    """A value as JSON can hold it: dates and decimals written out, null for NaN and infinities.

    Raises:
        DataError: there is no such form of it.
    """
    value = row.values[column]
    if isinstance(value, (float, Decimal)) and not math.isfinite(value):
        return None
    if isinstance(value, (date, time)):
        return value.isoformat()
    if isinstance(value, Decimal):
        return str(value)
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        raise DataError(
            f"cannot be written as JSON ({type(value).__name__})",
            where=row.where(column),
            remedy="Write it as text, or leave the column out",
        ) from None
    return value


def _remarks(found: InboxLevels) -> Iterator[str]:
    yield f"{len(found.levels)} messages, {found.pairs} labelled pairs"
    told = {
        f"{found.missing} pairs nobody labelled: win rates are over the others": found.missing,
        f"{found.repeated} labels said what was said already": found.repeated,
        f"{found.tied} messages have the win rate of another: {found.by_duel} of them were put in order by the labels"
        f" of the pairs among these, {found.by_id} by their ids": found.tied,
        f"{found.cut} of these stand at a border between two levels, so their levels are arbitrary:"
        f" {', '.join(map(id_shown, found.at_a_border))}": found.cut,
    }
    yield from (line for line, count in told.items() if count)


def _write(path: Path, text: str) -> None:
    """Write for the owner only: it may hold what patients wrote. Only a file that is not there yet is written."""
    try:
        with os.fdopen(
            os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8"
        ) as file:
            file.write(text)
    except FileExistsError:
        raise ConfigError("is there already", where=str(path), remedy="Name another file") from None
    except OSError as error:
        raise ConfigError(f"cannot be written ({error.strerror})", where=str(path)) from None


__all__: Sequence[str] = ("triage",)
