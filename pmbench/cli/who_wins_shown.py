"""What `pmbench compare` prints of who is better where: instances counted, the effect, a table for each slice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pmbench.cli.columns import printable

if TYPE_CHECKING:
    from rich.table import Table

    from pmbench.core.metric import Metric
    from pmbench.leaderboard.two_runs import TwoRuns
    from pmbench.leaderboard.who_wins import Part

ALPHA = 0.05
"""The level of the tests."""

MOST_NAMED = 4
"""Subgroups that a sentence names; of more it says how many."""


def verdict(found: TwoRuns, primary: Metric, alpha: float) -> str:
    """Which of the two is better, in a sentence, from the test of the primary metric."""
    from pmbench.leaderboard.wording import bare, counted, interval, p_value

    test = found.metrics[0].test
    where = f"on {counted(found.common, 'instance')}"
    where += f" of {counted(found.units, 'message')}" if found.units else ""
    where += f" with {printable(found.part)}" if found.part else ""
    if test.p != test.p:
        return f"{primary.title} of A and B could not be tested {where}: see below."
    ends = f" {interval(primary, test.low, test.high)}" if test.low == test.low else ""
    told = f"{primary.title} A − B {bare(primary, test.difference, sign=True)}{ends}, p {p_value(test.p)}"
    if test.p > alpha:
        return f"A and B cannot be told apart {where} ({told})."
    if primary.higher_is_better is None:
        return f"A and B differ {where} ({told})."
    first, second = ("A", "B") if (test.difference > 0) == primary.higher_is_better else ("B", "A")
    return f"{first} is better than {second} {where} ({told})."


def lines(found: TwoRuns) -> Iterator[str]:
    """How many instances each has better, the standardised effect, and McNemar's test, where there are any."""
    if found.wins is not None:
        verb = "better" if found.discordant is None else "right alone"
        won = found.wins
        yield f"instances: A {verb} on {won.first}, B {verb} on {won.second}, alike on {won.equal}"
    if found.discordant is not None:
        from pmbench.leaderboard.wording import p_value

        one = found.discordant
        yield f"McNemar's exact test of {one.first} against {one.second}: p {p_value(one.p)}"
    if found.effect is not None:
        effect = found.effect
        ends = (
            "" if effect.low is None or effect.high is None else f" [{effect.low:+.2f}, {effect.high:+.2f}]"
        )
        yield (
            f"standardised effect {effect.value:+.2f}{ends}: the mean difference of an instance, by how much"
            " differences vary (0.2 is called small, 0.5 medium, 0.8 large)"
        )


def tables(found: TwoRuns, primary: Metric) -> Iterator[tuple[str, Table, str]]:
    """For each slice its name, both runs in each subgroup, and why intervals are missing; empty where none is."""
    from rich.markup import escape
    from rich.table import Table

    for name, parts in found.parts.items():
        clustered = any(part.test.clusters != part.instances for part in parts)
        more = ("clusters",) * clustered if primary.scheme == "cluster" else ()
        heads = (printable(name), "n", *more, "A", "B", "A − B", "95% interval", "p (Holm)")
        table = Table(*map(escape, heads), box=None, pad_edge=False, header_style="bold")
        for column in table.columns[1:]:
            column.justify = "right"
        for part in parts:
            table.add_row(*map(escape, _cells(part, primary, with_clusters=bool(more))))
        notes = {part.test.note: None for part in parts if part.test.note and part.test.low != part.test.low}
        yield name, table, "; ".join([*notes, *_out_of_reach(parts)])


def _out_of_reach(parts: Sequence[Part]) -> Iterator[str]:
    """Which subgroups could show no difference, whatever the systems: so few clusters of them differ."""
    from pmbench.leaderboard.wording import listed
    from pmbench.stats.corrections import holm

    tested = [part for part in parts if part.p_adjusted is not None]
    least = holm([part.test.least_p for part in tested])
    names = [printable(part.label) for part, p in zip(tested, least, strict=True) if p > ALPHA]
    if names:
        whom = listed(names) if len(names) <= MOST_NAMED else f"{len(names)} of these {len(parts)} subgroups"
        where = "any of these subgroups" if len(names) == len(parts) > 1 else whom
        yield f"no difference could be shown in {where}, whatever the systems: too few clusters differ"


def _cells(part: Part, primary: Metric, *, with_clusters: bool) -> list[str]:
    from pmbench.leaderboard.wording import DASH, bare, interval, p_value

    test = part.test
    known = test.difference == test.difference
    ends = interval(primary, test.low, test.high) if test.low == test.low else DASH
    return [
        printable(part.label),
        str(part.instances),
        *([str(test.clusters)] * with_clusters),
        primary.shown(part.first),
        primary.shown(part.second),
        bare(primary, test.difference, sign=True) if known else DASH,
        ends,
        p_value(part.p_adjusted),
    ]
