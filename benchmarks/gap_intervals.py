"""How often intervals of the gap between a subgroup and all other instances hold the truth.

Datasets are those of `statistics_shapes.py`; some of the clusters, drawn anew for each dataset, are the subgroup,
which is as easy as the rest, or harder. In "all on both sides" each cluster has instances on either side, which share
what makes them hard. A cell is the share of datasets whose nominal 95% interval holds the true gap, in brackets its
median width in units of the metric, and the share of datasets without bounds, which are left out. A method with a
star is the one that is used where a part has fewer than 50 clusters, if it has 5 (30 where limits are not known).
Simulation error of a share near 0.95 is 0.003 at 5,000 repetitions.
Run: python benchmarks/gap_intervals.py [--repetitions 5000] [--processes 2]
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from typing import NamedTuple

import numpy as np
from statistics_shapes import SHAPES, Floats, Shape, clusters_of, datasets, truth

from pmbench.core.metric import Mean
from pmbench.stats import cluster_gaps
from pmbench.stats.bootstrap import percentiles, resampled_values
from pmbench.stats.cluster_gaps import few_cluster_gap

RESAMPLES = 999
HARDER = (0.0, 0.4)
BOTH = 0
COLUMNS = (
    (20, 2),
    (20, 5),
    (40, 3),
    (40, 5),
    (100, 5),
    (100, 10),
    (300, 10),
    (300, 30),
    (20, BOTH),
    (40, BOTH),
)
"""Instances, and clusters of them that are the subgroup; `BOTH`: all, and the rest too."""

WITHOUT_LIMITS = Shape("mean, mostly 0, limits unknown", Mean("y"), SHAPES[0].columns)
ALL_SHAPES = (*SHAPES, WITHOUT_LIMITS)


class Job(NamedTuple):
    """One cell of each row."""

    shape: int
    instances: int
    part: int
    harder: float
    repetitions: int


def cells(job: Job) -> dict[str, str]:
    """Coverage by method."""
    # Every number of clusters is tried here, also those for which the program gives no interval.
    cluster_gaps.FEWEST_IN_PART = cluster_gaps.FEWEST_WITHOUT_LIMITS = 2
    shape, worse = ALL_SHAPES[job.shape], np.array([0.0, job.harder])
    random = np.random.default_rng([job.shape, job.instances, job.part, int(10 * job.harder)])
    rest, part = truth(shape, worse)
    ends: dict[str, list[tuple[float, float]]] = {}
    sums = datasets(shape, random, clusters_of(job.instances), job.repetitions, worse)
    for number, one in enumerate(sums):
        inside = np.ones(len(one), dtype=bool)
        outside, tables = inside, (one[:, 1], one[:, 0])
        if job.part != BOTH:
            inside = random.permutation(len(one)) < job.part
            outside = ~inside
            tables = np.where(inside[:, None], one[:, 1], 0.0), np.where(inside[:, None], 0.0, one[:, 0])
        for method, found in bounds(shape, tables, (inside, outside), number).items():
            ends.setdefault(method, []).append(found)
    return {method: cell(np.array(found), part - rest) for method, found in ends.items()}


def bounds(
    shape: Shape, tables: tuple[Floats, Floats], inside: tuple[np.ndarray, np.ndarray], number: int
) -> dict[str, tuple[float, float]]:
    """Of one dataset by each method."""
    drawn = resampled_values([(shape.metric, one) for one in tables], resamples=RESAMPLES, seed=number)
    found = few_cluster_gap(shape.metric, *tables, *inside)
    return {
        "percentile bootstrap": percentiles(drawn[0] - drawn[1], len(tables[0]))[:2],
        "jackknife of each part, joined *": (found.low, found.high),
    }


def cell(ends: Floats, gap: float) -> str:
    """Coverage, width, and how many have no bounds."""
    there = ~np.isnan(ends).any(axis=1)
    held = (ends[there, 0] <= gap) & (gap <= ends[there, 1])
    none = f", {1 - there.mean():.1%} none" if not there.all() else ""
    return f"{held.mean():.3f} ({np.median(ends[there, 1] - ends[there, 0]):.2f}{none})"


def main() -> None:
    """Print a table for each shape."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=5000)
    parser.add_argument("--processes", type=int, default=2)
    asked = parser.parse_args()
    began = time.monotonic()
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"  # read when a process starts: each has its own core
    print(f"{asked.repetitions} datasets a cell; columns: clusters of the subgroup, of all")
    with ProcessPoolExecutor(asked.processes, multiprocessing.get_context("spawn")) as pool:
        for shape, of in enumerate(ALL_SHAPES):
            wanted = [
                Job(shape, *column, harder, asked.repetitions) for harder, column in product(HARDER, COLUMNS)
            ]
            found = dict(zip(wanted, pool.map(cells, wanted), strict=True))
            titles = [
                f"{part} of {clusters_of(n)[-1] + 1}"
                if part != BOTH
                else f"all {clusters_of(n)[-1] + 1} on both sides"
                for n, part in COLUMNS
            ]
            print(
                f"\nGap of a subgroup, {of.name}:\n\n| method | {' | '.join(titles)} |\n|---|{'---|' * len(titles)}"
            )
            for harder, method in product(HARDER, next(iter(found.values()))):
                row = [found[job][method] for job in wanted if job.harder == harder]
                what = "harder subgroup" if harder else "no gap"
                print(
                    f"| {method.removesuffix(' *')}, {what}{' *' * method.endswith('*')} | {' | '.join(row)} |"
                )
            sys.stdout.flush()
    print(f"\n{time.monotonic() - began:.0f} seconds on {asked.processes} processes")


if __name__ == "__main__":
    main()
