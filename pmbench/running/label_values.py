"""What people's labels make of a run's metrics: whether labels fit the run, and judge-corrected values."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import msgspec
import numpy as np

from pmbench.core.errors import DataError
from pmbench.core.metric import Metric
from pmbench.core.names import name_shown
from pmbench.data.fingerprint import id_shown
from pmbench.running.label_form import enough, too_few
from pmbench.running.label_marks import KEY, Marks, kept_marks
from pmbench.running.label_slips import by_cluster, counted_whole, ends_of, most_of
from pmbench.running.labels import Label, Labels
from pmbench.running.records import ScoreRecord
from pmbench.running.responding import Key
from pmbench.stats.prediction_powered import OF_LABELS_ALONE, prediction_powered_metric

Triple = tuple[float | None, float | None, float | None]


class Corrected(msgspec.Struct, frozen=True):
    """A metric as people would give it, from their labels and the judge's scores.

    Attributes:
        value, low, high: judge-corrected, with the ends of its interval; None where there is none.
        weight: λ, how far the judge is relied on, 0 to 1; None without a value, and where the value is that of the
            labelled responses alone for another reason than that the judge is a bad one.
        labelled, responses: how many responses people have labelled, of how many that the judge has scored.
        clusters: that the labelled ones are in.
        labelled_only: value and interval of the labelled responses alone.
        note: what is special about it, or why there is no value; empty otherwise.
    """

    value: float | None
    low: float | None
    high: float | None
    weight: float | None
    labelled: int
    responses: int
    clusters: int
    labelled_only: Triple
    note: str = ""


def covered(metrics: Sequence[Metric], labels: Labels) -> list[Metric]:
    """The metrics all of whose statistics the labels have.

    Raises:
        DataError: a column is no statistic of the task, a cell holds no number, or there is no such metric.
    """
    possible = by_cluster(metrics)
    known = {name: metric for metric in possible for name in metric.stat_names}
    unknown = [name for name in labels.statistics if name not in known]
    if unknown:
        raise DataError(
            f"the column {name_shown(unknown[0])} is no statistic of a metric of this task",
            where=_header(labels, unknown[0]),
            remedy=f"Leave it out; there are: {_few(list(known))}",
        )
    for broken in labels.broken.values():
        raise broken
    found = [metric for metric in possible if set(metric.stat_names) <= set(labels.statistics)]
    if not found:
        near = max(possible, key=lambda one: len(set(one.stat_names) & set(labels.statistics)))
        lacking = [name for name in near.stat_names if name not in labels.statistics]
        raise DataError(
            f"no metric can be made of these columns: {near.name} also needs {', '.join(lacking)}",
            where=_header(labels, labels.statistics[0]),
            remedy=f"Make the form with pmbench labels RUN --metric {near.name}",
        )
    return found


def _header(labels: Labels, column: str) -> str:
    """The place of a column's name, for an error."""
    having = (label.row.file for label in labels.filled if column in label.row.values)
    return f"{next(having, labels.files[0])}, the header"


def fitting_marks(run: Path, labels: Sequence[Label]) -> Marks:
    """The marks of a run's answers.

    Args:
        run: its folder; labels: of it, for the error's place.

    Raises:
        DataError: no form was made from this folder.
    """
    marks = kept_marks(run)
    if marks is None:
        raise DataError(
            f"no form of labels was made from this copy of the run {labels[0].run}, so that nothing tells whether"
            " they are of its answers",
            where=labels[0].row.where("response"),
            remedy="Use the runs folder in which pmbench labels was called",
        )
    return marks


def check_labels(
    metrics: Sequence[Metric],
    labels: Sequence[Label],
    scores: Sequence[ScoreRecord],
    marks: Marks | None,
    unscored: Collection[Key] = (),
) -> None:
    """Check that the labels of one run fit it.

    Args:
        metrics: of the task.
        labels: of the run; scores: of its responses that have one.
        marks: of its answers; None where they cannot be told, as of a record.
        unscored: responses of the run that these judges have not scored; labels of them are of no use here.

    Raises:
        DataError: a response that the run has no score of, an answer that is another one by now, or a number that the
            statistic cannot be.
    """
    by_key = {(score.id, score.sample): score for score in scores}
    ends, whole = ends_of(metrics, scores), counted_whole(metrics, scores)
    most = most_of(scores, {name for label in labels for name in label.stats})
    for label in labels:
        score = by_key.get((label.id, label.sample))
        if score is None and (label.id, label.sample) in unscored:
            continue
        if score is None:
            there = any(name == label.id for name, _ in by_key)
            what = (
                f"sample {label.sample} of {id_shown(label.id)}" if there else f"the id {id_shown(label.id)}"
            )
            raise DataError(
                f"the run {label.run} has no score of {what}",
                where=label.row.where("sample" if there else "id"),
                remedy="Leave the row out, or take the labels of this run",
            )
        if marks is not None and marks.of(score) != label.mark:
            raise DataError(
                f"the answer to {id_shown(label.id)} is not the one that was labelled: it was asked for anew, or the"
                f" form is of another copy of the run (its {KEY} is then another)",
                where=label.row.where("response"),
                remedy="Make a new form with pmbench labels",
            )
        for name, value in label.stats.items():
            if name in whole and value != int(value):
                raise DataError(
                    f"{value:g} cannot be: {name} is counted in whole numbers",
                    where=label.row.where(name),
                    remedy="Mend the number, or leave it empty",
                )
            low, high = ends.get(name, (-math.inf, math.inf))
            if not low <= value <= high:
                upper = "" if math.isinf(high) else f" and {high:g}"
                raise DataError(
                    f"{value:g} cannot be: {name} lies between {low:g}{upper}"
                    if upper
                    else f"{value:g} is below {low:g}",
                    where=label.row.where(name),
                    remedy="Mend the number, or leave it empty",
                )
            if abs(value) > most[name]:
                raise DataError(
                    f"{value:g} is too large by far to be meant: by the judge's own numbers {name} may be"
                    f" {most[name]:g} at most",
                    where=label.row.where(name),
                    remedy="Mend the number, or leave it empty",
                )


