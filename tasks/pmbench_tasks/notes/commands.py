"""`pmbench checklist`: commands on checklists, each imported when it is called."""

from __future__ import annotations

import importlib

import click

COMMANDS = {
    "validate": (
        "pmbench_tasks.notes.validate_command:validate_command",
        "Check a checklist, whoever wrote it.",
    ),
    "questions": (
        "pmbench_tasks.notes.questions_command:questions_command",
        "How often each question of a run is answered with yes.",
    ),
    "build": ("pmbench_tasks.notes.pipeline.commands:build", "From clinicians' feedback to a checklist."),
    "update": (
        "pmbench_tasks.notes.pipeline.commands:update",
        "Propose questions for what new feedback a checklist does not cover.",
    ),
    "baseline": ("pmbench_tasks.notes.pipeline.commands:baseline", "Propose questions without any feedback."),
    "evaluate": (
        "pmbench_tasks.notes.evaluate_command:evaluate",
        "Measure checklists side by side, on feedback, notes and preferences.",
    ),
}
"""Module and function of each command, and what the overview says of it."""


class LazyCommands(click.Group):
    """A group whose commands are imported when they are called, not when they are listed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In their order."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command."""
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The overview, from the table above: no command is imported for it."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


@click.group(cls=LazyCommands)
def checklist() -> None:
    """Checklists for notes and replies: check them, build them from feedback, see how questions are answered."""
