"""Options that several commands take: one meaning, one wording."""

from __future__ import annotations

import click

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
    "--max-missing", type=float, default=0.01, show_default=True, help="Share that may stay without a score."
)
RETRY_FAILED = click.option(
    "--retry-failed", is_flag=True, help="Try again what failed after all its retries."
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
