"""What a terminal shows: a progress bar with rate and time left, tables of metrics."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence

import click
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table

from pmbench.cli.columns import printable, width_asked
from pmbench.core.metric import Metric
from pmbench.running.progress import PlainLines, Silent, requests_text
from pmbench.running.progress import Progress as Hears
from pmbench.running.results import Results, UsageTotal

_UNLIMITED = 10_000
"""Characters of a line where nothing limits it: a table takes what it needs."""

_STATUS = {"complete": "green", "complete-with-missing": "yellow", "incomplete": "red"}


class Bar:
    """A progress bar on standard error."""

    def __init__(self, console: Console) -> None:
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[requests]}"),
            TextColumn("[red]{task.fields[failed]}"),
            console=console,
            transient=False,
        )
        self._task: TaskID | None = None
        self._failed = 0

    def start(self, phase: str, total: int, done: int = 0) -> None:
        """Show a bar."""
        self._failed = 0
        self._progress.start()
        self._task = self._progress.add_task(
            phase, total=total, completed=done, rate="", failed="", requests=""
        )

    def advance(self, *, failed: bool = False) -> None:
        """One step."""
        if self._task is None:
            return
        self._failed += failed
        task = self._progress.tasks[self._progress.task_ids.index(self._task)]
        told = f"{self._failed} failed" if self._failed else ""
        rate = f"{task.speed:.1f}/s" if task.speed else ""
        self._progress.update(self._task, advance=1, failed=told, rate=rate)

    def requests(self, done: int, wanted: int) -> None:
        """Beside the bar: an inbox takes hundreds of them."""
        if self._task is not None:
            self._progress.update(self._task, requests=requests_text(done, wanted))

    def finish(self) -> None:
        """Leave the bar as it is."""
        self._progress.stop()

    def note(self, text: str) -> None:
        """A line above the bar."""
        self._progress.console.print(escape(text))


def progress(*, quiet: bool) -> Hears:
    """A bar on a terminal, plain lines where there is none, nothing with `--quiet`."""
    if quiet:
        return Silent()
    console = Console(stderr=True)
    return Bar(console) if console.is_terminal and not console.is_dumb_terminal else PlainLines(sys.stderr)


def output(*, stderr: bool = False) -> Console:
    """The console for results: as wide as needed where the output is no terminal and COLUMNS is not set."""
    console = Console(highlight=False, soft_wrap=False, stderr=stderr)
    if not console.is_terminal and not width_asked():
        console.width = _UNLIMITED
    return console


def status_text(results: Results) -> str:
    """The status, coloured, with its reason."""
    reason = f" ({results.reason})" if results.reason else ""
    colour = _STATUS[results.status]
    return f"[{colour}]{escape(results.status)}[/{colour}]{escape(reason)}"


def metrics_table(metrics: Sequence[Metric], results: Results) -> Table:
    """Each metric with its interval; with best and worst case where something is missing."""
    bounded = any(found.worst is not None for found in results.metrics.values())
    table = Table("metric", "value", "95% interval", box=None, pad_edge=False, header_style="bold")
    if bounded:
        table.add_column("if all missing were worst / best")
    for metric in metrics:
        found = results.metrics.get(metric.name)
        valued = found is not None and found.value is not None
        if metric.group is not None or (metric.optional and not valued):
            continue
        if found is None or found.value is None:
            table.add_row(escape(metric.title), "–", "")
            continue
        row = [escape(metric.title), metric.shown(found.value), interval(metric, found.low, found.high)]
        if bounded and found.worst is not None and found.best is not None:
            row.append(f"{metric.shown(found.worst)} / {metric.shown(found.best)}")
        table.add_row(*row, style="bold" if metric.name == results.primary else "")
    return table


def groups_tables(metrics: Sequence[Metric], results: Results) -> list[Table]:
    """Metrics that stand in groups: a column for each group and one for its reference.

    Groups that have a row in common stand in one table, others one below the other.
    """
    columns: dict[str, dict[str, str]] = {}
    references = {metric.reference for metric in metrics if metric.reference}
    for metric in metrics:
        if metric.group is not None:
            group = metric.group
            heading = group.reference if metric.name in references and group.reference else group.title
            found = results.metrics.get(metric.name)
            value = None if found is None else found.value
            if value is None and metric.optional:
                continue
            columns.setdefault(heading, {})[metric.title] = "–" if value is None else metric.shown(value)
    return [_listed(part) if len(part) == 1 else _grid(part) for part in _sharing(columns)]


def _sharing(columns: Mapping[str, dict[str, str]]) -> list[dict[str, dict[str, str]]]:
    """The columns in parts, each of those that have a row in common, in the order of their first."""
    parts: list[dict[str, dict[str, str]]] = []
    for heading, cells in columns.items():
        joined: dict[str, dict[str, str]] = {}
        for part in [one for one in parts if any(cells.keys() & other.keys() for other in one.values())]:
            joined |= part
            parts.remove(part)
        parts.append({**joined, heading: cells})
    order = list(columns)
    return sorted(parts, key=lambda part: min(order.index(heading) for heading in part))


def _grid(columns: Mapping[str, Mapping[str, str]]) -> Table:
    table = Table("", *map(escape, columns), box=None, pad_edge=False, header_style="bold")
    for column in table.columns[1:]:
        column.justify = "right"
    for title in dict.fromkeys(title for cells in columns.values() for title in cells):
        table.add_row(escape(title), *(cells.get(title, "") for cells in columns.values()))
    return table


def _listed(columns: Mapping[str, Mapping[str, str]]) -> Table:
    """A group by itself, its title above its rows."""
    table = Table("", "", box=None, pad_edge=False, show_header=False)
    table.columns[1].justify = "right"
    for title, cells in columns.items():
        table.add_row(f"[bold]{escape(title)}[/bold]", "")
        for name, value in cells.items():
            table.add_row(f"  {escape(name)}", value)
    return table


def print_metrics(console: Console, metrics: Sequence[Metric], results: Results) -> None:
    """The table of metrics, with a warning where its intervals cannot be trusted."""
    console.print(metrics_table(metrics, results))
    groups = groups_tables(metrics, results)
    for table in groups:
        console.print()
        console.print(table)
    if groups:
        console.print()
    by_cluster = [metric for metric in metrics if metric.scheme == "cluster" and metric.group is None]
    if any(results.metrics[m.name].low is not None for m in by_cluster if m.name in results.metrics):
        print_few(console, results.statistics.clusters)
    told: dict[str, list[str]] = {}
    for metric in metrics:
        found = results.metrics.get(metric.name)
        if found is not None and found.note:
            told.setdefault(found.note, []).append(metric.title)
    for note, titles in told.items():
        of = ", ".join(titles) if len(titles) < 5 else f"{', '.join(titles[:3])} and {len(titles) - 3} others"
        console.print(f"{of}: {note}.", style="yellow", markup=False, soft_wrap=True)


def print_cautions(console: Console, cautions: Sequence[str]) -> None:
    """What is known of the judges, under the numbers that they made."""
    for caution in cautions:
        console.print(caution, style="yellow", markup=False, soft_wrap=True)


def print_findings(console: Console, results: Results) -> None:
    """What the task has to say of the scores."""
    for line in results.findings:
        console.print(printable(line), markup=False, highlight=False, soft_wrap=True)


def print_variation(console: Console, metric: Metric, results: Results) -> None:
    """Where the variation of the primary metric comes from, where there are several samples per instance."""
    if results.variation is not None:
        from pmbench.running.variation_told import variation_lines

        for line in variation_lines(metric, results.variation):
            console.print(line, markup=False, highlight=False, soft_wrap=True)


def print_few(console: Console, clusters: int) -> None:
    """Say so where there are few clusters."""
    from pmbench.stats.bootstrap import FEW_CLUSTERS

    if clusters < FEW_CLUSTERS:
        told = (
            "There is no interval from one cluster."
            if clusters == 1
            else f"There are only {clusters} clusters (fewer than {FEW_CLUSTERS}): small differences cannot be shown."
        )
        console.print(told, style="yellow", soft_wrap=True)


def interval(metric: Metric, low: float | None, high: float | None) -> str:
    """An interval as text; empty where there is none."""
    return "" if low is None or high is None else f"{metric.shown(low)} to {metric.shown(high)}"


def counts_line(results: Results) -> str:
    """What became of the instances, in one line; nothing that happened is left out."""
    c = results.counts
    answered = [f"{c.responded} of {c.samples} answered"] if c.pending and c.responded > c.scored else []
    parts = [*answered, f"{c.scored} of {c.samples} scored"]
    if c.instances < c.dataset:
        parts.append(f"{c.instances} of the dataset's {c.dataset} instances")
    named = ("failed", "missing", "pending", "refused", "truncated", "empty")
    parts += [f"{getattr(c, name)} {name}" for name in named if getattr(c, name)]
    if c.partial:
        parts.append(f"{c.partial} scored though a judge's requests failed")
    if c.failures:
        parts.append("kinds: " + ", ".join(f"{kind} {n}" for kind, n in c.failures.items()))
    return "; ".join(parts)


def print_unusable(console: Console, results: Results) -> None:
    """Under the counts: which instances have a score that holds no number that can be reported."""
    from pmbench.running.finite import unusable_lines

    for line in unusable_lines(results.unusable):
        console.print(printable(line), style="yellow", markup=False, highlight=False, soft_wrap=True)


def usage_lines(usage: Mapping[str, UsageTotal]) -> Iterable[str]:
    """Calls, tokens, time and money of the model and of judges; nothing of recorded answers, which took none."""
    for who, total in usage.items():
        if total.prompt_tokens or total.completion_tokens:
            each = "response" if who == "model" else "score"
            times = (
                f", median {total.latency_median:.2f} s and 95th percentile {total.latency_p95:.2f} s of a {each}"
                if total.latency_median is not None and total.latency_p95 is not None
                else ""
            )
            yield (
                f"{who}: {total.calls} calls, {total.prompt_tokens} prompt and "
                f"{total.completion_tokens} completion tokens, {total.seconds:.1f} s{times}{_priced(total)}"
            )


def _priced(total: UsageTotal) -> str:
    """What the calls cost; nothing where none has a known price, as of models on this machine."""
    if not total.unpriced:
        return f", ${total.cost:.4f}"
    # Calls that failed before anything was counted have no price either way: a sum of nothing is no price.
    return f", ${total.cost:.4f} and {total.unpriced} calls of unknown price" if total.cost else ""


def print_markdown(text: str) -> None:
    """Rendered on a terminal, as it is in a pipe or file."""
    from rich.markdown import Markdown

    console = output()
    if console.is_terminal:
        console.print(Markdown(printable(text)))
    else:
        click.echo(printable(text))
