"""`pmbench compare`: two runs of one task, instance by instance."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pmbench.cli.columns import printable
from pmbench.cli.finite import FINITE
from pmbench.cli.options import RESAMPLES, SEED
from pmbench.cli.who_wins_shown import ALPHA

if TYPE_CHECKING:
    from pmbench.core.metric import Metric
    from pmbench.leaderboard.two_runs import Compared, TwoRuns
    from pmbench.stats.equivalence import Equivalence


@click.command()
@click.argument("first", metavar="RUN_A")
@click.argument("second", metavar="RUN_B")
@click.option(
    "--slice",
    "part",
    metavar="NAME[=LABEL]",
    help="Set the labels of a slice side by side, as difficulty; or keep to one of them, as difficulty=hard.",
)
@click.option("--margin", type=FINITE, help="The smallest difference that matters: do they differ by less?")
@click.option("--on-common", is_flag=True, help="Compare the instances that both have scored.")
@click.option("--resamples", type=RESAMPLES, default=10_000, show_default=True, help="Of interval and test.")
@click.option("--seed", type=SEED, default=0, show_default=True, help="Of interval and test.")
@click.option("--json", "json_file", help="Write the comparison to this file (- for standard output).")
@click.option("--runs", "folder", help="The runs folder. Default: PMBENCH_RUNS, or runs.")
def compare(
    first: str,
    second: str,
    part: str | None,
    margin: float | None,
    on_common: bool,
    resamples: int,
    seed: int,
    json_file: str | None,
    folder: str | None,
) -> None:
    """Compare two runs: difference, interval, p, who is right where. RUN is a folder or the beginning of a digest."""
    import msgspec

    from pmbench.core.registry import load_task
    from pmbench.leaderboard.tested import Resampling
    from pmbench.leaderboard.two_runs import compare_runs
    from pmbench.running.plan import runs_folder

    name, label = _slice(part)
    found = compare_runs(
        runs_folder(folder),
        first,
        second,
        on_common=on_common,
        slice_of=None if label is None else (name, label),
        slice_by=name if label is None and name else None,
        statistics=Resampling(resamples=resamples, permutations=resamples, seed=seed),
        margin=margin,
    )
    if json_file == "-":
        click.echo(msgspec.json.format(msgspec.json.encode(found), indent=2).decode())
        return
    if json_file is not None:
        _write(Path(json_file), msgspec.json.format(msgspec.json.encode(found), indent=2) + b"\n")
    _print(found, {metric.name: metric for metric in load_task(found.task).metrics})


def _write(path: Path, encoded: bytes) -> None:
    """Write the comparison; an earlier one may be there, and nothing else."""
    from pmbench.core.errors import ConfigError
    from pmbench.running.folder import storing

    where = f"--json {path}"
    try:
        in_folder, taken = path.absolute().parent.is_dir(), path.exists()
        ours = not taken or (path.is_file() and _is_comparison(path.read_bytes()))
    except OSError as error:
        why = f"cannot be written or read ({error.strerror or type(error).__name__})"
        raise ConfigError(why, where=where, remedy="Choose another name") from None
    if not in_folder:
        raise ConfigError("there is no such folder", where=where, remedy="Make it first")
    if not ours:
        raise ConfigError("this is there and is no comparison", where=where, remedy="Choose another name")
    with storing(path, "Name a file with --json where you can write"):
        part = path.with_name(f".{path.name}.part")
        part.write_bytes(encoded)
        part.replace(path)


def _is_comparison(encoded: bytes) -> bool:
    """Whether this is what an earlier `--json` wrote, by the keys of the object."""
    import msgspec

    from pmbench.leaderboard.two_runs import TwoRuns

    try:
        found = msgspec.json.decode(encoded)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return False
    return isinstance(found, dict) and found.keys() >= set(TwoRuns.__struct_fields__)


def _slice(part: str | None) -> tuple[str, str | None]:
    """Name of the slice and the label asked for, None for all of its labels."""
    name, sign, label = (part or "").partition("=")
    if part is not None and (not name or (sign and not label)):
        raise click.BadParameter("write NAME or NAME=LABEL, as difficulty=hard", param_hint="--slice")
    return name, label if sign else None


def _apart(found: TwoRuns, primary: Metric) -> Iterator[str]:
    """The instances on which the runs differ most, a line each under one heading."""
    from pmbench.leaderboard.wording import bare

    cells = [("instance", "A", "B", "A − B")]
    for one in found.apart:
        values = (
            primary.shown(one.first),
            primary.shown(one.second),
            bare(primary, one.first - one.second, sign=True),
        )
        cells.append((printable(one.id), *values))
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for first, *rest in cells:
        numbers = (text.rjust(width) for text, width in zip(rest, widths[1:], strict=True))
        yield "  ".join(["", first.ljust(widths[0]), *numbers])


def _print(found: TwoRuns, metrics: dict[str, Metric]) -> None:
    from rich.markup import escape
    from rich.table import Table

    from pmbench.cli import terminal, who_wins_shown

    console = terminal.output()
    for line in _head(found):
        console.print(line, markup=False, soft_wrap=True)
    table = Table("", "A", "B", "A − B", "95% interval", "p", box=None, pad_edge=False, header_style="bold")
    for column in table.columns[1:]:
        column.justify = "right"
    for place, one in enumerate(found.metrics):
        table.add_row(*map(escape, _cells(metrics[one.name], one, place == 0)), style="" if place else "bold")
    console.print()
    console.print(table)
    primary = metrics[found.metrics[0].name]
    for line in _lines(found, primary):
        console.print(line, markup=False, soft_wrap=True)
    for name, subgroups, missing in who_wins_shown.tables(found, primary):
        console.print(f"\n{primary.title} by {printable(name)}", markup=False, style="bold")
        console.print(subgroups)
        if missing:
            console.print(f"{missing}.", markup=False, soft_wrap=True)
    if found.parts:
        console.print(
            "a small p in one subgroup and a large one in another do not show that the subgroups differ: that is not"
            " tested",
            markup=False,
            soft_wrap=True,
        )
    for line in _ending(found, primary):
        console.print(line, markup=False, soft_wrap=True)


def _head(found: TwoRuns) -> Iterator[str]:
    """Which two runs, on what."""
    for name, side in (("A", found.first), ("B", found.second)):
        yield f"{name}  {side.name} (run {side.run[:12]})"
    from pmbench.leaderboard.wording import counted

    common = counted(found.common, "instance")
    part = f", {printable(found.part)}" if found.part else ""
    yield f"{found.task}{part}: {common} that both have scored{_without(found)}"
    if found.demo:
        yield "demo data, made up: they show nothing of how good the systems are"
    for setting in found.settings:
        yield f"they differ in {setting}"


def _at_margin(found: Equivalence, primary: Metric) -> Iterator[str]:
    from pmbench.leaderboard.wording import bare, p_value

    margin = bare(primary, found.margin)
    if found.low != found.low:
        yield f"margin {margin}: {found.note or 'no test'}"
        return
    ends = f"{bare(primary, found.low, sign=True)} to {bare(primary, found.high, sign=True)}"
    same = "A and B differ" if found.equivalent else "it is not shown that A and B differ"
    yield (
        f"margin {margin}: {same} by less than that (90% interval of A − B {ends};"
        f" p {p_value(found.p_equivalent)})"
    )
    worse = "A is not worse than B" if found.not_inferior else "it is not shown that A is not worse than B"
    yield f"margin {margin}: {worse} by that much (p {p_value(found.p_not_inferior)})"
    yield "margin: two one-sided t tests of the difference; they hold where it was chosen before the runs were seen"
    if found.note:
        yield f"{primary.title}: {found.note}."


def _without(found: TwoRuns) -> str:
    """What is left out, where the two have not scored the same instances."""
    if not found.only_first and not found.only_second:
        return ""
    return f", without {found.only_first} that only A has and {found.only_second} that only B has"


def _cells(metric: Metric, one: Compared, is_primary: bool) -> list[str]:
    from pmbench.leaderboard.wording import bare, interval, p_value

    test = one.test
    ends = "" if test.low != test.low else interval(metric, test.low, test.high)
    # Only the primary metric is tested: of many p-values some are small by chance.
    p = p_value(test.p if test.p == test.p else None) if is_primary else ""
    difference = "–" if test.difference != test.difference else bare(metric, test.difference, sign=True)
    return [metric.title, metric.shown(one.first), metric.shown(one.second), difference, ends, p]


def _lines(found: TwoRuns, primary: Metric) -> Iterator[str]:
    from pmbench.cli.who_wins_shown import lines, verdict
    from pmbench.leaderboard.why_not import of_two
    from pmbench.leaderboard.wording import counted
    from pmbench.stats.bootstrap import FEW_CLUSTERS

    yield ""
    yield verdict(found, primary, ALPHA)
    titles: dict[str, list[str]] = {}
    for metric in found.metrics:
        missing = "no interval from a single cluster" if metric.test.low != metric.test.low else ""
        if note := metric.test.note or missing:
            titles.setdefault(note, []).append(metric.title)
    for note, of in titles.items():
        yield f"{', '.join(of)}: {note}."
    test = found.metrics[0].test
    yield from of_two(test, "instance" if test.clusters == found.common else "cluster", ALPHA)
    if test.clusters < FEW_CLUSTERS and primary.scheme == "cluster":
        yield f"Only {counted(test.clusters, 'cluster')}: small differences cannot be shown."
    yield from found.cautions
    yield ""
    yield from lines(found)
    if found.at_margin is not None:
        yield from _at_margin(found.at_margin, primary)
    if found.overlap is not None:
        share = {name: getattr(found.overlap, name) for name in ("both", "first", "second", "neither")}
        told = {name: f"{count:g} ({100 * count / found.common:.1f}%)" for name, count in share.items()}
        yield (
            f"right: both {told['both']}, only A {told['first']}, only B {told['second']}, neither"
            f" {told['neither']}; a tie counts half for each"
        )


def _ending(found: TwoRuns, primary: Metric) -> Iterator[str]:
    """The instances that differ most, how to open one, and how p was made."""
    yield ""
    if found.apart:
        yield f"where they differ most ({found.metrics[0].title}):"
        yield from _apart(found, primary)
        yield f"to open one: pmbench show {found.first.run[:12]} --instance {printable(found.apart[0].id)}"
    if len(found.metrics) > 1:
        yield (
            f"only {primary.title} is tested: of the intervals of the other metrics some exclude 0 by chance"
            if primary.higher_is_better is not None
            else f"only {primary.title} is tested"
        )
    yield f"intervals of A − B: {found.intervals}"
    of_slices = " (those of a slice: by Holm over its labels)" if found.parts else ""
    yield f"p: {found.method}; not adjusted for other comparisons{of_slices}"
