"""Stage 5: does the judge notice when a note fails a question? Unit tests of each question (the paper's D.2)."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Protocol

import msgspec

from pmbench import Model, Prompt, RequestFailed, digest
from pmbench_tasks.notes.checklist import Checklist, Item
from pmbench_tasks.notes.pipeline.asking import (
    Progress,
    Unreadable,
    Useless,
    ask,
    each,
    first_object,
    object_schema,
)
from pmbench_tasks.notes.pipeline.failing import NO_REWRITING, told
from pmbench_tasks.notes.pipeline.records import Candidate, Dropped, Failure, Stage, by_kind, dropped
from pmbench_tasks.notes.pipeline.told import SECTION_NAME, as_data
from pmbench_tasks.notes.sections import body_of

STAGE = "enforceability"

REWRITING = "rewriting: "
"""What the kinds of failure of the model, not of the judge, begin with."""

NOT_REWRITTEN = "not rewritten"
"""The outcome of a note that the model left as it was, or deleted: it tests nothing."""

PROMPT = Prompt("pmbench_tasks.notes:prompts/pipeline_fail.txt")

TESTS = 10
"""Reference notes that pass a question and are rewritten to fail it, as in the paper."""

LEAST_RATE = 0.7
"""Share of the rewritten notes that the judge must see fail, as in the paper."""

MAX_TOKENS = 2048
"""Most tokens of a rewritten section."""


class Reference(msgspec.Struct, frozen=True):
    """A reference note: what was said, and the section that is scored."""

    id: str
    transcript: str
    text: str


class Answer(Protocol):
    """A judge's answer to one question."""

    @property
    def met(self) -> bool | None:
        """Yes, no, or None where there is no usable answer."""
        ...

    @property
    def why(self) -> str:
        """Why there is none."""
        ...


class Judge(Protocol):
    """What answers the questions of a checklist about a section of a note."""

    async def ask(self, checklist: Checklist, transcript: str, section: str) -> Sequence[Answer]:
        """One answer for each item, in order."""
        ...


class UnitTest(msgspec.Struct, frozen=True):
    """One passing note rewritten to fail.

    Attributes:
        note: its id.
        outcome: `seen` (the judge says no, as it should), `not seen` (it still says yes), `missing`; `not rewritten`:
            the model gave the text back as it was, or empty, so that there is no test.
        rewritten: the section as the model rewrote it.
        why: why the outcome is missing, or what the model did instead.
    """

    note: str
    outcome: str
    rewritten: str = ""
    why: str = ""


class Tested(msgspec.Struct, frozen=True):
    """The unit tests of one question.

    Attributes:
        id: of the candidate.
        asked: reference notes that the judge was asked about.
        passing, failing, unanswered: what it said of them.
        tests: one for each passing note, `TESTS` at most, those that were not rewritten among them.
    """

    id: str
    asked: int
    passing: int
    failing: int
    unanswered: int
    tests: tuple[UnitTest, ...]

    @property
    def judged(self) -> int:
        """Tests with an answer."""
        return sum(test.outcome in ("seen", "not seen") for test in self.tests)

    @property
    def not_rewritten(self) -> int:
        """Passing notes that the model did not rewrite, so that they test nothing."""
        return sum(test.outcome == NOT_REWRITTEN for test in self.tests)

    @property
    def rate(self) -> float | None:
        """Share of the tests with an answer in which the judge saw the fault; None where there is none."""
        seen = sum(test.outcome == "seen" for test in self.tests)
        return seen / self.judged if self.judged else None


class Enforced(msgspec.Struct, frozen=True):
    """What stage 5 came to: the tests of each question, and as a stage what goes on."""

    tested: tuple[Tested, ...]
    stage: Stage[Candidate]


async def enforce(
    candidates: Sequence[Candidate],
    references: Sequence[Reference],
    model: Model,
    judge: Judge,
    *,
    section: str,
    tests: int = TESTS,
    least: float = LEAST_RATE,
    seed: int = 0,
    progress: Progress,
) -> Enforced:
    """Keep the questions that the judge can enforce.

    Notes are put to the judge in an order drawn for each question until `tests` of them pass; each of these is
    rewritten by the model so that it fails, and judged again. The rate is the share of "no" among the answers to the
    rewritten ones. A question that no reference note passes cannot be tested, and is dropped unless `least` is 0.
    That the model's rewriting really fails the question is not checked; the texts stand in the stage's file.

    Args:
        candidates: questions.
        references: notes that have the section.
        model: rewrites.
        judge: answers, one question at a time.
        section: see `filtering.filter_feedback`.
        tests: most passing notes for a question.
        least: the least rate that is kept; 0 keeps all.
        seed: of the order of notes.
        progress: hears of it.
    """

    async def one(candidate: Candidate) -> tuple[Tested, list[Failure]]:
        return await _test(candidate, references, model, judge, section, tests, seed)

    found = await each(
        candidates,
        one,
        model=model,
        progress=progress,
        phase="test enforceability",
        failed=lambda pair: pair[0].rate is None,
    )
    kept: list[Candidate] = []
    left_out: list[Dropped] = []
    for candidate, (tested, failed) in zip(candidates, found, strict=True):
        if why := _why_not(tested, failed, least):
            left_out.append(dropped(STAGE, why, candidate))
        else:
            kept.append(candidate)
    failures = tuple(failure for _, failed in found for failure in failed)
    return Enforced(tuple(tested for tested, _ in found), Stage(tuple(kept), tuple(left_out), failures))


