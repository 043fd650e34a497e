"""`pmbench report`: one run as a page of HTML."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("name", metavar="RUN")
@click.option(
    "-o", "--output", required=True, metavar="FILE", help="The file to write; - for standard output."
)
@click.option("--no-text", is_flag=True, help="Leave out every text of data and answers.")
@click.option(
    "--scoring", help="Beginning of the digest of a scoring. Default: the one of the most instances."
)
@click.option("--runs", "folder", help="The runs folder. Default: PMBENCH_RUNS, or runs.")
def report(name: str, output: str, no_text: bool, scoring: str | None, folder: str | None) -> None:
    """Write a run as one page of HTML that needs nothing else. RUN is a folder, or a unique beginning of a digest.

    It shows the metrics with their intervals, subgroups, cost, and every instance as its task shows it. Unless
    --no-text is given, it holds text of the data and the answers; the file is its owner's alone.
    """
    import importlib.util

    from pmbench.pages.figures import MISSING
    from pmbench.report.page import page_of
    from pmbench.running.exporting import write_export
    from pmbench.running.plan import runs_folder
    from pmbench.running.reading import read_run

    page = page_of(read_run(runs_folder(folder), name, scoring), texts=not no_text)
    if importlib.util.find_spec("matplotlib") is None:
        click.echo(MISSING, err=True)
    if output == "-":
        click.echo(page, nl=False)
        return
    write_export(Path(output), page)
    click.echo(f"written: {output}")
