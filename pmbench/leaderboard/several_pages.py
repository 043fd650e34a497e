"""The table of several tasks as Markdown, CSV, JSON, HTML and LaTeX; the same cells in each."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import version

import msgspec

from pmbench.leaderboard import latex
from pmbench.leaderboard.csv_page import guarded
from pmbench.leaderboard.escaping import code, escape, row
from pmbench.leaderboard.json_page import SCHEMA, json_text
from pmbench.leaderboard.latex import tex
from pmbench.leaderboard.markdown_tables import LEFT, RIGHT, interval_cell, number_cell
from pmbench.leaderboard.page import HTML_BEGINNING
from pmbench.leaderboard.several_table import SeveralTasks, SystemOverTasks
from pmbench.leaderboard.wording import DASH

TITLE = "several tasks"

_CSV = ("row", "system", "strategy", "mean_win_rate")

OVER_TASKS = "Tasks as the sample"
"""What stands over the sentences of Friedman's test."""

DEMO = "Demo data, made up: this shows how a leaderboard reads, and nothing of how good the systems are."


@dataclass(frozen=True)
class SeveralFormat:
    """A format of this table: how its files begin, and what makes them."""

    beginning: str
    render: Callable[[SeveralTasks], str]


def headings(found: SeveralTasks) -> list[str]:
    """What stands over the columns of numbers."""
    return ["Mean win rate ↑", "Mean rank ↓", "Tasks", *(head.heading for head in found.tasks)]


def cells(found: SeveralTasks, one: SystemOverTasks) -> list[tuple[str, str]]:
    """A system's numbers, each with what stands below it or nothing."""
    counted = sum(head.counted for head in found.tasks)
    measures = [one.measures.get(head.task) for head in found.tasks]
    return [
        one.win_text,
        one.rank_text,
        (f"{one.tasks}/{counted}", ""),
        *((measure.number, measure.interval) if measure else (DASH, "") for measure in measures),
    ]


def reading(found: SeveralTasks) -> Iterator[str]:
    """How to read the table, a sentence or two each."""
    level = f"{100 * found.statistics.level:g}%"
    yield (
        "The win rate of a system in a task is the share of the other systems there that have a lesser value, an"
        " equal one counting half; the rank is its place, equal systems sharing the mean of theirs. Means are over"
        " the tasks that a system has (HELM); those that have all of them stand first. Win rates and ranks depend on"
        " which other systems there are."
    )
    yield "Values of the tasks are never averaged: their units differ. Each task's own leaderboard has the tests."
    yield (
        "Brackets of win rates and ranks are what the tests of the tasks leave open: a system stands behind those"
        " that a task's tests find better and before those that they find worse, adjusted for all pairs and all tasks"
        f" ({level}, all brackets together). They are about other instances of these tasks, not about other tasks."
    )
    yield (
        "A system is a model by a strategy; the default strategies of the tasks are one strategy here, whatever they"
        " are called."
    )


def foot(found: SeveralTasks) -> str:
    """By what the table was made, and of what."""
    data = "; ".join(
        f"{head.task}: {head.data}, fingerprint {head.fingerprint[:12]}, n = {head.instances}"
        for head in found.tasks
        if head.data
    )
    return f"pmbench {version('pmbench')}; {data}"


def left_out(found: SeveralTasks) -> list[str]:
    """A line for each run that is in no table."""
    return [f"not in a table: {left.where}: {left.reason}" for left in found.left_out]


def render_markdown(found: SeveralTasks) -> str:
    """A page for GitHub."""
    return "\n".join(_markdown(found)) + "\n"


