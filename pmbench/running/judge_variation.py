"""Several scorings of one run by different judges: how much of a score's variation is due to the judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from pmbench.core.errors import StorageError
from pmbench.core.metric import Metric
from pmbench.running.carrying_out import RESULTS, SCORING
from pmbench.running.columns import ScoreColumns
from pmbench.running.folder import read_json, read_lines
from pmbench.running.judging import SCORES
from pmbench.running.reading import StoredRun
from pmbench.running.records import ScoreRecord, Scoring, slim
from pmbench.running.responding import Key
from pmbench.running.results import Results
from pmbench.running.variation import is_plain, response_scores
from pmbench.stats.variance_parts import VarianceParts, variance_parts


@dataclass(frozen=True)
class MetricSplit:
    """One metric over scorings by different judges.

    Attributes:
        metric: of the task.
        values: by each judge, on the instances that all of them have scored.
        parts: variances of one response's score; None where `why` says why there are none.
        same: whether every judge gave every response the same score.
        linearised: whether a response's score is its part in a formula of sums.
    """

    metric: Metric
    values: list[float]
    parts: VarianceParts | None
    why: str = ""
    same: bool = False
    linearised: bool = False


@dataclass(frozen=True)
class JudgeSplit:
    """The scorings of a run that differ in their judges alone, and how metrics vary over them.

    Attributes:
        taken: name of each scoring's folder and what sets its judges apart, in the order of the folders.
        not_taken: name of each other scoring, and why.
        metrics: the primary one first, then those that stand beside it; none with fewer than two scorings.
    """

    taken: list[tuple[str, str]]
    not_taken: list[tuple[str, str]]
    metrics: list[MetricSplit]


@dataclass(frozen=True)
class _Scored:
    """One scoring as it lies on disk; its scores of the run's round that are there, without evidence."""

    path: Path
    results: Results
    scoring: Scoring
    scores: dict[Key, ScoreRecord]


def judge_split(run: StoredRun) -> JudgeSplit | None:
    """Split the variance of a run's main metrics into instances, samples, judges and what is between them.

    Args:
        run: the scoring that it shows is the one that others are held against.

    Returns:
        None where there is one scoring.

    Raises:
        UnknownName, PluginError: the task is not installed.
        StorageError: the scoring that is shown cannot be read.
    """
    if run.scores is None or not run.others:
        return None
    shown = _read(run, run.scores)
    taken, not_taken = [], []
    for name in (run.scores.name, *run.others):
        try:
            one = shown if name == run.scores.name else _read(run, run.scores.parent / name)
            why = _unlike(run, shown, one)
        except StorageError as error:
            why = error.what
        if why:
            not_taken.append((name, why))
        else:
            taken.append(one)
    taken.sort(key=lambda one: one.path.name)
    names = _names([one.results.judges for one in taken])
    told = [(one.path.name, name) for one, name in zip(taken, names, strict=True)]
    return JudgeSplit(told, not_taken, _metrics(run, taken) if len(taken) > 1 else [])


def _read(run: StoredRun, path: Path) -> _Scored:
    lines = map(slim, read_lines(path / SCORES, ScoreRecord))
    latest = {(one.id, one.sample): one for one in lines if one.round == run.record.round}
    scores = {key: one for key, one in latest.items() if one.status == "ok"}
    return _Scored(path, read_json(path / RESULTS, Results), read_json(path / SCORING, Scoring), scores)


def _unlike(run: StoredRun, shown: _Scored, one: _Scored) -> str:
    """Why a scoring cannot be set beside the one that is shown; empty where it can.

    The seed of judges and whether there is an embedder follow from which judges there are.
    """
    ours, theirs = shown.scoring, one.scoring
    embedders = [each.embedder for each in (ours, theirs) if each.embedder]
    reasons = {
        f"it is of round {one.results.round} of the run": one.results.round != run.record.round,
        "it is incomplete": one.results.status == "incomplete",
        "it is of other instances": one.results.instances_digest != shown.results.instances_digest,
        "it has other roles of judges": theirs.judges.keys() != ours.judges.keys(),
        "it was made with another version of the task's scoring": theirs.scoring_version
        != ours.scoring_version,
        "it was made with other options of scoring": theirs.options != ours.options,
        "it was made with other options of a judge's role": _role_options(theirs) != _role_options(ours),
        "it was made with another splitter of sentences": theirs.splitter != ours.splitter,
        "it was made with another embedder": len(embedders) > 1 and embedders[0] != embedders[1],
    }
    return next((why for why, holds in reasons.items() if holds), "")


def _role_options(scoring: Scoring) -> dict[str, object]:
    """What each role was asked to do, whoever does it."""
    return {role: about.get("options") for role, about in scoring.judges.items()}


def _metrics(run: StoredRun, taken: Sequence[_Scored]) -> list[MetricSplit]:
    primary, *others = run.task().metrics
    scored = [one.scores for one in taken]
    instances, samples = taken[0].results.counts.instances, run.record.asked.samples
    wanted = [primary, *(one for one in others if one.headline and one.scheme == "cluster")]
    found = [_of_metric(metric, scored, samples, instances) for metric in wanted]
    return [one for place, one in enumerate(found) if place == 0 or one.parts is not None]


def _of_metric(
    metric: Metric, scored: Sequence[Mapping[Key, ScoreRecord]], samples: int, instances: int
) -> MetricSplit:
    if metric.scheme != "cluster":
        return MetricSplit(metric, [], None, "its instances share messages, or are lists of them")
    columns = _columns(metric, scored, samples)
    if columns is None or len(columns) < 2:
        return MetricSplit(metric, [], None, "fewer than two instances have the scores of all judges")
    values = np.stack([response_scores(metric, columns[..., judge]) for judge in range(len(scored))], axis=-1)
    if not np.isfinite(values).all():
        return MetricSplit(metric, [], None, "its formula has no value or no slope on these scores")
    parts = variance_parts(values)
    return MetricSplit(
        metric,
        values.mean(axis=(0, 1)).tolist(),
        msgspec.structs.replace(parts, left_out=instances - parts.instances),
        same=bool((columns == columns[..., :1]).all()),
        linearised=not is_plain(metric),
    )


def _columns(
    metric: Metric, scored: Sequence[Mapping[Key, ScoreRecord]], samples: int
) -> NDArray[np.float64] | None:
    """Columns (n, K, k, J) of the instances of which all judges have scored all samples, the same responses."""
    keys = set.intersection(*(set(one) for one in scored))
    same = sorted(key for key in keys if len({one[key].response for one in scored}) == 1)
    if not same:
        return None
    judges = [ScoreColumns([one[key] for key in same]) for one in scored]
    if not all(judge.present(metric).any() for judge in judges):
        return None
    columns = np.stack([judge.by_sample(metric, samples) for judge in judges], axis=-1)
    return columns[~np.isnan(columns).any(axis=(1, 2, 3))]


def _names(judges: Sequence[Mapping[str, str]]) -> list[str]:
    """The judges of each scoring in the roles in which they differ."""
    roles = list(dict.fromkeys(role for one in judges for role in one))
    apart = [role for role in roles if len({one.get(role) for one in judges}) > 1] or roles
    return [", ".join(f"{role}={one.get(role, 'none')}" for role in apart) for one in judges]
