"""Writes `docs/cli.md`, `docs/formats.md` and parts of `docs/backends.md` from the program itself.

`--check` says whether they are true.

Run it with `make docs`.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import msgspec
from backends_page import backends_page

from pmbench.cli.main import COMMANDS, group
from pmbench.core.model import Usage
from pmbench.running import records, results

DOCS = Path(__file__).parent
FAMILIES = ("archehr", "checklist", "triage")
"""Commands of the built-in tasks; those of others have documentation of their own."""
WIDTH = 96

FILES: dict[str, list[type[msgspec.Struct]]] = {
    "`run.json`": [records.RunRecord, records.Asked, records.DataRecord],
    "`responses.jsonl`, one object a line": [records.ResponseRecord, Usage],
    "`scores/<digest>/scores.jsonl`, one object a line": [records.ScoreRecord],
    "`scores/<digest>/scoring.json`": [records.Scoring],
    "`scores/<digest>/results.json`": [
        results.Results,
        results.MetricResult,
        results.SliceResult,
        results.Counts,
        results.UsageTotal,
        results.Statistics,
        results.Variation,
    ],
}


def main() -> int:
    """Write the files, or check them."""
    wanted = {
        "cli.md": cli_reference(),
        "formats.md": formats(),
        "backends.md": backends_page((DOCS / "backends.md").read_text(encoding="utf-8")),
    }
    if "--check" not in sys.argv[1:]:
        for name, text in wanted.items():
            (DOCS / name).write_text(text, encoding="utf-8")
        return 0
    stale = [name for name, text in wanted.items() if (DOCS / name).read_text(encoding="utf-8") != text]
    for name in stale:
        print(f"docs/{name} is not what the program says. Run: make docs")
    return int(bool(stale))


def cli_reference() -> str:
    """Every command with its help, as the program prints it."""
    parts = [
        "# The command line",
        "",
        "Made from the program by `make docs`; every command also answers `--help`.",
        "",
    ]
    parts += ["```", _help(group, "pmbench"), "```", ""]
    for name in COMMANDS:
        command = group.get_command(click.Context(group), name)
        if command is None:
            raise LookupError(name)
        parts += [f"## pmbench {name}", "", "```", _help(command, f"pmbench {name}"), "```", ""]
    for name in FAMILIES:
        command = group.get_command(click.Context(group), name)
        if not isinstance(command, click.Group):
            raise LookupError(name)
        parts += [f"## pmbench {name}", "", "```", _help(command, f"pmbench {name}"), "```", ""]
        for sub in command.list_commands(click.Context(command)):
            one = command.get_command(click.Context(command), sub)
            if one is not None:
                path = f"pmbench {name} {sub}"
                parts += [f"### {path}", "", "```", _help(one, path), "```", ""]
    return "\n".join([*parts, EXIT_STATUS])


EXIT_STATUS = """## Exit status

| status | meaning |
|---|---|
| 0 | done: the run is complete, or complete with no more missing than `--max-missing` allows |
| 1 | incomplete: work is left, or more is missing than allowed; the same command goes on |
| 1 | of `pmbench leaderboard`: a run or record that belongs into a table is damaged or cannot be read |
| 1 | of `pmbench runs`: something in the folder is damaged or cannot be read |
| 1 | of `pmbench show`, `report`: the scores are not those of the results |
| 2 | an error that you can mend; one line says what, where and what to do |
| 70 | a fault in pmbench itself; what was answered is kept |
| 130 | interrupted; the same command goes on |

## Environment

| variable | meaning |
|---|---|
| `PMBENCH_RUNS` | the runs folder (default `runs`) |
| `PMBENCH_CACHE` | the model cache (default: the user's cache folder) |
| `PMBENCH_CONFIG` | the settings (default: `pmbench.toml` here, else the user's); see [models.md](models.md) |
| `PMBENCH_STORE_JOURNAL` | journal mode of the completion store, where the choice by file system is wrong |
| `OPENAI_API_KEY`, `ANTHROPIC_API_KEY`, `GEMINI_API_KEY`… | keys; see [models.md](models.md) |
| `PMBENCH_SALT` | the salt of `pmbench export --hash-ids` |
| `PMBENCH_DEBUG` | show the traceback of a fault in pmbench itself |
| `HF_HUB_OFFLINE` | never ask the Hugging Face hub |
"""


def formats() -> str:
    """The files of a run folder, from the types that write them."""
    parts = [
        "# Files that you may read",
        "",
        "Made from the types by `make docs`. All are UTF-8 JSON. A run lies in",
        "`runs/<task>/<model>/<strategy>-<digest>/`; files there are readable by their owner only, since",
        "`responses.jsonl` and the `evidence` of scores hold text of the dataset. Nothing else does.",
        "Ids, clusters and labels of slices stand in scores and results too: use such as name nobody.",
        "`completions.sqlite` beside the runs keeps every answer of every model; it is no format to read.",
        "",
        'A file of recorded answers for `replay:FILE` is JSON lines of `{"id": …, "text": …}` (and `"data"`',
        "for structured answers), or CSV with the columns `id` and `text`.",
        "",
    ]
    for title, kinds in FILES.items():
        parts += [f"## {title}", ""]
        for kind in kinds:
            parts += [*_type(kind), ""]
    return "\n".join(parts)


def _type(kind: type[msgspec.Struct]) -> Iterator[str]:
    doc = inspect.getdoc(kind) or ""
    summary, _, attributes = doc.partition("Attributes:")
    yield f"**{kind.__name__}**: {' '.join(summary.split())}"
    yield ""
    notes = dict(_attributes(attributes))
    yield "| field | type | meaning |"
    yield "|---|---|---|"
    for field in msgspec.structs.fields(kind):
        name = field.encode_name
        shown = re.sub(r"\w+\.(?=[A-Z])|typing\.|pmbench\.[\w.]+\.", "", _type_name(field.type))
        yield f"| `{name}` | `{shown.replace('|', 'or')}` | {notes.get(name, '')} |"


def _type_name(kind: object) -> str:
    return kind.__name__ if isinstance(kind, type) and not hasattr(kind, "__args__") else str(kind)


def _attributes(block: str) -> Iterator[tuple[str, str]]:
    """`a, b: text; c: text` entries of an Attributes block: every name with the text of its entry."""
    for entry in re.split(r"\n(?= {4}\w)", block):
        # One entry may describe several fields in turn: `run: of the run; scoring: of the scoring`.
        for part in re.split(r"; (?=[a-z_, ]+: )", " ".join(entry.split())):
            names, colon, text = part.partition(":")
            if colon:
                for name in names.split(","):
                    yield name.strip(" `"), text.strip().rstrip(".")


def _help(command: click.Command, name: str) -> str:
    context = click.Context(command, info_name=name, terminal_width=WIDTH)
    return command.get_help(context)


if __name__ == "__main__":
    sys.exit(main())
