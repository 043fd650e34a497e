"""`pmbench run`: carry out a run, or go on with one."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console

    from pmbench.running.carrying_out import Outcome
    from pmbench.running.plan import Plan, RunRequest


@click.command()
@click.option("-t", "--task", required=True, help="Name of the task; see: pmbench tasks.")
@click.option(
    "-m", "--model", required=True, multiple=True, help="Preset, or backend:name?option=value. Repeatable."
)
@click.option(
    "-d", "--data", help="demo, a file or folder, or hub:ORG/NAME. Default: the task's hub dataset."
)
@click.option(
    "-c",
    "--columns",
    multiple=True,
    help="Which column is which: message=msg,chart=ehr,response=reply. Repeatable; a comma in a name is \\,",
)
@click.option(
    "--sensitivity",
    type=click.Choice(["public", "deidentified", "phi"]),
    help="Of the data. Default for a file: phi.",
)
@click.option("--revision", help="Revision of a hub dataset.")
@click.option("--split", help="Split of a dataset that has several.")
@click.option("-s", "--strategy", multiple=True, help="Name, or all. Repeatable. Default: the task's first.")
@click.option(
    "-o", "--option", "options", multiple=True, metavar="NAME=VALUE", help="Option of the task. Repeatable."
)
@click.option(
    "-j", "--judge", "judges", multiple=True, metavar="ROLE=MODEL", help="Judge of a role. Repeatable."
)
@click.option("--embedder", default="embedded", show_default=True, help="What turns text into vectors.")
@click.option("-n", "--limit", type=int, help="Only the first N instances (of the same run).")
@click.option("--samples", type=int, default=1, show_default=True, help="Responses per instance.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of sampling.")
@click.option("--max-tokens", type=int, help="Most tokens of an answer, instead of the strategy's own limit.")
@click.option("--temperature", type=float, help="Temperature, instead of the strategy's own.")
@click.option(
    "--max-missing", type=float, default=0.01, show_default=True, help="Share that may stay without a score."
)
@click.option("--retry-failed", is_flag=True, help="Try again what failed after all its retries.")
@click.option(
    "--fresh", is_flag=True, help="Begin the run anew and ask everything again; the earlier round is kept."
)
@click.option("--dry-run", is_flag=True, help="Print the plan with its requests, and stop.")
@click.option("--runs", help="The runs folder. Default: PMBENCH_RUNS, or runs.")
@click.option(
    "--json", "json_file", help="Also write the results as JSON to this file (- for standard output)."
)
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors.")
def run(json_file: str | None, quiet: bool, dry_run: bool, **asked: Any) -> int:
    """Run a task with a model. The same command again does what is missing, and nothing else.

    Exit status: 0 done, 1 incomplete, 2 an error that you can mend, 130 interrupted.
    """
    from pmbench.running.plan import make_plan

    if json_file:
        _check_json(json_file, asked)
    outcomes: list[Outcome] = []
    # All are planned before any is begun: a misspelt second model must not come out after hours of the first.
    plans = [make_plan(request) for request in _requests(**asked)]
    for plan in plans:
        if not quiet or dry_run:
            _print_plan(plan, dry_run=dry_run)
        if dry_run:
            plan.store.close()
            continue
        outcomes.append(_carry_out(plan, quiet=quiet, to_stderr=json_file == "-"))
        if outcomes[-1].interrupted:
            break
    if json_file and outcomes:
        _write_json(json_file, outcomes)
    if any(outcome.interrupted for outcome in outcomes):
        return 130
    return int(any(outcome.results.status == "incomplete" for outcome in outcomes))


def _requests(
    *,
    task: str,
    model: Sequence[str],
    columns: Sequence[str],
    strategy: tuple[str, ...],
    options: Sequence[str],
    judges: Sequence[str],
    runs: str | None,
    **rest: Any,
) -> list[RunRequest]:
    """One request for each model and strategy."""
    import sys

    from pmbench.core.registry import load_task
    from pmbench.data.columns import parse_columns
    from pmbench.running.plan import RunRequest, runs_folder, strategies_of

    return [
        RunRequest(
            task=task,
            model=name,
            runs=runs_folder(runs),
            columns=parse_columns(",".join(columns)) if columns else {},
            strategy=chosen,
            options=_pairs(options, "-o"),
            judges=_pairs(judges, "--judge"),
            command=tuple(sys.argv[1:]),
            **rest,
        )
        for name in model
        for chosen in strategies_of(load_task(task), strategy)
    ]


def _pairs(given: Sequence[str], option: str) -> dict[str, str]:
    from pmbench.core.errors import ConfigError

    pairs = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise ConfigError(f"{text!r} is not of the form name=value", where=option)
        if name.strip() in pairs:
            raise ConfigError(f"{name.strip()!r} is given twice", where=option, remedy="Keep one")
        pairs[name.strip()] = value
    return pairs


def _print_plan(plan: Plan, *, dry_run: bool) -> None:
    data, request = plan.dataset, plan.request
    chosen = len(plan.chosen)
    of = "" if chosen == len(data.instances) else f" (the first {chosen})"
    lines = [
        f"task      {plan.task.name} (version {plan.task.version})",
        f"data      {data.source.location}: {len(data.instances)} instances{of}, {data.sensitivity}",
        f"          fingerprint {data.fingerprint[:12]}",
        f"model     {plan.model.name}"
        + (f": {plan.model.spec}" if str(plan.model.spec) != plan.model.name else ""),
        f"strategy  {plan.strategy_name}",
        *(f"judge     {role}={name}" for role, name in plan.judge_names.items()),
        f"run       {plan.folder.path}",
        *(f"note      {note}" for note in plan.notes),
    ]
    if dry_run:
        estimate = plan.estimate()
        lines.append(f"requests  {_range(estimate.model)} to the model, {_range(estimate.judges)} to judges")
        lines.append(
            f"tokens    about {estimate.prompt_tokens} of input text (four characters a token), prompts not counted"
        )
        lines.append(f"samples   {request.samples} per instance")
    click.echo("\n".join(lines), err=not dry_run)


def _range(ends: tuple[int, int]) -> str:
    return str(ends[0]) if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"


def _carry_out(plan: Plan, *, quiet: bool, to_stderr: bool) -> Outcome:
    from pmbench.cli import terminal
    from pmbench.running.carrying_out import carry_out

    outcome = carry_out(plan, terminal.progress(quiet=quiet))
    if not quiet:
        # A reader that has gone must not turn a finished run into a failed one.
        with contextlib.suppress(BrokenPipeError, SystemExit):
            _print_outcome(plan, outcome, terminal.output(stderr=to_stderr))
    return outcome


def _print_outcome(plan: Plan, outcome: Outcome, console: Console) -> None:
    from pmbench.cli import terminal

    results, counts = outcome.results, outcome.results.counts
    terminal.print_metrics(console, plan.task.metrics, results)
    terminal.print_cautions(console, plan.task.cautions(results.judges))
    console.print(terminal.status_text(results))
    console.print(terminal.counts_line(results), markup=False)
    for line in terminal.usage_lines(results.usage):
        console.print(line, markup=False)
    now = f"requests made now: {outcome.asked}; answers taken from the store: {outcome.stored}"
    console.print(now, markup=False)
    hints = {
        f"The embedder cut off {outcome.cut} texts at its limit of tokens.": outcome.cut,
        f"{outcome.unreadable} stored answers could not be read and were asked for again.": outcome.unreadable,
        f"{counts.truncated} answers were cut off; --max-tokens raises the limit.": counts.truncated,
        "The file below keeps the results of more instances that were there before.": outcome.kept,
    }
    for hint, holds in hints.items():
        if holds:
            console.print(hint, style="yellow", markup=False)
    console.print(f"results: {outcome.folder / 'results.json'}", markup=False, soft_wrap=True)
    if counts.pending:
        console.print("To go on, give the same command again.", markup=False)
    elif results.status == "incomplete":
        told = "To try again what failed, add --retry-failed; to allow that much, add --max-missing SHARE."
        console.print(told, markup=False)


def _check_json(where: str, asked: dict[str, Any]) -> None:
    """Refuse, before anything is asked, a file that could not be written or is something else."""
    from pmbench.core.errors import ConfigError

    path = Path(where)
    if where == "-" or not path.exists():
        if where != "-" and not path.absolute().parent.is_dir():
            raise ConfigError("there is no such folder", where=f"--json {where}", remedy="Make it first")
        return
    if not path.is_file() or (
        path.stat().st_size and path.read_bytes()[:64].lstrip()[:1] not in (b"{", b"[")
    ):
        raise ConfigError(
            "this is there and is no file of results", where=f"--json {where}", remedy="Choose another name"
        )
    if asked.get("data") and path.absolute() == Path(asked["data"]).absolute():
        raise ConfigError("this is the data", where=f"--json {where}", remedy="Choose another name")


def _write_json(where: str, outcomes: Sequence[Outcome]) -> None:
    import msgspec

    results = [outcome.results for outcome in outcomes]
    encoded = msgspec.json.format(msgspec.json.encode(results[0] if len(results) == 1 else results), indent=2)
    if where == "-":
        click.echo(encoded.decode())
        return
    from pmbench.running.folder import storing

    path = Path(where)
    part = path.with_name(f".{path.name}.part")
    with storing(path):
        part.write_bytes(encoded + b"\n")
        part.replace(path)
