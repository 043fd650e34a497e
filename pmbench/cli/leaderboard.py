"""`pmbench leaderboard`: the runs of a task side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from pmbench.cli.finite import FiniteRange
from pmbench.cli.options import RESAMPLES, SEED

if TYPE_CHECKING:
    from pmbench.core.task import Task
    from pmbench.leaderboard.table import Leaderboard
    from pmbench.leaderboard.tested import Correction

_DAMAGED = 1
"""Exit status where a run or record cannot be used that should have been in a table."""


@click.command()
@click.option("-t", "--task", "name", help="Name of the task.")
@click.option(
    "--tasks",
    metavar="NAMES",
    help="Several tasks in one table, with commas between them: mean win rates and ranks, never a mean of values.",
)
@click.option(
    "-o",
    "--output",
    metavar="PATH",
    help="Write the leaderboard to this file; its ending says in which format (.md, .csv, .json, .html, .tex)."
    " With --format also a folder. - for standard output.",
)
@click.option(
    "-f",
    "--format",
    "form",
    metavar="FORMATS",
    help="md, csv, json, html, latex, or several with commas between them.",
)
@click.option(
    "--plots",
    metavar="FOLDER",
    help="Also draw the intervals, and cost against quality, as PNG, SVG and PDF files in this folder.",
)
@click.option(
    "--columns",
    metavar="NAMES",
    help="One table with these columns, as content_f1,difference,p,scored. Of a wrong name the nearest are told.",
)
@click.option("--include-incomplete", is_flag=True, help="Also runs that are incomplete; their rows say so.")
@click.option(
    "--max-missing",
    type=FiniteRange(0, 1),
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
    "--resamples",
    type=RESAMPLES,
    default=10_000,
    show_default=True,
    help="Of the bootstrap, and random patterns of the tests.",
)
@click.option("--seed", type=SEED, default=0, show_default=True, help="Of the bootstrap and the tests.")
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
@click.option(
    "--labels",
    multiple=True,
    metavar="FILE",
    help="People's labels (pmbench labels makes the form): judge-corrected values beside the judge's. Repeatable.",
)
@click.option(
    "--runs",
    "folder",
    metavar="FOLDER|GLOB",
    help="The runs folder, or in quotes which runs: 'runs/TASK/*/thematic-*'. Default: PMBENCH_RUNS, or runs.",
)
@click.pass_context
def leaderboard(
    context: click.Context,
    name: str | None,
    tasks: str | None,
    output: str | None,
    form: str | None,
    plots: str | None,
    columns: str | None,
    include_incomplete: bool,
    max_missing: float,
    aggregate: Literal["strategy"] | None,
    resamples: int,
    seed: int,
    correction: Correction,
    exclude: tuple[str, ...],
    records: str | None,
    labels: tuple[str, ...],
    folder: str | None,
) -> None:
    """Set the runs of a task side by side, with intervals and paired tests.

    Only runs that may be compared stand in one table: the same task version and options, the same data and
    instances, the same judges. What differs stands over each table.

    Exit status: 0 done, 1 a run or record that belongs into a table is damaged, 2 an error that you can mend.
    """
    from pmbench.cli.leaderboard_tasks import several
    from pmbench.core.errors import ConfigError
    from pmbench.core.registry import load_task
    from pmbench.leaderboard.board import leaderboard as make
    from pmbench.leaderboard.columns import parse
    from pmbench.leaderboard.formats import FORMATS, files, printed
    from pmbench.leaderboard.page import check_output
    from pmbench.leaderboard.plots import require_matplotlib, write_plots
    from pmbench.leaderboard.tested import Resampling
    from pmbench.running.labels import read_labels
    from pmbench.running.plan import runs_folder

    statistics = Resampling(resamples=resamples, permutations=resamples, seed=seed, correction=correction)
    folders = (
        None if records and folder is None else runs_folder(folder),
        Path(records) if records else None,
    )
    if tasks is not None:
        given = {"--task": name, "--columns": columns, "--plots": plots, "--aggregate": aggregate}
        _alone(given | {"--labels": labels[0] if labels else None})
        damaged = several(
            tasks,
            folders,
            output=output,
            form=form,
            include_incomplete=include_incomplete,
            max_missing=max_missing,
            statistics=statistics,
            exclude=exclude,
        )
        context.exit(_DAMAGED if damaged else 0)
    if name is None:
        raise click.UsageError("Missing option '-t' / '--task' (or '--tasks').")
    if columns is not None and aggregate is not None:
        raise ConfigError(
            "chosen columns make one table of systems, and none of strategies",
            where="--columns with --aggregate",
            remedy="Leave one of the two out; JSON has both",
        )
    if plots is not None:
        require_matplotlib()
    task = load_task(name)
    names = parse(columns, [metric.name for metric in task.metrics]) if columns is not None else None
    written = files(name, output, form)
    for one, path in written.items():
        check_output(path, FORMATS[one].beginning.encode())
    board = make(
        task,
        folders[0],
        records=folders[1],
        include_incomplete=include_incomplete,
        max_missing=max_missing,
        statistics=statistics,
        aggregate=aggregate,
        exclude=exclude,
        labels=read_labels(labels) if labels else None,
    )
    drawn = write_plots(board, task.metrics[0], Path(plots)) if plots is not None else []
    _give(board, task, names, written, printed(output, form))
    for path in drawn:
        click.echo(f"written: {path}", err=printed(output, form) is not None)
    if any(left.damaged for left in board.left_out):
        context.exit(_DAMAGED)


def _alone(given: dict[str, str | None]) -> None:
    """Refuse what is not for several tasks."""
    from pmbench.core.errors import ConfigError

    for option, value in given.items():
        if value is not None:
            raise ConfigError(
                f"{option} is not for several tasks", where="--tasks", remedy="Leave one of the two out"
            )


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
