"""The inbox tasks: put all messages of an inbox in order of urgency."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from pmbench import ConfigError, DataError, DatasetSpec, HubDataset, Instance, Response, Row, Score, Task
from pmbench_tasks.urgency.comparators import lot_of
from pmbench_tasks.urgency.inbox_metrics import KS, METRICS
from pmbench_tasks.urgency.inbox_rows import (
    INBOX_COLUMNS,
    INBOX_EXAMPLE,
    Levelled,
    is_designed,
    read_inboxes,
)
from pmbench_tasks.urgency.messages import CITATION, level_label
from pmbench_tasks.urgency.options import InboxOptions
from pmbench_tasks.urgency.strategies import INBOX_STRATEGIES
from pmbench_tasks.urgency.views import inbox_view, missing_told

DEMO = "pmbench_tasks.urgency:demo/inbox.jsonl"
MOST_TOLD = 5
"""Inboxes of which it is told one by one what is missing."""


class Inboxes(Task):
    """What the inbox tasks share: one instance for each inbox, scored by T-NDCG and safety."""

    scoring_version = 2
    citation = CITATION
    strategies = INBOX_STRATEGIES
    metrics = METRICS
    options = InboxOptions
    option: InboxOptions
    views: ClassVar = {"inbox": inbox_view}
    ids_from_text: ClassVar[bool] = False
    """Whether rows that are only numbered get ids from their text."""
    drawn: ClassVar[bool] = False
    """Whether `inboxes` has put the messages into an order by lot already."""

    def __init__(self, options: InboxOptions | None = None) -> None:
        super().__init__(options)
        if not 1e-3 <= self.option.reading_rate <= 1e6:
            raise ConfigError("it must be from 0.001 to 1,000,000 messages an hour", where="-o reading_rate")
        if self.option.budget < 0:
            raise ConfigError("it must be 0 or more", where="-o budget")

    def inboxes(self, rows: Iterable[Row]) -> Mapping[str, Sequence[Levelled]]:
        """The messages of each inbox.

        Raises:
            DataError: see `read_inboxes`.
        """
        return read_inboxes(rows, ids_from_text=self.ids_from_text)

    def instances(self, rows: Iterable[Row]) -> Iterator[Instance]:
        """One instance for each inbox, its messages in an order drawn by their texts and the option `seed`.

        Not in the order of the rows: a file that is sorted by level would give the order away to a prompt that shows
        all messages, and to whatever leaves equal scores as they stand.

        Raises:
            DataError: a message or a level that is none, one message twice in an inbox, fewer than two levels in
                one, or a single message of a level where `design=levels`.
        """
        for name, members in self.inboxes(rows).items():
            drawn = members if self.drawn else sorted(members, key=self._lot)
            levels = [one.level for one in drawn]
            self._check_design(name, members[0].row, levels)
            yield Instance(
                name,
                {"messages": [one.message for one in drawn]},
                {"levels": levels},
            )

    def _lot(self, one: Levelled) -> tuple[float, str]:
        return lot_of(one.message, self.option.seed), one.message["id"]

    def remarks(self, instances: Sequence[Instance]) -> Iterator[str]:
        """Sizes, levels, what was cut, and how intervals will be made."""
        for one in instances:
            levels = one.target["levels"]
            counts = ", ".join(f"{level_label(level)}: {n}" for level, n in sorted(Counter(levels).items()))
            yield f"inbox {one.id}: {len(levels)} messages (level {counts})"
            for k in KS:
                if k > len(levels):
                    yield f"inbox {one.id}: T-NDCG@{k} is cut to T-NDCG@{len(levels)}, there are no more messages"
            how = (
                "taken as put together by level, so its intervals come from messages drawn within their levels"
                if self.strata(levels)
                else "not designed by level, so its intervals come from leaving messages out"
            )
            yield f"inbox {one.id}: {how} (-o design=levels|none decides)"

    def findings(self, scores: Mapping[str, Score]) -> Iterator[str]:
        """What is missing of each inbox, and how much hangs on it."""
        lacking = {name: one.stats for name, one in scores.items() if one.stats.get("missing")}
        for name, stats in list(lacking.items())[:MOST_TOLD]:
            yield f"inbox {name}: {missing_told(stats)}"
        if len(lacking) > MOST_TOLD:
            yield f"{len(lacking) - MOST_TOLD} more inboxes lack comparisons or scores"

    def strata(self, levels: Sequence[float]) -> list[float]:
        """The level of each message where the inbox was put together level by level, else nothing."""
        by_level = is_designed(levels) if self.option.design == "auto" else self.option.design == "levels"
        return list(levels) if by_level else []

    async def score(self, instance: Instance, response: Response, judges: Mapping[str, Any]) -> Score:
        """What the order of an inbox is worth.

        Raises:
            Unscored: the response holds no order of these messages.
            ConfigError: `ndcg=ranx`, and ranx is not installed.
        """
        from pmbench_tasks.urgency.inbox_scoring import score_of

        levels = instance.target["levels"]
        ids = [message["id"] for message in instance.inputs["messages"]]
        return score_of(response, ids, levels, self.strata(levels), self.option)

    def _check_design(self, name: str, row: Row, levels: Sequence[float]) -> None:
        if self.option.design == "levels" and 1 in (counts := Counter(levels)).values():
            single = min(level for level, count in counts.items() if count == 1)
            raise DataError(
                f"inbox {name!r} has a single message of level {level_label(single)}, so it cannot be resampled"
                " level by level",
                where=row.file,
                remedy="Leave out -o design=levels",
            )


class OwnInbox(Inboxes):
    """Inboxes of one's own."""

    name = "inbox-triage"
    title = "Sorting an inbox by urgency, own messages"
    card = "pmbench_tasks.urgency:CARD-inbox-triage.md"
    dataset = DatasetSpec(
        columns=INBOX_COLUMNS,
        demo=DEMO,
        sensitivity="phi",
        private="the messages are yours: give them with --data",
        example=INBOX_EXAMPLE,
    )


class SynthInbox(Inboxes):
    """Two inboxes of 30 written messages with de-identified charts; levels from clinicians' labels of all pairs."""

    name = "pmr-synth-inbox"
    title = "Sorting an inbox by urgency, PMR-Synth"
    card = "pmbench_tasks.urgency:CARD-pmr-synth-inbox.md"
    ids_from_text = True
    dataset = DatasetSpec(
        columns=INBOX_COLUMNS,
        hub=HubDataset("PortalPal-AI/PMR-Synth-Inboxes", split="INBOX_A+INBOX_B"),
        demo=DEMO,
        sensitivity="deidentified",
        example=INBOX_EXAMPLE,
    )


class RealInbox(Inboxes):
    """An inbox of real portal messages."""

    name = "pmr-real-inbox"
    title = "Sorting an inbox by urgency, PMR-Real"
    card = "pmbench_tasks.urgency:CARD-pmr-real-inbox.md"
    reported = "pmbench_tasks.urgency:reported-real.toml"
    dataset = DatasetSpec(
        columns=INBOX_COLUMNS,
        demo=DEMO,
        sensitivity="phi",
        private="PMR-Real holds real portal messages and is not published",
        example=INBOX_EXAMPLE,
    )
