"""`pmbench checklist validate`: what is wrong with a checklist, and what is odd about it."""

from __future__ import annotations

import json
from pathlib import Path

import click


@click.command("validate")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--row", default="", help="Of a HealthBench file: the prompt_id of the rubric.")
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
def validate_command(file: Path, row: str, as_json: bool) -> int:
    """Check a checklist: JSON, YAML, Markdown or CSV, AutoChecklist, HealthBench, MedHELM.

    Exit status 1 where something is wrong with it, 0 where it can be used; remarks are no faults.
    """
    from pmbench_tasks.notes.reading import parse_checklist
    from pmbench_tasks.notes.validation import findings

    checklist = parse_checklist(file, row=row)
    found = list(findings(checklist))
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
        click.echo(f"{'error' if one.error else 'remark'}: {one.line}")
    from pmbench_tasks.notes.pipeline.records import counted

    section = checklist.section or "the whole note"
    click.echo(
        f"{checklist.name}: {counted(len(checklist.items), 'question')} for {section}, answered {checklist.scale}; "
        f"{counted(wrong, 'error')}, {counted(len(found) - wrong, 'remark')}"
    )
    return int(bool(wrong))
