"""`pmbench tasks`: the list of tasks, and the card of one."""

from __future__ import annotations

import sys

import click

from pmbench.cli.columns import print_columns


@click.command()
@click.argument("name", required=False)
def tasks(name: str | None) -> None:
    """List the tasks, or show the card of one."""
    from pmbench.core import registry

    if name is not None:
        from pmbench.running.card import card

        text = card(registry.load_task(name))
        if sys.stdout.isatty():
            from pmbench.cli.terminal import print_markdown

            print_markdown(text)
        else:
            click.echo(text)
        return
    rows = []
    for entry in registry.listing(registry.TASKS):
        if entry.error:
            rows.append((entry.name, "–", entry.package, f"cannot be loaded: {entry.error}"))
        else:
            version = str(getattr(entry.loaded, "version", "?"))
            rows.append((entry.name, version, entry.package, str(getattr(entry.loaded, "title", ""))))
    print_columns(("task", "version", "package", "what it measures"), rows)
