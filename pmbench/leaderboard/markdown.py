"""A leaderboard as GitHub Markdown. It holds names, counts and numbers; never text of a dataset."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pmbench.core.digest import SHORT
from pmbench.core.task import Task
from pmbench.leaderboard.comparable import worded
from pmbench.leaderboard.escaping import code, escape, row
from pmbench.leaderboard.reported import Reported, humanised, reported
from pmbench.leaderboard.table import BEST, Leaderboard, MetricHead, SystemRow, Table

LEFT, RIGHT = ":---", "---:"


def render_markdown(board: Leaderboard, task: Task | type[Task]) -> str:
    """The whole page: what was compared, the tables, how to read them, and what the paper reports.

    Raises:
        ConfigError: the task's `reported.toml` cannot be read.
    """
    lines = [
        f"# Leaderboard: {escape(board.title)}",
        "",
        f"Task {code(board.task)}, version {board.version}. Primary metric: {_metric(board.metrics[0])}.",
    ]
    if not board.tables:
        lines += ["", "No run can be shown yet."]
    for number, table in enumerate(board.tables, start=1):
        lines += ["", *_table(board, table, number)]
    if board.tables:
        lines += ["", "## How to read it", "", *_reading(board), "", _statistics(board)]
    if board.left_out:
        lines += ["", "## Not in a table", "", *_left_out(board)]
    found = reported(task)
    if found.row:
        lines += ["", *_reported(found, board, task)]
    return "\n".join(lines) + "\n"


def _metric(head: MetricHead) -> str:
    return f"{escape(head.title)} ({code(head.formula)})"


def _number(text: str) -> str:
    """A number with its interval and unit; brackets stay as they are, for readers of the source."""
    return escape(text).replace("\\[", "[").replace("\\]", "]")


def _heading(head: MetricHead) -> str:
    return f"{escape(head.heading)} {head.arrow}".rstrip()


def _table(board: Leaderboard, table: Table, number: int) -> Iterator[str]:
    many = len(board.tables) > 1
    yield f"## Table {number} of {len(board.tables)}" if many else "## Systems"
    yield ""
    if table.differs:
        yield "Set apart from the other tables by:"
        yield ""
        yield from (f"- {escape(words)}" for words in table.differs)
        yield ""
    yield _compared(table)
    yield ""
    yield from _main(board.metrics[0], table.rows)
    if table.notes:
        yield ""
        yield from (f"- {escape(note)}" for note in table.notes)
    if len(board.metrics) > 1:
        yield from ("", "### Other metrics", "")
        yield from _others(board.metrics[1:], table.rows)


def _compared(table: Table) -> str:
    asked = f"{table.instances} of {table.dataset}" if table.instances != table.dataset else table.instances
    parts = [
        f"Data: {code(table.data)} ({escape(table.sensitivity)})",
        f"fingerprint {code(table.fingerprint[:SHORT])}",
        f"{asked} instances in {_clusters(table)}",
        f"task version {table.version}",
    ]
    options = ", ".join(f"{name}={worded(value)}" for name, value in table.options.items())
    if options:
        parts.append(f"options {code(options)}")
    return "; ".join(parts) + "."


def _clusters(table: Table) -> str:
    return f"{table.clusters} cluster" + ("" if table.clusters == 1 else "s")


def _main(primary: MetricHead, rows: Sequence[SystemRow]) -> Iterator[str]:
    """The table of the primary metric: who, how good, how far from the best, and what went wrong."""
    settings = any(one.settings for one in rows)
    heads = ["#", "System", "Strategy", *(["Settings"] if settings else []), _heading(primary)]
    heads += ["Difference to the best", "p (Holm)", "Scored", "Lost or odd", "Judges"]
    sides = [RIGHT, LEFT, LEFT, *([LEFT] if settings else []), *[RIGHT] * 4, LEFT, LEFT]
    yield row(heads)
    yield row(sides)
    for one in rows:
        pair = one.against
        yield row(
            [
                str(one.number),
                code(one.model),
                code(one.strategy),
                *([escape(one.settings)] if settings else []),
                _number(one.measures[primary.name].text),
                _number(pair.text) if pair else BEST,
                _number(pair.p_text) if pair else BEST,
                f"{one.counts.scored}/{one.counts.samples}",
                escape(one.failures),
                escape(", ".join(f"{role}={name}" for role, name in one.judges.items())) or BEST,
            ]
        )


def _others(metrics: Sequence[MetricHead], rows: Sequence[SystemRow]) -> Iterator[str]:
    """The table of the other metrics, rows as in the first."""
    yield row(["#", "System", *(_heading(head) for head in metrics)])
    yield row([RIGHT, LEFT, *[RIGHT] * len(metrics)])
    for one in rows:
        cells = [_number(one.measures[head.name].text) for head in metrics]
        yield row([str(one.number), code(one.model), *cells])


def _reading(board: Leaderboard) -> Iterator[str]:
    level = f"{100 * board.statistics.level:g}%"
    yield (
        f"- Brackets hold a {level} interval for the value over all such instances, judged from which clusters"
        " happened to be in these data. It leaves out errors of the judge and chance in the model's answers."
    )
    yield (
        "- The difference is this system minus the best of its table, on the instances that both have scored."
        " Before adjustment, p is the chance of a difference at least this large, in either direction, if a"
        " coin's toss had decided which of the two systems gave which answers of a cluster. The p shown is"
        " adjusted for all pairs of systems in the table (Holm). A large p means that these data do not show a"
        " difference, not that there is none. The brackets of the difference are not adjusted, and may exclude"
        " 0 where p is large."
    )
    yield (
        "- Scored counts responses with a score, of those asked for. What failed or could not be scored is"
        " left out of the value and counted beside it as failed or missing; it is never taken as zero. Answers"
        " that are empty, refuse or were cut off are scored as they are, and counted too. If what is lost is"
        " harder than the rest, the value is too high: see the worst case in the notes."
    )
    yield "- Only systems of one table may be compared. ↑ more is better, ↓ less is better."


def _statistics(board: Leaderboard) -> str:
    used = board.statistics
    pairs = [one.against for table in board.tables for one in table.rows if one.against]
    exact = sum(pair.exact for pair in pairs)
    text = f"Statistics: percentile bootstrap by cluster, {used.resamples:,} resamples, seed {used.seed}"
    if not pairs:
        return f"{text}."
    return (
        f"{text}; paired randomisation test, the two systems swapped within clusters, two-sided,"
        f" {used.permutations:,} random patterns of swaps, or all patterns where few clusters differ: all were"
        f" tried for {exact} of the {len(pairs)} comparisons with a best system on this page. p-values are"
        " adjusted over all pairs of each table (Holm)."
    )


def _left_out(board: Leaderboard) -> Iterator[str]:
    yield from (f"- {code(one.where)}: {escape(one.reason)}" for one in board.left_out)


def _reported(found: Reported, board: Leaderboard, task: Task | type[Task]) -> Iterator[str]:
    source = found.source or task.citation
    yield "## Reported elsewhere"
    yield ""
    yield (
        "**Not comparable with the tables above**: these are the numbers that the paper reports, with another"
        " judge, and perhaps another version of the data." + (f" Source: {escape(source)}." if source else "")
    )
    yield from _of_other_data(board.tables, private=bool(task.dataset.private))
    if any(one.spread for one in found.row):
        yield "After ± stands the spread that the paper gives."
    if found.note:
        yield ""
        yield escape(found.note)
    yield ""
    titles = {head.name: head.title for head in board.metrics}
    names = found.columns()
    columns = [found.shown(name) for name in names]
    heads = [escape(titles.get(name) or humanised(name)) for name in names]
    yield row(["System", "Strategy", *heads, "Table", "Note"])
    yield row([LEFT, LEFT, *[RIGHT] * len(names), LEFT, LEFT])
    for index, one in enumerate(found.row):
        cells = [_number(column[index]) for column in columns]
        yield row(
            [
                escape(one.system),
                escape(one.strategy) or BEST,
                *cells,
                escape(str(one.table)),
                escape(one.note),
            ]
        )


def _of_other_data(tables: Sequence[Table], *, private: bool) -> Iterator[str]:
    """Whether the paper's data are those of the tables above, as far as it is known."""
    own = list(dict.fromkeys(one.data for one in tables if one.kind in ("file", "folder", "datasets")))
    if any(one.kind == "demo" for one in tables):
        yield "**These numbers are of the paper's data, not of the demo data.**"
    if not own:
        return
    names = ", ".join(map(code, own))
    if private:
        # Only who holds the paper's data knows whether this file is it.
        yield f"**These numbers are of the paper's data, not of yours** ({names}), unless yours are the paper's."
    else:
        yield f"**These numbers are of the paper's data, not of yours** ({names})."
