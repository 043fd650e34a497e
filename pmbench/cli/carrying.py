"""What `pmbench run` and `pmbench score` have in common: requests made, planned, carried out, printed, written."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console

    from pmbench.running.carrying_out import Outcome
    from pmbench.running.plan import Plan, RunRequest
    from pmbench.running.results import Results

SCORING = "scoring.json"
"""What lies beside the results of a run."""

LOOK_AGAIN_SECONDS = 60
"""Between two looks at batch jobs that are waited for."""

RETRY = "To try again what failed, add --retry-failed"

Told = Callable[["Plan"], Sequence[str]]
"""Lines about a plan."""


def make_requests(
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
    """One request for each model, strategy and choice of judges.

    Raises:
        UserError: a name or an option that cannot be understood.
    """
    import sys

    from pmbench.core.errors import ConfigError
    from pmbench.core.registry import load_task
    from pmbench.data.columns import parse_columns
    from pmbench.models.backends.none import NO_MODEL
    from pmbench.running.judges import judges_of
    from pmbench.running.plan import RunRequest, runs_folder, strategies_of

    chosen_judges = judges_of([_pair(text, "--judge") for text in judges])
    if rest.get("label") is not None and len(model) > 1:
        raise ConfigError(
            f"one name for {len(model)} models",
            where="--label",
            remedy="Run the models one by one, or leave it out",
        )
    return [
        RunRequest(
            task=task,
            model=name,
            runs=runs_folder(runs),
            columns=parse_columns(",".join(columns)) if columns else {},
            strategy=chosen,
            options=_pairs(options, "-o"),
            judges=by_role,
            if_offered="all" in strategy,
            command=tuple(sys.argv[1:]),
            **rest,
        )
        for name in model or [NO_MODEL]
        for chosen in strategies_of(load_task(task), strategy)
        for by_role in chosen_judges
    ]


def carry_out_all(
    requests: Sequence[RunRequest],
    *,
    json_file: str | None,
    quiet: bool,
    dry_run: bool,
    wait: bool = False,
    notes: Told | None = None,
    remarks: Told | None = None,
    to_mend: str = RETRY,
) -> int:
    """Plan all requests, then carry them out, printing and writing what comes of it.

    Args:
        requests: in their order.
        json_file: where the results go as JSON; `-` for standard output.
        quiet: whether to print errors only; dry_run: whether to stop at the plans.
        wait: whether to look again and again until no batch job is under way.
        notes: more lines for a plan; remarks: lines for the end of its results.
        to_mend: what to do about failed responses.

    Returns:
        The exit status.
    """
    from pmbench.cli import terminal
    from pmbench.running.beginning import begin_anew
    from pmbench.running.plan import make_plan

    # All are planned before any is begun: a misspelt second model must not come out after hours of the first.
    plans = _planned(requests, quiet=quiet)
    if not dry_run:
        begin_anew(plans, terminal.progress(quiet=quiet))
    show = Shown(quiet, dry_run, json_file == "-", notes, remarks, to_mend)
    outcomes = _carry_out_each(plans, show)
    while wait and any(outcome.waiting for outcome in outcomes):
        if not quiet:
            click.echo(f"looking again in {LOOK_AGAIN_SECONDS} seconds", err=True)
        time.sleep(LOOK_AGAIN_SECONDS)
        outcomes = _carry_out_each([make_plan(plan.request) for plan in plans], show)
    if json_file and outcomes:
        _write_json(json_file, outcomes)
    if any(outcome.interrupted for outcome in outcomes):
        return 130
    return int(any(outcome.results.status == "incomplete" for outcome in outcomes))


def _planned(requests: Sequence[RunRequest], *, quiet: bool) -> list[Plan]:
    """A plan of each; of `--strategy all` without those strategies that need what the model does not offer.

    Raises:
        UserError: one of them cannot be carried out, or none can.
    """
    from pmbench.core.errors import DoesNotOffer
    from pmbench.running.plan import make_plan

    plans: list[Plan] = []
    left_out: list[DoesNotOffer] = []
    for request in requests:
        try:
            plans.append(make_plan(request))
        except DoesNotOffer as error:
            if not request.if_offered:
                raise
            left_out.append(error)
            if not quiet:
                click.echo(f"left out  {error.what}", err=True)
    if left_out and not plans:
        raise left_out[0]
    return plans


@dataclass(frozen=True)
class Shown:
    """What is printed of plans and outcomes; see `carry_out_all`."""

    quiet: bool
    dry_run: bool
    to_stderr: bool
    notes: Told | None
    remarks: Told | None
    to_mend: str


def _carry_out_each(plans: Sequence[Plan], show: Shown) -> list[Outcome]:
    outcomes: list[Outcome] = []
    said: set[str] = set()
    for plan in plans:
        if not show.quiet or show.dry_run:
            more = show.notes(plan) if show.notes else ()
            told = [note for note in (*plan.notes, *more) if note not in said]
            said.update(told)
            _print_plan(plan, told, dry_run=show.dry_run)
        if show.dry_run:
            plan.store.close()
            continue
        outcome = _carry_out(plan, quiet=show.quiet)
        outcomes.append(outcome)
        if not show.quiet:
            # A reader that has gone must not turn a finished run into a failed one.
            with contextlib.suppress(BrokenPipeError, SystemExit):
                remarks = show.remarks(plan) if show.remarks else ()
                _print_outcome(plan, outcome, remarks, show.to_mend, show.to_stderr)
        elif outcome.results.status == "incomplete":
            click.echo(f"Incomplete: {plan.system}: {outcome.results.reason}", err=True)
        if outcome.interrupted:
            break
    return outcomes


def check_json(where: str, inputs: Mapping[str, Iterable[str | None]]) -> None:
    """Refuse, before anything is asked, a file that could not be written or is something else.

    Args:
        where: what `--json` says.
        inputs: files that are read, by what they are called in an error.

    Raises:
        ConfigError: there is no such folder, or the file is an input or no file of results.
    """
    from pmbench.core.errors import ConfigError

    path = Path(where)
    if where == "-" or not path.exists():
        if where != "-" and not path.absolute().parent.is_dir():
            raise ConfigError("there is no such folder", where=f"--json {where}", remedy="Make it first")
        return
    for called, files in inputs.items():
        if any(same_file(path, file) for file in files):
            raise ConfigError(f"this is {called}", where=f"--json {where}", remedy="Choose another name")
    if not path.is_file() or (path.stat().st_size and not _is_results(path)):
        raise ConfigError(
            "this is there and is no file of results", where=f"--json {where}", remedy="Choose another name"
        )
    if (path.absolute().parent / SCORING).exists():
        raise ConfigError("this belongs to a run", where=f"--json {where}", remedy="Choose another name")


def _is_results(path: Path) -> bool:
    """Whether a file is what an earlier `--json` wrote: results, or a list of them."""
    import msgspec

    from pmbench.running.folder import UNREADABLE
    from pmbench.running.results import Results

    try:
        msgspec.json.decode(path.read_bytes(), type=Results | list[Results])
    except UNREADABLE:
        return False
    return True


def same_file(path: Path, other: str | None) -> bool:
    """Whether a name stands for that very file, whatever it is called."""
    try:
        return other is not None and path.samefile(other)
    except (OSError, ValueError):
        return False


def _pairs(given: Sequence[str], option: str) -> dict[str, str]:
    from pmbench.core.errors import ConfigError

    pairs: dict[str, str] = {}
    for text in given:
        name, value = _pair(text, option)
        if name in pairs:
            raise ConfigError(f"{name!r} is given twice", where=option, remedy="Keep one")
        pairs[name] = value
    return pairs


def _pair(text: str, option: str) -> tuple[str, str]:
    from pmbench.core.errors import ConfigError

    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise ConfigError(f"{text!r} is not of the form name=value", where=option)
    return name.strip(), value


def _instances(number: int) -> str:
    return f"{number} instance{'' if number == 1 else 's'}"


def _print_plan(plan: Plan, notes: Sequence[str], *, dry_run: bool) -> None:
    data, request = plan.dataset, plan.request
    chosen = len(plan.chosen)
    of = "" if chosen == len(data.instances) else f" (the first {chosen})"
    lines = [
        f"task      {plan.task.name} (version {plan.task.version})",
        f"data      {data.source.location}: {_instances(len(data.instances))}{of}, {data.sensitivity}",
        f"          fingerprint {data.fingerprint[:12]}",
        f"model     {plan.model.name}"
        + (f": {plan.model.spec}" if str(plan.model.spec) != plan.model.name else ""),
        f"strategy  {plan.strategy_name}",
        *(f"option    {name}={value}" for name, value in plan.options.items()),
        *(f"judge     {role}={name}" for role, name in plan.judge_names.items()),
        f"run       {plan.folder.path}",
        *(["batch     jobs of the batch API, at half the price"] if request.batch_api else []),
        *(f"note      {note}" for note in notes),
    ]
    if dry_run:
        from pmbench.cli.estimates import estimate_lines
        from pmbench.running.estimating import estimate

        lines.append(f"samples   {request.samples} per instance")
        lines += estimate_lines(estimate(plan))
    click.echo("\n".join(lines), err=not dry_run)


def _carry_out(plan: Plan, *, quiet: bool) -> Outcome:
    from pmbench.cli import terminal
    from pmbench.running.carrying_out import carry_out

    return carry_out(plan, terminal.progress(quiet=quiet))


def _print_outcome(
    plan: Plan, outcome: Outcome, remarks: Sequence[str], to_mend: str, to_stderr: bool
) -> None:
    from pmbench.cli import terminal

    console = terminal.output(stderr=to_stderr)
    results, counts = outcome.results, outcome.results.counts
    console.print(" · ".join((plan.task.name, plan.system, plan.strategy_name)), style="bold", markup=False)
    if counts.scored:
        terminal.print_metrics(console, plan.task.metrics, results)
        terminal.print_cautions(console, plan.task.cautions(results.judges))
        terminal.print_findings(console, results)
        terminal.print_variation(console, plan.task.metrics[0], results)
    console.print(terminal.status_text(results))
    console.print(terminal.counts_line(results), markup=False)
    terminal.print_unusable(console, results)
    for line in terminal.usage_lines(results.usage):
        console.print(line, markup=False)
    now = f"requests made now: {outcome.asked}; answers taken from the store: {outcome.stored}"
    console.print(now, markup=False)
    hints = {
        f"The embedder cut off {outcome.cut} texts at its limit of tokens.": outcome.cut,
        f"{outcome.unreadable} stored answers could not be read and were asked for again.": outcome.unreadable,
        f"{counts.truncated} answers were cut off; --max-tokens raises the limit.": counts.truncated,
        _one_hot(results): any(usage.one_hot for usage in results.usage.values()),
        f"The server answered as {', '.join(others)}." if (others := _others(plan, results)) else "": others,
        "The file below keeps the results of more instances that were there before.": outcome.kept,
    }
    for hint in (*(hint for hint, holds in hints.items() if holds), *remarks):
        console.print(hint, style="yellow", markup=False, soft_wrap=True)
    console.print(f"results: {outcome.folder / 'results.json'}", markup=False, soft_wrap=True)
    _print_what_next(console, outcome, to_mend)


def _one_hot(results: Results) -> str:
    count = sum(usage.one_hot for usage in results.usage.values())
    return f"{count} choices were made in words: all probability stands on the option named."


def _others(plan: Plan, results: Results) -> list[str]:
    """Names under which servers answered that are not those of the models asked for, with or without a date."""
    asked = {"model": [plan.model], "judges": list(plan.judge_models.values())}
    others = []
    for who, models in asked.items():
        usage = results.usage.get(who)
        names = [
            model.spec.target.rpartition("/")[2] for model in models if model.backend.endpoint is not None
        ]
        same = re.compile(rf"(.*/)?({'|'.join(map(re.escape, names))})([-@:]?\d[\d-]*)?")
        others += [name for name in (usage.served if usage and names else ()) if not same.fullmatch(name)]
    return others


def _print_what_next(console: Console, outcome: Outcome, to_mend: str) -> None:
    if outcome.results.counts.pending:
        to_go_on = outcome.to_go_on or "To go on, give the same command again"
        console.print(f"{to_go_on}.", markup=False, soft_wrap=True)
    elif outcome.results.status == "incomplete":
        lost = outcome.results.counts
        what = to_mend if lost.failed else RETRY
        console.print(f"{what}; to allow that much, add --max-missing SHARE.", markup=False, soft_wrap=True)
    elif outcome.results.counts.partial:
        console.print(f"{RETRY}.", markup=False, soft_wrap=True)


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
    with storing(path, "Name a file with --json where you can write"):
        part.write_bytes(encoded + b"\n")
        part.replace(path)
