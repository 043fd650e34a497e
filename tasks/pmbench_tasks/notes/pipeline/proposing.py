"""Stage 2: questions from feedback, in batches, or from nothing; turned around where yes would be the bad answer."""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec

from pmbench import Message, Model, Prompt
from pmbench_tasks.notes.pipeline.asking import (
    Asked,
    Progress,
    Unreadable,
    ask,
    ask_numbered,
    each,
    first_object,
    in_groups,
    numbers_schema,
    object_schema,
    said_yes,
)
from pmbench_tasks.notes.pipeline.feedback import words_of
from pmbench_tasks.notes.pipeline.records import Candidate, Failure, FeedbackItem, Stage, dropped
from pmbench_tasks.notes.pipeline.told import SECTION_NAME, SECTION_TOLD, one_line
from pmbench_tasks.notes.yes_no import asks_for_na, is_statement, not_yes_no

STAGE = "propose"

PROPOSE = Prompt("pmbench_tasks.notes:prompts/pipeline_propose.txt")
BASELINE = Prompt("pmbench_tasks.notes:prompts/pipeline_baseline.txt")
DIRECTION = Prompt("pmbench_tasks.notes:prompts/pipeline_direction.txt")

BATCH = 100
"""Feedback items that one request shows. The paper shows about 1,000; long lists lose their middle."""

BATCH_CHARACTERS = 40_000
"""Characters of feedback that one request shows, about 10,000 tokens."""

MAX_TOKENS = 4096
"""Most tokens of an answer with questions; with few items there are few questions."""

_TOKENS_BESIDE, _TOKENS_EACH = 256, 64

MOST_QUESTIONS = 60
"""Questions that one answer may have."""

LEAST_WORDS = 3
"""Words of the shortest question."""

LONGEST = 300
"""Characters of the longest question: a checklist is read by people."""

Split = tuple[Sequence[FeedbackItem], Asked[list[tuple[str, tuple[str, ...]]]]]
"""A part of a batch, and the questions that it led to with the ids of their feedback."""


async def propose(
    items: Sequence[FeedbackItem],
    model: Model,
    *,
    section: str,
    batch: int = BATCH,
    seed: int = 0,
    progress: Progress,
) -> Stage[Candidate]:
    """Questions that feedback leads to, each with the items it came from.

    The items are shuffled and shown in batches. Where a batch is more than the model can read or answer at once, each
    half is shown by itself: nothing is cut off. A batch that leads to no readable answer is counted as failed.

    Args:
        items: of the section.
        model: proposes.
        section: see `filtering.filter_feedback`.
        batch: most items of a batch.
        seed: of the shuffling.
        progress: hears of it.
    """
    shuffled = list(items)
    random.Random(seed).shuffle(shuffled)
    groups = batches(shuffled, batch)
    answers = await each(
        groups,
        lambda one: _ask_batch(one, model, section),
        model=model,
        progress=progress,
        phase="propose",
        failed=lambda parts: any(asked.failure for _, asked in parts),
    )
    candidates: list[Candidate] = []
    failures: list[Failure] = []
    for part, asked in (one for parts in answers for one in parts):
        if asked.value is None:
            failures.append(Failure(STAGE, tuple(item.id for item in part), asked.failure))
            continue
        for question, sources in asked.value:
            candidates.append(Candidate(f"p{len(candidates) + 1}", question, sources))
    turned = await turn(candidates, model, section=section, progress=progress)
    return Stage(turned.kept, turned.dropped, (*failures, *turned.failures))


async def propose_without_feedback(
    model: Model, *, section: str, count: int, progress: Progress
) -> Stage[Candidate]:
    """The baseline: as many questions as asked for, from what the model knows of good notes alone."""
    told = {"section": SECTION_NAME[section], "told": SECTION_TOLD[section], "count": count}
    asked = await ask(
        model,
        BASELINE.messages(**told),
        lambda text: _questions(text, ()),
        schema=_schema(0, most=count),
        max_tokens=_tokens(count),
    )
    if asked.value is None:
        return Stage((), (), (Failure(STAGE, (), asked.failure),))
    candidates = [Candidate(f"p{number}", question) for number, (question, _) in enumerate(asked.value, 1)]
    return await turn(candidates, model, section=section, progress=progress)


async def turn(
    candidates: Sequence[Candidate], model: Model, *, section: str, progress: Progress
) -> Stage[Candidate]:
    """Make sure that yes is the good answer to each question; the model rewords those of which it is not.

    Dropped are questions that cannot be answered by yes or no or ask for "not applicable" (found without a model),
    and those about which the model says nothing usable: a question of unknown direction would count the wrong way.
    """
    answerable = [(one, unanswerable(one.question)) for one in candidates]
    left_out = [dropped(STAGE, why, one) for one, why in answerable if why]
    fine = [one for one, why in answerable if not why]
    kept: list[Candidate] = []
    failures: list[Failure] = []
    for one, asked in await in_groups(
        fine,
        lambda group: _ask_direction(group, model, section),
        model=model,
        progress=progress,
        phase="check that yes is good",
    ):
        if asked.value is None:
            failures.append(Failure(STAGE, (one.id,), asked.failure))
            why = f"the model did not say whether yes is the good answer ({asked.failure})"
            left_out.append(dropped(STAGE, why, one))
        elif not asked.value:
            kept.append(one)
        elif why := unanswerable(asked.value):
            left_out.append(dropped(STAGE, f"turned around, {why}", one))
        else:
            kept.append(msgspec.structs.replace(one, question=asked.value, worded=one.question))
    return Stage(tuple(kept), tuple(left_out), tuple(failures))


