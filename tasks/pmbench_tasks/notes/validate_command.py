"""`pmbench checklist validate`: what is wrong with a checklist, and what is odd about it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from pmbench_tasks.notes.checklist import Checklist
    from pmbench_tasks.notes.validation import Finding


@click.command("validate")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--row", default="", help="Of a HealthBench file: the prompt_id of the rubric.")
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
def validate_command(file: Path, row: str, as_json: bool) -> int:
    """Check a checklist: JSON, YAML, Markdown or CSV, AutoChecklist, HealthBench, MedHELM; or one of ours by name.

    Exit status 1 where something is wrong with it, 0 where it can be used; remarks are no faults.
    """
    from pmbench_tasks.notes.checklist import OWN, own_checklist
    from pmbench_tasks.notes.pipeline.records import counted
    from pmbench_tasks.notes.reading import parse_checklist
    from pmbench_tasks.notes.validation import findings

    ours = str(file) in OWN and not file.is_file()
    checklist = own_checklist(str(file)) if ours else parse_checklist(file, row=row)
    found = [*findings(checklist), *_passed_over(file)]
    wrong = sum(one.error for one in found)
    if as_json:
        plain = [
            {"what": one.what, "where": one.where, "remedy": one.remedy, "error": one.error} for one in found
        ]
        click.echo(
            json.dumps({"name": checklist.name, "items": len(checklist.items), "findings": plain}, indent=2)
        )
        return int(bool(wrong))
    for one in found:
        click.echo(one.line)
    click.echo(
        f"{_called(checklist)}: {counted(len(checklist.items), 'question')} for {_about(checklist)},"
        f" answered {checklist.scale}; {counted(wrong, 'error')}, {counted(len(found) - wrong, 'remark')}"
    )
    return int(bool(wrong))


def _passed_over(file: Path) -> Iterator[Finding]:
    """Lines of Markdown that look like questions and are not read as such."""
    from pmbench_tasks.notes.documents import read_text
    from pmbench_tasks.notes.lists import passed_over
    from pmbench_tasks.notes.pipeline.records import counted
    from pmbench_tasks.notes.validation import Finding

    lines = passed_over(read_text(file)) if file.suffix.lower() in (".md", ".markdown") else []
    if lines:
        some = ", ".join(map(str, lines[:5])) + (", …" if len(lines) > 5 else "")
        yield Finding(
            f"{counted(len(lines), 'line')} with a question mark passed over, for no list has it: line {some}",
            str(file),
            "Begin each question with - or a number",
            error=False,
        )


def _called(checklist: Checklist) -> str:
    """Its name, where that can be printed in one line; what is wrong with it stands among the errors."""
    return checklist.name if checklist.name.isprintable() and len(checklist.name) <= 120 else "(its name)"


def _about(checklist: Checklist) -> str:
    from pmbench_tasks.notes.sections import SECTIONS

    if not checklist.section:
        return "the whole note"
    return checklist.section if checklist.section in SECTIONS else "no section that is known"
