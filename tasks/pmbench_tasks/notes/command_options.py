"""What `pmbench checklist build`, `update`, `baseline` and `evaluate` have in common: options, and what they mean."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from pmbench import ConfigError, Sensitivity

if TYPE_CHECKING:
    from pmbench_tasks.notes.pipeline.feedback import FeedbackFile

DEMO = "demo"
"""What stands for the invented data that come with the package."""

Command = Callable[..., Any]


class Finite(click.FloatRange):
    """A number between two ends that is one: `nan` is below nothing and above nothing, and passes any range."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number.

        Raises:
            click.BadParameter: it is none, is not finite, or is out of the range.
        """
        found: float = super().convert(value, param, ctx)
        if not math.isfinite(found):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return found


RESAMPLES = click.IntRange(100, 100_000)
"""Of a bootstrap: fewer have no 2.5th percentile to speak of, more say nothing more and take hours."""

_WHOLE = ("whole", "whole_note", "full")


def with_options(command: Command, *options: Callable[[Command], Command]) -> Command:
    """The command with options, which its help shows in this order."""
    for option in reversed(options):
        command = option(command)
    return command


def asks_models(model: str, embedder: str) -> Sequence[Callable[[Command], Command]]:
    """Who is asked; the arguments say what the model and the embedder are for."""
    return (
        click.option("-m", "--model", required=True, help=model),
        click.option("-j", "--judge", help="Answers questions about notes. Default: the model."),
        click.option("--embedder", default="embedded", show_default=True, help=embedder),
    )


FEEDBACK_FORM = (
    click.option(
        "-c",
        "--columns",
        multiple=True,
        metavar="NAME=COLUMN",
        help="Which column of the feedback is which: feedback, id, stars, section, visit. Repeatable.",
    ),
    click.option("--encoding", default="", help="Of feedback that is not UTF-8, such as windows-1252."),
)
"""How a file of feedback is to be read."""

SEED = click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of all draws.")

WORKING = (
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
        "--max-cost",
        type=Finite(0, min_open=True),
        metavar="DOLLARS",
        help="Stop before this command costs more.",
    ),
    click.option("--dry-run", is_flag=True, help="Say what would be asked of whom, and ask nothing."),
    click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors."),
)
"""Where answers are kept, where text may go, and what it may cost."""


def refuse_idle(options: Sequence[str], without: str) -> None:
    """Refuse options that somebody gave and that nothing is done with.

    Args:
        options: of the command that is under way, as Python calls them.
        without: the option without which they have no effect, as in `--notes`.

    Raises:
        ConfigError: one of them was given.
    """
    command = click.get_current_context()
    for name in options:
        source = command.get_parameter_source(name)
        if source not in (None, ParameterSource.DEFAULT, ParameterSource.DEFAULT_MAP):
            raise ConfigError(
                f"has no effect without {without}",
                where=f"--{name.replace('_', '-')}",
                remedy=f"Give {without}, too, or leave it out",
            )


def borrowing(asked: Mapping[str, Any], given: Sequence[str]) -> dict[str, Any]:
    """What `pmbench.open_models` is told by these options.

    Args:
        asked: the command's options.
        given: the names of those that name data: where all of them are the demo's, the data are public.
    """
    return {
        "runs": asked["runs"],
        "sensitivity": _sensitivity(asked, given),
        "allow_remote": asked["allow_remote"],
        "concurrency": asked["concurrency"],
        "max_requests": asked["max_requests"],
        "max_cost": asked["max_cost"],
        "quiet": asked["quiet"],
        "dry_run": asked["dry_run"],
    }


def _sensitivity(asked: Mapping[str, Any], given: Sequence[str]) -> Sensitivity:
    """As given; without, phi, unless everything is the demo's."""
    if asked["sensitivity"]:
        said: Sensitivity = asked["sensitivity"]
        return said
    return "public" if all(asked.get(name) in (None, DEMO) for name in given) else "phi"


def section_named(name: str) -> str:
    """The section that `--section` names; `""` for the whole note.

    Raises:
        UnknownName: there is no such section.
    """
    from pmbench_tasks.notes.sections import known_section

    return "" if name.strip().casefold() in _WHOLE else known_section(name)


@contextlib.contextmanager
def to_be_gone_on_with() -> Iterator[None]:
    """Ctrl-C within ends the command with status 130, as everywhere, and says how to go on."""
    try:
        yield
    except KeyboardInterrupt:
        go_on = (
            "To go on, give the same command again: what was answered is kept, and is not asked for again."
        )
        click.echo(f"Interrupted. {go_on}", err=True)
        raise click.exceptions.Exit(130) from None


@contextlib.contextmanager
def file_given(name: str, demo: str) -> Iterator[Path]:
    """The file that an option names: a path, or the file of the demo that stands for it."""
    if name != DEMO:
        yield Path(name)
        return
    with as_file(files("pmbench_tasks.notes") / "demo" / demo) as path:
        yield path


def feedback_given(asked: Mapping[str, Any], limit: int | None) -> FeedbackFile:
    """The feedback that `--feedback` names, at most so many items of it.

    Raises:
        DataError: it cannot be read.
        ConfigError: `--columns` is not of its form, or the demo is to be read in another way than it is written.
    """
    import msgspec

    from pmbench_tasks.notes.pipeline.feedback import read_feedback

    for option in ("columns", "encoding"):
        if asked["feedback"] == DEMO and asked[option]:
            raise ConfigError(
                "how the demo is to be read is known", where=f"--{option}", remedy="Leave it out"
            )
    columns: dict[str, str] = {}
    for pair in asked["columns"]:
        name, sign, column = pair.partition("=")
        if not sign:
            raise ConfigError(f"{pair!r} is not of the form name=column", where="--columns")
        if name.strip() in columns:
            raise ConfigError(f"{name.strip()!r} stands twice", where="--columns", remedy="Name one column")
        columns[name.strip()] = column.strip()
    with file_given(asked["feedback"], "feedback.csv") as path:
        found = read_feedback(path, columns=columns, encoding=asked["encoding"])
    items = found.items[:limit]
    unrated = sum(item.stars is None for item in items)
    return msgspec.structs.replace(found, items=items, unrated=unrated, shown=str(asked["feedback"]))


__all__ = [
    "DEMO",
    "FEEDBACK_FORM",
    "RESAMPLES",
    "SEED",
    "WORKING",
    "Command",
    "Finite",
    "asks_models",
    "borrowing",
    "feedback_given",
    "file_given",
    "refuse_idle",
    "section_named",
    "to_be_gone_on_with",
    "with_options",
]
