"""All checklists of one evaluation: what they share is made once, then each is asked about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pmbench import Embedder, Model, id_shown
from pmbench_tasks.notes.checklist import Checklist
from pmbench_tasks.notes.evaluation.gathering_answers import Gathered, Given, embedded, gather
from pmbench_tasks.notes.evaluation.human import Labels
from pmbench_tasks.notes.evaluation.lacking import silences
from pmbench_tasks.notes.evaluation.leaving import About
from pmbench_tasks.notes.evaluation.perturbing import Made, perturb_notes
from pmbench_tasks.notes.evaluation.reading_given import Inputs
from pmbench_tasks.notes.judge_role import ROLE, cautions_of
from pmbench_tasks.notes.pipeline.asking import Progress
from pmbench_tasks.notes.pipeline.failing import told
from pmbench_tasks.notes.pipeline.filtering import Filtered, filter_feedback
from pmbench_tasks.notes.pipeline.records import by_kind, counted
from pmbench_tasks.notes.pipeline.writing import name_shown


async def measure(
    checklists: Sequence[Checklist],
    inputs: Inputs,
    model: Model,
    judge: Model | None,
    embedder: Embedder | None,
    progress: Progress,
) -> tuple[list[Gathered], Filtered | None, list[Made]]:
    """Ask everything that the evaluation of the checklists needs, over the same feedback and the same notes.

    Args:
        checklists: for one section.
        inputs: what they are evaluated on.
        model: filters and assigns feedback, and rewrites notes.
        judge: answers questions; not needed without notes.
        embedder: of feedback; not needed without.
        progress: hears of it.

    Returns:
        What came of each checklist, what became of the feedback, and the perturbed notes.
    """
    asked = inputs.asked
    filtered, vectors = None, None
    if inputs.feedback is not None:
        items = inputs.feedback.items
        filtered = await filter_feedback(items, model, section=inputs.section, progress=progress)
        if filtered.used and embedder is not None:
            vectors = await embedded(filtered.used, embedder)
    made: list[Made] = []
    if inputs.notes is not None and inputs.kinds:
        made = await perturb_notes(inputs.notes, inputs.kinds, model, seed=asked["seed"], progress=progress)
    given = Given(
        feedback=filtered.used if filtered is not None else (),
        vectors=vectors,
        notes=inputs.notes,
        made=made,
        pairs=inputs.pairs,
        labels=inputs.labels,
        labelled=inputs.labelled,
        tests=asked["tests"],
        again=asked["again"],
        ask=asked["ask"],
        seed=asked["seed"],
    )
    return [await gather(one, given, model, judge, progress) for one in checklists], filtered, made


def asked_of(
    checklists: Sequence[Checklist],
    inputs: Inputs,
    identities: Mapping[str, Mapping[str, str]],
    gathered: Sequence[Gathered],
    filtered: Filtered | None,
    made: Sequence[Made],
) -> About:
    """What has to stand around the table.

    Args:
        checklists, inputs: as asked for.
        identities: of the models, by role.
        gathered, filtered, made: as `measure` returned them.
    """
    names = {role: name_shown(identity["name"]) for role, identity in identities.items()}
    cautions = tuple(cautions_of({ROLE: names["judge"]})) if "judge" in names else ()
    if inputs.labelled and cautions and "135 million" not in cautions[0]:
        cautions = ()  # it was measured here
    return About(
        checklists=tuple(checklists),
        files=inputs.files,
        settings=inputs.settings,
        models=names,
        filtered=filtered,
        empty_rows=0 if inputs.feedback is None else inputs.feedback.empty,
        made=tuple(made),
        absent=(*inputs.absent, *_nothing_left(checklists, inputs, filtered)),
        cautions=(*inputs.passed_over, *twofold(checklists, inputs.labels), *cautions),
        silences=tuple(silences(gathered, filtered, made)),
    )


def twofold(checklists: Sequence[Checklist], labels: Labels | None) -> Iterator[str]:
    """A line where labels are of an id that stands for other words in another checklist; they count for both."""
    worded: dict[str, set[str]] = {}
    for item in (item for one in checklists for item in one.items):
        worded.setdefault(item.id, set()).add(" ".join(item.question.casefold().split()))
    ids = [one for one in (labels.questions if labels else ()) if len(worded.get(one, ())) > 1]
    if ids:
        told = ", ".join(map(id_shown, ids[:5])) + (", …" if len(ids) > 5 else "")
        yield (
            f"labels of {told} count for several checklists, in which that id stands for different questions: "
            "give one of them other ids"
        )


def _nothing_left(
    checklists: Sequence[Checklist], inputs: Inputs, filtered: Filtered | None
) -> Iterator[str]:
    if filtered is not None and not filtered.used:
        lost = by_kind(filtered.failures)
        lack = f"it is not known of any feedback item that it is about the section ({told(lost)})"
        none = lack if lost else "no feedback item is about the section"
        yield f"coverage, diversity, distances, prediction of stars: {none}"
    elif inputs.feedback is not None and not inputs.rated:
        yield "prediction of stars: no feedback item has stars"
    if inputs.notes is not None and (empty := _empty(inputs)):
        lack = counted(empty, "reference note")
        yield f"unit tests on {lack} without the section, which is scored as not written"
    labels = inputs.labels
    for one in checklists if labels is not None else ():
        shared = len(set(labels.questions) & {item.id for item in one.items}) if labels is not None else 0
        if not shared or not inputs.labelled:
            yield f"agreement of the judge with people on {one.name}: no label is of a question of it"
        elif shared < len(one.items):
            yield f"agreement on {len(one.items) - shared} questions of {one.name}: they have no label"


def _empty(inputs: Inputs) -> int:
    if inputs.notes is None:
        return 0
    return sum(not one.text for one in inputs.notes.references().values())
