"""The command `pmbench`: its commands are imported only when called, a plugin's commands too."""

from __future__ import annotations

import errno
import importlib
import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

import pmbench

COMMANDS = {
    "run": ("pmbench.cli.run:run", "Run a task with a model; the same command again resumes."),
    "score": ("pmbench.cli.score:score", "Score responses that were made elsewhere."),
    "tasks": ("pmbench.cli.tasks:tasks", "List the tasks, or show the card of one."),
    "models": ("pmbench.cli.models:models", "List the presets and whether each can run here."),
    "fetch": ("pmbench.cli.fetch:fetch", "Bring a preset's files into the model cache."),
    "runs": ("pmbench.cli.runs:runs", "List the runs in the runs folder."),
    "show": ("pmbench.cli.show:show", "Show one run, or one instance of it."),
    "labels": ("pmbench.cli.labels:labels", "Write a form for people to label a run's responses."),
    "leaderboard": ("pmbench.cli.leaderboard:leaderboard", "Set the runs of a task side by side."),
    "export": ("pmbench.cli.export:export", "Write a run in a file format of its task."),
    "report": ("pmbench.cli.report:report", "Write a run as one page of HTML."),
    "compare": ("pmbench.cli.compare:compare", "Compare two runs, instance by instance."),
    "power": ("pmbench.cli.power:power", "Say what differences a run's data can show."),
}
"""Module and function of each command, and what the overview says of it."""


class LazyGroup(click.Group):
    """A group whose commands are imported when they are called, not when they are listed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Own commands in their order, then those of plugins."""
        return [*COMMANDS, *(name for name in _plugins() if name not in COMMANDS)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command."""
        if cmd_name in COMMANDS:
            module, _, attribute = COMMANDS[cmd_name][0].partition(":")
            command: click.Command = getattr(importlib.import_module(module), attribute)
            return command
        if cmd_name not in _plugins():
            return None
        from pmbench.core import registry

        found = registry.load(registry.COMMANDS, "command", cmd_name)
        if not isinstance(found, click.Command):
            raise registry.PluginError(
                f"the entry point {cmd_name!r} of pmbench.commands is not a click command"
            )
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The overview, from the table above: no command is imported for it."""
        plugins = {
            name: f"(from {point.dist.name if point.dist else 'a plugin'})"
            for name, point in _plugins().items()
        }
        rows = [(name, text) for name, (_, text) in COMMANDS.items()]
        rows += [(name, text) for name, text in plugins.items() if name not in COMMANDS]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, with the nearest names for an unknown one."""
        name = args[0] if args else ""
        known = self.list_commands(ctx)
        if name and not name.startswith("-") and name not in known:
            from pmbench.core.errors import UnknownName

            raise UnknownName("command", name, known, remedy="See: pmbench --help")
        return super().resolve_command(ctx, args)


@click.group(
    cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(pmbench.__version__, prog_name="pmbench")
def group() -> None:
    """Benchmark language models on patient messages and clinical notes."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit: 0 done, 1 incomplete, 2 the user's error, 130 interrupted."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal or pipe that is not UTF-8 gets a question mark for what it cannot show.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    # Resamples are many small products of matrices: threads of one wait for each other longer than they work.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.exit(run(list(sys.argv[1:] if arguments is None else arguments)))


def run(arguments: Sequence[str]) -> int:
    """Run the command line and return the exit status."""
    try:
        outcome: Any = group.main(args=list(arguments), prog_name="pmbench", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except SystemExit as stop:
        # Of click or rich, where the reader of the output has gone; of a plugin's command.
        return stop.code if isinstance(stop.code, int) else int(bool(stop.code))
    except click.ClickException as error:
        return _complain(error)
    except (click.Abort, KeyboardInterrupt):
        click.echo("Interrupted.", err=True)
        return 130
    except Exception as error:  # noqa: BLE001 - the last line of defence: a user never sees a traceback
        return _report(error)
    return outcome if isinstance(outcome, int) else 0


def _plugins() -> dict[str, Any]:
    from pmbench.core.plugins import names

    return names("pmbench.commands")


def _complain(error: click.ClickException) -> int:
    from pmbench.cli.columns import printable

    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        click.echo(error.format_message(), err=True)
        return 2
    usage = getattr(error, "ctx", None)
    see = f" See: {usage.command_path} --help" if usage is not None else ""
    click.echo(f"Error: {printable(' '.join(error.format_message().split()))}{see}", err=True)
    return 2


def _report(error: Exception) -> int:
    import traceback

    from pmbench.cli.columns import printable
    from pmbench.core.errors import UserError

    if isinstance(error, UserError):
        # It may name what stands in a file or was typed: no escape of that is sent to a terminal.
        click.echo(f"Error: {printable(str(error))}", err=True)
        return error.exit_status
    if isinstance(error, BrokenPipeError):
        # The reader of our output has gone (`pmbench runs | head`): nothing is wrong.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    known = _of_the_machine(error)
    if known:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        click.echo(f"Error: {known}", err=True)
        return 2
    if os.environ.get("PMBENCH_DEBUG"):
        traceback.print_exception(error)
        return 70
    last = traceback.extract_tb(error.__traceback__)[-1:]
    place = f" at {Path(last[0].filename).name}:{last[0].lineno}" if last else ""
    # The message is left out on purpose: it may quote a dataset.
    click.echo(
        f"Error: a fault in pmbench itself ({type(error).__name__}{place}). What was answered so far is "
        "kept. Set PMBENCH_DEBUG=1 to see the traceback, and please report it.",
        err=True,
    )
    return 70


def _of_the_machine(error: Exception) -> str:
    """What the machine refuses, in one line; empty for anything else."""
    if isinstance(error, MemoryError):
        return "there is not enough memory for this. Give fewer or shorter rows, or use a larger machine"
    refused = (errno.ENOSPC, errno.EIO, errno.EBADF)
    if isinstance(error, OSError) and error.filename is None and error.errno in refused:
        return f"the output cannot be written ({error.strerror}). What was answered so far is kept"
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        name = Path(str(error.filename)).name
        return f"a name of {len(name)} characters is longer than files can have here. Give a shorter one"
    return ""
