"""Runs of a drafting task with forms of labels that people have filled in, for the tests of this room."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from made_runs import Made, write

from pmbench.running.folder import read_lines
from pmbench.running.label_form import label_form
from pmbench.running.reading import read_run
from pmbench.running.records import ScoreRecord
from pmbench_tasks.drafting.task import SyPPM

COUNTS = ("matches", "deletions", "additions")

Stats = Mapping[str, float]
People = Callable[[int, Stats], Mapping[str, float]]
"""From the place of a row in the form and the judge's numbers to people's."""


def drafted(model: str, seed: int, **more: object) -> Made:
    """A run of 120 replies in 90 clusters."""

    def counted(index: int) -> Stats:
        generator = np.random.default_rng([seed, index])
        return dict(zip(COUNTS, generator.integers(1, 6, 3).astype(float).tolist(), strict=True))

    judges = {"content": "embedded"}
    made = {"instances": 120, "dataset": 120, "clusters": 90, "judges": judges, "more": counted} | more
    return Made(model=model, seed=seed, **made)  # type: ignore[arg-type]


def made_run(runs: Path, made: Made) -> Path:
    """The folder of the run."""
    return write(runs, made, SyPPM).path


def scores_of(run: Path) -> dict[tuple[str, int], Stats]:
    """The judge's numbers by id and sample."""
    (path,) = run.rglob("scores.jsonl")
    return {(one.id, one.sample): one.stats for one in read_lines(path, ScoreRecord) if one.status == "ok"}


def off_by_one(place: int, stats: Stats) -> Mapping[str, float]:
    """People who see another number in two rows of five."""
    return {name: max(0.0, stats[name] + (place % 5 == 0) - (place % 5 == 3)) for name in COUNTS}


def filled(
    run: Path, people: People = off_by_one, *, sample: int = 40, seed: int = 0, metrics: Sequence[str] = ()
) -> list[dict[str, str]]:
    """The rows of a form that was made for a run, filled in."""
    form = label_form(read_run(run.parent, str(run)), metrics, sample, seed)
    rows = list(csv.DictReader(io.StringIO(form.text)))
    judged = scores_of(run)
    for place, row in enumerate(rows):
        given = people(place, judged[row["id"], int(row["sample"])])
        row |= {name: f"{given[name]:g}" for name in row if name in given}
    return rows


def written(
    path: Path, rows: Sequence[Mapping[str, str]], delimiter: str = ",", encoding: str = "utf-8"
) -> Path:
    """A file of labels."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), delimiter=delimiter, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    path.write_text(text.getvalue(), encoding=encoding)
    return path


__all__ = ["COUNTS", "drafted", "filled", "made_run", "off_by_one", "scores_of", "written"]
