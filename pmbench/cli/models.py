"""`pmbench models`: the presets, and whether each can run here."""

from __future__ import annotations

import click

from pmbench.cli.columns import print_columns


@click.command()
@click.argument("name", required=False)
def models(name: str | None) -> None:
    """List the presets and whether each can run here, or tell all about one."""
    from pmbench.models.catalogue import availability
    from pmbench.models.presets import find_preset, presets

    if name is None:
        rows = []
        for known in presets().values():
            spec, why_not = availability(known.name)
            # The whole reason stands in `pmbench models NAME`; a list needs what to do, or what is lacking.
            brief = why_not.rpartition("Run: ")[2] if why_not else "ready"
            rows.append((known.name, known.kind, "local" if known.local else "remote", brief, spec))
        print_columns(("preset", "kind", "where", "ready, or what it takes", "resolves to"), rows)
        click.echo("\nOther models: backend:name?option=value, for example replay:answers.jsonl")
        return
    known = find_preset(name)
    spec, why_not = availability(name)
    click.echo(f"{known.name}: {spec}")
    click.echo(f"kind {known.kind}, {'local' if known.local else 'remote'}, context {known.context} tokens")
    click.echo(f"can it run here? {why_not or 'yes'}")
    if known.note:
        click.echo(known.note)
