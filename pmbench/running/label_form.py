"""A form of labels: a random choice of a run's scored responses, for people to fill in."""

from __future__ import annotations

import csv
import hashlib
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass

from pmbench.core.digest import canonical_json
from pmbench.core.errors import ConfigError, StorageError, UnknownName
from pmbench.core.metric import Metric
from pmbench.core.task import Task
from pmbench.running.folder import read_lines
from pmbench.running.judging import SCORES
from pmbench.running.label_marks import made_marks
from pmbench.running.labels import LEADING, SHORTEST, shielded
from pmbench.running.reading import StoredRun
from pmbench.running.records import ScoreRecord
from pmbench.running.responding import Key

FEWEST, FEWEST_CLUSTERS = 20, 15
"""Labelled responses, and clusters that they are in, below which no judge-corrected value is shown: its interval was
not simulated for fewer."""

_LONGEST_ID = 64


@dataclass(frozen=True)
class Form:
    """A form that was made.

    Attributes:
        text: as CSV.
        rows, scored: how many responses were chosen, of how many; clusters: in how many clusters they are.
        statistics: the columns to fill in; metrics: titles of what they make.
        words: by statistic, what is to be counted.
        answers: the digest of each answer by id and sample, in the rows' order.
    """

    text: str
    rows: int
    scored: int
    clusters: int
    statistics: tuple[str, ...]
    metrics: tuple[str, ...]
    words: dict[str, str]
    answers: dict[Key, str]


def label_form(run: StoredRun, metrics: Sequence[str], sample: int, seed: int) -> Form:
    """Choose responses at random and write a form for them.

    Every scored response has the same chance to be chosen, whatever its cluster and its score: prediction-powered
    values rest on that. Rows are in the order in which they were drawn, so that whoever stops early has labelled a
    random choice too. The order is one of hashes of seed, id and sample: of two runs of the same data the same
    responses are drawn, also where one of them lacks a score, so that the two can be compared.

    Args:
        run: with the scoring whose scored responses are drawn from.
        metrics: names of metrics whose statistics are asked for; empty: the primary one.
        sample: how many responses; where there are fewer, all.
        seed: of the drawing.

    Raises:
        StorageError: the run is not scored, or its folder cannot be written to.
        ConfigError: no judge has scored it, a metric that labels cannot correct, or too few responses.
        UnknownName: the task has no such metric.
    """
    chosen = _metrics(run, metrics)
    if run.scores is None or run.results is None:
        where = str(run.folder.path)
        raise StorageError("it is not scored yet", where=where, remedy="Give the run's command again")
    check_judged(run.results.judges, run.record.digest)
    lines = read_lines(run.scores / SCORES, ScoreRecord)
    latest = {(line.id, line.sample): line for line in lines if line.round == run.record.round}
    scores = [latest[key] for key in sorted(latest) if latest[key].status == "ok"]
    drawn = sorted(scores, key=lambda score: _place(score, seed))[:sample]
    clusters = len({score.cluster or score.id for score in drawn})
    if not enough(len(drawn), clusters):
        raise ConfigError(
            too_few(len(drawn), clusters),
            where=f"run {run.record.digest[:SHORTEST]}",
            remedy="Draw more with --sample" if len(scores) > len(drawn) else "Label a run of more instances",
        )
    _check_ids(drawn)
    statistics = tuple(dict.fromkeys(name for metric in chosen for name in metric.stat_names))
    marks, beginning = made_marks(run.folder.path), beginning_of(run.record.digest)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*LEADING, *statistics])
    for score in drawn:
        writer.writerow(
            [beginning, shielded(score.id), score.sample, marks.of(score), *[""] * len(statistics)]
        )
    titles = tuple(metric.title for metric in chosen)
    words = stat_words(run.task(), chosen)
    answers = {(score.id, score.sample): score.response for score in drawn}
    return Form(text.getvalue(), len(drawn), len(scores), clusters, statistics, titles, words, answers)


def stat_words(task: Task, metrics: Sequence[Metric]) -> dict[str, str]:
    """What each statistic of some metrics is: by the task, else by the formula that it stands in."""
    found: dict[str, str] = {}
    for metric in metrics:
        for name in metric.stat_names:
            found.setdefault(name, task.stat_words.get(name, f"as in {metric.title}: {metric.formula}"))
    return found


def _place(score: ScoreRecord, seed: int) -> bytes:
    return hashlib.sha256(canonical_json(["pmbench labels", seed, score.id, score.sample])).digest()


def enough(responses: int, clusters: int) -> bool:
    """Whether so many labelled responses, in so many clusters, can correct a judge."""
    return responses >= FEWEST and clusters >= FEWEST_CLUSTERS


def too_few(responses: int, clusters: int) -> str:
    """What is said where they are not enough."""
    one = f"{responses} response{'' if responses == 1 else 's'} in {clusters} cluster{'' if clusters == 1 else 's'}"
    least = f"{FEWEST} responses in {FEWEST_CLUSTERS} clusters"
    return f"{one} {'is' if responses == 1 else 'are'} too few to correct a judge by: it takes {least}"


def check_judged(judges: object, run: str) -> None:
    """Refuse a run whose numbers no judge has given.

    Raises:
        ConfigError: there is no judge.
    """
    if not judges:
        raise ConfigError(
            "no judge has scored this run, so there is none that labels could correct",
            where=f"run {run[:SHORTEST]}",
            remedy="Take a run of a task that has judges",
        )


def _check_ids(scores: Sequence[ScoreRecord]) -> None:
    """Refuse ids that may be text of the data: the form is to hold none.

    Raises:
        ConfigError: an id is long or has blanks, as text has, or has characters that cannot be seen.
    """
    long = sum(len(one.id) > _LONGEST_ID or any(map(str.isspace, one.id)) for one in scores)
    if long:
        raise ConfigError(
            f"{long} {'id is' if long == 1 else 'ids are'} long or {'has' if long == 1 else 'have'} blanks, as text"
            " has, and a file of labels is to hold no text",
            where="ids of instances",
            remedy="Give the data a column of ids, and run again",
        )
    unseen = sum(not one.id.isprintable() for one in scores)
    if unseen:
        raise ConfigError(
            f"{unseen} {'id has' if unseen == 1 else 'ids have'} control characters or others that cannot be seen,"
            " and would not come back from a spreadsheet as they were",
            where="ids of instances",
            remedy="Give the data other ids, and run again",
        )


def beginning_of(digest: str) -> str:
    """At least 12 digits of a digest, and as many as make it no number to a spreadsheet."""
    long = next((place for place in range(SHORTEST, len(digest)) if _letters(digest[:place])), len(digest))
    return digest[:long]


def _letters(text: str) -> bool:
    return re.search("[a-df]", text) is not None


def _metrics(run: StoredRun, names: Sequence[str]) -> list[Metric]:
    known = {metric.name: metric for metric in run.task().metrics}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise UnknownName("metric", unknown[0], known)
    chosen = [known[name] for name in dict.fromkeys(names)] or [next(iter(known.values()))]
    for metric in chosen:
        if metric.scheme != "cluster":
            raise ConfigError(
                f"{metric.name} is resampled by {metric.scheme}, and labels correct metrics by cluster alone",
                where="--metric",
                remedy="Name another metric with --metric",
            )
    return chosen
