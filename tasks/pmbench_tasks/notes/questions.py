"""A run's answers question by question, of each judge that scored it, and what its judges make together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from pmbench import DataError
from pmbench_tasks.archehr.run_scores import read_scores
from pmbench_tasks.notes.checklist import Scale
from pmbench_tasks.notes.evaluation.intervals import RESAMPLES, Estimate, Floats, means, nothing, with_missing
from pmbench_tasks.notes.judge_role import ROLE
from pmbench_tasks.notes.jury import jury_score

_ENDS: Mapping[Scale, tuple[float, float]] = {"1-5": (1.0, 5.0), "0-5": (0.0, 5.0)}


class Rate(msgspec.Struct, frozen=True, kw_only=True):
    """One question as one judge answered it.

    Attributes:
        judge, item, question: whose, which.
        rate: the share of texts with a yes, or the mean grade, of those with an answer; with what it would be if
            every missing answer were the worst and the best.
        answered, asked: texts.
        missing: answers by the reason why there is none.
        quotes, found: answers with a quote, and quotes that stand in the text or the source.
    """

    judge: str
    item: str
    question: str
    rate: Estimate
    answered: int
    asked: int
    missing: dict[str, int]
    quotes: int
    found: int


class Questions(msgspec.Struct, frozen=True, kw_only=True):
    """A run question by question.

    Attributes:
        task, checklist, digest, scale: of the run; the checklist's content.
        judges: those that scored it with this checklist.
        rates: of each judge, its questions in order.
        jury: mean over judges, questions and texts (MedHELM's mean over judges and criteria, without its zero for
            no answer), on the scale of the answers; of points there is none.
        left_out: scorings of another checklist, and of rounds before the last.
    """

    task: str
    checklist: str
    digest: str
    scale: Scale
    judges: list[str]
    rates: list[Rate]
    jury: Estimate | None
    left_out: list[str]


class _Answer(msgspec.Struct):
    item: str
    question: str
    met: bool | None = None
    grade: int | None = None
    quote: str = ""
    found: str = ""
    why: str = ""

    @property
    def value(self) -> float | None:
        """Yes as 1, no as 0, or the grade."""
        if self.grade is not None:
            return float(self.grade)
        return None if self.met is None else float(self.met)


class _About(msgspec.Struct):
    name: str
    digest: str
    scale: Scale


class _Evidence(msgspec.Struct):
    checklist: _About
    answers: list[_Answer]


class _Line(msgspec.Struct):
    id: str
    sample: int = 0
    round: int = 0
    cluster: str = ""
    status: str = "ok"
    evidence: Any = None


class _Counts(msgspec.Struct):
    failures: dict[str, int] = {}


class _Results(msgspec.Struct):
    round: int = 0
    judges: dict[str, str] = {}
    counts: _Counts = msgspec.field(default_factory=_Counts)


class _Scoring(msgspec.Struct):
    """One judge's scores: the answers to each text by id and sample, and the cluster of each."""

    name: str
    judge: str
    about: _About
    answers: dict[tuple[str, int], list[_Answer]]
    clusters: dict[tuple[str, int], str]


def questions_of(
    name: str, runs: Path, *, scoring: str = "", resamples: int = RESAMPLES, seed: int = 0
) -> Questions:
    """A run of a checklist task, question by question.

    Where a run was scored by several checklists, that of the scoring with the most texts is taken.

    Args:
        name: the run's folder, or the beginning of its digest below the runs folder.
        runs: the runs folder.
        scoring: the beginning of a scoring's digest, whose checklist is taken instead.
        resamples, seed: of intervals; whole clusters are drawn again.

    Raises:
        DataError: there is no such run or scoring; it is of another task, not scored, or cannot be read.
    """
    run = read_scores(name, runs)
    found = [one for path in sorted(run.folder.glob("scores/*")) if (one := _scoring(path)) is not None]
    if not found:
        _refuse_unscored(run.folder)
        raise DataError(
            f"has no answers to a checklist's questions (task {run.task})",
            where=str(run.folder),
            remedy="Name a run of notes-checklist or syppm-checklist",
        )
    wanted = [one for one in found if one.name.startswith(scoring)]
    if not wanted:
        there = ", ".join(f"{one.name} ({one.about.name})" for one in found)
        raise DataError(
            f"no scoring begins with {scoring[:80]!r}", where=str(run.folder), remedy=f"There are: {there}"
        )
    about = max(wanted, key=lambda one: len(one.answers)).about
    kept = _told_apart([one for one in found if one.about.digest == about.digest])
    return Questions(
        task=run.task,
        checklist=about.name,
        digest=about.digest,
        scale=about.scale,
        judges=[one.judge for one in kept],
        rates=[rate for one in kept for rate in _rates(one, resamples, seed)],
        jury=_jury(kept, resamples, seed),
        left_out=[f"{one.name} ({one.about.name})" for one in found if one.about.digest != about.digest],
    )


