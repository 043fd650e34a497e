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
@click.pass_context
def report(
    context: click.Context, name: str, output: str, no_text: bool, scoring: str | None, folder: str | None
) -> None:
    """Write a run as one page of HTML that needs nothing else. RUN is a folder, or a unique beginning of a digest.

    It shows the metrics with their intervals, subgroups, cost, and every instance as its task shows it. Unless
    --no-text is given, it holds text of the data and the answers; the file is its owner's alone.

    Exit status: 0 done, 1 the scores are not those of the results, as the page says, 2 an error that you can mend.
    """
    import importlib.util

    from pmbench.pages.figures import MISSING
    from pmbench.report.page import page_of
    from pmbench.running.agreement import checked
    from pmbench.running.exporting import write_export
    from pmbench.running.plan import runs_folder
    from pmbench.running.reading import read_run

    run = read_run(runs_folder(folder), name, scoring)
    apart = checked(run)
    page = page_of(run, texts=not no_text)
    if apart is not None:
        click.echo(f"Not to be trusted: {apart}", err=True)
    if importlib.util.find_spec("matplotlib") is None:
        click.echo(MISSING, err=True)
    if output == "-":
        click.echo(page, nl=False)
    else:
        write_export(Path(output), page)
        click.echo(f"written: {output}")
    if apart is not None and apart.damaged:
        context.exit(1)
