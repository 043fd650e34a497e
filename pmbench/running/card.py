"""The card of a task: what its author wrote, and what the program knows of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, get_args

import msgspec

from pmbench.core.metric import Metric
from pmbench.core.options import Options, is_place, without_marks
from pmbench.core.registry import resource
from pmbench.core.task import Task

BAR = "\\|"
"""A bar inside a cell of a Markdown table."""


def card(task: type[Task]) -> str:
    """The card as Markdown: CARD.md, then columns, strategies, judges, metrics and options."""
    written = f"# {task.title}"
    if task.card:
        written = resource(task.card).read_text(encoding="utf-8").rstrip()
    return "\n".join([written, "", *_facts(task)])


def _facts(task: type[Task]) -> Iterator[str]:
    spec = task.dataset
    yield "## As the program has it"
    yield ""
    yield f"- `{task.name}`, version {task.version}, scoring version {task.scoring_version}"
    if spec.hub:
        yield f"- data: hub dataset `{spec.hub.id}`, revision `{spec.hub.revision}`, {spec.sensitivity}"
    if spec.private:
        yield f"- data: {spec.private}"
    if spec.demo:
        yield "- demo data: `--data demo`"
    yield "- columns: " + "; ".join(
        f"`{column.name}`{'' if column.required else ' (optional)'}: {column.help}" for column in spec.columns
    )
    if spec.slices:
        yield "- slices, where the data has such columns: " + ", ".join(f"`{name}`" for name in spec.slices)
    yield (
        "- strategies: " + ", ".join(f"`{name}`" for name in task.strategies) + " (the first is the default)"
    )
    yield from _choices(task)
    if task.exporters:
        formats = ", ".join(f"`{name}`" for name in task.exporters)
        yield f"- formats of `pmbench export`: {formats}"
    yield ""
    yield from _metrics(task)
    if spec.example:
        yield from ("", "Format:", "", "```", spec.example.strip(), "```")
    if task.citation:
        yield from ("", f"Source: {task.citation}")


def _choices(task: type[Task]) -> Iterator[str]:
    """What a user may choose: judges and options."""
    for role, part in task.judges.items():
        yield f"- judge `{role}` (default `{part.default}`): {part.help}"
        for option in _options(part.options):
            yield f"  - `--judge {role}=NAME?{option}"
    for option in _options(task.options):
        yield f"- option `-o {option}"


def _metrics(task: type[Task]) -> Iterator[str]:
    yield "| metric | formula | better |"
    yield "|---|---|---|"
    better = {True: "higher", False: "lower", None: "–"}
    for first, last, number in _runs_of(task.metrics):
        name = f"`{first.name}`" if number == 1 else f"`{first.name}` … `{last.name}` ({number})"
        yield f"| {name} | {first.formula.replace('|', BAR)} | {better[first.higher_is_better]} |"


def _runs_of(metrics: Sequence[Metric]) -> Iterator[tuple[Metric, Metric, int]]:
    """First, last and number of the metrics that follow each other in one group and are of one make."""
    for _, members in groupby(
        metrics, key=lambda one: (one.group or one.optional or one.name, type(one), one.reference == "")
    ):
        found = list(members)
        yield found[0], found[-1], len(found)


def _options(kind: type[Options]) -> Iterator[str]:
    """Each option as ``name=type` (default `value`)``, the first backtick left to the caller."""
    for field in msgspec.structs.fields(kind):
        bare = without_marks(field.type)
        choices = get_args(bare)
        of = "|".join(map(str, choices)) if choices else getattr(bare, "__name__", str(bare))
        if is_place(field.type):
            of = "PATH"
        default: Any = field.default
        shown = str(default).lower() if isinstance(default, bool) else default
        yield f"{field.encode_name}={of}` (default `{shown}`)"
