"""`pmbench leaderboard`: the runs of a task side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from pmbench.leaderboard.table import Leaderboard, Table


@click.command()
@click.option("-t", "--task", "name", required=True, help="Name of the task.")
@click.option(
    "-o", "--output", "file", help="Write the leaderboard as Markdown to this file (- for standard output)."
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
    "--resamples", type=click.IntRange(100), default=10_000, show_default=True, help="Of the bootstrap."
)
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Of the bootstrap and the tests."
)
@click.option("--runs", "folder", help="The runs folder. Default: PMBENCH_RUNS, or runs.")
def leaderboard(
    name: str,
    file: str | None,
    include_incomplete: bool,
    max_missing: float,
    resamples: int,
    seed: int,
    folder: str | None,
) -> None:
    """Set the runs of a task side by side, with intervals and paired tests.

    Only runs that may be compared stand in one table: the same task version and options, the same data and
    instances, the same judges. What differs stands over each table.
    """
    from pmbench.core.registry import load_task
    from pmbench.leaderboard.board import leaderboard as make
    from pmbench.leaderboard.markdown import render_markdown
    from pmbench.leaderboard.page import check_output, write_page
    from pmbench.leaderboard.table import Resampling
    from pmbench.running.plan import runs_folder

    task = load_task(name)
    if file is not None and file != "-":
        check_output(Path(file))
    statistics = Resampling(resamples=resamples, permutations=resamples, seed=seed)
    board = make(
        task,
        runs_folder(folder),
        include_incomplete=include_incomplete,
        max_missing=max_missing,
        statistics=statistics,
    )
    text = render_markdown(board, task)
    if file == "-":
        click.echo(text, nl=False)
        return
    _print(board)
    if file is not None:
        write_page(Path(file), text)
        click.echo(f"written: {file}")


def _print(board: Leaderboard) -> None:
    from pmbench.cli.terminal import output

    console = output()
    for table in board.tables:
        console.print(
            f"{board.title}: {table.data}, {table.instances} of {table.dataset} instances, "
            f"{table.clusters} clusters",
            style="bold",
            markup=False,
        )
        for line in table.differs:
            console.print(f"  {line}", markup=False)
        _print_table(board, table)
        for note in table.notes:
            console.print(f"- {note}", markup=False, soft_wrap=True)
        console.print()
    for left in board.left_out:
        console.print(f"not in a table: {left.where}: {left.reason}", markup=False, soft_wrap=True)


def _print_table(board: Leaderboard, table: Table) -> None:
    from rich.markup import escape
    from rich.table import Table as Rich

    from pmbench.cli.terminal import output

    primary = board.metrics[0]
    head = (
        "",
        "system",
        "strategy",
        f"{primary.heading} [95% interval]",
        "minus the best",
        "p",
        "n",
        "lost or odd",
        "judges",
    )
    shown = Rich(box=None, pad_edge=False, header_style="bold")
    for cell in head:
        shown.add_column(escape(cell), overflow="fold")
    for row in table.rows:
        system = row.model + (f" ({row.settings})" if row.settings else "")
        against = row.against
        shown.add_row(
            *(
                escape(cell)
                for cell in (
                    str(row.number),
                    system,
                    row.strategy,
                    row.measures[primary.name].text,
                    against.text if against else "–",
                    against.p_text if against else "–",
                    str(row.counts.scored),
                    row.failures,
                    ", ".join(f"{role}={name}" for role, name in row.judges.items()),
                )
            )
        )
    output().print(shown)
