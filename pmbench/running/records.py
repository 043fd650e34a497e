"""What a run folder's files hold: one type per line or file; `docs/formats.md` is made from these."""

from __future__ import annotations

from typing import Any, Literal, TypeVar

import msgspec

from pmbench.core.model import Usage

FORMAT = 1
"""Version of the file formats below; a folder with a greater one is refused, not guessed at."""

Status = Literal["complete", "complete-with-missing", "incomplete"]


class Asked(msgspec.Struct, frozen=True):
    """Everything that decides the responses of a run; its digest names the run folder.

    Attributes:
        task: name of the task.
        task_version: version of the task.
        options: the task's options, all of them.
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
    """

    scoring_version: int
    judges: dict[str, dict[str, Any]]
    embedder: dict[str, str] = {}
    splitter: str = ""
    seed: int = 0


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
    response: str = ""
    evidence: Any = None


_NO_TEXTS: list[Any] = []
_NO_PAIRS: dict[Any, Any] = {}
_NO_USAGE = Usage()

R = TypeVar("R", ResponseRecord, ScoreRecord)


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
        elif value == _NO_USAGE:
            setattr(record, name, _NO_USAGE)
    return record


class MetricResult(msgspec.Struct, omit_defaults=True):
    """A metric with its interval.

    Attributes:
        value: null where it is undefined.
        low, high: ends of the 95% interval, null where there is none (fewer than two clusters).
        worst, best: the value if every failed or missing instance had been worst or best; null where nothing
            is missing or the metric has no such limits.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    worst: float | None = None
    best: float | None = None


class SliceResult(msgspec.Struct):
    """The metrics of one subgroup.

    Attributes:
        instances: in it.
        clusters: that those with a score lie in.
        lost: samples of them that never will have a score (failed, missing).
        metrics: by name; those that stand in a group (one per theme) are not among them.
    """

    instances: int
    clusters: int
    lost: int
    metrics: dict[str, MetricResult]


class Counts(msgspec.Struct, omit_defaults=False):
    """What became of every instance and sample.

    Attributes:
        dataset: instances in the dataset.
        instances: instances of this run (fewer with `--limit`).
        samples: responses asked for (instances × samples per instance).
        responded: responses there.
        scored: scores there.
        failed: responses that failed after all retries.
        missing: responses whose score is missing.
        pending: neither answered nor failed, or not yet scored.
        refused: responses that are a refusal; scored as the task says.
        truncated: responses cut off by the token limit; scored as the task says.
        empty: responses without text; scored as the task says.
        failures: of `failed` and `missing`, how many of each kind.
    """

    dataset: int = 0
    instances: int = 0
    samples: int = 0
    responded: int = 0
    scored: int = 0
    failed: int = 0
    missing: int = 0
    pending: int = 0
    refused: int = 0
    truncated: int = 0
    empty: int = 0
    failures: dict[str, int] = {}


class UsageTotal(msgspec.Struct):
    """What all calls took, added up; those answered by the store are in it as they once were.

    Attributes:
        calls: completions.
        prompt_tokens: tokens of prompts.
        completion_tokens: tokens of answers, thinking included.
        cached_tokens: of the prompts' tokens, those that the engine or server had from earlier prompts.
        reasoning_tokens: of the answers' tokens, those of thinking, where the server tells.
        written_tokens: of the prompts' tokens, those that the server kept for later prompts at their own price.
        seconds: latency of all calls.
        cost: US dollars of the calls whose price is known.
        unpriced: calls whose price is not known.
        latency_median, latency_p95: seconds of one response, its calls added up, as they were measured when they
            were asked; of recorded and of failed responses there are none. Null where no response has any.
        one_hot: choices without log-probabilities.
        served: by the model's name as its server gave it, how many responses it had a part in.
    """

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    written_tokens: int = 0
    seconds: float = 0.0
    cost: float = 0.0
    unpriced: int = 0
    latency_median: float | None = None
    latency_p95: float | None = None
    one_hot: int = 0
    served: dict[str, int] = {}


class Statistics(msgspec.Struct, frozen=True):
    """How the intervals were made.

    Attributes:
        method: in words.
        resamples: of the bootstrap.
        level: of the intervals.
        seed: of the bootstrap.
        clusters: how many there are to resample.
    """

    method: str = "percentile bootstrap by cluster"
    resamples: int = 10_000
    level: float = 0.95
    seed: int = 0
    clusters: int = 0


class Results(msgspec.Struct, kw_only=True):
    """`scores/<digest>/results.json`: what a run came to.

    Attributes:
        format: version of the file formats.
        status: `complete`, `complete-with-missing`, `incomplete`.
        reason: why it is not complete, in words.
        task, task_version, strategy, model: as in `run.json`.
        judges: for each role the name of its judge.
        run: digest of the run; scoring: digest of the scoring; fingerprint: of the dataset;
            instances_digest: of the ids of this run's instances.
        round: the round of the run that these are results of.
        primary: name of the primary metric.
        metrics: by name, in the task's order.
        counts: what became of every instance.
        slices: by slice, by label.
        usage: `model` and `judges`.
        statistics: how the intervals were made.
        finished_at: ISO 8601, UTC.
    """

    format: int = FORMAT
    status: Status
    reason: str = ""
    task: str
    task_version: int
    strategy: str
    model: str
    judges: dict[str, str] = {}
    run: str
    scoring: str
    fingerprint: str
    instances_digest: str
    round: int = 0
    primary: str
    metrics: dict[str, MetricResult] = {}
    counts: Counts = msgspec.field(default_factory=Counts)
    slices: dict[str, dict[str, SliceResult]] = {}
    usage: dict[str, UsageTotal] = {}
    statistics: Statistics = Statistics()
    finished_at: str = ""
