"""The card of a task: what its author wrote, and what the program knows of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

import msgspec

from pmbench.core.registry import resource
from pmbench.core.task import Task


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
    for role, part in task.judges.items():
        yield f"- judge `{role}` (default `{part.default}`): {part.help}"
    for option in _options(task):
        yield f"- option {option}"
    yield ""
    yield "| metric | formula | better |"
    yield "|---|---|---|"
    better = {True: "higher", False: "lower", None: "–"}
    for metric in task.metrics:
        yield f"| `{metric.name}` | {metric.formula} | {better[metric.higher_is_better]} |"
    if spec.example:
        yield from ("", "Format:", "", "```", spec.example.strip(), "```")
    if task.citation:
        yield from ("", f"Source: {task.citation}")


def _options(task: type[Task]) -> Iterator[str]:
    for field in msgspec.structs.fields(task.options):
        choices = get_args(field.type)
        kind = "|".join(map(str, choices)) if choices else getattr(field.type, "__name__", str(field.type))
        default: Any = field.default
        yield f"`-o {field.encode_name}={kind}` (default `{default}`)"
