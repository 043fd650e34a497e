"""What tests of the notes' data share: a note, a model whose answers are known, and a task that only reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pmbench import Choice, Completion, Instance, Message, Row, Task
from pmbench_tasks.notes.aci import read_aci
from pmbench_tasks.notes.note_strategies import STRATEGIES
from pmbench_tasks.notes.visits import DATASET, inputs_of, remarks_of, target_of, visits_of

NOTE = """\
CHIEF COMPLAINT

Knee pain.

HISTORY OF PRESENT ILLNESS

He fell on Monday. The knee is swollen. He denies fever.

PHYSICAL EXAM

• Knee: Effusion. Full range of motion.
• Skin: No wound.

RESULTS

X-ray shows no fracture.

ASSESSMENT AND PLAN

Knee sprain.
- Ice for 20 minutes, three times a day.
- Ibuprofen 400 mg with food.
- Back in 2 weeks.
"""


class NoteModel:
    """Answers every request by a function of its last turn and the number of the request, from 0."""

    name = "given"
    offers = frozenset({"chat"})
    parallel, chooses_in_words = 1, True

    def __init__(self, answer: Callable[[str, int], str | Completion | Exception]) -> None:
        self._answer = answer
        self.asked: list[str] = []
        self.more: list[dict[str, Any]] = []

    async def chat(self, messages: Sequence[Message], **more: Any) -> Completion:
        self.asked.append("\n".join(message["content"] for message in messages))
        self.more.append({**more, "shared": messages[-1].get("shared")})
        answer = self._answer(messages[-1]["content"], len(self.asked) - 1)
        if isinstance(answer, Exception):
            raise answer
        return Completion(answer) if isinstance(answer, str) else answer

    async def choose(self, messages: Sequence[Message], options: Sequence[str]) -> Choice:
        raise NotImplementedError

    async def reward(self, messages: Sequence[Message]) -> float:
        raise NotImplementedError

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        raise NotImplementedError


class ReadNotes(Task):
    """Reads visits as the notes tasks do."""

    name = "read-notes"
    dataset = DATASET
    strategies = STRATEGIES
    metrics = ()

    def read(self, path: Path) -> Iterable[Row] | None:
        return read_aci(path)

    def instances(self, rows: Iterable[Row]) -> Iterator[Instance]:
        self.visits = list(visits_of(rows))
        for visit in self.visits:
            yield Instance(visit.id, inputs_of(visit), target_of(visit), slices=visit.slices)

    def remarks(self, instances: Sequence[Instance]) -> Iterator[str]:
        return remarks_of(self.visits)
