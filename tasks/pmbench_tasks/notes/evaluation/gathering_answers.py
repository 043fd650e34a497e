"""What a model and a judge are asked about one checklist, so that it can be evaluated; and what came of it.

Every note is put to the judge once, whatever parts of the evaluation need it, with all questions of the checklist.
What is missing stays missing and is counted by reason.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from pmbench import Embedder, Model, RequestFailed
from pmbench_tasks.notes.answers import FAILED, Answered
from pmbench_tasks.notes.checklist import Checklist
from pmbench_tasks.notes.checklist_judge import ATTEMPTS, Ask, ChecklistJudge
from pmbench_tasks.notes.evaluation.answers import Answers, answers_of
from pmbench_tasks.notes.evaluation.enforceability import UnitTest
from pmbench_tasks.notes.evaluation.evaluate import Material
from pmbench_tasks.notes.evaluation.given import Notes, Written
from pmbench_tasks.notes.evaluation.human import Labels
from pmbench_tasks.notes.evaluation.intervals import NAN, Floats
from pmbench_tasks.notes.evaluation.perturbing import Made
from pmbench_tasks.notes.evaluation.preferences import Pair
from pmbench_tasks.notes.pipeline.asking import Progress, each
from pmbench_tasks.notes.pipeline.covering import Covering, assign
from pmbench_tasks.notes.pipeline.enforcing import NOT_REWRITTEN, Tested, enforce
from pmbench_tasks.notes.pipeline.failing import vectors_of
from pmbench_tasks.notes.pipeline.records import Candidate, FeedbackItem
from pmbench_tasks.notes.pipeline.told import one_line

REFERENCE, COMPARED, LABELLED, TESTS = "reference notes", "compared notes", "labelled notes", "unit tests"
PREPARED = "notes for unit tests"

Row = tuple[str, str]
"""Which text a judge is asked about: the perturbation, `""` for none, and the note's id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What checklists are evaluated on, the same for all of them. What is empty was not given.

    Attributes:
        feedback: items about the section; vectors: of each of them, (n, d).
        notes: reference notes and drafts; made: the perturbed ones.
        pairs: preferences; labels: people's answers; labelled: the notes of those that are asked about.
        tests: most unit tests of a question; again: how often more the judge is asked about the reference notes.
        ask: how the judge is asked.
        seed: of the order of unit tests.
    """

    feedback: Sequence[FeedbackItem] = ()
    vectors: Floats | None = None
    notes: Notes | None = None
    made: Sequence[Made] = ()
    pairs: Sequence[Pair] = ()
    labels: Labels | None = None
    labelled: Sequence[str] = ()
    tests: int = 0
    again: int = 0
    ask: Ask = "item"
    seed: int = 0


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """What a judge answered in one part of the evaluation: a row of the table of what was asked.

    Attributes:
        part: of the evaluation.
        notes: texts that were asked about.
        asked, yes, no, missing: answers.
        why: missing answers by reason.
    """

    part: str
    notes: int
    asked: int
    yes: int
    no: int
    missing: int
    why: dict[str, int] = {}


@dataclass(slots=True)
class Gathered:
    """What came of asking about one checklist.

    Attributes:
        material: for `evaluate`.
        told: what was asked, part by part.
        covering: of the feedback, with the items that have no answer.
        answers: the judge's, by text; again: those of each further time.
        tested: unit tests with the texts that were made for them.
    """

    material: Material
    told: list[Told] = field(default_factory=list)
    covering: Covering | None = None
    answers: dict[Row, list[Answered]] = field(default_factory=dict)
    again: list[dict[Row, list[Answered]]] = field(default_factory=list)
    tested: Sequence[Tested] = ()


class Asked:
    """A judge's model. What was sent is waited for even if the judge has given up the rest of a note: it is paid for.

    Args:
        model: is asked.
        time: how often it was asked before. The store has other answers for each time. A model that always picks its
            likeliest words says the same again; one behind a service may not.
    """

    def __init__(self, model: Model, time: int = 0) -> None:
        self._model, self._from = model, time * ATTEMPTS
        self.name, self.offers = model.name, model.offers

    async def chat(self, messages: Any, *, attempt: int = 0, **more: Any) -> Any:
        """See `Model.chat`."""
        sent = asyncio.ensure_future(self._model.chat(messages, attempt=self._from + attempt, **more))
        sent.add_done_callback(lambda task: task.cancelled() or task.exception())
        return await asyncio.shield(sent)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)


async def gather(
    checklist: Checklist, given: Given, model: Model, judge: Model | None, progress: Progress
) -> Gathered:
    """Ask everything that the evaluation of one checklist needs.

    Args:
        checklist: of yes/no questions.
        given: feedback, notes, preferences, labels.
        model: assigns feedback and rewrites notes for unit tests.
        judge: answers the questions; not needed without notes.
        progress: hears of it.
    """
    ids = tuple(item.id for item in checklist.items)
    found = Gathered(Material(name=checklist.name, questions=ids))
    parts: dict[str, Any] = {}
    if given.feedback:
        progress.note(f"{checklist.name}: feedback")
        questions = [item.question for item in checklist.items]
        found.covering = await assign(questions, given.feedback, model, progress=progress)
        rated = any(item.stars is not None for item in given.feedback)
        stars = [NAN if item.stars is None else float(item.stars) for item in given.feedback]
        parts |= {
            "coverage": found.covering.matrix,
            "stars": stars if rated else None,
            "embeddings": given.vectors,
        }
    if given.notes is not None and judge is not None:
        progress.note(f"{checklist.name}: notes")
        parts |= await _of_notes(checklist, given, given.notes, model, judge, progress, found)
    found.material = Material(name=checklist.name, questions=ids, **parts)
    return found


async def _of_notes(
    checklist: Checklist,
    given: Given,
    notes: Notes,
    model: Model,
    judge: Model,
    progress: Progress,
    found: Gathered,
) -> dict[str, Any]:
    ids = [item.id for item in checklist.items]
    references = notes.references()
    drafts = list(dict.fromkeys(note for pair in given.pairs for note in (pair.a, pair.b)))
    labelled = given.labelled if given.labels and set(given.labels.questions) & set(ids) else ()
    texts: dict[Row, Written] = {("", note): text for note, text in references.items()}
    texts |= {("", note): text for note in (*drafts, *labelled) if (text := notes.find(note)) is not None}
    texts |= {(one.kind, one.note): one.written for one in given.made if one.written is not None}
    found.answers = await ask_about(checklist, texts, Asked(judge), given.ask, progress, "answer questions")

    def table(part: str, rows: Sequence[Row], of: Mapping[Row, list[Answered]]) -> Answers:
        found.told.append(_told(part, [of[row] for row in rows]))
        return answers_of({row[1]: {one.item: one.met for one in of[row]} for row in rows}, ids)

    # A visit alone is another name of its reference note: each name has its row.
    parts: dict[str, Any] = {
        "reference": table(REFERENCE, [("", note) for note in references], found.answers),
        "visits": {note: text.visit for (_, note), text in texts.items()},
    }
    parts["perturbed"] = {
        kind: table(f"perturbed: {kind}", [row for row in texts if row[0] == kind], found.answers)
        for kind in dict.fromkeys(kind for kind, _ in texts if kind)
    }
    if given.pairs:
        compared = table(COMPARED, [("", note) for note in drafts], found.answers)
        parts |= {"pairs": given.pairs, "compared": compared}
    if labelled:
        judged = table(LABELLED, [("", note) for note in labelled], found.answers)
        parts |= {"labels": given.labels, "judged": judged}
    again = [{row: texts[row] for row in texts if not row[0] and row[1] in references}] * given.again
    for time, rows in enumerate(again, 1):
        more = Asked(judge, time)
        found.again.append(await ask_about(checklist, rows, more, given.ask, progress, "ask again"))
    if found.again:
        runs = [table(f"asked again, {time}", list(one), one) for time, one in enumerate(found.again, 1)]
        parts["runs"] = [parts["reference"], *runs]
    if given.tests:
        parts["unit_tests"] = await _unit_tests(checklist, given, notes, model, judge, progress, found)
        parts["unanswered"] = sum(one.unanswered for one in found.tested)
        parts["not_rewritten"] = sum(one.not_rewritten for one in found.tested)
    return parts


async def ask_about(
    checklist: Checklist,
    texts: Mapping[Row, Written],
    judge: Model,
    ask: Ask,
    progress: Progress,
    phase: str,
) -> dict[Row, list[Answered]]:
    """A judge's answers to every question about every text.

    Those about a text that could not be asked about are missing, with the kind of failure.
    """
    asks = ChecklistJudge(judge, ask=ask, probability="off", checklist=checklist)

    async def one(text: Written) -> list[Answered]:
        try:
            return await asks.ask(checklist, text.transcript, text.text)
        except RequestFailed as error:
            return [Answered(item=item.id, why=f"{FAILED}: {error.kind}") for item in checklist.items]

    answers = await each(
        list(texts.values()),
        one,
        model=judge,
        progress=progress,
        phase=phase,
        failed=lambda said: all(answer.met is None for answer in said),
    )
    return dict(zip(texts, answers, strict=True))


async def _unit_tests(
    checklist: Checklist,
    given: Given,
    notes: Notes,
    model: Model,
    judge: Model,
    progress: Progress,
    found: Gathered,
) -> list[UnitTest]:
    candidates = [Candidate(item.id, item.question) for item in checklist.items]
    enforced = await enforce(
        candidates,
        notes.testable(),
        model,
        ChecklistJudge(judge, ask=given.ask, probability="off"),
        section=checklist.section,
        tests=given.tests,
        least=0,
        seed=given.seed,
        progress=progress,
    )
    found.tested = enforced.tested
    outcomes = {"seen": False, "not seen": True}
    made = [(one.id, test) for one in enforced.tested for test in one.tests]
    tests = [(question, test) for question, test in made if test.outcome != NOT_REWRITTEN]
    lost = Counter(test.why for _, test in tests if test.outcome == "missing")
    found.told.append(
        Told(
            part=PREPARED,
            notes=len(notes.testable()),
            asked=sum(one.asked for one in enforced.tested),
            yes=sum(one.passing for one in enforced.tested),
            no=sum(one.failing for one in enforced.tested),
            missing=sum(one.unanswered for one in enforced.tested),
            why=_sorted(
                Counter(one.kind for one in enforced.stage.failures) - Counter(t.why for _, t in made)
            ),
        )
    )
    found.told.append(
        Told(
            part=TESTS,
            notes=len(tests),
            asked=len(tests),
            yes=sum(test.outcome == "not seen" for _, test in tests),
            no=sum(test.outcome == "seen" for _, test in tests),
            missing=sum(test.outcome == "missing" for _, test in tests),
            why=_sorted(lost),
        )
    )
    return [UnitTest(question, test.note, outcomes.get(test.outcome)) for question, test in tests]


async def embedded(items: Sequence[FeedbackItem], embedder: Embedder) -> Floats:
    """Vectors of feedback, (n, d).

    Raises:
        UserError: see `vectors_of`.
    """
    import numpy as np

    return np.asarray(await vectors_of([one_line(item.text) for item in items], embedder), dtype=np.float64)


def _told(part: str, answers: Sequence[Sequence[Answered]]) -> Told:
    said = [one for row in answers for one in row]
    return Told(
        part=part,
        notes=len(answers),
        asked=len(said),
        yes=sum(one.met is True for one in said),
        no=sum(one.met is False for one in said),
        missing=sum(one.met is None for one in said),
        why=_sorted(Counter(one.why for one in said if one.met is None)),
    )


def _sorted(counts: Counter[str]) -> dict[str, int]:
    return dict(sorted(counts.items()))
