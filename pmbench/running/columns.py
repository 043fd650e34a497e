"""The scores of a run as arrays, so that runs can be laid side by side instance by instance."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pmbench.core.metric import Metric
from pmbench.running.records import ScoreRecord
from pmbench.stats.schemes import Rows


class ScoreColumns:
    """The statistics of scores, instances in order of their ids.

    Attributes:
        ids: of the instances that have a score.
        clusters: of each.
    """

    def __init__(self, scores: Sequence[ScoreRecord]) -> None:
        scores = sorted(scores, key=lambda score: (score.id, score.sample))
        self.clusters = list({score.id: score.cluster or score.id for score in scores}.values())
        rows = {name: row for row, name in enumerate(dict.fromkeys(score.id for score in scores))}
        self.ids = list(rows)
        self._scores = scores
        self._row = np.array([rows[score.id] for score in scores], dtype=np.intp)
        self._stats = {
            name: np.array([score.stats.get(name, math.nan) for score in scores], dtype=np.float64)
            for name in dict.fromkeys(name for score in scores for name in score.stats)
        }

    def subset(self, places: NDArray[np.intp]) -> ScoreColumns:
        """The columns of some of the instances alone, as if they had been made from the scores of those.

        Args:
            places: rows of the instances, in rising order.
        """
        found = object.__new__(ScoreColumns)
        number = np.full(len(self.ids), -1, dtype=np.intp)
        number[places] = np.arange(len(places))
        row = number[self._row]
        kept = np.flatnonzero(row >= 0)
        found.ids = [self.ids[place] for place in places.tolist()]
        found.clusters = [self.clusters[place] for place in places.tolist()]
        found._scores = [self._scores[place] for place in kept.tolist()]
        found._row = row[kept]
        taken = {name: column[kept] for name, column in self._stats.items()}
        found._stats = {name: column for name, column in taken.items() if not np.isnan(column).all()}
        return found

    def of(self, metric: Metric) -> NDArray[np.float64] | None:
        """The metric's columns per instance, shape (n, k); None where no instance has its statistics.

        The samples of one instance that have them are averaged first, so that every instance counts once.
        """
        if not self.present(metric).any():
            return None
        columns = metric.columns(self._stats)
        samples = np.maximum(self.samples(metric), 1)
        sums = [np.bincount(self._row, weights=column, minlength=len(self.ids)) for column in columns.T]
        return np.stack(sums, axis=1) / samples[:, None]

    def by_sample(self, metric: Metric, samples: int) -> NDArray[np.float64]:
        """The metric's columns of each response, shape (n, samples, k); NaN where there is none or it lacks some.

        Args:
            metric: of the task.
            samples: of each instance, numbered from 0.

        Raises:
            KeyError: no instance has a statistic that the formula names.
        """
        columns = metric.columns(self._stats)
        found = np.full((len(self.ids), samples, columns.shape[1]), np.nan)
        number = np.array([score.sample for score in self._scores], dtype=np.intp)
        there = metric.present(self._stats) & (number < samples)
        found[self._row[there], number[there]] = columns[there]
        return found

    def each(self, metric: Metric) -> list[tuple[str, float]] | None:
        """For each score that has the metric's statistics its id and the first of its columns; None where none has.

        Of a mean over instances that column is the value of the score alone.
        """
        if not self.present(metric).any():
            return None
        column = metric.columns(self._stats)[:, 0].tolist()
        there = metric.present(self._stats).tolist()
        return [
            (score.id, value) for score, value, has in zip(self._scores, column, there, strict=True) if has
        ]

    @property
    def responses(self) -> int:
        """How many scores there are, samples of one instance each for itself."""
        return len(self._scores)

    @property
    def units(self) -> set[str]:
        """What the instances are made of, all together; of lists each unit under the name of its list."""
        return {unit for score in self._scores for unit in score.units}

    def rows(self, metric: Metric, wanted: Sequence[str] | None = None) -> Rows | None:
        """What intervals and comparisons of the metric are made from; None where no instance has it.

        Args:
            metric: of the task.
            wanted: ids of the instances, in order; None: all.
        """
        columns = self.of(metric)
        if columns is None:
            return None
        places = np.arange(len(self.ids)) if wanted is None else self.places(wanted)
        there = self.present(metric)[places].tolist()
        ids = [self.ids[place] for place in places]
        clusters = [self.clusters[place] for place in places]
        if metric.scheme == "cluster":
            return Rows(columns[places], there, ids, clusters)
        samples: list[list[ScoreRecord]] = [[] for _ in self.ids]
        has = metric.present(self._stats)
        for number, score in enumerate(self._scores):
            if has[number]:
                samples[self._row[number]].append(score)
        units = [samples[place][0].units if samples[place] else [] for place in places]
        arrays = [[score.arrays for score in samples[place]] for place in places]
        return Rows(columns[places], there, ids, clusters, units, arrays)

    def present(self, metric: Metric) -> NDArray[np.bool_]:
        """Which instances have the metric's statistics in any sample, shape (n,)."""
        return self.samples(metric) > 0

    def samples(self, metric: Metric) -> NDArray[np.float64]:
        """How many samples of each instance have the metric's statistics, shape (n,)."""
        try:
            there = metric.present(self._stats)
        except KeyError:  # no instance has one of them
            return np.zeros(len(self.ids))
        return np.bincount(self._row, weights=there, minlength=len(self.ids)).astype(float)

    def value(self, metric: Metric) -> float:
        """The metric over all instances; NaN where it is undefined, or no finite number."""
        with np.errstate(over="ignore", invalid="ignore"):
            columns = self.of(metric)
            found = math.nan if columns is None else float(metric.value(columns.sum(axis=0)))
        return found if math.isfinite(found) else math.nan

    def places(self, wanted: Sequence[str]) -> NDArray[np.intp]:
        """The row of each wanted id."""
        row = {name: index for index, name in enumerate(self.ids)}
        return np.array([row[name] for name in wanted], dtype=np.intp)


def rows_taken(rows: Rows, places: NDArray[np.intp]) -> Rows:
    """Some of the rows, in the order given: what `ScoreColumns.rows` makes of their ids alone."""
    wanted = places.tolist()
    return Rows(
        rows.columns[places],
        [rows.present[place] for place in wanted],
        [rows.ids[place] for place in wanted],
        [rows.clusters[place] for place in wanted],
        [rows.units[place] for place in wanted] if rows.units else (),
        [rows.arrays[place] for place in wanted] if rows.arrays else (),
    )
