"""The role `checklist`: who answers a checklist's questions, and what is known of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from pmbench import ConfigError, Instance, Judge, JudgeParts, JudgeRole, Options
from pmbench_tasks.notes.checklist import Checklist
from pmbench_tasks.notes.checklist_options import ChecklistOptions, chosen_checklist
from pmbench_tasks.notes.judge_prompts import Kind

ROLE = "checklist"

SMALL = "smollm2-135m"
"""The embedded chat model: what judges where nobody is named, so that everything can be tried offline."""

SMALL_CAUTION = (
    f"{SMALL} is a judge of 135 million parameters, for trying the machinery only: what it answers says nothing about"
    " a note, a reply or a model. On 219 labelled answers of the demo it agreed with people in 93%, as often as"
    " people said yes: it says yes to everything, and its κ is 0.00. Name a judge: --judge checklist=MODEL. See the"
    " card."
)


def judge_role(kind: Kind, options: ChecklistOptions, checklist: Checklist | None = None) -> JudgeRole:
    """The role for one kind of text.

    Args:
        kind: what is judged.
        options: of the task.
        checklist: where it is known, so that requests can be counted.
    """
    return JudgeRole(
        build=partial(_build, kind),
        help="answers each question of the checklist by yes or no (or grades it), with a quote",
        default=SMALL,
        needs=frozenset({"chat"}),
        requests=partial(_requests, options, 1 if checklist is None else len(checklist.items)),
        embeds=False,
    )


def cautions_of(judges: Mapping[str, str]) -> Iterator[str]:
    """What a reader of results has to know of their judge."""
    for role, name in judges.items():
        if SMALL in name.lower():
            yield SMALL_CAUTION
        else:
            yield f"How well {name} agrees with people as judge of {role} was not measured here."


def _build(kind: Kind, parts: JudgeParts) -> Judge:
    from pmbench_tasks.notes.checklist_judge import ChecklistJudge

    if parts.model is None:
        raise ConfigError(
            "no method without a model answers a checklist's questions",
            where=f"--judge {ROLE}=embedded",
            remedy=f"Name a chat model, such as --judge {ROLE}={SMALL}",
        )
    if not isinstance(parts.options, ChecklistOptions):
        return ChecklistJudge(parts.model, kind=kind)
    return ChecklistJudge(
        parts.model,
        ask=parts.options.ask,
        probability=parts.options.probability,
        kind=kind,
        checklist=chosen_checklist(parts.options, kind),
    )


def _requests(
    options: ChecklistOptions, questions: int, _instance: Instance, _settings: Options
) -> tuple[int, int]:
    """Each answer may be asked for twice; a probability is one request more."""
    if options.ask == "batch":
        return 1, 2
    return questions, questions * (3 if options.probability == "auto" else 2)
