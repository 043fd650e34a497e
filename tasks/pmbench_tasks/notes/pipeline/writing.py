"""The checklist's file with where it came from, and the summary for people."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from pmbench import ConfigError, UserError, __version__, digest
from pmbench_tasks.notes.checklist import checklist_json, read_checklist
from pmbench_tasks.notes.pipeline.building import Built, History, Settings
from pmbench_tasks.notes.pipeline.leaves import write_private
from pmbench_tasks.notes.pipeline.records import by_kind
from pmbench_tasks.notes.plain_text import inline
from pmbench_tasks.notes.validation import LONGEST_NAME

MADE_BY = "pmbench checklist"


def check_out(out: Path) -> None:
    """Refuse, before anything is asked, a file that is not to be written over.

    Raises:
        ConfigError: its name is of another kind, there is no such folder; it is there and was not written by this
            pipeline; or somebody has changed anything in it since.
    """
    where = f"--out {out}"
    if out.suffix.lower() != ".json":
        raise ConfigError("is to hold JSON", where=where, remedy="Call it something.json")
    if len(out.stem) > LONGEST_NAME or not out.stem.isprintable():
        raise ConfigError(
            "its name is that of the checklist, and is long or has characters that cannot be printed",
            where="--out",
            remedy=f"Write at most {LONGEST_NAME} characters",
        )
    if not out.absolute().parent.is_dir():
        raise ConfigError("there is no such folder", where=where, remedy="Make it first")
    if not out.exists():
        return
    try:
        value = json.loads(out.read_bytes())
        told = value["metadata"]
        ours = str(told["made_by"]).startswith(MADE_BY)
        unchanged = read_checklist(out).digest == told["digest"]
        whole = told.get("written") == _digest(value)
    except (OSError, ValueError, KeyError, TypeError, RecursionError, UserError):
        ours = unchanged = whole = False
    if not ours:
        raise ConfigError(
            "is there already, and is no checklist of this command", where=where, remedy="Name another file"
        )
    if not unchanged:
        raise ConfigError(
            "its questions were changed since it was written", where=where, remedy="Name another file"
        )
    if not whole:
        raise ConfigError(
            "something in it was added or changed since it was written",
            where=where,
            remedy="Name another file",
        )


def write_checklist(
    out: Path,
    built: Built,
    settings: Settings,
    *,
    how: str,
    identities: Mapping[str, Mapping[str, str]],
    more: Mapping[str, Any] | None = None,
) -> None:
    """Write a checklist that `read_checklist` reads, with its provenance under `metadata`.

    That says with what it was made, what each stage left, what was dropped at which stage and why, and what models
    gave no usable answer to; each item has the ids of the feedback that led to it. No text of feedback is in it, only
    what the model made of it: read the questions before you pass them on.
    """
    value: dict[str, Any] = json.loads(checklist_json(built.checklist))
    for item in value["items"]:
        if item["id"] in built.metadata:
            item["metadata"] = dict(built.metadata[item["id"]])
    history = built.history
    value["metadata"] = {
        "made_by": f"{MADE_BY} {how}",
        "version": __version__,
        "digest": built.checklist.digest,
        "reviewed_by_clinician": False,
        "settings": msgspec.to_builtins(settings),
        "models": {role: name_shown(identity["name"]) for role, identity in identities.items()},
        **(more or {}),
        "stages": history.counts,
        **_selection(history),
        "dropped": msgspec.to_builtins(history.dropped),
        "without_an_answer": _lost(history),
    }
    value["metadata"]["written"] = _digest(value)
    write_private(out, msgspec.json.format(msgspec.json.encode(value), indent=1) + b"\n")


def _digest(value: Mapping[str, Any]) -> str:
    """SHA-256 over all that a file of ours holds but this digest itself, however it is laid out."""
    metadata = {name: one for name, one in value["metadata"].items() if name != "written"}
    return digest({**value, "metadata": metadata})


def name_shown(name: str) -> str:
    """A model's name without its options, and of a file only what it is called: others need not know where."""
    plain = name.partition("?")[0]
    backend, sign, target = plain.rpartition(":")
    is_file = target.startswith(("/", ".", "~")) or target.lower().endswith((".gguf", ".safetensors"))
    return f"{backend}{sign}{Path(target).name}" if is_file else plain


def summary(built: Built, *, how: str, notes: Sequence[str] = ()) -> str:
    """What was done, as Markdown: stages, lost answers, the checklist, and what was dropped and why."""
    return "\n".join([*_summary(built, how, notes), ""])


def _summary(built: Built, how: str, notes: Sequence[str]) -> Iterator[str]:
    history = built.history
    yield f"# {inline(built.checklist.name)} ({how})"
    yield ""
    yield from (f"> {inline(note)}" for note in notes)
    yield from ("", "| stage | left |", "|---|---|")
    yield from (f"| {stage} | {inline(told)} |" for stage, told in history.counts.items())
    if history.chosen is not None:
        yield ""
        yield selection_told(history)
    if lost := lost_told(history):
        yield from ("", "## Without a usable answer of a model", "")
        yield from (f"- {inline(line)}" for line in lost)
    yield from (
        "",
        "## The checklist",
        "",
        "| id | question | from | covers | enforceability |",
        "|---|---|---|---|---|",
    )
    for item in built.checklist.items:
        about = built.metadata.get(item.id, {})
        rate = about.get("enforceability", {})
        tested = "" if rate.get("rate") is None else f"{rate['rate']:.2f} of {rate['judged']}"
        yield (
            f"| {inline(item.id)} | {inline(item.question)} | {len(item.source_feedback)} |"
            f" {about.get('covers', '')} | {tested} |"
        )
    yield from ("", "## Dropped", "", "| stage | question | why |", "|---|---|---|")
    yield from (
        f"| {one.stage} | {inline(one.question)} ({one.id}) | {inline(one.why)} |" for one in history.dropped
    )


def selection_told(history: History) -> str:
    """Coverage, diversity and objective of what was selected, in a line; `""` where nothing was."""
    chosen = history.chosen
    if chosen is None:
        return ""
    bounds = (
        f" ({chosen.coverage_low:.3f} to {chosen.coverage_high:.3f}, whatever the missing answers were)"
        if chosen.coverage_low < chosen.coverage_high
        else ""
    )
    return (
        f"coverage {chosen.coverage:.3f}{bounds}, diversity {chosen.diversity:.3f},"
        f" objective {chosen.objective:.4f} ({chosen.search} search)"
    )


def lost_told(history: History) -> list[str]:
    """What models gave no usable answer to, a line for each stage."""
    return [
        f"no usable answer ({stage}): " + ", ".join(f"{count:,} {kind}" for kind, count in kinds.items())
        for stage, kinds in _lost(history).items()
    ]


def _selection(history: History) -> dict[str, Any]:
    chosen = history.chosen
    if chosen is None:
        return {}
    return {
        "selection": {
            "coverage": round(chosen.coverage, 6),
            "coverage_low": round(chosen.coverage_low, 6),
            "coverage_high": round(chosen.coverage_high, 6),
            "diversity": round(chosen.diversity, 6),
            "objective": round(chosen.objective, 6),
            "search": chosen.search,
        }
    }


def _lost(history: History) -> dict[str, dict[str, int]]:
    """By stage and kind of failure, how many things a model gave no usable answer to."""
    stages = dict.fromkeys(one.stage for one in history.failures)
    return {stage: by_kind([one for one in history.failures if one.stage == stage]) for stage in stages}