def batches(items: Sequence[FeedbackItem], most: int) -> list[list[FeedbackItem]]:
    """The items in batches of at most so many, each within `BATCH_CHARACTERS` unless one item alone is longer."""
    found: list[list[FeedbackItem]] = []
    characters = 0
    for item in items:
        if not found or len(found[-1]) >= most or characters + len(item.text) > BATCH_CHARACTERS:
            found.append([])
            characters = 0
        found[-1].append(item)
        characters += len(item.text)
    return found


def unanswerable(question: str) -> str:
    """Why a wording is no question for a checklist; `""`: it is one."""
    if words_of(question) < LEAST_WORDS:
        return f"it has fewer than {LEAST_WORDS} words"
    if len(question) > LONGEST:
        return f"it has more than {LONGEST} characters"
    if asks_for_na(question):
        return 'it asks for "not applicable"'
    if reason := not_yes_no(question):
        return f"it cannot be answered yes or no: {reason}"
    return "it is a statement, not a question" if is_statement(question) else ""


async def _ask_batch(items: Sequence[FeedbackItem], model: Model, section: str) -> list[Split]:
    asked = await ask(
        model,
        _messages(items, section),
        lambda text: _questions(text, items),
        schema=_schema(len(items)),
        max_tokens=_tokens(len(items)),
    )
    if asked.failure not in ("too-long", "cut-off") or len(items) == 1:
        return [(items, asked)]
    half = len(items) // 2
    parts = [await _ask_batch(part, model, section) for part in (items[:half], items[half:])]
    return [one for part in parts for one in part]


def _tokens(count: int) -> int:
    return min(MAX_TOKENS, _TOKENS_BESIDE + _TOKENS_EACH * count)


def _messages(items: Sequence[FeedbackItem], section: str) -> list[Message]:
    entries = [(number, one_line(item.text)) for number, item in enumerate(items, 1)]
    return PROPOSE.messages(section=SECTION_NAME[section], told=SECTION_TOLD[section], entries=entries)


def _schema(items: int, *, most: int = MOST_QUESTIONS) -> dict[str, Any]:
    """JSON schema of questions, each with numbers of feedback where there are items."""
    more = {"feedback": numbers_schema(items, least=1)} if items else {}
    question = object_schema({"question": {"type": "string"}, **more})
    questions = min(most, max(3, items)) if items else most
    return object_schema({"questions": {"type": "array", "items": question, "maxItems": questions}})


def _questions(text: str, items: Sequence[FeedbackItem]) -> list[tuple[str, tuple[str, ...]]]:
    """The questions of an answer with the ids of their feedback; none is an answer, too.

    Raises:
        Unreadable: no such object, a number that no item has, a question from no feedback where there is some.
    """
    found = first_object(text, "questions")
    entries = found["questions"] if found else None
    if not isinstance(entries, list) or not all(isinstance(one, dict) for one in entries):
        raise Unreadable('There was no JSON object {"questions": [...]} in your answer.')
    if len(entries) > MOST_QUESTIONS:
        raise Unreadable(f"These are more than {MOST_QUESTIONS} questions.")
    return [(_question(one), _sources(one, items)) for one in entries]


def _question(entry: Mapping[str, Any]) -> str:
    question = entry.get("question")
    if not isinstance(question, str):
        raise Unreadable('Each entry must have a "question".')
    return one_line(question)


def _sources(entry: Mapping[str, Any], items: Sequence[FeedbackItem]) -> tuple[str, ...]:
    if not items:
        return ()
    numbers = entry.get("feedback")
    known = set(range(1, len(items) + 1))
    if not isinstance(numbers, list) or not numbers or not all(_among(one, known) for one in numbers):
        raise Unreadable(
            f'"feedback" must list the numbers of the items behind the question, from 1 to {len(items)}.'
        )
    return tuple(items[number - 1].id for number in sorted(set(numbers)))


def _among(value: Any, known: Collection[int]) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value in known


async def _ask_direction(group: Sequence[Candidate], model: Model, section: str) -> list[Asked[str]]:
    return await ask_numbered(
        model,
        DIRECTION,
        [one.question for one in group],
        _direction,
        entry={"yes_is_good": {"type": "boolean"}, "reworded": {"type": "string"}},
        tokens_each=96,
        section=SECTION_NAME[section],
    )


def _direction(entry: Mapping[str, Any]) -> str:
    """`""` where yes is good, else the question turned around."""
    if said_yes(entry.get("yes_is_good")):
        return ""
    reworded = entry.get("reworded")
    if not isinstance(reworded, str) or not reworded.strip():
        raise Unreadable("Write the question turned around.")
    return one_line(reworded)
