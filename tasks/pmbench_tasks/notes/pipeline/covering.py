"""Stage 6: which question covers which feedback item."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pmbench import Model, Prompt
from pmbench_tasks.notes.pipeline.asking import (
    Asked,
    Progress,
    Unreadable,
    ask,
    each,
    first_object,
    numbers_schema,
    object_schema,
)
from pmbench_tasks.notes.pipeline.records import Failure, FeedbackItem
from pmbench_tasks.notes.pipeline.told import one_line

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

STAGE = "coverage"

PROMPT = Prompt("pmbench_tasks.notes:prompts/pipeline_assign.txt")


@dataclass(frozen=True, slots=True, eq=False)
class Covering:
    """Which question covers which feedback item.

    Attributes:
        matrix: questions × feedback items: 1 covered, 0 not, NaN where the model said nothing usable, (k, n).
        items: the feedback items, n.
        failures: items without a usable answer: their columns are NaN.
    """

    matrix: NDArray[np.float64]
    items: tuple[FeedbackItem, ...]
    failures: tuple[Failure, ...]

    @property
    def known(self) -> NDArray[np.bool_]:
        """Items that there is an answer for, (n,)."""
        import numpy as np

        found: NDArray[np.bool_] = ~np.any(np.isnan(self.matrix), axis=0)
        return found

    @property
    def answered(self) -> NDArray[np.float64]:
        """The matrix without the items that there is no answer for."""
        found: NDArray[np.float64] = self.matrix[:, self.known]
        return found

    @property
    def uncovered(self) -> tuple[FeedbackItem, ...]:
        """Items that there is an answer for and no question covers."""
        return tuple(
            item
            for item, known, column in zip(self.items, self.known, self.matrix.T, strict=True)
            if known and not column.any()
        )


async def assign(
    questions: Sequence[str], items: Sequence[FeedbackItem], model: Model, *, progress: Progress
) -> Covering:
    """Ask for every feedback item which of the questions cover it (the paper's appendices C.4 and D.3).

    One request for each item, with all the questions; what requests have in common comes first.

    Args:
        questions: of a checklist, k.
        items: feedback, n.
        model: assigns.
        progress: hears of it.
    """
    import numpy as np

    listed = [(number, one_line(question)) for number, question in enumerate(questions, 1)]
    schema = object_schema({"covering": numbers_schema(len(questions))})

    def read(text: str) -> tuple[int, ...]:
        return _numbers(text, len(questions))

    async def one(item: FeedbackItem) -> Asked[tuple[int, ...]]:
        return await ask(
            model,
            PROMPT.messages(entries=listed, feedback=one_line(item.text)),
            read,
            schema=schema,
            max_tokens=64 + 8 * len(questions),
        )

    matrix = np.zeros((len(questions), len(items)), dtype=np.float64)
    if not questions:
        return Covering(matrix, tuple(items), ())
    answers = await each(
        items,
        one,
        model=model,
        progress=progress,
        phase="assign feedback",
        failed=lambda asked: bool(asked.failure),
    )
    failures = []
    for column, (item, asked) in enumerate(zip(items, answers, strict=True)):
        if asked.value is None:
            failures.append(Failure(STAGE, (item.id,), asked.failure))
            matrix[:, column] = np.nan
        else:
            matrix[[number - 1 for number in asked.value], column] = 1.0
    return Covering(matrix, tuple(items), tuple(failures))


def _numbers(text: str, most: int) -> tuple[int, ...]:
    found = first_object(text, "covering")
    numbers: Any = found["covering"] if found else None
    if not isinstance(numbers, list):
        raise Unreadable('There was no JSON object {"covering": [...]} in your answer.')
    if not all(isinstance(one, int) and not isinstance(one, bool) and 1 <= one <= most for one in numbers):
        raise Unreadable(f'"covering" must hold numbers of questions, from 1 to {most}.')
    return tuple(sorted(set(numbers)))
