"""syppm-checklist: drafted replies to patient messages by a checklist; the same judge, another kind of text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from pmbench import Instance, Response, Row, Score
from pmbench_tasks.drafting.task import SyPPM
from pmbench_tasks.notes.answers import Answered
from pmbench_tasks.notes.checklist_judge import ChecklistJudge
from pmbench_tasks.notes.checklist_options import ReplyOptions
from pmbench_tasks.notes.checklist_task import ChecklistTask
from pmbench_tasks.notes.checklist_views import reply_view
from pmbench_tasks.notes.judge_role import ROLE, judge_role
from pmbench_tasks.notes.scoring import score_of


class RepliesChecklist(ChecklistTask, SyPPM):
    """Drafts of replies by a checklist, on the messages and with the strategies of syppm-editf1."""

    name = "syppm-checklist"
    title = "Drafted replies on SyPPM by a checklist"
    card = "pmbench_tasks.notes:CARD-syppm-checklist.md"
    reported = ""
    scoring_version = 1
    options = ReplyOptions
    option: ReplyOptions
    judges: ClassVar = {ROLE: judge_role("reply", ReplyOptions())}
    views: ClassVar = {"checklist": reply_view}
    kind = "reply"

    def instances(self, rows: Iterable[Row]) -> Iterator[Instance]:
        """One instance for each message.

        Raises:
            UserError: the checklist cannot be read, or is for a section of a note; a row that cannot be one.
        """
        if self.checklist.items:
            yield from super().instances(rows)

    def remarks(self, instances: Sequence[Instance]) -> Iterator[str]:
        """What is asked, and what drafting says of its messages."""
        yield from self.told_of_checklist()
        yield from super().remarks(instances)

    def shown_to_judge(self, instance: Instance, response: Response) -> tuple[str, str]:
        """The message with its chart, and the draft."""
        return source_of(instance), self.draft_of(response).strip()

    async def score(self, instance: Instance, response: Response, judges: Mapping[str, Any]) -> Score:
        """Have every question answered about the draft.

        Raises:
            RequestFailed: `too-long`, message and draft are longer than the judge's context; or nothing at all could
                be asked.
            Unscored: no question was answered.
        """
        judge: ChecklistJudge = judges[ROLE]
        source, text = self.shown_to_judge(instance, response)
        answers: list[Answered] = await judge.ask(self.checklist, source, text)
        return score_of(self.checklist, answers, source=source, text=text)


def source_of(instance: Instance) -> str:
    """What a reply is judged against: the message, and the chart where there is one."""
    message, chart = str(instance.inputs["message"]), str(instance.inputs.get("chart") or "")
    return f"MESSAGE\n{message}\n\nCHART\n{chart}" if chart.strip() else message
