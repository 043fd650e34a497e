"""`pmbench labels`: a form for people to label a random choice of a run's responses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from pmbench.core.errors import UserError


@click.command()
@click.argument("name", metavar="RUN")
@click.option(
    "--sample",
    type=click.IntRange(1),
    default=50,
    show_default=True,
    help="How many responses to draw at random, of those that have a score.",
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of the drawing.")
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    help="Name of a metric whose statistics people are to give. Repeatable. Default: the primary one.",
)
@click.option(
    "--scoring", help="Beginning of the digest of a scoring. Default: the one of the most instances."
)
@click.option(
    "-o", "--output", required=True, metavar="FILE", help="The form, as CSV. - for standard output."
)
@click.option(
    "--sheet",
    metavar="FILE",
    help="Also write the texts to read, in the form's order, as a page of HTML. It holds nothing of the judge.",
)
@click.option("--runs", "folder", help="The runs folder. Default: PMBENCH_RUNS, or runs.")
def labels(
    name: str,
    sample: int,
    seed: int,
    metrics: tuple[str, ...],
    scoring: str | None,
    output: str,
    sheet: str | None,
    folder: str | None,
) -> None:
    """Write a form for people to label a random choice of a run's responses.

    RUN is a folder, or a unique beginning of a run's digest. People fill in a number for each statistic without
    seeing the judge's; rows that they leave empty count as not labelled. The form holds no text: ids, and marks by
    which an answer is known again. The texts to read, with what is to be counted, stand in the --sheet, which is its
    owner's alone. Forms of several runs with one --seed are of the same instances: then their differences can be
    corrected, too. pmbench leaderboard --labels FILE and pmbench show RUN --labels FILE correct the
    judge by it.
    """
    from pathlib import Path

    from pmbench.running.exporting import write_export
    from pmbench.running.label_form import label_form
    from pmbench.running.plan import runs_folder
    from pmbench.running.reading import read_run

    _check_places(output, sheet)
    run = read_run(runs_folder(folder), name, scoring)
    made = label_form(run, metrics, sample, seed)
    if sheet is not None:
        from pmbench.report.sheet import sheet_of

        write_export(Path(sheet), sheet_of(run, made))
    if output == "-":
        _print(made.text)
    else:
        _write(output, made.text)
    less = f", all that there are of {sample} asked for" if made.rows < sample else ""
    for line in (
        f"{made.rows} of {made.scored} scored responses, drawn at random{less}; in {made.clusters} clusters",
        f"to fill in, for {', '.join(made.metrics)}: {', '.join(made.statistics)}",
        *(f"  {one}: {words}" for one, words in made.words.items()),
        "Rows are in random order: whoever stops early leaves the last ones empty.",
        f"to read: {sheet}" if sheet else "to read: make a sheet of the texts with --sheet sheet.html",
        "Do not open pmbench show --instance, pmbench report or a leaderboard of this run before you have finished.",
        *([f"written: {output}"] if output != "-" else []),
    ):
        click.echo(line, err=output == "-")


def _check_places(output: str, sheet: str | None) -> None:
    """Refuse places that nothing can be written to, before anything is drawn."""
    import os
    from pathlib import Path

    from pmbench.core.errors import ConfigError

    if not output.strip():
        raise ConfigError(
            "this names no file",
            where="--output",
            remedy="Name one, such as form.csv, or - for standard output",
        )
    if sheet is not None and (sheet == "-" or not sheet.strip()):
        raise ConfigError("the sheet is a file", where="--sheet", remedy="Name one, such as sheet.html")
    if sheet is not None and Path(sheet).resolve() == Path(output).resolve():
        raise ConfigError("the form and the sheet are one file", where="--sheet", remedy="Name another one")
    if output != "-" and os.path.lexists(output):
        raise _there(output)


def _print(text: str) -> None:
    """Write to standard output what would be written to a file, byte for byte."""
    import sys

    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode())
    sys.stdout.buffer.flush()


def _write(output: str, text: str) -> None:
    """Write a new file: what people have filled in is never written over."""
    from pathlib import Path

    from pmbench.core.errors import StorageError

    try:
        with Path(output).open("x", encoding="utf-8", newline="") as file:
            file.write(text)
    except FileExistsError:
        raise _there(output) from None
    except OSError as error:
        raise StorageError(
            f"the form cannot be written ({error.strerror or type(error).__name__})",
            where=output,
            remedy="Name another file with --output",
        ) from None


def _there(output: str) -> UserError:
    from pathlib import Path

    from pmbench.core.errors import StorageError

    path = Path(output)
    if path.is_dir():
        return StorageError(
            "this is a folder", where=output, remedy=f"Name a file in it, such as {path / 'form.csv'}"
        )
    if path.exists() and not path.is_file():
        return StorageError(
            "this is a pipe, a socket or a device, not a file",
            where=output,
            remedy="Name a new file, or - for standard output",
        )
    return StorageError(
        "there is such a file, and people may have filled it in",
        where=output,
        remedy="Name another one, or remove it",
    )
