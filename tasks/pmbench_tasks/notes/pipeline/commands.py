"""`pmbench checklist build`, `update` and `baseline`: the pipeline from the command line."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pmbench import ConfigError
from pmbench_tasks.notes.command_options import (
    borrowing,
    feedback_given,
    refuse_idle,
    section_named,
    to_be_gone_on_with,
)
from pmbench_tasks.notes.pipeline.options import SECTION, reading, selecting, working
from pmbench_tasks.notes.pipeline.records import counted

if TYPE_CHECKING:
    from pmbench_tasks.notes.pipeline.building import Built, Settings, Workshop
    from pmbench_tasks.notes.pipeline.enforcing import Reference
    from pmbench_tasks.notes.pipeline.feedback import FeedbackFile
    from pmbench_tasks.notes.stage_requests import Stage


@dataclass(frozen=True, kw_only=True)
class _Job:
    """What one of the commands does.

    Attributes:
        how: its name.
        settings: of the pipeline.
        work: makes the checklist.
        stages: what that asks, given the number of reference notes.
        read: what was read, in words; about: the same for the checklist's metadata.
        columns: remarks on the columns of the feedback.
        told: what is said of it when it is done.
    """

    how: str
    settings: Settings
    work: Callable[[Workshop], Any]
    stages: Callable[[int], Iterable[Stage]]
    read: Sequence[str] = ()
    columns: Sequence[str] = ()
    about: dict[str, Any] = field(default_factory=dict)
    told: Callable[[Built], Sequence[str]] = lambda _: []


@click.command("build")
@reading
@SECTION
@working
@selecting
def build(section: str, **asked: Any) -> int:
    """Grow a checklist from feedback.

    Each stage leaves a file in a folder beside the checklist. The same command again, after whatever stopped it, asks
    the models nothing that they have answered; it writes the same files.
    """
    from pmbench_tasks.notes import stage_requests
    from pmbench_tasks.notes.pipeline import building, writing

    out: Path = asked["out"]
    settings = _settings(section_named(section), asked)
    file = feedback_given(asked, asked["limit"])

    async def work(shop: Workshop) -> Built:
        return await building.build(file, shop, settings, name=out.stem)

    job = _Job(
        how="build",
        settings=settings,
        work=work,
        stages=lambda references: stage_requests.of_build(file.items, references, settings),
        read=[_feedback_read(file)],
        columns=file.columns_told,
        about={"feedback": _about(file)},
        told=lambda built: [writing.selection_told(built.history)],
    )
    return _carry_out(job, asked)


@click.command("update")
@click.argument("checklist", type=click.Path(path_type=Path))
@reading
@working
@selecting
def update(checklist: Path, **asked: Any) -> int:
    """Add to a checklist what new feedback asks for and no question of it covers.

    The questions of CHECKLIST stay as they are. From the feedback that none of them covers, new ones are proposed,
    refined and selected, and put behind them.
    """
    from pmbench_tasks.notes import stage_requests
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
    file = feedback_given(asked, asked["limit"])
    found: list[updating.Updated] = []

    async def work(shop: Workshop) -> Built:
        found.append(await updating.update(known, file, shop, settings))
        return found[-1].built

    def told(_: Built) -> list[str]:
        one = found[-1]
        lines = [f"covered before: {one.covered_before:,} of {one.items:,}; after: {one.covered_after:,}"]
        lines.append(f"added: {', '.join(one.added) or 'nothing'}")
        return lines

    job = _Job(
        how="update",
        settings=settings,
        work=work,
        stages=lambda references: stage_requests.of_update(known, file.items, references, settings),
        read=[f"{checklist.name}: {counted(len(known.items), 'question')}", _feedback_read(file)],
        columns=file.columns_told,
        about={"feedback": _about(file), "added_to": known.digest},
        told=told,
    )
    return _carry_out(job, asked)


@click.command("baseline")
@SECTION
@click.option(
    "--count", type=click.IntRange(1, 60), default=12, show_default=True, help="Questions that are asked for."
)
@working
def baseline(section: str, count: int, **asked: Any) -> int:
    """Make a checklist without feedback, to compare others with.

    Its questions come from what the model knows of good notes; they are merged, tagged and tested like others.
    """
    from pmbench_tasks.notes import stage_requests
    from pmbench_tasks.notes.pipeline import building

    out: Path = asked["out"]
    settings = _settings(section_named(section), asked)

    async def work(shop: Workshop) -> Built:
        return await building.build_baseline(shop, settings, count=count, name=out.stem)

    job = _Job(
        how="baseline",
        settings=settings,
        work=work,
        stages=lambda references: stage_requests.of_baseline(count, references, settings),
        about={"count": count},
    )
    return _carry_out(job, asked)


def _carry_out(job: _Job, asked: dict[str, Any]) -> int:
    from pmbench_tasks.notes.pipeline import writing
    from pmbench_tasks.notes.pipeline.choosing import nothing_covered
    from pmbench_tasks.notes.pipeline.claims import STAGES, check_folder
    from pmbench_tasks.notes.pipeline.references import read_references

    out: Path = asked["out"]
    writing.check_out(out)
    folder: Path = asked["folder"] or out.with_name(f"{out.stem}-stages")
    check_folder(folder, STAGES, "--folder")
    notes = asked["notes"]
    references = read_references(notes, job.settings.section) if notes else []
    if asked["judge"] and not references:
        raise ConfigError(
            "a judge answers questions about notes, and there are none",
            where="--judge",
            remedy="Give reference notes (--notes), or leave it out",
        )
    if not references:
        refuse_idle(("tests", "enforceability"), "--notes")
    with to_be_gone_on_with():
        done = asyncio.run(_pipeline(job, asked, references, folder))
    if done is None:
        return 0
    built, spent = done
    if not asked["quiet"]:
        for stage, line in built.history.counts.items():
            click.echo(f"{stage:15} {line}")
        for line in (*filter(None, job.told(built)), *writing.lost_told(built.history)):
            click.echo(line)
        click.echo(f"requests made now: {spent.requests}; answers from the store: {spent.stored}")
        click.echo(f"written: {out}, and a file of each stage in {folder}")
    if job.how == "build" and built.history.chosen is not None:
        nothing_covered(built.history.chosen, out)
    return 0


async def _pipeline(
    job: _Job, asked: dict[str, Any], references: Sequence[Reference], folder: Path
) -> tuple[Built, Any] | None:
    """The checklist, which is also on disk, and what it took; None after a dry run."""
    from pmbench import open_models
    from pmbench_tasks.notes.checklist_judge import ChecklistJudge
    from pmbench_tasks.notes.dry_run import lines_of, notes_told
    from pmbench_tasks.notes.pipeline import writing
    from pmbench_tasks.notes.pipeline.building import Workshop
    from pmbench_tasks.notes.pipeline.leaves import Leaves, check_writable

    names = {"model": asked["model"]}
    if references:
        names["judge"] = asked["judge"] or asked["model"]
    lent = borrowing(asked, ("feedback", "notes"))
    async with open_models(names, embedder=asked["embedder"], seed=0, **lent) as borrowed:
        if asked["dry_run"]:
            noted = [notes_told(asked["notes"], len(references), job.settings.section)] if references else []
            stages = list(job.stages(len(references)))
            click.echo("\n".join(lines_of([*job.read, *job.columns, *noted], borrowed, stages)))
            return None
        leaves = Leaves(folder)
        with leaves.locked("--folder"):
            check_writable(asked["out"])
            for line in (*borrowed.remote, *job.columns):
                borrowed.progress.note(line)
            assert borrowed.embedder is not None
            judge = ChecklistJudge(borrowed["judge"], probability="off") if references else None
            shop = Workshop(
                borrowed["model"], judge, references, borrowed.embedder, borrowed.progress, leaves
            )
            leaves.json("models.json", borrowed.identities)
            built = await job.work(shop)
            writing.write_checklist(
                asked["out"],
                built,
                job.settings,
                how=job.how,
                identities=borrowed.identities,
                more=job.about,
            )
            leaves.bytes("summary.md", writing.summary(built, how=job.how, notes=borrowed.remote).encode())
            return built, borrowed.spent


def _settings(section: str, asked: dict[str, Any]) -> Settings:
    from pmbench_tasks.notes.pipeline.building import Settings

    given = {
        name: asked[name]
        for name in ("batch", "threshold", "tests", "size", "alpha", "penalty", "seed")
        if name in asked
    }
    return Settings(section=section, least=asked["enforceability"], **given)


def _feedback_read(file: FeedbackFile) -> str:
    from pmbench_tasks.notes.dry_run import feedback_told

    return feedback_told(file.shown, file.items, file.unrated, file.rows)


def _about(file: FeedbackFile) -> dict[str, Any]:
    return {"file": Path(file.shown).name, "items": len(file.items), "without_stars": file.unrated}


__all__ = ["baseline", "build", "update"]
