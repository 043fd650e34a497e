"""Stage 4: only questions that can be answered for every visit, from the conversation and the section alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pmbench import Model, Prompt
from pmbench_tasks.notes.pipeline.asking import Asked, Progress, ask_numbered, in_groups, said_yes
from pmbench_tasks.notes.pipeline.records import Candidate, Dropped, Failure, Stage, dropped
from pmbench_tasks.notes.pipeline.told import SECTION_NAME, SECTION_TOLD

STAGE = "tag"

PROMPT = Prompt("pmbench_tasks.notes:prompts/pipeline_tag.txt")

_TOKENS = 128
_SILENT = "the model did not say whether it fits every visit"


async def tag(
    candidates: Sequence[Candidate], model: Model, *, section: str, progress: Progress
) -> Stage[Candidate]:
    """Keep what is generally applicable and specific to the section (section 4.2 of the paper).

    The model says for each question, after a reason in a few words, whether it can be answered by yes or no for every
    visit, and whether it needs no other section of the note. What it says nothing usable about is dropped: the
    criteria are those of a checklist, and nobody has said that it meets them.
    """
    kept: list[Candidate] = []
    left_out: list[Dropped] = []
    failures: list[Failure] = []
    for one, asked in await in_groups(
        candidates,
        lambda group: _ask(group, model, section),
        model=model,
        progress=progress,
        phase="tag",
    ):
        if asked.value is None:
            failures.append(Failure(STAGE, (one.id,), asked.failure))
            left_out.append(dropped(STAGE, f"{_SILENT} ({asked.failure})", one))
        elif asked.value:
            left_out.append(dropped(STAGE, asked.value, one))
        else:
            kept.append(one)
    return Stage(tuple(kept), tuple(left_out), tuple(failures))


async def _ask(group: Sequence[Candidate], model: Model, section: str) -> list[Asked[str]]:
    return await ask_numbered(
        model,
        PROMPT,
        [one.question for one in group],
        _read,
        entry={
            "reason": {"type": "string"},
            "every_visit": {"type": "boolean"},
            "this_section_only": {"type": "boolean"},
        },
        tokens_each=_TOKENS,
        section=SECTION_NAME[section],
        told=SECTION_TOLD[section],
        whole=not section,
    )


def _read(entry: Mapping[str, Any]) -> str:
    """Why it is dropped, `""` where it is kept."""
    every, only = said_yes(entry.get("every_visit")), said_yes(entry.get("this_section_only"))
    why = {
        "it cannot be answered for every visit": every,
        "it needs another section of the note": only,
    }
    return " and ".join(reason for reason, fine in why.items() if not fine)
