"""`pmbench fetch`: bring a preset's files into the model cache."""

from __future__ import annotations

import click


@click.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
def fetch(names: tuple[str, ...]) -> None:
    """Bring the files of presets into the model cache (PMBENCH_CACHE), checked by SHA-256.

    This is the only command that downloads a model.
    """
    from pmbench.models.files.fetch import fetch as bring

    for name in names:
        for path in bring(name, report=lambda line: click.echo(line, err=True)):
            click.echo(str(path))
