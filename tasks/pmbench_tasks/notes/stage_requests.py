"""What a command of checklists would ask, stage by stage: fewest and most requests, before any is made.

What the store has is not taken off. Where a stage depends on what an earlier one comes to, the numbers are those of
so many questions (`for each 10 questions`), or are of all feedback that could get there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from pmbench_tasks.notes.checklist import Checklist
from pmbench_tasks.notes.checklist_judge import ATTEMPTS as JUDGE_ATTEMPTS
from pmbench_tasks.notes.evaluation.given import Notes
from pmbench_tasks.notes.evaluation.reading_given import Inputs
from pmbench_tasks.notes.perturb_by_model import ATTEMPTS as REWRITE_ATTEMPTS
from pmbench_tasks.notes.perturb_by_model import BY_MODEL, SECTION
from pmbench_tasks.notes.pipeline.asking import ATTEMPTS, TOGETHER
from pmbench_tasks.notes.pipeline.building import Settings
from pmbench_tasks.notes.pipeline.feedback import LEAST_WORDS, words_of
from pmbench_tasks.notes.pipeline.proposing import batches
from pmbench_tasks.notes.pipeline.records import FeedbackItem
from pmbench_tasks.notes.sections import is_empty


class Stage(msgspec.Struct, frozen=True):
    """The requests of one stage.

    Attributes:
        name: of the stage.
        fewest, most: requests, to all models together.
        each: what they are for where the stage's own number is not known yet (`10 questions`); `""`: for all of it.
        told: what else has to be known of the numbers.
    """

    name: str
    fewest: int
    most: int
    each: str = ""
    told: str = ""

    def __str__(self) -> str:
        ends = f"{self.fewest:,}" if self.fewest == self.most else f"{self.fewest:,} to {self.most:,}"
        each = f" for each {self.each}" if self.each else ""
        noun = "request" if ends == "1" else "requests"
        return f"{self.name:15} {ends} {noun}{each}{f'; {self.told}' if self.told else ''}"


def of_build(items: Sequence[FeedbackItem], references: int, settings: Settings) -> Iterator[Stage]:
    """The stages of `pmbench checklist build`.

    Args:
        items: all feedback of the file.
        references: notes that questions are tested on.
        settings: of the pipeline.
    """
    asked = _long_enough(items)
    yield _filtering(asked)
    yield _proposing(asked, settings)
    yield from _refining(references, settings)
    yield _covering(asked)


def of_update(
    known: Checklist, items: Sequence[FeedbackItem], references: int, settings: Settings
) -> Iterator[Stage]:
    """The stages of `pmbench checklist update`, which ends early where nothing is left uncovered."""
    asked = _long_enough(items)
    yield _filtering(asked)
    before = _covering(asked)
    told = f"by the {len(known.items)} questions that are there"
    yield msgspec.structs.replace(before, name="cover before", told=told)
    yield msgspec.structs.replace(_proposing(asked, settings), fewest=0)
    yield from _refining(references, settings)
    yield msgspec.structs.replace(_covering(asked), fewest=0)


def of_baseline(count: int, references: int, settings: Settings) -> Iterator[Stage]:
    """The stages of `pmbench checklist baseline`."""
    yield Stage("propose", 1, ATTEMPTS, told=f"at most {count} questions")
    yield from _refining(references, settings)


def of_evaluation(checklists: Sequence[Checklist], inputs: Inputs) -> Iterator[Stage]:
    """What `pmbench checklist evaluate` asks: of the feedback, then of the notes, then for each checklist."""
    asked, notes = inputs.asked, inputs.notes
    long_enough = [] if inputs.feedback is None else _long_enough(inputs.feedback.items)
    if inputs.feedback is not None:
        yield _filtering(long_enough)
    rewritten = [kind for kind in inputs.kinds if kind in BY_MODEL]
    if notes is not None and rewritten:
        many = len(rewritten) * _with_plan(notes)
        yield Stage("perturb", many, REWRITE_ATTEMPTS * many, told=", ".join(rewritten))
    for one in checklists:
        if inputs.feedback is not None:
            yield msgspec.structs.replace(_covering(long_enough), fewest=0, told=one.name)
        if notes is None:
            continue
        yield _answering(one, inputs, notes)
        if asked["again"]:
            texts = asked["again"] * len(notes.references())
            low, high = _of_text(one, asked["ask"])
            yield Stage("ask again", texts * low, texts * high, told=one.name)
        if asked["tests"]:
            low, high = _of_tests(len(notes.testable()), asked["tests"])
            # What a judge was asked question by question already is in the store by then.
            fewest = 0 if asked["ask"] == "item" else len(one.items) * low
            yield Stage("enforceability", fewest, len(one.items) * high, told=one.name)


def _long_enough(items: Sequence[FeedbackItem]) -> list[FeedbackItem]:
    return [item for item in items if words_of(item.text) >= LEAST_WORDS]


def _filtering(asked: Sequence[FeedbackItem]) -> Stage:
    low, high = _in_groups(len(asked))
    return Stage("filter", low, high, told=f"{len(asked):,} feedback items of more than two words")


def _proposing(asked: Sequence[FeedbackItem], settings: Settings) -> Stage:
    most = ATTEMPTS * len(batches(asked, settings.batch))
    told = "more where a batch is too long for the model and is halved"
    return Stage("propose", int(bool(asked)), most, told=told)


def _refining(references: int, settings: Settings) -> Iterator[Stage]:
    """From questions as they were proposed to those that are tested; how many there are is not known."""
    low, high = _in_groups(TOGETHER)
    ten = f"{TOGETHER} questions"
    yield Stage("yes is good", low, high, each=ten)
    yield Stage("merge", 1, ATTEMPTS, each="group of questions that are alike")
    yield Stage("tag", low, high, each=ten)
    if references:
        fewest, most = _of_tests(references, settings.tests)
        yield Stage("enforceability", fewest, most, each="question")


def _covering(asked: Sequence[FeedbackItem]) -> Stage:
    """One request for each item that is left; all of them may be."""
    return Stage("cover", int(bool(asked)), ATTEMPTS * len(asked))


def _in_groups(count: int) -> tuple[int, int]:
    """Requests about so many things, `TOGETHER` in each; those without an answer again, at last alone."""
    groups = -(-count // TOGETHER)
    return groups, (ATTEMPTS - 1) * groups + count


def _of_tests(references: int, tests: int) -> tuple[int, int]:
    """Requests to judge and model for the unit tests of one question.

    Notes are asked about until enough of them pass; each that passes is rewritten and asked about once more.
    """
    tests = min(tests, references)
    fewest = min(references, 3 * tests)  # no note passes, or the first ones do
    return fewest, JUDGE_ATTEMPTS * (references + tests) + ATTEMPTS * tests


def _answering(one: Checklist, inputs: Inputs, notes: Notes) -> Stage:
    """The questions about every reference note, draft and labelled note, and about what was perturbed of them."""
    drafts = (note for pair in inputs.pairs for note in (pair.a, pair.b))
    # A note may have two names; it is asked about once. Notes with labels of other questions are not asked about.
    texts = {*notes.references().values(), *map(notes.find, drafts)}
    labelled = {*map(notes.find, inputs.labelled)} - texts
    most = len(texts) + len(labelled) + len(inputs.kinds) * len(notes.referenced)
    low, high = _of_text(one, inputs.asked["ask"])
    return Stage("answer", len(texts) * low, most * high, told=f"{one.name}, by the judge")


def _of_text(one: Checklist, ask: str) -> tuple[int, int]:
    many = 1 if ask == "batch" else len(one.items)
    return many, JUDGE_ATTEMPTS * many


def _with_plan(notes: Notes) -> int:
    """Reference notes with an assessment and plan, which is all that a model rewrites."""
    return sum(
        not is_empty(visit.sections.get(SECTION, ""), headers=notes.headers) for visit in notes.referenced
    )
