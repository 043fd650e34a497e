"""A command of a plugin."""

import click


@click.command()
def greet() -> None:
    """Say hello."""
    click.echo("hello from a plugin")
