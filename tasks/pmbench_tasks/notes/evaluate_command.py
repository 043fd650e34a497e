"""`pmbench checklist evaluate`: is a checklist any good, and which of several is better?"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pmbench import ConfigError
from pmbench_tasks.notes.command_options import (
    FEEDBACK_FORM,
    RESAMPLES,
    SEED,
    WORKING,
    Command,
    asks_models,
    borrowing,
    refuse_idle,
    to_be_gone_on_with,
    with_options,
)
from pmbench_tasks.notes.sections import HEADERS

if TYPE_CHECKING:
    from pmbench_tasks.notes.checklist import Checklist
    from pmbench_tasks.notes.evaluation.lacking import Silence
    from pmbench_tasks.notes.evaluation.reading_given import Inputs


def _given(command: Command) -> Command:
    """The options that say what checklists are evaluated on."""
    return with_options(
        command,
        click.option(
            "--feedback", help="A file of feedback, or demo: coverage, diversity, prediction of stars."
        ),
        *FEEDBACK_FORM,
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


def _asking(command: Command) -> Command:
    """The options that say who is asked and how much."""
    return with_options(
        command,
        *asks_models("Assigns feedback and rewrites notes.", "For distances of feedback."),
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
        SEED,
        click.option(
            "--resamples", type=RESAMPLES, default=2000, show_default=True, help="Of each bootstrap."
        ),
        click.option(
            "--splits",
            type=click.IntRange(2, 1000),
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
        *WORKING,
    )


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

    _check_options(asked)
    found = read_checklists(checklists, asked["section"])
    questions = [item.id for one in found for item in one.items]
    inputs = read_inputs(found[0].section, asked, questions)
    if inputs.feedback is not None and inputs.rated:
        from pmbench_tasks.notes.evaluation.predictive import require_sklearn

        require_sklearn()
    return _carry_out(found, inputs, asked)


def _carry_out(checklists: list[Checklist], inputs: Inputs, asked: dict[str, Any]) -> int:
    from pmbench_tasks.notes.evaluation.lacking import refuse_silence
    from pmbench_tasks.notes.evaluation.leaving import FOLDER
    from pmbench_tasks.notes.pipeline.claims import check_folder

    check_folder(asked["out"], FOLDER, "--out")
    if asked["dry_run"]:
        asyncio.run(_dry_run(checklists, inputs, asked))
        return 0
    with contextlib.ExitStack() as locked:
        told, silences = _evaluated(checklists, inputs, asked, locked)
    if not asked["quiet"]:
        for line in told:
            click.echo(line)
        click.echo(f"written: table.md, evaluation.json, figures and all answers in {asked['out']}")
    refuse_silence(silences, asked["out"])
    return 0


def _evaluated(
    checklists: list[Checklist], inputs: Inputs, asked: dict[str, Any], locked: contextlib.ExitStack
) -> tuple[list[str], Sequence[Silence]]:
    """Measure, and write what came of it; the table and what else is to be said, and what nobody answered."""
    from pmbench_tasks.notes.evaluation.evaluate import compare
    from pmbench_tasks.notes.evaluation.leaving import FOLDER, table_of, write
    from pmbench_tasks.notes.evaluation.measuring import asked_of, measure
    from pmbench_tasks.notes.pipeline.leaves import Leaves

    async def carry_out() -> tuple[Any, Any, Any, Any]:
        async with _models(inputs, asked) as borrowed:
            # Made when it is known that the data may go where they would be sent, and before they do.
            leaves = Leaves(asked["out"], FOLDER)
            locked.enter_context(leaves.locked("--out"))
            columns = inputs.feedback.columns_told if inputs.feedback is not None else ()
            for line in (*borrowed.remote, *columns):
                borrowed.progress.note(line)
            judge = borrowed["judge"] if inputs.notes is not None else None
            gathered, filtered, made = await measure(
                checklists,
                inputs,
                borrowed["model"],
                judge,
                borrowed.embedder,
                borrowed.progress,
            )
            about = asked_of(checklists, inputs, borrowed.identities, gathered, filtered, made)
            return leaves, gathered, about, borrowed.spent

    with to_be_gone_on_with():
        leaves, gathered, about, spent = asyncio.run(carry_out())
    comparison = compare(
        [one.material for one in gathered],
        resamples=asked["resamples"],
        splits=asked["splits"],
        seed=asked["seed"],
    )
    remarks = write(leaves, comparison, gathered, about)
    made_now = f"requests made now: {spent.requests}; answers from the store: {spent.stored}"
    return [table_of(comparison, gathered, about), *remarks, made_now], about.silences


async def _dry_run(checklists: list[Checklist], inputs: Inputs, asked: dict[str, Any]) -> None:
    """Say what was read, who would be asked and how often; nothing is written, nobody is asked."""
    from pmbench_tasks.notes.dry_run import feedback_told, lines_of, notes_told
    from pmbench_tasks.notes.pipeline.records import counted
    from pmbench_tasks.notes.stage_requests import of_evaluation

    read = [f"{one.name}: {counted(len(one.items), 'question')}" for one in checklists]
    if inputs.feedback is not None:
        given = inputs.feedback
        read.append(feedback_told(given.shown, given.items, given.unrated, given.rows))
        read += given.columns_told
    if inputs.notes is not None:
        read.append(notes_told(asked["notes"], len(inputs.notes.testable()), inputs.section))
    read += [f"{what}: {len(found)}" for what, found in _beside(inputs).items() if found]
    read += inputs.passed_over
    async with _models(inputs, asked) as borrowed:
        click.echo("\n".join(lines_of(read, borrowed, list(of_evaluation(checklists, inputs)))))


def _beside(inputs: Inputs) -> dict[str, Sequence[Any]]:
    return {"preferences": inputs.pairs, "labelled notes": inputs.labelled}


def _models(inputs: Inputs, asked: dict[str, Any]) -> Any:
    from pmbench import open_models

    names = {"model": asked["model"]}
    if inputs.notes is not None:
        names["judge"] = asked["judge"] or asked["model"]
    embedder = asked["embedder"] if inputs.feedback is not None else None
    lent = borrowing(asked, ("feedback", "notes", "preferences", "labels"))
    return open_models(names, embedder=embedder, seed=0, **lent)


def _check_options(asked: dict[str, Any]) -> None:
    """What cannot be done, and what would be passed over, before anything is read."""
    if asked["feedback"] is None and asked["notes"] is None:
        raise ConfigError(
            "there is nothing to measure checklists on", remedy="Give --feedback, or --notes, or both"
        )
    if asked["feedback"] is None:
        refuse_idle(("columns", "encoding", "feedback_limit", "embedder", "splits"), "--feedback")
    if asked["notes"] is None:
        for option, what in (
            ("judge", "a judge answers questions about notes"),
            ("preferences", "preferences are about notes"),
            ("labels", "labels are about notes"),
        ):
            if asked[option]:
                raise ConfigError(
                    f"{what}, and there are none", where=f"--{option}", remedy="Give the notes, too (--notes)"
                )
        refuse_idle(("limit", "headers", "ask", "perturbations", "tests", "again"), "--notes")


__all__ = ["evaluate"]
