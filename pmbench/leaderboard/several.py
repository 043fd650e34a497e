"""Several tasks in one table: mean win rates and mean ranks, and each task's primary metric in its own unit.

A system is a model by a strategy. What one task calls `zero-shot` another has under another name, so that the default
strategies of the tasks are one strategy here; all others are matched by name.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from pmbench.core.errors import ConfigError, StorageError
from pmbench.core.metric import Metric
from pmbench.core.task import Task
from pmbench.leaderboard.board import DEFAULT, worked_out
from pmbench.leaderboard.comparing import KeptColumns, number
from pmbench.leaderboard.open_means import Open, TaskTested, open_means
from pmbench.leaderboard.over_tasks import over_tasks
from pmbench.leaderboard.plain_words import LONGEST, NOBODY
from pmbench.leaderboard.several_notes import of_the_tasks, same_twice, unshared
from pmbench.leaderboard.several_table import Drawn, SeveralTasks, SystemOverTasks, TaskHead
from pmbench.leaderboard.table import Leaderboard, SystemRow, Table
from pmbench.leaderboard.tested import Resampling
from pmbench.leaderboard.wording import counted, listed, rows_text
from pmbench.stats.several_tasks import Standing, TaskColumns, standings

MOST_NAMED = 5
"""Systems that a note names; of more it says how many."""

Key = tuple[str, str]
"""A system: its model, and its strategy or nothing for the default one of each task."""


class _Part(msgspec.Struct, frozen=True):
    """The table of one task that is used, and its rows by system."""

    task: type[Task]
    board: Leaderboard
    table: Table | None
    rows: dict[Key, tuple[SystemRow, KeptColumns]]
    notes: list[str]

    @property
    def metric(self) -> Metric:
        return self.task.metrics[0]


def several_tasks(
    tasks: Sequence[type[Task]],
    runs: Path | None,
    *,
    records: Path | None = None,
    include_incomplete: bool = False,
    max_missing: float = 1.0,
    statistics: Resampling = DEFAULT,
    exclude: Sequence[str] = (),
) -> SeveralTasks:
    """Set systems side by side over several tasks.

    Args:
        tasks: two at least.
        runs, records, include_incomplete, max_missing, statistics: as in `board.leaderboard`.
        exclude: beginnings of digests of runs of any of the tasks to leave out.

    Raises:
        StorageError: as there, of any of the tasks; a run that is to be left out is of none.
        ConfigError: fewer than two tasks.
    """
    if len(tasks) < 2:
        raise ConfigError("one task alone", where="--tasks", remedy="Name several, or one with --task")
    missed: list[list[str]] = [[] for _ in tasks]
    parts = [
        _part(
            task,
            *worked_out(
                task,
                runs,
                records=records,
                include_incomplete=include_incomplete,
                max_missing=max_missing,
                statistics=statistics,
                exclude=exclude,
                missed=unknown,
            ),
        )
        for task, unknown in zip(tasks, missed, strict=True)
    ]
    nowhere = [one for one in exclude if all(one in unknown for unknown in missed)]
    if nowhere:
        raise StorageError(
            f"no run of these tasks begins with {nowhere[0][:80]!r}",
            where="--exclude",
            remedy="See: pmbench runs",
        )
    keys = list(dict.fromkeys(key for part in parts for key in part.rows))
    heads, columns, notes = [], [], [note for part in parts for note in part.notes]
    tested: list[TaskTested] = []
    for part in parts:
        found, head, told = _compared(part, keys)
        heads.append(head)
        notes += told
        if found is not None:
            columns.append(found)
            tested.append(_tested(part, keys, found))
    bounds = open_means(tested, round(1 - statistics.level, 12))
    nothing = Standing(math.nan, math.nan, math.nan, math.nan, math.nan, math.nan, 0)
    stood = [nothing] * len(keys)
    if columns:
        stood = standings(
            columns, resamples=statistics.resamples, seed=statistics.seed, level=statistics.level
        )
    places = sorted(
        range(len(keys)),
        key=lambda at: (-stood[at].tasks, -stood[at].win_rate if stood[at].tasks else 0.0, keys[at]),
    )
    rows = [
        _row(place, keys[at], stood[at], bounds.get(keys[at]), parts)
        for place, at in enumerate(places, start=1)
    ]
    twice = list(same_twice(rows, heads))
    return SeveralTasks(
        tasks=heads,
        rows=rows,
        notes=[
            *notes,
            *_lacking(rows, heads),
            *unshared(rows, heads),
            *twice,
            *of_the_tasks([(part.task, part.table) for part in parts]),
        ],
        left_out=[left for part in parts for left in part.board.left_out],
        statistics=statistics,
        demo=any(part.table is not None and part.table.kind == "demo" for part in parts),
        over_tasks=over_tasks(
            columns, _named(rows, places), alpha=round(1 - statistics.level, 12), dependent=bool(twice)
        ),
    )


def _part(task: type[Task], board: Leaderboard, columns: Sequence[Sequence[KeptColumns]]) -> _Part:
    """The task's first table, the one of most instances; what else there is, is said."""
    if not board.tables:
        return _Part(task, board, None, {}, [f"{task.name} has no run that can be shown."])
    table, notes = board.tables[0], []
    if len(board.tables) > 1:
        more = sum(len(one.rows) for one in board.tables[1:])
        notes.append(
            f"{task.name} has {len(board.tables)} tables of runs that may not be compared; the first stands here"
            f" ({'; '.join(table.differs)}), without {counted(more, 'run')} of the others."
        )
    found: dict[Key, list[tuple[SystemRow, KeptColumns]]] = {}
    for row, scored in zip(table.rows, columns[0], strict=True):
        found.setdefault(_key(task, row), []).append((row, scored))
    for rows in found.values():
        if len(rows) > 1:
            row, which = rows[0][0], rows_text([one.number for one, _ in rows]).lower()
            notes.append(
                f"{task.name} has {len(rows)} runs of {row.model} by {row.strategy} ({which} of its leaderboard), so"
                " that none of them stands here: leave out all but one with --exclude."
            )
    return _Part(task, board, table, {key: rows[0] for key, rows in found.items() if len(rows) == 1}, notes)


