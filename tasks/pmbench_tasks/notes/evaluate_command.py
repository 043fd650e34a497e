"""`pmbench checklist evaluate`: is a checklist any good, and which of several is better?"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pmbench import ConfigError, Sensitivity
from pmbench_tasks.notes.sections import HEADERS

if TYPE_CHECKING:
    from pmbench_tasks.notes.checklist import Checklist
    from pmbench_tasks.notes.evaluation.reading_given import Inputs

Options = Callable[..., Any]

DEMO = "demo"


def _given(command: Options) -> Options:
    """The options that say what checklists are evaluated on."""
    options = (
        click.option(
            "--feedback", help="A file of feedback, or demo: coverage, diversity, prediction of stars."
        ),
        click.option(
            "-c",
            "--columns",
            multiple=True,
            metavar="NAME=COLUMN",
            help="Which column of the feedback is which: feedback, id, stars, section, visit. Repeatable.",
        ),
        click.option("--encoding", default="", help="Of feedback that is not UTF-8, such as windows-1252."),
        click.option("--feedback-limit", type=click.IntRange(1), help="Only the first N feedback items."),
        click.option("--notes", help="demo, ACI-bench, or a file with transcripts, notes and drafts."),
        click.option("-n", "--limit", type=click.IntRange(1), help="Only the notes of the first N visits."),
        click.option(
            "--headers",
            type=click.Choice(HEADERS),
            default="aci-bench",
            show_default=True,
            help="The published list of headers by which notes are divided.",
        ),
        click.option("--preferences", help="A file of preferred notes, or demo."),
        click.option("--labels", help="A file of people's answers to questions, or demo."),
        click.option(
            "--section",
            default="",
            help="The section that is judged, or whole. Default: what the checklists are about.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def _asking(command: Options) -> Options:
    """The options that say who is asked and how much."""
    options = (
        click.option("-m", "--model", required=True, help="Assigns feedback and rewrites notes."),
        click.option("-j", "--judge", help="Answers questions about notes. Default: the model."),
        click.option("--embedder", default="embedded", show_default=True, help="For distances of feedback."),
        click.option(
            "--ask",
            type=click.Choice(["item", "batch"]),
            default="item",
            show_default=True,
            help="A request for each question about a note, or one for all of them.",
        ),
        click.option(
            "--perturbations",
            default="rule",
            show_default=True,
            help="rule, model, all, none, or names with commas between.",
        ),
        click.option(
            "--tests",
            type=click.IntRange(0),
            default=10,
            show_default=True,
            help="Reference notes that each question is tested on; 0: no unit tests.",
        ),
        click.option(
            "--again",
            type=click.IntRange(0, 20),
            default=0,
            show_default=True,
            help="How often more the judge is asked about the reference notes.",
        ),
        click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of all draws."),
        click.option(
            "--resamples", type=click.IntRange(1), default=2000, show_default=True, help="Of each bootstrap."
        ),
        click.option(
            "--splits",
            type=click.IntRange(2),
            default=20,
            show_default=True,
            help="Of the feedback, for the prediction of stars.",
        ),
        click.option(
            "--out",
            type=click.Path(path_type=Path),
            required=True,
            help="The folder of the table, the numbers and the figures.",
        ),
        click.option("--runs", help="The runs folder. Default: PMBENCH_RUNS, or runs."),
        click.option(
            "--sensitivity",
            type=click.Choice(["public", "deidentified", "phi"]),
            help="Of feedback and notes. Default: phi; of the demo, public.",
        ),
        click.option("--allow-remote", is_flag=True, help="Let deidentified data be sent to a remote model."),
        click.option("--concurrency", type=int, metavar="N", help="Most requests in flight."),
        click.option(
            "--max-requests", type=int, metavar="N", help="Stop after so many requests of this command."
        ),
        click.option(
            "--max-cost", type=float, metavar="DOLLARS", help="Stop before this command costs more."
        ),
        click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors."),
    )
    for option in reversed(options):
        command = option(command)
    return command


@click.command("evaluate")
@click.argument("checklists", nargs=-1, required=True, metavar="CHECKLIST...")
@_given
@_asking
def evaluate(checklists: tuple[str, ...], **asked: Any) -> int:
    """Measure checklists side by side, on feedback, notes, preferences and people's answers.

    CHECKLIST is a file, or assessment-and-plan or baseline, which come with pmbench. What is not given is not
    measured, and the table says so. The same command again asks the models nothing that they have answered.
    """
    from pmbench_tasks.notes.evaluation.reading_given import read_checklists, read_inputs

    found = read_checklists(checklists, asked["section"])
    inputs = read_inputs(found[0].section, asked)
    _check_options(asked, inputs)
    return _carry_out(found, inputs, asked)


def _carry_out(checklists: list[Checklist], inputs: Inputs, asked: dict[str, Any]) -> int:
    from pmbench import open_models
    from pmbench_tasks.notes.evaluation.evaluate import compare
    from pmbench_tasks.notes.evaluation.leaving import table_of, write
    from pmbench_tasks.notes.evaluation.measuring import asked_of, measure
    from pmbench_tasks.notes.pipeline.leaves import Leaves

    names = {"model": asked["model"]}
    if inputs.notes is not None:
        names["judge"] = asked["judge"] or asked["model"]
    leaves = Leaves(asked["out"])

    async def carry_out() -> tuple[Any, Any, Any]:
        async with open_models(
            names,
            runs=asked["runs"],
            sensitivity=_sensitivity(asked),
            allow_remote=asked["allow_remote"],
            embedder=asked["embedder"] if inputs.feedback is not None else None,
            seed=0,
            concurrency=asked["concurrency"],
            max_requests=asked["max_requests"],
            max_cost=asked["max_cost"],
            quiet=asked["quiet"],
        ) as borrowed:
            for line in borrowed.remote:
                borrowed.progress.note(line)
            judge = borrowed["judge"] if "judge" in names else None
            gathered, filtered, made = await measure(
                checklists,
                inputs,
                borrowed["model"],
                judge,
                borrowed.embedder,
                borrowed.progress,
            )
            about = asked_of(checklists, inputs, borrowed.identities, filtered, made)
            return gathered, about, borrowed.spent

    gathered, about, spent = asyncio.run(carry_out())
    comparison = compare(
        [one.material for one in gathered],
        resamples=asked["resamples"],
        splits=asked["splits"],
        seed=asked["seed"],
    )
    remarks = write(leaves, comparison, gathered, about)
    if not asked["quiet"]:
        click.echo(table_of(comparison, gathered, about))
        for line in remarks:
            click.echo(line)
        click.echo(f"requests made now: {spent.requests}; answers from the store: {spent.stored}")
        click.echo(f"written: table.md, evaluation.json, figures and all answers in {leaves.folder}")
    return 0


def _check_options(asked: dict[str, Any], inputs: Inputs) -> None:
    """What cannot be done, before anything is asked."""
    if inputs.feedback is None and inputs.notes is None:
        raise ConfigError(
            "there is nothing to measure checklists on", remedy="Give --feedback, or --notes, or both"
        )
    if inputs.notes is None:
        for option, what in (
            ("judge", "a judge answers questions about notes"),
            ("preferences", "preferences are about notes"),
            ("labels", "labels are about notes"),
        ):
            if asked[option]:
                raise ConfigError(
                    f"{what}, and there are none", where=f"--{option}", remedy="Give the notes, too (--notes)"
                )
    if inputs.feedback is not None and inputs.rated:
        from pmbench_tasks.notes.evaluation.predictive import require_sklearn

        require_sklearn()


def _sensitivity(asked: dict[str, Any]) -> Sensitivity:
    """As given; without, phi, unless everything is the demo's."""
    if asked["sensitivity"]:
        given: Sensitivity = asked["sensitivity"]
        return given
    files = (asked[name] for name in ("feedback", "notes", "preferences", "labels"))
    return "public" if all(one in (None, DEMO) for one in files) else "phi"


__all__ = ["evaluate"]