def _refuse_unscored(folder: Path) -> None:
    """Say so where a judge was asked a checklist's questions, and no text has a score all the same.

    Raises:
        DataError: it is so; with the reasons, by how many texts have each.
    """
    reasons: Counter[str] = Counter()
    asked = False
    for path in sorted(folder.glob("scores/*/results.json")):
        try:
            results = msgspec.json.decode(path.read_bytes(), type=_Results)
        except (OSError, msgspec.MsgspecError):
            continue
        asked = asked or ROLE in results.judges
        reasons.update(results.counts.failures)
    if asked:
        why = (
            f" ({', '.join(f'{kind} {count}' for kind, count in sorted(reasons.items()))})" if reasons else ""
        )
        remedy = "Score it again, or by another judge: pmbench score"
        raise DataError(f"not one of its texts has a score{why}", where=str(folder), remedy=remedy)


def _told_apart(scorings: list[_Scoring]) -> list[_Scoring]:
    """The scorings, one judge's name followed by its scoring where it stands twice (asked in two ways)."""
    times = Counter(one.judge for one in scorings)
    return [
        msgspec.structs.replace(one, judge=f"{one.judge} ({one.name})") if times[one.judge] > 1 else one
        for one in scorings
    ]


def _rates(scoring: _Scoring, resamples: int, seed: int) -> list[Rate]:
    keys = list(scoring.answers)
    rows = [scoring.answers[key] for key in keys]
    table = np.array([[_number(one) for one in row] for row in rows])
    ends = _ENDS.get(scoring.about.scale, (0.0, 1.0))
    clusters = [scoring.clusters[key] for key in keys]
    rates = []
    for place, first in enumerate(rows[0]):
        column = table[:, place : place + 1]
        said = [row[place] for row in rows]
        rate = _mean(column, clusters, ends, resamples, seed)
        lost = int(np.isnan(column).sum())
        least, most = (float(np.where(np.isnan(column), end, column).mean()) for end in ends)
        rates.append(
            Rate(
                judge=scoring.judge,
                item=first.item,
                question=first.question,
                rate=with_missing(rate, lost, least, most),
                answered=len(said) - lost,
                asked=len(said),
                missing=dict(Counter(one.why for one in said if one.value is None)),
                quotes=sum(bool(one.quote) for one in said),
                found=sum(bool(one.found) for one in said),
            )
        )
    return rates


def _jury(scorings: Sequence[_Scoring], resamples: int, seed: int) -> Estimate | None:
    """The mean over judges, questions and texts: of each text first, then over texts."""
    scale = scorings[0].about.scale
    if scale == "points":
        return None
    ends = _ENDS.get(scale, (0.0, 1.0))
    clusters = {key: cluster for one in scorings for key, cluster in one.clusters.items()}
    many = len(next(iter(scorings[0].answers.values())))
    scores = []
    for key in clusters:
        rows: list[list[float | None]] = [
            [said.value for said in one.answers[key]] if key in one.answers else [None] * many
            for one in scorings
        ]
        scores.append(jury_score(rows, ends))
    means_of = np.array([[np.nan if one.mean is None else one.mean] for one in scores])
    found = _mean(means_of, list(clusters.values()), ends, resamples, seed)
    least, most = (float(np.mean([getattr(one, end) for one in scores])) for end in ("low", "high"))
    return with_missing(found, sum(one.missing for one in scores), least, most)


def _mean(
    column: Floats, clusters: Sequence[str], ends: tuple[float, float], resamples: int, seed: int
) -> Estimate:
    """The mean of one column, shape (n, 1), of what is there; undefined where nothing is."""
    if np.isnan(column).all():
        return nothing("text", "no text has an answer")
    return means(column, clusters, unit="text", limits=ends, resamples=resamples, seed=seed)[0]


def _number(one: _Answer) -> float:
    return float("nan") if one.value is None else one.value


def _scoring(folder: Path) -> _Scoring | None:
    """The answers that a folder of scores holds; None where there are none."""
    try:
        results = msgspec.json.decode((folder / "results.json").read_bytes(), type=_Results)
        lines = (folder / "scores.jsonl").read_bytes().split(b"\n")
    except (OSError, msgspec.MsgspecError):
        return None
    answers: dict[tuple[str, int], list[_Answer]] = {}
    clusters: dict[tuple[str, int], str] = {}
    about: _About | None = None
    for line in lines:
        try:
            one = msgspec.json.decode(line, type=_Line)
            evidence = msgspec.convert(one.evidence, _Evidence)
        except msgspec.MsgspecError:  # a torn last line; a score that is missing has no evidence
            continue
        if one.round == results.round and one.status == "ok":
            key, about = (one.id, one.sample), evidence.checklist
            answers[key], clusters[key] = evidence.answers, one.cluster or one.id
    if about is None:
        return None
    return _Scoring(folder.name, results.judges.get(ROLE, ""), about, answers, clusters)
