"""What every record is like that pmbench made: one that is not was made, or sealed again, by another hand."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

from pmbench.running.agreement import of_counts
from pmbench.running.record import LINES, RECORD, RecordLine, RunInRecord

_DIGEST = re.compile(r"[0-9a-f]{64}")
_MARK = re.compile(r"[0-9a-f]*")


def shape(record: RunInRecord, lines: Sequence[RecordLine]) -> str:
    """What is wrong with a record, in words; empty where nothing is."""
    return _of_head(record) or _of_lines(record, lines)


def _of_head(record: RunInRecord) -> str:
    asked, results = record.asked, record.results
    digests = {
        "run": record.run,
        "results.run": results.run,
        "results.scoring": results.scoring,
        "asked.fingerprint": asked.fingerprint,
        "lines_digest": record.lines_digest,
    }
    for name, text in digests.items():
        if not _DIGEST.fullmatch(text):
            return f"{RECORD}: {name} is no digest"
    if not _MARK.fullmatch(record.salt) or bool(record.salt) != (record.ids == "hashed"):
        return f"{RECORD}: salt is no mark of a salt"
    pairs = {
        "run": (record.run, results.run),
        "model": (record.model, results.model),
        "task": (asked.task, results.task),
        "task_version": (asked.task_version, results.task_version),
        "strategy": (asked.strategy, results.strategy),
        "fingerprint": (asked.fingerprint, results.fingerprint),
    }
    for name, (one, other) in pairs.items():
        if one != other:
            return f"{RECORD}: its {name} is not that of its results"
    apart = of_counts(results.counts, asked.samples)
    return f"{RECORD}: {apart.why.partition(': ')[2]}" if apart is not None else ""


def _of_lines(record: RunInRecord, lines: Sequence[RecordLine]) -> str:
    counts = record.results.counts
    if record.lines != len(lines):
        return f"{LINES}: of {record.lines} lines it holds {len(lines)}"
    found = Counter(line.status for line in lines)
    said = {"scored": counts.scored, "missing": counts.missing, "failed": counts.failed}
    for status, number in said.items():
        if found[status] != number:  # type: ignore[index]
            return f"{LINES}: of {number} {status} it holds {found[status]}"  # type: ignore[index]
    if len({(line.id, line.sample) for line in lines}) != len(lines):
        return f"{LINES}: it has a line twice"
    for line in lines:
        took = (line.sample, line.calls, line.judge_calls, line.seconds, line.judge_seconds)
        prices = tuple(one for one in (line.cost, line.judge_cost) if one is not None)
        if not all(math.isfinite(one) and one >= 0 for one in took + prices):
            return f"{LINES}: a line has a number below 0"
    return ""
