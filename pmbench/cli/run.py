"""`pmbench run`: carry out a run, or go on with one."""

from __future__ import annotations

from typing import Any

import click

from pmbench.cli import options
from pmbench.cli.finite import FINITE


@click.command()
@options.TASK
@click.option(
    "-m",
    "--model",
    multiple=True,
    help="Preset, or backend:name?option=value. Repeatable. Left out only where a strategy asks no model.",
)
@options.DATA
@options.COLUMNS
@options.SENSITIVITY
@options.REVISION
@options.SPLIT
@click.option("-s", "--strategy", multiple=True, help="Name, or all. Repeatable. Default: the task's first.")
@options.OPTION
@options.JUDGE
@options.LABEL
@options.EMBEDDER
@options.LIMIT
@click.option("--samples", type=int, default=1, show_default=True, help="Responses per instance.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of sampling.")
@click.option("--max-tokens", type=int, help="Most tokens of an answer, instead of the strategy's own limit.")
@click.option("--temperature", type=FINITE, help="Temperature, instead of the strategy's own.")
@options.served
@options.MAX_MISSING
@options.RETRY_FAILED
@options.FRESH
@options.DRY_RUN
@options.RUNS
@options.JSON
@options.QUIET
def run(json_file: str | None, quiet: bool, dry_run: bool, wait: bool, **asked: Any) -> int:
    """Run a task with a model. The same command again does what is missing, and nothing else.

    Exit status: 0 done, 1 incomplete, 2 an error that you can mend, 130 interrupted.
    """
    from pmbench.cli.carrying import carry_out_all, check_json, make_requests

    if json_file:
        recorded = [name.removeprefix("replay:").partition("?")[0] for name in asked["model"]]
        check_json(json_file, {"the data": [asked["data"]], "a file of recorded answers": recorded})
    return carry_out_all(
        make_requests(**asked, dry_run=dry_run), json_file=json_file, quiet=quiet, dry_run=dry_run, wait=wait
    )