def _key(task: type[Task], row: SystemRow) -> Key:
    default = next(iter(task.strategies)) if getattr(task, "strategies", None) else ""
    return row.model, "" if row.strategy == default and row.model != NOBODY else row.strategy


def _compared(part: _Part, keys: Sequence[Key]) -> tuple[TaskColumns | None, TaskHead, list[str]]:
    """What is resampled of a task, its column, and what a reader has to know of it."""
    metric, name = part.metric, part.task.name
    scored = {
        key: {one for one, there in zip(kept.ids, kept.present(metric), strict=True) if there}
        for key, (_, kept) in part.rows.items()
    }
    valued = [key for key, ids in scored.items() if ids]
    shared = sorted(set.intersection(*(scored[key] for key in valued))) if valued else []
    told = []
    why: Literal["", "no", "neither", "alone"] = ""
    if part.table is None or not valued:
        why = "no"
    elif metric.higher_is_better is None:
        why = "neither"
        told.append(f"{name} is not in the means: neither end of {metric.title} is better.")
    elif len(valued) < 2:
        why = "alone"
        told.append(f"{name} is not in the means: it has one system alone.")
    elif not shared:
        why = "no"
        told.append(f"{name} is not in the means: no instance was scored by all of its systems.")
    elif len(shared) < max(map(len, scored.values())):
        told.append(
            f"In {name} systems are compared on the {counted(len(shared), 'instance')} that all of them have scored;"
            " its column has each system's own value."
        )
    title, unit = f"{name}: {metric.title}", metric.unit or metric.scale
    arrow = {True: "↑", False: "↓", None: ""}[metric.higher_is_better]
    head = TaskHead(
        name,
        part.task.title or name,
        metric.name,
        " ".join(filter(None, [title, f"({unit})" if unit and unit != "%" else "", arrow])),
        metric.higher_is_better,
        part.table.data if part.table else "",
        part.table.fingerprint if part.table else "",
        len(shared),
        not why,
    )
    if why:
        return None, head, told
    rows = {key: part.rows[key][1].rows(metric, shared) for key in valued}
    one = next(found for found in rows.values() if found is not None)
    return TaskColumns(name, metric, [rows.get(key) for key in keys], one.clusters), head, told


def _tested(part: _Part, keys: Sequence[Key], found: TaskColumns) -> TaskTested:
    """What the task's own table says of the systems that are compared."""
    there = [key for key, columns in zip(keys, found.systems, strict=True) if columns is not None]
    numbers: dict[Hashable, int] = {key: part.rows[key][0].number for key in there}
    return TaskTested(numbers, part.table.pairs if part.table else [], part.metric.higher_is_better)


def _row(
    place: int, key: Key, stood: Standing, bounds: Open | None, parts: Sequence[_Part]
) -> SystemOverTasks:
    there = {part.task.name: part.rows[key][0] for part in parts if key in part.rows}
    strategies = list(dict.fromkeys(row.strategy for row in there.values()))
    return SystemOverTasks(
        number=place,
        model=key[0],
        strategy=strategies[0] if len(strategies) == 1 else f"default ({', '.join(strategies)})",
        win_rate=number(stood.win_rate),
        win_low=min(bounds.win_low, stood.win_rate) if bounds else None,
        win_high=max(bounds.win_high, stood.win_rate) if bounds else None,
        rank=number(stood.rank),
        rank_low=min(bounds.rank_low, stood.rank) if bounds else None,
        rank_high=max(bounds.rank_high, stood.rank) if bounds else None,
        drawn=Drawn(
            number(stood.win_low), number(stood.win_high), number(stood.rank_low), number(stood.rank_high)
        ),
        tasks=stood.tasks,
        measures={
            part.task.name: there[part.task.name].measures[part.metric.name]
            for part in parts
            if part.task.name in there
        },
        runs={task: row.run for task, row in there.items()},
    )


def _named(rows: Sequence[SystemOverTasks], places: Sequence[int]) -> dict[int, tuple[int, str]]:
    """By a system's place in the columns its row and its name: the model, with the strategy where several have it."""
    models = [row.model for row in rows]
    found = {}
    for place, row in zip(places, rows, strict=True):
        name = row.model if models.count(row.model) == 1 else f"{row.model} by {row.strategy}"
        name = row.strategy if row.model == NOBODY else name
        found[place] = row.number, name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"
    return found


def _lacking(rows: Sequence[SystemOverTasks], heads: Sequence[TaskHead]) -> Iterator[str]:
    """Who lacks which tasks: their means are over others than those of the rest."""
    lacking: dict[tuple[str, ...], list[str]] = {}
    for row in rows:
        gone = tuple(head.task for head in heads if head.task not in row.measures)
        if gone:
            named = row.strategy if row.model == NOBODY else f"{row.model} by {row.strategy}"
            lacking.setdefault(gone, []).append(named)
    for gone, names in lacking.items():
        more = len(names) - MOST_NAMED
        told = [*names[:MOST_NAMED], *([counted(more, "other system")] if more > 0 else [])]
        have, their = ("has", "its means are") if len(names) == 1 else ("have", "their means are")
        yield f"{listed(told)} {have} no run of {listed(gone)}: {their} over the other tasks alone."
