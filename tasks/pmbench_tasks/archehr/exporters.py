"""Runs in the formats of the shared tasks: a submission, and the scores as the official scorer writes them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pmbench import DataError, Metric, Record, Score, id_shown
from pmbench_tasks.archehr.metrics import METRICS, OFFICIAL
from pmbench_tasks.archehr.submissions import submission_2025, submission_2026


def submission(records: Iterable[Record]) -> str:
    """A submission of 2025: each case with its answer. It holds the answers' text.

    Raises:
        DataError: a case has no answer; the official scorer takes only whole submissions.
    """
    return submission_2025({name: record.text for name, record in _answered(records).items()})


def text_submission(records: Iterable[Record]) -> str:
    """A submission of 2026 whose predictions are texts."""
    return submission_2026({name: one.text for name, one in _answered(records).items()})


def evidence_submission(records: Iterable[Record]) -> str:
    """A submission of 2026 whose predictions are lists of sentence ids."""
    return submission_2026(
        {name: list(one.data.get("evidence", ())) for name, one in _answered(records).items()}
    )


def alignment_submission(records: Iterable[Record]) -> str:
    """A submission of 2026 whose predictions are the ids of the note for each sentence of an answer."""
    return submission_2026(
        {
            name: [
                {"answer_id": sentence, "evidence_id": list(evidence)}
                for sentence, evidence in one.data.get("links", {}).items()
            ]
            for name, one in _answered(records).items()
        }
    )


def official_scores(records: Iterable[Record]) -> str:
    """The official scorer's `scores.json` of 2025: its keys, each a number from 0 to 100 (SARI too).

    A key whose components were not all computed is left out: no number of it would be honest.

    Raises:
        DataError: a case has no score.
    """
    return scores_text(METRICS, records, OFFICIAL)


def scores_text(metrics: Sequence[Metric], records: Iterable[Record], keys: Sequence[str]) -> str:
    """Metrics over the records, as JSON.

    Args:
        metrics: of the task; keys: names of those that the official scorer writes.
    """
    import numpy as np

    scores: dict[str, Score | None] = {record.instance.id: record.score for record in records}
    _refuse([name for name, score in scores.items() if score is None], len(scores), "score")
    names = dict.fromkeys(stat for score in scores.values() if score for stat in score.stats)
    stats = {
        stat: np.array([score.stats.get(stat, np.nan) for score in scores.values() if score])
        for stat in names
    }
    found = {
        metric.name: metric(stats)
        for metric in metrics
        if metric.name in keys and metric.computable(dict.fromkeys(names, 0.0))
    }
    return json.dumps({key: found[key] for key in keys if key in found}, indent=2) + "\n"


def _answered(records: Iterable[Record]) -> Mapping[str, Any]:
    responses = {record.instance.id: record.response for record in records}
    _refuse([name for name, one in responses.items() if one is None], len(responses), "response")
    return responses


def _refuse(absent: Sequence[str], of: int, what: str) -> None:
    if absent:
        raise DataError(
            f"{len(absent)} of {of} cases have no {what}, such as {id_shown(absent[0])}: official scorers want all",
            remedy="Finish the run: give its command again, with --retry-failed where requests failed",
        )
