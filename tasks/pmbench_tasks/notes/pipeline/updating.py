"""Adding to a checklist what new feedback asks for and no question of it covers (the paper's future work)."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

import msgspec

from pmbench_tasks.notes.checklist import Checklist
from pmbench_tasks.notes.pipeline import leaving
from pmbench_tasks.notes.pipeline.building import (
    Built,
    History,
    Settings,
    Workshop,
    finished,
    in_order,
    noted,
    refine,
)
from pmbench_tasks.notes.pipeline.choosing import STAGE, Chosen, choose, nothing_known, size_told
from pmbench_tasks.notes.pipeline.covering import Covering, assign
from pmbench_tasks.notes.pipeline.failing import need
from pmbench_tasks.notes.pipeline.feedback import FeedbackFile
from pmbench_tasks.notes.pipeline.filtering import filter_feedback
from pmbench_tasks.notes.pipeline.proposing import propose
from pmbench_tasks.notes.pipeline.records import Candidate, Stage, counted, dropped


class Updated(msgspec.Struct, frozen=True):
    """What an update came to.

    Attributes:
        built: the checklist, its own items first and as they were.
        items: new feedback about its section that there is an answer for.
        covered_before, covered_after: how many of them a question covers.
        uncovered: ids of those that none covers, after it.
        added: ids of the new items.
    """

    built: Built
    items: int
    covered_before: int
    covered_after: int
    uncovered: tuple[str, ...]
    added: tuple[str, ...]


async def update(checklist: Checklist, file: FeedbackFile, shop: Workshop, settings: Settings) -> Updated:
    """Find what new feedback is not covered, and propose questions for that alone.

    The checklist's own questions stay as they are. Proposed are questions from the feedback that none of them covers;
    they go through all stages, and what is close to a question that is there already is dropped. Of those that are
    left, the ones are added that `select` chooses over the uncovered feedback.

    Args:
        checklist: of yes/no questions.
        file: the new feedback.
        shop: see `building.Workshop`.
        settings: their section is the checklist's.

    Raises:
        Unanswered: requests failed, and nothing came of a stage.
        DataError: the model says of no item what covers it.
    """
    history = History()
    section = settings.section
    filtered = await filter_feedback(file.items, shop.model, section=section, progress=shop.progress)
    noted(history, filtered, file)
    leaving.leave_feedback(shop.leaves, filtered)
    file_of = shop.leaves.folder / "1-feedback.csv"
    need(filtered.used, file_of, "", filtered.failures, empty_is_fine=True)
    own = [
        Candidate(f"x{number}", item.question, item.source_feedback)
        for number, item in enumerate(checklist.items, 1)
    ]
    before = await assign([one.question for one in own], filtered.used, shop.model, progress=shop.progress)
    history.counts["cover"] = leaving.covered_told(before).replace("any question", "a question that is there")
    history.failures += before.failures
    named = [msgspec.structs.replace(one, id=item.id) for one, item in zip(own, checklist.items, strict=True)]
    leaving.leave_covering(shop.leaves, "2-covered-before.csv", named, before)
    known = int(before.known.sum())
    if filtered.used and not known:
        nothing_known(before)
    open_ones = before.uncovered
    if not open_ones:
        built = Built(checklist, history, {})
        return Updated(built, known, known, known, (), ())
    proposed = await propose(
        open_ones,
        shop.model,
        section=section,
        batch=settings.batch,
        seed=settings.seed,
        progress=shop.progress,
    )
    candidates: Sequence[Candidate] = history.add(
        "propose", proposed, counted(len(proposed.kept), "question")
    )
    leaving.leave_stage(shop.leaves, "2-proposed.json", proposed)
    proposals = shop.leaves.folder / "2-proposed.json"
    need(candidates, proposals, "", proposed.failures, empty_is_fine=True)
    candidates = await refine(candidates, shop, settings, history, existing=own, allow_none=True)
    after = await assign([one.question for one in candidates], open_ones, shop.model, progress=shop.progress)
    leaving.leave_covering(shop.leaves, "6-coverage.csv", candidates, after)
    if not after.known.any():
        nothing_known(after)
    kept, covers = _added(candidates, after, shop, settings, history)
    order = {item.id: place for place, item in enumerate(file.items)}
    numbered = _numbered(checklist, [in_order(one, order) for one in kept])
    weight = statistics.median(item.weight for item in checklist.items)
    covered = set(_covered(after, [one.id for one in candidates], {one.id for one in kept}))
    built = finished(numbered, dict(zip(numbered, covers, strict=True)), history, checklist, weight=weight)
    left = tuple(item.id for item in open_ones if item.id not in covered)
    return Updated(built, known, known - len(open_ones), known - len(left), left, tuple(numbered))


def _added(
    candidates: Sequence[Candidate],
    covering: Covering,
    shop: Workshop,
    settings: Settings,
    history: History,
) -> tuple[tuple[Candidate, ...], tuple[int, ...]]:
    """The questions to add, and how much of the uncovered feedback each covers."""
    useful = [place for place, row in enumerate(covering.matrix) if (row == 1).any()]
    nothing = [
        dropped(STAGE, "it covers nothing of what was not covered", one)
        for place, one in enumerate(candidates)
        if place not in useful
    ]
    if not useful:
        stage: Stage[Candidate] = Stage((), tuple(nothing), covering.failures)
        return history.add("select", stage, "no question to add"), ()
    part = Covering(covering.matrix[useful], covering.items, covering.failures)
    chosen: Chosen = choose(
        [candidates[place] for place in useful],
        part,
        size=settings.size,
        alpha=settings.alpha,
        penalty=settings.penalty,
    )
    leaving.leave_choice(shop.leaves, chosen, settings.alpha, shop.progress)
    stage = msgspec.structs.replace(chosen.stage, dropped=(*nothing, *chosen.stage.dropped))
    history.chosen = chosen
    told = f"{counted(len(stage.kept), 'question')} to add{size_told(settings.size, len(useful))}"
    return history.add("select", stage, told), chosen.covers


def _covered(covering: Covering, ids: Sequence[str], chosen: set[str]) -> list[str]:
    rows = [place for place, one in enumerate(ids) if one in chosen]
    return [
        item.id
        for item, column in zip(covering.items, covering.matrix[rows].T, strict=True)
        if (column == 1).any()
    ]


def _numbered(checklist: Checklist, kept: Sequence[Candidate]) -> Mapping[str, Candidate]:
    """New ids that no item has."""
    taken = {item.id for item in checklist.items}
    found: dict[str, Candidate] = {}
    number = len(checklist.items)
    for one in kept:
        number += 1
        while f"q{number:02d}" in taken:
            number += 1
        found[f"q{number:02d}"] = one
    return found
