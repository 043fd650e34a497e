"""`pmbench export`: a run in a file format of its task."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("name", metavar="RUN")
@click.option("-f", "--format", "form", required=True, help="One of the task's formats; its card lists them.")
@click.option(
    "-o", "--output", required=True, metavar="FILE", help="The file to write; - for standard output."
)
@click.option("--sample", type=click.IntRange(0), default=0, show_default=True, help="Number of the sample.")
@click.option(
    "--scoring", help="Beginning of the digest of a scoring. Default: the one of the most instances."
)
@click.option("--runs", "folder", help="The runs folder. Default: PMBENCH_RUNS, or runs.")
def export(name: str, form: str, output: str, sample: int, scoring: str | None, folder: str | None) -> None:
    """Write a run in a file format of its task. RUN is a folder, or a unique beginning of a run's digest.

    Some formats hold the responses: the card of a task says which.
    """
    from pmbench.running.exporting import export_run, write_export
    from pmbench.running.plan import runs_folder
    from pmbench.running.reading import read_run

    text = export_run(read_run(runs_folder(folder), name, scoring), form, sample)
    if output == "-":
        click.echo(text, nl=False)
        return
    write_export(Path(output), text)
    click.echo(f"written: {output}")
