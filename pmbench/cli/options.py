"""Options that several commands take: one meaning, one wording."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from pmbench.cli.finite import FINITE


class Whole(click.IntRange):
    """A whole number between two ends, called so where it is none."""

    name = "whole number"


RESAMPLES = Whole(100, 1_000_000)
"""How many resamples or random patterns: a million take minutes, and show p to six digits."""
SEED = Whole(0)

TASK = click.option("-t", "--task", required=True, help="Name of the task; see: pmbench tasks.")
DATA = click.option(
    "-d", "--data", help="demo, a file or folder, or hub:ORG/NAME. Default: the task's hub dataset."
)
COLUMNS = click.option(
    "-c",
    "--columns",
    multiple=True,
    help="Which column is which: message=msg,chart=ehr,response=reply. Repeatable; a comma in a name is \\,",
)
SENSITIVITY = click.option(
    "--sensitivity",
    type=click.Choice(["public", "deidentified", "phi"]),
    help="Of the data. Default for a file: phi.",
)
REVISION = click.option("--revision", help="Revision of a hub dataset.")
SPLIT = click.option("--split", help="Split of a dataset that has several.")
OPTION = click.option(
    "-o", "--option", "options", multiple=True, metavar="NAME=VALUE", help="Option of the task. Repeatable."
)
JUDGE = click.option(
    "-j",
    "--judge",
    "judges",
    multiple=True,
    metavar="ROLE=MODEL",
    help="Judge of a role. Repeatable: several judges of one role score the same responses one after the other.",
)
LABEL = click.option(
    "--label", help="What the system is called in listings and leaderboards, instead of the model's name."
)
EMBEDDER = click.option(
    "--embedder", default="embedded", show_default=True, help="What turns text into vectors."
)
LIMIT = click.option("-n", "--limit", type=int, help="Only the first N instances (of the same run).")
MAX_MISSING = click.option(
    "--max-missing", type=FINITE, default=0.01, show_default=True, help="Share that may stay without a score."
)
ALLOW_REMOTE = click.option(
    "--allow-remote",
    is_flag=True,
    help="Let deidentified data be sent to a remote model. Recorded in the run.",
)
CONCURRENCY = click.option(
    "--concurrency", type=int, metavar="N", help="Most requests in flight. Default: what the server bears."
)
REQUESTS_PER_MINUTE = click.option(
    "--requests-per-minute", type=FINITE, metavar="N", help="Send no more than these to a server."
)
TOKENS_PER_MINUTE = click.option(
    "--tokens-per-minute", type=FINITE, metavar="N", help="The same in tokens of prompts and answers' limits."
)
MAX_REQUESTS = click.option(
    "--max-requests", type=int, metavar="N", help="Stop the run, to be gone on with, after so many requests."
)
MAX_COST = click.option(
    "--max-cost",
    type=FINITE,
    metavar="DOLLARS",
    help="Stop the run, to be gone on with, before it costs more.",
)
BATCH_API = click.option(
    "--batch-api",
    is_flag=True,
    help="Submit the requests as jobs of OpenAI's or Anthropic's batch API, at half the price; the same command"
    " later collects the answers.",
)
WAIT = click.option(
    "--wait", is_flag=True, help="With --batch-api: look every minute until all jobs are collected."
)
RETRY_FAILED = click.option(
    "--retry-failed",
    is_flag=True,
    help="Try again what failed after all its retries, single requests of judges too.",
)
FRESH = click.option(
    "--fresh", is_flag=True, help="Begin the run anew and ask everything again; the earlier round is kept."
)
DRY_RUN = click.option("--dry-run", is_flag=True, help="Print the plan with its requests, and stop.")
RUNS = click.option("--runs", help="The runs folder. Default: PMBENCH_RUNS, or runs.")
JSON = click.option(
    "--json", "json_file", help="Also write the results as JSON to this file (- for standard output)."
)
QUIET = click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors.")


def served(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of commands that may ask a server."""
    options = (
        ALLOW_REMOTE,
        BATCH_API,
        WAIT,
        CONCURRENCY,
        REQUESTS_PER_MINUTE,
        TOKENS_PER_MINUTE,
        MAX_REQUESTS,
        MAX_COST,
    )
    for option in reversed(options):
        command = option(command)
    return command
