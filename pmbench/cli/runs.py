"""`pmbench runs`: the runs in the runs folder."""

from __future__ import annotations

import click

from pmbench.cli.columns import print_columns


@click.command()
@click.option("-t", "--task", help="Only runs of this task.")
@click.option("--runs", "folder", help="The runs folder. Default: PMBENCH_RUNS, or runs.")
def runs(task: str | None, folder: str | None) -> None:
    """List the runs in the runs folder."""
    from pmbench.running.overview import overview
    from pmbench.running.plan import runs_folder

    where = runs_folder(folder)
    rows = [
        (
            line.digest,
            line.begun,
            line.task,
            line.model,
            line.strategy,
            line.data,
            line.scoring,
            line.judges,
            line.scored,
            line.primary,
            line.status,
        )
        for line in overview(where, task)
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
