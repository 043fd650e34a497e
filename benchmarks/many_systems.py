"""Six systems, all pairs: how often corrections of p-values err, and what share of the differences they find.

Datasets are those of `statistics_shapes.py`; the systems share what makes instances hard. Either all six are equally
good, or three are worse than the others by the same amount: then 9 of the 15 differences are there and 6 are not.
p-values are those of the paired randomisation test; max-T has its own.

Rows: the share of datasets in which anything is rejected that is true (its simulation error at 0.05 is 0.003 with
5,000 datasets), the mean over datasets of the share of false ones among all that is rejected (0 where nothing is),
which is what Benjamini and Hochberg's method bounds, and the share of the nine differences that is found.
Run: python benchmarks/many_systems.py [--repetitions 5000] [--shapes 2,3,0] [--instances 20,40,48,100,300]
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import combinations
from typing import NamedTuple

import numpy as np
from statistics_shapes import SHAPES, Floats, clusters_of, datasets

from pmbench.stats.corrections import benjamini_hochberg, holm
from pmbench.stats.max_t import max_t
from pmbench.stats.randomisation import paired_tests

SYSTEMS = 6
PAIRS = list(combinations(range(SYSTEMS), 2))
GAP = 0.15
HALF_WORSE = np.array([0.0, 0, 0, GAP, GAP, GAP])
APART = np.array([(a < 3) != (b < 3) for a, b in PAIRS])
"""Which of the pairs differ where half are worse."""

RESAMPLES = 999
BATCH = 100
LEVEL = 0.05

ADJUST: dict[str, Callable[[Sequence[float]], list[float]]] = {
    "no correction": list,
    "Holm": holm,
    "Benjamini-Hochberg": benjamini_hochberg,
}


class Job(NamedTuple):
    """Some datasets of a column of a table."""

    shape: int
    instances: int
    half_worse: bool
    part: int
    repetitions: int


def rejected(job: Job) -> dict[str, Floats]:
    """By method what is rejected in each dataset, shape (R, 15)."""
    shape, clusters = SHAPES[job.shape], clusters_of(job.instances)
    random = np.random.default_rng([job.shape, job.instances, job.half_worse, job.part])
    worse = HALF_WORSE if job.half_worse else np.zeros(SYSTEMS)
    sums = datasets(shape, random, clusters, job.repetitions, worse)
    labels = [f"{label:04}" for label in range(sums.shape[1])]
    # All datasets are tested at once, as if they were systems of one: one drawing of patterns serves them.
    systems = [one[:, system] for one in sums for system in range(SYSTEMS)]
    pairs = [(SYSTEMS * one + a, SYSTEMS * one + b) for one in range(len(sums)) for a, b in PAIRS]
    tested = paired_tests(
        shape.metric, systems, pairs, labels, permutations=RESAMPLES, resamples=0, seed=job.part
    )
    p = np.array([test.p for test in tested]).reshape(len(sums), len(PAIRS))
    found = {name: np.array([adjust(row) for row in p.tolist()]) for name, adjust in ADJUST.items()}
    found["max-T"] = np.array(
        [
            max_t(
                shape.metric,
                [one[:, system] for system in range(SYSTEMS)],
                PAIRS,
                labels,
                resamples=RESAMPLES,
                seed=job.part,
            )
            for one in sums
        ]
    )
    return {name: np.asarray(values <= LEVEL, dtype=np.float64) for name, values in found.items()}


def rows_of(name: str, equal: Floats, half: Floats) -> dict[str, float]:
    """Numbers of a method, given what it rejects where all are equal and where half are worse."""
    false, all_of_them = half[:, ~APART].sum(axis=1), half.sum(axis=1)
    return {
        f"{name}: any false, all equal": float(equal.any(axis=1).mean()),
        f"{name}: any false, half worse": float((false > 0).mean()),
        f"{name}: share of false ones, half worse": float((false / np.maximum(all_of_them, 1)).mean()),
        f"{name}: found": float(half[:, APART].mean()),
    }


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=5000)
    parser.add_argument("--shapes", default="2,3,0")
    parser.add_argument("--instances", default="20,40,48,100,300")
    parser.add_argument("--processes", type=int, default=2)
    asked = parser.parse_args()
    instances = [int(number) for number in asked.instances.split(",")]
    began = time.monotonic()
    print(f"{asked.repetitions} datasets a cell, {RESAMPLES} resamples; columns: instances in clusters")
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"  # read when a process starts: each has its own core
    parts = [
        (part, min(BATCH, asked.repetitions - start))
        for part, start in enumerate(range(0, asked.repetitions, BATCH))
    ]
    with ProcessPoolExecutor(asked.processes, multiprocessing.get_context("spawn")) as pool:
        for shape in map(int, asked.shapes.split(",")):
            columns = {}
            for n in instances:
                jobs = [Job(shape, n, half, *part) for half in (False, True) for part in parts]
                found = list(pool.map(rejected, jobs))
                cells: dict[str, float] = {}
                for name in found[0]:
                    equal, half = (
                        np.concatenate(
                            [
                                one[name]
                                for one, job in zip(found, jobs, strict=True)
                                if job.half_worse == is_half
                            ]
                        )
                        for is_half in (False, True)
                    )
                    cells |= rows_of(name, equal, half)
                columns[f"{n} in {clusters_of(n)[-1] + 1}"] = cells
                print(
                    f"{SHAPES[shape].name}, {n}: {time.monotonic() - began:.0f} s",
                    file=sys.stderr,
                    flush=True,
                )
            print(f"\nSix systems, all pairs, {SHAPES[shape].name}:\n")
            print(f"| method | {' | '.join(columns)} |\n|---|{'---|' * len(columns)}")
            for row in next(iter(columns.values())):
                print(f"| {row} | {' | '.join(f'{cells[row]:.3f}' for cells in columns.values())} |")
            sys.stdout.flush()
    print(f"\n{time.monotonic() - began:.0f} seconds on {asked.processes} processes")


if __name__ == "__main__":
    main()