def _markdown(found: SeveralTasks) -> Iterator[str]:
    yield f"# Leaderboard: {TITLE}"
    yield ""
    yield f"Tasks: {', '.join(code(head.task) for head in found.tasks)}."
    yield ""
    if found.demo:
        yield f"**{DEMO}**"
        yield ""
    heads = headings(found)
    yield row(["#", "System", "Strategy", *map(escape, heads)])
    yield row([RIGHT, LEFT, LEFT, *[RIGHT] * len(heads)])
    for one in found.rows:
        numbers = [
            "<br>".join(filter(None, [number_cell(text), interval_cell(small)]))
            for text, small in cells(found, one)
        ]
        yield row([str(one.number), code(one.model), code(one.strategy), *numbers])
    if found.notes:
        yield ""
        yield from (f"- {escape(note)}" for note in found.notes)
    yield from ("", f"## {OVER_TASKS}", "")
    yield from (f"- {escape(line)}" for line in found.over_tasks.words)
    yield from ("", "## How to read it", "")
    yield from (f"- {escape(line)}" for line in reading(found))
    if found.left_out:
        yield from ("", "## Not in a table", "")
        yield from (f"- {code(one.where)}: {escape(one.reason)}" for one in found.left_out)
    yield from ("", f"Made by {escape(foot(found))}.")


def render_csv(found: SeveralTasks) -> str:
    """A line for each system, in full precision."""
    lines = []
    for one in found.rows:
        line: dict[str, str | float | int | None] = {
            "row": one.number,
            "system": one.model,
            "strategy": one.strategy,
            "mean_win_rate": one.win_rate,
            "mean_win_rate_low": one.win_low,
            "mean_win_rate_high": one.win_high,
            "mean_rank": one.rank,
            "mean_rank_low": one.rank_low,
            "mean_rank_high": one.rank_high,
            "tasks": one.tasks,
        }
        for head in found.tasks:
            measure = one.measures.get(head.task)
            name = f"{head.task}:{head.metric}"
            line |= {
                name: measure.value if measure else None,
                f"{name}_low": measure.low if measure else None,
                f"{name}_high": measure.high if measure else None,
            }
        lines.append(line)
    text = io.StringIO()
    writer = csv.DictWriter(text, list(lines[0]) if lines else list(_CSV), lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: guarded(value) for name, value in line.items()} for line in lines)
    return text.getvalue()


def render_json(found: SeveralTasks) -> str:
    """Everything, in full precision; numbers that are undefined are null."""
    document = {"schema": SCHEMA, "made_by": f"pmbench {version('pmbench')}", **msgspec.structs.asdict(found)}
    return json_text(document)


def render_latex(found: SeveralTasks) -> str:
    """A table environment with booktabs."""
    heads = headings(found)
    level = f"{100 * found.statistics.level:g}%"
    demo = " Demo data, made up." if found.demo else ""
    lines = [
        latex.NEEDS,
        *latex.MACROS,
        "",
        *latex.beginning(3 + len(heads)),
        rf"\caption{{{tex(f'Systems over several tasks; {level} intervals in brackets.{demo}')}}}",
        r"\label{tab:several-tasks}",
        r"\pmbenchfit{%",
        rf"\begin{{tabular}}{{rll{'r' * len(heads)}}}",
        r"\toprule",
        " & ".join(["", "System", "Strategy", *(latex.head(head, "r") for head in heads)]) + r" \\",
        r"\midrule",
    ]
    for one in found.rows:
        names = latex.words_cell(one.model, *latex.SYSTEM), latex.words_cell(one.strategy, *latex.STRATEGY)
        numbers = [latex.cell(latex.number(text), small, "r") for text, small in cells(found, one)]
        lines.append(" & ".join([str(one.number), *names, *numbers]) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}}"]
    lines += [rf"\par\smallskip {tex(note)}" for note in (*found.notes, *found.over_tasks.words)]
    lines += [rf"\par\smallskip {{\footnotesize {tex(foot(found))}}}", r"\end{table}"]
    return "\n".join(lines) + "\n"


def _html(found: SeveralTasks) -> str:
    from pmbench.leaderboard.html_page import render_several

    return render_several(found)


SEVERAL: dict[str, SeveralFormat] = {
    "md": SeveralFormat("# Leaderboard: ", render_markdown),
    "csv": SeveralFormat(f"{','.join(_CSV)}", render_csv),
    "json": SeveralFormat('{\n "schema": ', render_json),
    "html": SeveralFormat(HTML_BEGINNING, _html),
    "latex": SeveralFormat(latex.BEGINNING, render_latex),
}
