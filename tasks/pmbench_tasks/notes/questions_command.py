"""`pmbench checklist questions`: a run's answers question by question."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pmbench_tasks.notes.command_options import RESAMPLES
from pmbench_tasks.notes.plain_text import plain_line

if TYPE_CHECKING:
    from pmbench_tasks.notes.evaluation.intervals import Estimate
    from pmbench_tasks.notes.questions import Questions, Rate

_WORDS = 60
"""Characters of a question that are printed."""


@click.command("questions")
@click.argument("run")
@click.option("--runs", "folder", help="The runs folder. Default: PMBENCH_RUNS, or runs.")
@click.option("--scoring", default="", help="Of several checklists, that of the scoring that begins so.")
@click.option("--resamples", type=RESAMPLES, default=2_000, show_default=True, help="Of intervals.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of intervals.")
@click.option("--json", "as_json", is_flag=True, help="Print the numbers as JSON.")
def questions_command(
    run: str, folder: str | None, scoring: str, resamples: int, seed: int, as_json: bool
) -> None:
    """Each question of a scored RUN: share of yes with its interval, missing answers by reason, quotes.

    RUN is the folder of a run of notes-checklist or syppm-checklist, or the beginning of its digest. Where several
    judges have scored it, each is shown, and the mean over judges and questions. Where several checklists have, one
    of them is shown and the others are named: --scoring shows another.
    """
    import msgspec

    from pmbench_tasks.notes.questions import questions_of

    runs = Path(folder or os.environ.get("PMBENCH_RUNS") or "runs")
    found = questions_of(run, runs, scoring=scoring, resamples=resamples, seed=seed)
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(found), indent=2).decode())
        return
    for line in lines_of(found):
        click.echo(line)


def lines_of(found: Questions) -> Iterator[str]:
    """The table as text; ids, numbers and the checklist's own questions, nothing of the data."""
    yield f"{found.task}, checklist {plain_line(found.checklist)} ({found.digest[:12]}), {found.scale}"
    graded = found.scale in ("1-5", "0-5")
    for judge in found.judges:
        yield ""
        yield f"judge {judge}"
        for one in found.rates:
            if one.judge == judge:
                yield from _rate(one, graded=graded)
    if found.jury is not None and len(found.judges) > 1:
        yield ""
        yield f"mean over {len(found.judges)} judges and all questions: {_number(found.jury, graded=graded)}"
    for name in found.left_out:
        yield f"not shown, scored by another checklist (see --scoring): {name}"


def _rate(one: Rate, *, graded: bool) -> Iterator[str]:
    words = plain_line(one.question)
    shown = words if len(words) <= _WORDS else f"{words[: _WORDS - 1].rstrip()}…"
    yield f"  {plain_line(one.item)}  {_number(one.rate, graded=graded)}  of {one.answered}  {shown}"
    if one.missing:
        reasons = ", ".join(f"{why} {count}" for why, count in sorted(one.missing.items()))
        yield f"      missing {one.asked - one.answered} of {one.asked}: {reasons}"
    if one.found < one.quotes:
        yield f"      quotes that stand in neither text: {one.quotes - one.found} of {one.quotes}"


def _number(one: Estimate, *, graded: bool) -> str:
    def shown(value: float) -> str:
        return "–" if value != value else f"{value:.2f}" if graded else f"{100 * value:.1f}%"

    ends = "" if one.low != one.low else f" [{shown(one.low)}, {shown(one.high)}]"
    missing = (
        "" if one.least != one.least else f" ({shown(one.least)} to {shown(one.most)} with those missing)"
    )
    return f"{shown(one.value)}{ends}{missing}"
