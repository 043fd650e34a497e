"""`pmbench leaderboard --tasks A,B,C`: systems over several tasks in one table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from pmbench.cli.columns import printable, shortened
from pmbench.core.errors import ConfigError
from pmbench.core.names import name_shown

if TYPE_CHECKING:
    from pmbench.leaderboard.several_table import SeveralTasks
    from pmbench.leaderboard.tested import Resampling

STEM = "several-tasks"
"""What files in a folder are called by."""


def several(
    names: str,
    folders: tuple[Path | None, Path | None],
    *,
    output: str | None,
    form: str | None,
    include_incomplete: bool,
    max_missing: float,
    statistics: Resampling,
    exclude: tuple[str, ...],
) -> bool:
    """Make the table of several tasks, print it and write its files.

    Args:
        names: of the tasks, with commas between them.
        folders: of runs and of records.
        output, form: as `--output` and `--format` say.
        include_incomplete, max_missing, statistics, exclude: as in `several_tasks`.

    Returns:
        Whether a run or record is damaged that belongs into a table.

    Raises:
        UserError: as `several_tasks`; a task is not known, or a file cannot be written.
    """
    from pmbench.core.registry import load_task
    from pmbench.leaderboard.formats import files, printed
    from pmbench.leaderboard.page import check_output, write_page
    from pmbench.leaderboard.several import several_tasks
    from pmbench.leaderboard.several_pages import SEVERAL, left_out

    given = [name for part in names.split(",") if (name := part.strip())]
    asked = list(dict.fromkeys(given))
    if len(asked) < 2:
        many = {2: "twice"}.get(len(given), f"{len(given)} times")
        raise ConfigError(
            f"{name_shown(asked[0])} is named {many}" if len(given) > 1 else "fewer than two tasks",
            where="--tasks",
            remedy="Name several with commas between them, or one with --task",
        )
    tasks = [load_task(name) for name in asked]
    written = files(STEM, output, form)
    for one, path in written.items():
        check_output(path, SEVERAL[one].beginning.encode())
    found = several_tasks(
        tasks,
        folders[0],
        records=folders[1],
        include_incomplete=include_incomplete,
        max_missing=max_missing,
        statistics=statistics,
        exclude=exclude,
    )
    if (kind := printed(output, form)) is not None:
        click.echo(SEVERAL[kind].render(found), nl=False)
        aside = {"csv": [*found.over_tasks.words, *left_out(found)], "latex": left_out(found)}
        for line in aside.get(kind, ()):
            click.echo(printable(line), err=True)
    else:
        for one, path in written.items():
            write_page(path, SEVERAL[one].render(found), SEVERAL[one].beginning.encode())
        _show(found)
        for path in written.values():
            click.echo(f"written: {path}")
    return any(left.damaged for left in found.left_out)


def _show(found: SeveralTasks) -> None:
    from pmbench.cli.leaderboard_shown import print_blocks, print_lines, print_title
    from pmbench.cli.terminal import output
    from pmbench.leaderboard.several_pages import DEMO, cells, headings, left_out, reading

    between = "\n" if output().width < 120 else " "
    print_title(f"Several tasks: {', '.join(head.task for head in found.tasks)}")
    if found.demo:
        print_lines([DEMO])
    rows = [
        [
            str(one.number),
            shortened(one.model),
            shortened(one.strategy),
            *(between.join(filter(None, cell)) for cell in cells(found, one)),
        ]
        for one in found.rows
    ]
    print_blocks(["", "system", "strategy"], headings(found), rows)
    print_lines(f"- {note}" for note in (*found.notes, *found.over_tasks.words))
    print_lines(reading(found))
    print_lines(left_out(found))
