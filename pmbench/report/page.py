"""The page: a template, a style sheet and a script of this folder, put together into one file that asks for nothing.

The page's own policy lets through that one style sheet and that one script, by their digests, and nothing else: no
request, no script of a text that is shown, no style of its own.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

import pmbench
from pmbench.core.errors import StorageError
from pmbench.core.view import SIGNS
from pmbench.leaderboard.wording import counted
from pmbench.pages import strict
from pmbench.pages.figures import MISSING
from pmbench.report import heading, numbers, plots
from pmbench.report.entries import STATES, Entry, listed
from pmbench.running.variation_told import variation_lines

if TYPE_CHECKING:
    from jinja2 import Template

    from pmbench.core.metric import Metric
    from pmbench.core.task import Task
    from pmbench.running.reading import StoredRun
    from pmbench.running.results import Results

_FOLDER = "page"


def page_of(run: StoredRun, *, texts: bool = True) -> str:
    """A run as one HTML document.

    Args:
        run: scored at least in part.
        texts: whether texts of data and answers stand in it; else ids, subgroup labels and numbers alone.

    Raises:
        StorageError: the run has no scores yet, or its files cannot be read.
        UnknownName, PluginError: the task is not installed.
    """
    results = run.results
    if results is None:
        raise StorageError(
            "the run is not scored yet", where=str(run.folder.path), remedy="Give the run's command again"
        )
    task = run.task()
    found = listed(run, task, texts=texts)
    made = found.entries
    chosen = _chosen(made)
    style = strict.style(strict.text_of(str(__package__), _FOLDER, "report.css"))
    script = strict.text_of(str(__package__), _FOLDER, "report.js")
    return _template().render(
        style=Markup(style),  # noqa: S704 - files of this package
        script=Markup(script),  # noqa: S704
        policy=strict.policy(style, script),
        texts=texts,
        run=run,
        task=task,
        facts=heading.facts(run, results, texts=texts),
        cautions=list(heading.cautions(run, task, results)),
        lead=_lead(task.metrics, results),
        meaning=_meaning(task),
        entries=made,
        remark=found.remark,
        states=_states(made),
        words=STATES,
        chosen=chosen,
        places=_places(chosen),
        version=pmbench.__version__,
        signed=any(block.signed for entry in made for block in entry.blocks),
        signs=[(sign, mark) for mark, sign in SIGNS.items() if mark],
        **_tables(task, results, found.values),
    )


def _tables(task: Task, results: Results, values: Sequence[float]) -> dict[str, Any]:
    primary = task.metrics[0]
    whole = results.metrics.get(primary.name)
    rows = numbers.slice_rows(task.metrics, results)
    return {
        "results": results,
        "primary": primary,
        "variation": list(variation_lines(primary, results.variation)),
        "rows": numbers.metric_rows(task.metrics, results),
        "grids": numbers.grids(task.metrics, results),
        "slices": rows,
        "by_cluster": primary.scheme == "cluster",
        "clustered": any(row.clusters != row.instances - row.lost for row in rows),
        "lossy": any(row.lost for row in rows),
        "slice_headlines": numbers.slice_headlines(task.metrics, results),
        "counts": list(numbers.count_rows(results.counts)),
        "usage": numbers.usage_columns(results.usage),
        "spread": plots.spread(primary, values, whole.value if whole is not None else None),
        "values": len(values),
        "no_plots": MISSING,
    }


def _lead(metrics: Sequence[Metric], results: Results) -> str:
    """The result in a sentence."""
    primary = metrics[0]
    found = results.metrics.get(primary.name)
    counts = results.counts
    of = f"{counts.scored:,} of {counted(counts.samples, 'response')} scored"
    if found is None or found.value is None:
        return f"{primary.title} has no value; {of}."
    ends = numbers.ends(primary, found)
    level = f"{100 * results.statistics.level:g}%"
    interval = f" ({level} interval {ends})" if ends else " (no interval)"
    better = {True: ", more is better", False: ", less is better", None: ""}[primary.higher_is_better]
    return f"{primary.title}: {primary.shown(found.value)}{interval}{better}; {of}."


def _meaning(task: Task) -> str:
    """What the primary metric is made of: its formula, and what its statistics count where the task says it."""
    primary = task.metrics[0]
    words = [f"{name}: {task.stat_words[name]}" for name in primary.stat_names if name in task.stat_words]
    return "; ".join([f"{primary.title}: {primary.formula}", *words]) + "."


def _states(made: Sequence[Entry]) -> list[tuple[str, str, int]]:
    """States that there are: key, words, how many."""
    found = Counter(state for entry in made for state in entry.states)
    return [(state, words, found[state]) for state, words in STATES.items() if found[state]]


def _chosen(made: Sequence[Entry]) -> Mapping[str, Mapping[str, int]]:
    """Slices with their labels and how many responses have each, in the order of the alphabet."""
    found: dict[str, Counter[str]] = {}
    for entry in made:
        for name, label in entry.slices.items():
            found.setdefault(name, Counter())[label] += 1
    return {name: dict(sorted(labels.items())) for name, labels in found.items()}


def _places(chosen: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, str]]:
    """By slice and label what a filter knows it by: a label may be any text, and a list of words may not."""
    return {
        name: {label: f"{number}.{place}" for place, label in enumerate(labels)}
        for number, (name, labels) in enumerate(chosen.items())
    }


@cache
def _template() -> Template:
    environment = strict.environment(str(__package__), _FOLDER)
    environment.tests["nan"] = math.isnan
    return environment.get_template("report.html.jinja")
