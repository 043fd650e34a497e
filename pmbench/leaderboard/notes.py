"""What a reader of a table has to know besides its numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pmbench.core.metric import Metric
from pmbench.leaderboard.no_interval import reasons
from pmbench.leaderboard.table import SystemRow, Table
from pmbench.leaderboard.why_not import all_out_of_reach, out_of_reach
from pmbench.leaderboard.wording import bare, counted, listed, rows_text
from pmbench.stats.bootstrap import FEW_CLUSTERS

FEW_MESSAGES = 30
"""Of pairs or inboxes: the size of the inboxes that the methods were simulated for."""


def notes(table: Table, metrics: Sequence[Metric], *, alpha: float = 0.05) -> list[str]:
    """Notes of a table, one sentence or two each; rows are called by their numbers.

    Args:
        table: with rows and pairs; metrics: of its task.
        alpha: the level of the tests.
    """
    primary = metrics[0]
    return [
        *_on_clusters(table, metrics),
        *_on_reach(table, alpha),
        *_on_best(table, primary),
        *_on_ties(table, primary),
        *_on_pairing(table),
        *_on_missing(table, primary),
        *_on_methods(table, metrics),
    ]


def _on_clusters(table: Table, metrics: Sequence[Metric]) -> Iterator[str]:
    by_cluster = [metric.title for metric in metrics if metric.scheme == "cluster" and metric.group is None]
    if table.clusters < FEW_CLUSTERS and by_cluster:
        of = "" if metrics[0].scheme == "cluster" else f" of {listed(by_cluster)}"
        only = f"Only {counted(table.clusters, 'cluster')}"
        yield f"{only}: small differences{of} cannot be shown{_size(table, metrics[0])}."
    if metrics[0].scheme != "cluster" and table.units < FEW_MESSAGES:
        yield f"Only {counted(table.units, 'message')}: little can be concluded from so few."


def _size(table: Table, primary: Metric) -> str:
    """How large a difference of the first two systems has to be, where that is known."""
    if table.detectable is None:
        return ""
    alone = ", tested alone," if len(table.pairs) > 1 else ""
    size = bare(primary, table.detectable)
    return (
        f"; of rows 1 and 2{alone} a difference of {size} in {primary.title} would be found in 8 of 10 such data"
        " sets, a smaller one more rarely"
    )


def _on_reach(table: Table, alpha: float) -> Iterator[str]:
    """Which systems could not be told apart from the first, whatever they are; the words say it where none could."""
    if all_out_of_reach(table, alpha):
        return
    alike: dict[tuple[int, float], list[int]] = {}
    for pair in out_of_reach(table, alpha):
        if pair.first == 1 and pair.exact:
            alike.setdefault((pair.differing, pair.least), []).append(pair.second)
    for (differing, least), numbers in alike.items():
        if not differing:
            verb = "has" if len(numbers) == 1 else "have"
            yield f"{rows_text(numbers)} {verb} the same scores as row 1 in every cluster: there is nothing to test."
            continue
        verb = "differs" if len(numbers) == 1 else "differ"
        yield (
            f"{rows_text(numbers)} {verb} from row 1 in {counted(differing, 'cluster')} only: before adjustment no p"
            f" can be below {least:.2g}, too much for a difference to be shown."
        )


def _on_best(table: Table, primary: Metric) -> Iterator[str]:
    if len(table.rows) < 2:
        return
    yield "The best was chosen on these same data: its value and its lead are probably too high."
    if primary.higher_is_better is None:
        yield f"Neither end of {primary.title} is better: rows are in order of value, the first is not best."


def _on_ties(table: Table, primary: Metric) -> Iterator[str]:
    alike: dict[float, list[int]] = {}
    for row in table.rows:
        value = row.measures[primary.name].value
        if value is not None:
            alike.setdefault(round(value, 12), []).append(row.number)
    for numbers in alike.values():
        if len(numbers) > 1:
            yield f"{rows_text(numbers)} have the same {primary.title}; their order says nothing."


def _on_pairing(table: Table) -> Iterator[str]:
    """One note for all rows that are compared on the same number of instances, without as many others."""
    alike: dict[tuple[int, int, int], list[int]] = {}
    for row in table.rows:
        pair = row.against
        if pair is not None and (pair.only_best or pair.only_this):
            alike.setdefault((pair.instances, pair.only_best, pair.only_this), []).append(row.number)
    for (instances, only_best, only_this), numbers in alike.items():
        without = [f"{counted(only_best, 'instance')} that only row 1 has scored"] if only_best else []
        if only_this:
            owner = f"row {numbers[0]} has" if len(numbers) == 1 else "that row has"
            without.append(f"{counted(only_this, 'instance')} that only {owner} scored")
        subject = f"{rows_text(numbers)} {'is' if len(numbers) == 1 else 'are each'}"
        yield (
            f"{subject} compared with row 1 on the {counted(instances, 'instance')} that both have"
            f" scored, without {' and '.join(without)}; the difference need not be that of the two values."
        )


def _on_missing(table: Table, primary: Metric) -> Iterator[str]:
    for row in table.rows:
        if row.status == "incomplete":
            yield f"Row {row.number} is incomplete ({row.reason or 'work is left'})."
        elif row.status == "complete-with-missing":
            yield f"Row {row.number} is without {_lost(row)}{_extremes(row, primary)}."


def _lost(row: SystemRow) -> str:
    lost = row.counts.failed + row.counts.missing
    return f"{counted(lost, 'score')} of {row.counts.samples}"


def _extremes(row: SystemRow, primary: Metric) -> str:
    measure = row.measures[primary.name]
    if measure.worst is None or measure.best is None:
        return ""
    return (
        f": {primary.title} would be {bare(primary, measure.worst)} if all of them had been worst"
        f" and {bare(primary, measure.best)} if best"
    )


def _on_methods(table: Table, metrics: Sequence[Metric]) -> Iterator[str]:
    """What is special about an interval or a test, once for all rows of which it is true."""
    # Those of groups have their lines under the group's own table.
    yield from reasons({one.name: one.title for one in metrics if one.group is None}, table.rows)
    compared: dict[str, list[int]] = {}
    for row in table.rows:
        if row.against is not None and row.against.note:
            compared.setdefault(row.against.note, []).append(row.number)
    for note, numbers in compared.items():
        yield f"{rows_text(numbers)} against row 1: {note}."
