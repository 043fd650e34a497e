"""`pmbench runs`: the runs in the runs folder."""

from __future__ import annotations

import click

from pmbench.cli.columns import print_columns, shortened


@click.command()
@click.option("-t", "--task", help="Only runs of this task.")
@click.option("--runs", "folder", help="The runs folder. Default: PMBENCH_RUNS, or runs.")
@click.pass_context
def runs(context: click.Context, task: str | None, folder: str | None) -> None:
    """List the runs in the runs folder.

    Exit status: 0 done, 1 something in it cannot be read or is damaged; it is listed with the reason.
    """
    from pmbench.running.overview import overview
    from pmbench.running.plan import runs_folder

    where = runs_folder(folder)
    found = list(overview(where, task))
    rows = [
        (
            line.digest,
            line.begun,
            line.task,
            shortened(line.model),
            shortened(line.strategy),
            shortened(line.data),
            line.scoring,
            line.judges,
            line.scored,
            line.primary,
            line.status,
        )
        for line in found
    ]
    if not rows:
        click.echo(f"No runs in {where}." if task is None else f"No runs of {task[:80]!r} in {where}.")
        return
    print_columns(
        (
            "run",
            "begun",
            "task",
            "model",
            "strategy",
            "data",
            "scoring",
            "judges",
            "scored",
            "primary metric",
            "status",
        ),
        rows,
    )
    if any(line.damaged for line in found):
        context.exit(1)
