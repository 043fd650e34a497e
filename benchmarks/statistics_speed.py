"""Time and memory of comparing all pairs of 20 systems on 1,500 instances, beside scipy.stats.bootstrap.

Each line is measured in a process of its own: seconds of the call on the wall and of processor time (all threads),
and the most memory that the process had. scipy resamples each pair of systems by itself, with the difference as a
vectorised statistic of paired samples; so many pairs as asked for are timed and the time of all pairs is worked out.
Run: python benchmarks/statistics_speed.py [--systems 20] [--instances 1500] [--scipy-pairs 5]
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from itertools import combinations
from typing import NamedTuple

import numpy as np
import scipy.stats
from numpy.typing import NDArray

from pmbench.core.metric import F1, Mean, Metric
from pmbench.stats.bootstrap import percentiles, resampled_values
from pmbench.stats.clusters import ordered_sums
from pmbench.stats.max_t import max_t
from pmbench.stats.randomisation import paired_tests
from pmbench.stats.rank_intervals import bootstrap_ranks

Floats = NDArray[np.float64]


class Work(NamedTuple):
    """What is measured."""

    method: str
    metric: str
    systems: int
    instances: int
    resamples: int
    pairs: int


class Took(NamedTuple):
    """Seconds on the wall and of processor time, and megabytes."""

    wall: float
    processor: float
    memory: float


METRICS: dict[str, Metric] = {"mean": Mean("y"), "F1": F1("tp", "fp", "fn")}


def made_up(work: Work) -> list[Floats]:
    """Columns of each system, which share what makes instances hard."""
    random = np.random.default_rng(0)
    hard = random.normal(size=work.instances)
    found = []
    for system in range(work.systems):
        skill = 1 / (1 + np.exp(-(hard + random.normal(0.03 * system, 1, work.instances))))
        if work.metric == "mean":
            stats = {"y": skill}
        else:
            hits = random.binomial(6, skill).astype(float)
            stats = {"tp": hits, "fp": random.poisson(3 * (1 - skill)).astype(float), "fn": 6 - hits}
        found.append(METRICS[work.metric].columns(stats))
    return found


def all_max_t(work: Work, systems: list[Floats], pairs: list[tuple[int, int]]) -> None:
    """Step-down max-T of all pairs."""
    max_t(METRICS[work.metric], systems, pairs, range(work.instances), resamples=work.resamples)


def all_ranks(work: Work, systems: list[Floats], _pairs: list[tuple[int, int]]) -> None:
    """Rank intervals and chances of being best."""
    bootstrap_ranks(METRICS[work.metric], systems, range(work.instances), resamples=work.resamples)


def all_tests(work: Work, systems: list[Floats], pairs: list[tuple[int, int]]) -> None:
    """Randomisation tests and bootstrap intervals of all pairs."""
    paired_tests(
        METRICS[work.metric],
        systems,
        pairs,
        range(work.instances),
        permutations=work.resamples,
        resamples=work.resamples,
    )


def all_intervals(work: Work, systems: list[Floats], pairs: list[tuple[int, int]]) -> None:
    """Percentile intervals of the differences of all pairs: what scipy is asked for."""
    metric = METRICS[work.metric]
    parts = [(metric, ordered_sums(columns, range(work.instances))) for columns in systems]
    drawn = resampled_values(parts, resamples=work.resamples, seed=0)
    for a, b in pairs:
        percentiles(drawn[a] - drawn[b], work.instances)


def scipys(work: Work, systems: list[Floats], pairs: list[tuple[int, int]]) -> None:
    """The same intervals by scipy, of some of the pairs."""
    metric, k = METRICS[work.metric], systems[0].shape[1]

    def difference(*columns: Floats, axis: int) -> Floats:
        sums = np.stack([column.sum(axis=axis) for column in columns], axis=-1)
        return np.asarray(metric.value(sums[..., :k]) - metric.value(sums[..., k:]))

    for a, b in pairs[: work.pairs]:
        scipy.stats.bootstrap(
            (*systems[a].T, *systems[b].T),
            difference,
            paired=True,
            vectorized=True,
            n_resamples=work.resamples,
            batch=500,
            method="percentile",
            rng=np.random.default_rng(0),
        )


METHODS: dict[str, Callable[[Work, list[Floats], list[tuple[int, int]]], None]] = {
    "max-T, all pairs": all_max_t,
    "ranks and best": all_ranks,
    "randomisation tests and intervals, all pairs": all_tests,
    "intervals, all pairs": all_intervals,
    "scipy.stats.bootstrap": scipys,
}


def measured(work: Work) -> Took:
    """Do the work; in a process of its own."""
    systems = made_up(work)
    pairs = list(combinations(range(work.systems), 2))
    began, used = time.perf_counter(), time.process_time()
    METHODS[work.method](work, systems, pairs)
    wall, processor = time.perf_counter() - began, time.process_time() - used
    return Took(wall, processor, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def apart(work: Work) -> Took:
    """`measured` in a new process."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(measured, work).result()


def main() -> None:
    """Print a table for each metric."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--systems", type=int, default=20)
    parser.add_argument("--instances", type=int, default=1500)
    parser.add_argument("--scipy-pairs", type=int, default=5)
    asked = parser.parse_args()
    count = asked.systems * (asked.systems - 1) // 2
    for metric in METRICS:
        print(f"\n{metric}: {asked.systems} systems, {asked.instances} instances, {count} pairs\n")
        print("| method | resamples | seconds | processor seconds | memory, MB |\n|---|---:|---:|---:|---:|")
        took: dict[str, Took] = {}
        for method, resamples in [(name, 10_000) for name in METHODS] + [("max-T, all pairs", 40_000)]:
            work = Work(method, metric, asked.systems, asked.instances, resamples, asked.scipy_pairs)
            found = apart(work)
            took.setdefault(method, found)
            told = f"{method}, {asked.scipy_pairs} pairs" if METHODS[method] is scipys else method
            print(
                f"| {told} | {resamples:,} | {found.wall:.1f} | {found.processor:.1f} | {found.memory:.0f} |",
                flush=True,
            )
        theirs, ours = took["scipy.stats.bootstrap"], took["intervals, all pairs"]
        scale = count / asked.scipy_pairs
        wall, processor = scale * theirs.wall, scale * theirs.processor
        print(
            f"\nscipy, all {count} pairs: {wall:.0f} seconds, {processor:.0f} of processor time;"
            f" {wall / ours.wall:.0f} and {processor / ours.processor:.0f} times ours"
        )


if __name__ == "__main__":
    main()