def _why_not(tested: Tested, failures: Sequence[Failure], least: float) -> str:
    if least <= 0:
        return ""
    if tested.rate is None:
        lost = f" ({told(by_kind(failures))})" if failures else ""
        if not tested.passing:
            said = f"{tested.failing} fail, {tested.unanswered} have no answer{lost}"
            return f"no reference note passes it ({tested.asked} asked: {said}), so it cannot be tested"
        if tested.not_rewritten == len(tested.tests):
            return (
                f"the model rewrote none of its {tested.passing} passing notes{lost}, so it cannot be tested"
            )
        return f"none of its {len(tested.tests)} unit tests has an answer{lost}"
    # Products, since shares of ten are not exact in binary.
    seen = round(tested.rate * tested.judged)
    if seen >= least * tested.judged - 1e-9:
        return ""
    return f"the judge saw {seen} of {tested.judged} notes fail that were made to fail it, below {least:g}"


async def _test(
    candidate: Candidate,
    references: Sequence[Reference],
    model: Model,
    judge: Judge,
    section: str,
    tests: int,
    seed: int,
) -> tuple[Tested, list[Failure]]:
    checklist = Checklist(
        name=candidate.id, items=(Item(id="q1", question=candidate.question),), section=section
    )
    order = list(references)
    # Of the wording, so that another question more or less changes nobody's notes.
    random.Random(digest([seed, candidate.question])).shuffle(order)
    passing: list[Reference] = []
    counts = {True: 0, False: 0, None: 0}
    failures: list[Failure] = []
    for reference in order:
        if len(passing) >= tests:
            break
        met, why = await _judged(judge, checklist, reference, reference.text)
        counts[met] += 1
        if met:
            passing.append(reference)
        elif met is None:
            failures.append(Failure(STAGE, (f"{candidate.id}/{reference.id}",), why))
    made = [await _unit_test(candidate, reference, checklist, model, judge, section) for reference in passing]
    failures += [
        Failure(STAGE, (f"{candidate.id}/{test.note}",), test.why)
        for test in made
        if test.outcome in ("missing", NOT_REWRITTEN)
    ]
    tested = Tested(
        candidate.id, sum(counts.values()), counts[True], counts[False], counts[None], tuple(made)
    )
    return tested, failures


async def _unit_test(
    candidate: Candidate,
    reference: Reference,
    checklist: Checklist,
    model: Model,
    judge: Judge,
    section: str,
) -> UnitTest:
    def read(text: str) -> str:
        return _rewritten(text, reference.text, section)

    asked = await ask(
        model,
        PROMPT.messages(
            section=SECTION_NAME[section],
            transcript=as_data(reference.transcript),
            text=as_data(reference.text),
            question=candidate.question,
        ),
        read,
        schema=object_schema({"rewritten": {"type": "string"}}),
        max_tokens=MAX_TOKENS,
    )
    if asked.value is None:
        outcome = NOT_REWRITTEN if asked.failure in NO_REWRITING else "missing"
        return UnitTest(reference.id, outcome, why=f"{REWRITING}{asked.failure}")
    met, why = await _judged(judge, checklist, reference, asked.value)
    if met is None:
        return UnitTest(reference.id, "missing", asked.value, why)
    return UnitTest(reference.id, "not seen" if met else "seen", asked.value)


async def _judged(
    judge: Judge, checklist: Checklist, reference: Reference, text: str
) -> tuple[bool | None, str]:
    """What the judge says, and why it says nothing."""
    try:
        answer = (await judge.ask(checklist, reference.transcript, text))[0]
    except RequestFailed as error:
        return None, f"judging: {error.kind}"
    return answer.met, "" if answer.met is not None else f"judging: {answer.why}"


def _rewritten(text: str, before: str, section: str) -> str:
    found = first_object(text, "rewritten")
    after = found["rewritten"] if found else None
    if not isinstance(after, str):
        raise Unreadable('There was no JSON object {"rewritten": "..."} in your answer.')
    after = after.encode("utf-8", "replace").decode().strip()
    if section:
        after = body_of(after).strip()
    if not any(letter.isalnum() for letter in after):
        raise Useless("empty", "Nothing is left of the text: change it so that it fails, and keep the rest.")
    if after.split() == before.split():
        raise Useless("unchanged", "This is the text that you were given.")
    return after
