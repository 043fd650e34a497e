"""What `results.json` holds: metrics with their intervals, what became of every instance, what it took."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from pmbench.running.records import FORMAT

Status = Literal["complete", "complete-with-missing", "incomplete"]


class MetricResult(msgspec.Struct, omit_defaults=True):
    """A metric with its interval.

    Attributes:
        value: null where it is undefined.
        low, high: ends of the 95% interval, null where there is none (fewer than two clusters).
        worst, best: the value if every failed or missing instance had been worst or best; null where nothing
            is missing or the metric has no such limits.
        note: why there is no interval, or what is special about it; empty otherwise.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    worst: float | None = None
    best: float | None = None
    note: str = ""


class SliceResult(msgspec.Struct):
    """The metrics of one subgroup.

    Attributes:
        instances: in it.
        clusters: that those with a score lie in.
        lost: samples of them that never will have a score (failed, missing).
        metrics: by name; those that stand in a group (one per theme) are not among them.
        gap: the primary metric in it less that in all others that have a label; null where there are no others.
        scored: instances of it that have a score; null in results of earlier versions.
    """

    instances: int
    clusters: int
    lost: int
    metrics: dict[str, MetricResult]
    gap: MetricResult | None = None
    scored: int | None = None


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
        partial: scores that are there though requests of judges failed; `--retry-failed` makes them again.
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
    partial: int = 0
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


class Variation(msgspec.Struct, omit_defaults=True):
    """Where the variation of one response's score in the primary metric comes from (docs/statistics.md).

    Attributes:
        cluster: variance between clusters, null where they are not told apart from instances.
        instance: variance between instances (of one cluster), in the square of the metric's unit.
        sample: variance between samples of one instance.
        sample_share: of the sum of the parts; null where nothing varies.
        sample_share_low, sample_share_high: ends of its interval; null where it would have no width.
        se: standard error by this split of the value of these instances, null with one cluster.
        se_single, se_double, se_least: the same with one sample of each, with twice as many, with any number; the
            last is null where a part is below 0.
        linearised: whether a response's score is its part in a formula of sums, and not the value of it alone.
        instances, samples, clusters: how many these numbers are from.
        left_out: instances of the run that lack the score of a sample, and are not in them.
        below_zero: parts whose estimate came out below 0 and stands as 0.
        note: why there is no split; all else is then absent.
    """

    cluster: float | None = None
    instance: float | None = None
    sample: float | None = None
    sample_share: float | None = None
    sample_share_low: float | None = None
    sample_share_high: float | None = None
    se: float | None = None
    se_single: float | None = None
    se_double: float | None = None
    se_least: float | None = None
    linearised: bool = False
    instances: int = 0
    samples: int = 0
    clusters: int = 0
    left_out: int = 0
    below_zero: list[str] = []
    note: str = ""


class Results(msgspec.Struct, kw_only=True):
    """`scores/<digest>/results.json`: what a run came to.

    Attributes:
        format: version of the file formats.
        status: `complete`, `complete-with-missing`, `incomplete`.
        reason: why it is not complete, in words.
        task, task_version, strategy, model: as in `run.json`.
        judges: for each role the name of its judge.
        options: the task's options, those that only scoring reads as they were for this scoring.
        run: digest of the run; scoring: digest of the scoring; fingerprint: of the dataset;
            instances_digest: of the ids of this run's instances.
        round: the round of the run that these are results of.
        primary: name of the primary metric.
        metrics: by name, in the task's order.
        counts: what became of every instance.
        slices: by slice, by label.
        usage: `model` and `judges`.
        statistics: how the intervals were made.
        findings: what the task has to say of the scores beside the metrics, and where these are not to be trusted.
        unusable: by kind of failure the ids of instances whose score holds no number that can be reported.
        variation: of the primary metric, where there are several samples per instance; else null.
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
    options: dict[str, Any] = {}
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
    findings: list[str] = []
    unusable: dict[str, list[str]] = {}
    variation: Variation | None = None
    finished_at: str = ""
