"""What a run folder's files hold: one type per line or file; `docs/formats.md` is made from these."""

from __future__ import annotations

from typing import Any, Literal, TypeVar

import msgspec

from pmbench.core.model import Usage

FORMAT = 1
"""Version of the file formats below; a folder with a greater one is refused, not guessed at."""


class Asked(msgspec.Struct, frozen=True):
    """Everything that decides the responses of a run; its digest names the run folder.

    Attributes:
        task: name of the task.
        task_version: version of the task.
        options: the task's options, but for those that only scoring reads.
        strategy: name of the strategy.
        strategy_about: what decides its requests (digests of prompts, parameters).
        model: backend and identity of the model (engine and version, revision or SHA-256 of its weights).
        fingerprint: digest of the dataset's content.
        max_tokens: the run's own limit, null where the strategy's applies.
        temperature: the run's own temperature, null where the strategy's applies.
        seed: of sampling.
        samples: responses per instance.
        embedder: identity of the embedder, empty where the strategy uses none.
    """

    task: str
    task_version: int
    options: dict[str, Any]
    strategy: str
    strategy_about: dict[str, Any]
    model: dict[str, str]
    fingerprint: str
    max_tokens: int | None
    temperature: float | None
    seed: int
    samples: int
    embedder: dict[str, str] = {}


class Scoring(msgspec.Struct, frozen=True):
    """Everything that decides the scores, given the responses; its digest names a folder below `scores/`.

    Attributes:
        scoring_version: of the task.
        judges: for each role what decides its answers, the identity of its model included.
        embedder: identity of the embedder, empty where no judge uses it.
        splitter: name and version of the sentence splitter.
        seed: of sampling by judges.
        options: the task's options that only scoring reads; what only says where something lies is not among them.
            Absent where the task has none.
    """

    scoring_version: int
    judges: dict[str, dict[str, Any]]
    embedder: dict[str, str] = {}
    splitter: str = ""
    seed: int = 0
    options: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET


class DataRecord(msgspec.Struct, frozen=True):
    """Where the rows came from.

    Attributes:
        given: what `--data` said, a path made absolute; null for the task's own source.
        kind: `demo`, `file`, `folder`, `datasets` or `hub`.
        location: as shown to the user.
        revision: of a hub dataset; split: of a dataset that has several.
        asked_columns: what `--columns` said.
        files: SHA-256 by file name.
        columns: the task's column to the file's.
        sensitivity: `public`, `deidentified` or `phi`.
        instances: how many.
    """

    given: str | None
    split: str | None
    asked_columns: dict[str, str]
    kind: str
    location: str
    revision: str
    files: dict[str, str]
    columns: dict[str, str]
    sensitivity: str
    instances: int


class RunRecord(msgspec.Struct, kw_only=True):
    """`run.json`: the whole configuration of a run and where it was carried out.

    Attributes:
        format: version of the file formats.
        digest: SHA-256 of `asked`.
        asked: what decides the responses.
        model: the label that the user gave it, or the model's name; spec: what it stands for.
        data: where the rows came from.
        round: how often `--fresh` began the run anew; only lines of this round count.
        remote: the parts that send text of the data elsewhere, as the plan named them; allow_remote: whether
            the user allowed it for deidentified data.
        command: the arguments of the command that began it.
        environment: versions of pmbench, Python and packages, host facts, git commit of the working folder.
        created_at: when it was begun, ISO 8601, UTC.
    """

    format: int = FORMAT
    digest: str
    asked: Asked
    model: str
    spec: str = ""
    data: DataRecord
    round: int = 0
    remote: list[str] = []
    allow_remote: bool = False
    command: list[str] = []
    environment: dict[str, Any] = {}
    created_at: str = ""


