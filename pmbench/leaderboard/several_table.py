"""The table of several tasks as data: its columns, its rows, and what stands under it."""

from __future__ import annotations

import msgspec

from pmbench.leaderboard.collect import LeftOut
from pmbench.leaderboard.over_tasks import OverTasks
from pmbench.leaderboard.table import Measure
from pmbench.leaderboard.tested import Resampling
from pmbench.leaderboard.wording import DASH


class TaskHead(msgspec.Struct, frozen=True):
    """A task as a column.

    Attributes:
        task, title: of the task; metric, heading: name of its primary metric, and what stands over the column.
        higher_is_better: of the metric.
        data, fingerprint: of the table that is used.
        instances: on which systems are compared: those that all of them have scored.
        counted: whether it is in the mean win rates and ranks.
    """

    task: str
    title: str
    metric: str
    heading: str
    higher_is_better: bool | None
    data: str
    fingerprint: str
    instances: int
    counted: bool


class Drawn(msgspec.Struct, frozen=True):
    """Percentiles of mean win rate and mean rank over instances drawn again inside each task; None: not drawn.

    They hold less often than they say where systems are nearly equal or clusters few, and stand in no table.
    """

    win_low: float | None
    win_high: float | None
    rank_low: float | None
    rank_high: float | None


class SystemOverTasks(msgspec.Struct, frozen=True):
    """A system over several tasks.

    Attributes:
        number: of the row, from 1.
        model, strategy: its name; several strategies where the defaults of the tasks are called otherwise.
        win_rate, win_low, win_high: mean win rate, and between which the tests of the tasks leave it (`open_means`);
            None where undefined.
        rank, rank_low, rank_high: mean rank in the same way.
        drawn: percentiles of both over instances drawn again.
        tasks: in how many tasks it is compared with another system.
        measures: by task, its primary metric as in the task's own leaderboard; runs: digest of the run.
    """

    number: int
    model: str
    strategy: str
    win_rate: float | None
    win_low: float | None
    win_high: float | None
    rank: float | None
    rank_low: float | None
    rank_high: float | None
    drawn: Drawn
    tasks: int
    measures: dict[str, Measure]
    runs: dict[str, str]

    @property
    def win_text(self) -> tuple[str, str]:
        """Mean win rate and its interval as shown."""
        return _shown(self.win_rate, self.win_low, self.win_high, 3)

    @property
    def rank_text(self) -> tuple[str, str]:
        """Mean rank and its interval as shown."""
        return _shown(self.rank, self.rank_low, self.rank_high, 2)


class SeveralTasks(msgspec.Struct, frozen=True):
    """Systems over several tasks: those in most of the tasks first, of them the greatest mean win rate.

    Attributes:
        tasks: in the order asked for; rows: the systems.
        notes: what a reader has to know, one sentence or two each.
        left_out: folders that are in no table of the tasks.
        statistics: how intervals were made.
        demo: whether any of the data are made up.
        over_tasks: Friedman's test with the tasks as the sample, and Nemenyi's comparisons of pairs.
    """

    tasks: list[TaskHead]
    rows: list[SystemOverTasks]
    notes: list[str]
    left_out: list[LeftOut]
    statistics: Resampling
    demo: bool
    over_tasks: OverTasks


def _shown(value: float | None, low: float | None, high: float | None, digits: int) -> tuple[str, str]:
    if value is None:
        return DASH, ""
    ends = "" if low is None or high is None else f"[{low:.{digits}f}, {high:.{digits}f}]"
    return f"{value:.{digits}f}", ends