def corrected(
    metric: Metric, scores: Sequence[ScoreRecord], labels: Sequence[Label], level: float = 0.95
) -> Corrected | None:
    """The judge-corrected value of a metric.

    Rows are responses; those of one instance share its weight, so that every instance counts once. Only responses of
    which the judge has the metric's statistics are taken.

    Args:
        metric: of the scheme `cluster`.
        scores: of the run's responses that have one; labels: of the run, checked.
        level: of the interval.

    Returns:
        None where no response with the metric's statistics is labelled with all of them.
    """
    scores = sorted(scores, key=lambda score: (score.id, score.sample))
    by_key = {(label.id, label.sample): label.stats for label in labels}
    people = [by_key.get((score.id, score.sample), {}) for score in scores]
    names = metric.stat_names
    if not all(any(name in stats for stats in people) for name in names):
        return None
    if not all(any(name in score.stats for score in scores) for name in names):
        return None
    judged, labelled = (
        {name: np.array([one.get(name, math.nan) for one in stats]) for name in names}
        for stats in ([score.stats for score in scores], people)
    )
    there = metric.present(judged)
    has = metric.present(labelled) & there
    if not has.any():
        return None
    samples = Counter(score.id for score, one in zip(scores, there, strict=True) if one)
    share = np.array([1 / max(samples[score.id], 1) for score in scores])[:, None]
    clusters = np.array([score.cluster or score.id for score in scores], dtype=object)
    rest = there & ~has
    counts = int(has.sum()), len(set(clusters[has]))
    if not enough(*counts):
        return Corrected(
            None, None, None, None, counts[0], int(there.sum()), counts[1], (None,) * 3, too_few(*counts)
        )
    by_judge = metric.columns(judged) * share
    found = prediction_powered_metric(
        metric,
        (metric.columns(labelled) * share)[has],
        by_judge[has],
        by_judge[rest],
        clusters[has].tolist(),
        clusters[rest].tolist(),
        level=level,
    )
    value, low, high, weight = map(_number, (found.value, found.low, found.high, found.weight))
    if found.note in OF_LABELS_ALONE:
        weight = None
    only = found.labelled_only
    return Corrected(
        value,
        low,
        high,
        None if value is None else weight,
        counts[0],
        int(there.sum()),
        counts[1],
        (_number(only[0]), _number(only[1]), _number(only[2])),
        found.note,
    )


def all_corrected(
    metrics: Sequence[Metric], scores: Sequence[ScoreRecord], labels: Sequence[Label], level: float = 0.95
) -> dict[str, Corrected]:
    """The judge-corrected value of each metric that the labels suffice for, by its name.

    Raises:
        DataError: they suffice for none.
    """
    found = {metric.name: one for metric in metrics if (one := corrected(metric, scores, labels, level))}
    if all(one.value is None and not enough(one.labelled, one.clusters) for one in found.values()):
        most = max(found.values(), key=lambda one: one.labelled, default=None)
        what = too_few(most.labelled, most.clusters) if most else "no response is labelled for a whole metric"
        raise DataError(
            f"run {labels[0].run}: {what}", where=labels[0].row.file, remedy="Have more responses labelled"
        )
    return found


def partly(labels: Sequence[Label], statistics: Sequence[str]) -> int:
    """Rows in which something is filled in, and not all that their file has columns for."""
    return sum(
        any(name in label.row.values and name not in label.stats for name in statistics) for label in labels
    )


def _few(names: Sequence[str]) -> str:
    return ", ".join([*names[:12], *(["…"] if len(names) > 12 else [])]) or "none"


def _number(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def told(labels: Labels, own: Sequence[Label]) -> Iterator[str]:
    """What a reader has to know of how files were filled in.

    Args:
        labels: of the files; own: those of the runs that are shown.
    """
    if labels.empty:
        one = labels.empty == 1
        yield f"{labels.empty} row{'' if one else 's'} of labels {'is' if one else 'are'} not filled in"
    some = partly(own, labels.statistics)
    if some:
        one = some == 1
        yield (
            f"{some} row{' is' if one else 's are'} filled in only in part, and"
            f" {'counts' if one else 'count'} for the metrics that {'it suffices' if one else 'they suffice'} for"
        )
