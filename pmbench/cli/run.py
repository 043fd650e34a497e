"""`pmbench run`: carry out a run, or go on with one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
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

    outcomes: list[Outcome] = []
    for request in _requests(**asked):
        plan = make_plan(request)
        if not quiet or dry_run:
            _print_plan(plan, dry_run=dry_run)
        if dry_run:
            plan.store.close()
            continue
        outcomes.append(_carry_out(plan, quiet=quiet))
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


def _carry_out(plan: Plan, *, quiet: bool) -> Outcome:
    from pmbench.cli import terminal
    from pmbench.running.carrying_out import carry_out

    outcome = carry_out(plan, terminal.progress(quiet=quiet))
    if quiet:
        return outcome
    console = terminal.output()
    results = outcome.results
    terminal.print_metrics(console, plan.task.metrics, results)
    terminal.print_cautions(console, plan.task.cautions(results.judges))
    console.print(terminal.status_text(results))
    console.print(terminal.counts_line(results), markup=False)
    for line in terminal.usage_lines(results.usage):
        console.print(line, markup=False)
    console.print(
        f"requests made now: {outcome.asked}; answers taken from the store: {outcome.stored}", markup=False
    )
    if outcome.cut:
        console.print(f"The embedder cut off {outcome.cut} texts at its limit of tokens.", style="yellow")
    if results.counts.truncated:
        console.print(
            f"{results.counts.truncated} answers were cut off; --max-tokens raises the limit.", style="yellow"
        )
    if outcome.kept:
        console.print(
            "The file below keeps the results of more instances that were there before.", style="yellow"
        )
    console.print(f"results: {outcome.folder / 'results.json'}", markup=False, soft_wrap=True)
    if results.counts.pending:
        console.print("To go on, give the same command again.", markup=False)
    elif results.status == "incomplete":
        console.print(
            "To try again what failed, add --retry-failed; to allow that much, add --max-missing SHARE.",
            markup=False,
        )
    return outcome


def _write_json(where: str, outcomes: Sequence[Outcome]) -> None:
    import msgspec

    results = [outcome.results for outcome in outcomes]
    encoded = msgspec.json.format(msgspec.json.encode(results[0] if len(results) == 1 else results), indent=2)
    if where == "-":
        click.echo(encoded.decode())
        return
    from pmbench.running.folder import storing

    path = Path(where)
    with storing(path):
        path.write_bytes(encoded + b"\n")
