"""A leaderboard as JSON: everything, in full precision, with a version of its form."""

from __future__ import annotations

import re
from importlib.metadata import version

import msgspec

from pmbench.leaderboard.collect import LeftOut
from pmbench.leaderboard.reported import Reported
from pmbench.leaderboard.table import GroupHead, Leaderboard, MetricHead, Table
from pmbench.leaderboard.tested import Resampling

_UNSEEN = re.compile("[\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]")
"""As of `pages.visible`, without what JSON escapes anyway and tells its own lines apart by."""

SCHEMA = 1
"""Raised when a field goes or comes to mean something else; a new field alone does not raise it."""


class Document(msgspec.Struct, frozen=True):
    """What is written.

    Attributes:
        schema: version of this form.
        made_by: the program and its version.
        task, title, version: of the task.
        metrics: the columns, the primary one first; groups: those that have a table of their own.
        statistics: how intervals and tests were made.
        tables: of systems that may be compared; each with its rows, the tests of all pairs and the words under it.
        reported: what the task's paper reports; not comparable, never tested against.
        left_out: what is in no table, with the reason.
    """

    schema: int
    made_by: str
    task: str
    title: str
    version: int
    metrics: list[MetricHead]
    groups: list[GroupHead]
    statistics: Resampling
    tables: list[Table]
    reported: Reported
    left_out: list[LeftOut]


def render_json(board: Leaderboard, found: Reported) -> str:
    """The whole board, whatever columns other formats show; numbers that are undefined are null."""
    document = Document(
        schema=SCHEMA,
        made_by=f"pmbench {version('pmbench')}",
        task=board.task,
        title=board.title,
        version=board.version,
        metrics=board.metrics,
        groups=board.groups,
        statistics=board.statistics,
        tables=board.tables,
        reported=found,
        left_out=board.left_out,
    )
    return json_text(document)


def json_text(document: object) -> str:
    r"""Indented JSON, in which no character of a name steers a terminal or the direction of writing.

    Such characters are escaped (`\u009b`), which every reader of JSON takes for the characters themselves.
    """
    text = msgspec.json.format(msgspec.json.encode(document), indent=1).decode() + "\n"
    return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
