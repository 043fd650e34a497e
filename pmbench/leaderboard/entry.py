"""What a leaderboard knows of one scoring of one run, and of a folder that it leaves out."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from pmbench.running.records import RunRecord, ScoreRecord, Scoring
from pmbench.running.results import Results


class ScoreLine(ScoreRecord, kw_only=True):
    """A line of `scores.jsonl` as a leaderboard needs it: the evidence is stepped over, not decoded."""

    evidence: msgspec.Raw = msgspec.Raw(b"null")


class LeftOut(msgspec.Struct, frozen=True):
    """A folder that is not in a table.

    Attributes:
        where: it is below the runs folder, or the folder of records; reason: why it is left out.
        damaged: whether it should have been in a table and cannot be read, or was changed by another hand.
    """

    where: str
    reason: str
    damaged: bool = False


@dataclass(frozen=True)
class Entry:
    """One scoring of one run.

    Attributes:
        where: its folder below the runs folder.
        record, results, scoring: as in `run.json`, `results.json`, `scoring.json`.
        scores: the scores that are there, the last of each instance and sample.
        ids: of a record, whether names in it are `plain` or `hashed`; empty: it is a run's folder.
    """

    where: str
    record: RunRecord
    results: Results
    scoring: Scoring
    scores: list[ScoreLine]
    ids: str = ""
