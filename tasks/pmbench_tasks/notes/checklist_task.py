"""What the checklist tasks have in common: the checklist, its numbers, its judge, and what is said of them."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator, Mapping
from typing import ClassVar

from pmbench import Instance, Options, Response, Score, Task, UserError, ViewBlock, ViewLine
from pmbench_tasks.notes.checklist import Checklist, validate
from pmbench_tasks.notes.checklist_findings import findings_of
from pmbench_tasks.notes.checklist_metrics import METRICS, metrics_for
from pmbench_tasks.notes.checklist_options import ChecklistOptions, chosen_checklist
from pmbench_tasks.notes.judge_prompts import Kind
from pmbench_tasks.notes.judge_role import ROLE, cautions_of, judge_role
from pmbench_tasks.notes.pipeline.records import counted


class ChecklistTask(Task):
    """A text judged by a checklist; subclasses say what the text is."""

    citation = "Zhou et al. 2025, From Feedback to Checklists, EMNLP 2025 Industry Track, arXiv 2507.17717"
    judges: ClassVar = {ROLE: judge_role("note", ChecklistOptions())}
    metrics = METRICS
    options = ChecklistOptions
    option: ChecklistOptions
    kind: ClassVar[Kind] = "note"
    stat_words: ClassVar = {
        "score": "the share of the questions whose answer is yes, from 0 to 1 (0.75 for 3 of 4); where questions have"
        " points, the points of those met over all positive points; of grades their mean, 0 for the lowest grade and"
        " 1 for the highest",
        "missing": "questions without an answer; people leave none",
        "asked": "how many questions there are",
    }

    def __init__(self, options: Options | None = None) -> None:
        super().__init__(options)
        # A run whose checklist has been moved away can be shown still, without its questions' numbers. Whoever
        # carries a run out is told what is wrong by `instances`.
        with contextlib.suppress(UserError):
            vars(self).update(
                metrics=metrics_for(self.checklist),
                judges={ROLE: judge_role(self.kind, self.option, self.checklist)},
            )

    @functools.cached_property
    def checklist(self) -> Checklist:
        """The checklist that the options name.

        Raises:
            UserError: it cannot be read, or is not for this task.
        """
        return chosen_checklist(self.option, self.kind)

    @classmethod
    def cautions(cls, judges: Mapping[str, str]) -> list[str]:
        """That the embedded model is no judge, and that no other one's agreement was measured."""
        return list(cautions_of(judges))

    def findings(self, scores: Mapping[str, Score]) -> Iterator[str]:
        """Missing answers by reason, texts that were not written, the questions that fewest texts meet."""
        return findings_of(scores, self.checklist, "notes" if self.kind == "note" else "drafts")

    def to_label(self, instance: Instance, response: Response) -> list[ViewBlock]:
        """What the text is of, the text that is judged, and the questions with what they are worth."""
        source, text = self.shown_to_judge(instance, response)
        asked = [
            ViewLine(f"{item.id}  {item.question}", beside=f"{item.points:g} points" if item.points else "")
            for item in self.checklist.items
        ]
        ends = self.checklist.ends
        scale = f", graded {ends[0]:g} to {ends[1]:g}" if ends else ""
        return [
            ViewBlock("What it is judged against", (ViewLine(source),)),
            ViewBlock(
                "The text that is judged", (ViewLine(text if text.strip() else "Nothing was written."),)
            ),
            ViewBlock(f"The questions{scale}", tuple(asked)),
        ]

    def shown_to_judge(self, instance: Instance, response: Response) -> tuple[str, str]:
        """What a judge is shown: the source, and the text that is judged."""
        raise NotImplementedError

    def told_of_checklist(self) -> Iterator[str]:
        """What is asked, and the remarks on it."""
        one = self.checklist
        of = f", of the {one.section}" if one.section else ""
        yield f"checklist {one.name}: {counted(len(one.items), 'item')}{of} ({one.scale}), {one.digest[:12]}"
        yield from validate(one)
