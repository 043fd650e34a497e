"""`pmbench show`: one run, or one instance of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from pmbench.cli.columns import print_columns, printable
from pmbench.cli.view import NoBlocks, blocks_of, print_blocks

if TYPE_CHECKING:
    from rich.console import Console

    from pmbench.core.instance import Score
    from pmbench.core.metric import Metric
    from pmbench.core.task import Record, View
    from pmbench.core.view import ViewBlock
    from pmbench.running.reading import StoredRun
    from pmbench.running.results import MetricResult, Results, SliceResult


@click.command()
@click.argument("name", metavar="RUN")
@click.option("-i", "--instance", help="Show this instance: the response and how it was scored.")
@click.option("--sample", type=int, default=0, show_default=True, help="Number of the sample to show.")
@click.option("--instances", is_flag=True, help="List every instance with its own value, the worst first.")
@click.option(
    "--scoring", help="Beginning of the digest of a scoring. Default: the one of the most instances."
)
@click.option(
    "--labels",
    multiple=True,
    metavar="FILE",
    help="Also the metrics corrected by people's labels (pmbench labels makes the form). Repeatable.",
)
@click.option("--slices", is_flag=True, help="Also the primary metric of every subgroup.")
@click.option("--runs", "folder", help="The runs folder. Default: PMBENCH_RUNS, or runs.")
@click.pass_context
def show(
    context: click.Context,
    name: str,
    instance: str | None,
    sample: int,
    instances: bool,
    scoring: str | None,
    labels: tuple[str, ...],
    slices: bool,
    folder: str | None,
) -> None:
    """Show one run. RUN is a folder, or a unique beginning of a run's digest.

    Exit status: 0 done, 1 the scores are not those of the results, as is said first, 2 an error that you can mend.
    """
    from pmbench.running.agreement import checked
    from pmbench.running.plan import runs_folder
    from pmbench.running.reading import read_run

    run = read_run(runs_folder(folder), name, scoring)
    apart = checked(run)
    if apart is not None:
        told = f"Not to be trusted: {apart}."
        click.echo(printable(told), err=instance is not None or instances)
    if instance is not None:
        _show_instance(run, instance, sample)
    elif instances:
        _list_instances(run)
    else:
        _show_run(run, labels, slices=slices)
    if apart is not None and apart.damaged:
        context.exit(1)


def _show_run(run: StoredRun, labels: tuple[str, ...], *, slices: bool) -> None:
    from pmbench.cli import terminal

    console = terminal.output()
    _show_record(console, run)
    for why in run.broken:
        click.echo(f"a scoring that cannot be shown: {why}", err=True)
    if run.results is None:
        console.print("not scored yet")
        return
    if run.results.round != run.record.round:
        told = f"These results are of round {run.results.round}: the run was begun anew and is not finished."
        console.print(told, style="yellow", soft_wrap=True)
    task = run.task()
    terminal.print_metrics(console, task.metrics, run.results)
    terminal.print_cautions(console, task.cautions(run.results.judges))
    terminal.print_findings(console, run.results)
    terminal.print_variation(console, task.metrics[0], run.results)
    console.print(terminal.status_text(run.results))
    console.print(terminal.counts_line(run.results), markup=False)
    terminal.print_unusable(console, run.results)
    for line in terminal.usage_lines(run.results.usage):
        console.print(line, markup=False)
    if labels:
        from pmbench.cli.labels_shown import show_corrected

        show_corrected(run, labels)
    if slices:
        _show_slices(console, task.metrics[0], run.results)
    if run.others:
        console.print(f"other scorings of it: {', '.join(run.others)} (see --scoring)", markup=False)
        _show_judges(console, run)
    console.print(f"folder: {run.folder.path}", markup=False, soft_wrap=True)


def _show_record(console: Console, run: StoredRun) -> None:
    record = run.record
    asked, data = record.asked, record.data
    lines = {
        "run": f"{record.digest[:12]}, begun {record.created_at}"
        + (f", round {record.round}" * bool(record.round)),
        "task": f"{asked.task} (version {asked.task_version})",
        "options": ", ".join(f"{name}={value}" for name, value in run.options.items()),
        "data": f"{data.location}, {data.instances} instance{'' if data.instances == 1 else 's'}, {data.sensitivity}",
        "": "made up: numbers on them show nothing of how good a system is" if data.kind == "demo" else "",
        "fingerprint": asked.fingerprint[:12],
        "model": record.model if record.spec == record.model else f"{record.model}: {record.spec}",
        "identity": ", ".join(f"{name} {value}" for name, value in asked.model.items()),
        "strategy": asked.strategy,
        "judges": ", ".join(f"{role}={name}" for role, name in run.results.judges.items())
        if run.results
        else "",
    }
    for label, text in lines.items():
        if text:
            console.print(f"{label:<12}{text}", markup=False, soft_wrap=True)


def _show_judges(console: Console, run: StoredRun) -> None:
    """What other judges of the same responses come to, and how much of the variation is theirs."""
    from pmbench.running.judge_variation import judge_split
    from pmbench.running.variation_told import judge_lines

    for line in judge_lines(judge_split(run)):
        console.print(printable(line), markup=False, highlight=False, soft_wrap=True)


def _show_slices(console: Console, primary: Metric, results: Results) -> None:
    from rich.markup import escape
    from rich.table import Table

    from pmbench.cli import terminal
    from pmbench.leaderboard.wording import counted
    from pmbench.stats.bootstrap import FEW_CLUSTERS

    groups = [
        (name, label, found)
        for name, labels in results.slices.items()
        for label, found in labels.items()
        if label.strip()
    ]
    if not groups:
        console.print("no subgroups: the data have no column that the task reads as one", soft_wrap=True)
        return
    table = Table(
        "slice",
        "value of it",
        "n",
        "clusters",
        primary.title,
        "95% interval",
        "minus all others",
        "95% interval",
        "",
        box=None,
        pad_edge=False,
    )
    for name, label, found in groups:
        metric = found.metrics.get(primary.name)
        value, ends, remark = "–", "", f"results.json has no {primary.name} of it"
        if metric is not None:
            value = "–" if metric.value is None else primary.shown(metric.value)
            ends = terminal.interval(primary, metric.low, metric.high)
            remark = metric.note
        if found.gap is not None and found.gap.note and found.gap.low is None:
            remark = "; ".join(filter(None, [remark, f"minus all others: {found.gap.note}"]))
        gap, gap_ends = _gap(primary, found.gap)
        cells = (name, label, _scored(found), str(found.clusters), value, ends, gap, gap_ends, remark)
        table.add_row(*(escape(printable(cell)) for cell in cells))
    console.print(table)
    if primary.scheme == "cluster":
        smallest = min(found.clusters for _, _, found in groups)
        if smallest < FEW_CLUSTERS:
            console.print(
                f"The smallest subgroup has {counted(smallest, 'cluster')}: fewer than {FEW_CLUSTERS} show large"
                " differences only.",
                style="yellow",
                soft_wrap=True,
            )
    if len(groups) > 1:
        console.print(
            f"Intervals are not adjusted for the number of subgroups: of {len(groups)} some differ from the others by"
            " chance.",
            style="yellow",
            soft_wrap=True,
        )


def _scored(found: SliceResult) -> str:
    """How many instances a subgroup has; where some have no score, how many of how many have one."""
    without = found.scored is not None and found.scored != found.instances
    return f"{found.scored}/{found.instances}" if without else str(found.instances)


def _gap(primary: Metric, found: MetricResult | None) -> tuple[str, str]:
    from pmbench.leaderboard.wording import bare, interval

    if found is None or found.value is None:
        return "–", ""
    return bare(primary, found.value, sign=True), interval(primary, found.low, found.high)


def _show_instance(run: StoredRun, instance: str, sample: int) -> None:
    import msgspec

    from pmbench.cli import terminal
    from pmbench.running.reading import read_instance

    record, remarks = read_instance(run, instance, sample)
    if run.others and run.scores is not None and run.results is not None:
        judges = ", ".join(f"{role}={name}" for role, name in run.results.judges.items())
        others = ", ".join(run.others)
        remarks = [
            f"scored by {judges} ({run.scores.name}); other scorings: {others} (see --scoring)",
            *remarks,
        ]
    for remark in remarks:
        click.echo(remark, err=True)
    view = next(iter(run.task().views.values()), None)
    if view is not None and record.instance.inputs and record.score is not None:
        shown = _viewed(view, record, record.score)
        if isinstance(shown, str):
            terminal.print_markdown(shown)
            return
        if shown is not None:
            print_blocks(shown)
            return
    if record.response is not None:
        click.echo(printable(record.response.text))
    if record.score is not None:
        score = msgspec.json.format(msgspec.json.encode(record.score), indent=2)
        click.echo(printable(score.decode()))


def _viewed(view: View, record: Record, score: Score) -> str | list[ViewBlock] | None:
    """The record as the task shows it; None, with the reason on standard error, where it cannot."""
    from pmbench.running.faults import fault

    try:
        shown: object = view(record)
        if isinstance(shown, str):
            return shown
        try:
            return blocks_of(shown)
        except NoBlocks as error:
            why = f"it made {error}"
    except Exception as error:  # noqa: BLE001 - a view is a plugin's, and the record may be of another version
        why = fault(error)
    lacking = [name for name, there in (("stats", score.stats), ("evidence", score.evidence)) if not there]
    told = f"the score has no {' and no '.join(lacking)}" if lacking else "the score may lack what it shows"
    click.echo(f"The task's own view of it failed ({why}): {told}. It follows as it is stored.", err=True)
    return None


def _list_instances(run: StoredRun) -> None:
    from pmbench.running.reading import instance_values

    primary = run.task().metrics[0]
    rows = [
        (name, "–" if value is None else primary.shown(value), odd)
        for name, value, odd in instance_values(run)
    ]
    print_columns(("instance", primary.name, "remark"), rows)