class ResponseRecord(msgspec.Struct, omit_defaults=True, kw_only=True):
    """One line of `responses.jsonl`. Of several lines with one id and sample, the last counts.

    Attributes:
        id: of the instance.
        sample: number of the sample, from 0.
        round: see `run.json`.
        status: `ok`, or `failed` after all retries.
        text: the response's text.
        data: the response's structured data.
        finish: the worst finish reason of its calls (`error`, `refused`, `length`, `stop`).
        reasoning: thinking of its calls; never scored.
        failure: kind of the failure.
        calls: completions it took.
        retries: attempts beyond the first of those calls.
        usage: tokens.
        seconds: latency of its calls, added up.
        cost: US dollars of its calls, null where a price is not known.
        one_hot: of those calls, choices without log-probabilities: all probability on the option named.
        served: the models that answered, as their servers named them.
    """

    id: str
    sample: int = 0
    round: int = 0
    status: Literal["ok", "failed"] = "ok"
    text: str = ""
    data: dict[str, Any] = {}
    finish: str = "stop"
    reasoning: list[str] = []
    failure: str = ""
    calls: int = 0
    retries: int = 0
    usage: Usage = Usage()
    seconds: float = 0.0
    cost: float | None = None
    one_hot: int = 0
    served: list[str] = []


class ScoreRecord(msgspec.Struct, omit_defaults=True, kw_only=True):
    """One line of `scores/<digest>/scores.jsonl`. Of several lines with one id and sample, the last counts.

    Attributes:
        id: of the instance.
        sample: number of the sample, from 0.
        round: see `run.json`.
        cluster: the unit of resampling.
        slices: subgroup labels.
        status: `ok`, or `missing` where no honest number exists.
        stats: plain numbers that can be summed.
        units: ids of what the instance is made of.
        arrays: small arrays over them.
        failure: kind of what went wrong.
        calls: completions that judges took.
        usage: tokens of judges.
        seconds: latency of judges' calls, added up.
        cost: US dollars of judges' calls, null where a price is not known.
        one_hot: of those calls, choices without log-probabilities: all probability on the option named.
        served: the models that answered, as their servers named them.
        failed_requests: requests of judges that failed after all retries; `--retry-failed` scores it again.
        response: digest of the response that was scored.
        evidence: what explains the numbers. Holds text of the dataset.
    """

    id: str
    sample: int = 0
    round: int = 0
    cluster: str = ""
    slices: dict[str, str] = {}
    status: Literal["ok", "missing"] = "ok"
    stats: dict[str, float] = {}
    units: list[str] = []
    arrays: dict[str, Any] = {}
    failure: str = ""
    calls: int = 0
    usage: Usage = Usage()
    seconds: float = 0.0
    cost: float | None = None
    one_hot: int = 0
    served: list[str] = []
    failed_requests: int = 0
    response: str = ""
    evidence: Any = None


_NO_TEXTS: list[Any] = []
_NO_PAIRS: dict[Any, Any] = {}
_NO_USAGE = Usage()

R = TypeVar("R", ResponseRecord, ScoreRecord)


_POOL: dict[Any, Any] = {}
_ROOM = 4096


def _shared(name: str, part: Any, value: Any) -> Any:
    """An equal value that is there already, of the first few thousand that differ.

    Args:
        name: of the field.
        part: what tells it apart, hashable.
        value: the value itself.
    """
    key = (name, part)
    return _POOL.setdefault(key, value) if len(_POOL) < _ROOM else _POOL.get(key, value)


def slim(record: R) -> R:
    """A record as it is kept in memory while a run goes on: without evidence, its empty parts shared.

    A run of 50,000 instances holds as many; nobody may change what they hold.
    """
    for name in record.__struct_fields__:
        value = getattr(record, name)
        if name == "evidence":
            setattr(record, name, None)
        elif value == _NO_PAIRS:
            setattr(record, name, _NO_PAIRS)
        elif value == _NO_TEXTS:
            setattr(record, name, _NO_TEXTS)
        elif isinstance(value, Usage):
            setattr(record, name, _shared(name, value, value))
        elif name == "stats":
            setattr(record, name, _shared(name, tuple(value.items()), value))
        elif name == "served":
            setattr(record, name, _shared(name, tuple(value), value))
    return record
