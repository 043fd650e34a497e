"""`pmbench power`: what differences the data of a run can show."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from pmbench.cli.finite import FINITE

if TYPE_CHECKING:
    from pmbench.core.metric import Metric
    from pmbench.leaderboard.detectable import Detectable


@click.command()
@click.option("--run", "name", required=True, metavar="RUN", help="A folder or the beginning of a digest.")
@click.option(
    "--against", metavar="RUN", help="Another run of the same data, in place of a rival that is assumed."
)
@click.option("--metric", help="Name of a metric of the task. Default: the primary one.")
@click.option("--difference", type=FINITE, help="How many instances would show it, in the metric's own unit.")
@click.option("--power", type=FINITE, default=0.8, show_default=True, help="Probability to find it.")
@click.option("--level", type=FINITE, default=0.95, show_default=True, help="1 less the level of the test.")
@click.option(
    "--correlation",
    type=FINITE,
    help="Of the assumed rival with the run. Default: 0.5; with --against it is seen.",
)
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
@click.option("--runs", "folder", help="The runs folder. Default: PMBENCH_RUNS, or runs.")
def power(
    name: str,
    against: str | None,
    metric: str | None,
    difference: float | None,
    power: float,
    level: float,
    correlation: float | None,
    as_json: bool,
    folder: str | None,
) -> None:
    """Say what differences a run's data can show, and how many instances one would need."""
    import msgspec

    from pmbench.core.registry import load_task
    from pmbench.leaderboard.detectable import detectable
    from pmbench.running.plan import runs_folder

    if against is not None and correlation is not None:
        raise click.UsageError("--correlation is of a rival that is assumed, and --against names a real one")
    found = detectable(
        runs_folder(folder),
        name,
        against=against,
        metric=metric,
        difference=difference,
        power=power,
        level=level,
        correlation=0.5 if correlation is None else correlation,
    )
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(found), indent=2).decode())
        return
    metrics = {one.name: one for one in load_task(found.task).metrics}
    for line in _lines(found, metrics[found.metric]):
        click.echo(line)


def _lines(found: Detectable, metric: Metric) -> Iterator[str]:
    from pmbench.cli.columns import printable
    from pmbench.leaderboard.wording import bare
    from pmbench.stats.power import fewest_clusters

    made = found.power
    yield f"{found.title} of {printable(found.run)}: {metric.shown(found.value)}"
    if found.against:
        yield f"against {printable(found.against)}, on the {made.instances:,} instances that both have"
    else:
        yield (
            f"against a rival that varies as much and whose results correlate with these by {made.correlation:g}"
            " (assumed; --against RUN takes a real one)"
        )
    many = f"{made.clusters:,} {found.unit}{'s' if made.clusters != 1 else ''}"
    size = f"{made.instances:,} instances in {many}" if made.instances != made.clusters else many
    at = f"at the {1 - made.level:.2g} level"
    unit = f" {metric.unit}" if metric.unit not in ("", "%") else ""
    if made.detectable != made.detectable:
        fewest = fewest_clusters(made.level)
        yield (
            f"{size}: no difference can be shown {at}, however large: in the randomisation test of tables and"
            f" comparisons p is {2 / 2**made.clusters:.2g} at least; with {fewest} {found.unit}s it can be"
            f" {2 / 2**fewest:.2g}"
        )
    else:
        yield (
            f"{size}: the smallest difference found with {made.power:.0%} power {at} is"
            f" {bare(metric, made.detectable)}{unit}"
        )
    if found.difference is not None:
        yield (
            f"a difference of {bare(metric, abs(found.difference))}{unit} needs {found.clusters:,} {found.unit}s"
            f" ({found.instances:,} instances, as many to each as here)"
        )
    yield (
        "for two systems alone, by Student's t and how much these scores vary; a leaderboard adjusts p for all of its"
        " pairs, so that more is needed there"
    )
