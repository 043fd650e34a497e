"""Making a record of a run: what is copied, what is hashed, what is left out, and the search for text at the end."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import msgspec

from pmbench.core.errors import ConfigError, StorageError, UserError
from pmbench.core.model import Usage
from pmbench.running.agreement import check_scores
from pmbench.running.folder import read_json, read_lines
from pmbench.running.judging import SCORES
from pmbench.running.reading import StoredRun, read_records
from pmbench.running.record import Number, RecordData, RecordLine, RunInRecord, Status
from pmbench.running.record_names import Names
from pmbench.running.record_text import array, labels_kept, search, setting, strings_of
from pmbench.running.records import Asked, DataRecord, ResponseRecord, ScoreRecord, Scoring
from pmbench.running.responding import Key
from pmbench.running.results import MetricResult, Results, SliceResult

_LONGEST_ID = 64
_EXACT = 2**53
_NO_USAGE = Usage()


@dataclass(frozen=True)
class Made:
    """A record that was made, and what is to be said of it.

    Attributes:
        record, lines: what is written.
        looked: how many texts were looked for in it and not found.
        data_read: whether the texts of the data were among them; `why_not`: else why not.
    """

    record: RunInRecord
    lines: list[RecordLine]
    looked: int
    data_read: bool
    why_not: str = ""


def make_record(run: StoredRun, names: Names, *, slices: bool = True) -> Made:
    """Make the record of one scoring of a run.

    Args:
        run: with the scoring.
        names: as which its ids, clusters and units are shown.
        slices: whether subgroup labels are kept.

    Raises:
        StorageError: the run is not scored, or its files do not belong together.
        ConfigError: something in it looks like text where none may be.
    """
    if run.scores is None or run.results is None:
        raise StorageError(
            "this run is not scored, so there is nothing to compare",
            where=str(run.folder.path),
            remedy="Give the run's command again",
        )
    responses = _latest(read_lines(run.folder.responses, ResponseRecord), run.record.round)
    scores = _latest(read_lines(run.scores / SCORES, ScoreRecord), run.record.round)
    _check(run, run.results)
    check_scores(run, [one for one in scores.values() if one.status == "ok"])
    hashed = bool(names.salt)
    for key in (*responses, *scores):
        names.learn([key[0]])
    for score in scores.values():
        names.learn([score.cluster, *score.units])
    if not hashed:
        _check_ids([key[0] for key in responses])
    dropped: list[str] = []
    kept = labels_kept((one.slices for one in scores.values()), dropped) if slices else set()
    keys = sorted({**responses, **scores})
    stats = list(dict.fromkeys(name for key in keys if key in scores for name in scores[key].stats))
    lines = [_line(key, responses.get(key), scores.get(key), names, kept, stats) for key in keys]
    record = msgspec.structs.replace(_record(run, run.results, names, kept, dropped), stats=stats)
    texts = [text for one in responses.values() for text in _texts_of(one)]
    texts += [text for one in scores.values() for text in strings_of(one.evidence)]
    of_data, why_not = _texts_of_data(run)
    looked = search(msgspec.to_builtins(record), lines, [*texts, *of_data], names)
    return Made(record, lines, looked, not why_not, why_not)


def _latest(lines: Sequence[Any], number: int) -> dict[Key, Any]:
    return {(line.id, line.sample): line for line in lines if line.round == number}


def _check(run: StoredRun, results: Results) -> None:
    """Whether the results are of this round of the run, so that its scores can be theirs."""
    if results.round != run.record.round:
        raise StorageError(
            f"results.json is of round {results.round} and the run in round {run.record.round}",
            where=str(run.scores),
            remedy="Give the run's command again",
        )


def _check_ids(ids: Sequence[str]) -> None:
    """Whether ids are ids: what is long or has blanks may be text, and then only its hash may be shown."""
    long = sum(len(one) > _LONGEST_ID or any(map(str.isspace, one)) for one in ids)
    if long:
        raise ConfigError(
            f"{long} ids are long or have blanks, as text has",
            where="record",
            remedy="Replace ids with --hash-ids",
        )


def _line(
    key: Key,
    response: ResponseRecord | None,
    score: ScoreRecord | None,
    names: Names,
    kept: set[str],
    stats: Sequence[str],
) -> RecordLine:
    line = RecordLine(id=names(key[0]), sample=key[1], status=_status(response, score))
    if response is not None:
        line.failure, line.finish = response.failure, response.finish
        line.calls, line.usage, line.seconds = response.calls, _used(response.usage), response.seconds
        line.cost = response.cost
    if score is not None:
        where = f"{SCORES}, sample {key[1]} of an instance"
        line.cluster = names(score.cluster)
        line.slices = {name: names(label) for name, label in score.slices.items() if name in kept}
        if score.stats:
            line.stats = [_number(score.stats.get(name)) for name in stats]
        line.units = [names(one) for one in score.units]
        line.arrays = array(score.arrays, names, where)
        line.failure = score.failure or line.failure
        line.judge_calls, line.judge_usage = score.calls, _used(score.usage)
        line.judge_seconds, line.judge_cost = score.seconds, score.cost
    return line


def _number(value: float | None) -> Number:
    """A whole number without its decimal point: most numbers are counts."""
    return int(value) if value is not None and value.is_integer() and abs(value) < _EXACT else value


def _status(response: ResponseRecord | None, score: ScoreRecord | None) -> Status:
    if score is not None:
        return "scored" if score.status == "ok" else "missing"
    return "failed" if response is not None and response.status == "failed" else "open"


def _used(usage: Usage) -> Usage | None:
    return None if usage == _NO_USAGE else usage


def _record(
    run: StoredRun, results: Results, names: Names, kept: set[str], dropped: list[str]
) -> RunInRecord:
    record = run.record
    asked = msgspec.convert(setting(msgspec.to_builtins(record.asked), dropped, "asked"), Asked)
    scoring = msgspec.convert(setting(msgspec.to_builtins(_scoring(run)), dropped, "scoring"), Scoring)
    return RunInRecord(
        pmbench=version("pmbench"),
        made_with=str(record.environment.get("packages", {}).get("pmbench", "")),
        ids="hashed" if names.salt else "plain",
        salt=names.salt,
        order=names.order(),
        model=setting(results.model, dropped, "model"),
        run=results.run,
        asked=asked,
        scoring=scoring,
        data=_data(record.data),
        results=_results(results, names, kept, dropped),
        created_at=record.created_at,
        dropped=list(dict.fromkeys(dropped)),
    )


def _scoring(run: StoredRun) -> Scoring:
    if run.scores is None:
        raise StorageError("this run is not scored", where=str(run.folder.path))
    return read_json(run.scores / "scoring.json", Scoring)


def _data(data: DataRecord) -> RecordData:
    """Where the rows came from, without folders."""
    name = data.location
    if data.kind in ("file", "folder", "datasets"):
        name = re.split(r"[/\\]", name.rstrip("/\\"))[-1] or name
    return RecordData(data.kind, name, data.revision, data.split, data.sensitivity, data.instances)


def _results(results: Results, names: Names, kept: set[str], dropped: list[str]) -> Results:
    """The results without findings, which are a task's own words, and with no name of the data in notes."""
    served = {
        role: msgspec.structs.replace(total, served=setting(total.served, dropped, f"usage.{role}.served"))
        for role, total in results.usage.items()
    }
    slices = {
        name: {names(label): _subgroup(one, results.primary, names) for label, one in parts.items()}
        for name, parts in results.slices.items()
        if name in kept
    }
    return msgspec.structs.replace(
        results,
        model=setting(results.model, dropped, "results.model"),
        judges=setting(results.judges, dropped, "results.judges"),
        options=setting(results.options, dropped, "results.options"),
        reason=setting(results.reason, dropped, "results.reason"),
        instances_digest=names.hashed(results.instances_digest) if names.salt else results.instances_digest,
        metrics=_metrics(results.metrics, names),
        slices=slices,
        usage=served,
        findings=[],
        unusable={},
    )


