"""How often intervals hold the truth and tests err, on data shaped like the tasks.

Datasets are those of `statistics_shapes.py`: ratios of sums, clusters of unequal size, many zeros. Of each size the
clusters stay the same. The truth is the value over a million instances. A cell of the first tables is the share of
datasets whose nominal 95% interval holds the truth, in brackets its median width (1 being the range that holds 95% of
the values) and, where there are any, the share of datasets for which the method has no bounds, which are left out.
Below 50 clusters the method with a star is the one that is used, from 50 on the percentile bootstrap.
Simulation error of a share near 0.95 is 0.003 at 5,000 repetitions.
Sections: values, differences, tests, ranks, judge. All pairs of many systems: `many_systems.py`.
Run: python benchmarks/statistics_simulations.py [--repetitions 5000] [--only SECTION,SECTION]
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import combinations
from typing import NamedTuple

import numpy as np
from misjudged import misjudged
from statistics_shapes import SHAPES, Floats, Shape, clusters_of, datasets, truth

from pmbench.core.metric import Metric
from pmbench.stats.bca import bca_bounds
from pmbench.stats.bootstrap import Interval, Valued, percentiles, resampled_values
from pmbench.stats.cluster_robust import jackknife_error, jackknife_interval, ratio_interval
from pmbench.stats.clusters import cluster_sums
from pmbench.stats.corrections import holm, mcnemar_exact
from pmbench.stats.dyadic import t_quantile
from pmbench.stats.equivalence import equivalence
from pmbench.stats.few_clusters import few_cluster_intervals
from pmbench.stats.limits import natural_limits
from pmbench.stats.linearised import Difference, leave_one_out
from pmbench.stats.power import t_power
from pmbench.stats.prediction_powered import prediction_powered_mean, prediction_powered_metric
from pmbench.stats.randomisation import paired_tests
from pmbench.stats.rank_intervals import bootstrap_ranks, ranks_from_differences
from pmbench.stats.studentised import studentised_intervals

NUMBERS = (14, 20, 40, 100, 300, 1500)
RESAMPLES = 999
BATCH = 250
GAP = 0.15
"""How much worse the second system is where two differ."""

Cells = dict[tuple[str, str], str]
"""By row and column."""

Part = tuple[Valued, Floats]


class Job(NamedTuple):
    """One column of one table."""

    section: str
    shape: int
    instances: int
    repetitions: int


class Bounds:
    """Bounds of many datasets by several methods."""

    def __init__(self) -> None:
        self.values: list[float] = []
        self.low: dict[str, list[float]] = {}
        self.high: dict[str, list[float]] = {}

    def add(self, method: str, found: Sequence[tuple[float, float]]) -> None:
        """Bounds of a batch."""
        self.low.setdefault(method, []).extend(low for low, _ in found)
        self.high.setdefault(method, []).extend(high for _, high in found)

    def cells(self, truth: float, column: str) -> Cells:
        """Coverage and width of each method."""
        spread = np.subtract(*np.quantile(self.values, [0.975, 0.025]))
        cells = {}
        for method, lows in self.low.items():
            low, high = np.array(lows), np.array(self.high[method])
            there = ~(np.isnan(low) | np.isnan(high))
            held = (low[there] <= truth) & (truth <= high[there])
            width = np.median((high - low)[there]) / spread
            none = f", {1 - there.mean():.1%} none" if not there.all() else ""
            cells[method, column] = f"{held.mean():.3f} ({width:.2f}{none})"
        return cells


def pairs_of(found: Sequence[Interval]) -> list[tuple[float, float]]:
    """Low and high of each interval."""
    return [(one.low, one.high) for one in found]


def add_all(bounds: Bounds, parts: Sequence[Part], seed: int, limits: tuple[float, float] | None) -> None:
    """Bounds of every method for a batch of datasets."""
    clusters = len(parts[0][1])
    values = [float(valued.value(table.sum(axis=0))) for valued, table in parts]
    drawn = resampled_values(parts, resamples=RESAMPLES, seed=seed)
    bounds.values += values
    bounds.add("percentile bootstrap", [percentiles(one, clusters)[:2] for one in drawn])
    left_out = [leave_one_out(valued, table) for valued, table in parts]
    bca = [bca_bounds(*one) for one in zip(values, drawn, left_out, strict=True)]
    bounds.add("BCa bootstrap", bca)
    bounds.add(
        "studentised bootstrap", pairs_of(studentised_intervals(parts, resamples=RESAMPLES, seed=seed))
    )
    if limits is not None and parts[0][1].shape[1] == 2:
        bounds.add("CR2, t", pairs_of([ratio_interval(table) for _, table in parts]))
    of_two = "" if limits is not None else " *"
    bounds.add(f"jackknife (CR3), t{of_two}", pairs_of([jackknife_interval(*part) for part in parts]))
    if limits is not None:
        columns = [(valued, table) for valued, table in parts if isinstance(valued, Metric)]
        bounds.add("jackknife (CR3), logit, t *", pairs_of(few_cluster_intervals(columns, range(clusters))))


def batches(job: Job, worse: Floats) -> list[Floats]:
    """Datasets of a job, some at a time, each (R, C, S, k)."""
    random = np.random.default_rng([job.shape, job.instances, len(worse), len(job.section)])
    clusters = clusters_of(job.instances)
    counts = [min(BATCH, job.repetitions - start) for start in range(0, job.repetitions, BATCH)]
    return [datasets(SHAPES[job.shape], random, clusters, count, worse) for count in counts]


def side_by_side(sums: Floats) -> Floats:
    """Columns of two systems (R, C, 2, k) as (R, C, 2k)."""
    return np.concatenate([sums[:, :, 0], sums[:, :, 1]], axis=-1)


def values(job: Job) -> Cells:
    """Coverage of intervals of one value."""
    shape, worse, bounds = SHAPES[job.shape], np.zeros(1), Bounds()
    for number, sums in enumerate(batches(job, worse)):
        limits = natural_limits(shape.metric, sums[0, :, 0])
        add_all(bounds, [(shape.metric, one[:, 0]) for one in sums], number, limits)
    return bounds.cells(float(truth(shape, worse)[0]), heading(job))


def differences(job: Job) -> Cells:
    """Coverage of intervals of a difference that is not 0."""
    shape, worse, bounds = SHAPES[job.shape], np.array([0.0, GAP]), Bounds()
    for number, sums in enumerate(batches(job, worse)):
        add_all(bounds, [(Difference(shape.metric), one) for one in side_by_side(sums)], number, None)
    both = truth(shape, worse)
    return bounds.cells(float(both[0] - both[1]), heading(job))


def tests(job: Job) -> Cells:
    """How often tests at 5% reject what is true: equal systems, or a difference that is just the margin."""
    shape = SHAPES[job.shape]
    rejected: dict[str, list[float]] = {}

    def add(test: str, found: Sequence[float]) -> None:
        rejected.setdefault(test, []).extend(found)

    for number, sums in enumerate(batches(job, np.zeros(2))):
        systems = [table for one in sums for table in (one[:, 0], one[:, 1])]
        clusters = [f"{label:04}" for label in range(sums.shape[1])]
        pairs = [(2 * one, 2 * one + 1) for one in range(len(sums))]
        found = paired_tests(
            shape.metric,
            systems,
            pairs,
            clusters,
            permutations=RESAMPLES,
            resamples=0,
            seed=number,
            bounded=(),
        )
        drawn = resampled_values(
            [(Difference(shape.metric), one) for one in side_by_side(sums)], resamples=RESAMPLES, seed=number
        )
        add("randomisation test", [one.p <= 0.05 for one in found])
        add(
            "0 outside the percentile interval",
            [low > 0 or high < 0 for low, high, _ in (percentiles(one, len(clusters)) for one in drawn)],
        )
        errors = [jackknife_error(Difference(shape.metric), one) for one in side_by_side(sums)]
        t = t_quantile(len(clusters) - 1, 0.975)
        add(
            "jackknife (CR3), t",
            [abs(one.difference) > t * se for one, se in zip(found, errors, strict=True)],
        )
        if shape.name == "right or wrong":
            alone = datasets(
                shape, np.random.default_rng(number), np.arange(job.instances), len(sums), np.zeros(2)
            )
            right = alone[..., 0]
            only = [((a > b).sum(), (b > a).sum()) for a, b in np.moveaxis(right, 2, 1)]
            add("McNemar's exact test, no clusters (discrete)", [mcnemar_exact(*one) <= 0.05 for one in only])
    worse = np.array([0.0, GAP])
    apart = truth(shape, worse)
    margin = float(apart[0] - apart[1])
    for number, sums in enumerate(batches(job, worse)):
        labels = range(sums.shape[1])
        found_at = [equivalence(shape.metric, one[:, 1], one[:, 0], labels, margin) for one in sums]
        add("equivalence, the difference being the margin", [one.equivalent for one in found_at])
        add("non-inferiority, the difference being the margin", [one.not_inferior for one in found_at])
        wanted = t_power(margin / float(np.median([one.se for one in found_at])), len(labels) - 1)
        powers = [abs(one.difference) > t * one.se for one in found_at]
        add("a difference that is there: found by t", powers)
        add("a difference that is there: told by `t_power`", [wanted])
        add("a difference that is there: found by randomisation", found_by_randomisation(shape, sums, number))
    return {(test, heading(job)): f"{np.mean(found):.3f}" for test, found in rejected.items()}


def found_by_randomisation(shape: Shape, sums: Floats, seed: int) -> list[float]:
    """Of datasets (R, C, 2, k), whether the randomisation test of the two systems finds a difference."""
    systems = [table for one in sums for table in (one[:, 0], one[:, 1])]
    pairs = [(2 * one, 2 * one + 1) for one in range(len(sums))]
    clusters = [f"{label:04}" for label in range(sums.shape[1])]
    found = paired_tests(
        shape.metric, systems, pairs, clusters, permutations=RESAMPLES, resamples=0, seed=seed, bounded=()
    )
    return [float(one.p <= 0.05) for one in found]


def ranks(job: Job) -> Cells:
    """Five systems at small distances: how often each rank, and all of them, are in their intervals."""
    shape, worse = SHAPES[job.shape], np.array([0.0, 0.0, 0.05, 0.1, 0.2])
    allowed = [(1, 2), (1, 2), (3, 3), (4, 4), (5, 5)]  # two equal systems: their place is either
    pairs = list(combinations(range(len(worse)), 2))
    held: dict[str, list[list[bool]]] = {}
    widths: dict[str, list[float]] = {}
    for number, sums in enumerate(batches(job, worse)):
        clusters = [f"{label:04}" for label in range(sums.shape[1])]
        for one in sums:
            systems = [one[:, system] for system in range(len(worse))]
            tested = paired_tests(
                shape.metric, systems, pairs, clusters, permutations=RESAMPLES, resamples=0, seed=number
            )
            adjusted = holm([test.p for test in tested])
            values = [float(shape.metric.value(table.sum(axis=0))) for table in systems]
            different = [pair for pair, p in zip(pairs, adjusted, strict=True) if p <= 0.05]
            for name, found in (
                (
                    "bootstrap percentiles",
                    bootstrap_ranks(shape.metric, systems, clusters, resamples=RESAMPLES),
                ),
                ("from differences (Holm)", ranks_from_differences(values, different)),
            ):
                inside = [
                    rank.low <= least and most <= rank.high
                    for rank, (least, most) in zip(found, allowed, strict=True)
                ]
                held.setdefault(name, []).append(inside)
                widths.setdefault(name, []).append(float(np.mean([rank.high - rank.low for rank in found])))
    cells = {}
    for name, all_inside in held.items():
        table = np.array(all_inside)
        text = f"{table.mean():.3f}, all {table.all(axis=1).mean():.3f} ({np.mean(widths[name]):.1f} places)"
        cells[name, heading(job)] = text
    return cells


OTHERS = 600
"""Instances that only the judge has scored."""


def judge(job: Job) -> Cells:
    """People have labelled a random choice of the instances that a judge has scored."""
    shape, labelled, bounds = SHAPES[job.shape], job.instances, Bounds()
    random = np.random.default_rng([7, job.shape, labelled])
    clusters, n = clusters_of(labelled + OTHERS), labelled + OTHERS
    for _ in range(job.repetitions):
        effect = random.normal(size=clusters[-1] + 1)[clusters]
        shared = ((effect + random.normal(size=n)) / math.sqrt(2))[None, :, None]
        people = shape.columns(random, shared, random.normal(size=(1, n, 1)), np.zeros(1))[0, :, 0]
        scored = misjudged(random, shape, people)
        order = random.permutation(n)
        seen, rest = order[:labelled], order[labelled:]
        found = prediction_powered_metric(
            shape.metric,
            people[seen],
            scored[seen],
            scored[rest],
            clusters[seen].tolist(),
            clusters[rest].tolist(),
        )
        bounds.values.append(found.labelled_only[0])
        bounds.add("judge-corrected (PPI++)", [(found.low, found.high)])
        if shape.name == "right or wrong":
            plain = prediction_powered_mean(
                people[seen, 0],
                scored[seen, 0],
                scored[rest, 0],
                clusters[seen].tolist(),
                clusters[rest].tolist(),
                limits=(0.0, 1.0),
            )
            bounds.add("the same where the judge was never seen wrong, too", [(plain.low, plain.high)])
        bounds.add("labelled only", [found.labelled_only[1:]])
        alone = jackknife_interval(shape.metric, cluster_sums(scored, clusters.tolist()), limits=(0.0, 1.0))
        bounds.add("judge taken at its word", [(alone.low, alone.high)])
    return bounds.cells(float(truth(shape, np.zeros(1))[0]), f"{labelled} labelled of {n}")


def heading(job: Job) -> str:
    """A column's heading: instances in clusters."""
    return f"{job.instances} in {clusters_of(job.instances)[-1] + 1}"


