"""`pmbench checklist build`, `update` and `baseline`: the pipeline from the command line."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pmbench import ConfigError, Sensitivity

if TYPE_CHECKING:
    from pmbench_tasks.notes.pipeline.building import Built, Settings, Workshop
    from pmbench_tasks.notes.pipeline.feedback import FeedbackFile

DEMO = "demo"
_HERE = "pmbench_tasks.notes"

Options = Callable[..., Any]


def _working(command: Options) -> Options:
    """The options that every command of the pipeline takes."""
    options = (
        click.option("-m", "--model", required=True, help="Proposes, merges, tags, rewrites and assigns."),
        click.option("-j", "--judge", help="Answers questions about notes. Default: the model."),
        click.option("--embedder", default="embedded", show_default=True, help="Finds like questions."),
        click.option(
            "--notes",
            help="demo, ACI-bench, or a file with transcripts and notes: questions are tested on them.",
        ),
        click.option(
            "--out", type=click.Path(path_type=Path), required=True, help="The checklist's file (.json)."
        ),
        click.option(
            "--folder",
            type=click.Path(path_type=Path),
            help="Where each stage leaves its file. Default: beside --out, with its name and -stages.",
        ),
        click.option(
            "--threshold",
            type=click.FloatRange(-1, 1),
            default=0.85,
            show_default=True,
            help="Cosine of questions that are merged.",
        ),
        click.option(
            "--tests",
            type=click.IntRange(1),
            default=10,
            show_default=True,
            help="Reference notes that each question is tested on.",
        ),
        click.option(
            "--enforceability",
            type=click.FloatRange(0, 1),
            default=0.7,
            show_default=True,
            help="Share of failing notes that the judge must see; 0 drops no question.",
        ),
        click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of all draws."),
        click.option("--runs", help="The runs folder. Default: PMBENCH_RUNS, or runs."),
        click.option(
            "--sensitivity",
            type=click.Choice(["public", "deidentified", "phi"]),
            help="Of feedback and notes. Default: phi; of the demo, public.",
        ),
        click.option("--allow-remote", is_flag=True, help="Let deidentified data be sent to a remote model."),
        click.option("--concurrency", type=int, metavar="N", help="Most requests in flight."),
        click.option(
            "--max-requests", type=int, metavar="N", help="Stop after so many requests of this command."
        ),
        click.option(
            "--max-cost", type=float, metavar="DOLLARS", help="Stop before this command costs more."
        ),
        click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def _reading(command: Options) -> Options:
    """The options of commands that read feedback."""
    options = (
        click.option("--feedback", required=True, help="A file of feedback, or demo."),
        click.option(
            "-c",
            "--columns",
            multiple=True,
            metavar="NAME=COLUMN",
            help="Which column is which: feedback, id, stars, section, visit. Repeatable.",
        ),
        click.option(
            "--encoding", default="", help="Of a text file that is not UTF-8, such as windows-1252."
        ),
        click.option("-n", "--limit", type=click.IntRange(1), help="Only the first N feedback items."),
        click.option(
            "--batch",
            type=click.IntRange(1),
            default=100,
            show_default=True,
            help="Feedback items that one request shows.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def _selecting(command: Options) -> Options:
    options = (
        click.option(
            "--size", type=click.IntRange(1), help="So many questions. Default: what the objective wants."
        ),
        click.option(
            "--alpha",
            type=click.FloatRange(0, 1),
            default=0.5,
            show_default=True,
            help="Weight of coverage against diversity.",
        ),
        click.option(
            "--penalty", type=click.FloatRange(0), default=0.0005, show_default=True, help="Of each question."
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


_SECTION = click.option(
    "--section",
    default="assessment_and_plan",
    show_default=True,
    help="The section that the checklist is about, or whole.",
)


@click.command("build")
@_reading
@_SECTION
@_working
@_selecting
def build(section: str, **asked: Any) -> int:
    """Grow a checklist from feedback.

    Each stage leaves a file in a folder beside the checklist. The same command again, after whatever stopped it, asks
    the models nothing that they have answered; it writes the same files.
    """
    from pmbench_tasks.notes.pipeline import building, writing

    out: Path = asked["out"]
    settings = _settings(_section(section), asked)
    file = _feedback(asked)

    async def work(shop: Workshop) -> Built:
        return await building.build(file, shop, settings, name=out.stem)

    def told(built: Built) -> list[str]:
        return [writing.selection_told(built.history)]

    return _carry_out("build", work, told, settings, asked, {"feedback": _about(file)})


@click.command("update")
@click.argument("checklist", type=click.Path(path_type=Path))
@_reading
@_working
@_selecting
def update(checklist: Path, **asked: Any) -> int:
    """Add to a checklist what new feedback asks for and no question of it covers.

    The questions of CHECKLIST stay as they are. From the feedback that none of them covers, new ones are proposed,
    refined and selected, and put behind them.
    """
    from pmbench_tasks.notes.checklist import read_checklist
    from pmbench_tasks.notes.pipeline import updating

    known = read_checklist(checklist)
    if known.scale != "yes-no":
        raise ConfigError(
            f"its scale is {known.scale}",
            where=str(checklist),
            remedy="Only checklists of yes/no questions grow",
        )
    out: Path = asked["out"]
    if out.exists() and checklist.exists() and out.samefile(checklist):
        raise ConfigError("this is the checklist itself", where=f"--out {out}", remedy="Name another file")
    settings = _settings(known.section, asked)
    file = _feedback(asked)
    found: list[updating.Updated] = []

    async def work(shop: Workshop) -> Built:
        found.append(await updating.update(known, file, shop, settings))
        return found[-1].built

    def told(_: Built) -> list[str]:
        one = found[-1]
        lines = [f"covered before: {one.covered_before:,} of {one.items:,}; after: {one.covered_after:,}"]
        lines.append(f"added: {', '.join(one.added) or 'nothing'}")
        return lines

    more = {"feedback": _about(file), "added_to": known.digest}
    return _carry_out("update", work, told, settings, asked, more)


@click.command("baseline")
@_SECTION
@click.option(
    "--count", type=click.IntRange(1, 60), default=12, show_default=True, help="Questions that are asked for."
)
@_working
def baseline(section: str, count: int, **asked: Any) -> int:
    """Make a checklist without feedback, to compare others with.

    Its questions come from what the model knows of good notes; they are merged, tagged and tested like others.
    """
    from pmbench_tasks.notes.pipeline import building

    out: Path = asked["out"]
    settings = _settings(_section(section), asked)

    async def work(shop: Workshop) -> Built:
        return await building.build_baseline(shop, settings, count=count, name=out.stem)

    return _carry_out("baseline", work, lambda _: [], settings, asked, {"count": count})


def _carry_out(
    how: str,
    work: Callable[[Workshop], Any],
    told: Callable[[Built], Sequence[str]],
    settings: Settings,
    asked: dict[str, Any],
    more: dict[str, Any],
) -> int:
    from pmbench import open_models
    from pmbench_tasks.notes.checklist_judge import ChecklistJudge
    from pmbench_tasks.notes.pipeline import writing
    from pmbench_tasks.notes.pipeline.building import Workshop
    from pmbench_tasks.notes.pipeline.leaves import Leaves
    from pmbench_tasks.notes.pipeline.references import read_references

    out: Path = asked["out"]
    writing.check_out(out)
    notes = asked["notes"]
    references = read_references(notes, settings.section) if notes else []
    names = {"model": asked["model"]}
    if references:
        names["judge"] = asked["judge"] or asked["model"]
    elif asked["judge"]:
        raise ConfigError(
            "a judge answers questions about notes, and there are none",
            where="--judge",
            remedy="Give reference notes (--notes), or leave it out",
        )
    folder = asked["folder"] or out.with_name(f"{out.stem}-stages")

    async def carry_out() -> tuple[Built, Any, list[str]]:
        async with open_models(
            names,
            runs=asked["runs"],
            sensitivity=_sensitivity(asked),
            allow_remote=asked["allow_remote"],
            embedder=asked["embedder"],
            seed=0,
            concurrency=asked["concurrency"],
            max_requests=asked["max_requests"],
            max_cost=asked["max_cost"],
            quiet=asked["quiet"],
        ) as borrowed:
            leaves = Leaves(folder)
            for line in borrowed.remote:
                borrowed.progress.note(line)
            assert borrowed.embedder is not None
            judge = ChecklistJudge(borrowed["judge"], probability="off") if references else None
            shop = Workshop(
                borrowed["model"], judge, references, borrowed.embedder, borrowed.progress, leaves
            )
            leaves.json("models.json", borrowed.identities)
            built = await work(shop)
            writing.write_checklist(out, built, settings, how=how, identities=borrowed.identities, more=more)
            leaves.bytes("summary.md", writing.summary(built, how=how, notes=borrowed.remote).encode())
            return built, borrowed.spent, [line for line in told(built) if line]

    built, spent, lines = asyncio.run(carry_out())
    if not asked["quiet"]:
        for stage, line in built.history.counts.items():
            click.echo(f"{stage:15} {line}")
        for line in (*lines, *writing.lost_told(built.history)):
            click.echo(line)
        click.echo(f"requests made now: {spent.requests}; answers from the store: {spent.stored}")
        click.echo(f"written: {out}, and a file of each stage in {folder}")
    return 0


def _settings(section: str, asked: dict[str, Any]) -> Settings:
    from pmbench_tasks.notes.pipeline.building import Settings

    given = {
        name: asked[name]
        for name in ("batch", "threshold", "tests", "size", "alpha", "penalty", "seed")
        if name in asked
    }
    return Settings(section=section, least=asked["enforceability"], **given)


def _section(name: str) -> str:
    from pmbench_tasks.notes.sections import known_section

    return "" if name.strip().casefold() in ("whole", "whole_note", "full") else known_section(name)


def _feedback(asked: dict[str, Any]) -> FeedbackFile:
    import msgspec

    from pmbench_tasks.notes.pipeline.feedback import read_feedback

    columns = {}
    for pair in asked["columns"]:
        name, sign, column = pair.partition("=")
        if not sign:
            raise ConfigError(f"{pair!r} is not of the form name=column", where="--columns")
        columns[name.strip()] = column.strip()
    if asked["feedback"] == DEMO:
        from importlib.resources import as_file, files

        with as_file(files(_HERE) / "demo" / "feedback.csv") as path:
            file = msgspec.structs.replace(read_feedback(path), shown=DEMO)
    else:
        file = read_feedback(Path(asked["feedback"]), columns=columns, encoding=asked["encoding"])
    limit = asked["limit"]
    return file if limit is None else msgspec.structs.replace(file, items=file.items[:limit])


def _about(file: FeedbackFile) -> dict[str, Any]:
    return {"file": Path(file.shown).name, "items": len(file.items), "without_stars": file.unrated}


def _sensitivity(asked: dict[str, Any]) -> Sensitivity:
    """As given; without, phi, unless everything is the demo's."""
    if asked["sensitivity"]:
        given: Sensitivity = asked["sensitivity"]
        return given
    demo = asked.get("feedback", DEMO) == DEMO and asked["notes"] in (None, DEMO)
    return "public" if demo else "phi"


__all__ = ["baseline", "build", "update"]
