"""`pmbench models`: the presets, whether each can run here, what it takes and costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from pmbench.cli.columns import print_columns, printable

if TYPE_CHECKING:
    from pmbench.models.survey import Survey


@click.command()
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def models(name: str | None, as_json: bool) -> None:
    """List the presets, whether each can run here and what it costs, or tell all about one model.

    NAME is a preset or a whole specification, such as openai:gpt-4o or hf:ORG/NAME?dtype=float32.
    """
    from pmbench.models.presets import presets
    from pmbench.models.survey import survey

    found = [survey(name)] if name is not None else [survey(known) for known in presets()]
    if as_json:
        _print_json(found, alone=name is not None)
    elif name is not None:
        for line in _lines(found[0]):
            click.echo(printable(line))
    else:
        _print_list(found)


def _print_json(found: Sequence[Survey], *, alone: bool) -> None:
    import msgspec

    plain = [{**msgspec.to_builtins(one), "ready": one.ready} for one in found]
    click.echo(msgspec.json.format(msgspec.json.encode(plain[0] if alone else plain), indent=2).decode())


def _print_list(found: Sequence[Survey]) -> None:
    rows = [
        (
            one.name,
            one.kind,
            _where(one),
            one.backend,
            _brief_price(one),
            "; ".join(need.brief for need in one.needs) or "ready",
        )
        for one in found
    ]
    print_columns(("preset", "kind", "where", "backend", "$ in / out", "ready, or what it takes"), rows)
    listed = next((one.price_list for one in found if one.price_list), "")
    dollars = "\n$ in / out: US dollars per million tokens of prompts / of answers"
    if listed:
        click.echo(f"{dollars} ({listed}; [prices] in pmbench.toml goes before).")
    else:
        why = next((one.unpriced for one in found if one.unpriced), "")
        click.echo(f"{dollars}; unknown: {why}." if why else f"{dollars}.")
    click.echo("Other models: backend:name?option=value, for example replay:answers.jsonl")


def _lines(one: Survey) -> Iterator[str]:
    """All that is known of a model."""
    yield f"{one.name}: {one.spec}" + (f" ({one.title})" if one.title else "")
    if one.preset:
        yield f"kind {one.kind}, {_where(one)}, context {one.context} tokens"
    if one.endpoint:
        yield f"endpoint {one.endpoint}"
    elif not one.preset and one.local is not None:
        where = "runs in this process" if one.local else "sends its requests by itself, nobody can tell where"
        yield f"{where}, {_where(one)}"
    if one.offers:
        yield f"offers {', '.join(one.offers)}" + (f"; can {', '.join(one.features)}" if one.features else "")
    for file in one.files:
        yield f"file {file.path}: {'there' if file.there else 'to be fetched'}{_size(file.size)}"
    if one.weights is not None:
        yield _memory(one)
    yield from _price(one)
    yield "can it run here? " + ("; ".join(need.what for need in one.needs) or "yes")
    if one.licence:
        yield f"licence {one.licence}"
    if one.papers:
        yield f"named by the papers on {', '.join(one.papers)}"
    if one.note:
        yield one.note


def _price(one: Survey) -> Iterator[str]:
    price = one.price
    if price is None:
        yield f"price {'unknown: ' + one.unpriced if one.unpriced else '–'}"
        return
    output = "–" if price.output is None else f"${price.output.base:g}"
    yield (
        f"price per million tokens: ${price.input.base:g} of prompts (${price.cached.base:g} where the server had"
        f" them, ${price.written.base:g} where it keeps them), {output} of answers ({price.source})"
    )
    for start, dearer in price.input.steps:
        after = price.output.at(start + 1) if price.output is not None else 0.0
        yield f"  prompts above {start:,} tokens: ${dearer:g} of prompts, ${after:g} of answers"
    if one.price_list and one.price_list.startswith(price.source):
        yield f"  {one.price_list}"


def _brief_price(one: Survey) -> str:
    if one.price is None:
        return "?" if one.unpriced else "–"
    output = "–" if one.price.output is None else f"{one.price.output.base:g}"
    return f"{one.price.input.base:g} / {output}"


def _where(one: Survey) -> str:
    return {True: "local", False: "remote", None: "unknown where"}[one.local]


def _size(size: int) -> str:
    from pmbench.models.survey import bytes_text

    return f", {bytes_text(size)}" if size else ""


def _memory(one: Survey) -> str:
    from pmbench.models.survey import bytes_text

    if one.weights is None:
        return ""
    room = one.weights
    about, where = "" if room.exact else "about ", "graphics memory" if room.graphics else "memory"
    there = f"; this machine has {bytes_text(room.memory)} of {where}" if room.memory else ""
    return f"weights {about}{bytes_text(room.size)}{there}"