SECTIONS: dict[str, tuple[str, Callable[[Job], Cells], tuple[int, ...]]] = {
    "values": ("Intervals of one value", values, NUMBERS),
    "differences": ("Intervals of a difference of two systems", differences, NUMBERS),
    "tests": ("Tests at 5%: rejections of what is true", tests, NUMBERS),
    "ranks": (
        "Ranks of five systems, two of them equal: in their interval, all in theirs",
        ranks,
        (20, 40, 100, 300),
    ),
    "judge": ("A value that people would give", judge, (20, 40, 100, 300)),
}


def jobs_of(section: str, repetitions: int, instances: Sequence[int]) -> list[Job]:
    """The jobs of a section, of some numbers of instances."""
    shapes = (2, 3) if section == "ranks" else range(len(SHAPES))
    return [
        Job(section, shape, n, repetitions)
        for shape in shapes
        for n in SECTIONS[section][2]
        if n in instances
    ]


def run(job: Job) -> Cells:
    """One job, in a process of its own."""
    return SECTIONS[job.section][1](job)


def show(section: str, shape: Shape, cells: Cells) -> None:
    """A table."""
    columns = list(dict.fromkeys(column for _, column in cells))
    print(f"\n{SECTIONS[section][0]}, {shape.name}:\n")
    print(f"| method | {' | '.join(columns)} |\n|---|{'---|' * len(columns)}")
    for row in dict.fromkeys(row for row, _ in cells):
        print(f"| {row} | {' | '.join(cells.get((row, column), '') for column in columns)} |")
    sys.stdout.flush()


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=5000)
    parser.add_argument("--only", default=",".join(SECTIONS))
    parser.add_argument("--instances", default=",".join(map(str, NUMBERS)))
    parser.add_argument("--processes", type=int, default=2)
    asked = parser.parse_args()
    began = time.monotonic()
    print(f"{asked.repetitions} datasets a cell, {RESAMPLES} resamples; columns: instances in clusters")
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"  # read when a process starts: each has its own core
    with ProcessPoolExecutor(asked.processes, multiprocessing.get_context("spawn")) as pool:
        for section in asked.only.split(","):
            jobs = jobs_of(section, asked.repetitions, [int(number) for number in asked.instances.split(",")])
            found = list(pool.map(run, jobs))
            for shape in dict.fromkeys(job.shape for job in jobs):
                cells: Cells = {}
                for job, part in zip(jobs, found, strict=True):
                    if job.shape == shape:
                        cells |= part
                show(section, SHAPES[shape], cells)
    print(f"\n{time.monotonic() - began:.0f} seconds on {asked.processes} processes")


if __name__ == "__main__":
    main()
