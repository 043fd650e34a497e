"""Judge-corrected values of one run in a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pmbench.cli.columns import print_columns, printable

if TYPE_CHECKING:
    from pmbench.core.metric import Metric
    from pmbench.running.label_values import Corrected, Triple
    from pmbench.running.reading import StoredRun


_NAMED = 3


def show_corrected(run: StoredRun, files: Sequence[str]) -> None:
    """Print what the judge gives, what people's labels alone give, and both together.

    Args:
        run: with its scoring.
        files: of labels.

    Raises:
        DataError, ConfigError: labels that do not fit the run.
    """
    import click

    from pmbench.core.errors import DataError
    from pmbench.running.folder import read_lines
    from pmbench.running.judging import SCORES
    from pmbench.running.label_form import check_judged
    from pmbench.running.label_slips import slips
    from pmbench.running.label_values import all_corrected, check_labels, covered, fitting_marks, told
    from pmbench.running.labels import read_labels
    from pmbench.running.records import ScoreRecord

    if run.scores is None or run.results is None:
        return
    check_judged(run.results.judges, run.record.digest)
    found = read_labels(files)
    own = found.of(run.record.digest)
    if not own:
        raise DataError(
            f"it has no labels of the run {run.record.digest[:12]}",
            where=", ".join(found.files),
            remedy="Make a form with pmbench labels",
        )
    task = run.task()
    metrics = task.metrics
    usable = covered(metrics, found)
    marks = fitting_marks(run.folder.path, own)
    lines = read_lines(run.scores / SCORES, ScoreRecord)
    latest = {(line.id, line.sample): line for line in lines if line.round == run.record.round}
    scores = [line for line in latest.values() if line.status == "ok"]
    check_labels(metrics, own, scores, marks, latest)
    corrected = all_corrected(usable, scores, own)
    rows = []
    for metric in usable:
        if metric.name in corrected:
            judge = run.results.metrics.get(metric.name)
            by_judge = (judge.value, judge.low, judge.high) if judge else (None, None, None)
            rows.append(_row(metric, by_judge, corrected[metric.name]))
    heads = ("metric", "judge", "judge-corrected", "labelled only", "λ", "labelled")
    print_columns(heads, rows)
    titles = {metric.name: metric.title for metric in usable}
    notes: dict[str, list[str]] = {}
    for name, one in corrected.items():
        if one.note:
            notes.setdefault(one.note, []).append(titles[name])
    for line in (
        *(f"{_some(named)}: {note}" for note, named in notes.items()),
        *slips(own, scores, task.label_doubts, metrics),
        *told(found, own),
        "judge-corrected values hold where the labelled responses were chosen at random",
    ):
        click.echo(printable(f"- {line}"))


def _row(metric: Metric, by_judge: Triple, found: Corrected) -> tuple[str, ...]:
    values = by_judge, (found.value, found.low, found.high), found.labelled_only
    weight = "–" if found.weight is None else f"{found.weight:.2f}"
    labelled = f"{found.labelled} of {found.responses}"
    return metric.title, *(_measured(metric, *one) for one in values), weight, labelled


def _some(titles: Sequence[str]) -> str:
    """`A, B, C and 6 other metrics`."""
    from pmbench.leaderboard.wording import listed

    more = len(titles) - _NAMED
    return listed(titles) if more < 2 else f"{', '.join(titles[:_NAMED])} and {more} other metrics"


def _measured(metric: Metric, value: float | None, low: float | None, high: float | None) -> str:
    from pmbench.leaderboard.wording import interval, shown

    return f"{shown(metric, value)} {interval(metric, low, high) if value is not None else ''}".rstrip()
