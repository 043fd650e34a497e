"""The options of `pmbench checklist build`, `update` and `baseline`, in the order of their help."""

from __future__ import annotations

from pathlib import Path

import click

from pmbench_tasks.notes.command_options import (
    FEEDBACK_FORM,
    SEED,
    WORKING,
    Command,
    Finite,
    asks_models,
    with_options,
)


def working(command: Command) -> Command:
    """The options that every command of the pipeline takes."""
    return with_options(
        command,
        *asks_models("Proposes, merges, tags, rewrites and assigns.", "Finds like questions."),
        click.option(
            "--notes",
            help="demo, ACI-bench, or a file with transcripts and notes: questions are tested on them.",
        ),
        click.option(
            "--out", type=click.Path(path_type=Path), required=True, help="The checklist's file (.json)."
        ),
        click.option(
            "--folder",
            type=click.Path(path_type=Path),
            help="Where each stage leaves its file. Default: beside --out, with its name and -stages.",
        ),
        click.option(
            "--threshold",
            type=Finite(-1, 1),
            default=0.85,
            show_default=True,
            help="Cosine of questions that are merged.",
        ),
        click.option(
            "--tests",
            type=click.IntRange(1),
            default=10,
            show_default=True,
            help="Reference notes that each question is tested on.",
        ),
        click.option(
            "--enforceability",
            type=Finite(0, 1),
            default=0.7,
            show_default=True,
            help="Share of failing notes that the judge must see; 0 drops no question.",
        ),
        SEED,
        *WORKING,
    )


def reading(command: Command) -> Command:
    """The options of commands that read feedback."""
    return with_options(
        command,
        click.option("--feedback", required=True, help="A file of feedback, or demo."),
        *FEEDBACK_FORM,
        click.option("-n", "--limit", type=click.IntRange(1), help="Only the first N feedback items."),
        click.option(
            "--batch",
            type=click.IntRange(1),
            default=100,
            show_default=True,
            help="Feedback items that one request shows.",
        ),
    )


def selecting(command: Command) -> Command:
    """The options of commands that select from what feedback covers."""
    return with_options(
        command,
        click.option(
            "--size", type=click.IntRange(1), help="So many questions. Default: what the objective wants."
        ),
        click.option(
            "--alpha",
            type=Finite(0, 1),
            default=0.5,
            show_default=True,
            help="Weight of coverage against diversity.",
        ),
        click.option(
            "--penalty", type=Finite(0, 1), default=0.0005, show_default=True, help="Of each question."
        ),
    )


SECTION = click.option(
    "--section",
    default="assessment_and_plan",
    show_default=True,
    help="The section that the checklist is about, or whole.",
)
"""The option of commands that make a checklist anew."""
