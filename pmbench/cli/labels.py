"""`pmbench labels`: a form for people to label a random choice of a run's responses."""

from __future__ import annotations

import click


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
@click.option("--runs", "folder", help="The runs folder. Default: PMBENCH_RUNS, or runs.")
def labels(
    name: str,
    sample: int,
    seed: int,
    metrics: tuple[str, ...],
    scoring: str | None,
    output: str,
    folder: str | None,
) -> None:
    """Write a form for people to label a random choice of a run's responses.

    RUN is a folder, or a unique beginning of a run's digest. People fill in a number for each statistic without
    seeing the judge's; rows that they leave empty count as not labelled. The form holds no text: ids, and marks by
    which an answer is known again. pmbench leaderboard --labels FILE and pmbench show RUN --labels FILE correct the
    judge by it.
    """
    from pmbench.running.label_form import label_form
    from pmbench.running.plan import runs_folder
    from pmbench.running.reading import read_run

    made = label_form(read_run(runs_folder(folder), name, scoring), metrics, sample, seed)
    if output == "-":
        click.echo(made.text, nl=False)
    else:
        _write(output, made.text)
    less = f", all that there are of {sample} asked for" if made.rows < sample else ""
    for line in (
        f"{made.rows} of {made.scored} scored responses, drawn at random{less}; in {made.clusters} clusters",
        f"to fill in, for {', '.join(made.metrics)}: {', '.join(made.statistics)}",
        "Rows are in random order: whoever stops early leaves the last ones empty.",
        *([f"written: {output}"] if output != "-" else []),
    ):
        click.echo(line, err=output == "-")


def _write(output: str, text: str) -> None:
    """Write a new file: what people have filled in is never written over."""
    from pathlib import Path

    from pmbench.core.errors import StorageError

    try:
        with Path(output).open("x", encoding="utf-8", newline="") as file:
            file.write(text)
    except FileExistsError:
        raise StorageError(
            "there is such a file, and people may have filled it in",
            where=output,
            remedy="Name another one, or remove it",
        ) from None
    except OSError as error:
        raise StorageError(
            f"the form cannot be written ({error.strerror or type(error).__name__})",
            where=output,
            remedy="Name another file with --output",
        ) from None
