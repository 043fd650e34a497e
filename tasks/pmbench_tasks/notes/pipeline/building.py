"""The stages in a row: from feedback to a checklist, with a file of each stage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from pmbench import Embedder, Model
from pmbench_tasks.notes.answers import CUT_OFF
from pmbench_tasks.notes.checklist import Checklist, Item
from pmbench_tasks.notes.pipeline import choosing, covering, leaving
from pmbench_tasks.notes.pipeline.asking import Progress
from pmbench_tasks.notes.pipeline.choosing import Chosen
from pmbench_tasks.notes.pipeline.enforcing import (
    LEAST_RATE,
    REWRITING,
    TESTS,
    Enforced,
    Judge,
    Reference,
    enforce,
)
from pmbench_tasks.notes.pipeline.failing import need
from pmbench_tasks.notes.pipeline.feedback import FeedbackFile
from pmbench_tasks.notes.pipeline.filtering import Filtered, filter_feedback
from pmbench_tasks.notes.pipeline.leaves import Leaves
from pmbench_tasks.notes.pipeline.merging import merge
from pmbench_tasks.notes.pipeline.proposing import BATCH, propose, propose_without_feedback
from pmbench_tasks.notes.pipeline.records import Candidate, Dropped, Failure, Stage, all_sources, counted
from pmbench_tasks.notes.pipeline.tagging import tag
from pmbench_tasks.notes.selection import ALPHA, DUPLICATE, PENALTY

NO_QUESTION = "no question was proposed that can be used"


class Settings(msgspec.Struct, frozen=True):
    """The numbers of the pipeline; the defaults are the paper's, but for the batch.

    Attributes:
        section: a section of a note, or `""` for the whole note.
        batch: feedback items that one request shows.
        threshold: cosine from which questions are merged.
        tests: unit tests of a question.
        least: enforceability below which a question is dropped; 0 drops none.
        size: questions of the checklist; None: as many as the objective wants.
        alpha, penalty: of the objective.
        seed: of batches and of the order of reference notes.
    """

    section: str = "assessment_and_plan"
    batch: int = BATCH
    threshold: float = DUPLICATE
    tests: int = TESTS
    least: float = LEAST_RATE
    size: int | None = None
    alpha: float = ALPHA
    penalty: float = PENALTY
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Workshop:
    """What the stages work with.

    Attributes:
        model: proposes, merges, tags, rewrites and assigns.
        judge: answers questions about notes; None: questions are not tested.
        references: notes that questions are tested on.
        embedder: finds questions that ask the same.
        progress: hears of phases.
        leaves: where files are left.
    """

    model: Model
    judge: Judge | None
    references: Sequence[Reference]
    embedder: Embedder
    progress: Progress
    leaves: Leaves


@dataclass(slots=True)
class History:
    """What a pipeline did, for its summary and for the checklist's provenance.

    Attributes:
        counts: what each stage left, in words, by stage.
        dropped, failures: of all stages.
        enforced: of stage 5, None where nothing was tested.
        worded: candidates by id, all that there were.
    """

    counts: dict[str, str] = field(default_factory=dict)
    dropped: list[Dropped] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    enforced: Enforced | None = None
    filtered: Filtered | None = None
    chosen: Chosen | None = None
    candidates: dict[str, Candidate] = field(default_factory=dict)

    def add(self, name: str, stage: Stage[Candidate], told: str) -> tuple[Candidate, ...]:
        """Note what a stage did, and hand on what it kept."""
        self.counts[name] = told
        self.dropped += stage.dropped
        self.failures += stage.failures
        self.candidates.update({one.id: one for one in stage.kept})
        return stage.kept


@dataclass(frozen=True, slots=True)
class Built:
    """A checklist and how it came about."""

    checklist: Checklist
    history: History
    metadata: Mapping[str, Mapping[str, Any]]
    """Of each item, by its id: candidates it came from, what it covers, how enforceable it is."""


async def build(file: FeedbackFile, shop: Workshop, settings: Settings, *, name: str) -> Built:
    """From feedback to a checklist.

    Raises:
        DataError: nothing is left after a stage; the message says which, its file says why.
        Unanswered: so it is, and requests failed.
    """
    history = History()
    section = settings.section
    filtered = await filter_feedback(file.items, shop.model, section=section, progress=shop.progress)
    noted(history, filtered, file)
    leaving.leave_feedback(shop.leaves, filtered)
    items = filtered.used
    left = shop.leaves.folder
    need(items, left / "1-feedback.csv", "no feedback is left that is about the section", filtered.failures)
    proposed = await propose(
        items, shop.model, section=section, batch=settings.batch, seed=settings.seed, progress=shop.progress
    )
    silent = len(items) - len(all_sources([*proposed.kept, *_as_candidates(proposed.dropped)]))
    told = f"{counted(len(proposed.kept), 'question')}; {counted(silent, 'feedback item')} led to no question"
    candidates = history.add("propose", proposed, told)
    leaving.leave_stage(shop.leaves, "2-proposed.json", proposed)
    need(candidates, shop.leaves.folder / "2-proposed.json", NO_QUESTION, proposed.failures)
    candidates = await refine(candidates, shop, settings, history)
    covered = await covering.assign(
        [one.question for one in candidates], items, shop.model, progress=shop.progress
    )
    history.counts["cover"] = leaving.covered_told(covered)
    leaving.leave_covering(shop.leaves, "6-coverage.csv", candidates, covered)
    chosen = choosing.choose(
        candidates, covered, size=settings.size, alpha=settings.alpha, penalty=settings.penalty
    )
    history.chosen = chosen
    more = choosing.size_told(settings.size, len(candidates))
    kept = history.add("select", chosen.stage, f"{counted(len(chosen.stage.kept), 'question')}{more}")
    leaving.leave_choice(shop.leaves, chosen, settings.alpha, shop.progress)
    order = {item.id: place for place, item in enumerate(file.items)}
    numbered = {f"q{number:02d}": in_order(one, order) for number, one in enumerate(kept, 1)}
    covers = dict(zip(numbered, chosen.covers, strict=True))
    return finished(numbered, covers, history, Checklist(name=name, items=(), section=section))


async def build_baseline(shop: Workshop, settings: Settings, *, count: int, name: str) -> Built:
    """A checklist from no feedback at all, refined as one from feedback, but for coverage and selection.

    Raises:
        DataError: nothing is left after a stage.
    """
    history = History()
    proposed = await propose_without_feedback(
        shop.model, section=settings.section, count=count, progress=shop.progress
    )
    candidates = history.add("propose", proposed, counted(len(proposed.kept), "question"))
    leaving.leave_stage(shop.leaves, "2-proposed.json", proposed)
    need(candidates, shop.leaves.folder / "2-proposed.json", NO_QUESTION, proposed.failures)
    candidates = await refine(candidates, shop, settings, history)
    numbered = {f"b{number:02d}": one for number, one in enumerate(candidates, 1)}
    return finished(numbered, {}, history, Checklist(name=name, items=(), section=settings.section))


async def refine(
    candidates: Sequence[Candidate],
    shop: Workshop,
    settings: Settings,
    history: History,
    *,
    existing: Sequence[Candidate] = (),
    allow_none: bool = False,
) -> tuple[Candidate, ...]:
    """Stages 3 to 5: merge, tag, and test where there is a judge.

    Args:
        candidates: of stage 2.
        shop, settings, history: of the pipeline.
        existing: questions of a checklist that is being added to.
        allow_none: whether nothing may be left.

    Raises:
        DataError: nothing is left after a stage, and something must be.
    """
    merged = await merge(
        candidates,
        shop.model,
        shop.embedder,
        section=settings.section,
        threshold=settings.threshold,
        existing=existing,
        progress=shop.progress,
    )
    leaving.leave_clusters(shop.leaves, merged)
    kept = history.add("merge", merged.stage, counted(len(merged.stage.kept), "question"))
    tagged = await tag(kept, shop.model, section=settings.section, progress=shop.progress)
    leaving.leave_stage(shop.leaves, "4-tagged.json", tagged)
    kept = history.add("tag", tagged, counted(len(tagged.kept), "question"))
    nothing = "no question is left that fits every visit and this section"
    need(kept, shop.leaves.folder / "4-tagged.json", nothing, tagged.failures, empty_is_fine=allow_none)
    if shop.judge is None:
        history.counts["enforceability"] = "not tested: no reference notes were given"
        return kept
    asked_about = bool(kept)
    enforced = await enforce(
        kept,
        shop.references,
        shop.model,
        shop.judge,
        section=settings.section,
        tests=settings.tests,
        least=settings.least,
        seed=settings.seed,
        progress=shop.progress,
    )
    history.enforced = enforced
    leaving.leave_tests(shop.leaves, kept, enforced)
    kept = history.add("enforceability", enforced.stage, leaving.tests_told(enforced))
    need(
        kept,
        shop.leaves.folder / "5-enforceability.json",
        "no question is left that the judge enforces",
        enforced.stage.failures,
        remedy=to_enforce(enforced),
        empty_is_fine=allow_none or not asked_about,
    )
    return kept


def noted(history: History, filtered: Filtered, file: FeedbackFile) -> None:
    """Note what became of the feedback."""
    history.filtered = filtered
    history.failures += filtered.failures
    history.counts["filter"] = leaving.feedback_told(filtered, file)


def finished(
    numbered: Mapping[str, Candidate],
    covers: Mapping[str, int],
    history: History,
    head: Checklist,
    *,
    weight: float = 1.0,
) -> Built:
    """A checklist of candidates, behind the items that `head` has, with what is known of each of them."""
    tested = {one.id: one for one in history.enforced.tested} if history.enforced else {}
    metadata: dict[str, dict[str, Any]] = {}
    for ident, one in numbered.items():
        about: dict[str, Any] = {"candidates": list(one.parents or (one.id,))}
        if ident in covers:
            about["covers"] = covers[ident]
        if one.id in tested:
            found = tested[one.id]
            about["enforceability"] = {
                "rate": None if found.rate is None else round(found.rate, 4),
                "judged": found.judged,
                "tests": len(found.tests),
            }
        metadata[ident] = about
    items = [
        Item(id=ident, question=one.question, weight=weight, source_feedback=one.sources)
        for ident, one in numbered.items()
    ]
    return Built(msgspec.structs.replace(head, items=(*head.items, *items)), history, metadata)


def in_order(one: Candidate, order: Mapping[str, int]) -> Candidate:
    """The candidate with its feedback in the order of the file."""
    return msgspec.structs.replace(one, sources=tuple(sorted(one.sources, key=lambda ident: order[ident])))


def to_enforce(enforced: Enforced) -> str:
    """What to do where no question is left after stage 5: another model or another judge, by who gave no answer."""
    lost = [one.kind for one in enforced.stage.failures]
    if any(kind.startswith(REWRITING) for kind in lost) and not any(one.judged for one in enforced.tested):
        cut = any(kind == f"{REWRITING}{CUT_OFF}" for kind in lost)
        why = "was cut off before it had rewritten a note" if cut else "rewrote no note"
        return f"The model {why}: give another --model, or --enforceability 0, which drops none"
    return "Give a stronger --judge, more --notes, or a lower --enforceability (0 drops none)"


def _as_candidates(left_out: Sequence[Dropped]) -> list[Candidate]:
    return [Candidate(one.id, one.question, one.sources) for one in left_out]
