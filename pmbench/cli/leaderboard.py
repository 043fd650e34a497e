"""`pmbench leaderboard`: the runs of a task side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

if TYPE_CHECKING:
    from pmbench.core.task import Task
    from pmbench.leaderboard.table import Leaderboard
    from pmbench.leaderboard.tested import Correction

_DAMAGED = 1
"""Exit status where a run or record cannot be used that should have been in a table."""


@click.command()
@click.option("-t", "--task", "name", required=True, help="Name of the task.")
@click.option(
    "-o",
    "--output",
    metavar="PATH",
    help="Write the leaderboard to this file; its ending says in which format (.md, .csv, .json, .tex). With --format"
    " also a folder. - for standard output.",
)
@click.option(
    "-f",
    "--format",
    "form",
    metavar="FORMATS",
    help="md, csv, json, latex, or several with commas between them.",
)
@click.option(
    "--columns",
    metavar="NAMES",
    help="One table with these columns, as edit_f1,difference,p,scored. A wrong name lists those that there are.",
)
@click.option("--include-incomplete", is_flag=True, help="Also runs that are incomplete; their rows say so.")
@click.option(
    "--max-missing",
    type=click.FloatRange(0, 1),
    default=0.01,
    show_default=True,
    help="Leave out runs with a greater share without a score, whatever they allowed themselves.",
)
@click.option(
    "--aggregate",
    type=click.Choice(["strategy"]),
    help="Also mean and standard deviation over the models of each strategy.",
)
@click.option(
    "--resamples", type=click.IntRange(100), default=10_000, show_default=True, help="Of the bootstrap."
)
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Of the bootstrap and the tests."
)
@click.option(
    "--correction",
    type=click.Choice(["holm", "benjamini-hochberg", "max-t"]),
    default="holm",
    show_default=True,
    help="How p-values are adjusted for all pairs of systems. max-t is stronger where systems fail alike; by"
    " benjamini-hochberg one in twenty of the differences found may be none.",
)
@click.option(
    "-x",
    "--exclude",
    multiple=True,
    metavar="RUN",
    help="Leave out a run, by the beginning of its digest. Repeatable.",
)
@click.option(
    "--records",
    metavar="FOLDER",
    help="A folder of records that pmbench export made. With --runs also those runs, else records alone.",
)
@click.option("--runs", "folder", help="The runs folder. Default: PMBENCH_RUNS, or runs.")
@click.pass_context
def leaderboard(
    context: click.Context,
    name: str,
    output: str | None,
    form: str | None,
    columns: str | None,
    include_incomplete: bool,
    max_missing: float,
    aggregate: Literal["strategy"] | None,
    resamples: int,
    seed: int,
    correction: Correction,
    exclude: tuple[str, ...],
    records: str | None,
    folder: str | None,
) -> None:
    """Set the runs of a task side by side, with intervals and paired tests.

    Only runs that may be compared stand in one table: the same task version and options, the same data and
    instances, the same judges. What differs stands over each table.

    Exit status: 0 done, 1 a run or record that belongs into a table is damaged, 2 an error that you can mend.
    """
    from pmbench.core.registry import load_task
    from pmbench.leaderboard.board import leaderboard as make
    from pmbench.leaderboard.columns import parse
    from pmbench.leaderboard.formats import FORMATS, files
    from pmbench.leaderboard.page import check_output
    from pmbench.leaderboard.tested import Resampling
    from pmbench.running.plan import runs_folder

    task = load_task(name)
    names = parse(columns, [metric.name for metric in task.metrics]) if columns is not None else None
    written = files(name, output, form)
    for one, path in written.items():
        check_output(path, FORMATS[one].beginning.encode())
    board = make(
        task,
        None if records and folder is None else runs_folder(folder),
        records=Path(records) if records else None,
        include_incomplete=include_incomplete,
        max_missing=max_missing,
        statistics=Resampling(resamples=resamples, permutations=resamples, seed=seed, correction=correction),
        aggregate=aggregate,
        exclude=exclude,
    )
    _give(board, task, names, written, _printed(output, form))
    if any(left.damaged for left in board.left_out):
        context.exit(_DAMAGED)


def _printed(output: str | None, form: str | None) -> str | None:
    """The format that goes to standard output, if one does."""
    from pmbench.leaderboard.formats import formats_of

    if output == "-" or (output is None and form is not None):
        return formats_of(form)[0] if form is not None else "md"
    return None


def _give(
    board: Leaderboard,
    task: type[Task],
    names: list[str] | None,
    written: dict[str, Path],
    printed: str | None,
) -> None:
    """Write the files and print: a format alone, or the tables of a terminal."""
    from pmbench.cli.leaderboard_shown import left_out, show
    from pmbench.leaderboard.formats import FORMATS
    from pmbench.leaderboard.page import write_page

    if printed is not None:
        click.echo(FORMATS[printed].render(board, task, names), nl=False)
        for line in left_out(board) if printed in ("csv", "latex") else ():
            click.echo(line, err=True)
        return
    texts = {one: FORMATS[one].render(board, task, names) for one in written}
    for one, path in written.items():
        # First: the reader of what is printed may go away (`| head`).
        write_page(path, texts[one], FORMATS[one].beginning.encode())
    show(board, names)
    for path in written.values():
        click.echo(f"written: {path}")