def _subgroup(one: SliceResult, primary: str, names: Names) -> SliceResult:
    """A subgroup with its primary metric: all others follow from the lines, and would be most of the record."""
    kept = {name: found for name, found in one.metrics.items() if name == primary}
    gap = _metrics({"gap": one.gap}, names)["gap"] if one.gap else None
    return msgspec.structs.replace(one, metrics=_metrics(kept, names), gap=gap)


def _metrics(metrics: Mapping[str, MetricResult], names: Names) -> dict[str, MetricResult]:
    """As they are; without notes where names are hashed, since a note may name a list."""
    if not names.salt:
        return dict(metrics)
    return {name: msgspec.structs.replace(one, note="") for name, one in metrics.items()}


def _texts_of(response: ResponseRecord) -> Iterator[str]:
    yield from (response.text, *response.text.splitlines(), *response.reasoning)
    yield from strings_of(response.data)


def _texts_of_data(run: StoredRun) -> tuple[list[str], str]:
    """Every text of the data, as far as they are still where they were."""
    try:
        records = read_records(run)
    except UserError as error:
        return [], error.what
    instances = [one.instance for one in records]
    texts = [text for one in instances for part in (one.inputs, one.target) for text in strings_of(part)]
    return [line for text in texts for line in {text, *text.splitlines()}], ""
