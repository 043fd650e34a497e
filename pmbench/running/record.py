"""What a record of a run holds: all that a leaderboard is made from, and no text of the dataset.

A record is a folder of two files: `record.json` says what was asked and what came of it, `instances.jsonl` has a line
for each response. Another site builds the same leaderboard from it (`pmbench leaderboard --records`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from pmbench.core.digest import digest
from pmbench.core.model import Usage
from pmbench.running.records import Asked, DataRecord, RunRecord, ScoreRecord, Scoring
from pmbench.running.results import Results

RECORD_FORMAT = 1
"""Version of the two files; a record of a greater one is refused, not guessed at."""

RECORD, LINES = "record.json", "instances.jsonl"

Number = float | int | None

Status = Literal["scored", "missing", "failed", "open"]


class RecordLine(msgspec.Struct, omit_defaults=True, kw_only=True):
    """One line of `instances.jsonl`: a response and its score, without any text.

    Attributes:
        id: of the instance, as it is in the data or hashed.
        sample: number of the sample, from 0.
        cluster: the unit of resampling; empty: the instance is its own.
        slices: subgroup labels.
        status: `scored`; `missing`, where no honest number exists; `failed` after all retries; `open`: no score yet.
        failure: kind of what went wrong.
        finish: the worst finish reason of its calls.
        stats: plain numbers that can be summed, in the order of the names in `record.json`; null: it has none of the
            name.
        units: ids of what the instance is made of; arrays: small arrays over them.
        calls, usage, seconds, cost: of the model.
        judge_calls, judge_usage, judge_seconds, judge_cost: of the judges.
    """

    id: str
    sample: int = 0
    cluster: str = ""
    slices: dict[str, str] = {}
    status: Status = "scored"
    failure: str = ""
    finish: str = "stop"
    stats: list[Number] = []
    units: list[str] = []
    arrays: dict[str, Any] = {}
    calls: int = 0
    usage: Usage | None = None
    seconds: float = 0.0
    cost: float | None = None
    judge_calls: int = 0
    judge_usage: Usage | None = None
    judge_seconds: float = 0.0
    judge_cost: float | None = None

    def score(self, names: Sequence[str]) -> ScoreRecord:
        """What a leaderboard needs of it, where it has a score.

        Args:
            names: of its numbers.

        Raises:
            ValueError: there are more or fewer numbers than names.
        """
        there = zip(names, self.stats, strict=True) if self.stats else ()
        return ScoreRecord(
            id=self.id,
            sample=self.sample,
            cluster=self.cluster,
            slices=self.slices,
            stats={name: float(value) for name, value in there if value is not None},
            units=self.units,
            arrays=self.arrays,
        )


class RecordData(msgspec.Struct, frozen=True):
    """The data, without where they lie.

    Attributes:
        kind: `demo`, `file`, `folder`, `datasets` or `hub`.
        name: of the file, folder or dataset, without the folders above.
        revision, split: of a dataset that has them.
        sensitivity: `public`, `deidentified` or `phi`.
        instances: how many.
    """

    kind: str
    name: str
    revision: str = ""
    split: str | None = None
    sensitivity: str = "phi"
    instances: int = 0


class RunInRecord(msgspec.Struct, kw_only=True):
    """`record.json`: one scoring of one run.

    Attributes:
        format: version of the record's files.
        pmbench: the version that wrote the record; made_with: the one that carried out the run.
        ids: whether ids, clusters and units are `plain`, as in the data, or `hashed`.
        salt: of hashed ids, a mark of the salt: records of one salt can be laid side by side.
        order: hashed ids, clusters and units in the order of the plain ones, on which seeded draws depend.
        model: the system's name.
        asked, scoring: as in `run.json` and `scoring.json`; run: digest of the run.
        data: what was asked about.
        stats: names of the numbers in a line.
        results: as in `results.json`, without the task's findings; of subgroups the primary metric alone.
        created_at: when the run was begun.
        dropped: what was left out because it might be text or a place: names only.
        lines: how many `instances.jsonl` has; lines_digest: SHA-256 of that file.
        seal: SHA-256 of all above, to find damage; it is no signature.
    """

    format: int = RECORD_FORMAT
    pmbench: str = ""
    made_with: str = ""
    ids: Literal["plain", "hashed"] = "plain"
    salt: str = ""
    order: list[str] = []
    model: str
    run: str
    asked: Asked
    scoring: Scoring
    data: RecordData
    results: Results
    stats: list[str] = []
    created_at: str = ""
    dropped: list[str] = []
    lines: int = 0
    lines_digest: str = ""
    seal: str = ""

    def run_record(self) -> RunRecord:
        """As much of `run.json` as a leaderboard needs."""
        data = DataRecord(
            given=None,
            split=self.data.split,
            asked_columns={},
            kind=self.data.kind,
            location=self.data.name,
            revision=self.data.revision,
            files={},
            columns={},
            sensitivity=self.data.sensitivity,
            instances=self.data.instances,
        )
        return RunRecord(
            digest=self.run,
            asked=self.asked,
            model=self.model,
            data=data,
            round=self.results.round,
            environment={"packages": {"pmbench": self.made_with}},
            created_at=self.created_at,
        )


def seal_of(written: dict[str, Any]) -> str:
    """What the seal of a record has to be.

    Args:
        written: the object in `record.json` as it is written, fields that this version does not know too.
    """
    return digest({name: value for name, value in written.items() if name != "seal"})
