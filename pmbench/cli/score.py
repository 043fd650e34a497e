"""`pmbench score`: score responses that were made elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pmbench.cli import options

if TYPE_CHECKING:
    from pmbench.running.plan import Plan


@click.command()
@options.TASK
@click.option(
    "-r",
    "--responses",
    "files",
    required=True,
    multiple=True,
    metavar="FILE",
    help='JSON lines of {"id": …, "text": …}, or CSV or TSV with an id and a text in each row. Repeatable.',
)
@click.option(
    "--response-columns",
    multiple=True,
    metavar="COLUMNS",
    help="Which column of FILE is which: id=MsgNo,text=draft. Default: id, and text, response, draft, reply, "
    "answer, output or completion, where there is one of them; id= numbers the rows.",
)
@click.option(
    "-d",
    "--data",
    help="The messages that they answer: demo, a file or folder, or hub:ORG/NAME. Default: the task's hub dataset.",
)
@options.COLUMNS
@options.SENSITIVITY
@options.REVISION
@options.SPLIT
@options.OPTION
@options.JUDGE
@options.LABEL
@options.EMBEDDER
@options.LIMIT
@options.served
@options.MAX_MISSING
@options.RETRY_FAILED
@options.FRESH
@options.DRY_RUN
@options.RUNS
@options.JSON
@options.QUIET
def score(
    files: tuple[str, ...],
    response_columns: tuple[str, ...],
    json_file: str | None,
    quiet: bool,
    dry_run: bool,
    wait: bool,
    **asked: Any,
) -> int:
    """Score responses that were made elsewhere. No model is asked, but for judges that are models.

    It is the run of the model replay:FILE: listed, shown and set side by side as any other run.
    A file that holds the messages and the responses is given twice:
    --data mine.csv --responses mine.csv --response-columns text=draft

    Exit status: 0 done, 1 incomplete (an instance has no response), 2 an error that you can mend, 130 interrupted.
    """
    from pmbench.cli.carrying import carry_out_all, check_json, make_requests
    from pmbench.core.registry import load_task
    from pmbench.running.recorded import RECORDED

    if json_file:
        check_json(json_file, {"the data": [asked["data"]], "a file of responses": files})
    notes: dict[str, Sequence[str]] = {}
    for file in files:
        model, guesses = _model(file, response_columns, asked)
        notes[model] = guesses
    own = load_task(asked["task"]).dataset
    if asked["data"] is None and not own.private and own.hub is not None and not quiet:
        told = f"no --data: the responses are taken to answer the task's own dataset, hub:{own.hub.id}"
        click.echo(f"note      {told}", err=True)
    return carry_out_all(
        make_requests(model=list(notes), strategy=(RECORDED,), dry_run=dry_run, **asked),
        json_file=json_file,
        quiet=quiet,
        dry_run=dry_run,
        wait=wait,
        notes=lambda plan: notes[plan.request.model],
        remarks=_remarks,
        to_mend="To mend it, add the missing responses and give the same command again",
    )


def _model(file: str, response_columns: Sequence[str], asked: Mapping[str, Any]) -> tuple[str, Sequence[str]]:
    """The specification of the model that replays a file, and notes on what was guessed of it."""
    from urllib.parse import quote

    from pmbench.cli.carrying import same_file
    from pmbench.core.errors import ConfigError
    from pmbench.core.registry import load_task
    from pmbench.data.columns import ID, parse_columns
    from pmbench.models.answer_columns import OPTION, find_columns
    from pmbench.models.recordings import read_rows
    from pmbench.running.recorded import responses_of

    if not file.strip():
        raise ConfigError("names no file", where="--responses", remedy="Write --responses FILE")
    path = Path(file)
    try:
        named = parse_columns(",".join(response_columns))
    except ConfigError as error:
        remedy = f"Write: {OPTION} id=MsgNo,text=draft"
        raise ConfigError(error.what, where=OPTION, remedy=remedy) from None
    # A name that begins with @ or a space is taken for a column of the data, or cut.
    start = "./" if file.startswith(("@", " ")) else ""
    if (
        path.is_file()
        and not (named and path.suffix.lower() != ".json")
        and responses_of(load_task(asked["task"])())(path) is not None
    ):
        return f"replay:{start}{file}", ()
    is_data = same_file(path, asked["data"])
    if is_data and "id" in (of_data := parse_columns(",".join(asked["columns"]))):
        named = {"id": of_data["id"], **named}
    found = find_columns(
        read_rows(path),
        file,
        named,
        id_names=ID.guesses,
        of_data=[column.name for column in load_task(asked["task"]).dataset.columns if column.required],
        is_data=is_data,
    )
    spelt = {"column": (found.text, "text"), "id": (found.id, "id")}
    changed = [f"{option}={quote(name, safe='')}" for option, (name, usual) in spelt.items() if name != usual]
    return f"replay:{start}{file}" + "?" * bool(changed) + "&".join(changed), found.notes


def _remarks(plan: Plan) -> list[str]:
    """What does not fit, said again where the results end: nobody scrolls up to the plan."""
    from pmbench.models.backends.replay import Replay

    backend = plan.model.backend
    if not isinstance(backend, Replay):
        return []
    ids = [instance.id for instance in plan.dataset.instances]
    chosen = [instance.id for instance in plan.chosen]
    absent, surplus = backend.coverage(ids)
    gone = set(absent)
    missing = [id_ for id_ in chosen if id_ in gone]
    as_numbers = backend.read_as_numbers(chosen)
    told = {
        f"{len(missing)} of {len(chosen)} instances without a response: {_few(missing)}": missing,
        f"responses that belong to no instance: {len(surplus)}: {_few(surplus)}": surplus,
        f"ids that are the same as numbers only: {len(as_numbers)}, such as {_few(list(as_numbers))}, which stand "
        f"there as {_few(list(as_numbers.values()))}": as_numbers,
    }
    return [line for line, holds in told.items() if holds]


def _few(ids: Sequence[str]) -> str:
    from pmbench.data.fingerprint import id_shown

    return ", ".join(map(id_shown, ids[:3])) + (", …" if len(ids) > 3 else "")
