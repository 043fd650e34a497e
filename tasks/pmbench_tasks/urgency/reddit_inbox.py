"""`pmr-reddit-inbox`: an inbox drawn from posts with levels, so many from each level."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pmbench import Column, ConfigError, DataError, DatasetSpec, HubDataset, Instance, Row
from pmbench_tasks.urgency.inbox_rows import INBOX_COLUMNS, Levelled, check_inbox
from pmbench_tasks.urgency.inbox_task import DEMO, Inboxes
from pmbench_tasks.urgency.messages import (
    LEAST_URGENT,
    MOST_URGENT,
    level_label,
    level_of,
    portal_message,
)
from pmbench_tasks.urgency.options import SampledInboxOptions
from pmbench_tasks.urgency.pair_rows import CHOSEN_COLUMNS, MORE_COLUMNS

SIDES = ("chosen", "rejected")

COLUMNS = (
    *CHOSEN_COLUMNS,
    *(column for column in MORE_COLUMNS if column.name in {"chosen_level", "rejected_level"}),
    *(
        Column(one.name, one.help, required=False, guesses=one.guesses, kind=one.kind)
        for one in INBOX_COLUMNS
        if one.name in {"message", "chart", "level"}
    ),
)

EXAMPLE = """\
{"chosen": "Chest feels tight since noon.", "chosen_level": 1, "rejected": "Is my mole fine?", "rejected_level": 4}
{"text": "Can I get my shot early?", "level": 5}"""


@dataclass(frozen=True, slots=True)
class Pool:
    """Posts that an inbox may be drawn from.

    Attributes:
        posts: each once, with a whole level, in the order of their keys.
        halves, conflicting: how many posts were left out because their level lies between two, or because rows
            differ in it.
    """

    posts: list[Levelled]
    halves: int
    conflicting: int


class RedditInbox(Inboxes):
    """One inbox drawn from the posts of PMR-Reddit's test pairs, the same messages for each level and drawing."""

    name = "pmr-reddit-inbox"
    title = "Sorting an inbox by urgency, PMR-Reddit"
    card = "pmbench_tasks.urgency:CARD-pmr-reddit-inbox.md"
    drawn = True
    options = SampledInboxOptions
    option: SampledInboxOptions
    dataset = DatasetSpec(
        columns=COLUMNS,
        hub=HubDataset("PortalPal-AI/PMR-Reddit-Test-Pairs", split="test"),
        demo=DEMO,
        sensitivity="public",
        example=EXAMPLE,
    )

    def __init__(self, options: SampledInboxOptions | None = None) -> None:
        super().__init__(options)
        if self.option.per_level < 2:
            raise ConfigError("it must be 2 or more", where="-o per_level")
        self._drawn = ""

    def inboxes(self, rows: Iterable[Row]) -> Mapping[str, Sequence[Levelled]]:
        """The one inbox that is drawn.

        Raises:
            DataError: a row without post or level, or posts of fewer than two levels.
        """
        pool = pool_of(rows)
        name = f"drawing-{self.option.draw}"
        members = draw(pool.posts, self.option.per_level, self.option.draw)
        if not members:
            raise DataError(
                "no post has a whole level", remedy="Name the column of levels: --columns level=COLUMN"
            )
        check_inbox(name, members)
        self._drawn = (
            f"{len(members)} messages drawn from {len(pool.posts)} posts, {self.option.per_level} of each level"
            f" wanted; left out: {pool.halves} posts with a level between two, {pool.conflicting} with two levels"
        )
        return {name: members}

    def remarks(self, instances: Sequence[Instance]) -> Iterator[str]:
        """How the inbox was drawn, and levels of which there were too few posts."""
        if self._drawn:
            yield self._drawn
        for one in instances:
            levels = one.target["levels"]
            for level in range(MOST_URGENT, LEAST_URGENT + 1):
                if (count := levels.count(float(level))) < self.option.per_level:
                    yield f"inbox {one.id}: only {count} posts of level {level_label(level)}"
        yield from super().remarks(instances)


def pool_of(rows: Iterable[Row]) -> Pool:
    """The posts of rows with `message` and `level`, or of pairs with both posts and their levels.

    Raises:
        DataError: a row with neither, or a level that is none.
    """
    found: dict[str, Levelled] = {}
    levels: dict[str, set[float]] = {}
    for row in rows:
        for column, level_column in _columns(row):
            level = level_of(row, level_column)
            message = portal_message(row, column, "chart" if column == "message" else "")
            levels.setdefault(message["id"], set()).add(level)
            found.setdefault(message["id"], Levelled(message, level, row))
    conflicting = {ident for ident, its in levels.items() if len(its) > 1}
    clear = [one for ident, one in found.items() if ident not in conflicting]
    posts = sorted((one for one in clear if one.level % 1 == 0), key=lambda one: _key(one, 0))
    return Pool(posts, len(clear) - len(posts), len(conflicting))


def draw(posts: Iterable[Levelled], per_level: int, number: int) -> list[Levelled]:
    """Draw an inbox: of each level the posts whose key is smallest; all of a level where there are fewer.

    A post's key is the SHA-256 of `number`, a line feed and its text in UTF-8, so neither the order of the rows nor
    what else is in the pool decides it. The inbox stands in the order of keys, which says nothing of levels.
    """
    chosen: list[Levelled] = []
    ordered = sorted(posts, key=lambda one: _key(one, number))
    for level in range(MOST_URGENT, LEAST_URGENT + 1):
        chosen += [one for one in ordered if one.level == level][:per_level]
    return sorted(chosen, key=lambda one: _key(one, number))


def _key(one: Levelled, number: int) -> str:
    return hashlib.sha256(f"{number}\n{one.message['message']}".encode(errors="backslashreplace")).hexdigest()


def _columns(row: Row) -> list[tuple[str, str]]:
    """The columns of each post in a row and of its level."""
    if all(row.text(side).strip() for side in SIDES):
        return [(side, f"{side}_level") for side in SIDES]
    if row.text("message").strip():
        return [("message", "level")]
    raise DataError(
        "neither a post with its level nor a pair of posts with theirs",
        where=row.where(),
        remedy="Say which columns they are: --columns message=COLUMN,level=COLUMN, or"
        " --columns chosen=COLUMN,chosen_level=COLUMN,rejected=COLUMN,rejected_level=COLUMN",
    )
